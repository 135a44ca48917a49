//! What it means that a server turned down a step of the first contact.

use super::{Party, ReachError, Target, TurnedDown};
use crate::protocol::{Refusal, Step};

/// The diagnosis.
pub(super) fn diagnosis(target: &Target, turned_down: &TurnedDown) -> ReachError {
    let (address, party) = (target.address.clone(), Party::of(target));
    // A server without AUTH (it may have been renamed) repeats its arguments.
    let message = turned_down.reply.split(", with args").next().unwrap_or_default().to_owned();
    let command = match turned_down.step {
        Step::Hello => "HELLO",
        Step::SetName | Step::Tracking => "CLIENT",
        Step::Connection => target.dialect.words().ping,
        step => target.dialect.named(step),
    };
    match turned_down.refusal {
        Refusal::TooManyClients => ReachError::TooManyClients(party),
        Refusal::ProtectedMode => ReachError::ProtectedMode(address),
        Refusal::PasswordNeeded => ReachError::PasswordNeeded(party),
        Refusal::WrongPassword => {
            let user = target.credentials.as_ref().and_then(|credentials| credentials.user.as_ref());
            let named = user.map(|user| format!("user '{user}'"));
            ReachError::WrongPassword { party, user: named.unwrap_or_else(|| "the default user".into()) }
        }
        Refusal::PasswordNotAsked => ReachError::PasswordNotAsked(party),
        Refusal::NotPermitted => ReachError::NotPermitted { address, command, message },
        Refusal::Loading => ReachError::Loading(address),
        Refusal::Busy => ReachError::Busy { address, message },
        Refusal::NoSuchDb => ReachError::NoSuchDb { address, db: target.db, message },
        Refusal::NoResp3 => ReachError::NoResp3(address),
        Refusal::TooOld => ReachError::TooOld(address),
        Refusal::Other => ReachError::ErrorReply { address, command, message },
    }
}
