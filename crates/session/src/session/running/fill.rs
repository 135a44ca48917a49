//! Watches the prefill of a session. Before the load begins, this module checks the result of the prefill and whether
//! the keys exist.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use super::{
    HolderReplies,
    holders::{Holder, Holders},
};
use crate::{
    events::{EventKind, PrefillResult},
    knobs::Knobs,
    load::Prefilling,
    server::CountResult,
    session::{Interval, Live, Record, add_counts},
    workload::KeyNames,
};

/// The longest wait of the prefill for the workers' reports of their last replies.
const COUNTS_LIMIT: Duration = Duration::from_secs(1);

/// The state of the running prefill, if there is one.
#[derive(Debug, Default)]
pub(super) struct PrefillWatch {
    /// The numbers of the prefill's segments. Each change of the load settings begins a new segment.
    segments: BTreeSet<u32>,
    /// The load settings of the last segment, and the size of the prefill.
    current: Option<(Knobs, Prefilling)>,
    sum: Interval,
    /// The time when all requests were answered. `None` before this time.
    since: Option<Instant>,
    looking: Option<HolderReplies<CountResult>>,
}

impl PrefillWatch {
    /// Adds the next record.
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

    /// When all requests of the prefill are answered, checks whether the keys exist on all servers, and then begins the
    /// load. Returns the result of the prefill only once.
    pub fn poll(
        &mut self,
        node: u16,
        live: &mut Live,
        holders: &Holders,
        names: &KeyNames,
    ) -> Option<PrefillResult> {
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
            (
                CountResult::default(),
                Some("the workload uses their names only as parts of other names".to_owned()),
            )
        } else {
            let count = |holder: &Holder| holder.control.count(span.clone(), names.clone());
            let looking = self.looking.get_or_insert_with(|| holders.ask(count));
            match looking.wait(Duration::ZERO)? {
                Ok(counted) => {
                    // Each server of a ring is searched for all keys. Each node of a cluster is searched only for its
                    // own keys.
                    let times = if holders.are_ring() { counted.len().max(1) as u64 } else { 1 };
                    let all: CountResult = counted.into_iter().map(|(_, counted)| counted).sum();
                    (CountResult { looked_for: all.looked_for / times, ..all }, None)
                }
                Err(error) => (CountResult::default(), Some(error.to_string())),
            }
        };
        let prefilled = PrefillResult {
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
        live.target(node).apply_wanted();
        Some(prefilled)
    }
}
