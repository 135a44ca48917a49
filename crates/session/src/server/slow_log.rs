//! Finds new entries in the reply to SLOWLOG GET, and shortens their commands. Pure.
//!
//! The ids of entries count up from 0 at the server's start, and SLOWLOG RESET does not reset them. Only the name and
//! the shortened first argument of a command are shown, but never a value, a script or a password.

use super::datum::Datum;
use crate::events::EventKind;

/// The number of entries that a poll requests.
pub(super) const ASKED: i64 = 32;
/// The largest number of entries that a poll reports as events; the slowest entries are reported.
const MOST_SHOWN: usize = 8;
/// The length of the longest argument that is shown in full.
const LONGEST: usize = 24;

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    id: i64,
    us: u64,
    command: String,
    client: Option<String>,
}

/// The last reported entry.
#[derive(Debug, Default)]
pub(super) struct SlowLog {
    /// The id of the last entry; `None` before the first poll. Entries in the first poll are older than the session.
    last: Option<i64>,
}

/// A number before the first id.
const BEFORE_ALL: i64 = -1;

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
        self.last = newest.or(last).or(Some(BEFORE_ALL));
        let Some(mut last) = last else { return Some(Vec::new()) };
        if newest.is_some_and(|newest| newest < last) {
            last = BEFORE_ALL;
        }
        entries.retain(|entry| entry.id > last);
        let Some(newest) = newest else { return Some(Vec::new()) };
        let new = newest.saturating_sub(last).max(0) as u64;
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.us));
        entries.truncate(MOST_SHOWN);
        let more = new.saturating_sub(entries.len() as u64);
        entries.sort_by_key(|entry| entry.id);
        let mut events: Vec<_> = entries.into_iter().map(Entry::into_event).collect();
        if more > 0 {
            events.push(EventKind::MoreSlowCommands { entries: more });
        }
        Some(events)
    }
}

impl Entry {
    fn into_event(self) -> EventKind {
        let Self { us, command, client, .. } = self;
        EventKind::SlowCommand { us, command, client }
    }
}

fn entry(datum: &Datum) -> Option<Entry> {
    let [id, _, us, words, more @ ..] = datum.list()? else { return None };
    let words: Vec<_> = words.list()?.iter().map(|word| word.text().unwrap_or_default()).collect();
    // Since Redis 4 an entry also has the client's address and name.
    let part = |n: usize| more.get(n).and_then(Datum::text).filter(|text| !text.is_empty());
    let client = part(0).map(|address| {
        part(1).map_or_else(|| address.to_owned(), |name| format!("{address} ({})", shortened(name)))
    });
    Some(Entry { id: id.number()?, us: us.number()?.try_into().ok()?, command: command(&words), client })
}

/// Returns the name of a command, and its first argument unless that is a password or a script.
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
    fn entries_from_before_are_not_reported_and_new_ones_once() {
        let mut slow_log = SlowLog::default();
        assert!(read(&mut slow_log, &[(6, 9_000, &["KEYS", "*"])]).is_empty());
        let now: [(i64, i64, &[&str]); 2] = [(6, 9_000, &["KEYS", "*"]), (7, 14_200, &["get", "redyno:1"])];
        assert_eq!(read(&mut slow_log, &now), ["14.2 ms GET redyno:1 from 127.0.0.1:5000"]);
        assert!(read(&mut slow_log, &now).is_empty());
        assert!(read(&mut slow_log, &[]).is_empty(), "SLOWLOG RESET");
        assert!(read(&mut slow_log, &now).is_empty(), "ids go on");
    }

    #[test]
    fn an_empty_log_at_first_makes_the_first_entry_new() {
        let mut slow_log = SlowLog::default();
        assert!(read(&mut slow_log, &[]).is_empty());
        assert_eq!(read(&mut slow_log, &[(0, 9_000, &["KEYS", "*"])]).len(), 1);
    }

    #[test]
    fn ids_may_be_any_numbers_and_the_same_twice() {
        let mut slow_log = SlowLog::default();
        assert!(read(&mut slow_log, &[]).is_empty());
        let entries: [(i64, i64, &[&str]); 2] = [(i64::MAX, 1, &["GET", "a"]), (i64::MIN, 1, &["GET", "a"])];
        assert_eq!(read(&mut slow_log, &entries).len(), 2, "one, and how many more there seem to be");
        slow_log.begin_again();
        let twice: [(i64, i64, &[&str]); 2] = [(0, 1, &["GET", "a"]); 2];
        assert_eq!(read(&mut slow_log, &twice).len(), 2);
    }

    #[test]
    fn ids_that_begin_again_are_new() {
        let mut slow_log = SlowLog::default();
        read(&mut slow_log, &[(40, 1, &["GET", "a"])]);
        assert_eq!(read(&mut slow_log, &[(0, 1, &["GET", "a"])]).len(), 1, "seen by the ids");
        slow_log.begin_again();
        assert_eq!(read(&mut slow_log, &[(0, 1, &["GET", "a"])]).len(), 1, "seen by the run id");
    }

    #[test]
    fn of_a_flood_the_longest_are_reported_and_the_others_counted() {
        let mut slow_log = SlowLog::default();
        read(&mut slow_log, &[]);
        let words: &[&str] = &["GET", "a"];
        let flood: Vec<_> = (1968..2000).map(|id| (id, id, words)).collect();
        let news = read(&mut slow_log, &flood);
        assert_eq!(news.len(), MOST_SHOWN + 1);
        assert!(news[0].starts_with("1.99 ms"), "{}", news[0]);
        assert_eq!(news[MOST_SHOWN], "and 1 992 more entries");
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
        }
        assert_eq!(command(secrets[3]), "CONFIG SET");
        assert_eq!(command(&["GET", &"x".repeat(30)]), format!("GET {}…", "x".repeat(24)));
    }
}
