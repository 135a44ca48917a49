//! Which settings may do harm and were not allowed yet: those that are wanted, and those that are known to come.

use std::time::Duration;

use super::{
    Commission,
    room::{Change, Danger, Demand, RoomWatch},
};
use crate::{knobs::Knobs, load::Requests, server::Survey, session::Record};

/// What was allowed, and what it is compared with.
#[derive(Debug)]
pub(super) struct Caution {
    danger: Danger,
    room: RoomWatch,
    limits: Limits,
    /// Whether everything is allowed: on the command line, and without a person who could want something else on the way.
    is_off: bool,
    /// The settings that are known to come, until they were asked about.
    announced: Vec<Knobs>,
    /// Those that a person has said yes to, and those that passed last.
    accepted: Vec<Knobs>,
    passed: Knobs,
}

/// How much may be asked for in all: as the plan says, and how long its warm-up is, which is in neither; and what a key
/// costs.
#[derive(Debug, Clone, Copy)]
struct Limits {
    requests: Option<Requests>,
    length: Option<Duration>,
    warmup: Option<Duration>,
    key_overhead: u64,
}

impl Caution {
    /// That of a session which is to do this.
    pub fn new(commission: &Commission) -> Self {
        let &Commission { is_allowed, is_attended, danger, warmup, .. } = commission;
        let (requests, length) = (commission.plan.requests, commission.plan.length);
        let key_overhead = commission.plan.target.dialect.key_overhead();
        let announced: Vec<_> = commission.settings.iter().chain([&commission.knobs]).cloned().collect();
        Self {
            danger,
            room: RoomWatch::default(),
            limits: Limits { requests, length, warmup, key_overhead },
            is_off: is_allowed && !is_attended,
            // What the command line says was said yes to with it.
            accepted: if is_allowed { announced.clone() } else { Vec::new() },
            announced,
            passed: Knobs { load: false, ..commission.knobs.clone() },
        }
    }

    /// Takes the next record of what is measured.
    pub fn push(&mut self, record: &Record) {
        self.room.push(record);
    }

    /// Takes what was found before the first write.
    pub fn survey(&mut self, survey: &Survey) {
        self.room.survey(survey);
    }

    /// What could happen under these knobs, or under what is known to come, if that is more than was allowed.
    pub fn harm(&self, wanted: Option<&Knobs>) -> Option<String> {
        if self.is_off {
            return None;
        }
        wanted.into_iter().chain(&self.announced).find_map(|to| self.harm_of(to))
    }

    fn harm_of(&self, to: &Knobs) -> Option<String> {
        let (to, room) = (self.limits.demand(to), self.room.room());
        let mut harm = None;
        for from in self.accepted.iter().chain([&self.passed]) {
            // What is no more than one of those that were allowed is allowed, too.
            harm = Some((self.danger)(&Change { from: self.limits.demand(from), to, room })?);
        }
        harm
    }

    /// These knobs take effect.
    pub fn pass(&mut self, knobs: &Knobs) {
        self.announced.clear();
        self.passed.clone_from(knobs);
    }

    /// A person said yes to these knobs, and to what is known to come.
    pub fn accept(&mut self, wanted: Option<&Knobs>) {
        self.accepted.extend(wanted.cloned().into_iter().chain(self.announced.drain(..)));
    }

    /// A person said no: what was to come is asked about when it comes.
    pub fn decline(&mut self) {
        self.announced.clear();
    }
}

impl Limits {
    /// What may be sent under these knobs.
    fn demand(self, knobs: &Knobs) -> Demand<'_> {
        let due =
            |length: Duration| knobs.rate.map(|rate| (f64::from(rate) * length.as_secs_f64()).ceil() as u64);
        let by_number = self.requests.map(|(Requests::InAll(n) | Requests::Parted(n))| n);
        let measured = by_number.into_iter().chain(self.length.and_then(due)).min();
        let warmup = self.warmup.map_or(Some(0), due);
        Demand {
            knobs,
            requests: measured.zip(warmup).map(|(measured, warmup)| measured.saturating_add(warmup)),
            key_overhead: self.key_overhead,
        }
    }
}
