//! The first commands on a connection to memcached (the greeting), and the meaning of error replies to them.

use crate::protocol::{GreetingCommand, GreetingParameters, GreetingRefusal};

/// The ping: memcached's meta command that does nothing.
pub(in crate::protocol) const PING: &[u8] = b"mn\r\n";
/// The reply to the ping.
pub(in crate::protocol) const PONG: &[u8] = b"MN\r\n";

/// The error of a server with too many clients.
const TOO_MANY: &[u8] = b"ERROR Too many open connections";

/// Encodes a command of fixed words, without a value.
pub(in crate::protocol) fn encode(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = words.join(&b' ');
    bytes.extend_from_slice(b"\r\n");
    bytes
}

/// Returns the greeting: a ping and, if there is a password, the authentication before the ping.
///
/// To authenticate, a client sends a `set` of any key. The value of this `set` contains the user and the password. The
/// item expires at once, so a server without authentication does not store the password.
pub(in crate::protocol) fn introduce(who: &GreetingParameters) -> Vec<(GreetingCommand, Vec<u8>)> {
    let auth = who.password.map(|password| {
        let value = format!("{} {password}", who.user.unwrap_or_default());
        (GreetingCommand::Auth, format!("set redyno-auth 0 -1 {}\r\n{value}\r\n", value.len()).into_bytes())
    });
    auth.into_iter().chain([(GreetingCommand::Ping, PING.to_vec())]).collect()
}

/// Returns the meaning of an error reply to a command of the greeting.
pub(in crate::protocol) fn refusal(step: GreetingCommand, line: &[u8]) -> GreetingRefusal {
    match (step, line) {
        (_, line) if line.starts_with(TOO_MANY) => GreetingRefusal::TooManyClients,
        (_, b"CLIENT_ERROR unauthenticated") => GreetingRefusal::PasswordNeeded,
        (GreetingCommand::Auth, b"CLIENT_ERROR authentication failure") => GreetingRefusal::WrongPassword,
        // memcached has this command, like all meta commands, since 1.6.
        (GreetingCommand::Ping, b"ERROR") => GreetingRefusal::TooOld,
        _ => GreetingRefusal::Other,
    }
}
