//! Groups a session's events for lists and for the time axis. The beginning and the end of the same activity become one
//! episode. Equal events become one line.
//!
//! ```text
//!   save began … save ended        ─► an episode with a length
//!   slowlog HGETALL cart:all × 28  ─► 28 × HGETALL cart:all, 175 to 355 ms
//! ```

use std::collections::HashMap;

use crate::{events::EventKind, session::Event, units};

/// The largest number of seconds between two equal events in one line. After a longer pause, the next event gets a new
/// line.
const APART_S: f64 = 60.0;

/// An event without a length, or the beginning and the end of an event that lasts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Episode<'a> {
    /// The latest event of the episode: the event of its end, if there is one.
    pub event: &'a Event,
    /// The start of the episode, in seconds of the session.
    pub from_s: f64,
    /// The end of the episode, in seconds of the session. The end is infinite while the episode lasts. If the episode
    /// has no length, the end is equal to the start.
    pub until_s: f64,
}

impl<'a> Episode<'a> {
    fn of(event: &'a Event) -> Self {
        let t_s = event.t_s;
        let (from_s, until_s) = match event.what.length_s() {
            _ if event.what.opens() => (t_s, f64::INFINITY),
            None => (t_s, t_s),
            Some(length_s) if event.what.is_dated_by_its_beginning() => (t_s, t_s + length_s),
            Some(length_s) => ((t_s - length_s).max(0.0), t_s),
        };
        Self { event, from_s, until_s }
    }
}

/// Returns the episodes of `events`, in the order of their first events.
pub fn episodes<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<Episode<'a>> {
    let mut episodes: Vec<Episode<'a>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for event in events {
        let episode = Episode::of(event);
        let before = open.iter().position(|at| episodes[*at].event.what.continues(&event.what));
        let before = before.map(|at| open.swap_remove(at));
        if event.what.opens() {
            // The end of the earlier episode was not recorded, so the new beginning ends it.
            if let Some(before) = before {
                episodes[before].until_s = event.t_s;
            }
            open.push(episodes.len());
            episodes.push(episode);
        } else if let Some(before) = before {
            let from_s = episodes[before].from_s;
            episodes[before] = Episode { from_s, until_s: episode.until_s.max(from_s), ..episode };
        } else {
            episodes.push(episode);
        }
    }
    episodes
}

/// A line of a list of events.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldedEvents<'a> {
    /// The latest of the equal episodes.
    pub last: Episode<'a>,
    /// The start of the first of the equal episodes, in seconds of the session.
    pub since_s: f64,
    /// The number of equal episodes.
    pub count: u64,
    /// The text of the line, without the event's name.
    pub text: String,
}

/// The common values of equal events.
struct EqualEvents {
    line: usize,
    /// The shortest and the longest length of the events in nanoseconds, if the events have a length.
    ends_ns: Option<(u64, u64)>,
    /// The client, if all the events have the same client.
    client: Option<String>,
    /// Two sums: the number of further slow log entries, and the number of entries that redyno did not read.
    counted: [u64; 2],
    state_of: Option<&'static str>,
}

/// Returns one line for each group of equal events, ordered by the time of the group's latest event. Events of a pair,
/// such as `unreachable` and `reachable`, keep their order: each event ends the group of its counterpart.
pub fn folded<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<FoldedEvents<'a>> {
    let mut lines: Vec<FoldedEvents<'a>> = Vec::new();
    let mut groups: HashMap<(&str, String), EqualEvents> = HashMap::new();
    for episode in episodes(events) {
        let what = &episode.event.what;
        let key = (what.name(), in_common(what));
        if let Some(of) = what.state_of() {
            groups.retain(|other, group| *other == key || group.state_of != Some(of));
        }
        let length_ns = length_ns(what);
        let client = client(what);
        if let Some(group) = groups.get_mut(&key)
            && episode.from_s - lines[group.line].last.from_s <= APART_S
        {
            let line = &mut lines[group.line];
            line.last = episode;
            line.count += 1;
            let ends = |(low, high): (u64, u64), ns: u64| (low.min(ns), high.max(ns));
            group.ends_ns = group.ends_ns.zip(length_ns).map(|(both, ns)| ends(both, ns));
            group.client = group.client.take().filter(|known| client == Some(known));
            let [entries, unread] = counted(what);
            group.counted =
                [group.counted[0].saturating_add(entries), group.counted[1].saturating_add(unread)];
            line.text = match what {
                EventKind::MoreSlowCommands { .. } => {
                    let [entries, unread] = group.counted;
                    EventKind::MoreSlowCommands { entries, unread }.to_string()
                }
                _ => text(line.count, &key.1, group),
            };
            continue;
        }
        let (line, ends_ns) = (lines.len(), length_ns.map(|ns| (ns, ns)));
        let group = EqualEvents {
            line,
            ends_ns,
            client: client.cloned(),
            counted: counted(what),
            state_of: what.state_of(),
        };
        groups.insert(key, group);
        lines.push(FoldedEvents { last: episode, since_s: episode.from_s, count: 1, text: what.to_string() });
    }
    lines.sort_by(|a, b| a.last.from_s.total_cmp(&b.last.from_s));
    lines
}

/// Returns the text that equal events have in common, without their lengths.
fn in_common(what: &EventKind) -> String {
    match what {
        EventKind::SlowCommand { command, .. } => command.clone(),
        EventKind::SlowEvent { of, .. } => of.clone(),
        EventKind::Forked { .. } => "a fork paused the server".to_owned(),
        EventKind::MoreSlowCommands { .. } => "more entries".to_owned(),
        EventKind::Stalled { length_s: Some(_), .. } => "late replies to PING".to_owned(),
        other => other.to_string(),
    }
}

fn length_ns(what: &EventKind) -> Option<u64> {
    match what {
        EventKind::SlowCommand { us, .. } => Some(us.saturating_mul(1_000)),
        EventKind::SlowEvent { last_ms, .. } => Some(last_ms.saturating_mul(1_000_000)),
        EventKind::Forked { held_us } => held_us.map(|us| us.saturating_mul(1_000)),
        EventKind::Stalled { longest_s, length_s: Some(_) } => Some((longest_s * 1e9) as u64),
        _ => None,
    }
}

fn counted(what: &EventKind) -> [u64; 2] {
    if let EventKind::MoreSlowCommands { entries, unread } = what { [*entries, *unread] } else { [0; 2] }
}

fn client(what: &EventKind) -> Option<&String> {
    match what {
        EventKind::SlowCommand { client, .. } => client.as_ref(),
        _ => None,
    }
}

fn text(count: u64, common: &str, group: &EqualEvents) -> String {
    let mut text = format!("{} × {common}", units::grouped(count));
    if let Some((low, high)) = group.ends_ns {
        let (low, high) = (units::latency(low), units::latency(high));
        let unit = |text: &str| text.split(' ').nth(1).map(str::to_owned);
        match low.split_once(' ') {
            _ if low == high => text += &format!(", {low}"),
            Some((number, _)) if unit(&low) == unit(&high) => text += &format!(", {number} to {high}"),
            _ => text += &format!(", {low} to {high}"),
        }
    }
    group.client.iter().for_each(|client| text += &format!(" from {client}"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::ShiftReport;

    fn slow(t_s: f64, ms: u64, command: &str, client: &str) -> Event {
        let [command, client] = [command, client].map(str::to_owned);
        let text = format!(
            r#"{{"event":"slow_command","us":{},"command":"{command}","client":"{client}"}}"#,
            ms * 1000
        );
        Event::new(t_s, serde_json::from_str(&text).unwrap())
    }

    fn texts(events: &[Event]) -> Vec<String> {
        folded(events.iter()).into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn equal_events_are_one_line_with_their_range_and_their_client() {
        let mut events: Vec<_> = (0..28)
            .map(|n| slow(f64::from(n), 175 + u64::from(n as u32) * 5, "HGETALL cart:all", "a:1"))
            .collect();
        events.insert(3, slow(2.5, 14, "KEYS *", "b:2"));
        let expected = ["14.0 ms KEYS * from b:2", "28 × HGETALL cart:all, 175 to 310 ms from a:1"];
        assert_eq!(texts(&events), expected);
        events.push(slow(28.0, 1200, "HGETALL cart:all", "b:2"));
        assert_eq!(texts(&events)[1], "29 × HGETALL cart:all, 175 ms to 1.20 s");
        let more = |t_s, entries, unread| Event::new(t_s, EventKind::MoreSlowCommands { entries, unread });
        let both = [more(1.0, 8, 0), more(2.0, 11, 3)];
        assert_eq!(texts(&both), ["and 19 more entries (3 not read)"]);
        // More than a minute later the same event gets a new line.
        events.push(slow(90.0, 200, "HGETALL cart:all", "a:1"));
        assert_eq!(texts(&events)[2], "200 ms HGETALL cart:all from a:1");
    }

    #[test]
    fn an_event_of_a_pair_is_not_moved_past_the_other_of_the_pair() {
        let lost = || EventKind::Unreachable { cause: "timed out".to_owned() };
        let events: Vec<_> = [
            (1.0, lost()),
            (2.0, EventKind::Reachable),
            (3.0, lost()),
            (3.5, EventKind::Restarted),
            (4.0, EventKind::Reachable),
            (5.0, EventKind::Reachable),
        ]
        .map(|(t_s, what)| Event::new(t_s, what))
        .into();
        let lines: Vec<_> = folded(events.iter())
            .into_iter()
            .map(|line| (line.last.from_s, line.last.event.what.name().to_owned(), line.count))
            .collect();
        let line = |t_s, name: &str, count| (t_s, name.to_owned(), count);
        let expected = [
            line(1.0, "unreachable", 1),
            line(2.0, "reachable", 1),
            line(3.0, "unreachable", 1),
            line(3.5, "restart", 1),
            line(5.0, "reachable", 2),
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_beginning_and_its_end_are_one_episode_with_a_length() {
        let shift = |figure: &str, length_s| EventKind::Shifted {
            shift: ShiftReport { figure: figure.to_owned(), length_s, ..ShiftReport::default() },
        };
        let ended = EventKind::SnapshotEnded { length_s: Some(12.0), outcome: "ok".to_owned() };
        let events = [
            (10.0, EventKind::SnapshotBegan),
            (11.0, shift("cpu", None)),
            (12.0, shift("ping_p50", None)),
            (13.0, EventKind::Stalled { longest_s: 0.2, length_s: None }),
            (13.0, EventKind::Stalled { longest_s: 0.9, length_s: Some(1.0) }),
            (22.0, ended),
            (30.0, shift("cpu", Some(19.0))),
            (31.0, EventKind::Restarted),
            (40.0, EventKind::Paused { length_s: 4.0 }),
        ]
        .map(|(t_s, what)| Event::new(t_s, what));
        let found: Vec<_> = episodes(events.iter()).iter().map(|e| (e.from_s, e.until_s)).collect();
        let expected =
            [(10.0, 22.0), (11.0, 30.0), (12.0, f64::INFINITY), (13.0, 14.0), (31.0, 31.0), (36.0, 40.0)];
        assert_eq!(found, expected);
    }
}
