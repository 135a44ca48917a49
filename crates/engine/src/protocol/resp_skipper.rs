//! Finds the ends of RESP replies, across any number of reads, and does not store the replies.
//!
//! ```text
//!            ┌─────────── scalar line: one reply ───────────┐
//!  Between ──┤                                              ├──► Between
//!            └─ $n or *n: Inside, until nothing is open ────┘
//! ```
//! The parser skips a list by counting. A header of n elements adds n to the number of open elements. The end of an
//! element subtracts one. Nested lists therefore need no stack. The depth of nested lists is limited only in replies
//! that redyno decodes. RESP3 pushes and attributes are skipped, because they are not replies. The parser counts the
//! pushes. If a reply contains an error, the reply counts as an error. An example is the reply to EXEC if one of the
//! commands has failed.

use memchr::memchr;

use super::{
    Reply, ReplyParts, ReplyPiece,
    bounds::ReplyBounds,
    digits::add_digits,
    header::{Header, ProtocolError, begins_reply, parse_header, whole_reply},
    partial_line::PartialLine,
};

/// The largest number of stored bytes of an error among the elements of a reply.
const MAX_KEPT: usize = 256;

/// The kind of message that contains the open elements.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum RespState {
    /// No element is open, so the next byte begins a reply or a push.
    #[default]
    Between,
    /// The reply has ended. The last call returned the reply's last element, and the next call returns the reply
    /// itself.
    Ended,
    Reply,
    /// A push or an attribute, which is not a reply.
    Aside,
}

/// The state of one connection's stream of replies. Between replies, this state usually uses no heap memory.
#[derive(Debug, Default)]
pub struct RespSkipper {
    inside: RespState,
    /// The number of open elements. An element is open until the parser has read the end of the element.
    open: u64,
    /// The number of elements at the top level of the reply, and how many of these elements have not begun.
    elements: u64,
    ahead: u64,
    /// The number of bytes of a bulk string that are still to come, including the CRLF after the string.
    payload: u64,
    /// The cursor at the beginning of the reply, as long as its digits are being read.
    cursor: Option<u64>,
    /// The line that is being read.
    line: PartialLine,
    /// The number of pushes that began since the last call of `take_pushes`.
    pushes: u64,
    /// The first error among the elements of the current reply, or the error of an earlier reply.
    inner: Option<Box<InnerError>>,
    /// Whether `payload` is the text of `inner`, which is an error in the form of a bulk string.
    in_error: bool,
    /// The counts of elements and levels, if replies are bounded.
    bounds: Option<Box<ReplyBounds>>,
}

/// An error among the elements of a reply.
#[derive(Debug)]
struct InnerError {
    line: Vec<u8>,
    /// Whether the error was already returned. If the error was returned, another error may replace it.
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
        self.inside == RespState::Between && self.line.is_empty()
    }

    /// Works like [`Skipper::advance`](super::Skipper::advance).
    #[inline]
    pub(super) fn advance<'r, 'i: 'r>(
        &'r mut self,
        input: &mut &'i [u8],
        parts: ReplyParts,
    ) -> Result<Option<ReplyPiece<'r>>, ProtocolError> {
        if self.is_between()
            && let Some((reply, length)) = whole_reply(input)
        {
            *input = &input[length..];
            return Ok(Some(ReplyPiece::Reply(reply)));
        }
        self.advance_by_lines(input, parts)
    }

    /// Parses replies of all forms, line by line.
    #[inline(never)]
    fn advance_by_lines<'r, 'i: 'r>(
        &'r mut self,
        input: &mut &'i [u8],
        parts: ReplyParts,
    ) -> Result<Option<ReplyPiece<'r>>, ProtocolError> {
        if self.inside == RespState::Ended {
            self.inside = RespState::Between;
            return Ok(Some(ReplyPiece::Reply(self.whole())));
        }
        loop {
            if self.payload > 0 {
                if !self.take_payload(input) {
                    return Ok(None);
                }
                let is_ended = self.element_ended();
                if let Some(cursor) = self.cursor.take() {
                    return Ok(Some(self.part(ReplyPiece::Number(cursor), is_ended)));
                }
                if is_ended {
                    return Ok(Some(ReplyPiece::Reply(self.whole())));
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
            let was_between = self.inside == RespState::Between;
            if matches!(header, Header::Error) && self.inside == RespState::Reply {
                let line = if whole_line { head } else { self.line.whole() };
                note(&mut self.inner, &line[1..line.len() - 1]);
            }
            let element = if parts == ReplyParts::None { None } else { self.element(&header, parts) };
            let is_ended = self.enter(&header)?;
            if matches!(header, Header::BulkError(_)) && self.inside == RespState::Reply {
                self.in_error = note(&mut self.inner, b"");
            }
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
                return Ok(Some(ReplyPiece::Reply(reply)));
            }
        }
    }

    /// Takes bytes of the payload from the input. Returns whether the payload is complete.
    fn take_payload(&mut self, input: &mut &[u8]) -> bool {
        let n = self.payload.min(input.len() as u64);
        let (bytes, rest) = input.split_at(n as usize);
        *input = rest;
        self.payload -= n;
        if let Some(cursor) = &mut self.cursor {
            add_digits(cursor, bytes);
        }
        if self.in_error {
            self.add_error(bytes);
            self.in_error = self.payload > 0;
        }
        self.payload == 0
    }

    /// Returns a part of the reply. If the reply ends with this part, the next call returns the reply itself.
    fn part(&mut self, part: ReplyPiece<'static>, is_ended: bool) -> ReplyPiece<'static> {
        self.inside = if is_ended { RespState::Ended } else { self.inside };
        part
    }

    /// Returns the element that begins with `header`, if it is at the top level and not an error. If cursors are
    /// requested ([`ReplyParts::Cursors`]), begins to read a cursor instead. Must be called before `enter`.
    fn element(&mut self, header: &Header, parts: ReplyParts) -> Option<ReplyPiece<'static>> {
        // `open` exceeds `ahead` while an element with elements of its own is open.
        let begins = self.inside == RespState::Reply && self.open == self.ahead;
        if !begins || matches!(header, Header::Attribute(_)) {
            return None;
        }
        let place = self.elements - self.ahead;
        self.ahead -= 1;
        if parts == ReplyParts::Cursors {
            self.cursor = (place == 0 && matches!(header, Header::Bulk(_))).then_some(0);
            return None;
        }
        let is_null = matches!(header, Header::Nil | Header::Aggregate(0));
        (!matches!(header, Header::Error | Header::BulkError(_)))
            .then_some(ReplyPiece::Element { place, is_null })
    }

    /// Stores bytes of the current bulk error. The CRLF after the error is not stored. `payload` is the
    /// number of bytes that follow `bytes`, including the CRLF.
    #[cold]
    fn add_error(&mut self, bytes: &[u8]) {
        let Some(inner) = &mut self.inner else { return };
        let text = bytes.len() - 2_usize.saturating_sub(self.payload as usize).min(bytes.len());
        inner.line.extend_from_slice(&bytes[..text.min(MAX_KEPT - inner.line.len())]);
    }

    /// Returns the kind of a complete reply. If one of its elements is an error, the reply is an error.
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
        let between = self.inside == RespState::Between;
        if between {
            self.inside = match header {
                Header::Push(_) | Header::Attribute(_) => RespState::Aside,
                _ => RespState::Reply,
            };
            self.pushes += u64::from(matches!(header, Header::Push(_)));
            self.open = 1;
            if let Header::Aggregate(n) = *header {
                (self.elements, self.ahead) = (n, n);
            }
        }
        match *header {
            Header::Scalar | Header::Nil | Header::Error => Ok(self.element_ended()),
            Header::Bulk(length) | Header::BulkError(length) => {
                self.payload = length + 2;
                Ok(false)
            }
            Header::Push(_) | Header::Attribute(_) if self.bounds.is_some() => {
                Err(ProtocolError::Excess("with a push message or an attribute of RESP3"))
            }
            Header::Aggregate(n) | Header::Push(n) => {
                if let Some(bounds) = &mut self.bounds {
                    bounds.add(n, self.open, between)?;
                }
                self.add_open(n)?;
                Ok(self.element_ended())
            }
            // An attribute precedes an element and is not an element itself. Only an attribute before a reply
            // is counted like an element.
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
        std::mem::replace(&mut self.inside, RespState::Between) == RespState::Reply
    }
}

/// Stores an error if it is the first error of a reply. Returns whether it is the first error.
#[cold]
fn note(inner: &mut Option<Box<InnerError>>, line: &[u8]) -> bool {
    let is_first = inner.as_ref().is_none_or(|before| before.is_spent);
    if is_first {
        let line = line[..line.len().min(MAX_KEPT)].to_vec();
        *inner = Some(Box::new(InnerError { line, is_spent: false }));
    }
    is_first
}

#[cfg(test)]
mod tests;
