//! Makes untrusted text safe to show. No other module turns the bytes of a connection or the strings of a file into
//! text.
//!
//! ```text
//!  reply, error, INFO, certificate, marker ─┐
//!  a recording's strings ───────────────────┴─► gate ─► records ─► screen, lines, stderr, files, pictures
//! ```
//! A terminal, a web page or the reader of a file shows the result, and interprets no part of the result. Control
//! characters (C0, DEL, C1), marks that change the writing direction, and characters without a width appear as `\x1b`
//! and `\u{202e}`. Long text is cut. Cleaning a text a second time does not change it.
//!
//! A test of the whole program checks that no other module turns bytes into text.

use std::{fmt::Write as _, path::Path};

use crate::units::grouped;

/// The longest text in characters, including the note that the text was cut. Error messages of servers have up to 350
/// characters.
pub const LONGEST: usize = 512;
/// The longest line, in characters, of a text with many lines, such as the reply to INFO or CLIENT LIST.
const LONGEST_LINE: usize = 4096;

/// Cleans a text: one line of at most [`LONGEST`] characters.
pub fn text(text: &str) -> String {
    bytes(text.as_bytes())
}

/// Cleans bytes as [`text`] does. Bytes that are not UTF-8 appear in a form such as `\xff`.
pub fn bytes(bytes: &[u8]) -> String {
    at_most(bytes, LONGEST)
}

/// Cleans a path as [`text`] does, because another user may have chosen the name of the file.
pub fn path(path: &Path) -> String {
    at_most(path.as_os_str().as_encoded_bytes(), LONGEST_LINE)
}

/// Cleans bytes as [`text`] does, to one line of at most `longest` characters.
pub fn at_most(bytes: &[u8], longest: usize) -> String {
    // Nearly every text is plain. A reply to CLIENT LIST has megabytes of it.
    if is_plain(bytes, longest) {
        return bytes.iter().copied().map(char::from).collect();
    }
    // Escaping makes no character shorter, and a character has at most 4 bytes, so later bytes would be cut anyway.
    let looked_at = &bytes[..bytes.len().min(4 * (longest + 1))];
    let mut shown = Bounded { text: String::new(), length: 0, longest, fits: 0 };
    let whole = push_all(&mut shown, looked_at) && looked_at.len() == bytes.len();
    if whole {
        return shown.text;
    }
    shown.text.truncate(shown.fits);
    shown.text + &format!("… ({} bytes)", grouped(bytes.len() as u64))
}

/// Returns whether cleaning to `longest` characters changes nothing, because all bytes are printable ASCII.
pub fn is_plain(bytes: &[u8], longest: usize) -> bool {
    bytes.len() <= longest && bytes.iter().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Cleans a text of many lines, each line separately, and keeps the line ends.
pub fn lines(bytes: &[u8]) -> String {
    let line = |line: &[u8]| {
        let end = match line {
            [.., b'\r', b'\n'] => "\r\n",
            [.., b'\n'] => "\n",
            _ => "",
        };
        at_most(&line[..line.len() - end.len()], LONGEST_LINE) + end
    };
    bytes.split_inclusive(|byte| *byte == b'\n').map(line).collect()
}

/// The replacement for a redacted text that does not begin with an error code.
pub const REDACTED: &str = "left out (--redact)";

/// Returns the part of a server's error that `--redact` keeps: the code at the beginning of the error.
/// Returns [`REDACTED`] if there is no code.
pub fn code(text: &str) -> String {
    let word = text.split(|c: char| c.is_whitespace() || c == ':').next().unwrap_or_default();
    let is_code = word.len() > 1 && word.bytes().all(|c| c.is_ascii_uppercase() || c == b'_');
    (if is_code { word } else { REDACTED }).to_owned()
}

/// Cleans JSON. A dangerous character becomes its `\u` escape, which a JSON parser reads as the same character.
pub fn json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if !is_interpreted(c) => shown.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(shown, "\\u{unit:04x}");
                }
            }
        }
    }
    shown
}

/// Returns whether a terminal or a page would interpret the character `c` instead of showing it. Also returns true if
/// `c` would move the text around it.
pub fn is_interpreted(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{fffe}'..='\u{ffff}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Text of limited length.
struct Bounded {
    text: String,
    length: usize,
    longest: usize,
    /// The number of bytes of the text that are kept if the text is cut.
    fits: usize,
}

/// The length in characters of the longest note about a cut, `… (18 446 744 073 709 551 615 bytes)`.
const CUT_MARK: usize = 36;

impl Bounded {
    /// Appends a part. Returns false if the part did not fit.
    fn push(&mut self, part: &str) -> bool {
        self.length += part.chars().count();
        if self.length > self.longest {
            return false;
        }
        self.text += part;
        if self.length + CUT_MARK <= self.longest {
            self.fits = self.text.len();
        }
        true
    }
}

/// Appends all bytes. Returns false if not all bytes did fit.
fn push_all(shown: &mut Bounded, bytes: &[u8]) -> bool {
    let mut escape = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            escape.clear();
            match c {
                '\n' => escape += "\\n",
                '\r' => escape += "\\r",
                '\t' => escape += "\\t",
                c if !is_interpreted(c) => escape.push(c),
                c if (c as u32) < 0x100 => drop(write!(escape, "\\x{:02x}", c as u32)),
                c => drop(write!(escape, "\\u{{{:x}}}", c as u32)),
            }
            if !shown.push(&escape) {
                return false;
            }
        }
        for byte in chunk.invalid() {
            if !shown.push(&format!("\\x{byte:02x}")) {
                return false;
            }
        }
    }
    true
}

/// Removes the user and the password of each URI: the text between `://` and `@`. If the end of this text is doubtful,
/// the function removes too much rather than too little.
pub fn without_user_info(message: &str) -> String {
    let mut parts = message.split("://");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| {
        let hidden = part.rsplit_once('@').map_or(part.to_owned(), |(_, host)| format!("…@{host}"));
        shown + "://" + &hidden
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn control_characters_are_shown_as_escapes() {
        assert_eq!(
            text("ERR \x1b]0;gone\x07 \u{9b}2J \u{202e}txt\u{7f}"),
            "ERR \\x1b]0;gone\\x07 \\x9b2J \\u{202e}txt\\x7f"
        );
        assert_eq!(text("a\tb\r\nc\u{2028}\u{feff}\u{200d}"), "a\\tb\\r\\nc\\u{2028}\\u{feff}\\u{200d}");
        assert_eq!(bytes(b"\xff\xc3\xa4\x80"), "\\xff\u{e4}\\x80");
        assert_eq!(text("naïve \u{4f60}\u{597d} 😀 \\x1b"), "naïve \u{4f60}\u{597d} 😀 \\x1b");
    }

    #[test]
    fn a_long_text_is_cut_with_a_note() {
        let message = "x".repeat(60_123);
        let shown = text(&message);
        assert!(shown.ends_with("x… (60 123 bytes)") && shown.chars().count() <= LONGEST, "{shown}");
        assert_eq!(text(&"x".repeat(LONGEST)).len(), LONGEST);
        assert_eq!(at_most(b"abc", 3), "abc");
    }

    #[test]
    fn line_ends_are_kept_in_a_text_of_many_lines() {
        assert_eq!(lines(b"a:1\r\nb:\x1b[2J\r\n# C\nd"), "a:1\r\nb:\\x1b[2J\r\n# C\nd");
        assert_eq!(lines(b"a\rb\n"), "a\\rb\n");
    }

    proptest! {
        #[test]
        fn any_bytes_become_bounded_text_that_a_second_pass_keeps(
            given in proptest::collection::vec(any::<u8>(), 0..1500),
            longest in 40_usize..600,
        ) {
            let shown = at_most(&given, longest);
            prop_assert!(!shown.chars().any(is_interpreted), "{shown:?}");
            prop_assert!(shown.chars().count() <= longest);
            prop_assert_eq!(at_most(shown.as_bytes(), longest), shown);
        }
    }
}
