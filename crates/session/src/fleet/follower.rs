//! Runs an agent's share of a session's load, according to the orders of the session.

use std::{sync::Arc, time::Duration};

use super::{LoadLayout, Permit, clock_offset::SessionTime};
use crate::{
    clock::{Clock, SECOND_NS, seconds},
    endpoint::{Cluster, NodeOutage, Target},
    knobs::Knobs,
    load::{AgentPhase, AgentSetting, Load},
    session::{Lean, PauseWatch, Record, Segment, Sink, TargetRecords},
    workload::{KeyNames, Share},
};

/// The timeout for connecting to a node. The same timeout applies to the reply in which the node lists its
/// cluster.
const FIND_LIMIT: Duration = Duration::from_secs(1);

/// An agent's part in a running session.
pub(super) struct Follower {
    pub(super) clock: Clock,
    pub(super) time: SessionTime,
    pub(super) load: Load,
    pub(super) records: TargetRecords,
    pub(super) pauses: PauseWatch,
    pub(super) names: KeyNames,
    pub(super) target: Target,
    /// The servers that share the load, if there are several.
    pub(super) cluster: Option<Arc<Cluster>>,
    /// The last setting, and the reason if this agent refused it.
    pub(super) turn: Option<(AgentSetting, Result<(), String>)>,
    /// The number of workers.
    pub(super) threads: usize,
    pub(super) closed_tick: u64,
}

impl Follower {
    /// Returns the nodes of the cluster as URIs.
    pub(super) fn nodes(&self) -> Vec<String> {
        let topology = self.cluster.as_ref().map(|cluster| cluster.topology());
        let nodes = topology.iter().flat_map(|topology| topology.nodes());
        nodes.map(|(_, node)| node.address.uri(self.target.dialect)).collect()
    }

    /// Returns the last outage of each node, in times of the session.
    pub(super) fn outages(&self) -> Vec<Option<NodeOutage>> {
        let correction_ns = self.time.correction_ns();
        let outages = self.load.outages().all().into_iter();
        outages.map(|outage| outage.map(|outage| outage.later_by(correction_ns))).collect()
    }

    /// Applies a setting if it is new. If the setting is not permitted, the load is switched off and the reason is
    /// returned.
    pub(super) fn follow(&mut self, turn: AgentSetting, permit: &Permit, share: Share) -> Result<(), String> {
        let now = self.load.last_change().segment;
        if turn.generation < now {
            return Err(format!(
                "setting {} of the session arrived late: setting {now} is already in force",
                turn.generation
            ));
        }
        if let Some((last, followed)) = &self.turn
            && *last == turn
        {
            return followed.clone();
        }
        let checked = permit.check(&turn.knobs, &self.names, &self.target, (share, self.threads));
        let permitted = if checked.is_ok() { turn.clone() } else { self.without_load(&turn) };
        let own = permitted.later_by(-self.time.correction_ns());
        if own.since_ns > self.clock.now_ns() + SECOND_NS {
            return Err("the setting begins more than a second from now".to_owned());
        }
        self.load.follow(&own);
        if turn.generation > now {
            // The segment has only the number of the agent's own clients, because lost connections are
            // compared with this number.
            let clients = share.part(own.knobs.clients.into()) as u32;
            let knobs = Knobs { clients, ..own.knobs };
            self.records.begin_segment(Segment::new(seconds(own.since_ns), own.generation, knobs));
        }
        self.turn = Some((turn, checked.clone()));
        checked
    }

    /// Returns a setting with the load switched off, which replaces `refused`.
    fn without_load(&self, refused: &AgentSetting) -> AgentSetting {
        let last = self.turn.as_ref().map(|(turn, _)| turn.knobs.clone());
        let knobs = Knobs { load: false, ..last.unwrap_or_default() };
        let phase = AgentPhase::Load { is_measured: false, until_ns: u64::MAX };
        AgentSetting { knobs, phase, ..refused.clone() }
    }

    /// If the process was stopped and continued, reports this pause. Returns whether there was such a pause.
    pub(super) fn note_pause(&mut self) -> bool {
        let pause = self.pauses.look(self.clock.now_ns());
        if let Some(pause) = pause {
            self.records.pause(pause);
            self.records.report_pause(pause);
        }
        pause.is_some()
    }

    /// Waits until the load of the last setting has ended, but at most one second.
    pub(super) fn await_end(&self) {
        let since_ns = self.clock.now_ns();
        while !self.load.is_over() && self.clock.now_ns() < since_ns + SECOND_NS {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the new intervals and events as JSON lines. Their times are converted to times of the session.
    pub(super) fn take_lines(&mut self) -> Vec<String> {
        let correction_ns = self.time.correction_ns();
        let shift = |t_s: &mut f64| *t_s = (*t_s + correction_ns as f64 / SECOND_NS as f64).max(0.0);
        let ticks = self.time.correction_ticks();
        let mut lines = Vec::new();
        for mut record in self.records.take() {
            match &mut record {
                Record::Interval(interval) => {
                    shift(&mut interval.t_s);
                    interval.tick = interval.tick.saturating_add_signed(ticks);
                }
                Record::Event(event) => shift(&mut event.t_s),
                _ => continue,
            }
            lines.extend(Lean.push(&record));
        }
        self.closed_tick = self.records.complete_tick().saturating_add_signed(ticks);
        lines
    }
}

/// Returns the servers that share the load, if there are several. The first node that answers names the other nodes of
/// its cluster.
pub(super) fn find_cluster(targets: &[Target], layout: LoadLayout) -> Result<Option<Cluster>, String> {
    let find = |target: &Target| match layout {
        LoadLayout::Copies => Cluster::of_replication(target, FIND_LIMIT),
        _ => Cluster::find(target, FIND_LIMIT),
    };
    match layout {
        LoadLayout::Server => return Ok(None),
        LoadLayout::Ring => {
            return Cluster::of_ring(targets).map(Some).map_err(|error| error.to_string());
        }
        LoadLayout::Cluster | LoadLayout::Copies => {}
    }
    let mut failure = String::new();
    for target in targets {
        match find(target) {
            Ok(cluster) => return Ok(Some(cluster)),
            Err(error) => failure = error.to_string(),
        }
    }
    Err(failure)
}
