//! The current setting of the load workers, and how it changes when the user changes a knob.

use std::sync::Arc;

use super::{
    LoadPlan,
    fleet::{AgentPhase, AgentSetting},
    phase::{Phase, PrefillRun, Stops},
    quota::Quota,
};
use crate::{
    clock::Clock,
    knobs::{Knobs, RandomLength},
    protocol::Dialect,
    workload::{Program, Share, Workload},
};

/// The workers' current setting.
#[derive(Debug, Clone)]
pub(super) struct LoadSetting {
    /// The number of the segment. Each change of the knobs increases this number by 1.
    pub(super) generation: u32,
    pub(super) knobs: Knobs,
    /// The time when the knobs took effect, in ns.
    pub(super) since_ns: u64,
    /// The clock of this process minus the clock of the session, in ns. The difference is 0 except at an agent.
    pub(super) slip_ns: i64,
    /// The phase of the load, and the conditions that end the phase.
    pub(super) phase: Phase,
    /// The program that generates the requests. Building a program may take 0.1 s, so the thread that changes the knobs
    /// builds it.
    pub(super) program: Arc<Program>,
    /// The workloads whose prefill is done.
    pub(super) filled: Vec<Arc<Workload>>,
}

impl LoadSetting {
    /// Returns how many requests a client writes before it waits for the replies.
    #[inline]
    pub(super) fn pipeline(&self) -> u32 {
        self.phase.prefill().map_or(self.knobs.pipeline, |filling| filling.pipeline)
    }

    /// Returns how many replies a client gets before it opens a new connection, or `None` during a prefill.
    #[inline]
    pub(super) fn reconnect(&self) -> Option<u32> {
        self.knobs.reconnect.filter(|_| self.phase.prefill().is_none())
    }

    /// Returns how long a client pauses between its batches, or `None` during a prefill.
    #[inline]
    pub(super) fn think(&self) -> Option<RandomLength> {
        self.knobs.think.filter(|_| self.phase.prefill().is_none())
    }

    /// Returns how long a client's sessions last, or `None` during a prefill.
    #[inline]
    pub(super) fn session_length(&self) -> Option<RandomLength> {
        self.knobs.session_length.filter(|_| self.phase.prefill().is_none())
    }

    /// Returns whether the current prefill continues with `knobs`. The prefill continues if the keys and
    /// their values stay the same.
    fn continues_prefill(&self, knobs: &Knobs) -> bool {
        let is_same =
            self.knobs.keyspace == knobs.keyspace && has_same_prefill(&self.knobs.workload, &knobs.workload);
        self.phase.prefill().is_some() && is_same
    }

    /// Returns the phase after a change to `knobs` at `since_ns`. Also returns the workloads whose prefill is done by
    /// then. `is_filled` says whether the current prefill is done.
    pub(super) fn phase_for(
        &self,
        knobs: &Knobs,
        since_ns: u64,
        (stops, dialect): (&Stops, Dialect),
        is_filled: bool,
    ) -> (Phase, Vec<Arc<Workload>>) {
        let mut filled = self.filled.clone();
        let goes_on_waiting = !knobs.load && matches!(self.phase, Phase::Waiting { .. });
        if goes_on_waiting || self.continues_prefill(knobs) && !is_filled {
            return (self.phase.clone(), filled);
        }
        if is_filled {
            filled.push(Arc::clone(&self.knobs.workload));
        }
        let phase = self.phase.without_prefill(since_ns).at(since_ns, stops);
        (fill_first(phase, (knobs, dialect), since_ns, &filled), filled)
    }

    /// Returns this setting without `workload` among the workloads whose prefill is done. The keys of `workload` are
    /// then written again.
    pub(super) fn forgetting(mut self, workload: &Workload) -> Self {
        self.filled.retain(|other| !has_same_prefill(workload, other));
        self
    }

    /// Returns the program that generates the requests for `knobs` in `phase`. If the change does not affect the
    /// requests, the function returns the current program. A new program reuses unchanged values.
    pub(super) fn program_for(
        &self,
        knobs: &Knobs,
        plan: &LoadPlan,
        phase: &Phase,
        clock: Clock,
    ) -> Arc<Program> {
        let clients = |knobs: &Knobs| knobs.workload.depends_on_clients().then_some(knobs.clients);
        let asks =
            |knobs: &Knobs| (knobs.value_size, knobs.keyspace, clients(knobs), Arc::clone(&knobs.workload));
        let is_same_phase = phase.prefill().is_some() == self.phase.prefill().is_some();
        if is_same_phase && asks(knobs) == asks(&self.knobs) {
            return Arc::clone(&self.program);
        }
        let values = self.program.values().again(&knobs.workload, knobs.value_size);
        Arc::new(plan.program(knobs, phase, values, clock).after(&self.program))
    }

    /// Returns this setting in the form in which it is sent to agents.
    pub(super) fn for_agents(&self) -> AgentSetting {
        let phase = match &self.phase {
            Phase::Prefill { filling: PrefillRun { since_ns, pipeline, .. }, .. } => {
                AgentPhase::Prefill { since_ns: *since_ns, pipeline: *pipeline }
            }
            Phase::Waiting { .. } => AgentPhase::Load { is_measured: false, until_ns: u64::MAX },
            phase => AgentPhase::Load { is_measured: !phase.is_warmup(), until_ns: phase.load_ends_ns() },
        };
        AgentSetting {
            generation: self.generation,
            since_ns: self.since_ns,
            knobs: self.knobs.clone(),
            phase,
        }
    }

    /// Returns the phase of an agent after the agent has changed from this setting to the new setting `turn`.
    /// `share` is the agent's share of the load.
    pub(super) fn followed_by(&self, turn: &AgentSetting, share: Share, stops: &Stops) -> Phase {
        let quota = stops.quota.clone();
        match turn.phase {
            AgentPhase::Prefill { since_ns, pipeline } => {
                let goes_on = |filling: &&PrefillRun| filling.since_ns == since_ns;
                let filling = self.phase.prefill().filter(goes_on).cloned().unwrap_or_else(|| {
                    let requests = turn.knobs.workload.prefill_requests(turn.knobs.keyspace);
                    PrefillRun { quota: Quota::new(share.part(requests)), pipeline, since_ns }
                });
                Phase::Prefill { filling, then: Box::new(Phase::Measured { until_ns: None, quota }) }
            }
            AgentPhase::Load { is_measured: false, .. } => Phase::WarmUp { until_ns: u64::MAX },
            AgentPhase::Load { until_ns, .. } => {
                Phase::Measured { until_ns: Some(until_ns).filter(|until_ns| *until_ns < u64::MAX), quota }
            }
        }
    }

    /// Creates a setting with the default knobs.
    #[cfg(test)]
    pub(super) fn fixture(generation: u32) -> Self {
        let knobs = Knobs::default();
        let program = super::testing::program();
        let phase = Phase::Measured { until_ns: None, quota: None };
        Self { generation, knobs, since_ns: 0, slip_ns: 0, phase, program, filled: Vec::new() }
    }
}

/// Returns whether both workloads have the same prefill: the same keys with the same values.
fn has_same_prefill(one: &Workload, other: &Workload) -> bool {
    one.prefill == other.prefill && one.keys == other.keys
}

/// Returns a prefill that is followed by `phase`, or `phase` itself if `knobs` need no prefill.
pub(super) fn fill_first(
    phase: Phase,
    (knobs, dialect): (&Knobs, Dialect),
    since_ns: u64,
    filled: &[Arc<Workload>],
) -> Phase {
    let workload = &knobs.workload;
    let is_filled = || filled.iter().any(|other| has_same_prefill(workload, other));
    if !knobs.load || workload.prefill.is_empty() || matches!(phase, Phase::Ended { .. }) || is_filled() {
        return phase;
    }
    let quota = Quota::new(workload.prefill_requests(knobs.keyspace));
    let filling = PrefillRun { quota, pipeline: prefill_pipeline(knobs, dialect), since_ns };
    Phase::Prefill { filling, then: Box::new(phase) }
}

/// Returns `phase` and `knobs`, usually unchanged. If the load is on and needs receivers or agents (`is_led`), the load
/// must first wait for the receivers or agents. A prefill does not wait. If there is a wait, the returned phase is the
/// wait, and `phase` follows the wait. The load is off in the returned knobs.
pub(super) fn receive_first(phase: Phase, knobs: Knobs, since_ns: u64, is_led: bool) -> (Phase, Knobs) {
    let waits = is_led || knobs.workload.receiver_count().is_some();
    if !knobs.load || !waits || phase.prefill().is_some() {
        return (phase, knobs);
    }
    (Phase::Waiting { since_ns, then: Box::new(phase) }, Knobs { load: false, ..knobs })
}

/// How many requests a client writes in a prefill before it waits for the replies. If the user's pipeline is deeper,
/// the prefill uses the user's pipeline.
const PREFILL_PIPELINE: u64 = 16;
/// The largest total size of the values in a batch of a prefill, in bytes.
const PREFILL_BATCH: u64 = 1 << 20;

/// Returns the pipeline of a client during a prefill. An HTTP server may close a connection after any reply. Later
/// requests on this connection are then lost.
fn prefill_pipeline(knobs: &Knobs, dialect: Dialect) -> u32 {
    if !dialect.has_keys() {
        return knobs.pipeline;
    }
    let values = knobs.workload.most_value_bytes(knobs.value_size).max(1);
    ((PREFILL_BATCH / values).clamp(1, PREFILL_PIPELINE) as u32).max(knobs.pipeline)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Distribution;

    #[test]
    fn a_change_of_the_knobs_builds_only_the_changed_parts_again() {
        let setting = LoadSetting::fixture(1);
        let knobs = setting.knobs.clone();
        let plan = LoadPlan::fixture();
        let phase = setting.phase.clone();
        let program_for = |knobs| setting.program_for(&knobs, &plan, &phase, Clock::start());
        let same = program_for(Knobs { clients: 200, pipeline: 16, ..knobs.clone() });
        assert!(Arc::ptr_eq(&same, &setting.program));
        let fewer_keys = program_for(Knobs { keyspace: 5, ..knobs.clone() });
        assert!(fewer_keys.values().shares_pools(setting.program.values()));
        let larger = program_for(Knobs { value_size: 64, ..knobs });
        assert!(!larger.values().shares_pools(setting.program.values()));
    }

    #[test]
    fn partitioned_keys_are_divided_again_when_the_number_of_clients_changes() {
        let setting = LoadSetting::fixture(1);
        let workload = setting.knobs.workload.with_distribution(Distribution::Partitioned);
        let knobs = Knobs { workload, ..setting.knobs.clone() };
        let program = setting.program_for(&knobs, &LoadPlan::fixture(), &setting.phase, Clock::start());
        let setting = LoadSetting { knobs: knobs.clone(), program, ..setting };
        let more = Knobs { clients: 200, ..knobs };
        let more = setting.program_for(&more, &LoadPlan::fixture(), &setting.phase, Clock::start());
        assert!(!Arc::ptr_eq(&more, &setting.program));
    }
}
