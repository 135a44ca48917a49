//! By when had the data in a ready socket arrived?
//!
//! ```text
//!  poll returns ▼ stamp                 ▼ stamp                 ▼ stamp
//!               ├─ 32 sockets are read ─┼─ 32 sockets are read ─┼─ …
//! ```
//! Data that arrives while earlier sockets are read is read in the same round; with one timestamp for all, it would
//! count as earlier than it arrived, by up to a round. With a new timestamp every 32 sockets the error is at most
//! the time these take, some 60 µs. Pure: the clock is passed in.

/// Sockets that share a timestamp: reading the clock costs a fiftieth of a socket.
const SHARED_BY: u32 = 32;

/// The timestamps of one wake-up.
pub(super) struct Arrival {
    at_ns: u64,
    sockets: u32,
}

impl Arrival {
    /// Starts with a poll that returned at `now_ns`.
    pub(super) fn at(now_ns: u64) -> Self {
        Self { at_ns: now_ns, sockets: 0 }
    }

    /// Returns the timestamp of the next socket, which is read now.
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
