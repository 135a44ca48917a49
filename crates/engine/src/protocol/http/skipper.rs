//! Finds where HTTP replies end, without storing their bodies.
//!
//! ```text
//!      ┌── 1xx ──┐   ┌─ counted: so many bytes ──────────────────────────────┐
//!      ▼         │   ├─ chunked: a size, its bytes, …, the size 0, a trailer ┤
//!  Header ───────┴───┼─ until the server closes the connection ──────────────┼──► Ended ──► Header
//!                    └─ none: HEAD, 204, 304 ────────────────────────────────┘
//! ```

use std::{io::Write as _, mem::MaybeUninit};

use httparse::{Header, ParserConfig, Response, Status};
use memchr::{memchr, memchr_iter};

use super::framing::{BodyStart, Framing, number};
use crate::protocol::{
    Reply, ReplyPiece,
    header::{MAX_LINE, ProtocolError},
    partial_line::PartialLine,
};

/// The longest accepted header or trailer in bytes.
const MAX_HEADER: usize = MAX_LINE;
/// The largest number of fields in a header.
pub(super) const MAX_FIELDS: usize = 128;
/// The largest number of interim replies (1xx) that may precede a reply.
const MAX_INTERIM: u8 = 16;
/// The largest number of characters of a server's text that an error contains.
const SHOWN: usize = 80;

/// The state of one connection's stream of replies.
#[derive(Debug, Default)]
pub struct HttpSkipper {
    inside: HttpState,
    /// The number of bytes of the body or chunk that are still to come. While a trailer is being read, this is the
    /// number of the trailer's bytes so far.
    payload: u64,
    /// The part of a header that earlier reads have returned.
    header: Vec<u8>,
    /// The beginning of the body.
    begun: BodyStart,
    /// The line between chunks that is being read.
    line: PartialLine,
    /// The number of interim replies that have preceded the current reply.
    interim: u8,
    /// The text of the error: `HTTP`, the status and its reason phrase. For a good reply, the text is empty.
    error: Vec<u8>,
    /// Whether the connection has had a complete reply.
    has_replied: bool,
    /// Whether the server closes the connection after this reply.
    is_last: bool,
}

/// The part of a reply to which the next bytes belong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum HttpState {
    #[default]
    Header,
    Counted,
    ChunkSize,
    Chunk,
    ChunkEnd,
    Trailer,
    UntilClosed,
    /// The reply has ended, and the next call returns this reply.
    Ended,
}

impl HttpSkipper {
    /// Works like [`Skipper::advance`](crate::protocol::Skipper::advance), but never returns a part of a reply.
    /// `has_bodies` is false for replies to HEAD.
    #[inline(never)]
    pub(in crate::protocol) fn advance<'r>(
        &'r mut self,
        input: &mut &[u8],
        has_bodies: bool,
    ) -> Result<Option<ReplyPiece<'r>>, ProtocolError> {
        loop {
            match self.inside {
                HttpState::Ended => {
                    (self.inside, self.has_replied) = (HttpState::Header, true);
                    if self.error.is_empty() && self.begun.refuses_documents() {
                        self.error.extend_from_slice(BodyStart::REFUSED);
                    }
                    let is_good = self.error.is_empty();
                    let reply = if is_good { Reply::Value } else { Reply::Error(&self.error) };
                    return Ok(Some(ReplyPiece::Reply(reply)));
                }
                _ if input.is_empty() => return Ok(None),
                HttpState::Header => self.take_header(input, has_bodies)?,
                HttpState::Counted | HttpState::Chunk => {
                    let n = self.payload.min(input.len() as u64);
                    self.begun.add(&input[..n as usize]);
                    *input = &input[n as usize..];
                    self.payload -= n;
                    if self.payload == 0 {
                        self.inside = if self.inside == HttpState::Chunk {
                            HttpState::ChunkEnd
                        } else {
                            HttpState::Ended
                        };
                    }
                }
                HttpState::ChunkSize | HttpState::ChunkEnd | HttpState::Trailer => self.take_line(input)?,
                HttpState::UntilClosed => *input = &[],
            }
        }
    }

    /// Notes that the server has closed the connection. A closed connection ends a body without a length. Returns
    /// whether the connection has had a reply.
    pub(in crate::protocol) fn end(&mut self) -> bool {
        self.is_last = true;
        if self.inside == HttpState::UntilClosed {
            self.inside = HttpState::Ended;
        }
        self.has_replied || self.inside == HttpState::Ended
    }

    /// Notes that the server has closed the connection. Returns whether this ended a reply, which the next call of
    /// [`advance`](Self::advance) returns.
    pub(in crate::protocol) fn ends_reply(&mut self) -> bool {
        self.end();
        self.inside == HttpState::Ended
    }

    /// Returns whether the server will close the connection after the last reply.
    #[inline]
    pub(in crate::protocol) fn is_last(&self) -> bool {
        self.is_last
    }

    /// Reads a header. If the header is incomplete, stores the beginning of the header.
    fn take_header(&mut self, input: &mut &[u8], has_bodies: bool) -> Result<(), ProtocolError> {
        if self.header.is_empty() {
            // Empty lines before a header are skipped, and are no part of a stored header.
            let blank = input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            *input = &input[blank..];
            match self.parse(input, has_bodies)? {
                Some(length) => *input = &input[length..],
                None => self.header.extend_from_slice(std::mem::take(input)),
            }
        } else {
            let begun = self.header.len();
            let room = (MAX_HEADER - begun.min(MAX_HEADER)).min(input.len());
            self.header.extend_from_slice(&input[..room]);
            let Some(end) = header_end(&self.header, begun.saturating_sub(3)) else {
                *input = &input[room..];
                return if self.header.len() < MAX_HEADER { Ok(()) } else { Err(long_header()) };
            };
            let read = end.checked_sub(begun).ok_or_else(|| ProtocolError::no_reply(&self.header))?;
            *input = &input[read..];
            let header = std::mem::take(&mut self.header);
            if self.parse(&header[..end], has_bodies)? != Some(end) {
                return Err(ProtocolError::no_reply(&header));
            }
        }
        if self.header.len() > MAX_HEADER { Err(long_header()) } else { Ok(()) }
    }

    /// Parses the header at the beginning of `bytes`. Returns the length of the header, or `None` if the header is
    /// incomplete.
    fn parse(&mut self, bytes: &[u8], has_bodies: bool) -> Result<Option<usize>, ProtocolError> {
        let mut fields = [const { MaybeUninit::uninit() }; MAX_FIELDS];
        let mut response = Response::new(&mut []);
        let parsed =
            ParserConfig::default().parse_response_with_uninit_headers(&mut response, bytes, &mut fields);
        match parsed {
            Ok(Status::Complete(length)) => self.begin(&response, has_bodies).map(|()| Some(length)),
            Ok(Status::Partial) => Ok(None),
            Err(httparse::Error::TooManyHeaders) => {
                Err(ProtocolError::Excess("whose header has more than 128 fields"))
            }
            Err(_) => Err(ProtocolError::no_reply(bytes)),
        }
    }

    /// Begins the reply with this header.
    fn begin(&mut self, response: &Response, has_bodies: bool) -> Result<(), ProtocolError> {
        let status = response.code.unwrap_or_default();
        let reason = response.reason.unwrap_or_default();
        if status == 101 || !(100..1000).contains(&status) {
            return Err(ProtocolError::no_reply(format!("HTTP {status} {reason}").as_bytes()));
        }
        if status < 200 {
            self.interim += 1;
            return match self.interim {
                ..=MAX_INTERIM => Ok(()),
                _ => Err(ProtocolError::Excess("after more than 16 interim ones (HTTP 1xx)")),
            };
        }
        self.interim = 0;
        let framing = Framing::of(response.headers)?;
        self.is_last = framing.closes.unwrap_or(response.version != Some(1));
        self.error.clear();
        self.begun.clear();
        if !(200..300).contains(&status) && status != 304 {
            self.note_error(status, reason, response.headers);
        }
        self.inside = match framing {
            _ if !has_bodies || status == 204 || status == 304 => HttpState::Ended,
            Framing { is_chunked: Some(_), length: Some(length), .. } => {
                let both = format!("Content-Length: {length} beside Transfer-Encoding");
                return Err(ProtocolError::bad_length(both.as_bytes()));
            }
            Framing { is_chunked: Some(true), .. } => HttpState::ChunkSize,
            Framing { length: Some(0), is_chunked: None, .. } => HttpState::Ended,
            Framing { length: Some(length), is_chunked: None, .. } => {
                self.payload = length;
                HttpState::Counted
            }
            _ => {
                self.is_last = true;
                HttpState::UntilClosed
            }
        };
        Ok(())
    }

    /// Stores the error text of a reply: the status, the reason phrase, and the fields Retry-After and Location.
    #[cold]
    fn note_error(&mut self, status: u16, reason: &str, fields: &[Header]) {
        let shown = |text: &str| text.chars().take(SHOWN).collect::<String>();
        // Writing to memory cannot fail.
        let _ = write!(self.error, "HTTP {status} {}", shown(reason));
        for name in ["Retry-After", "Location"] {
            if let Some(field) = fields.iter().find(|field| field.name.eq_ignore_ascii_case(name)) {
                let value = &field.value[..field.value.len().min(SHOWN)];
                self.error.extend_from_slice(&[b" (", name.as_bytes(), b": ", value, b")"].concat());
            }
        }
    }

    /// Reads a line between chunks. If the line is incomplete, stores the beginning of the line.
    fn take_line(&mut self, input: &mut &[u8]) -> Result<(), ProtocolError> {
        let Some(end) = memchr(b'\n', input) else { return self.line.begin(input, |_| true) };
        let (head, rest) = (&input[..end], &input[end + 1..]);
        *input = rest;
        let line = if self.line.end(head)? { self.line.whole() } else { head };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match self.inside {
            HttpState::ChunkSize => {
                self.payload = chunk_size(line)?;
                self.inside = if self.payload == 0 { HttpState::Trailer } else { HttpState::Chunk };
            }
            HttpState::ChunkEnd if line.is_empty() => self.inside = HttpState::ChunkSize,
            HttpState::ChunkEnd => return Err(ProtocolError::bad_length(line)),
            _ if line.is_empty() => self.inside = HttpState::Ended,
            _ => {
                self.payload += line.len() as u64;
                if self.payload > MAX_HEADER as u64 {
                    return Err(long_header());
                }
            }
        }
        Ok(())
    }
}

/// Returns the position after the empty line that ends a header. The search begins at `from`.
fn header_end(bytes: &[u8], from: usize) -> Option<usize> {
    memchr_iter(b'\n', &bytes[from..]).find_map(|at| match &bytes[from + at + 1..] {
        [b'\n', ..] => Some(from + at + 2),
        [b'\r', b'\n', ..] => Some(from + at + 3),
        _ => None,
    })
}

/// Returns the size at the beginning of a line before a chunk. Extensions after the size are ignored.
pub(super) fn chunk_size(line: &[u8]) -> Result<u64, ProtocolError> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    number(digits, 16).ok_or_else(|| ProtocolError::bad_length(line))
}

#[cold]
fn long_header() -> ProtocolError {
    ProtocolError::Excess("whose header or trailer has more than 64 KiB")
}

#[cfg(test)]
mod tests;
