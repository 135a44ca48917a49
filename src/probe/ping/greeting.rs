//! What is said on a new connection before the first PING: who we are, which protocol, what we are called.

use crate::{protocol::encode_command, target::Target};

use super::failure::Failure;

/// The name that the connection has in CLIENT LIST.
const NAME: &[u8] = b"redyno-ping";

/// One command of the greeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Auth,
    Hello,
    SetName,
}

/// The commands that a target needs, and their bytes.
#[derive(Debug, Clone)]
pub(super) struct Greeting {
    /// In the order in which they are written and answered; never empty.
    pub steps: Vec<Step>,
    /// All of them.
    pub bytes: Vec<u8>,
    password: Option<String>,
}

impl Greeting {
    /// For a target.
    pub(super) fn new(target: &Target) -> Self {
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
        greeting.push(Step::SetName, &[b"CLIENT", b"SETNAME", NAME]);
        greeting
    }

    fn push(&mut self, step: Step, args: &[&[u8]]) {
        self.steps.push(step);
        self.bytes.extend(encode_command(args));
    }

    /// What an error reply to `step` means: a failure, or nothing where the connection can do without the step.
    pub(super) fn judge(&self, step: Step, reply: &str) -> Result<(), Failure> {
        let command = match step {
            Step::Auth => "AUTH",
            Step::Hello => "HELLO 3",
            // A user may lack the right to it, and old servers the command.
            Step::SetName => return Ok(()),
        };
        // A server without AUTH repeats its arguments in the error.
        let reply = match self.password.as_deref() {
            Some(password) if !password.is_empty() => reply.replace(password, "…"),
            _ => reply.to_owned(),
        };
        Err(Failure::TurnedDown { command, reply })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Credentials, Password};

    fn target(user: Option<&str>) -> Target {
        let credentials = Credentials { user: user.map(str::to_owned), password: Password::new("s3cret") };
        Target { credentials: Some(credentials), resp3: true, ..Target::default() }
    }

    #[test]
    fn credentials_come_first_and_the_name_last() {
        let greeting = Greeting::new(&target(Some("ann")));
        assert_eq!(greeting.steps, [Step::Auth, Step::Hello, Step::SetName]);
        assert!(
            greeting
                .bytes
                .starts_with(b"*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$6\r\ns3cret\r\n*2\r\n$5\r\nHELLO\r\n")
        );
        assert_eq!(Greeting::new(&Target::default()).steps, [Step::SetName]);
    }

    #[test]
    fn a_password_that_the_server_repeats_is_taken_out_of_the_message() {
        let reply = "ERR unknown command `AUTH`, with args beginning with: `s3cret`, ";
        let failure = Greeting::new(&target(None)).judge(Step::Auth, reply).unwrap_err();
        assert!(!failure.to_string().contains("s3cret"), "{failure}");
    }

    #[test]
    fn only_the_name_can_be_done_without() {
        let greeting = Greeting::new(&target(None));
        assert!(greeting.judge(Step::SetName, "NOPERM no").is_ok());
        assert!(greeting.judge(Step::Hello, "NOPROTO unsupported protocol version").is_err());
    }
}
