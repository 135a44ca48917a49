//! The receipt times of the replies that a load worker reads.
//!
//! ```text
//!  poll returns ▼ stamp                 ▼ stamp                 ▼ stamp
//!               ├─ 32 sockets are read ─┼─ 32 sockets are read ─┼─ …
//! ```
//! A round also reads data that arrives while the worker reads other sockets. With a single timestamp per round, a
//! measured latency could be too short by the length of the round. With a new timestamp every 32 sockets, the error is
//! at most 60 µs. Reading 32 sockets takes about this time. The caller passes the clock, so this module does no I/O.

/// The number of sockets that share a timestamp. Reading the clock takes a fiftieth of the time that reading a socket
/// takes.
const SHARED_BY: u32 = 32;

/// The timestamps of one wake-up.
pub(super) struct ArrivalStamps {
    at_ns: u64,
    sockets: u32,
}

impl ArrivalStamps {
    /// Creates the timestamps of a wake-up. The first timestamp is `now_ns`, the time when poll returned.
    pub(super) fn at(now_ns: u64) -> Self {
        Self { at_ns: now_ns, sockets: 0 }
    }

    /// Returns the timestamp for the socket that is read next.
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
    fn a_timestamp_is_early_by_at_most_the_time_to_read_32_sockets() {
        const SOCKET_NS: u64 = 2_000;
        let mut arrival = ArrivalStamps::at(0);
        let stamps: Vec<_> = (0..1000).map(|n| arrival.of_next(|| n * SOCKET_NS)).collect();
        let early = stamps.iter().zip(0..).map(|(at_ns, n)| n * SOCKET_NS - at_ns);
        assert_eq!(early.max(), Some(31 * SOCKET_NS));
        assert_eq!(stamps.iter().filter(|ns| **ns == 0).count(), 32, "sockets with poll's timestamp");
    }
}
