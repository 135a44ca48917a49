//! Parameters of the server that a session has set, and their old values at its end.
//!
//! One is set after the other, so that each knows what the one before left to be set back.

use std::{collections::VecDeque, io::Write, time::Duration};

use crate::{
    app::Setting,
    cli::{
        set_back::{LIMIT, set_back},
        words::Words,
    },
    server::{Answer, ConfigChange, Control, Owner, Tuned, Turned},
    target::Address,
};

/// What was set, what is being set, and what is still to be.
#[derive(Default)]
pub(super) struct Tuning {
    /// Whose marker tells what is to be set back; `None` where the server is our own, and goes when we go.
    owner: Option<Owner>,
    waiting: VecDeque<Setting>,
    under_way: Option<(Setting, Answer<Turned>)>,
    /// Each parameter once, in the order of the first change.
    ledger: Vec<Tuned>,
}

/// What came of a parameter that was to be set.
#[derive(Debug, PartialEq)]
pub(super) enum Told {
    /// It is set.
    Set(ConfigChange),
    /// What a person must know of it.
    Warning(String),
}

impl Tuning {
    /// Nothing is set yet; what will be stands in the marker of `owner`.
    pub(super) fn new(owner: Option<Owner>) -> Self {
        Self { owner, ..Self::default() }
    }

    /// Sets a parameter, after those before it.
    pub(super) fn set(&mut self, setting: &Setting, control: &Control) {
        self.waiting.push_back(setting.clone());
        self.begin_next(control);
    }

    fn begin_next(&mut self, control: &Control) {
        if self.under_way.is_some() {
            return;
        }
        if let Some(setting) = self.waiting.pop_front() {
            let known = self.known(setting.parameter.name).cloned();
            let answer = control.set_config(setting.parameter, setting.to.clone(), known, self.owner.clone());
            self.under_way = Some((setting, answer));
        }
    }

    /// What came of it since the last look, waiting for it at most so long.
    pub(super) fn look(&mut self, limit: Duration, control: &Control) -> Vec<Told> {
        let mut told = Vec::new();
        while let Some((setting, answer)) = self.under_way.take() {
            let Some(answer) = answer.wait(limit) else {
                self.under_way = Some((setting, answer));
                break;
            };
            let name = setting.parameter.name;
            match answer {
                Ok(Turned { change, unmarked }) => {
                    self.note(
                        Tuned::turned(self.known(name), name, &change.from, &change.to).settled(&change.to),
                    );
                    told.push(Told::Set(change));
                    told.extend(unmarked.map(|cause| {
                        Told::Warning(format!(
                            "no marker can be left ({cause}): after a kill nobody will know how {name} was"
                        ))
                    }));
                }
                Err(error) => {
                    if !error.is_refused() {
                        self.note_unclear(&setting);
                    }
                    told.push(Told::Warning(format!("{name} was not set: {error}")));
                }
            }
            self.begin_next(control);
        }
        told
    }

    fn known(&self, name: &str) -> Option<&Tuned> {
        self.ledger.iter().find(|tuned| tuned.name == name)
    }

    /// It may have been set.
    fn note_unclear(&mut self, setting: &Setting) {
        let name = setting.parameter.name;
        self.note(Tuned::turned(self.known(name), name, &setting.from, &setting.to));
    }

    fn note(&mut self, tuned: Tuned) {
        match self.ledger.iter_mut().find(|known| known.name == tuned.name) {
            Some(known) => *known = tuned,
            None => self.ledger.push(tuned),
        }
    }

    /// Sets back what was set, the last first, and says so to `out`; what cannot be is told with the command for it.
    fn restore(mut self, control: &Control, address: &Address, out: &mut impl Write) {
        self.waiting.clear();
        self.look(LIMIT, control);
        if let Some((setting, _)) = self.under_way.take() {
            self.note_unclear(&setting);
        }
        for tuned in self.ledger.iter().rev() {
            let (Ok(told) | Err(told)) = set_back(tuned, control, address);
            // If stderr is gone, so is who would read this.
            let _ = writeln!(out, "redyno: {told}");
        }
    }
}

/// Sets everything back, with words on stderr.
pub(super) fn restore(tuning: Tuning, control: &Control, address: &Address) {
    tuning.restore(control, address, &mut Words::stderr());
}
