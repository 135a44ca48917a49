//! Parameters of the server that a session has set, and their old values at its end.

use std::{
    io::{self, Write},
    time::Duration,
};

use crate::{
    app::{Setting, value_words},
    server::{Answer, ConfigChange, Control, Restored},
    target::Address,
};

/// How long the server may take to set one parameter.
const LIMIT: Duration = Duration::from_secs(5);

/// What was set, and what is being set.
#[derive(Default)]
pub(super) struct Tuning {
    waiting: Vec<(Setting, Answer<ConfigChange>)>,
    /// Each parameter once, with its value before the session, in the order of the first change.
    ledger: Vec<ConfigChange>,
}

impl Tuning {
    /// Begins to set a parameter.
    pub(super) fn set(&mut self, setting: &Setting, control: &Control) {
        let answer = control.set_config(setting.parameter, setting.to.clone());
        self.waiting.push((setting.clone(), answer));
    }

    /// What came of it since the last look, waiting for each at most so long.
    pub(super) fn look(&mut self, limit: Duration) -> Vec<Result<ConfigChange, String>> {
        let mut told = Vec::new();
        for (setting, answer) in std::mem::take(&mut self.waiting) {
            match answer.wait(limit) {
                None => self.waiting.push((setting, answer)),
                Some(Ok(change)) => {
                    self.note(change.clone());
                    told.push(Ok(change));
                }
                Some(Err(error)) => {
                    let Setting { parameter, from, to } = setting;
                    if !error.is_refused() {
                        // It may have been set all the same.
                        self.note(ConfigChange { name: parameter.name.to_owned(), from, to });
                    }
                    told.push(Err(format!("{} was not set: {error}", parameter.name)));
                }
            }
        }
        told
    }

    fn note(&mut self, change: ConfigChange) {
        match self.ledger.iter_mut().find(|known| known.name == change.name) {
            Some(known) => known.to = change.to,
            None => self.ledger.push(change),
        }
    }

    /// Sets back what was set, the last first, and says so to `out`; what cannot be is told with the command for it.
    pub(super) fn restore(mut self, control: &Control, address: &Address, out: &mut impl Write) {
        self.look(LIMIT);
        for (Setting { parameter, from, to }, _) in std::mem::take(&mut self.waiting) {
            self.note(ConfigChange { name: parameter.name.to_owned(), from, to });
        }
        for change in self.ledger.into_iter().rev() {
            let (name, from) = (change.name.clone(), value_words(&change.from).to_owned());
            let told = match control.restore_config(change.clone()).wait(LIMIT) {
                Some(Ok(Restored::Restored)) => format!("{name} is {from} again"),
                Some(Ok(Restored::ChangedByOthers(now))) => format!(
                    "{name} was {from}, and was set to {} by somebody else; that was left",
                    value_words(&now)
                ),
                failed => {
                    let cause = match failed {
                        Some(Err(error)) => error.to_string(),
                        _ => format!("no answer for {} s", LIMIT.as_secs()),
                    };
                    format!("{name} could not be set back ({cause}); by hand: {}", by_hand(address, &change))
                }
            };
            // If stderr is gone, so is who would read this.
            let _ = writeln!(out, "redyno: {told}");
        }
    }
}

/// The command that sets a parameter back, for a shell.
fn by_hand(address: &Address, change: &ConfigChange) -> String {
    let place = match address {
        Address::Tcp { host, port } => format!("-h {host} -p {port}"),
        Address::Unix(path) => format!("-s '{}'", path.display()),
    };
    let value = if change.from.is_empty() || change.from.contains(' ') {
        format!("'{}'", change.from)
    } else {
        change.from.clone()
    };
    format!("redis-cli {place} CONFIG SET {} {value}", change.name)
}

/// Sets everything back, with words on stderr.
pub(super) fn restore(tuning: Tuning, control: &Control, address: &Address) {
    tuning.restore(control, address, &mut io::stderr());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str, from: &str, to: &str) -> ConfigChange {
        ConfigChange { name: name.to_owned(), from: from.to_owned(), to: to.to_owned() }
    }

    #[test]
    fn the_value_before_the_first_change_is_the_one_to_go_back_to() {
        let mut tuning = Tuning::default();
        [change("hz", "10", "20"), change("save", "", "1 1"), change("hz", "20", "50")]
            .into_iter()
            .for_each(|change| tuning.note(change));
        assert_eq!(tuning.ledger, [change("hz", "10", "50"), change("save", "", "1 1")]);
    }

    #[test]
    fn the_command_by_hand_is_one_for_a_shell() {
        let address = Address::Tcp { host: "db".to_owned(), port: 6380 };
        let command = by_hand(&address, &change("save", "3600 1", ""));
        assert_eq!(command, "redis-cli -h db -p 6380 CONFIG SET save '3600 1'");
        assert!(by_hand(&address, &change("save", "", "3600 1")).ends_with("CONFIG SET save ''"));
    }
}
