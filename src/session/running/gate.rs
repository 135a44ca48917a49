//! The gate before the first write: who lives on this server, does a person allow it, is the marker set?
//!
//! ```text
//! Shut ──► Surveying ──► Asking ──► Marking ──► Open ◄──► Extending: more names than the marker tells of
//!              └── nobody else there ──▲
//! ```
//! Knobs that would write wait before it; all others pass.

use std::time::Duration;

use crate::{
    load::Knobs,
    server::{Answer, Control, Ledger, ServerError, Survey, Writes},
    workload::{KeyNames, KeySpan},
};

/// How far the way to the first write is gone.
#[derive(Debug)]
enum State {
    /// Nothing was asked yet, or the answer was no.
    Shut,
    /// The server is being asked what lives there.
    Surveying(Answer<Survey>),
    /// A person is being asked.
    Asking,
    /// The marker is being set.
    Marking(Answer<()>),
    /// Writes may pass.
    Open,
    /// Writes may pass as soon as the marker tells of more names than it did.
    Extending(Answer<()>),
}

/// What a gate has to say when it is looked at.
#[derive(Debug, PartialEq)]
pub(super) enum Admission {
    /// These knobs may take effect now.
    Pass(Knobs),
    /// A person must say yes to this first.
    Ask(String),
    /// It cannot be; the load stays off.
    Refuse(String),
}

/// Whose keys a load writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// Those of a server of our own, which go with it.
    OwnServers,
    /// The run's: noted in the ledger and its marker, and removed at the end unless they are `kept`.
    Runs {
        /// `--keep`
        kept: bool,
    },
    /// A user's: asked about, and never removed.
    Users,
}

/// The gate.
#[derive(Debug)]
pub(super) struct Gate {
    state: State,
    /// What waits to pass.
    held: Option<Knobs>,
    /// Whether a person has said yes, on the command line or on the screen.
    allowed: bool,
    /// Why the server could not be asked last.
    trouble: Option<String>,
    names: KeyNames,
    keys: Keys,
    /// Where those of the run are noted.
    ledger: Ledger,
}

impl Gate {
    /// A gate before keys of these names. `allowed` is `--yes`.
    pub fn new(names: KeyNames, keys: Keys, ledger: Ledger, allowed: bool) -> Self {
        let state = if keys == Keys::OwnServers { State::Open } else { State::Shut };
        Self { state, held: None, allowed, trouble: None, names, keys, ledger }
    }

    /// How the keys are called.
    pub fn names(&self) -> &KeyNames {
        &self.names
    }

    /// The ledger with keys of the run that there may be at the end, and whether they are to stay.
    pub fn to_remove(&self) -> Option<(&Ledger, bool)> {
        match self.keys {
            Keys::Runs { kept } if self.ledger.has_keys() => Some((&self.ledger, kept)),
            _ => None,
        }
    }

    /// Somebody wants these knobs. They come back at once if they may take effect, and else by [`look`](Self::look).
    pub fn want(&mut self, knobs: Knobs, control: &Control) -> Option<Knobs> {
        let span = span(&knobs);
        match self.state {
            _ if span.is_empty() => {}
            State::Open | State::Extending(_) => {
                if let Some(answer) = self.extend(span, control) {
                    self.state = State::Extending(answer);
                    self.held = Some(knobs);
                    return None;
                }
                self.state = State::Open;
            }
            _ => {
                self.held = Some(knobs);
                if matches!(self.state, State::Shut) {
                    self.state = State::Surveying(control.survey());
                }
                return None;
            }
        }
        self.held = None;
        Some(knobs)
    }

    /// Notes that these names may be written, where that is not noted yet.
    fn extend(&self, span: KeySpan, control: &Control) -> Option<Answer<()>> {
        match self.keys {
            Keys::Runs { kept } if !self.ledger.covers(&span) => {
                self.ledger.add_keys(span, kept);
                Some(control.mark(&self.ledger))
            }
            _ => None,
        }
    }

    /// Whether knobs wait, and nothing is under way to let them pass: the server could not be asked.
    pub fn is_stuck(&self) -> bool {
        self.held.is_some() && matches!(self.state, State::Shut)
    }

    /// Whether what waits was allowed, so that the load before it may go on.
    pub fn is_extending(&self) -> bool {
        matches!(self.state, State::Extending(_))
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
            self.state = State::Surveying(control.survey());
        }
    }

    /// What has become of the waiting knobs, waiting for it for `limit` at the most. Something is said once.
    pub fn look(&mut self, limit: Duration, control: &Control) -> Option<Admission> {
        match &self.state {
            State::Surveying(answer) => match answer.wait(limit)? {
                Ok(survey) => self.surveyed(&survey, control),
                Err(error) => {
                    // The knobs go on waiting: a server that comes back is asked again.
                    self.state = State::Shut;
                    self.trouble = Some(error.to_string());
                    error.is_answer().then(|| self.refuse(error.to_string()))
                }
            },
            State::Marking(answer) => match answer.wait(limit)? {
                Ok(()) => self.pass(),
                Err(error) => {
                    self.not_marked(&error);
                    Some(self.refuse(error.to_string()))
                }
            },
            // Where it was refused, the control plane tells, and tries again with each poll.
            State::Extending(answer) => {
                drop(answer.wait(limit)?);
                self.pass()
            }
            State::Shut | State::Asking | State::Open => None,
        }
    }

    fn pass(&mut self) -> Option<Admission> {
        self.state = State::Open;
        self.held.take().map(Admission::Pass)
    }

    /// Nothing was written, unless that is not known.
    fn not_marked(&self, error: &ServerError) {
        if let (Keys::Runs { .. }, true) = (self.keys, error.is_refused()) {
            self.ledger.drop_keys();
        }
    }

    /// A person answered.
    pub fn answer(&mut self, yes: bool, control: &Control) -> Option<Admission> {
        if !matches!(self.state, State::Asking) {
            return None;
        }
        if yes {
            self.allowed = true;
            return self.mark(control);
        }
        self.state = State::Shut;
        self.held = None;
        None
    }

    fn surveyed(&mut self, survey: &Survey, control: &Control) -> Option<Admission> {
        if let Some(obstacle) = survey.obstacle() {
            return Some(self.refuse(obstacle.to_string()));
        }
        let (is_users, kept) = match self.keys {
            Keys::Users => (true, true),
            Keys::Runs { kept } => (false, kept),
            Keys::OwnServers => (false, false),
        };
        let span = self.held.as_ref().map(span).unwrap_or_default();
        match survey.asks(&Writes { names: self.names.clone(), is_users, kept, span }) {
            Some(question) if !self.allowed => {
                self.state = State::Asking;
                Some(Admission::Ask(question.to_string()))
            }
            _ => self.mark(control),
        }
    }

    /// Sets the marker, or lets pass at once what needs none.
    fn mark(&mut self, control: &Control) -> Option<Admission> {
        let span = self.held.as_ref().map(span).unwrap_or_default();
        match self.extend(span, control) {
            Some(answer) => {
                self.state = State::Marking(answer);
                None
            }
            None => self.pass(),
        }
    }

    fn refuse(&mut self, cause: String) -> Admission {
        self.state = State::Shut;
        self.held = None;
        Admission::Refuse(cause)
    }
}

/// The names that may be written under these knobs.
fn span(knobs: &Knobs) -> KeySpan {
    if knobs.load { KeySpan::written_by(&knobs.workload, knobs.keyspace) } else { KeySpan::default() }
}
