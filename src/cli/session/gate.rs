//! The gate before the first write: who lives on this server, does a person allow it, is the marker set?
//!
//! ```text
//! Shut ──► Surveying ──► Asking ──► Marking ──► Open
//!              └── nobody else there ──▲
//! ```
//! Knobs that would write wait before it; all others pass.

use std::time::Duration;

use crate::{
    load::Knobs,
    server::{Answer, Control, Owner, Survey},
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
}

/// What a gate has to say when it is looked at.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// These knobs may take effect now.
    Pass(Knobs),
    /// A person must say yes to this first.
    Ask(String),
    /// It cannot be; the load stays off.
    Refuse(String),
}

/// The gate.
#[derive(Debug)]
pub struct Gate {
    state: State,
    /// What waits to pass.
    held: Option<Knobs>,
    /// Whether a person has said yes, on the command line or on the screen.
    allowed: bool,
    /// Whether keys are left to be removed at the end.
    has_marked: bool,
    /// Why the server could not be asked last.
    trouble: Option<String>,
    owner: Owner,
}

impl Gate {
    /// A gate that lets everything pass: the server is our own, and goes when we go.
    pub fn open() -> Self {
        Self { state: State::Open, ..Self::shut(Owner::default(), true) }
    }

    /// A gate before somebody's server, where the marker of `owner` will be set. `allowed` is `--yes`.
    pub fn shut(owner: Owner, allowed: bool) -> Self {
        Self { state: State::Shut, held: None, allowed, has_marked: false, trouble: None, owner }
    }

    /// Whether the marker was set, or may have been, so that there may be keys to remove.
    pub fn has_marked(&self) -> bool {
        self.has_marked
    }

    /// Somebody wants these knobs. They come back at once if they may take effect, and else by [`look`](Self::look).
    pub fn want(&mut self, knobs: Knobs, control: &Control) -> Option<Knobs> {
        let writes = knobs.load && knobs.mix.writes();
        if !writes || matches!(self.state, State::Open) {
            self.held = None;
            return Some(knobs);
        }
        self.held = Some(knobs);
        if matches!(self.state, State::Shut) {
            self.state = State::Surveying(control.survey());
        }
        None
    }

    /// Whether knobs wait, and nothing is under way to let them pass: the server could not be asked.
    pub fn is_stuck(&self) -> bool {
        self.held.is_some() && matches!(self.state, State::Shut)
    }

    /// The server is back, perhaps without its data: the marker is set again, if it was.
    pub fn renew(&self, control: &Control) {
        if self.has_marked {
            // Where it cannot be set the load will fail likewise, and tell.
            drop(control.mark(self.owner.clone()));
        }
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
    pub fn look(&mut self, limit: Duration, control: &Control) -> Option<Verdict> {
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
                Ok(()) => {
                    self.state = State::Open;
                    self.has_marked = true;
                    self.held.take().map(Verdict::Pass)
                }
                Err(error) => {
                    self.has_marked |= !error.is_refused();
                    Some(self.refuse(error.to_string()))
                }
            },
            State::Shut | State::Asking | State::Open => None,
        }
    }

    /// A person answered.
    pub fn answer(&mut self, yes: bool, control: &Control) {
        if !matches!(self.state, State::Asking) {
            return;
        }
        if yes {
            self.allowed = true;
            self.mark(control);
        } else {
            self.state = State::Shut;
            self.held = None;
        }
    }

    fn surveyed(&mut self, survey: &Survey, control: &Control) -> Option<Verdict> {
        if let Some(obstacle) = survey.obstacle() {
            return Some(self.refuse(obstacle.to_string()));
        }
        match survey.asks() {
            Some(question) if !self.allowed => {
                self.state = State::Asking;
                Some(Verdict::Ask(question.to_string()))
            }
            _ => {
                self.mark(control);
                None
            }
        }
    }

    fn mark(&mut self, control: &Control) {
        self.state = State::Marking(control.mark(self.owner.clone()));
    }

    fn refuse(&mut self, cause: String) -> Verdict {
        self.state = State::Shut;
        self.held = None;
        Verdict::Refuse(cause)
    }
}
