//! Tests of the parser that skips RESP replies.

use proptest::prelude::*;

use super::*;
use crate::protocol::{Skipper, header::MAX_LINE};

/// Returns all replies in `stream`, which is split at `cuts`.
fn replies(stream: &[u8], cuts: &[usize]) -> Result<Vec<String>, ProtocolError> {
    let mut skipper = Skipper::Resp(RespSkipper::default());
    let mut found = Vec::new();
    let mut start = 0;
    for end in cuts.iter().copied().chain([stream.len()]) {
        let mut piece = &stream[start..end];
        while let Some(reply) = skipper.next(&mut piece)? {
            found.push(match reply {
                Reply::Nil => "nil".to_owned(),
                Reply::Error(line) => String::from_utf8(line.to_vec()).unwrap(),
                _ => "value".to_owned(),
            });
        }
        start = end;
    }
    Ok(found)
}

const STREAM: &[u8] = b"+OK\r\n$5\r\nhe\nlo\r\n$-1\r\n_\r\n*-1\r\n:42\r\n-LOADING not yet\r\n*0\r\n%0\r\n$0\r\n\r\n\
    *3\r\n$1\r\na\r\n*2\r\n:1\r\n-ERR inner\r\n_\r\n>2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n%2\r\n+a\r\n,1.5\r\n+b\r\n#t\r\n\
    |1\r\n+ttl\r\n:10\r\n$2\r\nhi\r\n~1\r\n(123\r\n=7\r\ntxt:abc\r\n*1\r\n|1\r\n+k\r\n+v\r\n:7\r\n!9\r\nERR wrong\r\n";
const EXPECTED: &str = "value, value, nil, nil, nil, value, LOADING not yet, nil, nil, value, ERR inner, value, value, \
    value, value, value, ERR wrong";

#[test]
fn the_end_of_every_kind_of_reply_is_found() {
    assert_eq!(replies(STREAM, &[]).unwrap().join(", "), EXPECTED);
}

#[test]
fn a_reply_may_be_cut_anywhere() {
    for cut in 0..STREAM.len() {
        assert_eq!(replies(STREAM, &[cut]).unwrap().join(", "), EXPECTED, "cut at {cut}");
    }
    let every_byte: Vec<_> = (1..STREAM.len()).collect();
    assert_eq!(replies(STREAM, &every_byte).unwrap().join(", "), EXPECTED);
}

#[test]
fn invalid_replies_are_refused_even_without_a_line_end() {
    assert_eq!(
        replies(b"HTTP/1.1 400 Bad Request\r\n", &[]),
        Err(ProtocolError::NoReply("HTTP/1.1 400 Bad Request".into()))
    );
    assert!(matches!(replies(b"\x15\x03\x03", &[]), Err(ProtocolError::NoReply(_))));
    assert_eq!(replies(b"$abc\r\n", &[]), Err(ProtocolError::Length("abc".into())));
    assert_eq!(replies(b"+OK\n", &[]), Err(ProtocolError::LineFeed("+OK".into())));
    assert_eq!(replies(&vec![b'+'; MAX_LINE + 1], &[]), Err(ProtocolError::LongLine));
}

#[test]
fn a_reply_gets_the_first_error_among_its_own_elements() {
    let stream =
        b"*2\r\n:1\r\n*2\r\n-WRONGTYPE a\r\n-ERR b\r\n*1\r\n$1\r\na\r\n*1\r\n-\r\n>1\r\n-ERR push\r\n+a\r\n";
    let every_byte: Vec<_> = (1..stream.len()).collect();
    for cuts in [&[][..], &every_byte] {
        assert_eq!(replies(stream, cuts).unwrap(), ["WRONGTYPE a", "value", "", "value"]);
    }
    let long = [b"*1\r\n-ERR ", "x".repeat(10_000).as_bytes(), b"\r\n"].concat();
    assert_eq!(replies(&long, &[]).unwrap()[0].len(), MAX_KEPT);
}

/// Returns the requested parts and the replies in `stream`, which is split at `cuts`.
fn pieces(stream: &[u8], cuts: &[usize], parts: ReplyParts) -> Vec<String> {
    let (mut skipper, mut found, mut start) = (RespSkipper::default(), Vec::new(), 0);
    for end in cuts.iter().copied().chain([stream.len()]) {
        let mut rest = &stream[start..end];
        while let Some(piece) = skipper.advance(&mut rest, parts).unwrap() {
            found.push(match piece {
                ReplyPiece::Element { place, is_null: true } => format!("{place} null"),
                ReplyPiece::Element { place, is_null: false } => format!("{place}"),
                ReplyPiece::Reply(Reply::Error(line)) => String::from_utf8_lossy(line).into_owned(),
                ReplyPiece::Reply(reply) => format!("{reply:?}"),
                ReplyPiece::Number(cursor) => format!("cursor {cursor}"),
            });
        }
        start = end;
    }
    found
}

#[test]
fn top_level_elements_are_returned_before_their_reply() {
    for (stream, expected) in [
        ("*3\r\n$1\r\na\r\n$-1\r\n:1\r\n+OK\r\n", "0, 1 null, 2, Value, Value"),
        ("*2\r\n*2\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n", "0, 1 null, Value, Nil"),
        ("*3\r\n-ERR a\r\n*0\r\n*1\r\n*1\r\n-ERR b\r\n", "1 null, 2, ERR a"),
        ("*2\r\n|1\r\n+k\r\n_\r\n_\r\n%1\r\n_\r\n_\r\n*0\r\n", "0 null, 1, Value, Nil"),
        ("!21\r\nSYNTAX invalid syntax\r\n:1\r\n", "SYNTAX invalid syntax, Value"),
        ("*3\r\n!0\r\n\r\n!4\r\nOOM \r\n:1\r\n+OK\r\n", "2, , Value"),
        (
            "*2\r\n-ERR a\r\n!5\r\nERR b\r\n!5\r\nE\r\nb\n\r\n|1\r\n+k\r\n!1\r\nE\r\n!-1\r\n",
            "ERR a, E\r\nb\n, Nil",
        ),
        ("*1\r\n-ERR a\r\n>2\r\n_\r\n_\r\n%1\r\n+a\r\n_\r\n", "ERR a, 0, 1 null, Value"),
    ] {
        let every_byte: Vec<_> = (1..stream.len()).collect();
        for cuts in [&[][..], &every_byte] {
            assert_eq!(
                pieces(stream.as_bytes(), cuts, ReplyParts::Elements).join(", "),
                expected,
                "{stream}"
            );
        }
    }
}

#[test]
fn the_cursor_of_a_scan_is_returned_before_its_reply() {
    for (stream, expected) in [
        ("*2\r\n$3\r\n170\r\n*1\r\n$2\r\n99\r\n", "cursor 170, Value"),
        (
            "*2\r\n$20\r\n18446744073709551615\r\n*0\r\n-ERR a\r\n",
            "cursor 18446744073709551615, Value, ERR a",
        ),
        ("*1\r\n$1\r\n7\r\n$1\r\n5\r\n", "cursor 7, Value, Value"),
        ("*2\r\n:5\r\n$1\r\n7\r\n", "Value"),
    ] {
        let every_byte: Vec<_> = (1..stream.len()).collect();
        for cuts in [&[][..], &every_byte] {
            assert_eq!(pieces(stream.as_bytes(), cuts, ReplyParts::Cursors).join(", "), expected, "{stream}");
        }
    }
}

proptest! {
    #[test]
    fn garbage_never_panics(bytes: Vec<u8>, cut: prop::sample::Index) {
        let cut = cut.index(bytes.len() + 1);
        let _ = replies(&bytes, &[cut]);
        let (mut skipper, mut rest) = (RespSkipper::default(), &bytes[..]);
        while let Ok(Some(_)) = skipper.advance(&mut rest, ReplyParts::Cursors) {}
    }
}
