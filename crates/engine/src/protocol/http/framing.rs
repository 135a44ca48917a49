//! What the header of a reply says about its end, and about the end of the connection.

use httparse::Header;

use crate::protocol::header::ProtocolError;

/// The longest accepted body or chunk in bytes.
const LONGEST_BODY: u64 = 1 << 40;

/// What the header says about the end of the reply.
#[derive(Default)]
pub(super) struct Framing {
    /// The length of the body in bytes.
    pub(super) length: Option<u64>,
    /// Whether the body is chunked, if it has a transfer coding.
    pub(super) is_chunked: Option<bool>,
    /// Whether the connection closes or is kept, if the header says so.
    pub(super) closes: Option<bool>,
}

impl Framing {
    /// Reads the fields of a header.
    pub(super) fn of(fields: &[Header]) -> Result<Self, ProtocolError> {
        let mut framing = Self::default();
        for field in fields {
            let is = |name: &str| field.name.eq_ignore_ascii_case(name);
            let has = |word: &[u8]| {
                let mut words = field.value.split(|byte| *byte == b',');
                words.any(|it| it.trim_ascii().eq_ignore_ascii_case(word))
            };
            match field.name.len() {
                14 if is("Content-Length") => {
                    let length =
                        number(field.value, 10).ok_or_else(|| ProtocolError::bad_length(field.value))?;
                    if framing.length.is_some_and(|known| known != length) {
                        return Err(ProtocolError::bad_length(b"two different Content-Length"));
                    }
                    framing.length = Some(length);
                }
                // Only as the last coding it shows where the body ends.
                17 if is("Transfer-Encoding") => {
                    let last = field.value.rsplit(|byte| *byte == b',').next().unwrap_or_default();
                    framing.is_chunked = Some(last.trim_ascii().eq_ignore_ascii_case(b"chunked"));
                }
                10 if is("Connection") && has(b"close") => framing.closes = Some(true),
                10 if is("Connection") && has(b"keep-alive") => framing.closes = Some(false),
                _ => {}
            }
        }
        Ok(framing)
    }
}

/// Returns a number of digits alone that is an accepted length.
pub(super) fn number(digits: &[u8], radix: u32) -> Option<u64> {
    let add = |number: u64, digit: &u8| {
        let digit = char::from(*digit).to_digit(radix)?;
        Some(number * u64::from(radix) + u64::from(digit)).filter(|number| *number < LONGEST_BODY)
    };
    Some(digits).filter(|digits| !digits.is_empty())?.iter().try_fold(0, add)
}
