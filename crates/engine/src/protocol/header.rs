//! Parses the first lines of RESP replies, and the shortest replies. Also defines the errors for invalid replies of all
//! protocols.

use thiserror::Error;

use super::Reply;
use crate::untrusted;

/// The longest accepted line in bytes, such as a header, a status or an error.
pub(super) const MAX_LINE: usize = 64 * 1024;

/// The error for bytes that are not a valid reply, or for a reply that is not accepted.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ProtocolError {
    /// The first byte does not begin any reply of the dialect.
    #[error("expected a reply, got '{0}'")]
    NoReply(String),
    /// A length is not a number, or is too large.
    #[error("expected a length, got '{0}'")]
    Length(String),
    /// A line is longer than the limit.
    #[error("a line of more than {MAX_LINE} bytes")]
    LongLine,
    /// A line ends in a line feed without a carriage return.
    #[error("a line without a carriage return: '{0}'")]
    LineFeed(String),
    /// A valid reply exceeds the limits of the decoder.
    #[error("a reply {0}")]
    Excess(&'static str),
}

impl ProtocolError {
    /// Returns the error for bytes that do not begin a reply.
    pub(super) fn no_reply(bytes: &[u8]) -> Self {
        Self::NoReply(excerpt(bytes))
    }

    /// Returns the error for a line that ends in the wrong bytes.
    pub(super) fn no_line_end(line: &[u8]) -> Self {
        Self::LineFeed(excerpt(line))
    }

    /// Returns the error for an invalid length.
    pub(super) fn bad_length(bytes: &[u8]) -> Self {
        Self::Length(excerpt(bytes))
    }
}

/// A parsed header line.
pub(super) enum Header {
    Scalar,
    Nil,
    Error,
    Bulk(u64),
    /// An error in the form of a bulk string, with its length.
    BulkError(u64),
    Aggregate(u64),
    Push(u64),
    Attribute(u64),
}

/// Parses a header line. `line` does not include the line feed.
#[inline]
pub(super) fn parse_header(line: &[u8]) -> Result<Header, ProtocolError> {
    let Some((&kind, rest)) = line.split_first() else {
        return Err(ProtocolError::LineFeed(String::new()));
    };
    let length = || parse_length(rest);
    let header = match kind {
        b'+' | b':' | b',' | b'(' | b'#' => Header::Scalar,
        b'$' | b'=' => length()?.map_or(Header::Nil, Header::Bulk),
        b'!' => length()?.map_or(Header::Nil, Header::BulkError),
        b'-' => Header::Error,
        b'_' => Header::Nil,
        b'*' | b'~' => length()?.map_or(Header::Nil, Header::Aggregate),
        b'%' => length()?.map_or(Header::Nil, |n| Header::Aggregate(2 * n)),
        b'>' => length()?.map_or(Header::Nil, Header::Push),
        b'|' => length()?.map_or(Header::Nil, |n| Header::Attribute(2 * n)),
        _ => return Err(ProtocolError::no_reply(line)),
    };
    if rest.last() != Some(&b'\r') {
        return Err(ProtocolError::no_line_end(line));
    }
    Ok(header)
}

/// Returns whether the line of a reply, a push or an attribute may begin with this byte.
pub(super) fn begins_reply(first: u8) -> bool {
    b"+-:$*_#,(!=%~>|".contains(&first)
}

/// Parses the digits of a length up to the carriage return. If the length is -1, returns `None`.
#[inline]
fn parse_length(digits: &[u8]) -> Result<Option<u64>, ProtocolError> {
    let error = || ProtocolError::bad_length(digits);
    let Some((b'\r', digits)) = digits.split_last() else {
        return Err(error());
    };
    if digits == b"-1" {
        return Ok(None);
    }
    // Twelve digits are far above Redis's limit of 512 MiB, and cannot overflow.
    if digits.is_empty() || digits.len() > 12 || !digits.iter().all(u8::is_ascii_digit) {
        return Err(error());
    }
    Ok(Some(digits.iter().fold(0, |n, digit| n * 10 + u64::from(digit - b'0'))))
}

/// Returns the beginning of `bytes` as text for an error message.
#[cold]
fn excerpt(bytes: &[u8]) -> String {
    untrusted::bytes(bytes[..bytes.len().min(60)].trim_ascii_end())
}

/// Parses a reply if the reply is one of the most frequent replies of a load: a null, an OK, or a short bulk string.
/// Returns the reply and its length in bytes, or `None` if the reply is incomplete or of another kind.
/// `advance_by_lines` parses replies of other kinds.
#[inline]
pub(super) fn whole_reply(input: &[u8]) -> Option<(Reply<'static>, usize)> {
    match *input {
        [b'$', b'-', b'1', b'\r', b'\n', ..] => Some((Reply::Nil, 5)),
        [b'+', b'O', b'K', b'\r', b'\n', ..] => Some((Reply::Value, 5)),
        [b'$', digit @ b'0'..=b'9', b'\r', b'\n', ..] => whole_bulk(input, 4, usize::from(digit - b'0')),
        [b'$', tens @ b'1'..=b'9', digit @ b'0'..=b'9', b'\r', b'\n', ..] => {
            whole_bulk(input, 5, usize::from(tens - b'0') * 10 + usize::from(digit - b'0'))
        }
        _ => None,
    }
}

#[inline]
fn whole_bulk(input: &[u8], header: usize, payload: usize) -> Option<(Reply<'static>, usize)> {
    let length = header + payload + 2;
    (input.len() >= length).then_some((Reply::Value, length))
}
