//! Tests of a connection to the built-in server.

use super::*;

/// A socket that accepts at most `room` bytes.
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
fn a_delayed_reply_delays_only_later_replies() {
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
fn sending_continues_after_a_full_socket_and_nothing_is_lost() {
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
