//! Finds where whole replies end, and refuses what no server has reason to say: the bound before a decoder that has none.
//!
//! RESP2 only, since that is what is spoken where replies are decoded. Lengths are judged as they are announced, so a
//! reply that is too large costs nothing but its header.

use memchr::memchr;
use thiserror::Error;

use super::header::{Header, MAX_LINE, ProtocolError, parse_header};

/// The deepest nesting; the deepest answer that is asked for (LATENCY HISTOGRAM) has 3 levels.
const MAX_DEPTH: usize = 32;
/// The most bytes of one reply, 64 MiB: CLIENT LIST of 10 000 clients has some 4 MiB.
const MAX_BYTES: u64 = 64 << 20;
/// The most elements of one reply at all levels. SCAN brings some thousand, 32 entries of the slow log with all their arguments some 1 300.
const MAX_ELEMENTS: u64 = 1 << 18;

/// Why a server is not listened to any further.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Excess {
    /// Lists in lists in lists.
    #[error("a reply that is nested more than {MAX_DEPTH} deep")]
    Depth,
    /// A reply of more bytes than any answer has, sent or announced.
    #[error("a reply of more than {} MiB", MAX_BYTES >> 20)]
    Bytes,
    /// A reply of more elements than any answer has, sent or announced.
    #[error("a reply of more than {MAX_ELEMENTS} elements")]
    Elements,
    /// Bytes that are no RESP2.
    #[error("no Redis reply: {0}")]
    Protocol(#[from] ProtocolError),
}

/// The state of one connection's replies.
#[derive(Debug, Default)]
pub struct Meter {
    /// Elements still to come, of each list that is open.
    open: Vec<u64>,
    /// Bytes of a bulk payload still to come, with its final CRLF.
    payload: u64,
    /// The part of a line that earlier reads brought.
    line: Vec<u8>,
    /// Of the reply that is arriving: bytes that came or were announced, and elements.
    bytes: u64,
    elements: u64,
}

impl Meter {
    /// Takes bytes from the front of `input` up to the end of the next reply; false when `input` is used up first, and
    /// the next bytes carry on from there.
    ///
    /// # Errors
    /// When the reply is beyond the bounds or no RESP2; nothing more is to be read from that server then.
    pub fn next(&mut self, input: &mut &[u8]) -> Result<bool, Excess> {
        loop {
            if self.payload > 0 {
                let n = self.payload.min(input.len() as u64);
                *input = &input[n as usize..];
                self.payload -= n;
                if self.payload > 0 {
                    return Ok(false);
                }
                if self.element_ended() {
                    return Ok(true);
                }
                continue;
            }
            let Some(end) = memchr(b'\n', input) else {
                self.keep(input)?;
                *input = &[];
                return Ok(false);
            };
            self.keep(&input[..end])?;
            *input = &input[end + 1..];
            let line = std::mem::take(&mut self.line);
            if self.enter(&parse_header(&line)?, line.len() as u64)? {
                return Ok(true);
            }
        }
    }

    fn keep(&mut self, part: &[u8]) -> Result<(), ProtocolError> {
        let first = self.line.first().or(part.first());
        if first.is_some_and(|kind| !b"+-:$*".contains(kind)) {
            return Err(ProtocolError::no_reply([&self.line, part].concat().as_slice()));
        }
        if self.line.len() + part.len() > MAX_LINE {
            return Err(ProtocolError::LongLine);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    /// Takes a header into account. Whether it ended a reply.
    fn enter(&mut self, header: &Header, length: u64) -> Result<bool, Excess> {
        self.count(length, 1)?;
        match *header {
            Header::Bulk(length) => {
                self.payload = length + 2;
                self.count(length, 0)?;
                return Ok(false);
            }
            Header::Aggregate(n) if n > 0 => {
                if self.open.len() == MAX_DEPTH {
                    return Err(Excess::Depth);
                }
                if n > MAX_ELEMENTS {
                    return Err(Excess::Elements);
                }
                self.open.push(n);
                return Ok(false);
            }
            _ => {}
        }
        Ok(self.element_ended())
    }

    fn count(&mut self, bytes: u64, elements: u64) -> Result<(), Excess> {
        self.bytes += bytes;
        self.elements += elements;
        if self.bytes > MAX_BYTES {
            return Err(Excess::Bytes);
        }
        if self.elements > MAX_ELEMENTS { Err(Excess::Elements) } else { Ok(()) }
    }

    /// One element ended, and with it the lists whose last it was. Whether that ended a reply.
    fn element_ended(&mut self) -> bool {
        while let Some(left) = self.open.last_mut() {
            *left -= 1;
            if *left > 0 {
                return false;
            }
            self.open.pop();
        }
        (self.bytes, self.elements) = (0, 0);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many replies end in `stream`, fed in pieces of `step` bytes.
    fn replies(stream: &[u8], step: usize) -> Result<usize, Excess> {
        let mut meter = Meter::default();
        let mut ended = 0;
        for mut piece in stream.chunks(step) {
            while meter.next(&mut piece)? {
                ended += 1;
            }
        }
        Ok(ended)
    }

    #[test]
    fn every_reply_ends_where_it_ends_however_it_is_cut() {
        let stream = b"+OK\r\n$5\r\nhe\nlo\r\n$-1\r\n*-1\r\n*0\r\n:7\r\n-ERR no\r\n*2\r\n*2\r\n:1\r\n*0\r\n$0\r\n\r\n+last\r\n";
        for step in 1..=stream.len() {
            assert_eq!(replies(stream, step), Ok(9), "{step}");
        }
    }

    #[test]
    fn what_is_beyond_the_bounds_is_refused_when_it_is_announced() {
        let deep = |levels| [b"*1\r\n".repeat(levels).as_slice(), b":1\r\n"].concat();
        assert_eq!(replies(&deep(MAX_DEPTH), 7), Ok(1));
        assert_eq!(replies(&deep(MAX_DEPTH + 1), 7), Err(Excess::Depth));
        assert_eq!(replies(b"$999999999999\r\n", 3), Err(Excess::Bytes));
        assert_eq!(replies(b"*999999999999\r\n", 3), Err(Excess::Elements));
        let many = |lists: usize| b"*1000\r\n".repeat(lists);
        assert_eq!(replies(&many(40), 4096), Err(Excess::Depth));
        let bulks = [
            b"*100\r\n".to_vec(),
            format!("$1000000\r\n{}\r\n", "x".repeat(1_000_000)).into_bytes().repeat(100),
        ];
        assert_eq!(replies(&bulks.concat(), 65536), Err(Excess::Bytes));
        let numbers =
            [b"*200\r\n".to_vec(), [b"*2000\r\n".to_vec(), b":1\r\n".repeat(2000)].concat().repeat(200)];
        assert_eq!(replies(&numbers.concat(), 65536), Err(Excess::Elements));
    }

    #[test]
    fn the_bounds_are_those_of_one_reply() {
        let replies_of_a_mebibyte = format!("$1048576\r\n{}\r\n", "x".repeat(1 << 20)).repeat(100);
        assert_eq!(replies(replies_of_a_mebibyte.as_bytes(), 65536), Ok(100));
    }

    #[test]
    fn what_is_not_resp2_is_told() {
        for stream in [b">1\r\n+a\r\n".as_slice(), b"|1\r\n", b"%1\r\n", b"HTTP/1.1 200 OK\r\n", b"\x16\x03"]
        {
            assert!(
                matches!(replies(stream, 1), Err(Excess::Protocol(ProtocolError::NoReply(_)))),
                "{stream:?}"
            );
        }
        assert!(matches!(
            replies(&vec![b'+'; MAX_LINE + 1], 4096),
            Err(Excess::Protocol(ProtocolError::LongLine))
        ));
    }
}
