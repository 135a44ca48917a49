//! Stores the beginning of a reply's line until a later read returns the end of the line.

use super::header::{MAX_LINE, ProtocolError};

/// The part of a line that earlier reads have returned. An empty part uses no heap memory.
#[derive(Debug, Default)]
pub(super) struct PartialLine {
    bytes: Vec<u8>,
    /// Whether the complete line was returned, so that its bytes can be removed.
    is_spent: bool,
}

impl PartialLine {
    /// Returns whether no bytes are stored. The bytes of a complete line count as stored, too.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the whole line. Call this function after [`end`](Self::end).
    #[inline]
    pub(super) fn whole(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends `end` to the stored beginning of the line. Returns false if no beginning is stored. If no beginning is
    /// stored, `end` is the whole line.
    ///
    /// # Errors
    /// Fails if the line is too long.
    #[inline]
    pub(super) fn end(&mut self, end: &[u8]) -> Result<bool, ProtocolError> {
        if self.bytes.is_empty() {
            return Ok(false);
        }
        self.end_begun(end)
    }

    #[cold]
    fn end_begun(&mut self, end: &[u8]) -> Result<bool, ProtocolError> {
        self.forget_spent();
        if self.bytes.is_empty() {
            return Ok(false);
        }
        self.append(end)?;
        self.is_spent = true;
        Ok(true)
    }

    /// Stores all of `input`, because it does not contain the end of the line. Checks the first byte of the line at
    /// once, because the end of the line may never arrive.
    ///
    /// # Errors
    /// Fails if the line is too long, or does not begin a reply.
    #[cold]
    pub(super) fn begin(
        &mut self,
        input: &mut &[u8],
        begins_reply: impl Fn(u8) -> bool,
    ) -> Result<(), ProtocolError> {
        self.forget_spent();
        self.append(std::mem::take(input))?;
        match self.bytes.first() {
            Some(first) if !begins_reply(*first) => Err(ProtocolError::no_reply(&self.bytes)),
            _ => Ok(()),
        }
    }

    fn append(&mut self, more: &[u8]) -> Result<(), ProtocolError> {
        if self.bytes.len() + more.len() > MAX_LINE {
            return Err(ProtocolError::LongLine);
        }
        self.bytes.extend_from_slice(more);
        Ok(())
    }

    fn forget_spent(&mut self) {
        if self.is_spent {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_complete_with_its_end_and_then_removed() {
        let mut line = PartialLine::default();
        assert_eq!(line.end(b"whole"), Ok(false));
        for part in ["be", "gi", "n "] {
            let mut input = part.as_bytes();
            line.begin(&mut input, |first| first == b'b').unwrap();
            assert!(input.is_empty());
        }
        assert_eq!(line.end(b"and end"), Ok(true));
        assert_eq!(line.whole(), b"begin and end");
        assert_eq!(line.end(b"next"), Ok(false));
        assert_eq!((line.is_empty(), line.bytes.capacity()), (true, 0));
    }

    #[test]
    fn a_wrong_first_byte_and_an_endless_line_are_refused() {
        let begin = |line: &mut PartialLine, bytes: &[u8]| line.begin(&mut &*bytes, |first| first == b'+');
        let mut line = PartialLine::default();
        assert_eq!(begin(&mut line, b"HTTP"), Err(ProtocolError::NoReply("HTTP".to_owned())));
        let mut line = PartialLine::default();
        begin(&mut line, &[b'+'; MAX_LINE]).unwrap();
        assert_eq!(begin(&mut line, b"+"), Err(ProtocolError::LongLine));
        assert_eq!(line.end(b"+"), Err(ProtocolError::LongLine));
    }
}
