//! Finds the ends of RESP replies, across any number of reads, without storing them.
//!
//! ```text
//!            ┌─────────── scalar line: one reply ───────────┐
//!  Between ──┤                                              ├──► Between
//!            └─ $n or *n: Inside, until nothing is open ────┘
//! ```
//! An aggregate is skipped by counting: a header of n elements adds n to the number of open elements, and the end of an
//! element subtracts one. So nesting needs no stack and has no limit, unless a decoder will read the reply. RESP3
//! pushes and attributes are skipped, because they are not replies; pushes are counted. A reply that contains an error,
//! for example the reply to EXEC with the error of one command, counts as an error.

use memchr::memchr;

use super::{
    Parts, Piece, Reply,
    bounds::Bounds,
    digits::add_digits,
    header::{Header, ProtocolError, begins_reply, parse_header, whole_reply},
    partial_line::PartialLine,
};

/// The most bytes that are stored of an error among the elements of a reply.
const MAX_KEPT: usize = 256;

/// The kind of message to which the open elements belong.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// No element is open: the next byte begins a reply or a push.
    #[default]
    Between,
    /// The reply has ended. The last call returned its last element, and the next call returns the reply itself.
    Ended,
    Reply,
    /// A push or an attribute, which is not a reply.
    Aside,
}

/// The state of one connection's stream of replies. Between replies, it usually uses no heap memory.
#[derive(Debug, Default)]
pub struct RespSkipper {
    inside: Inside,
    /// The number of open elements: those that have not ended.
    open: u64,
    /// The number of elements at the top level of the reply, and the number of these elements that have not begun.
    elements: u64,
    ahead: u64,
    /// The number of bytes of a bulk string that are still to come, including its final CRLF.
    payload: u64,
    /// The cursor at the beginning of the reply while its digits are being read.
    cursor: Option<u64>,
    /// The line that is being read.
    line: PartialLine,
    /// The number of pushes that began since the last call of `take_pushes`.
    pushes: u64,
    /// The first error among the elements of the current reply, or the error of an earlier reply.
    inner: Option<Box<Inner>>,
    /// The counts of elements and levels, if replies are bounded.
    bounds: Option<Box<Bounds>>,
}

/// An error among the elements of a reply.
#[derive(Debug)]
struct Inner {
    line: Vec<u8>,
    /// Whether the error was already returned, so that another error may replace it.
    is_spent: bool,
}

impl RespSkipper {
    /// Works like [`Skipper::bounded`](super::Skipper::bounded).
    pub(super) fn bounded(self) -> Self {
        Self { bounds: Some(Box::default()), ..self }
    }

    /// Works like [`Skipper::take_pushes`](super::Skipper::take_pushes).
    #[inline]
    pub(super) fn take_pushes(&mut self) -> u64 {
        std::mem::take(&mut self.pushes)
    }

    /// Returns whether no reply is in progress.
    pub(super) fn is_between(&self) -> bool {
        self.inside == Inside::Between && self.line.is_empty()
    }

    /// Works like [`Skipper::advance`](super::Skipper::advance).
    #[inline]
    pub(super) fn advance<'r, 'i: 'r>(
        &'r mut self,
        input: &mut &'i [u8],
        parts: Parts,
    ) -> Result<Option<Piece<'r>>, ProtocolError> {
        if self.is_between()
            && let Some((reply, length)) = whole_reply(input)
        {
            *input = &input[length..];
            return Ok(Some(Piece::Reply(reply)));
        }
        self.advance_by_lines(input, parts)
    }

    /// Parses replies of all forms, line by line.
    #[inline(never)]
    fn advance_by_lines<'r, 'i: 'r>(
        &'r mut self,
        input: &mut &'i [u8],
        parts: Parts,
    ) -> Result<Option<Piece<'r>>, ProtocolError> {
        if self.inside == Inside::Ended {
            self.inside = Inside::Between;
            return Ok(Some(Piece::Reply(self.whole())));
        }
        loop {
            if self.payload > 0 {
                let n = self.payload.min(input.len() as u64);
                let (bytes, rest) = input.split_at(n as usize);
                *input = rest;
                self.payload -= n;
                if let Some(cursor) = &mut self.cursor {
                    add_digits(cursor, bytes);
                }
                if self.payload > 0 {
                    return Ok(None);
                }
                let is_ended = self.element_ended();
                if let Some(cursor) = self.cursor.take() {
                    return Ok(Some(self.part(Piece::Number(cursor), is_ended)));
                }
                if is_ended {
                    return Ok(Some(Piece::Reply(self.whole())));
                }
                continue;
            }
            if input.is_empty() {
                return Ok(None);
            }
            let Some(end) = memchr(b'\n', input) else {
                return self.line.begin(input, begins_reply).map(|()| None);
            };
            let (head, rest) = (&input[..end], &input[end + 1..]);
            *input = rest;
            let whole_line = !self.line.end(head)?;
            let header = parse_header(if whole_line { head } else { self.line.whole() })?;
            let was_between = self.inside == Inside::Between;
            if matches!(header, Header::Error) && self.inside == Inside::Reply {
                note(&mut self.inner, if whole_line { head } else { self.line.whole() });
            }
            let element = if parts == Parts::None { None } else { self.element(&header, parts) };
            let is_ended = self.enter(&header)?;
            if let Some(element) = element {
                return Ok(Some(self.part(element, is_ended)));
            }
            if is_ended {
                let reply = match header {
                    Header::Nil | Header::Aggregate(0) if was_between => Reply::Nil,
                    Header::Error if was_between => {
                        let line: &'r [u8] = if whole_line { head } else { self.line.whole() };
                        Reply::Error(&line[1..line.len() - 1])
                    }
                    _ => self.whole(),
                };
                return Ok(Some(Piece::Reply(reply)));
            }
        }
    }

    /// Returns a part of the reply. If the reply ends with this part, the next call returns the reply itself.
    fn part(&mut self, part: Piece<'static>, is_ended: bool) -> Piece<'static> {
        self.inside = if is_ended { Inside::Ended } else { self.inside };
        part
    }

    /// Returns the element that begins with `header`, if the element is at the top level and not an error. For
    /// [`Parts::Cursors`], starts to read a cursor instead. Call this before `enter`.
    fn element(&mut self, header: &Header, parts: Parts) -> Option<Piece<'static>> {
        // `open` exceeds `ahead` while an element with elements of its own is open.
        let begins = self.inside == Inside::Reply && self.open == self.ahead;
        if !begins || matches!(header, Header::Attribute(_)) {
            return None;
        }
        let place = self.elements - self.ahead;
        self.ahead -= 1;
        if parts == Parts::Cursors {
            self.cursor = (place == 0 && matches!(header, Header::Bulk(_))).then_some(0);
            return None;
        }
        let is_null = matches!(header, Header::Nil | Header::Aggregate(0));
        (!matches!(header, Header::Error)).then_some(Piece::Element { place, is_null })
    }

    /// Returns the kind of a complete reply: an error if one of its elements is an error.
    fn whole(&mut self) -> Reply<'_> {
        match self.inner.as_deref_mut().filter(|inner| !inner.is_spent) {
            Some(inner) => {
                inner.is_spent = true;
                Reply::Error(&inner.line)
            }
            None => Reply::Value,
        }
    }

    /// Processes a header. Returns whether the reply ends with this header.
    #[inline]
    fn enter(&mut self, header: &Header) -> Result<bool, ProtocolError> {
        let between = self.inside == Inside::Between;
        if between {
            self.inside = match header {
                Header::Push(_) | Header::Attribute(_) => Inside::Aside,
                _ => Inside::Reply,
            };
            self.pushes += u64::from(matches!(header, Header::Push(_)));
            self.open = 1;
            if let Header::Aggregate(n) = *header {
                (self.elements, self.ahead) = (n, n);
            }
        }
        match *header {
            Header::Scalar | Header::Nil | Header::Error => Ok(self.element_ended()),
            Header::Bulk(length) => {
                self.payload = length + 2;
                Ok(false)
            }
            Header::Push(_) | Header::Attribute(_) if self.bounds.is_some() => {
                Err(ProtocolError::Excess("of RESP3 with something beside it"))
            }
            Header::Aggregate(n) | Header::Push(n) => {
                if let Some(bounds) = &mut self.bounds {
                    bounds.add(n, self.open, between)?;
                }
                self.add_open(n)?;
                Ok(self.element_ended())
            }
            // An attribute precedes an element and is not an element itself. Only an attribute before a reply is
            // counted like one.
            Header::Attribute(n) => {
                self.add_open(n)?;
                Ok(between && self.element_ended())
            }
        }
    }

    fn add_open(&mut self, n: u64) -> Result<(), ProtocolError> {
        self.open = self.open.checked_add(n).ok_or_else(|| ProtocolError::Length(n.to_string()))?;
        Ok(())
    }

    /// Ends one open element. Returns whether the reply ends with this element.
    #[inline]
    fn element_ended(&mut self) -> bool {
        self.open -= 1;
        if self.open > 0 {
            return false;
        }
        std::mem::replace(&mut self.inside, Inside::Between) == Inside::Reply
    }
}

/// Stores the first error among the elements of a reply.
#[cold]
fn note(inner: &mut Option<Box<Inner>>, line: &[u8]) {
    if inner.as_ref().is_none_or(|before| before.is_spent) {
        let line = &line[1..line.len() - 1];
        *inner = Some(Box::new(Inner { line: line[..line.len().min(MAX_KEPT)].to_vec(), is_spent: false }));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::protocol::{Skipper, header::MAX_LINE};

    /// Returns all replies in `stream`, which is split at `cuts`.
    fn replies(stream: &[u8], cuts: &[usize]) -> Result<Vec<String>, ProtocolError> {
        let mut skipper = Skipper::Resp(RespSkipper::default());
        let mut found = Vec::new();
        let mut start = 0;
        for end in cuts.iter().copied().chain([stream.len()]) {
            let mut piece = &stream[start..end];
            while let Some(reply) = skipper.next(&mut piece)? {
                found.push(match reply {
                    Reply::Nil => "nil".to_owned(),
                    Reply::Error(line) => String::from_utf8(line.to_vec()).unwrap(),
                    _ => "value".to_owned(),
                });
            }
            start = end;
        }
        Ok(found)
    }

    const STREAM: &[u8] = b"+OK\r\n$5\r\nhe\nlo\r\n$-1\r\n_\r\n*-1\r\n:42\r\n-LOADING not yet\r\n*0\r\n%0\r\n$0\r\n\r\n\
        *3\r\n$1\r\na\r\n*2\r\n:1\r\n-ERR inner\r\n_\r\n>2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n%2\r\n+a\r\n,1.5\r\n+b\r\n#t\r\n\
        |1\r\n+ttl\r\n:10\r\n$2\r\nhi\r\n~1\r\n(123\r\n=7\r\ntxt:abc\r\n*1\r\n|1\r\n+k\r\n+v\r\n:7\r\n!9\r\nERR wrong\r\n";
    const EXPECTED: &str = "value, value, nil, nil, nil, value, LOADING not yet, nil, nil, value, ERR inner, value, value, \
        value, value, value, value";

    #[test]
    fn the_end_of_every_kind_of_reply_is_found() {
        assert_eq!(replies(STREAM, &[]).unwrap().join(", "), EXPECTED);
    }

    #[test]
    fn a_reply_may_be_cut_anywhere() {
        for cut in 0..STREAM.len() {
            assert_eq!(replies(STREAM, &[cut]).unwrap().join(", "), EXPECTED, "cut at {cut}");
        }
        let every_byte: Vec<_> = (1..STREAM.len()).collect();
        assert_eq!(replies(STREAM, &every_byte).unwrap().join(", "), EXPECTED);
    }

    #[test]
    fn invalid_replies_are_refused_even_without_a_line_end() {
        assert_eq!(
            replies(b"HTTP/1.1 400 Bad Request\r\n", &[]),
            Err(ProtocolError::NoReply("HTTP/1.1 400 Bad Request".into()))
        );
        assert!(matches!(replies(b"\x15\x03\x03", &[]), Err(ProtocolError::NoReply(_))));
        assert_eq!(replies(b"$abc\r\n", &[]), Err(ProtocolError::Length("abc".into())));
        assert_eq!(replies(b"+OK\n", &[]), Err(ProtocolError::LineFeed("+OK".into())));
        assert_eq!(replies(&vec![b'+'; MAX_LINE + 1], &[]), Err(ProtocolError::LongLine));
    }

    #[test]
    fn a_reply_gets_the_first_error_among_its_own_elements() {
        let stream = b"*2\r\n:1\r\n*2\r\n-WRONGTYPE a\r\n-ERR b\r\n*1\r\n$1\r\na\r\n*1\r\n-\r\n>1\r\n-ERR push\r\n+a\r\n";
        let every_byte: Vec<_> = (1..stream.len()).collect();
        for cuts in [&[][..], &every_byte] {
            assert_eq!(replies(stream, cuts).unwrap(), ["WRONGTYPE a", "value", "", "value"]);
        }
        let long = [b"*1\r\n-ERR ", "x".repeat(10_000).as_bytes(), b"\r\n"].concat();
        assert_eq!(replies(&long, &[]).unwrap()[0].len(), MAX_KEPT);
    }

    /// Returns the requested parts and the replies in `stream`, which is split at `cuts`.
    fn pieces(stream: &[u8], cuts: &[usize], parts: Parts) -> Vec<String> {
        let (mut skipper, mut found, mut start) = (RespSkipper::default(), Vec::new(), 0);
        for end in cuts.iter().copied().chain([stream.len()]) {
            let mut rest = &stream[start..end];
            while let Some(piece) = skipper.advance(&mut rest, parts).unwrap() {
                found.push(match piece {
                    Piece::Element { place, is_null: true } => format!("{place} null"),
                    Piece::Element { place, is_null: false } => format!("{place}"),
                    Piece::Reply(Reply::Error(line)) => String::from_utf8_lossy(line).into_owned(),
                    Piece::Reply(reply) => format!("{reply:?}"),
                    Piece::Number(cursor) => format!("cursor {cursor}"),
                });
            }
            start = end;
        }
        found
    }

    #[test]
    fn top_level_elements_are_returned_before_their_reply() {
        for (stream, expected) in [
            ("*3\r\n$1\r\na\r\n$-1\r\n:1\r\n+OK\r\n", "0, 1 null, 2, Value, Value"),
            ("*2\r\n*2\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n", "0, 1 null, Value, Nil"),
            ("*3\r\n-ERR a\r\n*0\r\n*1\r\n*1\r\n-ERR b\r\n", "1 null, 2, ERR a"),
            ("*2\r\n|1\r\n+k\r\n_\r\n_\r\n%1\r\n_\r\n_\r\n*0\r\n", "0 null, 1, Value, Nil"),
            ("*1\r\n-ERR a\r\n>2\r\n_\r\n_\r\n%1\r\n+a\r\n_\r\n", "ERR a, 0, 1 null, Value"),
        ] {
            let every_byte: Vec<_> = (1..stream.len()).collect();
            for cuts in [&[][..], &every_byte] {
                assert_eq!(pieces(stream.as_bytes(), cuts, Parts::Elements).join(", "), expected, "{stream}");
            }
        }
    }

    #[test]
    fn the_cursor_of_a_scan_is_returned_before_its_reply() {
        for (stream, expected) in [
            ("*2\r\n$3\r\n170\r\n*1\r\n$2\r\n99\r\n", "cursor 170, Value"),
            (
                "*2\r\n$20\r\n18446744073709551615\r\n*0\r\n-ERR a\r\n",
                "cursor 18446744073709551615, Value, ERR a",
            ),
            ("*1\r\n$1\r\n7\r\n$1\r\n5\r\n", "cursor 7, Value, Value"),
            ("*2\r\n:5\r\n$1\r\n7\r\n", "Value"),
        ] {
            let every_byte: Vec<_> = (1..stream.len()).collect();
            for cuts in [&[][..], &every_byte] {
                assert_eq!(pieces(stream.as_bytes(), cuts, Parts::Cursors).join(", "), expected, "{stream}");
            }
        }
    }

    proptest! {
        #[test]
        fn garbage_never_panics(bytes: Vec<u8>, cut: prop::sample::Index) {
            let cut = cut.index(bytes.len() + 1);
            let _ = replies(&bytes, &[cut]);
            let (mut skipper, mut rest) = (RespSkipper::default(), &bytes[..]);
            while let Ok(Some(_)) = skipper.advance(&mut rest, Parts::Cursors) {}
        }
    }
}
