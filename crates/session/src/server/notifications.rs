//! Switches notifications of the keyspace on: a setup adds letters to `notify-keyspace-events`, which are set back at the
//! end like every parameter that a session sets.

use super::{
    Ledger, ServerError, config,
    link::Wire,
    parameter::NOTIFICATIONS,
    tune::{TuneStep, turn},
};
use crate::endpoint::Target;

/// The letters for which the letter A stands.
const ALL: &str = "g$lshzxetd";

/// Returns the value with these letters added to those of `now`; `None` if it has all of them.
pub fn with_letters(now: &str, more: &str) -> Option<String> {
    let is_there = |letter: char| now.contains(letter) || now.contains('A') && ALL.contains(letter);
    let missing: String = more.chars().filter(|letter| !is_there(*letter)).collect();
    (!missing.is_empty()).then(|| now.to_owned() + &missing)
}

/// Adds these letters, unless they are set. The ledger and the marker have the value to set back.
pub(super) async fn add(
    wire: &Wire,
    target: &Target,
    letters: &str,
    ledger: &Ledger,
) -> Result<(), ServerError> {
    let now = config::get(wire, NOTIFICATIONS.name).await?;
    let Some(value) = with_letters(&now, letters) else { return Ok(()) };
    turn(wire, target, &TuneStep { parameter: &NOTIFICATIONS, value, ledger: ledger.clone() }).await.map(drop)
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
