//! Splits the bytes that a receiver gets into RESP replies, and each reply into its words at any depth of nesting.
//! This module does no I/O.

use std::ops::Range;

use crate::{load::broken::ConnectionFailure, protocol::whole_number};

/// The longest line, in bytes.
const LONGEST_LINE: usize = 64 * 1024;
/// The largest number of words in a frame.
const MOST_WORDS: u64 = 1 << 20;

/// A complete RESP value from the server: a reply or a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    /// The length of the frame, in bytes.
    pub(super) length: usize,
    /// Whether the frame is a RESP3 push.
    pub(super) is_push: bool,
    /// Whether the frame is an error. An error has a single word, its message.
    pub(super) is_error: bool,
}

/// Parses the frame at the beginning of `bytes`, and puts the positions of the frame's words into `words`. Returns
/// `None` if the frame is not complete.
///
/// # Errors
/// Fails if the bytes are not valid RESP.
pub(super) fn frame(bytes: &[u8], words: &mut Vec<Range<usize>>) -> Result<Option<Frame>, ConnectionFailure> {
    words.clear();
    let (mut at, mut left) = (0, 1_u64);
    while left > 0 {
        left -= 1;
        let rest = &bytes[at..];
        let Some(end) = memchr::memchr(b'\n', &rest[..rest.len().min(LONGEST_LINE)]) else {
            return if rest.len() < LONGEST_LINE {
                Ok(None)
            } else {
                Err(ConnectionFailure::UnexpectedReply)
            };
        };
        let (Some(kind), true) = (rest.first(), end > 0 && rest[end - 1] == b'\r') else {
            return Err(ConnectionFailure::UnexpectedReply);
        };
        let line = at + 1..at + end - 1;
        // A null text or list has the length -1.
        let is_null = bytes.get(line.start) == Some(&b'-');
        let number = || whole_number(&bytes[line.clone()]);
        at += end + 1;
        match kind {
            b'$' | b'=' | b'!' => {
                if !is_null {
                    let length = number()
                        .and_then(|n| usize::try_from(n).ok())
                        .ok_or(ConnectionFailure::UnexpectedReply)?;
                    let end = at.checked_add(length).ok_or(ConnectionFailure::UnexpectedReply)?;
                    if bytes.len() < end.saturating_add(2) {
                        return Ok(None);
                    }
                    words.push(at..end);
                    at = end + 2;
                }
            }
            b'*' | b'>' | b'~' | b'%' | b'|' => {
                // The value after an attribute belongs to the frame as well.
                let elements =
                    if is_null { 0 } else { number().ok_or(ConnectionFailure::UnexpectedReply)? };
                let each = if matches!(kind, b'%' | b'|') { 2 } else { 1 };
                let values = elements.saturating_mul(each).saturating_add(u64::from(*kind == b'|'));
                left = left.saturating_add(values);
                if left > MOST_WORDS {
                    return Err(ConnectionFailure::UnexpectedReply);
                }
            }
            b'_' => {}
            b'+' | b'-' | b':' | b',' | b'#' | b'(' => words.push(line),
            _ => return Err(ConnectionFailure::UnexpectedReply),
        }
    }
    let first = bytes.first().copied().unwrap_or_default();
    Ok(Some(Frame { length: at, is_push: first == b'>', is_error: matches!(first, b'-' | b'!') }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<(usize, bool, Vec<&str>)> {
        let mut words = Vec::new();
        let frame = frame(bytes, &mut words).unwrap()?;
        let text = |range: &Range<usize>| std::str::from_utf8(&bytes[range.clone()]).unwrap();
        Some((frame.length, frame.is_push, words.iter().map(text).collect()))
    }

    #[test]
    fn a_frame_is_split_into_words_once_it_is_complete() {
        let entry = b"*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n+1-0\r\n*2\r\n$1\r\nf\r\n$2\r\n\r\n\r\n+OK\r\n";
        let length = entry.len() - 5;
        assert_eq!(read(entry), Some((length, false, vec!["s", "1-0", "f", "\r\n"])));
        for cut in 0..length {
            assert_eq!(read(&entry[..cut]), None, "{cut}");
        }
        let push = b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n";
        assert_eq!(read(push), Some((push.len(), true, vec!["invalidate", "k"])));
        for nothing in [&b"*-1\r\n"[..], b"$-1\r\n", b"_\r\n", b"*0\r\n"] {
            assert_eq!(read(nothing), Some((nothing.len(), false, vec![])));
        }
        assert_eq!(read(b"|1\r\n+k\r\n+v\r\n:5\r\n:6\r\n").unwrap().2, ["k", "v", "5"]);
    }

    #[test]
    fn invalid_bytes_are_refused_without_allocating_memory() {
        const MOST: &[u8] = b"|18446744073709551615\r\n";
        let long = [b"+".as_slice(), &b"x".repeat(LONGEST_LINE)].concat();
        for bad in [&b"HTTP/1.1\r\n"[..], b"*x\r\n", b"*99999999999\r\n", MOST, b"+a\n", b"\r\n", &long] {
            assert!(frame(bad, &mut Vec::new()).is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }
}
