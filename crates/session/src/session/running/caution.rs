//! The settings that may do harm and were not allowed yet: the requested ones, and the ones that an experiment
//! announced.

use std::time::Duration;

use super::{
    Commission,
    room::{Change, Danger, Demand, RoomWatch},
};
use crate::{knobs::Knobs, load::Requests, server::Survey, session::Record};

/// The settings that were allowed, and the state of the server for checking others.
#[derive(Debug)]
pub(super) struct Caution {
    danger: Danger,
    room: RoomWatch,
    limits: Limits,
    /// Whether everything is allowed: on the command line, and without a user who could change settings later.
    is_off: bool,
    /// The settings that are known to come, until they were asked about.
    announced: Vec<Knobs>,
    /// The settings that the user has allowed, and those that passed last.
    accepted: Vec<Knobs>,
    passed: Knobs,
}

/// The limits of the plan: its number of requests, the length of its warm-up, and the memory cost of a key.
#[derive(Debug, Clone, Copy)]
struct Limits {
    requests: Option<Requests>,
    length: Option<Duration>,
    warmup: Option<Duration>,
    key_overhead: u64,
}

impl Caution {
    /// Returns the state for a session with this commission.
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
            // --yes applies to the settings of the command line.
            accepted: if is_allowed { announced.clone() } else { Vec::new() },
            announced,
            passed: Knobs { load: false, ..commission.knobs.clone() },
        }
    }

    /// Takes the next record.
    pub fn push(&mut self, record: &Record) {
        self.room.push(record);
    }

    /// Takes the results of the survey before the first write.
    pub fn survey(&mut self, survey: &Survey) {
        self.room.survey(survey);
    }

    /// Returns what could happen with these knobs or with announced settings, if that is more harm than was allowed.
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
            // A setting is also allowed if a larger one was allowed.
            harm = Some((self.danger)(&Change { from: self.limits.demand(from), to, room })?);
        }
        harm
    }

    /// Notes that these knobs take effect.
    pub fn pass(&mut self, knobs: &Knobs) {
        self.announced.clear();
        self.passed.clone_from(knobs);
    }

    /// Notes that the user allowed these knobs and the announced settings.
    pub fn accept(&mut self, wanted: Option<&Knobs>) {
        self.accepted.extend(wanted.cloned().into_iter().chain(self.announced.drain(..)));
    }

    /// Notes that the user refused: announced settings are asked about when they begin.
    pub fn decline(&mut self) {
        self.announced.clear();
    }
}

impl Limits {
    /// Returns the requests that may be sent with these knobs.
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
