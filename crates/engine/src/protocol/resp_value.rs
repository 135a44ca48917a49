//! Decodes a complete RESP2 or RESP3 reply. redyno decodes only the few replies whose content it needs.

use super::{Dialect, Skipper, bounds::MAX_DEPTH};

/// A decoded reply. A map becomes a list in which keys and values alternate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RespValue<'a> {
    /// A simple string, a bulk string, or a number that is not an integer.
    Text(&'a [u8]),
    /// An integer.
    Number(i64),
    /// An array, a set, or a map.
    List(Vec<RespValue<'a>>),
    /// Null.
    Nothing,
    /// An error, without the leading `-`.
    Error(&'a [u8]),
}

impl<'a> RespValue<'a> {
    /// Decodes a reply. Returns `None` if `bytes` are not exactly one reply, or if the reply exceeds the limits that
    /// [`bounded`](Skipper::bounded) sets.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut checked = bytes;
        let mut skipper: Skipper = Dialect::Resp3.skipper().bounded();
        skipper.next(&mut checked).ok()??;
        let mut rest = bytes;
        let value = Self::next(&mut rest, MAX_DEPTH)?;
        (checked.is_empty() && rest.is_empty()).then_some(value)
    }

    /// Returns the elements if the value is a list.
    pub fn list(&self) -> Option<&[Self]> {
        if let Self::List(elements) = self { Some(elements) } else { None }
    }

    /// Returns the bytes if the value is a string.
    pub fn text(&self) -> Option<&'a [u8]> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Returns the number if the value is an integer.
    pub fn number(&self) -> Option<i64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    /// Decodes the next element, with lists that are nested at most `levels` deep. As in the skipper, a line
    /// ends at a line feed.
    fn next(rest: &mut &'a [u8], levels: usize) -> Option<Self> {
        let end = memchr::memchr(b'\n', rest)?;
        let (kind, line) = rest[..end].strip_suffix(b"\r")?.split_first()?;
        *rest = &rest[end + 1..];
        let number = || std::str::from_utf8(line).ok()?.parse::<i64>().ok();
        let elements = |each| usize::try_from(number()?).ok().map(|n| n * each);
        match kind {
            b'$' | b'=' | b'*' | b'~' if line == b"-1" => Some(Self::Nothing),
            b'_' => Some(Self::Nothing),
            b':' => number().map(Self::Number),
            b'-' => Some(Self::Error(line)),
            b'$' | b'=' | b'!' => {
                let length = usize::try_from(number()?).ok()?;
                let text = rest.get(..length)?;
                *rest = rest.get(length + 2..)?;
                Some(if *kind == b'!' { Self::Error(text) } else { Self::Text(text) })
            }
            b'*' | b'~' => Self::list_of(elements(1)?, rest, levels),
            b'%' => Self::list_of(elements(2)?, rest, levels),
            _ => Some(Self::Text(line)),
        }
    }

    fn list_of(elements: usize, rest: &mut &'a [u8], levels: usize) -> Option<Self> {
        let levels = levels.checked_sub(1)?;
        (0..elements).map(|_| Self::next(rest, levels)).collect::<Option<_>>().map(Self::List)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_complete_reply_is_decoded() {
        let read = RespValue::read(b"*4\r\n:5\r\n$2\r\na\n\r\n*-1\r\n%1\r\n+k\r\n_\r\n").unwrap();
        let map = RespValue::List(vec![RespValue::Text(b"k"), RespValue::Nothing]);
        assert_eq!(
            read.list().unwrap(),
            [RespValue::Number(5), RespValue::Text(b"a\n"), RespValue::Nothing, map]
        );
        assert_eq!(RespValue::read(b"-ERR no\r\n"), Some(RespValue::Error(b"ERR no")));
        for bad in [&b"*2\r\n:5\r\n"[..], b":5\r\n:6\r\n", b"$5\r\nab\r\n", b"", &b"*1\r\n".repeat(1000)] {
            assert_eq!(RespValue::read(bad), None, "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn a_decoded_reply_is_no_deeper_than_the_checked_one() {
        let (head, nested) = ("*3\r\n+a\r?$9\r?\r\n$400000\r\n", "*1\r?".repeat(100_000));
        let reply = format!("{head}{nested}\r\n:1\r\n");
        let read = RespValue::read(reply.as_bytes()).unwrap();
        assert_eq!(read.list().unwrap().len(), 3);
        assert_eq!(read.list().unwrap()[1].text(), Some(nested.as_bytes()));
        assert_eq!(RespValue::next(&mut b"*1\r\n".repeat(100_000).as_slice(), MAX_DEPTH), None);
    }
}
