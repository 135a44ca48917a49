//! Shows an encoded request as one readable line.

use super::{Operation, Together};
use crate::{
    protocol::{Dialect, take_header},
    untrusted,
};

/// The maximum number of characters of a word, including the note that the word was cut. The name of a key usually
/// fits.
const LONGEST_WORD: usize = 80;
/// After this number of characters, no further words are added to a line. The remaining words are only
/// counted.
const LONGEST_LINE: usize = 200;

/// The maximum number of characters that the commands of an operation may have in one line.
const LONGEST_COMMANDS: usize = 160;
/// The separator between two steps if the second step waits for the reply to the first step.
pub(super) const THEN: &str = " then ";

/// Returns the commands of an operation as they are written in the workload.
pub(super) fn commands_of(operation: &Operation) -> String {
    let between = if operation.together == Together::Sequence { THEN } else { " ; " };
    let steps = operation.steps.join(between);
    let steps = untrusted::at_most(steps.as_bytes(), LONGEST_COMMANDS);
    if operation.together == Together::Multi { format!("MULTI ; {steps} ; EXEC") } else { steps }
}

/// Returns the request as one line: `SET k:000000000001 4g2A`. Several commands are separated by `;`. Line ends of a
/// text protocol are escaped as `\r\n`.
pub(super) fn readable(wire: &[u8], dialect: Dialect) -> String {
    let commands = if dialect.counts_words() { commands(wire) } else { None };
    commands.map_or_else(|| untrusted::at_most(wire, LONGEST_LINE), |commands| line(&commands))
}

fn line(commands: &[Vec<&[u8]>]) -> String {
    let mut line = String::new();
    let (mut length, mut left_out) = (0, 0);
    for (n, command) in commands.iter().enumerate() {
        for (place, word) in command.iter().enumerate() {
            if length >= LONGEST_LINE {
                left_out += 1;
                continue;
            }
            let between = match (n, place) {
                (0, 0) => "",
                (_, 0) => " ; ",
                _ => " ",
            };
            let word = shown(word);
            length += between.len() + word.chars().count();
            line += between;
            line += &word;
        }
    }
    if left_out > 0 {
        line += &format!(" … and {}", crate::units::count_with_noun(left_out, "word"));
    }
    line
}

/// Returns a word. A word that is empty, or contains spaces or quotes, is returned in quotes.
fn shown(word: &[u8]) -> String {
    let shown = untrusted::at_most(word, LONGEST_WORD);
    let needs_quotes = word.is_empty() || word.iter().any(|byte| b" \"'".contains(byte));
    if needs_quotes { format!("\"{shown}\"") } else { shown }
}

/// Parses encoded commands of RESP into words. Returns `None` if the bytes are not encoded commands of RESP.
pub(super) fn commands(mut wire: &[u8]) -> Option<Vec<Vec<&[u8]>>> {
    let mut commands = Vec::new();
    while !wire.is_empty() {
        let mut words = Vec::new();
        for _ in 0..take_header(b'*', &mut wire)? {
            let length = take_header(b'$', &mut wire)?;
            let (word, rest) = wire.split_at_checked(length)?;
            wire = rest.strip_prefix(b"\r\n")?;
            words.push(word);
        }
        commands.push(words);
    }
    Some(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(commands: &[&[&[u8]]]) -> String {
        let mut wire = Vec::new();
        for command in commands {
            wire.extend(format!("*{}\r\n", command.len()).bytes());
            for word in *command {
                wire.extend(format!("${}\r\n", word.len()).bytes());
                wire.extend([word, &b"\r\n"[..]].concat());
            }
        }
        readable(&wire, Dialect::Resp2)
    }

    #[test]
    fn commands_become_one_line_without_control_characters() {
        assert_eq!(of(&[&[b"GET", b"k:1"]]), "GET k:1");
        assert_eq!(of(&[&[b"MULTI"], &[b"SET", b"k", b""], &[b"EXEC"]]), "MULTI ; SET k \"\" ; EXEC");
        assert_eq!(of(&[&[b"SET", b"a b", b"\x1b[2J\xff\r\n*1"]]), "SET \"a b\" \\x1b[2J\\xff\\r\\n*1");
    }

    #[test]
    fn long_words_and_lines_are_cut() {
        let value = [b'x'; 5000];
        let line = of(&[&[b"SET", b"k", &value]]);
        assert!(line.starts_with("SET k xxxx") && line.ends_with("x… (5 000 bytes)"), "{line}");
        let word: &[u8] = b"0123456789012345678";
        let line = of(&[&[word; 30]]);
        assert!(line.ends_with("8 … and 19 words") && line.len() < 250, "{line}");
    }

    #[test]
    fn other_bytes_than_resp_are_shown_byte_for_byte() {
        let line = readable(b"set k 0 0 2\r\n\x00a\r\n", Dialect::Memcached);
        assert_eq!(line, "set k 0 0 2\\r\\n\\x00a\\r\\n");
        assert_eq!(readable(b"PING\r\n", Dialect::Resp2), "PING\\r\\n");
        assert_eq!(readable(b"*1\r\n$9\r\nPING\r\n", Dialect::Resp2), "*1\\r\\n$9\\r\\nPING\\r\\n");
    }
}
