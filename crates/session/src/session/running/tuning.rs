//! Sets server parameters during a session, and restores them at its end.
//!
//! Parameters are set one after the other, so that the old value of each parameter is known and can be restored.

use std::{collections::VecDeque, time::Duration};

use super::{
    order::Notice,
    restore::{LIMIT, restore_parameter},
};
use crate::{
    endpoint::Address,
    server::{Answer, ConfigChange, Control, Ledger, Parameter, TuneResult, value_words},
};

/// A parameter and its requested value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wish {
    /// The parameter.
    pub(super) parameter: &'static Parameter,
    /// The value.
    pub(super) to: String,
    /// The id of the peer that requested the change.
    pub(super) peer: usize,
}

/// The parameter that is being set, and the parameters that wait to be set. The ledger contains the parameters that
/// were set.
pub(super) struct Tuning {
    ledger: Ledger,
    waiting: VecDeque<Wish>,
    under_way: Option<(Wish, Answer<TuneResult>)>,
}

/// The outcome of setting a parameter.
#[derive(Debug, PartialEq)]
pub(super) enum SetOutcome {
    /// The parameter was set.
    Set(ConfigChange),
    /// A message for the user.
    Note(Notice),
    /// The parameter was not set, or its state is unknown. The text is the reason.
    NotSet(Wish, String),
}

impl Tuning {
    /// Returns a state without parameters. Each parameter that is set will be recorded in `ledger`.
    pub(super) fn new(ledger: Ledger) -> Self {
        Self { ledger, waiting: VecDeque::new(), under_way: None }
    }

    /// Queues a parameter to be set after all earlier requests.
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

    /// Returns the results since the last call. Waits at most `limit` for each result.
    pub(super) fn poll(&mut self, limit: Duration, control: &Control) -> Vec<SetOutcome> {
        let mut outcomes = Vec::new();
        while let Some((wish, answer)) = self.under_way.take() {
            let Some(answer) = answer.wait(limit) else {
                self.under_way = Some((wish, answer));
                break;
            };
            let name = wish.parameter.name;
            match answer {
                Ok(TuneResult { change, unmarked }) => {
                    let value = value_words(&change.to);
                    let text = format!("{name} is {value}; the old value is restored at the end");
                    outcomes.extend([SetOutcome::Set(change), SetOutcome::Note(Notice::Info(text))]);
                    outcomes.extend(unmarked.map(|cause| {
                        SetOutcome::Note(Notice::Warning(format!(
                            "redyno cannot note the old value of {name} on the server ({cause}), so a kill would lose this value"
                        )))
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

    /// Restores all parameters that were set, in reverse order, and calls `report` with a line about each parameter. If
    /// a parameter cannot be restored, the line about the parameter contains a command for the user. Returns whether
    /// all parameters were restored.
    pub(super) fn restore(
        &mut self,
        control: &Control,
        address: &Address,
        mut report: impl FnMut(String),
    ) -> bool {
        self.waiting.clear();
        self.poll(LIMIT, control);
        // A parameter that is still being set is already in the ledger. After this call, no parameter can be
        // added.
        self.ledger.close();
        let mut is_whole = true;
        for tuned in self.ledger.marker().tuned.iter().rev() {
            let done = restore_parameter(tuned, &self.ledger, control, address);
            is_whole &= done.is_ok();
            let (Ok(line) | Err(line)) = done;
            report(line);
        }
        is_whole
    }
}
