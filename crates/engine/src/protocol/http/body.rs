//! Returns the body and the fields of a complete HTTP reply.

use httparse::{EMPTY_HEADER, Header, Response, Status};
use memchr::memchr;

use super::{
    framing::Framing,
    skipper::{MAX_FIELDS, chunk_size},
};
use crate::untrusted;

/// The content of a complete HTTP reply. Interim replies (1xx) are skipped.
#[derive(Debug, Default)]
pub struct HttpReply {
    /// The body, without the lines between chunks.
    pub body: Vec<u8>,
    /// The field Retry-After: a number of seconds, or a time.
    pub retry_after: Option<String>,
}

impl HttpReply {
    /// Parses the bytes of a reply. If they are not a reply, all fields are empty.
    pub fn read(mut reply: &[u8]) -> Self {
        loop {
            let mut fields = [EMPTY_HEADER; MAX_FIELDS];
            let mut response = Response::new(&mut fields);
            let Ok(Status::Complete(length)) = response.parse(reply) else { return Self::default() };
            reply = &reply[length..];
            if response.code >= Some(200) {
                let is_chunked = Framing::of(response.headers).is_ok_and(|it| it.is_chunked == Some(true));
                let body = if is_chunked { without_chunks(reply) } else { reply.to_vec() };
                let is_pause = |field: &&Header| field.name.eq_ignore_ascii_case("retry-after");
                let pause = response.headers.iter().find(is_pause);
                let retry_after = pause.map(|field| untrusted::bytes(field.value));
                return Self { body, retry_after };
            }
        }
    }
}

fn without_chunks(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = memchr(b'\n', rest) {
        let size = chunk_size(&rest[..end]).map_or(0, |size| size as usize);
        let Some((chunk, behind)) = rest[end + 1..].split_at_checked(size).filter(|_| size > 0) else {
            break;
        };
        body.extend_from_slice(chunk);
        rest = memchr(b'\n', behind).map_or(&[], |end| &behind[end + 1..]);
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_no_lines_between_its_chunks() {
        for (reply, body) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "{}"),
            ("HTTP/1.1 103 x\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n\r\nuntil\r\n the end", "until\r\n the end"),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\n{\"a\r\nA\r\n\":12345678\r\n1\r\n}\r\n0\r\n\r\n",
                "{\"a\":12345678}",
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n", ""),
            ("HTTP/1.1 204 No Content\r\n\r\n", ""),
        ] {
            assert_eq!(String::from_utf8(HttpReply::read(reply.as_bytes()).body).unwrap(), body, "{reply}");
        }
    }

    #[test]
    fn a_pause_is_a_field_and_no_part_of_the_reason_phrase() {
        let pause =
            |header: &str| HttpReply::read(format!("HTTP/1.1 503 {header}\r\n\r\n").as_bytes()).retry_after;
        assert_eq!(pause("Busy\r\nretry-after: 7").as_deref(), Some("7"));
        assert_eq!(pause("Busy (Retry-After: 60)"), None);
    }
}
