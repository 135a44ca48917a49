//! Parameters of the server that a session sets, and their old values at its end.
//!
//! One is set after the other, so that each knows what the one before left to be set back.

use std::{collections::VecDeque, time::Duration};

use super::set_back::{LIMIT, set_back};
use crate::{
    endpoint::Address,
    server::{Answer, ConfigChange, Control, Ledger, Parameter, Turned},
};

/// A parameter and the value that it shall have.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wish {
    /// The parameter.
    pub(super) parameter: &'static Parameter,
    /// The value.
    pub(super) to: String,
    /// Which peer wants it.
    pub(super) peer: usize,
}

/// What is being set, and what is still to be. What was set stands in the ledger.
pub(super) struct Tuning {
    ledger: Ledger,
    waiting: VecDeque<Wish>,
    under_way: Option<(Wish, Answer<Turned>)>,
}

/// What came of a parameter that was to be set.
#[derive(Debug, PartialEq)]
pub(super) enum SetOutcome {
    /// It is set.
    Set(ConfigChange),
    /// What a person must know of it.
    Warning(String),
    /// It is not, or that is not known, and why.
    NotSet(Wish, String),
}

impl Tuning {
    /// Nothing is set yet; what will be stands in `ledger`.
    pub(super) fn new(ledger: Ledger) -> Self {
        Self { ledger, waiting: VecDeque::new(), under_way: None }
    }

    /// Sets a parameter, after those before it.
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

    /// What came of it since the last look, waiting for it at most so long.
    pub(super) fn look(&mut self, limit: Duration, control: &Control) -> Vec<SetOutcome> {
        let mut told = Vec::new();
        while let Some((wish, answer)) = self.under_way.take() {
            let Some(answer) = answer.wait(limit) else {
                self.under_way = Some((wish, answer));
                break;
            };
            let name = wish.parameter.name;
            match answer {
                Ok(Turned { change, unmarked }) => {
                    told.push(SetOutcome::Set(change));
                    told.extend(unmarked.map(|cause| {
                        SetOutcome::Warning(format!(
                            "no marker can be left ({cause}): after a kill nobody will know how {name} was"
                        ))
                    }));
                }
                Err(error) if error.is_refused() => {
                    told.push(SetOutcome::NotSet(wish, format!("{name} was not set: {error}")));
                }
                Err(error) => told.push(SetOutcome::NotSet(
                    wish,
                    format!(
                        "whether {name} was set is not known ({error}); if it was, the old value comes back at the end"
                    ),
                )),
            }
            self.begin_next(control);
        }
        told
    }

    /// Sets back what was set, the last first; a line about each goes to `tell`. What cannot be is told with the command for
    /// it. Whether all could be.
    pub(super) fn restore(
        &mut self,
        control: &Control,
        address: &Address,
        mut tell: impl FnMut(String),
    ) -> bool {
        self.waiting.clear();
        self.look(LIMIT, control);
        // What is still under way stands there, or is not begun any more.
        self.ledger.close();
        let mut is_whole = true;
        for tuned in self.ledger.marker().tuned.iter().rev() {
            let done = set_back(tuned, &self.ledger, control, address);
            is_whole &= done.is_ok();
            let (Ok(told) | Err(told)) = done;
            tell(told);
        }
        is_whole
    }
}
