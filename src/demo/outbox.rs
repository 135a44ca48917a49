//! Replies that wait to be sent, some of them held back.
//!
//! ```text
//! bytes: [ sent │ to be sent now │ held until t1 … │ held until t2 … ]
//! ```
//! A reply that is held back holds back those behind it on the same connection, and nothing else.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::time::Duration;

/// Sent bytes are dropped from the front once there are this many; buffers larger than this are given back.
const KEPT: usize = 64 << 10;

/// The bytes that go to one client.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Replies are appended to it; behind what was sent they may be cut, too.
    pub bytes: Vec<u8>,
    sent: usize,
    /// From which byte on nothing may be sent before which time.
    holds: VecDeque<(usize, u64)>,
}

impl Outbox {
    /// Holds back everything from byte `from` on.
    pub fn hold(&mut self, from: usize, now_ns: u64, delay: Duration) {
        let until_ns = now_ns.saturating_add(delay.as_nanos() as u64);
        // A hold that ends before the one in front of it changes nothing.
        if self.holds.back().is_none_or(|(_, earlier_ns)| *earlier_ns < until_ns) {
            self.holds.push_back((from, until_ns));
        }
    }

    /// When the first hold ends.
    pub fn held_until_ns(&self) -> Option<u64> {
        self.holds.front().map(|(_, until_ns)| *until_ns)
    }

    /// Bytes that have not been sent.
    pub fn unsent(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Sends what may be sent now, until the socket takes no more; how many bytes went, in how many writes.
    ///
    /// # Errors
    /// When the socket fails.
    pub fn send(&mut self, socket: &mut impl Write, now_ns: u64) -> io::Result<(usize, u64)> {
        while self.holds.front().is_some_and(|(_, until_ns)| *until_ns <= now_ns) {
            self.holds.pop_front();
        }
        let limit = self.holds.front().map_or(self.bytes.len(), |(from, _)| *from);
        let (before, mut writes) = (self.sent, 0);
        while self.sent < limit {
            writes += 1;
            match socket.write(&self.bytes[self.sent..limit]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => self.sent += n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let went = self.sent - before;
        self.tidy();
        Ok((went, writes))
    }

    fn tidy(&mut self) {
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.bytes.shrink_to(KEPT);
            self.sent = 0;
        } else if self.sent >= KEPT && self.sent >= self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            for (from, _) in &mut self.holds {
                *from -= self.sent;
            }
            self.sent = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes at most `room` bytes.
    struct Pipe {
        taken: Vec<u8>,
        room: usize,
    }

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let n = bytes.len().min(self.room).min(1000);
            if n == 0 {
                return Err(ErrorKind::WouldBlock.into());
            }
            self.room -= n;
            self.taken.extend_from_slice(&bytes[..n]);
            Ok(n)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_held_reply_holds_back_those_behind_it_only() {
        let mut outbox = Outbox::default();
        let mut pipe = Pipe { taken: Vec::new(), room: usize::MAX };
        outbox.bytes.extend_from_slice(b"one");
        outbox.hold(3, 0, Duration::from_nanos(50));
        outbox.bytes.extend_from_slice(b"two");
        outbox.hold(6, 0, Duration::from_nanos(20));
        outbox.bytes.extend_from_slice(b"three");
        outbox.hold(11, 0, Duration::from_secs(3600));
        outbox.bytes.extend_from_slice(b"four");
        outbox.send(&mut pipe, 10).unwrap();
        assert_eq!((pipe.taken.as_slice(), outbox.held_until_ns()), (b"one".as_slice(), Some(50)));
        outbox.send(&mut pipe, 50).unwrap();
        assert_eq!(pipe.taken.as_slice(), b"onetwothree");
        outbox.send(&mut pipe, 3_600_000_000_000).unwrap();
        assert_eq!((pipe.taken.as_slice(), outbox.held_until_ns()), (b"onetwothreefour".as_slice(), None));
        assert_eq!(outbox.unsent(), 0);
    }

    #[test]
    fn a_full_socket_is_gone_on_with_and_nothing_is_lost() {
        let mut outbox = Outbox::default();
        let mut pipe = Pipe { taken: Vec::new(), room: 0 };
        let mut expected = Vec::new();
        for round in 0..100_u64 {
            let piece = vec![round as u8; 5000];
            if round % 10 == 3 {
                outbox.hold(outbox.bytes.len(), round, Duration::from_nanos(4));
            }
            outbox.bytes.extend_from_slice(&piece);
            expected.extend(piece);
            pipe.room = 4700;
            outbox.send(&mut pipe, round).unwrap();
        }
        pipe.room = usize::MAX;
        outbox.send(&mut pipe, 1000).unwrap();
        assert!(pipe.taken == expected && outbox.bytes.capacity() <= KEPT);
    }
}
