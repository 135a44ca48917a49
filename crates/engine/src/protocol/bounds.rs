//! Limits for replies that redyno decodes: the depth of nested lists, and the number of elements.

use super::header::ProtocolError;

/// The largest accepted number of levels of nested lists. redyno's most deeply nested reply, the reply to LATENCY
/// HISTOGRAM, has 3 levels.
pub(super) const MAX_DEPTH: usize = 32;
/// The largest number of elements that a reply may have, summed over all levels. A reply to SCAN has about 1 000
/// elements. A reply with 32 slow log entries and all their arguments has about 1 300.
const MAX_ELEMENTS: u64 = 1 << 18;

/// Counts the elements and levels of a reply that a decoder will read.
#[derive(Debug, Default)]
pub(super) struct ReplyBounds {
    /// The number of elements at all levels, according to the headers so far.
    elements: u64,
    /// For each open list, the number of elements that follow the list in the reply. The vector may also contain lists
    /// that have ended.
    behind: Vec<u64>,
}

impl ReplyBounds {
    /// Counts a list of `n` elements. `open` is the number of elements that have not ended, including the list.
    /// `begins_reply` is true if the list is the reply itself.
    pub(super) fn add(&mut self, n: u64, open: u64, begins_reply: bool) -> Result<(), ProtocolError> {
        if begins_reply {
            *self = Self::default();
        }
        while self.behind.last().is_some_and(|behind| *behind >= open) {
            self.behind.pop();
        }
        self.behind.push(open - 1);
        self.elements += n;
        if self.behind.len() > MAX_DEPTH {
            return Err(ProtocolError::Excess("that is nested more than 32 deep"));
        }
        if self.elements > MAX_ELEMENTS {
            return Err(ProtocolError::Excess("of more than 262 144 elements"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Dialect;

    /// Returns how many replies end in `stream`, which a bounded skipper receives in pieces of `step` bytes.
    fn bounded(stream: &[u8], step: usize) -> Result<usize, ProtocolError> {
        let mut skipper = Dialect::Resp2.skipper().bounded();
        let mut ended = 0;
        for mut piece in stream.chunks(step) {
            while skipper.next(&mut piece)?.is_some() {
                ended += 1;
            }
        }
        Ok(ended)
    }

    fn is_excess(found: &Result<usize, ProtocolError>, words: &str) -> bool {
        matches!(found, Err(ProtocolError::Excess(said)) if said.contains(words))
    }

    #[test]
    fn a_reply_beyond_the_limits_is_refused_at_its_header() {
        let deep = |levels| [b"*1\r\n".repeat(levels).as_slice(), b":1\r\n"].concat();
        assert_eq!(bounded(&deep(MAX_DEPTH).repeat(3), 7), Ok(3));
        assert!(is_excess(&bounded(&deep(MAX_DEPTH + 1), 7), "deep"));
        assert!(is_excess(&bounded(&b"*1000\r\n".repeat(40), 4096), "deep"));
        assert!(is_excess(&bounded(b"*999999999999\r\n", 3), "elements"));
        let lists = |n: usize| {
            [b"*200\r\n".to_vec(), [b"*2000\r\n".to_vec(), b":1\r\n".repeat(2000)].concat().repeat(n)]
        };
        assert!(is_excess(&bounded(&lists(200).concat(), 65536), "elements"));
        assert_eq!(bounded(&[b"*100\r\n".to_vec(), lists(100)[1].clone()].concat().repeat(3), 65536), Ok(3));
        for beside in [b">1\r\n+a\r\n".as_slice(), b"|1\r\n", b"*1\r\n>1\r\n"] {
            assert!(is_excess(&bounded(beside, 1), "with a push message"), "{beside:?}");
        }
        let siblings = b"*3\r\n*1\r\n*1\r\n:1\r\n*0\r\n*2\r\n*0\r\n*0\r\n".repeat(100);
        let wide = [b"*100\r\n".to_vec(), siblings].concat();
        assert_eq!(bounded(&wide, 5), Ok(1), "lists side by side are not nested");
    }
}
