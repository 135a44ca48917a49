//! The prefill of a load: its outcome, and whether its keys exist, before the load continues.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use crate::{
    events::{EventKind, Prefilled},
    knobs::Knobs,
    load::Prefilling,
    server::{Answer, Control, Counted},
    session::{Interval, Live, Record, add_counts},
    workload::KeyNames,
};

/// How long the last counts of the workers may take.
const COUNTS_LIMIT: Duration = Duration::from_secs(1);

/// The running prefill, if there is one.
#[derive(Debug, Default)]
pub(super) struct Fill {
    /// The segments of the prefill: each change of a knob begins another one.
    segments: BTreeSet<u32>,
    /// The knobs of the last segment, and the number of requests.
    current: Option<(Knobs, Prefilling)>,
    sum: Interval,
    /// Since when all requests are answered; `None` before.
    since: Option<Instant>,
    looking: Option<Answer<Counted>>,
}

impl Fill {
    /// Takes a record.
    pub fn push(&mut self, record: &Record) {
        match record {
            Record::Segment(segment) => match segment.prefill {
                None => *self = Self::default(),
                Some(prefill) => {
                    let is_same = |(knobs, before): &(Knobs, Prefilling)| {
                        let (one, other) = (&knobs.workload, &segment.knobs.workload);
                        before.requests == prefill.requests
                            && one.prefill == other.prefill
                            && one.keys == other.keys
                    };
                    if !self.current.as_ref().is_some_and(is_same) {
                        *self = Self::default();
                    }
                    self.segments.insert(segment.segment);
                    self.current = Some((segment.knobs.clone(), prefill));
                }
            },
            Record::Interval(interval) if self.segments.contains(&interval.segment) => {
                self.sum.ops += interval.ops;
                self.sum.length_s += interval.load_s();
                add_counts(&mut self.sum.errors, &interval.errors);
            }
            _ => {}
        }
    }

    /// Checks the keys of a node when all requests are answered, and lets the load continue when the result is known.
    /// Returns the result once.
    pub fn look(
        &mut self,
        node: u16,
        live: &mut Live,
        control: &Control,
        names: &KeyNames,
    ) -> Option<Prefilled> {
        if !live.target(node).is_filled() {
            return None;
        }
        let (knobs, prefill) = self.current.as_ref()?;
        let since = *self.since.get_or_insert_with(Instant::now);
        if self.sum.ops < prefill.requests && since.elapsed() < COUNTS_LIMIT {
            return None;
        }
        let span = knobs.workload.prefilled_names(knobs.keyspace);
        let (counted, unseen) = if span.is_empty() {
            (Counted::default(), Some("they are parts of other names".to_owned()))
        } else {
            let looking = self.looking.get_or_insert_with(|| control.count(span, names.clone()));
            match looking.wait(Duration::ZERO)? {
                Ok(counted) => (counted, None),
                Err(error) => (Counted::default(), Some(error.to_string())),
            }
        };
        let prefilled = Prefilled {
            requests: prefill.requests,
            answered: self.sum.ops,
            length_s: self.sum.length_s,
            errors: self.sum.errors.clone(),
            looked_for: counted.looked_for,
            there: counted.there,
            unseen,
        };
        *self = Self::default();
        live.event(node, EventKind::Prefilled { prefilled: prefilled.clone() });
        live.target(node).go_on();
        Some(prefilled)
    }
}
