//! The bus of a fleet: two streams on a Redis or Valkey server. Each thread has its own connection to the
//! bus, because a blocking read occupies a connection.

use std::{fmt, str::FromStr, time::Duration};

use thiserror::Error;

use crate::{
    clock::SECOND_NS,
    endpoint::{Address, Party, ReachError, Talk, Target, TlsError, TlsFailure, talk},
    protocol::{Dialect, RespValue},
    untrusted,
};

/// The timeout for each reply of the bus. The timeout is short, because an agent ends its load after 4 s without an
/// order.
const LIMIT: Duration = Duration::from_secs(1);
/// The timeout for connecting to the bus. Connecting takes several replies, one after another.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);
/// The streams expire this many seconds after the last message.
const EXPIRY_S: &str = "60";
/// The approximate number of orders that the stream keeps. Older orders are removed.
const MOST_ORDERS: &str = "16";
const MOST_REPORTS: &str = "20000";
/// The largest number of messages in one read.
pub(super) const READ_AT_ONCE: usize = 500;
/// The longest accepted reply, in bytes.
const LONGEST: usize = 256 << 20;

/// The reasons why the bus (the server that carries a fleet's messages) does not carry out a
/// command.
#[derive(Debug, Error)]
pub enum BusError {
    /// The bus cannot be reached, or the connection broke. The error has no `source`, because the text of the source
    /// would occur twice.
    #[error("the bus: {}", advice(.0))]
    Reach(ReachError),
    /// The bus refuses a command.
    #[error("the bus refuses {command}: {message}")]
    Refused {
        /// The command.
        command: String,
        /// The server's message.
        message: String,
    },
    /// The bus is a cluster, and a reply of the bus names a node that redyno cannot use.
    #[error("the bus: {0}")]
    Node(TlsError),
    /// The bus sent a reply of another kind than expected.
    #[error("the bus sent a reply to {0} that Redis does not send")]
    Unexpected(String),
}

impl From<ReachError> for BusError {
    fn from(error: ReachError) -> Self {
        Self::Reach(error)
    }
}

/// Returns the text of the error. The advice names the URI of the bus, because the options `-u`, `-a`, `--tls` and
/// `--db` are for the target.
fn advice(error: &ReachError) -> String {
    match error {
        ReachError::Memcached(bus) => {
            format!("{bus} is a memcached, which has no streams; give a Redis or Valkey with --bus")
        }
        ReachError::SpeaksTls(bus) => format!("{bus} speaks TLS; write rediss:// in the URI of --bus"),
        ReachError::Silent(bus) => format!(
            "{bus} accepted the connection and sent no reply; it hangs, or it expects TLS (rediss:// in the URI of \
             --bus)"
        ),
        ReachError::Closed(bus) => format!(
            "{bus} closed the connection without a reply; does it expect TLS (rediss:// in the URI of --bus), or is it \
             shutting down or out of connections?"
        ),
        ReachError::SpeaksPlain(Party { address, .. })
        | ReachError::SilentToTls(Party { address, .. })
        | ReachError::Tls { address, failure: TlsFailure::NotTls | TlsFailure::Silent } => format!(
            "{address} does not answer as a server with TLS; write redis:// in the URI of --bus, or name its TLS port"
        ),
        ReachError::PasswordNeeded(bus) => {
            format!("{bus} wants a password: give it in the URI of --bus, or in REDYNO_BUS_AUTH")
        }
        ReachError::WrongPassword { party, user } => {
            format!("{party} refused the password of {user}; check the URI of --bus, or REDYNO_BUS_AUTH")
        }
        ReachError::PasswordNotAsked(bus) => format!(
            "{bus} has no password set, but one was given; leave it out of the URI of --bus and of REDYNO_BUS_AUTH"
        ),
        ReachError::NoSuchDb { address, db, message } => {
            format!("{address} has no database {db} ({message}); choose another in the URI of --bus")
        }
        error => error.to_string(),
    }
}

/// The name of a fleet's session: 1 to 64 letters, digits, `-`, `_` and `.`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetName(String);

impl Default for FleetName {
    fn default() -> Self {
        Self("redyno".to_owned())
    }
}

impl FromStr for FleetName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_good = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        match (1..=64).contains(&text.len()) && text.chars().all(is_good) {
            true => Ok(Self(text.to_owned())),
            false => Err("a session's name has 1 to 64 letters, digits, '-', '_' and '.'".to_owned()),
        }
    }
}

impl fmt::Display for FleetName {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A stream of the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BusStream {
    /// From the session to its agents.
    Orders,
    /// From the agents to their session.
    Reports,
}

/// A message: the fields of an entry, in order.
pub(super) type MessageFields = Vec<(String, Vec<u8>)>;

/// A connection to the bus. The connection is opened when it is needed.
pub(super) struct Bus {
    /// The server that the user named.
    given: Target,
    /// The server in use. The bus uses the named server, or the cluster node that owns the keys of the streams.
    target: Target,
    name: FleetName,
    open: Option<Talk>,
}

impl Bus {
    pub(super) fn new(target: &Target, name: &FleetName) -> Self {
        let target = Target { dialect: Dialect::Resp2, ..target.clone() };
        Self { given: target.clone(), target, name: name.clone(), open: None }
    }

    /// The key of a stream. The keys of both streams hash to the same cluster slot.
    fn key(&self, stream: BusStream) -> Vec<u8> {
        let end = if stream == BusStream::Orders { "orders" } else { "reports" };
        format!("redyno:fleet:{{{}}}:{end}", self.name).into_bytes()
    }

    /// Returns the time of the bus, in nanoseconds since 1970.
    pub(super) fn time_ns(&mut self) -> Result<u64, BusError> {
        let number = |value: &RespValue| untrusted::bytes(value.text()?).parse::<u64>().ok();
        self.ask(&[b"TIME"], LIMIT, |reply| match reply.list()? {
            [seconds, micros] => {
                number(seconds)?.checked_mul(SECOND_NS)?.checked_add(number(micros)?.checked_mul(1000)?)
            }
            _ => None,
        })
    }

    /// Returns the server's `run_id`, a random text that is different for each server process.
    pub(super) fn run_id(&mut self) -> Result<String, BusError> {
        self.ask(&[b"INFO", b"server"], LIMIT, |reply| {
            let text = untrusted::lines(reply.text()?);
            text.lines().find_map(|line| line.strip_prefix("run_id:")).map(str::to_owned)
        })
    }

    /// Adds a message to a stream.
    pub(super) fn send(&mut self, stream: BusStream, fields: &[(&str, &[u8])]) -> Result<(), BusError> {
        let key = self.key(stream);
        let most = if stream == BusStream::Orders { MOST_ORDERS } else { MOST_REPORTS };
        let mut words: Vec<&[u8]> = vec![b"XADD", &key, b"MAXLEN", b"~", most.as_bytes(), b"*"];
        words.extend(fields.iter().flat_map(|(name, text)| [name.as_bytes(), text]));
        // Both commands are sent together, so that a slow bus takes one round trip.
        self.ask_both(&words, Some(&[b"EXPIRE", &key, EXPIRY_S.as_bytes()]), LIMIT, |_| Some(()))
    }

    /// Returns the messages after the stream identifier `after`, and sets `after` to the identifier of the last
    /// message. Waits at most `wait` for the first message.
    pub(super) fn read(
        &mut self,
        stream: BusStream,
        after: &mut String,
        wait: Duration,
    ) -> Result<Vec<MessageFields>, BusError> {
        let (key, block) = (self.key(stream), wait.as_millis().max(1).to_string());
        let count = READ_AT_ONCE.to_string();
        let words: [&[u8]; 8] = [
            b"XREAD",
            b"COUNT",
            count.as_bytes(),
            b"BLOCK",
            block.as_bytes(),
            b"STREAMS",
            &key,
            after.as_bytes(),
        ];
        let entries = self.ask(&words, LIMIT + wait, |reply| match reply {
            RespValue::Nothing => Some(Vec::new()),
            streams => entries(streams.list()?.first()?.list()?.get(1)?),
        })?;
        if let Some((last, _)) = entries.last() {
            after.clone_from(last);
        }
        Ok(entries.into_iter().map(|(_, fields)| fields).collect())
    }

    /// Returns the last message of a stream, and the identifier of this message; `None` if the stream is empty.
    pub(super) fn last(&mut self, stream: BusStream) -> Result<Option<(String, MessageFields)>, BusError> {
        let key = self.key(stream);
        let words: [&[u8]; 6] = [b"XREVRANGE", &key, b"+", b"-", b"COUNT", b"1"];
        self.ask(&words, LIMIT, |reply| entries(reply).map(|mut entries| entries.pop()))
    }

    /// Removes both streams.
    pub(super) fn remove(&mut self) -> Result<(), BusError> {
        let keys = [self.key(BusStream::Orders), self.key(BusStream::Reports)];
        self.ask(&[b"DEL", &keys[0], &keys[1]], LIMIT, |_| Some(()))
    }

    /// Sends a command, and returns its reply as parsed by `understand`.
    fn ask<T>(
        &mut self,
        words: &[&[u8]],
        limit: Duration,
        understand: impl Fn(&RespValue) -> Option<T>,
    ) -> Result<T, BusError> {
        self.ask_both(words, None, limit, understand)
    }

    /// Sends a command, and perhaps a second command with a reply that does not matter. Returns the reply to the first
    /// command as parsed by `understand`. If the reply is MOVED, sends the commands to the cluster node that owns the
    /// keys.
    fn ask_both<T>(
        &mut self,
        words: &[&[u8]],
        other: Option<&[&[u8]]>,
        limit: Duration,
        understand: impl Fn(&RespValue) -> Option<T>,
    ) -> Result<T, BusError> {
        let command = untrusted::bytes(words[0]);
        for _ in 0..3 {
            let reply = self.exchange(words, other, limit).inspect_err(|_| {
                // In the meantime, another node may own the keys.
                (self.open, self.target) = (None, self.given.clone());
            })?;
            match RespValue::read(&reply) {
                Some(RespValue::Error(line)) => match moved(line, &self.target.address) {
                    Some(address) => {
                        (self.target, self.open) = (self.target.at(address).map_err(BusError::Node)?, None);
                    }
                    None => return Err(BusError::Refused { command, message: untrusted::bytes(line) }),
                },
                Some(reply) => return understand(&reply).ok_or(BusError::Unexpected(command)),
                None => break,
            }
        }
        Err(BusError::Unexpected(command))
    }

    /// Sends one or two commands, and returns the reply to the first.
    fn exchange(
        &mut self,
        words: &[&[u8]],
        other: Option<&[&[u8]]>,
        limit: Duration,
    ) -> Result<Vec<u8>, ReachError> {
        let talk = match self.open.take() {
            Some(open) => self.open.insert(open),
            None => self.open.insert(talk(&self.target, Some("redyno-bus"), CONNECT_LIMIT)?.bounded(LONGEST)),
        };
        let commands = std::iter::once(words).chain(other);
        let (questions, mut first) = (commands.clone().flat_map(|words| Dialect::Resp2.encode(words)), None);
        talk.ask(&questions.collect::<Vec<_>>(), commands.count(), limit, |bytes, _| {
            first.get_or_insert_with(|| bytes.to_vec());
        })?;
        Ok(first.unwrap_or_default())
    }
}

/// Returns the entries of a stream, with their identifiers.
fn entries(reply: &RespValue) -> Option<Vec<(String, MessageFields)>> {
    let text = |value: &RespValue| value.text().map(untrusted::bytes);
    let entry = |entry: &RespValue| match entry.list()? {
        [id, fields] => {
            let fields = fields.list()?.chunks_exact(2);
            let fields = fields.map(|pair| Some((text(&pair[0])?, pair[1].text()?.to_vec())));
            Some((text(id)?, fields.collect::<Option<_>>()?))
        }
        _ => None,
    };
    reply.list()?.iter().map(entry).collect()
}

/// Returns the address in a MOVED reply of the node at `by`. Returns `None` for any other error. If the address in the
/// reply has no host, the result has the host of `by`.
fn moved(line: &[u8], by: &Address) -> Option<Address> {
    let text = untrusted::bytes(line);
    let (host, port) = text.strip_prefix("MOVED ")?.split_once(' ')?.1.rsplit_once(':')?;
    let host = match by {
        Address::Tcp { host: same, .. } if host.is_empty() => same,
        _ => host,
    };
    Some(Address::Tcp { host: host.to_owned(), port: port.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_part_of_a_key_and_has_no_braces() {
        assert!("night-1.a_b".parse::<FleetName>().is_ok());
        for bad in ["", "a b", "{a}", "ä", &"x".repeat(65)] {
            assert!(bad.parse::<FleetName>().is_err(), "{bad}");
        }
    }

    /// Tests that the advice does not name `-u memcached://…`, an option of the target. Agents do not have this option.
    #[test]
    fn the_advice_about_a_bus_names_no_option_of_the_target() {
        let address = Address::Tcp { host: "10.0.0.1".to_owned(), port: 11_211 };
        let party = || crate::endpoint::Party::of(&Target { address: address.clone(), ..Target::default() });
        for error in [
            ReachError::Memcached(party()),
            ReachError::SpeaksTls(party()),
            ReachError::Silent(address.clone()),
            ReachError::Closed(address.clone()),
            ReachError::SilentToTls(party()),
            ReachError::SpeaksPlain(party()),
            ReachError::Tls { address: address.clone(), failure: TlsFailure::NotTls },
            ReachError::Tls { address: address.clone(), failure: TlsFailure::Silent },
            ReachError::PasswordNeeded(party()),
            ReachError::WrongPassword { party: party(), user: "the default user".to_owned() },
            ReachError::PasswordNotAsked(party()),
            ReachError::NoSuchDb { address: address.clone(), db: 99, message: "ERR".to_owned() },
        ] {
            let text = BusError::from(error).to_string();
            let has = |option: &str| text.split([' ', ';', ',', '(', ')']).any(|word| word == option);
            assert!(text.starts_with("the bus: 10.0.0.1:11211 ") && text.contains("--bus"), "{text}");
            assert!(
                !["-u", "-a", "--pass", "--tls", "--db", "--user"].iter().any(|option| has(option)),
                "{text}"
            );
        }
    }

    #[test]
    fn moved_names_the_node_that_owns_the_keys() {
        let address = |host: &str, port| Address::Tcp { host: host.to_owned(), port };
        let by = address("10.0.0.1", 6379);
        assert_eq!(moved(b"MOVED 12 10.0.0.2:6380", &by), Some(address("10.0.0.2", 6380)));
        assert_eq!(moved(b"MOVED 12 :6380", &by), Some(address("10.0.0.1", 6380)));
        assert_eq!(moved(b"OOM command not allowed", &by), None);
    }
}
