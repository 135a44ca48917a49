//! The server parameters that a session sets, and restores at its end.
//!
//! They are set one after the other, so that each knows the value to restore.

use std::{collections::VecDeque, time::Duration};

use super::set_back::{LIMIT, set_back};
use crate::{
    endpoint::Address,
    server::{Answer, ConfigChange, Control, Ledger, Parameter, Turned},
};

/// A parameter and its wanted value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wish {
    /// The parameter.
    pub(super) parameter: &'static Parameter,
    /// The value.
    pub(super) to: String,
    /// The peer that asked for it.
    pub(super) peer: usize,
}

/// The parameters being set, and those that wait. Those that were set are in the ledger.
pub(super) struct Tuning {
    ledger: Ledger,
    waiting: VecDeque<Wish>,
    under_way: Option<(Wish, Answer<Turned>)>,
}

/// The outcome of setting a parameter.
#[derive(Debug, PartialEq)]
pub(super) enum SetOutcome {
    /// It is set.
    Set(ConfigChange),
    /// A message for the user.
    Warning(String),
    /// It is not set, or this is unknown; the reason.
    NotSet(Wish, String),
}

impl Tuning {
    /// Nothing is set yet; everything set will be in `ledger`.
    pub(super) fn new(ledger: Ledger) -> Self {
        Self { ledger, waiting: VecDeque::new(), under_way: None }
    }

    /// Sets a parameter, after the ones before it.
    pub(super) fn set(&mut self, wish: Wish, control: &Control) {
        self.waiting.push_back(wish);
        self.begin_next(control);
    }

    fn begin_next(&mut self, control: &Control) {
        if self.under_way.is_some() {
            return;
        }
        if let Some(wish) = self.waiting.pop_front() {
            let answer = control.set_config(wish.parameter, wish.to.clone(), &self.ledger);
            self.under_way = Some((wish, answer));
        }
    }

    /// The outcomes since the last call; waits at most this long.
    pub(super) fn look(&mut self, limit: Duration, control: &Control) -> Vec<SetOutcome> {
        let mut outcomes = Vec::new();
        while let Some((wish, answer)) = self.under_way.take() {
            let Some(answer) = answer.wait(limit) else {
                self.under_way = Some((wish, answer));
                break;
            };
            let name = wish.parameter.name;
            match answer {
                Ok(Turned { change, unmarked }) => {
                    outcomes.push(SetOutcome::Set(change));
                    outcomes.extend(unmarked.map(|cause| {
                        SetOutcome::Warning(format!(
                            "no marker can be set ({cause}): after a kill, the old value of {name} will be unknown"
                        ))
                    }));
                }
                Err(error) if error.is_refused() => {
                    outcomes.push(SetOutcome::NotSet(wish, format!("{name} was not set: {error}")));
                }
                Err(error) => outcomes.push(SetOutcome::NotSet(
                    wish,
                    format!(
                        "it is unknown whether {name} was set ({error}); if so, the old value is restored at the end"
                    ),
                )),
            }
            self.begin_next(control);
        }
        outcomes
    }

    /// Restores everything that was set, the last first; a line about each goes to `report`. If that fails, the line has the command for
    /// it. Returns whether everything was restored.
    pub(super) fn restore(
        &mut self,
        control: &Control,
        address: &Address,
        mut report: impl FnMut(String),
    ) -> bool {
        self.waiting.clear();
        self.look(LIMIT, control);
        // A parameter still being set is there, or is not begun any more.
        self.ledger.close();
        let mut is_whole = true;
        for tuned in self.ledger.marker().tuned.iter().rev() {
            let done = set_back(tuned, &self.ledger, control, address);
            is_whole &= done.is_ok();
            let (Ok(line) | Err(line)) = done;
            report(line);
        }
        is_whole
    }
}
