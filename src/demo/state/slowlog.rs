//! The slow log.

use std::collections::VecDeque;

use crate::demo::request::Arguments;

/// Arguments kept of a command, and bytes of an argument, as in Redis.
const KEPT_ARGUMENTS: usize = 32;
const KEPT_BYTES: usize = 128;

/// A command that took long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SlowEntry {
    /// Counts up from 0 and never back.
    pub id: u64,
    /// Unix time in seconds.
    pub at_s: u64,
    /// How long it took, in µs.
    pub us: u64,
    /// What was asked, shortened.
    pub arguments: Vec<Vec<u8>>,
    /// Who asked.
    pub address: String,
    /// The name that the client gave itself.
    pub name: String,
}

/// The slow commands, newest first.
#[derive(Debug, Default)]
pub struct Slowlog {
    entries: VecDeque<SlowEntry>,
    next_id: u64,
}

impl Slowlog {
    /// Adds an entry, whose id is given here, and drops the oldest beyond `max_len`.
    pub fn add(&mut self, entry: SlowEntry, max_len: usize) {
        self.entries.push_front(SlowEntry { id: self.next_id, ..entry });
        self.next_id += 1;
        self.entries.truncate(max_len);
    }

    /// The entries, newest first.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &SlowEntry> {
        self.entries.iter()
    }

    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

/// A request as the slow log keeps it: cut where it is long, and without passwords.
pub fn shortened(arguments: Arguments<'_>) -> Vec<Vec<u8>> {
    let secret_from = first_secret(arguments);
    let kept = if arguments.len() > KEPT_ARGUMENTS { KEPT_ARGUMENTS - 1 } else { arguments.len() };
    let mut short: Vec<Vec<u8>> = arguments
        .from(0)
        .take(kept)
        .enumerate()
        .map(|(index, argument)| match argument {
            _ if index >= secret_from => b"(redacted)".to_vec(),
            _ if argument.len() > KEPT_BYTES => {
                let more = argument.len() - KEPT_BYTES;
                [&argument[..KEPT_BYTES], format!("... ({more} more bytes)").as_bytes()].concat()
            }
            _ => argument.to_vec(),
        })
        .collect();
    if kept < arguments.len() {
        short.push(format!("... ({} more arguments)", arguments.len() - kept).into_bytes());
    }
    short
}

/// From which argument on a request may hold a password.
fn first_secret(arguments: Arguments<'_>) -> usize {
    let is = |index: usize, word: &str| {
        arguments.get(index).is_some_and(|argument| argument.eq_ignore_ascii_case(word.as_bytes()))
    };
    if is(0, "auth") {
        1
    } else if is(0, "hello") || (is(0, "config") && is(1, "set")) {
        2
    } else {
        usize::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::request::parse;

    fn short(request: &str) -> Vec<String> {
        let line = format!("{request}\n");
        let mut spans = Vec::new();
        parse(line.as_bytes(), &mut spans).unwrap();
        let short = shortened(Arguments { bytes: line.as_bytes(), spans: &spans });
        short.into_iter().map(|word| String::from_utf8(word).unwrap()).collect()
    }

    #[test]
    fn long_requests_are_cut_and_say_so() {
        assert_eq!(short("GET a"), ["GET", "a"]);
        assert_eq!(short(&"x".repeat(130)), [format!("{}... (2 more bytes)", "x".repeat(128))]);
        let many = short(&"a ".repeat(40));
        assert_eq!((many.len(), many[31].as_str()), (32, "... (9 more arguments)"));
    }

    #[test]
    fn passwords_do_not_enter_the_log() {
        assert_eq!(short("auth secret"), ["auth", "(redacted)"]);
        assert_eq!(short("HELLO 3 AUTH u secret"), ["HELLO", "3", "(redacted)", "(redacted)", "(redacted)"]);
        assert_eq!(short("config set requirepass secret"), ["config", "set", "(redacted)", "(redacted)"]);
    }

    #[test]
    fn ids_go_on_when_old_entries_go() {
        let entry = SlowEntry { at_s: 1, us: 2, ..SlowEntry::default() };
        let mut log = Slowlog::default();
        for _ in 0..3 {
            log.add(entry.clone(), 2);
        }
        assert_eq!(log.entries().map(|entry| entry.id).collect::<Vec<_>>(), [2, 1]);
        log.clear();
        log.add(entry, 2);
        assert_eq!(log.entries().map(|entry| entry.id).collect::<Vec<_>>(), [3]);
    }
}
