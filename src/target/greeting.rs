//! What is said first on a new connection: who we are, which protocol, which database, what we are called.

use thiserror::Error;

use super::Target;
use crate::{
    foreign,
    protocol::{encode_command, error_code},
};

/// One command of a greeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Auth,
    Hello,
    Select,
    SetName,
}

/// The first commands of a connection, pipelined, and what their replies mean.
#[derive(Debug, Clone)]
pub struct Greeting {
    /// In the order in which they are written and answered; never empty.
    steps: Vec<Step>,
    bytes: Vec<u8>,
    password: Option<String>,
}

/// The server turned down what a connection cannot do without.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{command} was turned down: {reply}")]
pub struct TurnedDown {
    /// The command, without its arguments.
    pub command: &'static str,
    /// The server's error, without the password that some servers repeat.
    pub reply: String,
}

impl Greeting {
    /// For a connection to `target` that calls itself `name` in `CLIENT LIST`.
    pub fn new(target: &Target, name: &str) -> Self {
        let mut greeting = Self { steps: Vec::new(), bytes: Vec::new(), password: None };
        if let Some(credentials) = &target.credentials {
            let password = credentials.password.reveal();
            match &credentials.user {
                Some(user) => greeting.push(Step::Auth, &[b"AUTH", user.as_bytes(), password.as_bytes()]),
                None => greeting.push(Step::Auth, &[b"AUTH", password.as_bytes()]),
            }
            greeting.password = Some(password.to_owned());
        }
        if target.resp3 {
            greeting.push(Step::Hello, &[b"HELLO", b"3"]);
        }
        if target.db != 0 {
            greeting.push(Step::Select, &[b"SELECT", target.db.to_string().as_bytes()]);
        }
        greeting.push(Step::SetName, &[b"CLIENT", b"SETNAME", name.as_bytes()]);
        greeting
    }

    fn push(&mut self, step: Step, args: &[&[u8]]) {
        self.steps.push(step);
        self.bytes.extend(encode_command(args));
    }

    /// All commands.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many replies they get.
    pub fn replies(&self) -> usize {
        self.steps.len()
    }

    /// What an error as reply number `i` means: the end, or nothing where the connection can do without the
    /// command.
    ///
    /// # Errors
    /// When it cannot.
    pub fn judge(&self, i: usize, line: &[u8]) -> Result<(), TurnedDown> {
        let is_turned_away = is_turned_away(line);
        let command = match self.steps.get(i) {
            // Said whatever was asked, before the server hangs up.
            _ if is_turned_away => "the connection",
            Some(Step::Auth) => "AUTH",
            Some(Step::Hello) => "HELLO 3",
            Some(Step::Select) => "SELECT",
            // A user may lack the right to it, and old servers the command.
            Some(Step::SetName) | None => return Ok(()),
        };
        let reply = without_password(line, self.password.as_deref().unwrap_or_default());
        Err(TurnedDown { command, reply })
    }
}

impl TurnedDown {
    /// The kind by which it is counted: `maxclients`, or the code of the server's error.
    pub fn kind(&self) -> &str {
        if self.reply.starts_with(TOO_MANY) { "maxclients" } else { error_code(self.reply.as_bytes()) }
    }
}

/// What a server says to a client beyond its limit.
pub(super) const TOO_MANY: &str = "ERR max number of clients";

/// Whether an error is one that a server writes before it hangs up, whatever the question was.
pub(super) fn is_turned_away(line: &[u8]) -> bool {
    line.starts_with(b"DENIED") || line.starts_with(TOO_MANY.as_bytes())
}

/// An error reply as text, without the password: a server without AUTH repeats its arguments.
pub(super) fn without_password(line: &[u8], password: &str) -> String {
    if password.is_empty() {
        return foreign::bytes(line);
    }
    let mut kept = Vec::new();
    let mut from = 0;
    for at in memchr::memmem::find_iter(line, password.as_bytes()) {
        kept.extend_from_slice(&line[from..at]);
        kept.extend_from_slice("…".as_bytes());
        from = at + password.len();
    }
    kept.extend_from_slice(&line[from..]);
    foreign::bytes(&kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Credentials, Password};

    fn text(target: &Target) -> String {
        String::from_utf8(Greeting::new(target, "me").bytes().to_vec()).unwrap().replace("\r\n", " ")
    }

    fn with_password(user: Option<&str>) -> Target {
        let credentials = Credentials { user: user.map(str::to_owned), password: Password::new("s3cret") };
        Target { credentials: Some(credentials), resp3: true, db: 3, ..Target::default() }
    }

    #[test]
    fn credentials_come_first_and_the_name_last() {
        assert_eq!(text(&Target::default()), "*3 $6 CLIENT $7 SETNAME $2 me ");
        assert_eq!(
            text(&with_password(Some("ann"))),
            "*3 $4 AUTH $3 ann $6 s3cret *2 $5 HELLO $1 3 *2 $6 SELECT $1 3 *3 $6 CLIENT $7 SETNAME $2 me "
        );
        assert!(text(&with_password(None)).starts_with("*2 $4 AUTH $6 s3cret "));
    }

    #[test]
    fn a_server_that_turns_clients_away_is_believed_whatever_was_asked() {
        let turned = Greeting::new(&Target::default(), "me").judge(0, b"ERR max number of clients reached");
        let turned = turned.unwrap_err();
        assert_eq!(turned.kind(), "maxclients");
        assert_eq!(turned.to_string(), "the connection was turned down: ERR max number of clients reached");
    }

    #[test]
    fn only_the_name_can_be_done_without() {
        let greeting = Greeting::new(&with_password(None), "me");
        let verdicts: Vec<_> =
            (0..greeting.replies()).map(|i| greeting.judge(i, b"NOPERM no").is_ok()).collect();
        assert_eq!(verdicts, [false, false, false, true]);
    }

    #[test]
    fn a_password_that_the_server_repeats_is_taken_out_of_the_message() {
        let reply = b"ERR unknown command `AUTH`, with args beginning with: `s3cret`, ";
        let turned_down = Greeting::new(&with_password(None), "me").judge(0, reply).unwrap_err();
        assert!(!turned_down.to_string().contains("s3cret"), "{turned_down}");
    }
}
