//! Finds where memcached's replies end.
//!
//! ```text
//!            ┌─ STORED, HD, 42, ERROR …: one reply ──────────────────────────┐
//!  Between ──┼─ VA n: n bytes and a line's end ──────────────────────────────┼──► Between
//!            └─ VALUE k f n: n bytes and a line's end, or STAT …: until END ─┘
//! ```

use memchr::memchr;

use crate::protocol::{Reply, ReplyPiece, header::ProtocolError, partial_line::PartialLine, whole_number};

/// The first words of replies that have a single line, each with the kind of the reply.
const WORDS: [(&[u8], Reply<'static>); 17] = [
    (b"HD", Reply::Value),
    (b"EN", Reply::Nil),
    (b"STORED", Reply::Value),
    (b"NF", Reply::Nil),
    (b"NOT_FOUND", Reply::Nil),
    (b"DELETED", Reply::Value),
    (b"TOUCHED", Reply::Value),
    // A condition of the command was false, for example that of `add`. This is not a miss, because no key is
    // missing.
    (b"NS", Reply::Value),
    (b"NOT_STORED", Reply::Value),
    (b"EX", Reply::Conflict),
    (b"EXISTS", Reply::Conflict),
    (b"MN", Reply::Value),
    (b"OK", Reply::Value),
    (b"VERSION", Reply::Value),
    (b"RESET", Reply::Value),
    (b"ME", Reply::Value),
    (b"BUSY", Reply::Value),
];

/// The first words of error replies.
const ERRORS: [&[u8]; 3] = [b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR"];

/// The longest accepted value in bytes. This limit is far above the longest value that memcached can store, which is 1
/// GiB.
const LONGEST_VALUE: u64 = 1 << 40;

/// The state of one connection's stream of replies. Between replies, this state usually uses no heap memory.
#[derive(Debug, Default)]
pub struct MemcachedSkipper {
    /// The reply to which the next lines and bytes belong.
    inside: MemcachedState,
    /// The number of bytes of a value that are still to come, including the CRLF after the value.
    payload: u64,
    /// The line that is being read.
    line: PartialLine,
}

/// The reply in progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum MemcachedState {
    /// No reply is in progress.
    #[default]
    Between,
    /// A reply that ends with END.
    Block,
    /// A reply that ends with its value.
    Value,
    /// The reply has ended. The last call returned the reply's CAS number, and the next call returns the reply itself.
    Ended,
}

/// A parsed line.
enum ReplyLine {
    /// The line is a whole reply, or the last line of a reply.
    Reply(Reply<'static>),
    Error,
    /// A value of this many bytes follows. END follows after the last value.
    Values(u64),
    /// A value of this many bytes follows. The reply ends after the value.
    Value(u64),
    /// The line is a line of statistics. Lines of statistics precede END.
    Stat,
    End,
}

impl MemcachedSkipper {
    /// Works like [`Skipper::advance`](crate::protocol::Skipper::advance). The returned parts are the CAS numbers of
    /// items.
    #[inline]
    pub(in crate::protocol) fn advance<'r, 'i: 'r>(
        &'r mut self,
        input: &mut &'i [u8],
        wants_cas: bool,
    ) -> Result<Option<ReplyPiece<'r>>, ProtocolError> {
        if self.inside == MemcachedState::Ended {
            self.inside = MemcachedState::Between;
            return Ok(Some(ReplyPiece::Reply(Reply::Value)));
        }
        loop {
            if self.payload > 0 {
                let n = self.payload.min(input.len() as u64);
                *input = &input[n as usize..];
                self.payload -= n;
                if self.payload > 0 {
                    return Ok(None);
                }
                if self.inside == MemcachedState::Value {
                    self.inside = MemcachedState::Between;
                    return Ok(Some(ReplyPiece::Reply(Reply::Value)));
                }
            }
            if input.is_empty() {
                return Ok(None);
            }
            let Some(end) = memchr(b'\n', input) else {
                let begins_reply = |first: u8| first.is_ascii_uppercase() || first.is_ascii_digit();
                return self.line.begin(input, begins_reply).map(|()| None);
            };
            let (head, rest) = (&input[..end], &input[end + 1..]);
            *input = rest;
            let is_joined = self.line.end(head)?;
            let text = if is_joined { self.line.whole() } else { head };
            let (line, cas) = (read(text)?, if wants_cas { cas(text) } else { None });
            let was_open = std::mem::take(&mut self.inside) != MemcachedState::Between;
            match line {
                ReplyLine::Reply(_) if cas.is_some() => self.inside = MemcachedState::Ended,
                ReplyLine::Reply(reply) => return Ok(Some(ReplyPiece::Reply(reply))),
                ReplyLine::Error => {
                    let line: &'r [u8] = if is_joined { self.line.whole() } else { head };
                    let line = line.strip_suffix(b"\r").unwrap_or(line);
                    return Ok(Some(ReplyPiece::Reply(Reply::Error(line))));
                }
                // An END without anything before it means that no key was found.
                ReplyLine::End => {
                    return Ok(Some(ReplyPiece::Reply(if was_open { Reply::Value } else { Reply::Nil })));
                }
                ReplyLine::Stat => self.inside = MemcachedState::Block,
                ReplyLine::Values(length) => {
                    (self.inside, self.payload) = (MemcachedState::Block, length + 2);
                }
                ReplyLine::Value(length) => (self.inside, self.payload) = (MemcachedState::Value, length + 2),
            }
            if let Some(number) = cas {
                return Ok(Some(ReplyPiece::Number(number)));
            }
        }
    }
}

/// Parses a line of a reply, which is given without its line feed.
#[inline]
fn read(line: &[u8]) -> Result<ReplyLine, ProtocolError> {
    let Some(text) = line.strip_suffix(b"\r") else { return Err(ProtocolError::no_line_end(line)) };
    let mut words = text.split(|byte| *byte == b' ');
    let word = words.next().unwrap_or_default();
    let length = |word: Option<&[u8]>| {
        let length = word.and_then(whole_number).filter(|length| *length < LONGEST_VALUE);
        length.ok_or_else(|| ProtocolError::bad_length(text))
    };
    Ok(match word {
        b"VALUE" => ReplyLine::Values(length(words.nth(2))?),
        b"END" => ReplyLine::End,
        b"VA" => ReplyLine::Value(length(words.next())?),
        b"STAT" => ReplyLine::Stat,
        _ if ERRORS.contains(&word) => ReplyLine::Error,
        _ => match WORDS.iter().find(|(known, _)| *known == word) {
            Some((_, reply)) => ReplyLine::Reply(*reply),
            // The new value of a counter.
            None if whole_number(text).is_some() => ReplyLine::Reply(Reply::Value),
            None => return Err(ProtocolError::no_reply(text)),
        },
    })
}

/// Returns the CAS number of an item from a line of the reply. The number is NUMBER in `VALUE key flags length NUMBER`.
/// After HD or VA, the number is in the flag `cNUMBER`.
fn cas(line: &[u8]) -> Option<u64> {
    let text = line.strip_suffix(b"\r").unwrap_or(line);
    let mut words = text.split(|byte| *byte == b' ');
    match words.next()? {
        b"VALUE" => words.nth(3).and_then(whole_number),
        b"HD" | b"VA" => words.find_map(|word| word.strip_prefix(b"c").and_then(whole_number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::protocol::{Skipper, header::MAX_LINE};

    fn replies(stream: &[u8], cuts: &[usize]) -> Result<Vec<String>, ProtocolError> {
        let mut skipper = Skipper::Memcached(MemcachedSkipper::default());
        let (mut found, mut start) = (Vec::new(), 0);
        for end in cuts.iter().copied().chain([stream.len()]) {
            let mut piece = &stream[start..end];
            while let Some(reply) = skipper.next(&mut piece)? {
                found.push(match reply {
                    Reply::Error(line) => String::from_utf8(line.to_vec()).unwrap(),
                    reply => format!("{reply:?}"),
                });
            }
            start = end;
        }
        Ok(found)
    }

    const STREAM: &[u8] = b"STORED\r\nEND\r\nVALUE k 0 5\r\nEND\r\n\r\nEND\r\nVALUE a 0 0 7\r\n\r\nVALUE b 1 1\r\nx\r\nEND\r\n42\r\n\
        NOT_FOUND\r\nNOT_STORED\r\nEXISTS\r\nDELETED\r\nTOUCHED\r\nSERVER_ERROR out of memory\r\nERROR\r\nHD\r\nHD t9 s3\r\n\
        VA 4 t9\r\nEN\r\n\r\nEN\r\nNF\r\nNS\r\nEX\r\nMN\r\nVERSION 1.6.18\r\nSTAT pid 1\r\nSTAT a b c\r\nEND\r\nVA 0\r\n\r\n";
    const FOUND: &str = "Value Nil Value Value Value Nil Value Conflict Value Value SERVER_ERROR out of memory ERROR \
        Value Value Value Nil Nil Value Conflict Value Value Value Value";

    #[test]
    fn replies_are_found_wherever_reads_end() {
        let every_byte: Vec<_> = (1..STREAM.len()).collect();
        assert_eq!(replies(STREAM, &[]).unwrap().join(" "), FOUND);
        assert_eq!(replies(STREAM, &every_byte).unwrap().join(" "), FOUND);
        for cut in every_byte {
            assert_eq!(replies(STREAM, &[cut]).unwrap().join(" "), FOUND, "cut at {cut}");
        }
    }

    #[test]
    fn cas_numbers_are_returned_before_their_reply_if_requested() {
        let stream =
            b"VALUE a 0 1 7\r\nx\r\nVALUE b 0 1 18446744073709551615\r\ny\r\nEND\r\nEND\r\nHD t9 c5 s1\r\n\
            VA 2 c6\r\nc8\r\nVALUE a 0 1\r\nx\r\nEND\r\nHD\r\nHD Oc9 kc9\r\nEN\r\n";
        let expected = "Number(7) Number(18446744073709551615) Value Nil Number(5) Value Number(6) Value Value Value Value Nil";
        let every_byte: Vec<_> = (1..stream.len()).collect();
        for cuts in [&[][..], &every_byte] {
            let (mut skipper, mut found, mut start) = (MemcachedSkipper::default(), Vec::new(), 0);
            for end in cuts.iter().copied().chain([stream.len()]) {
                let mut rest = &stream[start..end];
                while let Some(piece) = skipper.advance(&mut rest, true).unwrap() {
                    found.push(match piece {
                        ReplyPiece::Reply(reply) => format!("{reply:?}"),
                        part => format!("{part:?}"),
                    });
                }
                start = end;
            }
            assert_eq!(found.join(" "), expected);
        }
    }

    #[test]
    fn an_error_in_the_middle_of_values_ends_them() {
        let stream = b"VALUE a 0 1\r\nx\r\nSERVER_ERROR out of memory writing get response\r\nEND\r\n";
        let found = replies(stream, &[]).unwrap();
        assert_eq!(found, ["SERVER_ERROR out of memory writing get response", "Nil"]);
    }

    #[test]
    fn invalid_replies_and_endless_lines_are_refused() {
        for bad in [
            "+PONG\r\n",
            "-ERR x\r\n",
            "hello\r\n",
            "h",
            "HELLO\r\n",
            "VALUE k 0 x\r\n",
            "VA\r\n",
            "\r\n",
            "4 2\r\n",
        ] {
            assert!(replies(bad.as_bytes(), &[]).is_err(), "{bad:?}");
        }
        assert_eq!(replies(b"END\n", &[]), Err(ProtocolError::LineFeed("END".into())));
        assert_eq!(replies(&vec![b'E'; MAX_LINE + 1], &[]), Err(ProtocolError::LongLine));
        assert!(replies(b"VA 99999999999999999999\r\n", &[]).is_err());
    }

    proptest! {
        #[test]
        fn garbage_never_panics(bytes: Vec<u8>, cut: prop::sample::Index) {
            let _ = replies(&bytes, &[cut.index(bytes.len() + 1)]);
        }
    }
}
