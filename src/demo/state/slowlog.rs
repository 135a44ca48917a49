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

/// The slow commands.
#[derive(Debug, Default)]
pub struct Slowlog {
    /// The newest first.
    pub entries: VecDeque<SlowEntry>,
    next_id: u64,
}

impl Slowlog {
    /// Adds an entry, whose id is given here, and drops the oldest beyond `max_len`.
    pub fn add(&mut self, entry: SlowEntry, max_len: usize) {
        self.entries.push_front(SlowEntry { id: self.next_id, ..entry });
        self.next_id += 1;
        self.entries.truncate(max_len);
    }
}

/// A request as the slow log keeps it: cut where it is long.
pub fn shortened(arguments: Arguments<'_>) -> Vec<Vec<u8>> {
    let all = arguments.len();
    let kept = if all > KEPT_ARGUMENTS { KEPT_ARGUMENTS - 1 } else { all };
    let cut = |argument: &[u8]| match argument.split_at_checked(KEPT_BYTES) {
        Some((kept, more)) if !more.is_empty() => {
            [kept, format!("... ({} more bytes)", more.len()).as_bytes()].concat()
        }
        _ => argument.to_vec(),
    };
    let more = (kept < all).then(|| format!("... ({} more arguments)", all - kept).into_bytes());
    arguments.from(0).take(kept).map(cut).chain(more).collect()
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
        assert_eq!(short(&"x".repeat(128)), ["x".repeat(128)]);
        assert_eq!(short(&"x".repeat(130)), [format!("{}... (2 more bytes)", "x".repeat(128))]);
        let many = short(&"a ".repeat(40));
        assert_eq!((many.len(), many[31].as_str()), (32, "... (9 more arguments)"));
    }

    #[test]
    fn ids_go_on_when_old_entries_go() {
        let entry = SlowEntry { at_s: 1, us: 2, ..SlowEntry::default() };
        let mut log = Slowlog::default();
        for _ in 0..3 {
            log.add(entry.clone(), 2);
        }
        assert!(log.entries.iter().map(|entry| entry.id).eq([2, 1]));
        log.entries.clear();
        log.add(entry, 2);
        assert_eq!(log.entries[0].id, 3);
    }
}
