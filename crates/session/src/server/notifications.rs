//! Switches a server's keyspace notifications on. A setup adds letters to `notify-keyspace-events`. At the end, the
//! session restores this parameter like every other parameter that the session set. redyno adds the letters again at a
//! restarted server, and at the new primary after a failover. redyno also adds the letters again if another client has
//! removed them, for example another session that had added them.

use super::{
    Ledger, ServerError, config,
    link::RedisSender,
    parameter::NOTIFICATIONS,
    tune::{TuneStep, set_parameter},
    tuned::letters,
};
use crate::endpoint::Target;

/// Returns the value `now` with the letters of `more` added. Returns `None` if `now` already includes all these
/// letters.
pub fn with_letters(now: &str, more: &str) -> Option<String> {
    let known = letters(now);
    let missing: String = more.chars().filter(|letter| !known.contains(letter)).collect();
    (!missing.is_empty()).then(|| now.to_owned() + &missing)
}

/// Adds the letters to the parameter, unless the parameter already contains them. The ledger and the marker
/// record the value to restore. The ledger also remembers the letters, even if the parameter contains them already.
pub(super) async fn add(
    wire: &RedisSender,
    target: &Target,
    letters: &str,
    ledger: &Ledger,
) -> Result<(), ServerError> {
    ledger.need_notifications(letters);
    let now = config::get(wire, NOTIFICATIONS.name).await?;
    let Some(value) = with_letters(&now, letters) else { return Ok(()) };
    set_parameter(wire, target, &TuneStep { parameter: &NOTIFICATIONS, value, ledger: ledger.clone() })
        .await
        .map(drop)
}

/// Adds all letters again that the session needs, unless the session is ending.
pub(super) async fn add_again(
    wire: &RedisSender,
    target: &Target,
    ledger: &Ledger,
) -> Result<(), ServerError> {
    let letters = ledger.notifications();
    if letters.is_empty() { Ok(()) } else { add(wire, target, &letters, ledger).await }
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
