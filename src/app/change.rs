//! What a segment is about, in a few words: the knobs in which it differs from the one before.

use std::collections::BTreeMap;

use super::{Knob, value_words};
use crate::{
    load::{Adjustable, Knobs},
    session::Segment,
};

/// How `now` differs from the segment `before`: `clients 200`, `load off`; for the first one under load its clients
/// and pipeline, `50×1`, and whatever else is not as at the start. At least one word, the most telling first.
pub fn change(before: Option<&Knobs>, now: &Knobs) -> Vec<String> {
    if !now.load {
        return vec!["load off".to_owned()];
    }
    let turned = |base: &Knobs, setting: &Adjustable| match setting {
        // That a rate opens the loop says the rate.
        Adjustable::Knob(Knob::Arrivals) => base.arrivals != now.arrivals && now.rate.is_some(),
        setting => setting.value(base) != setting.value(now),
    };
    let told = |setting: Adjustable| format!("{} {}", setting.word(), setting.value(now));
    let all = || Knob::ALL.into_iter().map(Adjustable::Knob).chain([Adjustable::Reconnect]);
    match before.filter(|before| before.load) {
        Some(before) => {
            let words: Vec<_> = all().filter(|setting| turned(before, setting)).map(told).collect();
            if words.is_empty() { vec!["as before".to_owned()] } else { words }
        }
        None => {
            let shape = format!("{}×{}", now.clients, now.pipeline);
            let others = all().skip_while(|setting| *setting != Adjustable::Knob(Knob::Rate));
            let unusual = others.filter(|setting| turned(&Knobs::default(), setting)).map(told);
            std::iter::once(shape).chain(unusual).collect()
        }
    }
}

/// What `segment` is about, after the one `before`: the parameter of the server that was set, else as [`change`]; prefill
/// and warm-up are said first.
pub fn segment_words(before: Option<&Segment>, segment: &Segment) -> Vec<String> {
    let mut words = match &segment.config {
        Some(set) => vec![format!("{} {}", set.name, value_words(&set.to))],
        None => change(before.map(|before| &before.knobs), &segment.knobs),
    };
    words.splice(0..0, segment.aside().map(str::to_owned));
    words
}

/// Parameters of the server that were set: the value before the first time, and the latest.
#[derive(Debug, Clone, Default)]
pub(super) struct Tuned<'a>(BTreeMap<&'a str, (&'a str, &'a str)>);

impl<'a> Tuned<'a> {
    /// Takes in what a segment began with.
    pub(super) fn take(&mut self, segment: &'a Segment) {
        if let Some(set) = &segment.config {
            self.0.entry(&set.name).or_insert((&set.from, "")).1 = &set.to;
        }
    }

    /// What differs from `before`, an earlier state of this.
    pub(super) fn since(&self, before: &Self) -> Vec<String> {
        let differs = |name: &str, from: &str, to: &str| before.0.get(name).map_or(from, |(_, to)| to) != to;
        let changed = self.0.iter().filter(|(name, (from, to))| differs(name, from, to));
        changed.map(|(name, (_, to))| format!("{name} {}", value_words(to))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_named_by_what_was_turned() {
        let change = |before, now| change(before, now).join(", ");
        let off = Knobs::default();
        let on = Knobs { load: true, ..off.clone() };
        assert_eq!(change(None, &off), "load off");
        assert_eq!(change(Some(&off), &on), "50×1");
        let more = Knobs { clients: 200, rate: Some(5000), ..on.clone() };
        assert_eq!(change(Some(&on), &more), "clients 200, rate 5000/s");
        assert_eq!(change(Some(&off), &more), "200×1, rate 5000/s");
        assert_eq!(change(Some(&more), &more), "as before");
        assert_eq!(change(Some(&more), &off), "load off");
        let anew = Knobs { reconnect: Some(100), ..more.clone() };
        assert_eq!(change(Some(&more), &anew), "reconnect 100");
        assert_eq!(change(Some(&anew), &more), "reconnect never");
    }
}
