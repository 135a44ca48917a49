//! What it means that a server turned down a step of the first contact.

use super::{
    ReachError, Target,
    greeting::{TOO_MANY, TurnedDown},
};
use crate::protocol::Step;

/// The diagnosis.
pub(super) fn diagnosis(target: &Target, turned_down: &TurnedDown) -> ReachError {
    let (address, line) = (target.address.clone(), turned_down.reply.as_str());
    match turned_down.step {
        Step::Auth if line.starts_with("WRONGPASS") || line.starts_with("ERR invalid password") => {
            let user = target.credentials.as_ref().and_then(|credentials| credentials.user.as_ref());
            let named = user.map(|user| format!("user '{user}'"));
            ReachError::WrongPassword { address, user: named.unwrap_or_else(|| "the default user".into()) }
        }
        Step::Auth
            if line.contains("without any password configured") || line.contains("no password is set") =>
        {
            ReachError::PasswordNotAsked(address)
        }
        // A server without AUTH (it may have been renamed) repeats its arguments.
        Step::Auth => refusal(target, "AUTH", line.split(", with args").next().unwrap_or_default()),
        Step::Hello if line.starts_with("NOPROTO") || line.starts_with("ERR unknown command") => {
            ReachError::NoResp3(address)
        }
        Step::Hello => refusal(target, "HELLO", line),
        Step::Select if line.starts_with("ERR") => {
            ReachError::NoSuchDb { address, db: target.db, message: line.to_owned() }
        }
        Step::Select => refusal(target, "SELECT", line),
        Step::SetName => refusal(target, "CLIENT", line),
        Step::Ping | Step::Connection => refusal(target, "PING", line),
    }
}

/// What an error reply means, whatever was asked.
fn refusal(target: &Target, command: &'static str, line: &str) -> ReachError {
    let (address, message) = (target.address.clone(), line.to_owned());
    match line.split(' ').next().unwrap_or_default() {
        "NOAUTH" => ReachError::PasswordNeeded(address),
        "NOPERM" => ReachError::NotPermitted { address, command, message },
        "LOADING" => ReachError::Loading(address),
        "DENIED" => ReachError::ProtectedMode(address),
        "BUSY" | "MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN" => ReachError::Busy { address, message },
        _ if line.starts_with(TOO_MANY) => ReachError::TooManyClients(address),
        _ => ReachError::ErrorReply { address, command, message },
    }
}
