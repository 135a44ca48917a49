//! The words of an inline command, with the quotes and escapes that Redis knows.
//!
//! `"..."` understands `\n \r \t \b \a \xHH \"` and `\\`; `'...'` understands `\'` only. A closing quote must be
//! followed by a space or the end.

use super::request::Span;

/// Splits `line` into words, unquoted into `bytes`, each noted in `words`. `None` when a quote does not close.
pub fn split(line: &[u8], bytes: &mut Vec<u8>, words: &mut Vec<Span>) -> Option<()> {
    let mut rest = line;
    loop {
        rest = rest.trim_ascii_start();
        if rest.is_empty() {
            return Some(());
        }
        let start = bytes.len();
        rest = word(rest, bytes)?;
        words.push(Span { start, end: bytes.len() });
    }
}

/// Reads one word to its end and returns what is behind it.
fn word<'a>(mut rest: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match rest {
            [] => return Some(rest),
            [space, ..] if space.is_ascii_whitespace() => return Some(rest),
            [b'"', inside @ ..] => return closed(double_quoted(inside, bytes)?),
            [b'\'', inside @ ..] => return closed(single_quoted(inside, bytes)?),
            [byte, behind @ ..] => {
                bytes.push(*byte);
                rest = behind;
            }
        }
    }
}

fn closed(rest: &[u8]) -> Option<&[u8]> {
    rest.first().is_none_or(u8::is_ascii_whitespace).then_some(rest)
}

fn double_quoted<'a>(mut rest: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        let (byte, behind) = match rest {
            [] => return None,
            [b'"', behind @ ..] => return Some(behind),
            [b'\\', b'x', high, low, behind @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                (hex(*high) * 16 + hex(*low), behind)
            }
            [b'\\', escaped, behind @ ..] => (control(*escaped), behind),
            [byte, behind @ ..] => (*byte, behind),
        };
        bytes.push(byte);
        rest = behind;
    }
}

fn single_quoted<'a>(mut rest: &'a [u8], bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        let (byte, behind) = match rest {
            [] => return None,
            [b'\'', behind @ ..] => return Some(behind),
            [b'\\', b'\'', behind @ ..] => (b'\'', behind),
            [byte, behind @ ..] => (*byte, behind),
        };
        bytes.push(byte);
        rest = behind;
    }
}

fn control(escaped: u8) -> u8 {
    match escaped {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'a' => 7,
        other => other,
    }
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit - b'A' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Option<Vec<Vec<u8>>> {
        let (mut bytes, mut spans) = (Vec::new(), Vec::new());
        split(line.as_bytes(), &mut bytes, &mut spans)?;
        Some(spans.iter().map(|span| bytes[span.start..span.end].to_vec()).collect())
    }

    #[test]
    fn quotes_and_escapes_are_those_of_redis() {
        assert_eq!(words("  set  a b "), Some(vec![b"set".into(), b"a".into(), b"b".into()]));
        assert_eq!(words(r#""a\x41\n\"" 'it\'s'"#), Some(vec![b"aA\n\"".into(), b"it's".into()]));
        assert_eq!(words(r#""" x"#), Some(vec![b"".into(), b"x".into()]));
        assert_eq!(words(""), Some(vec![]));
        for open in ["\"a", "'a", "\"a\"b", "'a'b", "\"a\\"] {
            assert_eq!(words(open), None, "{open}");
        }
    }
}
