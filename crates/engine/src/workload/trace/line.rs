//! Parses a line of MONITOR's output. The line contains the time, the client, and the words of the command in quotes.
//!
//! ```text
//!  1700000000.123456 [0 127.0.0.1:5000] "SET" "k\x00" "say \"hi\""
//!  1700000000.123460 [0 lua] "INCR" "n"                                a command of a script
//!  [ proxy49 ] 1700000000.123460 [0 10.0.0.1:5000] "GET" "k"           the output of several proxies
//! ```

use crate::protocol::whole_number;

/// Microseconds in a second.
const SECOND_US: u64 = 1_000_000;

/// A command in the output of MONITOR.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorLine {
    /// The time when the server ran the command, in microseconds since 1970.
    pub at_us: u64,
    /// The words of the command, at least one.
    pub words: Vec<Vec<u8>>,
}

impl MonitorLine {
    /// Parses a line without its line end.
    ///
    /// # Errors
    /// Fails if the line is invalid. The error is the reason.
    pub fn read(line: &[u8]) -> Result<Self, &'static str> {
        let line = line.strip_prefix(b"+").unwrap_or(line);
        let prefix = line.strip_prefix(b"[").and_then(|rest| memchr::memmem::find(rest, b"] "));
        let line = &line[prefix.map_or(0, |end| end + 3)..];
        let (at_us, rest) = time(line).ok_or(
            "it does not begin with a time and a client such as 1700000000.123456 [0 127.0.0.1:5000]",
        )?;
        let begin =
            memchr::memmem::find(rest, b"] \"").ok_or("it has no command in quotes after the client")?;
        Ok(Self { at_us, words: Self::words(&rest[begin + 2..])? })
    }

    /// Parses the quoted words of a command.
    ///
    /// # Errors
    /// Fails if a word is invalid. The error is the reason.
    pub fn words(mut rest: &[u8]) -> Result<Vec<Vec<u8>>, &'static str> {
        let mut words = Vec::new();
        while !rest.is_empty() {
            words.push(word(&mut rest)?);
            rest = rest.strip_prefix(b" ").unwrap_or(rest);
        }
        Ok(words)
    }
}

/// Parses the time at the beginning of a line. Returns the time in microseconds and the text from the bracket on.
fn time(line: &[u8]) -> Option<(u64, &[u8])> {
    let end = line.iter().position(|byte| *byte == b' ')?;
    let point = line[..end].iter().position(|byte| *byte == b'.').filter(|point| end - point == 7)?;
    let whole = whole_number(&line[..point])?.checked_mul(SECOND_US)?;
    let rest = &line[end + 1..];
    rest.starts_with(b"[").then_some((whole.checked_add(whole_number(&line[point + 1..end])?)?, rest))
}

/// Removes the next quoted word from the front of `rest` and returns it.
fn word(rest: &mut &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut bytes = rest.strip_prefix(b"\"").ok_or("a word of its command is not in quotes")?;
    let mut word = Vec::new();
    loop {
        let end = memchr::memchr2(b'"', b'\\', bytes).ok_or("the quotes of a word are not closed")?;
        word.extend_from_slice(&bytes[..end]);
        let is_end = bytes[end] == b'"';
        bytes = &bytes[end + 1..];
        if is_end {
            *rest = bytes;
            return Ok(word);
        }
        let (escaped, length) = escape(bytes).ok_or("a word has an unknown escape sequence")?;
        word.push(escaped);
        bytes = &bytes[length..];
    }
}

/// Parses an escape sequence after its backslash. Returns the byte and the length of the sequence.
fn escape(bytes: &[u8]) -> Option<(u8, usize)> {
    let simple = |byte| Some((byte, 1));
    match bytes.first()? {
        b'n' => simple(b'\n'),
        b'r' => simple(b'\r'),
        b't' => simple(b'\t'),
        b'a' => simple(0x07),
        b'b' => simple(0x08),
        b'x' => {
            let digit = |place: usize| char::from(*bytes.get(place)?).to_digit(16);
            Some(((digit(1)? * 16 + digit(2)?) as u8, 3))
        }
        other @ (b'\\' | b'"') => simple(*other),
        _ => None,
    }
}

/// Appends a word in quotes, with the escape sequences of MONITOR.
pub fn quoted(word: &[u8], to: &mut Vec<u8>) {
    to.push(b'"');
    for byte in word {
        match byte {
            b'\\' | b'"' => to.extend([b'\\', *byte]),
            b'\n' => to.extend(b"\\n"),
            b'\r' => to.extend(b"\\r"),
            b'\t' => to.extend(b"\\t"),
            0x07 => to.extend(b"\\a"),
            0x08 => to.extend(b"\\b"),
            b' '..=b'~' => to.push(*byte),
            _ => to.extend(format!("\\x{byte:02x}").bytes()),
        }
    }
    to.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_parsed_with_its_time_and_escapes() {
        let line = br#"1700000000.123456 [0 127.0.0.1:5000] "SET" "a \"b\" \\" "\x00\xff\n\r\t\a\b" """#;
        let read = MonitorLine::read(line).unwrap();
        assert_eq!(read.at_us, 1_700_000_000_123_456);
        let expected: [&[u8]; 4] = [b"SET", br#"a "b" \"#, b"\x00\xff\n\r\t\x07\x08", b""];
        assert_eq!(read.words, expected);
        let of_proxy = MonitorLine::read(b"[ proxy49 ] 1.000001 [0 10.0.0.1:5000] \"GET\" \"k\"").unwrap();
        assert_eq!((of_proxy.at_us, of_proxy.words.len()), (1_000_001, 2));
        let of_script = MonitorLine::read(b"+1.000001 [7 lua] \"incr\" \"] \\\"x\"").unwrap();
        assert_eq!((of_script.at_us, of_script.words[1].as_slice()), (1_000_001, &b"] \"x"[..]));
    }

    #[test]
    fn a_quoted_word_is_read_back() {
        let word: Vec<u8> = (0..=255).collect();
        let mut line = b"1.000000 [0 x] ".to_vec();
        quoted(&word, &mut line);
        assert_eq!(MonitorLine::read(&line).unwrap().words, [word]);
    }

    #[test]
    fn the_error_of_an_invalid_line_gives_the_reason() {
        for (line, what) in [
            ("", "it does not begin with a time"),
            ("SET k v", "it does not begin with a time"),
            ("1700000000.1 [0 x] \"GET\"", "it does not begin with a time"),
            ("99999999999999999999.123456 [0 x] \"GET\"", "it does not begin with a time"),
            ("1700000000.123456 \"GET\"", "it does not begin with a time"),
            ("1700000000.123456 [0 x] GET", "it has no command"),
            ("1700000000.123456 [0 x] \"GET\" k", "a word of its command is not in quotes"),
            ("1700000000.123456 [0 x] \"GET\" \"k", "the quotes of a word are not closed"),
            ("1700000000.123456 [0 x] \"GET\" \"\\q\"", "a word has an unknown escape"),
            ("1700000000.123456 [0 x] \"GET\" \"\\x0\"", "a word has an unknown escape"),
        ] {
            let error = MonitorLine::read(line.as_bytes()).unwrap_err();
            assert!(error.starts_with(what), "{line}: {error}");
        }
    }
}
