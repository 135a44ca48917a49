//! The printed title of a segment, which is a period with the same load settings. The title shows the settings that
//! changed since the previous segment.

use std::collections::BTreeMap;

use crate::{
    knobs::{Knob, Knobs},
    server::value_words,
    session::Segment,
};

/// Returns the changes from the knobs `before` to the knobs `now`, such as `clients 200` or `load off`. For the first
/// segment under load, returns the number of clients and the pipeline, such as `50×1`, and all other knobs that differ
/// from their defaults. There is at least one entry. The most important entry comes first.
pub fn change(before: Option<&Knobs>, now: &Knobs) -> Vec<String> {
    if !now.load {
        return vec!["load off".to_owned()];
    }
    match before.filter(|before| before.load) {
        Some(before) => {
            let words = changed_knobs(before, now, |_| true);
            if words.is_empty() { vec!["as before".to_owned()] } else { words }
        }
        None => {
            let shape = format!("{}×{}", now.clients, now.pipeline);
            let is_other = |knob: Knob| !matches!(knob, Knob::Clients | Knob::Pipeline);
            std::iter::once(shape).chain(changed_knobs(&Knobs::default(), now, is_other)).collect()
        }
    }
}

/// Returns the knobs selected by `is_shown` that have different values in `base` and `now`. Weights of different
/// workloads are not compared.
fn changed_knobs(base: &Knobs, now: &Knobs, is_shown: impl Fn(Knob) -> bool) -> Vec<String> {
    let is_other = !now.workload.has_operations_of(&base.workload);
    let differs = |knob: &Knob| match knob {
        // The rate already shows that the loop is open.
        Knob::Arrivals => base.arrivals != now.arrivals && now.rate.is_some(),
        Knob::Reads | Knob::Weight(_) if is_other => false,
        knob => knob.value(base) != knob.value(now),
    };
    let word = |knob: Knob| match knob {
        Knob::Weight(_) => format!("weight {}", knob.called(now)),
        knob => knob.name().to_owned(),
    };
    let knobs = Knob::of(now).into_iter().filter(|knob| is_shown(*knob) && differs(knob));
    let words = knobs.map(|knob| format!("{} {}", word(knob), knob.value(now)));
    let workload = is_other.then(|| format!("workload {}", now.workload));
    let alone = Knob::changed_alone(base, now).into_iter().map(|(name, value)| format!("{name} {value}"));
    workload.into_iter().chain(words).chain(alone).collect()
}

/// Returns the parts of the title of `segment`. `before` is the previous segment. A title begins with
/// `prefill` or `warm-up`, if the segment is one. The changed server parameter follows, or the changed knobs.
pub fn segment_words(before: Option<&Segment>, segment: &Segment) -> Vec<String> {
    let mut words = match &segment.config {
        Some(set) => vec![format!("{} {}", set.name, value_words(&set.to))],
        None => change(before.map(|before| &before.knobs), &segment.knobs),
    };
    words.splice(0..0, segment.aside().map(str::to_owned));
    words
}

/// The server parameters that were changed: the value of each parameter before its first change, and its present value.
#[derive(Debug, Clone, Default)]
pub struct ParameterChanges<'a>(BTreeMap<&'a str, (&'a str, &'a str)>);

impl<'a> ParameterChanges<'a> {
    /// Adds the parameter that was changed at the start of a segment.
    pub fn take(&mut self, segment: &'a Segment) {
        if let Some(set) = &segment.config {
            self.0.entry(&set.name).or_insert((&set.from, "")).1 = &set.to;
        }
    }

    /// Returns the names and values of the parameters whose values differ from their values in `before`, an earlier state.
    pub fn since(&self, before: &Self) -> Vec<(&'a str, &'a str)> {
        let differs = |name: &str, from: &str, to: &str| before.0.get(name).map_or(from, |(_, to)| to) != to;
        let changed = self.0.iter().filter(|(name, (from, to))| differs(name, from, to));
        changed.map(|(name, (_, to))| (*name, *to)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Backlog,
        workload::{Operation, Workload, preset},
    };

    #[test]
    fn the_title_of_a_segment_has_the_changed_knobs() {
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
        let shed = Knobs { backlog: Backlog::Shed, ..more.clone() };
        assert_eq!(change(Some(&more), &shed), "backlog shed");
    }

    #[test]
    fn another_workload_is_named_and_changes_within_the_same_one_are_listed() {
        let on = Knobs { load: true, ..Knobs::default() };
        let with = |workload| Knobs { workload, ..on.clone() };
        fn change(before: Option<&Knobs>, now: &Knobs) -> String {
            super::change(before, now).join(", ")
        }
        let zipfian = with(on.workload.with_distribution("zipfian 1.2".parse().unwrap()));
        assert_eq!(change(Some(&on), &with(on.workload.with_read_percent(50))), "reads 50 %");
        assert_eq!(change(Some(&on), &zipfian), "distribution zipfian, exponent 1.2");
        assert_eq!(change(Some(&zipfian), &with(zipfian.workload.with_exponent(1.3))), "exponent 1.3");
        assert_eq!(change(Some(&zipfian), &on), "distribution uniform");
        assert_eq!(change(Some(&on), &with(preset("incr").unwrap())), "workload INCR");
        assert_eq!(
            change(Some(&with(preset("ping").unwrap())), &on),
            "workload SET:GET 1:10, distribution uniform"
        );
        let mut three = Workload::clone(&on.workload);
        three.operations.push(Operation::command("PING", 3));
        let turned = with(three.with_weight(2, 5));
        assert_eq!(change(Some(&with(three.into())), &turned), "weight PING 5");
        assert_eq!(change(None, &turned), "50×1, workload GET:SET:PING 10:1:5");
    }
}
