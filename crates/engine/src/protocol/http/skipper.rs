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

use super::framing::{Beginning, Framing, number};
use crate::protocol::{
    Piece, Reply,
    header::{MAX_LINE, ProtocolError},
    partial_line::PartialLine,
};

/// The longest accepted header or trailer in bytes, and the most fields that a header may have.
const MAX_HEADER: usize = MAX_LINE;
const MAX_FIELDS: usize = 128;
/// How many interim replies (1xx) may precede a reply.
const MAX_INTERIM: u8 = 16;
/// The most characters of a server's text that an error contains.
const SHOWN: usize = 80;

/// The state of one connection's stream of replies.
#[derive(Debug, Default)]
pub struct HttpSkipper {
    inside: Inside,
    /// The number of bytes of the body or chunk that are still to come. In a trailer, the number of its bytes so far.
    payload: u64,
    /// The part of a header that came with earlier reads.
    header: Vec<u8>,
    /// The beginning of the body.
    begun: Beginning,
    /// The line between chunks that is being read.
    line: PartialLine,
    /// How many interim replies preceded this one.
    interim: u8,
    /// The text of the error: `HTTP`, the status and its reason phrase; empty for a good reply.
    error: Vec<u8>,
    /// Whether the connection has had a complete reply.
    has_replied: bool,
    /// Whether the server closes the connection after this reply.
    is_last: bool,
}

/// The part of a reply to which the next bytes belong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Header,
    Counted,
    ChunkSize,
    Chunk,
    ChunkEnd,
    Trailer,
    UntilClosed,
    /// The reply has ended, and the next call returns it.
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
    ) -> Result<Option<Piece<'r>>, ProtocolError> {
        loop {
            match self.inside {
                Inside::Ended => {
                    (self.inside, self.has_replied) = (Inside::Header, true);
                    if self.error.is_empty() && self.begun.refuses_documents() {
                        self.error.extend_from_slice(Beginning::REFUSED);
                    }
                    let is_good = self.error.is_empty();
                    let reply = if is_good { Reply::Value } else { Reply::Error(&self.error) };
                    return Ok(Some(Piece::Reply(reply)));
                }
                _ if input.is_empty() => return Ok(None),
                Inside::Header => self.take_header(input, has_bodies)?,
                Inside::Counted | Inside::Chunk => {
                    let n = self.payload.min(input.len() as u64);
                    self.begun.add(&input[..n as usize]);
                    *input = &input[n as usize..];
                    self.payload -= n;
                    if self.payload == 0 {
                        self.inside =
                            if self.inside == Inside::Chunk { Inside::ChunkEnd } else { Inside::Ended };
                    }
                }
                Inside::ChunkSize | Inside::ChunkEnd | Inside::Trailer => self.take_line(input)?,
                Inside::UntilClosed => *input = &[],
            }
        }
    }

    /// Notes that the server has closed the connection, where a body without a length ends. Returns whether the
    /// connection has had a reply.
    pub(in crate::protocol) fn end(&mut self) -> bool {
        self.is_last = true;
        if self.inside == Inside::UntilClosed {
            self.inside = Inside::Ended;
        }
        self.has_replied || self.inside == Inside::Ended
    }

    /// Returns whether the server closes the connection after the last reply.
    #[inline]
    pub(in crate::protocol) fn is_last(&self) -> bool {
        self.is_last
    }

    /// Reads a header. Stores its beginning if the header is incomplete.
    fn take_header(&mut self, input: &mut &[u8], has_bodies: bool) -> Result<(), ProtocolError> {
        if self.header.is_empty() {
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
            *input = &input[end - begun..];
            let header = std::mem::take(&mut self.header);
            if self.parse(&header[..end], has_bodies)? != Some(end) {
                return Err(ProtocolError::no_reply(&header));
            }
        }
        if self.header.len() > MAX_HEADER { Err(long_header()) } else { Ok(()) }
    }

    /// Parses the header at the beginning of `bytes`. Returns the length of the header; `None` if the header is
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
            _ if !has_bodies || status == 204 || status == 304 => Inside::Ended,
            Framing { is_chunked: Some(_), length: Some(length), .. } => {
                let both = format!("Content-Length: {length} beside Transfer-Encoding");
                return Err(ProtocolError::bad_length(both.as_bytes()));
            }
            Framing { is_chunked: Some(true), .. } => Inside::ChunkSize,
            Framing { length: Some(0), is_chunked: None, .. } => Inside::Ended,
            Framing { length: Some(length), is_chunked: None, .. } => {
                self.payload = length;
                Inside::Counted
            }
            _ => {
                self.is_last = true;
                Inside::UntilClosed
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

    /// Reads a line between chunks. Stores its beginning if the line is incomplete.
    fn take_line(&mut self, input: &mut &[u8]) -> Result<(), ProtocolError> {
        let Some(end) = memchr(b'\n', input) else { return self.line.begin(input, |_| true) };
        let (head, rest) = (&input[..end], &input[end + 1..]);
        *input = rest;
        let line = if self.line.end(head)? { self.line.whole() } else { head };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match self.inside {
            Inside::ChunkSize => {
                self.payload = chunk_size(line)?;
                self.inside = if self.payload == 0 { Inside::Trailer } else { Inside::Chunk };
            }
            Inside::ChunkEnd if line.is_empty() => self.inside = Inside::ChunkSize,
            Inside::ChunkEnd => return Err(ProtocolError::bad_length(line)),
            _ if line.is_empty() => self.inside = Inside::Ended,
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

/// Returns the size at the beginning of a line before a chunk; extensions after it are ignored.
fn chunk_size(line: &[u8]) -> Result<u64, ProtocolError> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    number(digits, 16).ok_or_else(|| ProtocolError::bad_length(line))
}

#[cold]
fn long_header() -> ProtocolError {
    ProtocolError::Excess("whose header or trailer has more than 64 KiB")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the replies in `stream`. Reads end at `cuts`, and the connection closes at the end of the stream.
    fn replies(stream: &[u8], cuts: &[usize], has_bodies: bool) -> Result<Vec<String>, ProtocolError> {
        let (mut skipper, mut found, mut start) = (HttpSkipper::default(), Vec::new(), 0);
        let mut take = |skipper: &mut HttpSkipper, mut rest: &[u8]| {
            while let Some(piece) = skipper.advance(&mut rest, has_bodies)? {
                found.push(match piece {
                    Piece::Reply(Reply::Error(line)) => String::from_utf8_lossy(line).into_owned(),
                    piece => format!("{piece:?}"),
                });
            }
            Ok(())
        };
        for end in cuts.iter().copied().chain([stream.len()]) {
            take(&mut skipper, &stream[start..end])?;
            start = end;
        }
        skipper.end();
        take(&mut skipper, b"")?;
        Ok(found.into_iter().map(|reply| reply.replace("Reply(Value)", "good")).collect())
    }

    fn whole(stream: &str) -> Result<String, ProtocolError> {
        replies(stream.as_bytes(), &[], true).map(|found| found.join("; "))
    }

    const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/\
        HTTP/1.1 204 No Content\r\nServer: x\r\n\r\n\
        HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n\
        HTTP/1.1 200 OK\r\ntransfer-ENCODING: gzip, Chunked\r\n\r\n5;ext=\"a\"\r\nab\r\nc\r\n00A \r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n\
        HTTP/1.1 503 Service Unavailable\r\nRetry-After: 120\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nno\
        HTTP/1.1 302 Found\r\nLocation: https://elsewhere/\r\nContent-Length: 0\r\n\r\n\
        HTTP/1.1 404\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx\
        HTTP/1.1 200 OK\nContent-Length: 1\n\nx\
        HTTP/1.1 200 OK\r\n\r\nuntil the end\r\n\r\n";
    const FOUND: &str = "good; good; good; good; HTTP 503 Service Unavailable (Retry-After: 120); \
        HTTP 302 Found (Location: https://elsewhere/); HTTP 404 ; good; good";

    #[test]
    fn replies_are_found_wherever_reads_end() {
        let every_byte: Vec<_> = (1..STREAM.len()).collect();
        assert_eq!(whole(STREAM).unwrap(), FOUND);
        assert_eq!(replies(STREAM.as_bytes(), &every_byte, true).unwrap().join("; "), FOUND);
        for cut in every_byte {
            assert_eq!(replies(STREAM.as_bytes(), &[cut], true).unwrap().join("; "), FOUND, "cut at {cut}");
        }
    }

    #[test]
    fn a_reply_to_head_ends_with_its_header() {
        let stream = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nHTTP/1.1 405 No\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(replies(stream.as_bytes(), &[], false).unwrap(), ["good", "HTTP 405 No"]);
    }

    #[test]
    fn the_last_reply_of_a_connection_is_known() {
        for (header, is_last) in [
            ("HTTP/1.1 200 OK\r\n", false),
            ("HTTP/1.1 200 OK\r\nConnection: Upgrade, Close\r\n", true),
            ("HTTP/1.0 200 OK\r\n", true),
            ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n", false),
        ] {
            let mut skipper = HttpSkipper::default();
            let stream = format!("{header}Content-Length: 0\r\n\r\n");
            assert!(skipper.advance(&mut stream.as_bytes(), true).unwrap().is_some());
            assert_eq!(skipper.is_last(), is_last, "{header}");
        }
        let mut unanswered = HttpSkipper::default();
        assert!(!unanswered.end(), "a connection that had no reply is lost");
    }

    #[test]
    fn invalid_replies_and_endless_replies_are_refused() {
        let of = |header: &str, rest: &str| whole(&format!("HTTP/1.1 200 OK\r\n{header}\r\n\r\n{rest}"));
        for bad in [
            whole("+PONG\r\n"),
            whole("<html>"),
            whole("HTTP/2 200\r\n\r\n"),
            whole("HTTP/1.1 099 x\r\n\r\n"),
            whole("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
            of("A\0: b", ""),
            of("Content-Length: 1", "xy"),
        ] {
            assert!(matches!(bad, Err(ProtocolError::NoReply(_))), "{bad:?}");
        }
        for bad in [
            of("Content-Length: -1", ""),
            of("Content-Length: ", ""),
            of("Content-Length: 0x5", ""),
            of("Content-Length: 99999999999999999999", ""),
            of("Content-Length: 1\r\nContent-Length: 2", ""),
            of("Content-Length: 1\r\nTransfer-Encoding: chunked", ""),
            of("Transfer-Encoding: chunked", "\r\n"),
            of("Transfer-Encoding: chunked", "-5\r\n"),
            of("Transfer-Encoding: chunked", "fffffffffff\r\n"),
            of("Transfer-Encoding: chunked", "2\r\nabc\r\n"),
        ] {
            assert!(matches!(bad, Err(ProtocolError::Length(_))), "{bad:?}");
        }
        let many = |line: &str, n| "HTTP/1.1 200 OK\r\n".to_owned() + &line.repeat(n);
        for (bad, words) in [
            ("HTTP/1.1 100 Continue\r\n\r\n".repeat(17), "16 interim"),
            (many("A: b\r\n", 200) + "\r\n", "128 fields"),
            (many(&format!("A: {}\r\n", "b".repeat(1000)), 100), "64 KiB"),
            (
                many("Transfer-Encoding: chunked\r\n\r\n0\r\n", 1)
                    + &format!("A: {}\r\n", "b".repeat(1000)).repeat(100),
                "64 KiB",
            ),
        ] {
            for cuts in [vec![], (1..bad.len()).step_by(7).collect()] {
                let found = replies(bad.as_bytes(), &cuts, true);
                assert!(
                    matches!(&found, Err(ProtocolError::Excess(why)) if why.contains(words)),
                    "{words}: {found:?}"
                );
            }
        }
        let endless = many("Transfer-Encoding: chunked\r\n\r\n", 1) + &"5".repeat(2 * MAX_HEADER);
        assert_eq!(whole(&endless), Err(ProtocolError::LongLine));
    }

    proptest! {
        #[test]
        fn garbage_never_panics(bytes: Vec<u8>, cut: prop::sample::Index, has_bodies: bool) {
            let _ = replies(&bytes, &[cut.index(bytes.len() + 1)], has_bodies);
            let stream = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".as_slice(), &bytes].concat();
            let _ = replies(&stream, &[cut.index(stream.len())], has_bodies);
        }
    }
}
