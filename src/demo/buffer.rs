//! Bytes read from a socket and not yet understood.

/// Room offered to a read at the least.
const SPARE: usize = 64 << 10;
/// Unread bytes up to this many are copied out when a buffer is given back.
const SMALL: usize = 16 << 10;
/// Buffers larger than this are given back to the system.
const KEPT: usize = 1 << 20;

/// A growing buffer with a consumed front and a spare end.
#[derive(Debug, Default)]
pub struct ReadBuffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl ReadBuffer {
    /// What has been read and not consumed.
    pub fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Steps over `n` unread bytes.
    pub fn consume(&mut self, n: usize) {
        self.start += n;
        debug_assert!(self.start <= self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Forgets all unread bytes.
    pub fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Room to read into. The buffer doubles as it fills, so a large request costs a few copies and not one a read,
    /// and a length that was only announced costs nothing.
    pub fn spare(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.bytes.len() < self.end + SPARE / 2 {
            self.bytes.resize((2 * self.bytes.len()).max(SPARE), 0);
        }
        &mut self.bytes[self.end..]
    }

    /// Notes that `n` bytes of the spare room were filled.
    pub fn filled(&mut self, n: usize) {
        self.end += n;
    }

    /// Takes the buffer to work with: its own, or the shared one if nothing is unread here.
    pub fn borrow(&mut self, shared: &mut Self) -> Self {
        if self.unread().is_empty() { std::mem::take(shared) } else { std::mem::take(self) }
    }

    /// Gives a buffer back: what is unread stays here, the room goes to be shared.
    pub fn give_back(&mut self, mut used: Self, shared: &mut Self) {
        if used.unread().len() > SMALL {
            *self = used;
            return;
        }
        if !used.unread().is_empty() {
            let bytes = used.unread().to_vec();
            *self = Self { start: 0, end: bytes.len(), bytes };
        }
        used.clear();
        if shared.bytes.is_empty() && used.bytes.len() <= KEPT {
            *shared = used;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(buffer: &mut ReadBuffer, bytes: &[u8]) {
        buffer.spare()[..bytes.len()].copy_from_slice(bytes);
        buffer.filled(bytes.len());
    }

    #[test]
    fn only_what_is_unread_stays_with_the_connection() {
        let (mut own, mut shared) = (ReadBuffer::default(), ReadBuffer::default());
        let mut buffer = own.borrow(&mut shared);
        put(&mut buffer, b"done half");
        buffer.consume(5);
        own.give_back(buffer, &mut shared);
        assert_eq!((own.unread(), own.bytes.len()), (b"half".as_slice(), 4));
        assert!(shared.unread().is_empty() && shared.bytes.len() >= SPARE);

        let mut buffer = own.borrow(&mut shared);
        put(&mut buffer, b"-done");
        assert_eq!(buffer.unread(), b"half-done");
        buffer.consume(9);
        own.give_back(buffer, &mut shared);
        assert!(own.unread().is_empty());
    }

    #[test]
    fn it_grows_with_what_arrives_and_keeps_the_order() {
        let mut buffer = ReadBuffer::default();
        let mut expected = Vec::new();
        for round in 0..40_u8 {
            let piece = vec![round; 10_000];
            put(&mut buffer, &piece);
            expected.extend(piece);
            if round % 7 == 0 {
                buffer.consume(3000);
                expected.drain(..3000);
            }
        }
        assert_eq!(buffer.unread(), expected);
    }
}
