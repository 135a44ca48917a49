//! Returns the body of a complete HTTP reply.

use httparse::{EMPTY_HEADER, Response, Status};
use memchr::memchr;

use super::{
    framing::Framing,
    skipper::{MAX_FIELDS, chunk_size},
};

/// Returns the body of a complete reply, without the lines between chunks. Interim replies (1xx) are skipped.
pub fn body_of(mut reply: &[u8]) -> Vec<u8> {
    loop {
        let mut fields = [EMPTY_HEADER; MAX_FIELDS];
        let mut response = Response::new(&mut fields);
        let Ok(Status::Complete(length)) = response.parse(reply) else { return Vec::new() };
        reply = &reply[length..];
        if response.code >= Some(200) {
            let is_chunked = Framing::of(response.headers).is_ok_and(|it| it.is_chunked == Some(true));
            return if is_chunked { without_chunks(reply) } else { reply.to_vec() };
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
            assert_eq!(String::from_utf8(body_of(reply.as_bytes())).unwrap(), body, "{reply}");
        }
    }
}
