//! Checks replies of the load for their content: compares each reply with the expected reply.

use crate::protocol::Reply;

/// The error that replaces an unexpected reply.
const OTHER: Reply = Reply::Error(b"UNEXPECTED_STATE the reply is not the expected one");

/// The expected replies to a batch, all of the same length.
#[derive(Debug, Default, Clone)]
pub(super) struct ExpectedReplies {
    bytes: Vec<u8>,
    /// The length of each reply, in bytes.
    length: usize,
    /// The index in `bytes` at which the next expected reply begins.
    start: usize,
    /// How many bytes of the current reply have arrived.
    arrived: usize,
    /// Whether the arrived bytes differ from the expected bytes.
    differs: bool,
}

impl ExpectedReplies {
    /// Creates the expected replies, each of this length. Returns `None` if no replies are expected.
    #[inline]
    pub(super) fn of((bytes, length): (Vec<u8>, usize)) -> Option<Box<Self>> {
        (!bytes.is_empty()).then(|| Box::new(Self { bytes, length, ..Self::default() }))
    }

    /// Compares the next bytes of the current reply. Only replies to first steps are compared.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let at = self.start + self.arrived;
        self.differs |= self.bytes.get(at..at + bytes.len()).is_none_or(|expected| expected != bytes);
        self.arrived += bytes.len();
    }

    /// Ends the current reply, and returns whether it is the expected reply.
    fn end(&mut self) -> bool {
        let is_whole = std::mem::take(&mut self.arrived) == self.length;
        self.start += self.length;
        !std::mem::take(&mut self.differs) && is_whole
    }
}

/// Returns the reply itself if it is the expected reply, and an error otherwise. The last `n` bytes of
/// `bytes` are the end of the reply.
#[inline]
pub(super) fn compared<'r>(
    expected: &mut Option<Box<ExpectedReplies>>,
    n: Option<usize>,
    bytes: &[u8],
    reply: Reply<'r>,
) -> Reply<'r> {
    let Some(n) = n else { return reply };
    let is_expected = expected.as_mut().is_some_and(|expected| {
        let is_over = expected.start == expected.bytes.len();
        is_over || {
            expected.take(&bytes[bytes.len() - n..]);
            expected.end()
        }
    });
    if is_expected || matches!(reply, Reply::Error(_)) { reply } else { OTHER }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_compared_as_a_whole_even_if_it_arrives_in_pieces() {
        let bytes = b"*1\r\n$1\r\na\r\n*1\r\n$1\r\nb\r\n*1\r\n$1\r\nc\r\n".to_vec();
        let mut expected = ExpectedReplies::of((bytes, 11));
        for (first, last, is_expected) in [
            (&b"*1\r\n$1"[..], &b"\r\na\r\n"[..], true),
            (b"", b"*1\r\n$-1\r\n", false),
            (b"*1", b"\r\n$1\r\nc\r\n", true),
            (b"", b":1\r\n", true),
        ] {
            expected.as_mut().unwrap().take(first);
            let reply = compared(&mut expected, Some(last.len()), last, Reply::Value);
            assert_eq!(reply == Reply::Value, is_expected, "{last:?}");
        }
        let none = ExpectedReplies::of((Vec::new(), 11));
        assert_eq!(compared(&mut none.clone(), Some(4), b":1\r\n", Reply::Value), OTHER);
        assert_eq!(compared(&mut { none }, None, b":1\r\n", Reply::Value), Reply::Value);
    }
}
