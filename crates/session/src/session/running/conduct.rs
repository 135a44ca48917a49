//! Carries out the orders that the screen and experiments send to a running session, and checks the results.

use std::{
    sync::{Arc, mpsc::Receiver},
    time::Duration,
};

use super::{
    Commission, Notice, Order,
    following::{NodeChange, NodeSource},
    node::{SessionNode, measure},
    peer::Peers,
    ping_window::PingMedianWindow,
    recordings::Recordings,
    tuning::Wish,
};
use crate::{
    clock::{Clock, seconds},
    endpoint::Address,
    events::EventKind,
    knobs::Knobs,
    probe::LagPlan,
    server::Owner,
    session::{Live, Record, queue::Queue},
    signals::Signal,
    workload::KeyNames,
};

/// A running session.
pub(super) struct LiveSession {
    pub(super) commission: Commission,
    pub(super) live: Live,
    /// The nodes, in the order of their numbers.
    pub(super) nodes: Vec<SessionNode>,
    pub(super) records: Queue<Arc<Record>>,
    pub(super) recordings: Recordings,
    pub(super) clock: Clock,
    pub(super) peers: Peers,
    pub(super) signals: Receiver<Signal>,
    /// The owner of redyno's markers.
    pub(super) owner: Owner,
    pub(super) following: NodeSource,
    pub(super) pings: PingMedianWindow,
}

impl LiveSession {
    /// Handles records, replies and files, but no orders. If the session ends because a server refuses the load,
    /// returns the number of the server's node and the reason.
    pub(super) fn poll(&mut self) -> Option<(u16, String)> {
        self.live.settle();
        self.follow_nodes();
        self.look_at_nodes();
        self.begin_lag_probe();
        self.look_at_recording();
        let mut refused = Vec::new();
        while let Some(record) = self.records.next() {
            for node in &mut self.nodes {
                refused.extend(node.push(&record, &mut self.peers).map(|cause| (node.number, cause)));
            }
            self.pings.push(&record);
            self.following.push(&record);
            self.peers.record(&record);
        }
        for (node, cause) in &refused {
            self.live.event(*node, EventKind::LoadStopped { cause: cause.clone() });
            self.peers.send(*node, Notice::LoadStopped(cause.clone()));
        }
        if !refused.is_empty() {
            self.nodes.iter_mut().for_each(|node| node.gate.withdraw());
            self.live.stop_load();
        }
        refused.into_iter().next().filter(|_| !self.commission.is_attended)
    }

    /// Begins to measure servers that have joined, and reports servers that have left.
    fn follow_nodes(&mut self) {
        for news in self.following.news(self.nodes.len()) {
            match news {
                NodeChange::Joined(address) => {
                    if let Err(why) = self.try_to_join(&address) {
                        self.following = NodeSource::Nobody;
                        self.warn_of(&address, &why);
                    }
                }
                NodeChange::Full(address) => {
                    self.warn_of(&address, "the session already has the largest possible number of nodes");
                }
                NodeChange::Left(node, address) => {
                    self.report(node, EventKind::NodeLeft { address: address.to_string() });
                }
                NodeChange::Back(node, address) => {
                    self.report(node, EventKind::NodeBack { address: address.to_string() });
                }
            }
        }
    }

    fn report(&self, node: u16, what: EventKind) {
        if usize::from(node) < self.nodes.len() {
            self.live.event(node, what);
        }
    }

    /// Warns that a new node, and all nodes that join after it, are not measured.
    fn warn_of(&mut self, address: &Address, why: &str) {
        let text = format!("{address} has joined, but redyno does not watch it or any later node: {why}");
        self.peers.send(0, Notice::Warning(text));
    }

    fn try_to_join(&mut self, address: &Address) -> Result<(), String> {
        let target = self.commission.plan.target.at(address.clone()).map_err(|error| error.to_string())?;
        self.commission.watched.push(target.clone());
        let number = self.nodes.len() as u16; // below the limit of 128 nodes
        let first = Some(&*self.nodes[0].control);
        let measured = measure(&self.commission, number, &target, self.clock, first);
        let (control, beginning) = measured.map_err(|error| error.to_string())?;
        let controls: Vec<_> =
            self.nodes.iter().map(|node| &node.control).chain([&control]).cloned().collect();
        let node = SessionNode::new(number, &target, &controls, &self.commission, &self.owner)?;
        self.live.join(beginning).map_err(|error| error.to_string())?;
        self.nodes[0].holders.meet(number, control);
        self.nodes.push(node);
        self.live.pace_pings(self.commission.pings_per_s());
        Ok(())
    }

    /// Handles the events of all nodes. The user gets questions about one node at a time. redyno writes to no
    /// node before writing is allowed at all nodes.
    fn look_at_nodes(&mut self) {
        for node in &mut self.nodes {
            node.poll(&mut self.live, &mut self.peers);
            if node.gate.stage.is_asking() {
                return;
            }
        }
        if !self.nodes.iter().any(|node| node.gate.stage.is_undecided()) {
            for node in &mut self.nodes {
                let admission = node.gate.open(&mut node.holders);
                node.apply_admission(admission, &mut self.live, &mut self.peers);
            }
        }
    }

    pub(super) fn carry_out(&mut self, peer: usize, order: Order) {
        if let Err(why) = self.try_to(peer, &order) {
            self.peers.refuse(peer, order, why);
        }
    }

    fn try_to(&mut self, peer: usize, order: &Order) -> Result<(), String> {
        match order {
            Order::SetKnobs(knobs) | Order::Prefill(knobs) => {
                if let Some(why) = self.commission.refuses_load.as_ref().filter(|_| knobs.load) {
                    return Err(why.clone());
                }
                self.commission.check_clients(knobs)?;
                self.nodes.iter().filter(|node| !node.is_watched).try_for_each(|node| {
                    let spoken = knobs.workload.check_dialect(node.target.dialect, &node.gate.names);
                    spoken.map_err(|error| error.to_string())
                })?;
                self.set_knobs(knobs, matches!(order, Order::Prefill(_)));
            }
            Order::Carry(node) if usize::from(*node) < self.nodes.len() => self.live.carry(*node),
            Order::Carry(node) => return Err(format!("the session has no node {node}")),
            Order::SetConfig { parameter, to } => {
                for node in self.nodes.iter_mut().filter(|node| !node.is_watched) {
                    node.tuning.set(Wish { parameter, to: to.clone(), peer }, &node.control);
                }
            }
            Order::ScanKeys { node, way } => match self.nodes.get_mut(*node) {
                Some(node) => node.scan_keys(*way)?,
                None => return Err(format!("the session has no node {node}")),
            },
            Order::StopKeys => self.nodes.iter().for_each(|node| node.stop_keys(Duration::ZERO)),
            Order::RunIntrinsic(length) => self.live.intrinsic.run(*length),
            Order::StopIntrinsic => self.live.intrinsic.stop(),
            Order::GentleIntrinsic(on) => self.live.intrinsic.gentle(*on),
            Order::AllowWrites(yes) => self.answer(*yes),
            Order::Event(what) => self.live.event(0, what.clone()),
            Order::Mark(mark) => self.live.mark(mark),
            Order::StartRecording => {
                let now_s = seconds(self.clock.now_ns());
                let target = self.commission.plan.target.address.to_string();
                let listener = self.recordings.start_in(&self.commission.recordings_in, &target, now_s)?;
                self.live.listen(listener);
            }
            Order::StopRecording => self.recordings.stop()?,
            Order::Play { .. } | Order::Pause => {
                return Err("this session is live; only a recording can be played".to_owned());
            }
            Order::Refine(_) => {
                return Err("this session is live; only a recording can be read again".to_owned());
            }
            Order::End => {}
        }
        Ok(())
    }

    fn set_knobs(&mut self, knobs: &Knobs, fills: bool) {
        for node in self.nodes.iter_mut().filter(|node| !node.is_watched) {
            node.fills |= fills;
            node.request(knobs.clone(), &mut self.live);
        }
    }

    /// Handles the user's answer to the question about a node.
    fn answer(&mut self, yes: bool) {
        if let Some(node) = self.nodes.iter_mut().find(|node| node.gate.stage.is_asking()) {
            node.fills &= yes;
            node.gate.answer(yes);
        }
    }

    /// Starts the probe of the replicas' lag as soon as the probe may write.
    fn begin_lag_probe(&mut self) {
        let first = &self.nodes[0];
        if !self.commission.probes_lag || !first.gate.may_probe_lag(&first.holders) {
            return;
        }
        self.commission.probes_lag = false;
        let nodes: Vec<_> = self.nodes.iter().map(|node| node.target.clone()).collect();
        if nodes.len() == 1 {
            let text = "--probe-lag: no replica is known yet, so nothing is measured before one joins";
            self.peers.send(0, Notice::Warning(text.to_owned()));
        }
        let plan = LagPlan {
            cluster: self.commission.cluster().cloned(),
            names: KeyNames::of_run(self.commission.run),
            nodes,
        };
        if let Err(error) = self.live.probe_lag(plan) {
            self.peers.send(0, Notice::Warning(format!("the lag of replicas is not measured: {error}")));
        }
    }

    fn look_at_recording(&mut self) {
        let (notices, failed) = self.recordings.poll();
        notices.into_iter().for_each(|notice| self.peers.send(0, notice));
        failed.into_iter().for_each(|event| self.live.event(0, event));
    }
}
