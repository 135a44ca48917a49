//! Checks whether load settings may harm the server. The checks include the settings that a user requests, and the
//! settings that an experiment has announced. Settings that the user has allowed are skipped.

use std::time::Duration;

use super::{
    Commission,
    capacity::{CapacityWatch, Demand, LoadChange},
    danger::danger,
    holders::Holders,
};
use crate::{knobs::Knobs, load::RequestLimit, server::Survey, session::Record};

/// The allowed load settings and the state of the servers, for checks of other settings.
pub(super) struct Caution {
    pub room: CapacityWatch,
    limits: WriteLimits,
    /// Whether the checks are off. The checks are off if the command line allows everything, and no user can change
    /// settings later.
    is_off: bool,
    /// The announced settings for which the user has not been asked yet.
    announced: Vec<Knobs>,
    /// The settings that the user has allowed, and the settings that took effect last.
    accepted: Vec<Knobs>,
    passed: Knobs,
}

/// The limits of a load: the number of requests, the time under load, the warm-up, and the memory overhead of a key.
/// From these limits, redyno computes the amount of written data.
#[derive(Debug, Clone, Copy)]
struct WriteLimits {
    requests: Option<RequestLimit>,
    length: Option<Duration>,
    warmup: Option<Duration>,
    key_overhead: u64,
    is_service: bool,
}

impl Caution {
    /// Returns the state at the start of a session.
    pub fn new(commission: &Commission) -> Self {
        let &Commission { is_allowed, is_attended, warmup, .. } = commission;
        let (requests, length) = (commission.plan.requests, commission.plan.length);
        let target = &commission.plan.target;
        let key_overhead = target.dialect.key_overhead();
        let is_service = std::iter::once(target)
            .chain(&commission.others)
            .any(|target| !target.dialect.has_keys() && !target.address.is_loopback());
        let announced: Vec<_> = commission.settings.iter().chain([&commission.knobs]).cloned().collect();
        Self {
            room: CapacityWatch::default(),
            limits: WriteLimits { requests, length, warmup, key_overhead, is_service },
            is_off: is_allowed && !is_attended,
            // --yes applies to the settings of the command line.
            accepted: if is_allowed { announced.clone() } else { Vec::new() },
            announced,
            passed: Knobs { load: false, ..commission.knobs.clone() },
        }
    }

    /// Adds the next record of node `number`. `holders` are the servers that store keys of the load now.
    pub fn push(&mut self, number: u16, record: &Record, holders: &Holders) {
        self.room.push(number, record, |number| holders.has(number));
    }

    /// Adds the results of the survey of the servers' data.
    pub fn survey(&mut self, surveys: &[(u16, Survey)]) {
        self.room.survey(surveys);
    }

    /// Returns a description of the harm that the requested or announced settings may do. Returns `None` if there is no
    /// harm, or if the user has allowed these settings.
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
            // If a larger setting was allowed, this setting is allowed too.
            harm = Some(danger(&LoadChange { from: self.limits.demand(from), to, room })?);
        }
        harm
    }

    /// Records that these load settings take effect.
    pub fn pass(&mut self, knobs: &Knobs) {
        self.announced.clear();
        self.passed.clone_from(knobs);
    }

    /// Records that the user has allowed these load settings and the announced settings.
    pub fn accept(&mut self, wanted: Option<&Knobs>) {
        self.accepted.extend(wanted.cloned().into_iter().chain(self.announced.drain(..)));
    }

    /// Records that the user has refused. The session then asks about each announced setting only when the setting is
    /// about to begin.
    pub fn decline(&mut self) {
        self.announced.clear();
    }
}

impl WriteLimits {
    /// Returns these load settings with the largest number of requests that may be sent with them.
    fn demand(self, knobs: &Knobs) -> Demand<'_> {
        let due =
            |length: Duration| knobs.rate.map(|rate| (f64::from(rate) * length.as_secs_f64()).ceil() as u64);
        let by_number = self.requests.map(|(RequestLimit::Shared(n) | RequestLimit::PerClient(n))| n);
        let measured = by_number.into_iter().chain(self.length.and_then(due)).min();
        let warmup = self.warmup.map_or(Some(0), due);
        Demand {
            knobs,
            requests: measured.zip(warmup).map(|(measured, warmup)| measured.saturating_add(warmup)),
            key_overhead: self.key_overhead,
            is_service: self.is_service,
        }
    }
}
