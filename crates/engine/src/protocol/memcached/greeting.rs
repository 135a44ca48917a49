//! What is said first to a memcached, and what its refusals mean.

use crate::protocol::{Introduction, Refusal, Step};

/// The meta command that does nothing.
pub(in crate::protocol) const PING: &[u8] = b"mn\r\n";
/// The answer to it.
pub(in crate::protocol) const PONG: &[u8] = b"MN\r\n";

/// What a server says to a client beyond its limit.
const TOO_MANY: &[u8] = b"ERROR Too many open connections";

/// Encodes a command of fixed words, which has no value.
pub(in crate::protocol) fn encode(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = words.join(&b' ');
    bytes.extend_from_slice(b"\r\n");
    bytes
}

/// Who we are, where there is a password, then whether somebody is there.
///
/// Authentication is a `set` of any key whose value is user and password. Its item is expired from the beginning, so that
/// a server that asks nobody keeps nothing of it.
pub(in crate::protocol) fn introduce(who: &Introduction) -> Vec<(Step, Vec<u8>)> {
    let auth = who.password.map(|password| {
        let value = format!("{} {password}", who.user.unwrap_or_default());
        (Step::Auth, format!("set redyno-auth 0 -1 {}\r\n{value}\r\n", value.len()).into_bytes())
    });
    auth.into_iter().chain([(Step::Ping, PING.to_vec())]).collect()
}

/// What it means that a step is answered with this error.
pub(in crate::protocol) fn refusal(step: Step, line: &[u8]) -> Refusal {
    match (step, line) {
        (_, line) if line.starts_with(TOO_MANY) => Refusal::TooManyClients,
        (_, b"CLIENT_ERROR unauthenticated") => Refusal::PasswordNeeded,
        (Step::Auth, b"CLIENT_ERROR authentication failure") => Refusal::WrongPassword,
        // It came with 1.6, as all meta commands.
        (Step::Ping, b"ERROR") => Refusal::TooOld,
        _ => Refusal::Other,
    }
}
