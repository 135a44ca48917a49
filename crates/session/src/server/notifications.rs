//! Switches a server's keyspace notifications on. A setup adds letters to `notify-keyspace-events`. At the end, the
//! session restores this parameter like every other parameter that the session set. A restarted server and the new
//! primary after a failover lack the letters, and get them again.

use super::{
    Ledger, ServerError, TunedParameter, config,
    link::RedisSender,
    parameter::NOTIFICATIONS,
    tune::{TuneStep, set_parameter},
};
use crate::endpoint::Target;

/// The letters that the letter A includes.
const ALL: &str = "g$lshzxetd";

/// Returns the value `now` with the letters of `more` added. Returns `None` if `now` already includes all these
/// letters.
pub fn with_letters(now: &str, more: &str) -> Option<String> {
    let is_there = |letter: char| now.contains(letter) || now.contains('A') && ALL.contains(letter);
    let missing: String = more.chars().filter(|letter| !is_there(*letter)).collect();
    (!missing.is_empty()).then(|| now.to_owned() + &missing)
}

/// Adds the letters to the parameter, unless the parameter already contains them. The ledger and the marker
/// record the value to restore.
pub(super) async fn add(
    wire: &RedisSender,
    target: &Target,
    letters: &str,
    ledger: &Ledger,
) -> Result<(), ServerError> {
    let now = config::get(wire, NOTIFICATIONS.name).await?;
    let Some(value) = with_letters(&now, letters) else { return Ok(()) };
    set_parameter(wire, target, &TuneStep { parameter: &NOTIFICATIONS, value, ledger: ledger.clone() })
        .await
        .map(drop)
}

/// Adds the letters again that the session had added before the server was restarted or replaced.
pub(super) async fn add_again(
    wire: &RedisSender,
    target: &Target,
    ledger: &Ledger,
) -> Result<(), ServerError> {
    let Some(TunedParameter { from, to, .. }) = ledger.tuned(NOTIFICATIONS.name) else { return Ok(()) };
    let own = to.last().and_then(|to| with_letters(&from, to));
    let added: String = own.unwrap_or_default().chars().skip(from.chars().count()).collect();
    add(wire, target, &added, ledger).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_added_to_those_of_others() {
        let with = |now, more| with_letters(now, more);
        assert_eq!((with("AKE", "K$"), with("$Kx", "K$")), (None, None));
        assert_eq!((with("", "K$").as_deref(), with("AE", "K$m").as_deref()), (Some("K$"), Some("AEKm")));
    }
}
