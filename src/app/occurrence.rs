//! What happened, as the Overview names it: a kind, a word for the event lane, a sentence for the cursor.

use super::change;
use crate::{
    session::{
        Event, Mark, Segment, UNREACHABLE,
        timeline::{FIRST_ERROR, Reading},
    },
    units,
};

/// What kind of thing happened, the most pressing first: where room is short, the others give way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A connection, a worker or the server was lost.
    Lost,
    /// Replies took much longer than usual.
    Stall,
    /// A person's note.
    Mark,
    /// The first error of its kind.
    Error,
    /// An entry of the slow log.
    Slow,
    /// The server forked, or a child of it saves.
    Fork,
    /// The server evicts keys or turns connections away.
    Eviction,
    /// What was lost is back.
    Back,
    /// New knobs.
    Segment,
    /// Whatever else the session tells.
    Other,
}

/// Something that happened at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Occurrence {
    /// When, in seconds of the session.
    pub t_s: f64,
    /// What kind of thing.
    pub kind: Kind,
    /// One or two words: `slow 14.2 ms`.
    pub word: String,
    /// All that is known: `slowlog 14.2 ms KEYS * from 127.0.0.1:5000`.
    pub sentence: String,
}

impl Occurrence {
    /// What an event says.
    pub fn event(event: &Event) -> Self {
        let kind = kind(event);
        let sentence = match event.detail.as_str() {
            "" => event.name.clone(),
            detail => format!("{}: {detail}", event.name),
        };
        Self { t_s: event.t_s, kind, word: word(event, kind), sentence }
    }

    /// A person's note.
    pub fn mark(mark: &Mark) -> Self {
        Self {
            t_s: mark.t_s,
            kind: Kind::Mark,
            word: mark.text.clone(),
            sentence: format!("mark: {}", mark.text),
        }
    }

    /// A stall of `ns` nanoseconds that was over at `t_s`.
    pub fn stall(t_s: f64, ns: u64) -> Self {
        let word = format!("stall {}", units::latency(ns));
        let sentence = format!("stall: a request took {}", units::latency(ns));
        Self { t_s, kind: Kind::Stall, word, sentence }
    }

    /// The beginnings of the segments but the first, by what was turned.
    pub fn segments(reading: &Reading) -> Vec<Self> {
        let segments: Vec<_> = reading.known_segments().iter().map(|segment| &segment.start).collect();
        let begin = |pair: &[&Segment]| {
            let (what, number) = (turned(pair[0], pair[1]), pair[1].segment);
            let sentence = format!("segment {number} begins: {what}");
            Self { t_s: pair[1].t_s, kind: Kind::Segment, word: format!("seg {number} {what}"), sentence }
        };
        segments.windows(2).map(begin).collect()
    }
}

/// What was turned when `now` followed on `before`: knobs, or a parameter of the server.
pub fn turned(before: &Segment, now: &Segment) -> String {
    match &now.config {
        Some(config) => format!("{} {}", config.name, config.to),
        None => change(Some(&before.knobs), &now.knobs).join(", "),
    }
}

fn kind(event: &Event) -> Kind {
    if event.is_recovery() {
        return Kind::Back;
    }
    match event.name.as_str() {
        UNREACHABLE | "restart" | "failover" | "worker died" => Kind::Lost,
        name if name.ends_with(" lost") => Kind::Lost,
        FIRST_ERROR => Kind::Error,
        "slowlog" => Kind::Slow,
        "fork" | "save" | "aof rewrite" => Kind::Fork,
        "eviction" | "maxclients" => Kind::Eviction,
        _ => Kind::Other,
    }
}

fn word(event: &Event, kind: Kind) -> String {
    let detail = event.detail.as_str();
    match kind {
        Kind::Slow => format!("slow {}", leading_duration(detail)).trim_end().to_owned(),
        Kind::Error => detail.split_once(": ").map_or(detail, |(kind, _)| kind).to_owned(),
        _ => event.name.clone(),
    }
}

/// `14.2 ms` of `14.2 ms KEYS *`; nothing where the text begins otherwise.
fn leading_duration(text: &str) -> &str {
    let mut words = text.split(' ');
    let (number, unit) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_duration = number.parse::<f64>().is_ok() && matches!(unit, "ns" | "µs" | "us" | "ms" | "s");
    if is_duration { &text[..number.len() + 1 + unit.len()] } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(name: &str, detail: &str) -> (Kind, String) {
        let event = Event { t_s: 1.0, name: name.to_owned(), detail: detail.to_owned() };
        let Occurrence { kind, word, .. } = Occurrence::event(&event);
        (kind, word)
    }

    #[test]
    fn an_event_has_a_kind_and_a_short_word() {
        assert_eq!(
            told("slowlog", "14.2 ms KEYS * from 127.0.0.1:5"),
            (Kind::Slow, "slow 14.2 ms".to_owned())
        );
        assert_eq!(told("slowlog", "and 3 more entries"), (Kind::Slow, "slow".to_owned()));
        assert_eq!(told("error", "OOM: OOM command not allowed"), (Kind::Error, "OOM".to_owned()));
        assert_eq!(told("ping lost", "timeout"), (Kind::Lost, "ping lost".to_owned()));
        assert_eq!(told("reachable", ""), (Kind::Back, "reachable".to_owned()));
        assert_eq!(told("fork", "a fork held the server for 1.20 ms"), (Kind::Fork, "fork".to_owned()));
        assert_eq!(told("a new thing", "whatever"), (Kind::Other, "a new thing".to_owned()));
    }
}
