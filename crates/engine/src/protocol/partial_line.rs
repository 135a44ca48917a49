//! The beginning of a line, kept until a later read brings its end.

use super::header::{MAX_LINE, ProtocolError};

/// The part of a line that came with earlier reads. An empty part uses no heap memory.
#[derive(Debug, Default)]
pub(super) struct PartialLine {
    bytes: Vec<u8>,
    /// Whether the line was completed and returned, so that its bytes can be removed.
    is_spent: bool,
}

impl PartialLine {
    /// Returns whether no bytes are kept, not even those of a completed line.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the whole line, after [its end](Self::end) was added.
    #[inline]
    pub(super) fn whole(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends `end` if the beginning of the line is kept. Returns false if no beginning is kept: then `end` is the
    /// whole line.
    ///
    /// # Errors
    /// When the line is too long.
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

    /// Keeps all of `input`, which does not contain the end of the line. Checks now whether a reply may begin like
    /// this, since the line may never end.
    ///
    /// # Errors
    /// When the line is too long, or does not begin a reply.
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
    fn a_line_is_whole_when_its_end_has_come_and_is_forgotten_then() {
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
    fn what_begins_no_reply_and_what_never_ends_is_refused() {
        let begin = |line: &mut PartialLine, bytes: &[u8]| line.begin(&mut &*bytes, |first| first == b'+');
        let mut line = PartialLine::default();
        assert_eq!(begin(&mut line, b"HTTP"), Err(ProtocolError::NoReply("HTTP".to_owned())));
        let mut line = PartialLine::default();
        begin(&mut line, &[b'+'; MAX_LINE]).unwrap();
        assert_eq!(begin(&mut line, b"+"), Err(ProtocolError::LongLine));
        assert_eq!(line.end(b"+"), Err(ProtocolError::LongLine));
    }
}
