//! Parameters that a session set get their old values, with a line about each.

use std::time::Duration;

use crate::{
    server::{Control, Ledger, Restored, Tuned, value_words},
    target::Address,
};

/// How long the server may take to set one parameter.
pub(super) const LIMIT: Duration = Duration::from_secs(5);

/// Sets one of those in `ledger` back, unless somebody else set it meanwhile, and says what became of it.
///
/// # Errors
/// In words with the command to do it by hand, when it could not be set back.
pub fn set_back(
    tuned: &Tuned,
    ledger: &Ledger,
    control: &Control,
    address: &Address,
) -> Result<String, String> {
    let (name, from) = (&tuned.name, value_words(&tuned.from));
    let cause = match control.restore_config(tuned.clone(), ledger).wait(LIMIT) {
        Some(Ok(Restored::Restored)) => return Ok(format!("{name} is {from} again")),
        Some(Ok(Restored::ChangedByOthers(now))) => {
            let now = value_words(&now);
            return Ok(format!("{name} was {from}, and was set to {now} by somebody else; that was left"));
        }
        Some(Err(error)) => error.to_string(),
        None => format!("no answer for {} s", LIMIT.as_secs()),
    };
    Err(format!("{name} could not be set back ({cause}); by hand: {}", by_hand(address, tuned)))
}

/// The command that sets a parameter back, for a shell.
fn by_hand(address: &Address, tuned: &Tuned) -> String {
    let place = match address {
        Address::Tcp { host, port } => format!("-h {host} -p {port}"),
        Address::Unix(path) => format!("-s '{}'", path.display()),
    };
    let value = if tuned.from.is_empty() || tuned.from.contains(' ') {
        format!("'{}'", tuned.from)
    } else {
        tuned.from.clone()
    };
    format!("redis-cli {place} CONFIG SET {} {value}", tuned.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_by_hand_is_one_for_a_shell() {
        let address = Address::Tcp { host: "db".to_owned(), port: 6380 };
        let tuned = |from: &str| Tuned { name: "save".to_owned(), from: from.to_owned(), to: Vec::new() };
        let command = by_hand(&address, &tuned("3600 1"));
        assert_eq!(command, "redis-cli -h db -p 6380 CONFIG SET save '3600 1'");
        assert!(by_hand(&address, &tuned("")).ends_with("CONFIG SET save ''"));
    }
}
