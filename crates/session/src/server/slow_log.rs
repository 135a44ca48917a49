//! Reads the replies to SLOWLOG and to Valkey's COMMANDLOG: finds new entries, and shortens their commands.
//! This module does no I/O.
//!
//! Entry ids increase from 0 at the server's start, and SLOWLOG RESET does not reset them. The text of a
//! command is its name and its shortened first argument, but never a value, a script or a password. A
//! separate field has all arguments that the server stored (at most 32 arguments of 128 bytes). For commands
//! with passwords, this field is empty.

use std::collections::BTreeMap;

use super::link::{CLIENT_NAME, Datum};
use crate::events::EventKind;

/// The number of entries that a poll requests.
pub(super) const ASKED: &str = "32";
/// The largest number of entries that a poll reports as events. The slowest entries are reported.
const MOST_SHOWN: usize = 8;
/// The smallest number of entries with the same command for which entries from before the session are reported. A few
/// slow calls a day are usual.
const MANY: u64 = 8;
/// The two logs of COMMANDLOG: commands with a large request, and commands with a large reply.
pub(super) const PARTS: [&str; 2] = ["request", "reply"];
/// The commands whose arguments may be passwords. Servers hide only some of these arguments, depending on the version.
const SECRET: [&str; 6] = ["ACL", "AUTH", "CONFIG", "HELLO", "MIGRATE", "SENTINEL"];
/// The length of the longest argument that is shown in full.
const LONGEST: usize = 24;

/// One entry of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SlowLogEntry {
    id: i64,
    /// The duration in microseconds, or the size in bytes.
    amount: u64,
    command: String,
    client: Option<String>,
    /// Whether redyno's control plane sent the command.
    is_own: bool,
    arguments: Vec<String>,
}

/// The last reported entry.
#[derive(Debug, Default)]
pub(super) struct SlowLog {
    /// The id of the last entry; `None` before the first poll. Entries in the first poll are older than the session.
    last: Option<i64>,
    /// The part of the command whose size the log records; `None` if the log records durations.
    part: Option<&'static str>,
}

/// COMMANDLOG's logs of large requests and of large replies, with requests first, as in [`PARTS`].
pub(super) struct CommandLog(pub(super) [SlowLog; 2]);

impl Default for CommandLog {
    fn default() -> Self {
        Self(PARTS.map(|part| SlowLog { part: Some(part), ..SlowLog::default() }))
    }
}

/// The number before the first entry id. The first id is 0.
const BEFORE_ALL: i64 = -1;
/// The value if the log was empty at the first poll. SLOWLOG RESET does not reset the ids, so the next id may be any
/// number.
const UNKNOWN: i64 = i64::MIN;

impl SlowLog {
    /// Handles a restart of the server: ids begin at 0 again, so all entries are new.
    pub(super) fn begin_again(&mut self) {
        self.last = self.last.map(|_| BEFORE_ALL);
    }

    /// Returns the new entries in the reply to SLOWLOG GET; `None` if the reply has another form.
    pub(super) fn read(&mut self, reply: &Datum) -> Option<Vec<EventKind>> {
        let mut entries: Vec<_> = reply.list()?.iter().map(entry).collect::<Option<_>>()?;
        let newest = entries.iter().map(|entry| entry.id).max();
        let last = self.last;
        self.last = newest.or(last).or(Some(UNKNOWN));
        let Some(mut last) = last else {
            return Some(if self.part.is_none() { before(&entries) } else { Vec::new() });
        };
        if newest.is_some_and(|newest| newest < last) {
            last = BEFORE_ALL;
        }
        if last == UNKNOWN {
            last = entries.iter().map(|entry| entry.id.saturating_sub(1)).min().unwrap_or(UNKNOWN);
        }
        entries.retain(|entry| entry.id > last);
        let Some(newest) = newest else { return Some(Vec::new()) };
        // A log without an entry is shorter than the entries since the last poll: slowlog-max-len, SLOWLOG RESET.
        let mut new = newest.saturating_sub(last).max(0) as u64;
        let unread = new.saturating_sub(entries.len() as u64);
        if self.part.is_some() {
            // CLIENT LIST and INFO have large replies, which would hide large replies to other clients.
            new = new.saturating_sub(entries.extract_if(.., |entry| entry.is_own).count() as u64);
        }
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.amount));
        entries.truncate(MOST_SHOWN);
        let more = new.saturating_sub(entries.len() as u64);
        entries.sort_by_key(|entry| entry.id);
        let mut events: Vec<_> = entries.into_iter().map(|entry| entry.into_event(self.part)).collect();
        if more > 0 {
            events.push(match self.part {
                None => EventKind::MoreSlowCommands { entries: more, unread },
                Some(part) => EventKind::MoreLargeCommands { entries: more, part: part.to_owned() },
            });
        }
        Some(events)
    }
}

/// Returns the event about the entries from before the session, if many entries have the same command.
fn before(entries: &[SlowLogEntry]) -> Vec<EventKind> {
    let mut calls: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| !entry.is_own) {
        let name = entry.command.split(' ').next().unwrap_or_default();
        let (n, longest) = calls.entry(name).or_default();
        (*n, *longest) = (*n + 1, entry.amount.max(*longest));
    }
    let most = calls.into_iter().max_by_key(|(_, (n, _))| *n).filter(|(_, (n, _))| *n >= MANY);
    let event = |(name, (calls, us)): (&str, (u64, u64))| EventKind::SlowBefore {
        entries: entries.len() as u64,
        calls,
        command: name.to_owned(),
        us,
    };
    most.map(event).into_iter().collect()
}

impl SlowLogEntry {
    fn into_event(self, part: Option<&str>) -> EventKind {
        let Self { amount, command, client, arguments, .. } = self;
        match part {
            None => EventKind::SlowCommand { us: amount, command, client, arguments },
            Some(part) => {
                EventKind::LargeCommand { bytes: amount, part: part.to_owned(), command, client, arguments }
            }
        }
    }
}

fn entry(datum: &Datum) -> Option<SlowLogEntry> {
    // Redis 8.10 appends the total number of arguments, and later servers may append more fields.
    let [id, _, amount, words, more @ ..] = datum.list()? else { return None };
    let words: Vec<_> = words.list()?.iter().map(|word| word.text().unwrap_or_default()).collect();
    // Since Redis 4 an entry also has the client's address and name.
    let part = |n: usize| more.get(n).and_then(Datum::text).filter(|text| !text.is_empty());
    let client = part(0).map(|address| {
        part(1).map_or_else(|| address.to_owned(), |name| format!("{address} ({})", shortened(name)))
    });
    Some(SlowLogEntry {
        id: id.number()?,
        amount: amount.number()?.try_into().ok()?,
        command: command(&words),
        client,
        is_own: part(1) == Some(CLIENT_NAME),
        arguments: arguments(&words),
    })
}

/// Returns the arguments that the server stored, unless one of them may be a password.
fn arguments(words: &[&str]) -> Vec<String> {
    match words.split_first() {
        Some((name, rest)) if !SECRET.iter().any(|secret| secret.eq_ignore_ascii_case(name)) => {
            rest.iter().map(|word| (*word).to_owned()).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the name of a command, and its first argument unless the argument may be a password or a script.
fn command(words: &[&str]) -> String {
    let Some((name, arguments)) = words.split_first() else { return String::new() };
    let name = shortened(name).to_uppercase();
    let is_hidden = matches!(name.as_str(), "AUTH" | "EVAL" | "EVAL_RO" | "HELLO");
    match arguments.first().filter(|_| !is_hidden) {
        Some(first) => format!("{name} {}", shortened(first)),
        None => name,
    }
}

/// Returns a shortened text.
fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(entries: &[(i64, i64, &[&str])]) -> Datum {
        let text = |text: &str| Datum::Text(text.to_owned());
        let entry = |(id, us, words): &(i64, i64, &[&str])| {
            let words = words.iter().map(|word| text(word)).collect();
            let head = [Datum::Number(*id), Datum::Number(1_795_262_814), Datum::Number(*us)];
            Datum::List(
                head.into_iter().chain([Datum::List(words), text("127.0.0.1:5000"), text("")]).collect(),
            )
        };
        Datum::List(entries.iter().rev().map(entry).collect())
    }

    fn read(slow_log: &mut SlowLog, entries: &[(i64, i64, &[&str])]) -> Vec<String> {
        slow_log.read(&log(entries)).unwrap().into_iter().map(|news| news.to_string()).collect()
    }

    #[test]
    fn earlier_entries_are_not_reported_and_new_entries_once() {
        let mut slow_log = SlowLog::default();
        assert!(read(&mut slow_log, &[(6, 9_000, &["KEYS", "*"])]).is_empty());
        let now: [(i64, i64, &[&str]); 2] = [(6, 9_000, &["KEYS", "*"]), (7, 14_200, &["get", "redyno:1"])];
        assert_eq!(read(&mut slow_log, &now), ["14.2 ms GET redyno:1 from 127.0.0.1:5000"]);
        assert!(read(&mut slow_log, &now).is_empty());
        assert!(read(&mut slow_log, &[]).is_empty(), "SLOWLOG RESET");
        assert!(read(&mut slow_log, &now).is_empty(), "ids continue");
    }

    #[test]
    fn an_entry_has_all_arguments_and_may_have_unknown_fields() {
        let text = |text: &str| Datum::Text(text.to_owned());
        let words = ["MGET", "k:1", "k:2", "... (2998 more arguments)"].map(text).to_vec();
        let head = [0, 1_795_262_814, 4_100].map(Datum::Number);
        let tail = [Datum::List(words), text("10.0.0.7:5"), text("app"), Datum::Number(3001), Datum::Other];
        let reply = Datum::List(vec![Datum::List(head.into_iter().chain(tail).collect())]);
        let arguments = ["k:1", "k:2", "... (2998 more arguments)"].map(str::to_owned).to_vec();
        let (command, client) = ("MGET k:1".to_owned(), Some("10.0.0.7:5 (app)".to_owned()));
        let mut slow_log = SlowLog::default();
        slow_log.read(&log(&[])).unwrap();
        let slow = EventKind::SlowCommand {
            us: 4100,
            command: command.clone(),
            client: client.clone(),
            arguments: arguments.clone(),
        };
        assert_eq!(slow_log.read(&reply), Some(vec![slow]));
        let CommandLog([_, mut large]) = CommandLog::default();
        large.read(&log(&[])).unwrap();
        let events = large.read(&reply).unwrap();
        let expected =
            EventKind::LargeCommand { bytes: 4100, part: "reply".to_owned(), command, client, arguments };
        assert_eq!(events, [expected]);
        assert_eq!(events[0].to_string(), "a reply of 4.00 KiB: MGET k:1 from 10.0.0.7:5 (app)");
        let own = Datum::List(vec![Datum::List(vec![
            Datum::Number(1),
            Datum::Number(1_795_262_814),
            Datum::Number(9_000_000),
            Datum::List(["CLIENT", "LIST"].map(text).to_vec()),
            text("10.0.0.8:6"),
            text(CLIENT_NAME),
        ])]);
        assert_eq!(large.read(&own), Some(Vec::new()), "redyno's own");
        assert_eq!(slow_log.read(&own).unwrap().len(), 1, "the command blocked the server");
    }

    #[test]
    fn a_log_full_of_one_command_before_the_session_is_reported_once() {
        let keys: &[&str] = &["KEYS", "*"];
        let full: Vec<_> =
            (0..30).map(|id| (id, 9_000 + id * 100, if id % 3 == 0 { &["GET"] } else { keys })).collect();
        let reported = read(&mut SlowLog::default(), &full);
        assert_eq!(
            reported,
            ["before this session: 20 of the last 30 entries are KEYS; the slowest took 11.9 ms"]
        );
    }

    #[test]
    fn an_empty_log_at_first_makes_the_first_entry_new() {
        // SLOWLOG RESET empties the log, and ids go on.
        for id in [0, 5000] {
            let mut slow_log = SlowLog::default();
            assert!(read(&mut slow_log, &[]).is_empty());
            assert_eq!(read(&mut slow_log, &[(id, 9_000, &["KEYS", "*"])]).len(), 1);
        }
    }

    #[test]
    fn ids_may_be_any_numbers_and_the_same_twice() {
        let mut slow_log = SlowLog::default();
        assert!(read(&mut slow_log, &[]).is_empty());
        let entries: [(i64, i64, &[&str]); 2] = [(i64::MAX, 1, &["GET", "a"]), (i64::MIN, 1, &["GET", "a"])];
        assert_eq!(read(&mut slow_log, &entries).len(), 2, "one entry, and the number of further entries");
        slow_log.begin_again();
        let twice: [(i64, i64, &[&str]); 2] = [(0, 1, &["GET", "a"]); 2];
        assert_eq!(read(&mut slow_log, &twice).len(), 2);
    }

    #[test]
    fn ids_that_begin_at_0_again_are_new() {
        let mut slow_log = SlowLog::default();
        read(&mut slow_log, &[(40, 1, &["GET", "a"])]);
        assert_eq!(read(&mut slow_log, &[(0, 1, &["GET", "a"])]).len(), 1, "seen by the ids");
        slow_log.begin_again();
        assert_eq!(read(&mut slow_log, &[(0, 1, &["GET", "a"])]).len(), 1, "seen by the run id");
    }

    #[test]
    fn the_longest_of_many_entries_are_reported_and_the_others_counted() {
        let mut slow_log = SlowLog::default();
        let words: &[&str] = &["GET", "a"];
        read(&mut slow_log, &[(0, 1, words)]);
        let flood: Vec<_> = (1968..2000).map(|id| (id, id, words)).collect();
        let news = read(&mut slow_log, &flood);
        assert_eq!(news.len(), MOST_SHOWN + 1);
        assert!(news[0].starts_with("1.99 ms"), "{}", news[0]);
        assert_eq!(news[MOST_SHOWN], "and 1 991 more entries (1 967 not read)");
    }

    #[test]
    fn entries_that_a_short_log_or_a_reset_has_removed_are_counted_as_not_read() {
        let mut slow_log = SlowLog::default();
        read(&mut slow_log, &[(6, 1, &["GET", "a"])]);
        let after = read(&mut slow_log, &[(400, 14_200, &["GET", "a"])]);
        assert_eq!(after, ["14.2 ms GET a from 127.0.0.1:5000", "and 393 more entries (393 not read)"]);
    }

    #[test]
    fn no_password_and_no_script_is_shown() {
        let secrets: [&[&str]; 7] = [
            &["AUTH", "secret"],
            &["auth", "user", "secret"],
            &["HELLO", "3", "AUTH", "u", "secret"],
            &["CONFIG", "SET", "requirepass", "secret"],
            &["ACL", "SETUSER", "ann", ">secret"],
            &["EVAL", "return 'secret'", "0"],
            &["MIGRATE", "host", "6379", "k", "0", "5", "AUTH", "secret"],
        ];
        for words in secrets {
            assert!(!command(words).contains("secret"), "{}", command(words));
            assert!(words[0] == "EVAL" || arguments(words).is_empty(), "{words:?}");
        }
        assert_eq!(command(secrets[3]), "CONFIG SET");
        assert_eq!(command(&["GET", &"x".repeat(30)]), format!("GET {}…", "x".repeat(24)));
    }
}
