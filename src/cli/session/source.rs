//! A live session as a source: what the screen and the headless lines read, and what they turn.

use std::{
    collections::VecDeque,
    path::Path,
    sync::{Arc, mpsc::Receiver},
    time::Duration,
};

use super::{
    gate::{Gate, Verdict},
    recordings::Recordings,
    refusal::Refusals,
    tuning::{Told, Tuning},
};
use crate::{
    app::{Delivery, Effect, Notice, Refused, Source, value_words},
    clock::{Clock, seconds},
    happening::Happening,
    load::Knobs,
    server::{Answer, Control, Marker},
    session::{Live, Record},
    target::Address,
};

/// What an error reply MOVED means.
const OTHER_NODES: &str = "MOVED: this is one node of a cluster, and redyno talks to no other: requests for keys that \
    other nodes hold are errors and no operations, so all figures are those of this node's share of the keys";

/// A running session with the gate before its first write.
pub struct LiveSource {
    pub(super) live: Live,
    pub(super) control: Control,
    pub(super) gate: Gate,
    pub(super) refusals: Refusals,
    /// The most clients that the system's limit of open files lets this process hold.
    pub(super) most_clients: u32,
    pub(super) tuning: Tuning,
    pub(super) address: Address,
    pub(super) records: Receiver<Arc<Record>>,
    pub(super) recordings: Recordings,
    pub(super) leftovers: Option<Answer<Vec<Marker>>>,
    pub(super) clock: Clock,
    /// Whether what was asked for is done, and that was told.
    pub(super) is_over: bool,
    /// Whether it was told that other nodes of a cluster hold a part of the keys.
    pub(super) is_cluster_told: bool,
    /// What is to be told at the next poll.
    pub(super) notices: VecDeque<Notice>,
}

impl LiveSource {
    fn set_knobs(&mut self, knobs: Knobs) {
        match self.gate.want(knobs.clone(), &self.control) {
            Some(knobs) => self.live.turn(knobs),
            // What is wanted is allowed, and holds as soon as the marker tells of it.
            None if self.gate.is_extending() => {}
            // Whatever waits at the gate, the load that runs now does not go on with what is no longer wanted.
            None => self.live.turn(Knobs { load: false, ..knobs }),
        }
    }

    /// Turns the load off where the server refuses it.
    fn look_for_refusal(&mut self, record: &Record) {
        if let Some(cause) = self.refusals.push(record) {
            self.live.event(Happening::LoadStopped { cause: cause.clone() });
            self.gate.withdraw();
            self.live.stop_load();
            self.notices.push_back(Notice::LoadStopped(cause));
        }
    }

    fn look_at_gate(&mut self) {
        let verdict = self.gate.look(Duration::ZERO, &self.control);
        self.obey(verdict);
    }

    fn obey(&mut self, verdict: Option<Verdict>) {
        match verdict {
            Some(Verdict::Pass(knobs)) => self.live.turn(knobs),
            Some(Verdict::Ask(question)) => self.notices.push_back(Notice::FirstWrite { question }),
            Some(Verdict::Refuse(cause)) => {
                self.notices.push_back(Notice::LoadStaysOff(cause));
            }
            None => {}
        }
    }

    fn look_at_tuning(&mut self) {
        for told in self.tuning.look(Duration::ZERO, &self.control) {
            self.notices.push_back(match told {
                Told::Set(change) => {
                    let text = format!(
                        "{} is {}; the old value comes back at the end",
                        change.name,
                        value_words(&change.to)
                    );
                    self.live.retuned(change);
                    Notice::Info(text)
                }
                Told::Warning(why) => Notice::Warning(why),
            });
        }
    }

    fn look_for_leftovers(&mut self) {
        let Some(found) = self.leftovers.as_ref().and_then(|answer| answer.wait(Duration::ZERO)) else {
            return;
        };
        self.leftovers = None;
        // Where it could not be found out, the survey before the first write or `redyno clean` will.
        for marker in found.unwrap_or_default() {
            self.notices.push_back(Notice::Info(format!("{} {}", marker.owner, marker.left())));
        }
    }

    fn look_at_recording(&mut self) {
        let (notices, failed) = self.recordings.look();
        self.notices.extend(notices);
        if let Some(error) = failed {
            self.live.event(Happening::RecordingFailed { cause: error.to_string() });
        }
    }

    /// What a record means for the person at the screen, beside itself.
    fn notice(&mut self, record: &Record) -> Option<Notice> {
        match record {
            Record::Event(event) => match &event.what {
                Happening::Unreachable { cause } => {
                    Some(Notice::Unreachable { since_s: event.t_s, cause: cause.clone() })
                }
                Happening::Reachable => Some(Notice::Reachable),
                Happening::FirstError { error, .. } => self.of_cluster(error),
                _ => None,
            },
            // It answers: a load that was wanted while it did not can be looked into now.
            Record::Server(_) => {
                self.gate.retry(&self.control);
                None
            }
            _ => None,
        }
    }
}

impl LiveSource {
    /// What it means that a node of a cluster does not hold a key, told once.
    fn of_cluster(&mut self, error: &str) -> Option<Notice> {
        if self.is_cluster_told || error != "MOVED" {
            return None;
        }
        self.is_cluster_told = true;
        Some(Notice::Warning(OTHER_NODES.to_owned()))
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

impl Source for LiveSource {
    fn poll(&mut self) -> Vec<Delivery> {
        self.live.settle();
        self.look_at_gate();
        self.look_at_tuning();
        self.look_for_leftovers();
        self.look_at_recording();
        let mut deliveries = Vec::new();
        while let Ok(record) = self.records.try_recv() {
            self.look_for_refusal(&record);
            deliveries.extend(self.notice(&record).map(Delivery::Notice));
            deliveries.push(Delivery::Record(record));
        }
        if !self.is_over && self.live.is_over() {
            self.notices.push_back(Notice::Leave);
            self.is_over = true;
        }
        deliveries.extend(self.notices.drain(..).map(Delivery::Notice));
        deliveries
    }

    fn apply(&mut self, effect: &Effect) -> Result<(), Refused> {
        match effect {
            Effect::SetKnobs(knobs) => {
                check_clients(knobs, self.most_clients).map_err(Refused)?;
                self.set_knobs(knobs.clone());
            }
            Effect::SetConfig(setting) => self.tuning.set(setting, &self.control),
            Effect::RunIntrinsic(length) => self.live.intrinsic().run(*length),
            Effect::StopIntrinsic => self.live.intrinsic().stop(),
            Effect::GentleIntrinsic(on) => self.live.intrinsic().gentle(*on),
            Effect::AllowWrites(yes) => {
                let verdict = self.gate.answer(*yes, &self.control);
                self.obey(verdict);
            }
            Effect::Mark { t_s, text } => self.live.mark(*t_s, text.clone()),
            Effect::StartRecording => {
                let now_s = seconds(self.clock.now_ns());
                let listener = self.recordings.start_in(Path::new("."), now_s).map_err(Refused)?;
                self.live.listen(listener);
            }
            Effect::StopRecording => self.recordings.stop().map_err(Refused)?,
            Effect::Play { .. } | Effect::Pause => {
                return Err(Refused("only a recording plays; this is measured live".to_owned()));
            }
            Effect::Suspend | Effect::Quit | Effect::Save(_) | Effect::Copy(_) | Effect::Theme(_) => {}
        }
        Ok(())
    }
}
