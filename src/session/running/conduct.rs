//! What a running session does: it carries out the orders of its peers, and looks at what has come of them.

use std::{
    sync::{Arc, mpsc::Receiver},
    time::Duration,
};

use super::{
    Commission, Notice, Order,
    fill::Fill,
    gate::{Admission, Gate},
    peer::Peers,
    recordings::Recordings,
    refusal::Refusals,
    tuning::{SetOutcome, Tuning, Wish},
};
use crate::{
    clock::{Clock, seconds},
    events::EventKind,
    knobs::Knobs,
    server::{Answer, Control, Marker, left_behind, value_words},
    session::{Live, Record, queue::Queue},
    signals::Signal,
};

/// What an error reply MOVED means.
const OTHER_NODES: &str = "MOVED: this is one node of a cluster, and redyno talks to no other: requests for keys that \
    other nodes hold are errors and no operations, so all figures are those of this node's share of the keys";

/// A session that runs, with the gate before its first write.
pub(super) struct Running {
    pub(super) commission: Commission,
    pub(super) live: Live,
    pub(super) control: Control,
    pub(super) gate: Gate,
    pub(super) refusals: Refusals,
    pub(super) fill: Fill,
    /// Whether the keys are to be made anew with the next knobs that pass the gate.
    pub(super) fills: bool,
    pub(super) tuning: Tuning,
    pub(super) records: Queue<Arc<Record>>,
    pub(super) recordings: Recordings,
    pub(super) leftovers: Option<Answer<Vec<Marker>>>,
    pub(super) clock: Clock,
    pub(super) peers: Peers,
    pub(super) signals: Receiver<Signal>,
}

impl Running {
    /// Looks at everything that goes on by itself. Why the session must end, if the server refuses its load.
    pub(super) fn look(&mut self) -> Option<String> {
        self.live.settle();
        let admission = self.gate.look(Duration::ZERO, &self.control);
        self.obey(admission);
        self.look_at_tuning();
        self.look_for_leftovers();
        self.look_at_recording();
        self.look_at_fill();
        let mut refused = None;
        while let Some(record) = self.records.next() {
            refused = refused.or(self.look_for_refusal(&record));
            self.gate.push(&record);
            self.fill.push(&record);
            if let Some(notice) = self.notice(&record) {
                self.peers.tell(notice);
            }
            self.peers.record(&record);
        }
        if let Some(cause) = &refused {
            self.peers.tell(Notice::LoadStopped(cause.clone()));
        }
        refused.filter(|_| !self.commission.is_attended)
    }

    pub(super) fn carry_out(&mut self, peer: usize, order: Order) {
        if let Err(why) = self.try_to(peer, &order) {
            self.peers.refuse(peer, order, why);
        }
    }

    fn try_to(&mut self, peer: usize, order: &Order) -> Result<(), String> {
        match order {
            Order::SetKnobs(knobs) | Order::Prefill(knobs) => {
                check_clients(knobs, self.commission.most_clients)?;
                let (dialect, names) = (self.commission.plan.target.dialect, self.gate.names());
                knobs.workload.check_dialect(dialect, names).map_err(|error| error.to_string())?;
                self.fills |= matches!(order, Order::Prefill(_));
                self.set_knobs(knobs.clone());
            }
            Order::SetConfig { parameter, to } => {
                self.tuning.set(Wish { parameter, to: to.clone(), peer }, &self.control);
            }
            Order::RunIntrinsic(length) => self.live.intrinsic().run(*length),
            Order::StopIntrinsic => self.live.intrinsic().stop(),
            Order::GentleIntrinsic(on) => self.live.intrinsic().gentle(*on),
            Order::AllowWrites(yes) => {
                self.fills &= yes;
                let admission = self.gate.answer(*yes, &self.control);
                self.obey(admission);
            }
            Order::Tell(what) => self.live.event(what.clone()),
            Order::Mark(mark) => self.live.mark(mark),
            Order::StartRecording => {
                let now_s = seconds(self.clock.now_ns());
                let target = self.commission.plan.target.address.to_string();
                let listener = self.recordings.start_in(&self.commission.recordings_in, &target, now_s)?;
                self.live.listen(listener);
            }
            Order::StopRecording => self.recordings.stop()?,
            Order::Play { .. } | Order::Pause => {
                return Err("only a recording plays; this is measured live".to_owned());
            }
            Order::Refine(_) => {
                return Err("only a recording is read again; this is measured live".to_owned());
            }
            Order::End => {}
        }
        Ok(())
    }

    fn set_knobs(&mut self, knobs: Knobs) {
        match self.gate.want(knobs.clone(), &self.control) {
            Some(knobs) => self.turn(&knobs),
            // What is wanted is allowed, and holds as soon as the marker tells of it and its setup is run; or a person may say no.
            None if self.gate.keeps_load() => {}
            // Whatever waits at the gate, the load that runs now does not go on with what is no longer wanted.
            None => self.live.turn(&Knobs { load: false, ..knobs }),
        }
    }

    /// Turns to knobs that passed the gate.
    fn turn(&mut self, knobs: &Knobs) {
        match std::mem::take(&mut self.fills) {
            true => self.live.fill(knobs),
            false => self.live.turn(knobs),
        }
    }

    /// Turns the load off where the server refuses it.
    fn look_for_refusal(&mut self, record: &Record) -> Option<String> {
        let cause = self.refusals.push(record)?;
        self.live.event(EventKind::LoadStopped { cause: cause.clone() });
        self.gate.withdraw();
        self.live.stop_load();
        Some(cause)
    }

    fn obey(&mut self, admission: Option<Admission>) {
        match admission {
            Some(Admission::Pass(knobs)) => self.turn(&knobs),
            Some(Admission::Ask(question)) if self.commission.is_attended => {
                self.peers.tell(Notice::FirstWrite(question));
            }
            Some(Admission::Warn(question)) if self.commission.is_attended => {
                self.peers.tell(Notice::Danger(question));
            }
            Some(Admission::Ask(cause) | Admission::Warn(cause) | Admission::Refuse(cause)) => {
                // That of before may have gone on until now.
                self.live.stop_load();
                self.peers.tell(Notice::LoadStaysOff(cause));
            }
            None => {}
        }
    }

    fn look_at_tuning(&mut self) {
        for told in self.tuning.look(Duration::ZERO, &self.control) {
            match told {
                SetOutcome::Set(change) => {
                    let (name, value) = (&change.name, value_words(&change.to));
                    let text = format!("{name} is {value}; the old value comes back at the end");
                    self.live.target(0).retuned(change);
                    self.peers.tell(Notice::Info(text));
                }
                SetOutcome::Warning(why) => self.peers.tell(Notice::Warning(why)),
                SetOutcome::NotSet(Wish { parameter, to, peer }, why) => {
                    self.peers.refuse(peer, Order::SetConfig { parameter, to }, why);
                }
            }
        }
    }

    fn look_for_leftovers(&mut self) {
        let Some(found) = self.leftovers.as_ref().and_then(|answer| answer.wait(Duration::ZERO)) else {
            return;
        };
        self.leftovers = None;
        // Where it could not be found out, the survey before the first write or `redyno clean` will.
        for told in left_behind(&found.unwrap_or_default(), &self.commission.plan.target) {
            self.peers.tell(Notice::Info(told));
        }
    }

    fn look_at_recording(&mut self) {
        let (notices, failed) = self.recordings.look();
        notices.into_iter().for_each(|notice| self.peers.tell(notice));
        if let Some(error) = failed {
            self.live.event(EventKind::RecordingFailed { cause: error.to_string() });
        }
    }

    fn look_at_fill(&mut self) {
        let prefilled = self.fill.look(&mut self.live, &self.control, self.gate.names());
        if let Some(prefilled) = prefilled.filter(|prefilled| !prefilled.is_whole()) {
            let text = format!("the prefill left keys out: {prefilled}; reads of these will miss");
            self.peers.tell(Notice::Warning(text));
        }
    }

    /// What a record means for a person, beside itself.
    fn notice(&mut self, record: &Record) -> Option<Notice> {
        match record {
            Record::Event(event) => match &event.what {
                EventKind::Unreachable { cause } => {
                    // Whoever tells that tells its end, too.
                    self.commission.unreachable = None;
                    Some(Notice::Unreachable { since_s: event.t_s, cause: cause.clone() })
                }
                EventKind::Reachable => Some(Notice::Reachable),
                EventKind::FirstError { error, .. } if error == "MOVED" => {
                    Some(Notice::Warning(OTHER_NODES.to_owned()))
                }
                _ => None,
            },
            // It answers: a load that was wanted while it did not can be looked into now.
            Record::Server(_) => {
                self.gate.retry(&self.control);
                self.commission.unreachable.take().map(|_| Notice::Reachable)
            }
            _ => None,
        }
    }
}

/// Whether the system lets this process hold so many connections.
///
/// # Errors
/// Says how many it does, and what to do.
pub fn check_clients(knobs: &Knobs, most: u32) -> Result<(), String> {
    if knobs.clients <= most {
        return Ok(());
    }
    if most == 0 {
        return Err(
            "the limit of open files leaves no room for a client; raise it (ulimit -Hn, LimitNOFILE=)"
                .to_owned(),
        );
    }
    Err(format!(
        "{} clients are more than the {most} that the limit of open files allows; raise its hard limit \
         (ulimit -Hn, LimitNOFILE=), or ask for fewer",
        knobs.clients
    ))
}
