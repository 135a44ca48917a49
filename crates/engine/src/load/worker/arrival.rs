//! By when had come what a socket of a wake-up holds?
//!
//! ```text
//!  poll returns ▼ stamp                 ▼ stamp                 ▼ stamp
//!               ├─ 32 sockets are read ─┼─ 32 sockets are read ─┼─ …
//! ```
//! What comes while those before it are read is read too, so that with one stamp for all it would count as earlier than it
//! came, by up to a round. With a new one every 32 sockets it is by what these take, some 60 µs. Pure: the clock is given.

/// Sockets that share a stamp: reading the clock costs a fiftieth of a socket.
const SHARED_BY: u32 = 32;

/// The stamps of one wake-up.
pub(super) struct Arrival {
    at_ns: u64,
    sockets: u32,
}

impl Arrival {
    /// That of a poll which returned at `now_ns`.
    pub(super) fn at(now_ns: u64) -> Self {
        Self { at_ns: now_ns, sockets: 0 }
    }

    /// The stamp of the next socket, which is read now.
    #[inline]
    pub(super) fn of_next(&mut self, now_ns: impl FnOnce() -> u64) -> u64 {
        if self.sockets == SHARED_BY {
            (self.at_ns, self.sockets) = (now_ns(), 0);
        }
        self.sockets += 1;
        self.at_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_counts_as_earlier_than_it_came_by_no_more_than_32_sockets_take() {
        const SOCKET_NS: u64 = 2_000;
        let mut arrival = Arrival::at(0);
        let stamps: Vec<_> = (0..1000).map(|n| arrival.of_next(|| n * SOCKET_NS)).collect();
        let early = stamps.iter().zip(0..).map(|(at_ns, n)| n * SOCKET_NS - at_ns);
        assert_eq!(early.max(), Some(31 * SOCKET_NS));
        assert_eq!(stamps.iter().filter(|ns| **ns == 0).count(), 32, "the first are those of the poll");
    }
}
