//! Tests of the parser that skips HTTP responses.

use proptest::prelude::*;

use super::*;

/// Returns the replies in `stream`. Reads end at `cuts`, and the connection closes at the end of the stream.
fn replies(stream: &[u8], cuts: &[usize], has_bodies: bool) -> Result<Vec<String>, ProtocolError> {
    let (mut skipper, mut found, mut start) = (HttpSkipper::default(), Vec::new(), 0);
    let mut take = |skipper: &mut HttpSkipper, mut rest: &[u8]| {
        while let Some(piece) = skipper.advance(&mut rest, has_bodies)? {
            found.push(match piece {
                ReplyPiece::Reply(Reply::Error(line)) => String::from_utf8_lossy(line).into_owned(),
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
    \n\n\n\n\r\n\r\nHTTP/1.1 204 No Content\r\nServer: x\r\n\r\n\
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
    let stream =
        "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nHTTP/1.1 405 No\r\nTransfer-Encoding: chunked\r\n\r\n";
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
