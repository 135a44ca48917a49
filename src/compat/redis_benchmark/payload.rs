//! The bytes of values, the same as theirs: printable, and one sequence for the whole run.

/// The generator of redis-benchmark.
#[derive(Debug)]
pub(super) struct Payload {
    state: u32,
}

impl Payload {
    pub(super) fn new() -> Self {
        Self { state: 1234 }
    }

    /// The next so many bytes.
    pub(super) fn take(&mut self, bytes: usize) -> Vec<u8> {
        let mut next = || {
            self.state = self.state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            b'0' + ((self.state >> 16) & 63) as u8
        };
        (0..bytes).map(|_| next()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `redis-benchmark -t set` leaves them on a server.
    #[test]
    fn the_bytes_are_those_of_redis_benchmark() {
        let mut payload = Payload::new();
        assert_eq!(payload.take(3), b"VXK");
        assert_ne!(payload.take(3), b"VXK");
    }
}
