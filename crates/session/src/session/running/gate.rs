//! The gate is the steps before redyno's first write to a server.
//!
//! ```text
//! Shut ──► Surveying ──► Asking ──► Allowed ──► Marking ──► Preparing ──► Open ◄──► Extending, Preparing: more names
//!              └── nobody else there ──▲                                            than the marker has, another setup
//! ```
//! Each node with load has a gate for all servers with keys of its load (in a cluster: all primaries). redyno writes to
//! a node only after the user has answered all questions. A change of load settings waits at the gate if the new load
//! writes, or if its setup (commands that prepare the server) has not run. A load that may do harm waits until the user
//! agrees. Other changes apply at once.

mod setup;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, time::Duration};

use super::{
    Commission, HolderReplies, KeyOwner,
    caution::Caution,
    holders::{Holder, Holders},
    stage::{Admission, GateStage, modules, others},
};
use crate::{
    knobs::Knobs,
    probe::lag_keys,
    server::{Obstacle, Survey, Writes, with_letters},
    session::Record,
    workload::{KeyNames, KeySpan, Steps},
};

/// The gate of a node: the state of the steps before the first write.
pub(super) struct WriteGate {
    /// The present step.
    pub stage: GateStage,
    /// The load settings that wait at the gate.
    held: Option<Knobs>,
    /// Whether other load settings were requested while the marker was written or a setup ran. Such settings were not
    /// checked yet.
    is_changed: bool,
    /// Whether the command line allows everything (`--yes`).
    is_allowed: bool,
    /// The check for load settings that may do harm.
    pub caution: Caution,
    /// The next message to the peers, if there is one: a question about possible harm, or a refusal.
    unsent: Option<Admission>,
    /// The allowed commands that may write keys of other clients. `None` until any writes are allowed.
    pub(super) agreed: Option<BTreeSet<String>>,
    /// The reason why the last survey failed.
    trouble: Option<String>,
    /// Whether the server has keys.
    has_keys: bool,
    /// The names of the keys that the load uses.
    pub names: KeyNames,
    /// The key names of the lag probe; empty if the user has refused them.
    besides_load: KeySpan,
    seed: u64,
    pub(super) keys: KeyOwner,
    /// The setups that were run already.
    run: Vec<Steps>,
}

impl WriteGate {
    /// Returns the gate for the load of a commission.
    pub fn new(commission: &Commission) -> Self {
        let &Commission { keys, is_allowed, .. } = commission;
        Self {
            stage: if keys == KeyOwner::OwnServers { GateStage::Open } else { GateStage::Shut },
            held: None,
            is_changed: false,
            is_allowed,
            caution: Caution::new(commission),
            unsent: None,
            agreed: None,
            trouble: None,
            has_keys: commission.plan.target.dialect.has_keys(),
            names: commission.plan.names.clone(),
            besides_load: if commission.probes_lag { lag_keys() } else { KeySpan::default() },
            seed: commission.plan.seed,
            keys,
            run: Vec::new(),
        }
    }

    /// Adds the next record of node `number`, which is one of `holders`.
    pub fn push(&mut self, number: u16, record: &Record, holders: &Holders) {
        self.caution.push(number, record, holders);
    }

    /// Returns the waiting load settings if they may take effect. Otherwise prepares a question about harm.
    fn pass(&mut self) -> Option<Knobs> {
        if let Some(harm) = self.caution.harm(self.held.as_ref()) {
            self.unsent = Some(Admission::Warn(format!("{harm}. Continue?")));
            let before = std::mem::replace(&mut self.stage, GateStage::Shut);
            self.stage = GateStage::Warning(Box::new(before));
            return None;
        }
        self.let_pass()
    }

    fn let_pass(&mut self) -> Option<Knobs> {
        let knobs = self.held.take()?;
        self.caution.pass(&knobs);
        Some(knobs)
    }

    /// Withdraws questions and permissions about load settings that are no longer requested.
    fn take_back(&mut self) {
        if let GateStage::Warning(before) | GateStage::Allowed(before) = &mut self.stage {
            self.stage = std::mem::replace(before, GateStage::Shut);
            self.unsent = None;
        }
    }

    /// Closes the question about the first write, because nobody requests its settings any more.
    fn close_question(&mut self) {
        if matches!(self.stage, GateStage::Asking) {
            self.stage = GateStage::Shut;
        }
    }

    /// Returns whether this run's keys stay on the servers at the end. Returns `None` if the run cannot have written to
    /// `holders`.
    pub fn leaves_keys(&self, holders: &Holders) -> Option<bool> {
        match self.keys {
            KeyOwner::Runs { kept } if holders.have_keys() => Some(kept),
            _ => None,
        }
    }

    /// Handles the request of a peer (a screen or an experiment) for load settings. Returns the settings if
    /// they may take effect now. Otherwise, [`poll`](Self::poll) returns the settings later.
    pub fn request(&mut self, knobs: Knobs, holders: &mut Holders) -> Option<Knobs> {
        self.take_back();
        if let Err(error) = holders.check_keys(&knobs, self.keys) {
            self.close_question();
            (self.held, self.unsent) = (None, Some(Admission::Refuse(error)));
            return None;
        }
        let others = others(&knobs);
        if !self.writes(&knobs) && (modules(&knobs).is_empty() || self.keys == KeyOwner::OwnServers) {
            self.close_question();
            self.held = Some(knobs);
            return self.pass();
        }
        let is_agreed = self.keys == KeyOwner::OwnServers
            || self.notifications(&knobs).is_none()
                && self.agreed.as_ref().is_some_and(|agreed| others.is_subset(agreed));
        let surveyed = self.held.as_ref().map(|held| self.survey_parts(held));
        let is_other = self.held.as_ref() != Some(&knobs);
        let is_surveyed = surveyed.is_some_and(|surveyed| surveyed == self.survey_parts(&knobs));
        self.held = Some(knobs);
        match self.stage {
            GateStage::Open | GateStage::Extending(_) if !is_agreed => {
                self.stage = GateStage::Surveying(self.survey(holders));
            }
            GateStage::Open | GateStage::Extending(_) if self.caution.harm(self.held.as_ref()).is_some() => {
                return self.pass();
            }
            GateStage::Open | GateStage::Extending(_) => return self.advance(holders),
            // A question is about the settings that it names: other settings need another question.
            GateStage::Shut | GateStage::Asking => self.stage = GateStage::Surveying(self.survey(holders)),
            GateStage::Surveying(_) if !is_surveyed => {
                self.stage = GateStage::Surveying(self.survey(holders));
            }
            GateStage::Marking(_) | GateStage::Preparing(..) => self.is_changed |= is_other,
            _ => {}
        }
        None
    }

    /// Continues after the marker was written or a setup has run.
    fn proceed(&mut self, holders: &mut Holders) -> Option<Admission> {
        let passed = if std::mem::take(&mut self.is_changed) {
            self.stage = GateStage::Open;
            let knobs = self.held.take()?;
            self.request(knobs, holders)
        } else {
            self.advance(holders)
        };
        passed.map(Admission::Pass)
    }

    /// Returns the key names that may be written with these load settings.
    fn span(&self, knobs: &Knobs) -> KeySpan {
        let besides = self.besides_load.clone();
        if knobs.load && self.has_keys {
            KeySpan::written_by(&knobs.workload, knobs.keyspace).with(besides)
        } else {
            besides
        }
    }

    /// Returns whether the lag probe may write: its keys are allowed, and the markers contain these keys.
    pub fn may_probe_lag(&self, holders: &Holders) -> bool {
        let is_open =
            matches!(self.stage, GateStage::Open | GateStage::Extending(_) | GateStage::Preparing(..));
        let is_marked = self.keys == KeyOwner::OwnServers || holders.cover(&self.besides_load);
        is_open && is_marked && !self.besides_load.is_empty()
    }

    fn writes(&self, knobs: &Knobs) -> bool {
        !self.span(knobs).is_empty() || !others(knobs).is_empty() || self.missing_setup(knobs).is_some()
    }

    /// Returns the parts of a survey that depend on the load settings: the modules that their workload needs, and
    /// whether its setup changes the server's notifications.
    fn survey_parts(&self, knobs: &Knobs) -> (BTreeSet<String>, bool) {
        (modules(knobs), self.notifications(knobs).is_some())
    }

    /// Begins the survey of the servers' data and clients, and of the parts that the waiting settings need.
    fn survey(&self, holders: &Holders) -> HolderReplies<Survey> {
        let (modules, notifies) = self.held.as_ref().map(|held| self.survey_parts(held)).unwrap_or_default();
        let held = self.held.as_ref().filter(|_| matches!(self.keys, KeyOwner::Users { loaded: true, .. }));
        let loaded = held.map(|knobs| (self.span(knobs), self.names.clone()));
        holders.ask(|holder| holder.control.survey_for(modules.clone(), notifies, loaded.clone()))
    }

    /// Begins the next step for allowed load settings that wait. After the last step, returns the settings.
    fn advance(&mut self, holders: &mut Holders) -> Option<Knobs> {
        let was_open =
            matches!(self.stage, GateStage::Open | GateStage::Extending(_) | GateStage::Preparing(..));
        self.stage = GateStage::Open;
        let knobs = self.held.as_ref()?;
        self.agreed.get_or_insert_default().extend(others(knobs));
        if let Some(answer) = self.extend(&self.span(knobs), holders) {
            self.stage = if was_open { GateStage::Extending(answer) } else { GateStage::Marking(answer) };
            return None;
        }
        if let Some(setup) = self.missing_setup(knobs) {
            let (keyspace, value_size) = (knobs.keyspace, knobs.value_size);
            let in_cluster = holders.is_cluster();
            let run = holders.ask(|Holder { target, control, ledger, .. }| {
                let form = (target.dialect, &self.names);
                let commands = knobs.workload.setup_commands(form, keyspace, value_size, self.seed);
                control.set_up(commands, ledger, in_cluster)
            });
            self.stage = GateStage::Preparing(setup.clone(), run);
            return None;
        }
        self.let_pass()
    }

    /// Adds key names to the ledgers and the markers that do not contain them yet.
    fn extend(&self, span: &KeySpan, holders: &mut Holders) -> Option<HolderReplies<()>> {
        let KeyOwner::Runs { kept } = self.keys else { return None };
        holders.note(span, kept)
    }

    /// Continues with load settings that [are allowed](GateStage::is_allowed).
    pub fn open(&mut self, holders: &mut Holders) -> Option<Admission> {
        if !self.stage.is_allowed() {
            return None;
        }
        self.take_back();
        // Load settings without writes do not open the gate.
        let writes = self.held.as_ref().is_some_and(|knobs| self.writes(knobs));
        let passed = if writes { self.advance(holders) } else { self.let_pass() };
        passed.map(Admission::Pass)
    }

    /// Returns whether load settings wait because the survey failed. No step is running then.
    pub fn is_stuck(&self) -> bool {
        self.held.is_some() && matches!(self.stage, GateStage::Shut)
    }

    /// Returns the reason why the last survey failed, if it failed.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Discards the waiting load settings, with the question about them.
    pub fn withdraw(&mut self) {
        self.take_back();
        self.close_question();
        self.held = None;
    }

    /// Tries the failed step for the waiting load settings again.
    pub fn retry(&mut self, holders: &Holders) {
        if self.is_stuck() {
            self.stage = GateStage::Surveying(self.survey(holders));
        }
    }

    /// Waits at most `limit` for the present step, and returns its result. Each result is returned once.
    pub fn poll(&mut self, limit: Duration, holders: &mut Holders) -> Option<Admission> {
        if self.unsent.is_some() {
            return self.unsent.take();
        }
        match &mut self.stage {
            GateStage::Surveying(answer) => match answer.wait(limit)? {
                Ok(surveys) => self.handle_survey(surveys),
                Err(error) => {
                    // The settings keep waiting. The survey is repeated when the server recovers.
                    self.stage = GateStage::Shut;
                    self.trouble = Some(error.to_string());
                    error.is_answer().then(|| self.refuse(holders.with_permission(&error)))
                }
            },
            GateStage::Marking(answer) => match answer.wait(limit)? {
                Ok(_) => self.proceed(holders),
                Err(error) => {
                    holders.not_marked(&error);
                    Some(self.refuse(holders.with_permission(&error)))
                }
            },
            GateStage::Preparing(setup, answer) => {
                let outcome = answer.wait(limit)?;
                let setup = setup.clone();
                self.handle_setup(setup, outcome, holders)
            }
            // A refusal is reported by the control plane, which tries again with each poll.
            GateStage::Extending(answer) => {
                drop(answer.wait(limit)?);
                self.advance(holders).map(Admission::Pass)
            }
            GateStage::Shut
            | GateStage::Asking
            | GateStage::Warning(_)
            | GateStage::Allowed(_)
            | GateStage::Open => None,
        }
    }

    /// Handles the user's answer.
    pub fn answer(&mut self, yes: bool) {
        let before = match &mut self.stage {
            GateStage::Warning(before) => std::mem::replace(&mut **before, GateStage::Shut),
            GateStage::Asking => GateStage::Shut,
            _ => return,
        };
        self.unsent = None;
        if yes {
            self.caution.accept(self.held.as_ref());
            self.stage = GateStage::Allowed(Box::new(before));
        } else {
            self.caution.decline();
            self.held = None;
            self.besides_load = KeySpan::default();
            self.stage = before;
        }
    }

    fn handle_survey(&mut self, surveys: Vec<(u16, Survey)>) -> Option<Admission> {
        self.caution.survey(&surveys);
        let obstacle = surveys.iter().find_map(|(_, survey)| survey.obstacle());
        let Some(survey) = surveys.into_iter().map(|(_, survey)| survey).reduce(Survey::with) else {
            return Some(self.refuse("no node of the cluster is a primary".to_owned()));
        };
        let setup = self.held.as_ref().filter(|knobs| self.missing_setup(knobs).is_some());
        let letters = setup.and_then(|knobs| self.notifications(knobs));
        let letters = letters.filter(|letters| with_letters(&survey.notifications, letters).is_some());
        let mut names = setup.map(|knobs| knobs.workload.setup_names()).unwrap_or_default();
        for (name, letters) in names.iter_mut().filter(|name| *name == "CONFIG|SET").zip(letters) {
            *name += &format!(" (adds {letters} to notify-keyspace-events and sets it back at the end)");
        }
        let writes = Writes {
            names: self.names.clone(),
            is_users: matches!(self.keys, KeyOwner::Users { .. }),
            is_service: !self.has_keys,
            asks_always: matches!(self.keys, KeyOwner::Users { asks_always: true, .. }) || letters.is_some(),
            kept: self.keys == KeyOwner::Runs { kept: true },
            is_load: self.held.as_ref().is_some_and(|knobs| knobs.load),
            span: self.held.as_ref().map(|knobs| self.span(knobs)).unwrap_or_default(),
            others: self.held.iter().flat_map(others).collect(),
            setup: names,
        };
        // A load that only reads may also run on a replica.
        let stands_in_the_way =
            |obstacle: &Obstacle| !writes.is_nothing() || matches!(obstacle, Obstacle::Missing(..));
        if let Some(obstacle) = obstacle.filter(stands_in_the_way) {
            return Some(self.refuse(obstacle.to_string()));
        }
        if writes.is_nothing() {
            self.stage = GateStage::Shut;
            return self.pass().map(Admission::Pass);
        }
        let question = survey.question(&writes).filter(|_| !self.is_allowed);
        let question = match (self.caution.harm(self.held.as_ref()), question) {
            (Some(harm), Some(question)) => format!("{harm}. {question}"),
            (Some(harm), None) => format!("{harm}. Continue?"),
            (None, Some(question)) => question,
            (None, None) => {
                self.stage = GateStage::Allowed(Box::new(GateStage::Shut));
                return None;
            }
        };
        self.stage = GateStage::Asking;
        Some(Admission::Ask(question))
    }

    fn refuse(&mut self, cause: String) -> Admission {
        self.stage = GateStage::Shut;
        (self.held, self.is_changed) = (None, false);
        self.besides_load = KeySpan::default();
        Admission::Refuse(cause)
    }
}
