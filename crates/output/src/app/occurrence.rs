//! The events on the Overview screen. Each event has a kind, a short label for the row of events, and a
//! sentence for the text at the cursor.

use super::TimeAxis;
use crate::{
    diagnose::Cause,
    events::EventKind,
    print::change,
    protocol::DialectWords,
    session::{
        Event, Mark, Segment,
        timeline::{Episode, Reading},
    },
    units,
};

/// The kinds of events, the most important first. If there is too little room, the last kinds are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OccurrenceKind {
    /// A connection, a worker or the server was lost.
    Lost,
    /// Replies took much longer than usual.
    Stall,
    /// A mark: a note by the user.
    Mark,
    /// An error reply of a new kind.
    Error,
    /// An entry of the slow log.
    Slow,
    /// The server forked, or its child process saves.
    Fork,
    /// The server evicts keys or refuses connections.
    Eviction,
    /// A recovery, such as a server that answers again.
    Back,
    /// The beginning of a segment: a knob or a parameter has changed.
    Segment,
    /// Any other event of the session.
    Other,
}

/// An event at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Occurrence {
    /// The time of the event, in seconds of the session.
    pub t_s: f64,
    /// The kind of the event.
    pub kind: OccurrenceKind,
    /// A short label: `KEYS 14.2 ms`.
    pub word: String,
    /// The end of the event, in seconds of the session. The end is infinite while the event lasts, and is `t_s` if the
    /// event has no length.
    pub until_s: f64,
    /// The event in full: `slowlog: 14.2 ms KEYS * from 127.0.0.1:5000`.
    pub sentence: String,
}

impl Occurrence {
    /// Converts an event of the session that has a beginning and an end.
    pub fn episode(episode: &Episode) -> Self {
        Self { t_s: episode.from_s, until_s: episode.until_s, ..Self::event(episode.event) }
    }

    /// Converts an event of the session.
    pub fn event(event: &Event) -> Self {
        let name = event.what.name();
        let sentence = match event.what.to_string() {
            detail if detail.is_empty() => name.to_owned(),
            detail => format!("{name}: {detail}"),
        };
        Self {
            t_s: event.t_s,
            until_s: event.t_s,
            kind: kind(&event.what),
            word: word(&event.what),
            sentence,
        }
    }

    /// Uses the words of a dialect.
    #[must_use]
    pub fn worded(self, words: &DialectWords) -> Self {
        Self { word: words.worded(self.word), sentence: words.worded(self.sentence), ..self }
    }

    /// Converts a mark of the user.
    pub fn mark(mark: &Mark) -> Self {
        Self {
            t_s: mark.t_s,
            until_s: mark.t_s,
            kind: OccurrenceKind::Mark,
            word: mark.text.clone(),
            sentence: format!("mark: {}", mark.text),
        }
    }

    /// Returns the event of a stall of `ns` nanoseconds that ended at `t_s`. The event includes the cause, if known.
    pub fn stall(t_s: f64, ns: u64, cause: Option<Cause>) -> Self {
        let word = format!("stall {}", units::latency(ns));
        let cause = cause.map_or_else(String::new, |cause| cause.to_string());
        let sentence = format!("stall: a request took {}{cause}", units::latency(ns));
        Self { t_s, until_s: t_s, kind: OccurrenceKind::Stall, word, sentence }
    }

    /// Returns an event for the beginning of each segment on the axis, except the first segment. Each event has its
    /// column and the changed knobs.
    pub fn segments(reading: &Reading, axis: &TimeAxis) -> Vec<(u16, Self)> {
        let segments: Vec<_> = reading.known_segments().starts().collect();
        let begin = |pair: &[&Segment]| {
            let column = axis.column_at(pair[1].t_s, reading.known_s())?;
            let (what, number) = (turned(pair[0], pair[1]), pair[1].segment);
            let sentence = format!("segment {number} begins: {what}");
            let (t_s, word) = (pair[1].t_s, format!("seg {number} {what}"));
            Some((column, Self { t_s, until_s: t_s, kind: OccurrenceKind::Segment, word, sentence }))
        };
        segments.windows(2).filter_map(begin).collect()
    }
}

/// Returns the changed knobs or server parameter between the segments `before` and `now`.
pub fn turned(before: &Segment, now: &Segment) -> String {
    match &now.config {
        Some(config) => format!("{} {}", config.name, config.to),
        None => change(Some(&before.knobs), &now.knobs).join(", "),
    }
}

/// Returns the kind of an event, by its name.
fn kind(what: &EventKind) -> OccurrenceKind {
    match what.name() {
        _ if what.is_recovery() => OccurrenceKind::Back,
        "unreachable" | "restart" | "failover" | "role" | "left" | "worker died" => OccurrenceKind::Lost,
        name if name.ends_with(" lost") => OccurrenceKind::Lost,
        "error" => OccurrenceKind::Error,
        "slowlog" => OccurrenceKind::Slow,
        "fork" | "save" | "aof rewrite" => OccurrenceKind::Fork,
        "eviction" | "maxclients" => OccurrenceKind::Eviction,
        "stall" => OccurrenceKind::Stall,
        // A level shift of PING: replies take longer than usual.
        _ if matches!(what, EventKind::Shifted { shift } if shift.figure.starts_with("ping_")) => {
            OccurrenceKind::Stall
        }
        _ => OccurrenceKind::Other,
    }
}

fn word(what: &EventKind) -> String {
    match what {
        EventKind::SlowCommand { us, command, .. } => {
            let name = command.split(' ').next().unwrap_or_default();
            format!("{name} {}", units::latency(us.saturating_mul(1000)))
        }
        EventKind::Failover { length_s, .. } if *length_s > 0.0 => {
            format!("failover {}", units::latency((length_s * 1e9) as u64))
        }
        EventKind::FirstError { error, .. } => error.clone(),
        // The first word is a label of its own.
        EventKind::Shifted { shift } => match shift.in_short().split_once(" of PING") {
            Some((level, factor)) => format!("PING {level}{factor}"),
            None => shift.in_short(),
        },
        EventKind::Stalled { longest_s, length_s: Some(_) } => {
            format!("stall {}", units::latency((longest_s * 1e9) as u64))
        }
        _ if what.name() == "slowlog" => "slow".to_owned(),
        _ => what.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(what: EventKind) -> (OccurrenceKind, String) {
        let Occurrence { kind, word, .. } = Occurrence::event(&Event::new(1.0, what));
        (kind, word)
    }

    #[test]
    fn an_event_has_a_kind_and_a_short_word() {
        let named = |kind, word: &str| (kind, word.to_owned());
        let slow = EventKind::SlowCommand {
            us: 14_200,
            command: "KEYS *".to_owned(),
            client: None,
            arguments: Vec::new(),
        };
        assert_eq!(shown(slow), named(OccurrenceKind::Slow, "KEYS 14.2 ms"));
        assert_eq!(
            shown(EventKind::MoreSlowCommands { entries: 3, unread: 0 }),
            named(OccurrenceKind::Slow, "slow")
        );
        let message = "OOM command not allowed".to_owned();
        let error = EventKind::FirstError { error: "OOM".to_owned(), message };
        assert_eq!(shown(error), named(OccurrenceKind::Error, "OOM"));
        assert_eq!(shown(EventKind::Reachable), named(OccurrenceKind::Back, "reachable"));
        assert_eq!(shown(EventKind::Forked { held_us: None }), named(OccurrenceKind::Fork, "fork"));
    }
}
