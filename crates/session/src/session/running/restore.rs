//! Restores the server parameters that a session has set. Also deletes the objects (scripts, functions or indexes) that
//! the session's setups have created. Each function returns a line of text about its result.

use std::time::Duration;

use crate::{
    endpoint::{Address, quoted},
    server::{Control, Ledger, Restored, SetupObject, TunedParameter, value_words},
};

/// The timeout for the server's reply to each command.
pub(super) const LIMIT: Duration = Duration::from_secs(5);

/// The timeout for deleting an index over HTTP. The server first finishes the requests that it is processing. The
/// server answers the deletion only afterwards.
const LIMIT_BY_HTTP: Duration = Duration::from_secs(30);

/// Restores a server parameter of `ledger`, and returns a line about the result. If another client has changed the
/// parameter meanwhile, redyno does not change the parameter.
///
/// # Errors
/// Returns a message with the command for the user to run.
pub fn restore_parameter(
    tuned: &TunedParameter,
    ledger: &Ledger,
    control: &Control,
    address: &Address,
) -> Result<String, String> {
    let (name, from) = (&tuned.name, value_words(&tuned.from));
    let cause = match control.restore_config(tuned.clone(), ledger).wait(LIMIT) {
        Some(Ok(Restored::Restored)) => return Ok(format!("{name} is restored to {from}")),
        Some(Ok(Restored::ChangedByOthers(now))) => {
            let now = value_words(&now);
            return Ok(format!(
                "{name} was {from}, but somebody else has set it to {now}, so redyno did not change it"
            ));
        }
        Some(Err(error)) => error.to_string(),
        None => format!("no answer for {} s", LIMIT.as_secs()),
    };
    let by_hand = by_hand(address, &["CONFIG", "SET", name, &tuned.from]);
    Err(format!("{name} could not be restored ({cause}); by hand: {by_hand}"))
}

/// Deletes an object of `ledger` that a setup has created, and returns a line about the result.
///
/// # Errors
/// Returns a message with the command for the user to run.
pub fn delete(
    made: &SetupObject,
    ledger: &Ledger,
    control: &Control,
    address: &Address,
) -> Result<String, String> {
    let limit = if matches!(made, SetupObject::Path(..)) { LIMIT_BY_HTTP } else { LIMIT };
    let cause = match control.undo(made.clone(), ledger).wait(limit) {
        Some(Ok(true)) => return Ok(format!("deleted {made}")),
        Some(Ok(false)) => return Ok(format!("{made} was gone already")),
        Some(Err(error)) => error.to_string(),
        None => format!("no answer for {} s", limit.as_secs()),
    };
    let by_hand = match made {
        SetupObject::Path(path, _) => format!("send {address} DELETE {path}"),
        _ => by_hand(address, &made.undoing()),
    };
    Err(format!("{made} could not be deleted ({cause}); by hand: {by_hand}"))
}

/// Returns a command that the user can run in a shell.
fn by_hand(address: &Address, words: &[&str]) -> String {
    let place = match address {
        Address::Service(_) => format!("(-h and -p of the primary of {address})"),
        address => address.options(),
    };
    format!("redis-cli {place} {}", words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_for_the_user_is_quoted_for_a_shell() {
        let address = Address::Tcp { host: "db".to_owned(), port: 6380 };
        let command = |value| by_hand(&address, &["CONFIG", "SET", "save", value]);
        assert_eq!(command("3600 1"), "redis-cli -h db -p 6380 CONFIG SET save '3600 1'");
        assert!(command("").ends_with("CONFIG SET save ''"));
        assert!(command("it's").ends_with(r"CONFIG SET save 'it'\''s'"));
    }
}
