//! Finds out from an HTTP header where the reply ends, and whether the connection closes. Also finds out from the
//! beginning of a body whether a `_bulk` request of Elasticsearch failed.

use httparse::Header;
use memchr::memmem;

use crate::protocol::header::ProtocolError;

/// The longest accepted body or chunk in bytes.
const LONGEST_BODY: u64 = 1 << 40;

/// The fields of a header that show where the reply ends.
#[derive(Default)]
pub(super) struct Framing {
    /// The length of the body in bytes.
    pub(super) length: Option<u64>,
    /// Whether the body is chunked. The field is `None` if the body has no transfer coding.
    pub(super) is_chunked: Option<bool>,
    /// Whether the connection closes after the reply. The field is `None` if the header does not show this.
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
                // The body ends with its last chunk only if `chunked` is the last coding.
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

/// Parses a length that consists of digits. Returns `None` for any other text, and for a length that is not accepted.
pub(super) fn number(digits: &[u8], radix: u32) -> Option<u64> {
    let add = |number: u64, digit: &u8| {
        let digit = char::from(*digit).to_digit(radix)?;
        Some(number * u64::from(radix) + u64::from(digit)).filter(|number| *number < LONGEST_BODY)
    };
    Some(digits).filter(|digits| !digits.is_empty())?.iter().try_fold(0, add)
}

/// The beginning of a body. The body's beginning shows whether Elasticsearch refused documents of a `_bulk` request.
/// The status of the reply is 200 even if Elasticsearch refused documents.
#[derive(Debug, Default)]
pub(super) struct BodyStart(Vec<u8>);

impl BodyStart {
    const LENGTH: usize = 64;
    /// The error that is reported for a reply with refused documents.
    pub(super) const REFUSED: &[u8] = b"BULK at least one document was refused (\"errors\":true)";

    /// Removes the bytes of the last body.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds the next bytes of the body.
    #[inline]
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(&bytes[..bytes.len().min(Self::LENGTH - self.0.len())]);
    }

    /// Returns whether the beginning of the body contains `"errors":true`. A duration (`"took":…`) may
    /// precede this text.
    #[inline]
    pub(super) fn refuses_documents(&self) -> bool {
        let begun = self.0.as_slice();
        (begun.starts_with(b"{\"took\":") || begun.starts_with(b"{\"errors\":"))
            && memmem::find(begun, b"\"errors\":true").is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bulk_that_refused_documents_is_known_by_the_beginning_of_its_body() {
        for (body, refuses) in [
            ("{\"errors\":true}", true),
            ("{\"took\":1234567,\"ingest_took\":12345,\"errors\":true,\"items\":[", true),
            ("{\"took\":30,\"errors\":false,\"items\":[]}", false),
            ("{\"took\":5,\"timed_out\":false,\"hits\":{\"text\":\"", false),
            ("{\"data\":null,\"errors\":true}", false),
            ("", false),
        ] {
            for cut in 0..body.len() {
                let mut begun = BodyStart::default();
                begun.add(&body.as_bytes()[..cut]);
                begun.add(&body.as_bytes()[cut..]);
                assert_eq!(begun.refuses_documents(), refuses, "{body}");
            }
        }
    }
}
