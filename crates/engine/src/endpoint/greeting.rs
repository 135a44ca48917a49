//! The first commands on a new connection. These commands set the authentication, protocol, database and client name.
//! This module creates the requests and interprets the replies. This module uses no sockets.
//!
//! ```text
//! load, ping      all steps at once ─► a reply each ─► done
//! first contact   PING ─► reply ─► AUTH ─► reply ─► … ─► PING ─► reply ─► done
//! ```

use std::ops::Range;

use thiserror::Error;

use super::Target;
use crate::{
    protocol::{Dialect, GreetingCommand, GreetingParameters, GreetingRefusal, Reply, error_code},
    untrusted,
};

/// The first commands of a connection, with the meaning of the replies to these commands.
#[derive(Debug, Clone)]
pub struct Greeting {
    /// The commands in the order in which they are sent. Each command comes with the position of its end in `bytes`.
    steps: Vec<(GreetingCommand, usize)>,
    bytes: Vec<u8>,
    dialect: Dialect,
    /// Whether each command is sent only after the reply to the previous command.
    is_stepwise: bool,
    password: Option<String>,
}

/// The error if the server refuses a command that a connection needs.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{} was refused: {reply}", .dialect.named(*step))]
pub struct GreetingError {
    /// The command.
    pub step: GreetingCommand,
    /// The dialect.
    pub dialect: Dialect,
    /// The server's error message. Some servers repeat the password in this message. redyno removes the password.
    pub reply: String,
    /// The error's meaning.
    pub refusal: GreetingRefusal,
}

impl Greeting {
    /// Creates the greeting of a connection to `target`. `name` is the client name of the connection in
    /// `CLIENT LIST`. All commands are sent at once.
    pub fn new(target: &Target, name: &str) -> Self {
        Self::of(target, introduction(target, Some(name)), false)
    }

    /// Creates the greeting of redis-benchmark. The greeting contains only the commands that the options require: AUTH,
    /// `CLIENT TRACKING on` (if `tracks` is true), SELECT and HELLO 3. The greeting may be empty. All commands are sent
    /// at once.
    pub fn bare(target: &Target, tracks: bool) -> Self {
        let tracking =
            || (GreetingCommand::Tracking, target.dialect.encode(&[b"CLIENT", b"TRACKING", b"on"]));
        let mut commands = introduction(target, None);
        commands.extend(tracks.then(tracking));
        commands.sort_by_key(|(step, _)| {
            [GreetingCommand::Auth, GreetingCommand::Tracking, GreetingCommand::Select]
                .iter()
                .position(|s| s == step)
                .unwrap_or(3)
        });
        Self::of(target, commands, false)
    }

    /// Counts the commands of these steps as redyno's own calls to `target`, after the steps were sent.
    pub(crate) fn count(&self, target: &Target, sent: Range<usize>) {
        let steps = self.steps.iter().skip(sent.start).take(sent.len());
        for name in steps.filter_map(|(step, _)| step.command()) {
            target.side_calls.count(&target.address, &[name.as_bytes()]);
        }
    }

    /// Returns whether the greeting contains no command.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Creates the greeting for the first contact with `target`. Each command is sent only after the reply to the
    /// previous command. The password is sent only after a reply to PING.
    pub(super) fn stepwise(target: &Target, name: Option<&str>) -> Self {
        let ping = || (GreetingCommand::Ping, target.dialect.ping().to_vec());
        // An HTTP server may close the connection after the first reply, and one reply is enough.
        let last = target.dialect.has_keys().then(ping);
        let steps = [ping()].into_iter().chain(introduction(target, name)).chain(last);
        Self::of(target, steps.collect(), true)
    }

    fn of(target: &Target, commands: Vec<(GreetingCommand, Vec<u8>)>, is_stepwise: bool) -> Self {
        let password = target.credentials.as_ref().map(|who| who.password.reveal().to_owned());
        let (mut steps, mut bytes) = (Vec::new(), Vec::new());
        for (step, words) in commands {
            bytes.extend(words);
            steps.push((step, bytes.len()));
        }
        Self { steps, bytes, dialect: target.dialect, is_stepwise, password }
    }

    /// Returns the protocol of the encoded commands.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Begins the greeting on a new connection. Returns the progress of this greeting, and the first bytes to send.
    pub fn begin(&self) -> (Greeter, &[u8]) {
        (Greeter { answered: 0 }, if self.is_stepwise { self.step(0) } else { &self.bytes })
    }

    /// Returns the bytes of command number `i`, from 0.
    fn step(&self, i: usize) -> &[u8] {
        let from = i.checked_sub(1).map_or(0, |before| self.steps[before].1);
        &self.bytes[from..self.steps[i].1]
    }

    /// Interprets reply number `i`, if this reply is an error. Fails if the connection cannot be used without
    /// the refused command.
    fn judge(&self, i: usize, line: &[u8]) -> Result<(), GreetingError> {
        let refusal = self.dialect.refusal(self.steps[i].0, line);
        let step = match self.steps[i].0 {
            // The server sends this error in reply to any command, and then disconnects.
            _ if refusal.refuses_all_clients() => GreetingCommand::Connection,
            // The user may lack the permission, or the server may be too old.
            GreetingCommand::SetName => return Ok(()),
            _ if refusal == GreetingRefusal::Harmless => return Ok(()),
            // PING may be permitted after authentication. Without credentials, PING stays forbidden.
            GreetingCommand::Ping if i == 0 && self.password.is_some() && refusal.may_need_login() => {
                return Ok(());
            }
            step => step,
        };
        let reply = without_password(line, self.password.as_deref().unwrap_or_default());
        Err(GreetingError { step, dialect: self.dialect, reply, refusal })
    }

    /// Returns whether the password must not be sent, because reply number `i` shows that the server needs no password.
    fn forbids_password(&self, i: usize) -> bool {
        let is_first = self.is_stepwise && i == 0;
        is_first && self.password.is_some() && self.dialect.reply_proves_no_password()
    }
}

/// Returns the first commands for `target`: authentication, protocol, database, client name.
fn introduction(target: &Target, name: Option<&str>) -> Vec<(GreetingCommand, Vec<u8>)> {
    let credentials = target.credentials.as_ref();
    let user = credentials.and_then(|who| who.user.as_deref());
    let password = credentials.map(|who| who.password.reveal());
    target.dialect.greeting_commands(&GreetingParameters { user, password, db: target.db, name })
}

/// The progress of a connection's greeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeter {
    /// The number of replies so far. A small type saves memory, because every connection has a `Greeter`.
    answered: u8,
}

/// The next step of a greeting.
#[derive(Debug, PartialEq, Eq)]
pub enum GreetingStep<'g> {
    /// More replies are expected.
    AwaitReply,
    /// These bytes must be sent next.
    SendNext(&'g [u8]),
    /// The greeting is complete. Later replies belong to other requests.
    Done,
}

impl Greeter {
    /// Returns the command that gets the next reply. The greeting must not be complete yet.
    pub fn awaits(&self, greeting: &Greeting) -> GreetingCommand {
        greeting.steps[usize::from(self.answered)].0
    }

    /// Processes the next reply to `greeting`, and returns the next step. The greeting must not be complete
    /// yet.
    ///
    /// # Errors
    /// Fails if the reply refuses a command that the connection needs.
    pub fn process_reply<'g>(
        &mut self,
        reply: Reply,
        greeting: &'g Greeting,
    ) -> Result<GreetingStep<'g>, GreetingError> {
        let place = usize::from(self.answered);
        if let Reply::Error(line) = reply {
            greeting.judge(place, line)?;
        } else if greeting.forbids_password(place) {
            let reply = "it needs no password".to_owned();
            let (dialect, refusal) = (greeting.dialect, GreetingRefusal::NoPasswordSet);
            return Err(GreetingError { step: GreetingCommand::Auth, dialect, reply, refusal });
        }
        self.answered += 1;
        Ok(if place + 1 == greeting.steps.len() {
            GreetingStep::Done
        } else if greeting.is_stepwise {
            GreetingStep::SendNext(greeting.step(place + 1))
        } else {
            GreetingStep::AwaitReply
        })
    }
}

/// The description of a reply that belongs to no request and is not an error.
pub const UNREQUESTED_REPLY: &str = "the server sent a reply without a request";

impl GreetingError {
    /// Creates the error from a message about the connection itself, which the server sent without a request.
    pub fn from_unrequested(dialect: Dialect, line: &[u8]) -> Self {
        let (step, reply) = (GreetingCommand::Connection, untrusted::bytes(line));
        Self { step, dialect, reply, refusal: dialect.refusal(step, line) }
    }

    /// Returns the kind under which the error is counted: `maxclients`, or the code of the server's error. For
    /// memcached, the kind is the code that Redis would send in the same case, such as `NOAUTH`.
    pub fn kind(&self) -> &str {
        match self.refusal {
            GreetingRefusal::TooManyClients => "maxclients",
            GreetingRefusal::PasswordNeeded => "NOAUTH",
            GreetingRefusal::WrongPassword => "WRONGPASS",
            _ => error_code(self.reply.as_bytes()),
        }
    }
}

/// Returns an error reply as text, without the password. The reply may contain the password. A server without the
/// command AUTH repeats the arguments in its error.
fn without_password(line: &[u8], password: &str) -> String {
    if password.is_empty() {
        return untrusted::bytes(line);
    }
    let mut kept = Vec::new();
    let mut from = 0;
    for at in memchr::memmem::find_iter(line, password.as_bytes()) {
        kept.extend_from_slice(&line[from..at]);
        kept.extend_from_slice("…".as_bytes());
        from = at + password.len();
    }
    kept.extend_from_slice(&line[from..]);
    untrusted::bytes(&kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::{Credentials, Password};

    fn text(bytes: &[u8]) -> String {
        String::from_utf8(bytes.to_vec()).unwrap().replace("\r\n", " ")
    }

    fn with_password(user: Option<&str>) -> Target {
        let credentials = Credentials { user: user.map(str::to_owned), password: Password::new("s3cret") };
        Target { credentials: Some(credentials), dialect: Dialect::Resp3, db: 3, ..Target::default() }
    }

    /// Returns the result of a greeting in which reply number `i` is `error` and all replies before it are good.
    fn heard(greeting: &Greeting, i: usize, error: &[u8]) -> Result<(), GreetingError> {
        let (mut greeter, _) = greeting.begin();
        for _ in 0..i {
            greeter.process_reply(Reply::Value, greeting)?;
        }
        greeter.process_reply(Reply::Error(error), greeting).map(|_| ())
    }

    #[test]
    fn credentials_come_first_and_the_name_last() {
        let said = |target: &Target| text(Greeting::new(target, "me").begin().1);
        assert_eq!(said(&Target::default()), "*3 $6 CLIENT $7 SETNAME $2 me ");
        assert_eq!(
            said(&with_password(Some("ann"))),
            "*3 $4 AUTH $3 ann $6 s3cret *2 $5 HELLO $1 3 *2 $6 SELECT $1 3 *3 $6 CLIENT $7 SETNAME $2 me "
        );
        assert!(said(&with_password(None)).starts_with("*2 $4 AUTH $6 s3cret "));
    }

    #[test]
    fn a_bare_greeting_is_that_of_redis_benchmark() {
        assert!(Greeting::bare(&Target::default(), false).is_empty());
        let target = with_password(Some("ann"));
        assert_eq!(
            text(Greeting::bare(&target, true).begin().1),
            "*3 $4 AUTH $3 ann $6 s3cret *3 $6 CLIENT $8 TRACKING $2 on *2 $6 SELECT $1 3 *2 $5 HELLO $1 3 "
        );
    }

    #[test]
    fn a_greeting_is_done_with_its_last_reply() {
        let greeting = Greeting::new(&with_password(None), "me");
        let (mut greeter, _) = greeting.begin();
        let turns = [(); 4].map(|()| greeter.process_reply(Reply::Value, &greeting).unwrap());
        assert_eq!(
            turns,
            [
                GreetingStep::AwaitReply,
                GreetingStep::AwaitReply,
                GreetingStep::AwaitReply,
                GreetingStep::Done
            ]
        );
    }

    #[test]
    fn an_unknown_server_gets_no_password_before_its_first_reply() {
        let greeting = Greeting::stepwise(&with_password(None), None);
        let (mut greeter, first) = greeting.begin();
        let mut said = vec![text(first)];
        while let GreetingStep::SendNext(bytes) = greeter.process_reply(Reply::Value, &greeting).unwrap() {
            said.push(text(bytes));
        }
        let ping = "*1 $4 PING ";
        assert_eq!(said, [ping, "*2 $4 AUTH $6 s3cret ", "*2 $5 HELLO $1 3 ", "*2 $6 SELECT $1 3 ", ping]);
    }

    #[test]
    fn a_server_may_require_authentication_before_it_answers_ping() {
        let [open, known] =
            [Target::default(), with_password(None)].map(|target| Greeting::stepwise(&target, None));
        assert!(heard(&known, 0, b"NOAUTH Authentication required.").is_ok());
        assert!(heard(&known, 4, b"NOPERM no").is_err(), "nothing is to follow");
        assert!(heard(&open, 0, b"NOAUTH Authentication required.").is_err());
    }

    #[test]
    fn a_rejected_connection_is_recognised_in_the_reply_to_any_command() {
        let greeting = Greeting::new(&Target::default(), "me");
        let turned = heard(&greeting, 0, b"ERR max number of clients reached").unwrap_err();
        assert_eq!(turned.kind(), "maxclients");
        assert_eq!(turned.to_string(), "the connection was refused: ERR max number of clients reached");
    }

    #[test]
    fn a_memcached_without_authentication_gets_no_password() {
        let target = Target { dialect: Dialect::Memcached, ..with_password(Some("ann")) };
        let said = Greeting::new(&target, "me");
        assert_eq!(text(said.begin().1), "set redyno-auth 0 -1 10 ann s3cret mn ");
        let first = Greeting::stepwise(&target, None);
        assert!(heard(&first, 0, b"CLIENT_ERROR unauthenticated").is_ok());
        let (mut greeter, _) = first.begin();
        let turned_down = greeter.process_reply(Reply::Value, &first).unwrap_err();
        assert_eq!(turned_down.refusal, GreetingRefusal::NoPasswordSet);
        let wrong = heard(&said, 0, b"CLIENT_ERROR authentication failure").unwrap_err();
        assert_eq!(wrong.kind(), "WRONGPASS");
        let full = heard(&said, 0, b"ERROR Too many open connections").unwrap_err();
        assert_eq!((full.kind(), full.step), ("maxclients", GreetingCommand::Connection));
    }

    #[test]
    fn only_the_client_name_may_be_refused() {
        let greeting = Greeting::new(&with_password(None), "me");
        let verdicts = [0, 1, 2, 3].map(|i| heard(&greeting, i, b"NOPERM no").is_ok());
        assert_eq!(verdicts, [false, false, false, true]);
    }

    #[test]
    fn a_password_that_the_server_repeats_is_removed_from_the_message() {
        let reply = b"ERR unknown command `AUTH`, with args beginning with: `s3cret`, ";
        let turned_down = heard(&Greeting::new(&with_password(None), "me"), 0, reply).unwrap_err();
        assert!(!turned_down.to_string().contains("s3cret"), "{turned_down}");
    }
}
