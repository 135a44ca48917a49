//! What stays the same for the whole run of the engine.

use std::{net::ToSocketAddrs, path::PathBuf, time::Duration};

use thiserror::Error;

use super::Endpoint;
use crate::{
    protocol::encode_command,
    target::{Address, Target},
};

/// The name that load connections give themselves, so that `CLIENT LIST` tells them apart.
pub const CLIENT_NAME: &str = "redyno-load";

/// What the engine runs against, and with what.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The server.
    pub target: Target,
    /// Worker threads, at least 1.
    pub threads: usize,
    /// Where all random numbers come from: the same seed asks the same requests.
    pub seed: u64,
    /// How long a reply may take before its connection is given up.
    pub timeout: Duration,
}

/// Why the engine cannot start.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The host has no address.
    #[error("the host of {address} has no address: {cause}")]
    Resolve {
        /// The target.
        address: Address,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The poll loop of a worker cannot be set up.
    #[error("a worker cannot start: {0}; is the limit of open files too low (ulimit -n)?")]
    Worker(#[from] std::io::Error),
}

impl Plan {
    /// The endpoint that connections are made to: the first address that the host's name resolves to.
    pub(super) fn endpoint(&self) -> Result<Endpoint, LoadError> {
        match &self.target.address {
            Address::Unix(path) => Ok(Endpoint::Unix(PathBuf::from(path))),
            address @ Address::Tcp { host, port } => {
                let resolve_error = |cause| LoadError::Resolve { address: address.clone(), cause };
                let mut found = (host.as_str(), *port).to_socket_addrs().map_err(resolve_error)?;
                let none = || resolve_error(std::io::Error::other("the name resolves to nothing"));
                found.next().map(Endpoint::Tcp).ok_or_else(none)
            }
        }
    }

    /// What each connection sends first, and how many replies that gets.
    pub(super) fn greeting(&self) -> Greeting {
        let mut commands: Vec<Vec<&[u8]>> = Vec::new();
        let user = self.target.credentials.as_ref().and_then(|c| c.user.as_deref());
        let password = self.target.credentials.as_ref().map(|c| c.password.reveal().as_bytes());
        let db = self.target.db.to_string();
        match (self.target.resp3, password) {
            (true, Some(password)) => {
                let user = user.unwrap_or("default").as_bytes();
                commands.push(vec![b"HELLO", b"3", b"AUTH", user, password]);
            }
            (true, None) => commands.push(vec![b"HELLO", b"3"]),
            (false, Some(password)) => {
                let user = user.map(str::as_bytes);
                commands.push([b"AUTH".as_slice()].into_iter().chain(user).chain([password]).collect());
            }
            (false, None) => {}
        }
        if self.target.db != 0 {
            commands.push(vec![b"SELECT", db.as_bytes()]);
        }
        let required = commands.len();
        commands.push(vec![b"CLIENT", b"SETNAME", CLIENT_NAME.as_bytes()]);
        let bytes = commands.iter().flat_map(|command| encode_command(command)).collect();
        Greeting { bytes, replies: commands.len(), required }
    }
}

/// The first words of a connection.
#[derive(Clone)]
pub(super) struct Greeting {
    /// All commands, pipelined.
    pub(super) bytes: Vec<u8>,
    /// How many there are.
    pub(super) replies: usize,
    /// How many of the first must succeed. The last one, the name, may be forbidden.
    pub(super) required: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Credentials, Password};

    fn greeting(target: Target) -> (String, usize, usize) {
        let plan = Plan { target, threads: 1, seed: 1, timeout: Duration::from_secs(5) };
        let greeting = plan.greeting();
        (String::from_utf8(greeting.bytes).unwrap().replace("\r\n", " "), greeting.replies, greeting.required)
    }

    #[test]
    fn a_plain_connection_only_gives_its_name() {
        let (text, replies, required) = greeting(Target::default());
        assert_eq!((text.as_str(), replies, required), ("*3 $6 CLIENT $7 SETNAME $11 redyno-load ", 1, 0));
    }

    #[test]
    fn credentials_protocol_and_database_come_first_and_must_succeed() {
        let credentials = Some(Credentials { user: Some("ann".into()), password: Password::new("pw") });
        let target = Target { credentials, db: 3, ..Target::default() };
        let (text, replies, required) = greeting(target.clone());
        assert!(text.starts_with("*3 $4 AUTH $3 ann $2 pw *2 $6 SELECT $1 3 "), "{text}");
        assert_eq!((replies, required), (3, 2));
        let (text, ..) = greeting(Target { resp3: true, ..target });
        assert!(text.starts_with("*5 $5 HELLO $1 3 $4 AUTH $3 ann $2 pw "), "{text}");
    }
}
