//! One node of a session: its control plane, the steps before its first write, and its events.

use std::{
    io,
    sync::{Arc, mpsc::channel},
    time::Duration,
};

use super::{
    Commission, HolderReplies, KeyOwner, Notice, Order,
    fill::PrefillWatch,
    gate::WriteGate,
    holders::Holders,
    peer::Peers,
    refusal::Refusals,
    stage::Admission,
    tuning::{SetOutcome, Tuning, Wish},
};
use crate::{
    clock::Clock,
    endpoint::Target,
    events::EventKind,
    knobs::Knobs,
    load::LoadPlan,
    server::{
        Control, KeyExamination, KeyMethod, KeyState, Ledger, Marker, Owner, leftover_lines, merged_by_run,
    },
    session::{Live, Record, TargetSettings},
};

/// The warning about MOVED replies.
const OTHER_NODES: &str = "MOVED: the load goes to this node of the cluster only. Requests for keys of other nodes \
    are counted as errors, so the load's results cover only this node's keys; without --one-node, redyno loads \
    all nodes";

/// Starts the control plane of a node, on the thread of the control plane `first` or on a new thread. Also returns the
/// settings for measuring the node.
///
/// # Errors
/// Fails if the system cannot create the thread.
pub(super) fn measure(
    commission: &Commission,
    number: u16,
    target: &Target,
    clock: Clock,
    first: Option<&Control>,
) -> io::Result<(Arc<Control>, TargetSettings)> {
    let (news, server) = channel();
    let control = Control::beside(first, target.clone(), clock, commission.poll_every(number), news)?;
    let cluster = commission.cluster_plan(number);
    let plan = LoadPlan { target: target.clone(), cluster, ..commission.plan.clone() };
    let carries = commission.carrier.is_none_or(|carrier| carrier == number);
    let knobs = Knobs { load: false, ..commission.knobs.clone() };
    let (is_watched, pings_per_s) = (commission.is_watched(number), commission.pings_per_s());
    let (heard, fleet) = (None, None);
    let beginning = TargetSettings { plan, knobs, heard, server, fleet, carries, is_watched, pings_per_s };
    Ok((Arc::new(control.redacting(commission.redacts)), beginning))
}

/// A node: a measured server, and the steps before redyno's first write to this server.
pub(super) struct SessionNode {
    /// The number of the node, from 0.
    pub(super) number: u16,
    pub(super) target: Target,
    pub(super) control: Arc<Control>,
    /// The servers that store the keys of the node's load.
    pub(super) holders: Holders,
    pub(super) gate: WriteGate,
    pub(super) refusals: Refusals,
    pub(super) tuning: Tuning,
    /// Whether the node is only watched. Such a node never gets load.
    pub(super) is_watched: bool,
    /// Whether the node could not be reached before the session began.
    pub(super) is_unreachable: bool,
    fill: PrefillWatch,
    /// Whether a prefill runs before the next load settings take effect.
    pub(super) fills: bool,
    leftovers: Option<HolderReplies<Vec<Marker>>>,
    /// The running scan of the keys, if there is one.
    keys: Option<KeyExamination>,
    /// Whether the keys are spread over the nodes of a cluster, or over several servers.
    is_spread: bool,
    /// Whether there is a screen to ask the user.
    is_attended: bool,
}

impl SessionNode {
    /// Returns node `number`. `controls` are the control planes of all nodes, and `owner` is written to redyno's
    /// marker.
    ///
    /// # Errors
    /// Fails if the control plane of another node in the cluster cannot be started. The error is a message.
    pub(super) fn new(
        number: u16,
        target: &Target,
        controls: &[Arc<Control>],
        commission: &Commission,
        owner: &Owner,
    ) -> Result<Self, String> {
        let is_own = commission.keys == KeyOwner::OwnServers;
        let is_watched = commission.is_watched(number);
        let ledger = if is_own { Ledger::unmarked() } else { Ledger::new(commission.run, owner.clone()) };
        let control = Arc::clone(&controls[usize::from(number)]);
        // Replicas without a cluster get their keys from the primary.
        let cluster = commission.clusters.get(&number).filter(|cluster| !cluster.is_replication());
        let is_spread = cluster.is_some();
        let holders = match cluster {
            Some(cluster) => {
                let cluster = (Arc::clone(cluster), commission.numbering(number));
                let controls = (0..).zip(controls.iter().cloned()).collect();
                Holders::of_cluster(target, cluster, controls, commission.poll_every(number), ledger.clone())?
            }
            None => Holders::alone(number, target, Arc::clone(&control), ledger.clone()),
        };
        Ok(Self {
            number,
            target: target.clone(),
            // Markers of earlier runs are searched before redyno writes its own marker.
            leftovers: (!is_own && !is_watched)
                .then(|| holders.ask(|holder| holder.control.find_leftovers())),
            control,
            holders,
            gate: WriteGate::new(commission),
            refusals: Refusals::new(commission.keeps_going),
            tuning: Tuning::new(ledger),
            is_spread,
            is_watched,
            is_unreachable: commission.unreachable.is_some() && number == 0,
            fill: PrefillWatch::default(),
            keys: None,
            fills: false,
            is_attended: commission.is_attended,
        })
    }

    /// Handles the request of a peer (a screen or an experiment) for load settings.
    pub(super) fn request(&mut self, knobs: Knobs, live: &mut Live) {
        match self.gate.request(knobs.clone(), &mut self.holders) {
            Some(knobs) => self.turn(knobs, live),
            // The settings wait for the marker, the setup or the user's answer. The present load continues.
            None if self.gate.stage.keeps_load() => {}
            // The present load must stop, because its settings are no longer requested.
            None => live.set_knobs(self.number, Knobs { load: false, ..knobs }),
        }
    }

    /// Applies load settings that are allowed to take effect.
    fn turn(&mut self, knobs: Knobs, live: &mut Live) {
        match std::mem::take(&mut self.fills) {
            true => live.target(self.number).fill(knobs),
            false => live.set_knobs(self.number, knobs),
        }
    }

    /// Applies the result of the steps before the first write.
    pub(super) fn apply_admission(
        &mut self,
        admission: Option<Admission>,
        live: &mut Live,
        peers: &mut Peers,
    ) {
        match admission.map(|admission| admission.knobs(self.is_attended)) {
            Some(Ok(knobs)) => self.turn(knobs, live),
            Some(Err(notice)) => {
                if matches!(notice, Notice::LoadStaysOff(_)) {
                    // The previous load may have been running until now.
                    live.stop_load();
                }
                peers.send(self.number, notice);
            }
            None => {}
        }
    }

    /// Begins a scan of the keys.
    ///
    /// # Errors
    /// Fails if a scan of the keys is running already.
    pub(super) fn scan_keys(&mut self, way: KeyMethod) -> Result<(), String> {
        if self.keys.is_some() {
            return Err("a scan of the keys is running; stop it first".to_owned());
        }
        self.keys = Some(self.control.examine_keys(way));
        Ok(())
    }

    /// Stops the scan of the keys, and waits at most `limit` for its end.
    pub(super) fn stop_keys(&self, limit: Duration) {
        if let Some(look) = &self.keys {
            look.stop();
            drop((!limit.is_zero()).then(|| look.news(limit)));
        }
    }

    /// Handles the events of the node.
    pub(super) fn poll(&mut self, live: &mut Live, peers: &mut Peers) {
        if let Err(why) = self.holders.poll() {
            peers.send(self.number, Notice::Warning(why));
        }
        let admission = self.gate.poll(Duration::ZERO, &mut self.holders);
        self.apply_admission(admission, live, peers);
        self.look_at_tuning(live, peers);
        self.look_for_leftovers(peers);
        if let Some(seen) = self.keys.as_ref().and_then(|look| look.news(Duration::ZERO)) {
            self.keys.take_if(|_| seen.state != KeyState::Running);
            peers.send(self.number, Notice::Keys(Box::new(seen)));
        }
        let prefilled = self.fill.poll(self.number, live, &self.holders, &self.gate.names);
        if self.number == 0
            && let Err(cause) = live.look_at_recall(&self.target, &self.gate.names, self.is_spread)
        {
            live.event(self.number, EventKind::RecallUnmeasured { cause });
        }
        if let Some(prefilled) = prefilled.filter(|prefilled| !prefilled.is_whole()) {
            let text = format!("the prefill left keys out: {prefilled}; reads of these will miss");
            peers.send(self.number, Notice::Warning(text));
        }
    }

    fn look_at_tuning(&mut self, live: &mut Live, peers: &mut Peers) {
        for outcome in self.tuning.poll(Duration::ZERO, &self.control) {
            match outcome {
                SetOutcome::Set(change) => live.target(self.number).retuned(change),
                SetOutcome::Note(notice) => peers.send(self.number, notice),
                SetOutcome::NotSet(Wish { parameter, to, peer }, why) => {
                    peers.refuse(peer, Order::SetConfig { parameter, to }, why);
                }
            }
        }
    }

    fn look_for_leftovers(&mut self, peers: &mut Peers) {
        let Some(found) = self.leftovers.as_mut().and_then(|answers| answers.wait(Duration::ZERO)) else {
            return;
        };
        self.leftovers = None;
        // If the leftovers are unknown now, the survey before the first write or `redyno clean` finds them.
        let found = found.unwrap_or_default();
        let of = |number: Option<u16>| {
            let markers = found.iter().filter(|(of, _)| number.is_none_or(|number| number == *of));
            merged_by_run(markers.flat_map(|(_, markers)| markers.clone()))
        };
        let lines: Vec<String> = match self.holders.are_ring() {
            true => {
                self.holders.iter().flat_map(|it| leftover_lines(&of(Some(it.number)), &it.target)).collect()
            }
            false => leftover_lines(&of(None), &self.target),
        };
        for line in lines {
            peers.send(self.number, Notice::Info(line));
        }
    }

    /// Adds the next record. If the record shows that the server refuses the load, returns the reason.
    pub(super) fn push(&mut self, record: &Record, peers: &mut Peers) -> Option<String> {
        if let (Record::Server(_), Some(holder)) =
            (record, self.holders.iter().find(|holder| record.is_of(holder.number)))
        {
            self.gate.push(holder.number, record, &self.holders);
        }
        if !record.is_of(self.number) {
            return None;
        }
        let refused = self.refusals.push(record);
        if !matches!(record, Record::Server(_)) {
            self.gate.push(self.number, record, &self.holders);
        }
        self.fill.push(record);
        if let Some(notice) = self.notice(record) {
            peers.send(self.number, notice);
        }
        refused
    }

    /// Returns the notice that peers get about a record, if there is one.
    fn notice(&mut self, record: &Record) -> Option<Notice> {
        match record {
            Record::Event(event) => match &event.what {
                EventKind::FirstError { error, .. } if error == "MOVED" && !self.holders.is_cluster() => {
                    Some(Notice::Warning(OTHER_NODES.to_owned()))
                }
                _ => None,
            },
            // The server answers again, so a load that was requested during the outage can be checked now.
            Record::Server(_) => {
                self.gate.retry(&self.holders);
                None
            }
            _ => None,
        }
    }
}
