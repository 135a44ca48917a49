//! The gate before the first write: who lives on this server, does a person allow it, is the marker set, is the workload's
//! setup run?
//!
//! ```text
//! Shut ──► Surveying ──► Asking ──► Allowed ──► Marking ──► Preparing ──► Open ◄──► Extending, Preparing: more names
//!              └── nobody else there ──▲                                            than the marker tells of, another setup
//! ```
//! Of several nodes each has a gate: a first write that is allowed waits until nothing is left to be asked at any of them.
//! Knobs that would write, or whose workload has a setup that was not run, wait before it. So do those that may do harm, until a
//! person has said yes (`Warning`). All others pass.

use std::{collections::BTreeSet, time::Duration};

use super::{
    Commission, Keys,
    caution::Caution,
    stage::{Admission, Stage},
};
use crate::{
    knobs::Knobs,
    server::{Answer, Control, Ledger, Obstacle, ServerError, SetUp, Survey, Writes},
    session::Record,
    workload::{KeyNames, KeySpan, Steps},
};

/// The gate.
#[derive(Debug)]
pub(super) struct Gate {
    stage: Stage,
    /// What waits to pass.
    held: Option<Knobs>,
    /// Whether a person has said yes to everything, on the command line.
    is_allowed: bool,
    /// What may do harm.
    caution: Caution,
    /// A question about harm that was not told yet.
    question: Option<String>,
    /// The commands that may write to others' keys and that nobody need be asked about any more; `None` before the first
    /// answer.
    agreed: Option<BTreeSet<String>>,
    /// Why the server could not be asked last.
    trouble: Option<String>,
    names: KeyNames,
    seed: u64,
    keys: Keys,
    /// Where it is noted what is to be undone.
    ledger: Ledger,
    /// The setups that were run.
    run: Vec<Steps>,
}

impl Gate {
    /// A gate before what the load of a commission writes.
    pub fn new(commission: &Commission, ledger: Ledger) -> Self {
        let &Commission { keys, is_allowed, .. } = commission;
        Self {
            stage: if keys == Keys::OwnServers { Stage::Open } else { Stage::Shut },
            held: None,
            is_allowed,
            caution: Caution::new(commission),
            question: None,
            agreed: None,
            trouble: None,
            names: commission.plan.names.clone(),
            seed: commission.plan.seed,
            keys,
            ledger,
            run: Vec::new(),
        }
    }

    /// Takes the next record of what is measured.
    pub fn push(&mut self, record: &Record) {
        self.caution.push(record);
    }

    /// Lets what waits pass, or asks about it first, where it is allowed otherwise.
    fn pass(&mut self) -> Option<Knobs> {
        if let Some(harm) = self.caution.harm(self.held.as_ref()) {
            self.question = Some(format!("{harm}. Continue?"));
            let before = std::mem::replace(&mut self.stage, Stage::Shut);
            self.stage = Stage::Warning(Box::new(before));
            return None;
        }
        self.let_pass()
    }

    fn let_pass(&mut self) -> Option<Knobs> {
        let knobs = self.held.take()?;
        self.caution.pass(&knobs);
        Some(knobs)
    }

    /// What was asked or allowed was about knobs that nobody wants any more.
    fn take_back(&mut self) {
        if let Stage::Warning(before) | Stage::Allowed(before) = &mut self.stage {
            self.stage = std::mem::replace(before, Stage::Shut);
            self.question = None;
        }
    }

    /// How the keys are called.
    pub fn names(&self) -> &KeyNames {
        &self.names
    }

    /// What is to be undone.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Whether there may be keys of the run at the end, and whether they are to stay.
    pub fn leaves_keys(&self) -> Option<bool> {
        match self.keys {
            Keys::Runs { kept } if self.ledger.has_keys() => Some(kept),
            _ => None,
        }
    }

    /// Somebody wants these knobs. They come back at once if they may take effect, and else by [`look`](Self::look).
    pub fn want(&mut self, knobs: Knobs, control: &Control) -> Option<Knobs> {
        self.take_back();
        let others = others(&knobs);
        if !self.writes(&knobs) && (modules(&knobs).is_empty() || self.keys == Keys::OwnServers) {
            self.held = Some(knobs);
            return self.pass();
        }
        let is_agreed = self.keys == Keys::OwnServers
            || self.agreed.as_ref().is_some_and(|agreed| others.is_subset(agreed));
        self.held = Some(knobs);
        match self.stage {
            Stage::Open | Stage::Extending(_) if !is_agreed => {
                self.stage = Stage::Surveying(self.survey(control));
            }
            Stage::Open | Stage::Extending(_) if self.caution.harm(self.held.as_ref()).is_some() => {
                return self.pass();
            }
            Stage::Open | Stage::Extending(_) => return self.go_on(control),
            Stage::Shut => self.stage = Stage::Surveying(self.survey(control)),
            _ => {}
        }
        None
    }

    fn writes(&self, knobs: &Knobs) -> bool {
        !span(knobs).is_empty() || !others(knobs).is_empty() || self.lacking(knobs).is_some()
    }

    /// Asks what lives there, and whether what waits can be asked at all.
    fn survey(&self, control: &Control) -> Answer<Survey> {
        control.survey_for(self.held.as_ref().map(modules).unwrap_or_default())
    }

    /// What waits, if nothing is left to be done before it; else that is begun. To be called where it is allowed.
    fn go_on(&mut self, control: &Control) -> Option<Knobs> {
        let was_open = matches!(self.stage, Stage::Open | Stage::Extending(_) | Stage::Preparing(..));
        self.stage = Stage::Open;
        let knobs = self.held.as_ref()?;
        self.agreed.get_or_insert_default().extend(others(knobs));
        if let Some(answer) = self.extend(span(knobs), control) {
            self.stage = if was_open { Stage::Extending(answer) } else { Stage::Marking(answer) };
            return None;
        }
        if let Some(setup) = self.lacking(knobs) {
            let (keyspace, value_size) = (knobs.keyspace, knobs.value_size);
            let commands = knobs.workload.setup_commands(keyspace, &self.names, value_size, self.seed);
            self.stage = Stage::Preparing(setup.clone(), control.set_up(commands, &self.ledger));
            return None;
        }
        self.let_pass()
    }

    /// Notes that these names may be written, where that is not noted yet.
    fn extend(&self, span: KeySpan, control: &Control) -> Option<Answer<()>> {
        let Keys::Runs { kept } = self.keys else { return None };
        if self.ledger.covers(&span) {
            return None;
        }
        self.ledger.add_keys(span, kept);
        Some(control.mark(&self.ledger))
    }

    /// The setup that has to be run before a load of these knobs.
    fn lacking<'a>(&self, knobs: &'a Knobs) -> Option<&'a Steps> {
        let setup = Some(&knobs.workload.setup).filter(|setup| knobs.load && !setup.is_empty());
        setup.filter(|setup| !self.run.contains(setup))
    }

    /// How far it is.
    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Goes on with what [is allowed](Stage::is_allowed).
    pub fn open(&mut self, control: &Control) -> Option<Admission> {
        if !self.stage.is_allowed() {
            return None;
        }
        self.take_back();
        // What only reads opens nothing.
        let writes = self.held.as_ref().is_some_and(|knobs| self.writes(knobs));
        let passed = if writes { self.go_on(control) } else { self.let_pass() };
        passed.map(Admission::Pass)
    }

    /// Whether knobs wait, and nothing is under way to let them pass: the server could not be asked.
    pub fn is_stuck(&self) -> bool {
        self.held.is_some() && matches!(self.stage, Stage::Shut)
    }

    /// Why the server has not told what lives on it, if an attempt to ask failed.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Nothing waits any more.
    pub fn withdraw(&mut self) {
        self.held = None;
    }

    /// Tries again to let the waiting knobs pass.
    pub fn retry(&mut self, control: &Control) {
        if self.is_stuck() {
            self.stage = Stage::Surveying(self.survey(control));
        }
    }

    /// What has become of the waiting knobs, waiting for it for `limit` at the most. Something is said once.
    pub fn look(&mut self, limit: Duration, control: &Control) -> Option<Admission> {
        if let Some(question) = self.question.take() {
            return Some(Admission::Warn(question));
        }
        match &self.stage {
            Stage::Surveying(answer) => match answer.wait(limit)? {
                Ok(survey) => self.surveyed(&survey),
                Err(error) => {
                    // The knobs go on waiting: a server that comes back is asked again.
                    self.stage = Stage::Shut;
                    self.trouble = Some(error.to_string());
                    error.is_answer().then(|| self.refuse(error.to_string()))
                }
            },
            Stage::Marking(answer) => match answer.wait(limit)? {
                Ok(()) => self.go_on(control).map(Admission::Pass),
                Err(error) => {
                    self.not_marked(&error);
                    Some(self.refuse(error.to_string()))
                }
            },
            Stage::Preparing(setup, answer) => {
                let outcome = answer.wait(limit)?;
                let setup = setup.clone();
                self.prepared(setup, outcome, control)
            }
            // Where it was refused, the control plane tells, and tries again with each poll.
            Stage::Extending(answer) => {
                drop(answer.wait(limit)?);
                self.go_on(control).map(Admission::Pass)
            }
            Stage::Shut | Stage::Asking | Stage::Warning(_) | Stage::Allowed(_) | Stage::Open => None,
        }
    }

    /// A setup was run, or not.
    fn prepared(
        &mut self,
        setup: Steps,
        outcome: Result<SetUp, ServerError>,
        control: &Control,
    ) -> Option<Admission> {
        let cause = match outcome {
            Ok(SetUp { failed: None, .. }) => {
                self.run.push(setup);
                return self.go_on(control).map(Admission::Pass);
            }
            Ok(SetUp { failed: Some((step, error)), .. }) => format!("setup step {step}: {}", error.cause()),
            Err(error) => format!("the setup was not run: {error}"),
        };
        // Meanwhile something else may be wanted.
        if self.held.as_ref().is_some_and(|knobs| knobs.workload.setup != setup) {
            return self.go_on(control).map(Admission::Pass);
        }
        self.stage = Stage::Open;
        self.held.take().map(|_| Admission::Refuse(cause))
    }

    /// Waits until a setup that is under way was run, if that is within `limit`.
    pub fn await_setup(&self, limit: Duration) {
        if let Stage::Preparing(_, answer) = &self.stage {
            // What it made stands in the ledger.
            drop(answer.wait(limit));
        }
    }

    /// Nothing was written, unless that is not known.
    fn not_marked(&self, error: &ServerError) {
        if error.is_refused() {
            self.ledger.drop_keys();
        }
    }

    /// A person answered.
    pub fn answer(&mut self, yes: bool) {
        let before = match &mut self.stage {
            Stage::Warning(before) => std::mem::replace(&mut **before, Stage::Shut),
            Stage::Asking => Stage::Shut,
            _ => return,
        };
        self.question = None;
        if yes {
            self.caution.accept(self.held.as_ref());
            self.stage = Stage::Allowed(Box::new(before));
        } else {
            self.caution.decline();
            self.held = None;
            self.stage = before;
        }
    }

    fn surveyed(&mut self, survey: &Survey) -> Option<Admission> {
        self.caution.survey(survey);
        let writes = Writes {
            names: self.names.clone(),
            is_users: self.keys == Keys::Users,
            kept: self.keys == Keys::Runs { kept: true },
            span: self.held.as_ref().map(span).unwrap_or_default(),
            others: self.held.iter().flat_map(others).collect(),
            setup: self
                .held
                .as_ref()
                .filter(|knobs| self.lacking(knobs).is_some())
                .map(|knobs| knobs.workload.setup_names())
                .unwrap_or_default(),
        };
        // What only reads is asked of a replica too.
        let stands_in_the_way =
            |obstacle: &Obstacle| !writes.is_nothing() || matches!(obstacle, Obstacle::Missing(..));
        if let Some(obstacle) = survey.obstacle().filter(stands_in_the_way) {
            return Some(self.refuse(obstacle.to_string()));
        }
        if writes.is_nothing() {
            self.stage = Stage::Shut;
            return self.pass().map(Admission::Pass);
        }
        let question = survey.asks(&writes).filter(|_| !self.is_allowed);
        let question = match (self.caution.harm(self.held.as_ref()), question) {
            (Some(harm), Some(question)) => format!("{harm}. {question}"),
            (Some(harm), None) => format!("{harm}. Continue?"),
            (None, Some(question)) => question,
            (None, None) => {
                self.stage = Stage::Allowed(Box::new(Stage::Shut));
                return None;
            }
        };
        self.stage = Stage::Asking;
        Some(Admission::Ask(question))
    }

    fn refuse(&mut self, cause: String) -> Admission {
        self.stage = Stage::Shut;
        self.held = None;
        Admission::Refuse(cause)
    }
}

/// The commands that only servers with a module have.
fn modules(knobs: &Knobs) -> BTreeSet<String> {
    if knobs.load { knobs.workload.commands_of_modules() } else { BTreeSet::new() }
}

/// The commands that may write to keys which are not the run's own.
fn others(knobs: &Knobs) -> BTreeSet<String> {
    if knobs.load { knobs.workload.written_by_name() } else { BTreeSet::new() }
}

/// The names that may be written under these knobs.
fn span(knobs: &Knobs) -> KeySpan {
    if knobs.load { KeySpan::written_by(&knobs.workload, knobs.keyspace) } else { KeySpan::default() }
}
