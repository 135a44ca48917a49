//! Asks Sentinels which server is the primary of a service.
//!
//! ```text
//! all Sentinels at once ──► SENTINEL GET-MASTER-ADDR-BY-NAME ──► the answer with the latest failover counts
//! ```
//! A Sentinel that does not answer causes only a short delay. A Sentinel gets the credentials of the servers only if
//! the Sentinel requires a password.

use std::{
    collections::VecDeque,
    io,
    sync::mpsc::channel,
    thread::Builder,
    time::{Duration, Instant},
};

use super::{Address, Endpoint, ReachError, Service, Talk, Target, node_address, talk};
use crate::protocol::{Dialect, RespValue};

/// The timeout of the connection to a Sentinel, and of each reply of the Sentinel: 1 s.
const LIMIT: Duration = Duration::from_secs(1);
/// How long redyno waits for the answers of other Sentinels after the first answer: 20 ms. After a failover, some
/// Sentinels still name the old primary.
const GRACE: Duration = Duration::from_millis(20);
/// The longest accepted reply: 64 KiB. The properties of a primary have about 1 kB.
const LONGEST: usize = 64 * 1024;

/// The answer of a Sentinel about a service.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SentinelAnswer {
    primary: Address,
    /// The number of the failover that promoted the primary, or 0 if there was no failover or if the Sentinel does not
    /// report the number.
    epoch: u64,
}

impl SentinelAnswer {
    /// Parses the replies of the Sentinel at `asked`: the address of the primary, and the primary's properties.
    fn read(address: &RespValue, properties: Option<&RespValue>, asked: &Address) -> Option<Self> {
        let number = |value: &RespValue| std::str::from_utf8(value.text()?).ok()?.parse().ok();
        let [host, port] = address.list()? else { return None };
        let primary = node_address(host.text()?, u16::try_from(number(port)?).ok()?, asked)?;
        let epoch = properties.and_then(|properties| {
            let properties = properties.list()?;
            let at = properties.iter().position(|name| name.text() == Some(b"config-epoch"))?;
            number(properties.get(at + 1)?)
        });
        Some(Self { primary, epoch: epoch.unwrap_or_default() })
    }
}

impl Service {
    /// Returns the addresses of the service's primary. `target` contains the credentials and TLS settings.
    ///
    /// # Errors
    /// Fails if no Sentinel names the primary. The error contains the message of one of the Sentinels.
    pub(super) fn primary(&self, target: &Target) -> io::Result<VecDeque<Endpoint>> {
        let late = || io::Error::new(io::ErrorKind::TimedOut, "the resolver did not answer in time");
        target.resolver.start(&self.named(target)?.primary)?.wait(LIMIT)?.ok_or_else(late)
    }

    /// Returns the number of the failover that promoted the service's present primary, or `None` if no Sentinel names
    /// the primary.
    pub fn epoch(&self, target: &Target) -> Option<u64> {
        self.named(target).ok().map(|named| named.epoch)
    }

    /// Queries all Sentinels about the service. Among the answers that arrive in time, returns the answer that reports
    /// the latest failover.
    fn named(&self, target: &Target) -> io::Result<SentinelAnswer> {
        let (answers, answered) = channel();
        for (host, port) in &self.sentinels {
            let (answers, name) = (answers.clone(), self.name.clone());
            let address = Address::Tcp { host: host.clone(), port: *port };
            let sentinel = target.at(address).map_err(io::Error::other)?;
            // If other Sentinels were faster, the receiver is gone.
            let ask = move || drop(answers.send(ask(&sentinel, &name)));
            Builder::new().name("sentinel".to_owned()).spawn(ask)?;
        }
        drop(answers);
        let (mut newest, mut why): (Option<SentinelAnswer>, _) =
            (None, "there is no Sentinel to ask".to_owned());
        let mut deadline = Instant::now() + 3 * LIMIT;
        while let Ok(answer) = answered.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            match answer {
                Ok(named) => {
                    deadline = deadline.min(Instant::now() + GRACE);
                    if newest.as_ref().is_none_or(|newest| named.epoch > newest.epoch) {
                        newest = Some(named);
                    }
                }
                Err(error) => why = error,
            }
        }
        newest.ok_or_else(|| io::Error::other(why))
    }
}

/// Queries one Sentinel about the service `name`.
fn ask(sentinel: &Target, name: &str) -> Result<SentinelAnswer, String> {
    let failed = |error| format!("Sentinel: {error}");
    let mut replies = Vec::new();
    let mut talk = connect_to_sentinel(sentinel).map_err(failed)?;
    let questions = [&b"GET-MASTER-ADDR-BY-NAME"[..], b"MASTER"]
        .map(|question| sentinel.dialect.encode(&[b"SENTINEL", question, name.as_bytes()]));
    talk.ask(&questions.concat(), 2, LIMIT, |bytes, _| replies.push(bytes.to_vec())).map_err(failed)?;
    let replies: Vec<_> = replies.iter().filter_map(|reply| RespValue::read(reply)).collect();
    let named =
        replies.first().and_then(|address| SentinelAnswer::read(address, replies.get(1), &sentinel.address));
    named.ok_or_else(|| {
        let (address, name) = (&sentinel.address, crate::untrusted::text(name));
        format!(
            "{address} is no Sentinel of a service '{name}'; see its SENTINEL MASTERS, and check the port"
        )
    })
}

/// Connects to a Sentinel. Sends the credentials of the servers only if the Sentinel requires a password.
fn connect_to_sentinel(sentinel: &Target) -> Result<Talk, ReachError> {
    let dialect = if sentinel.dialect == Dialect::Resp3 { Dialect::Resp2 } else { sentinel.dialect };
    let known = Target { db: 0, dialect, ..sentinel.clone() };
    let stranger = Target { credentials: None, ..known.clone() };
    let talk = match talk(&stranger, LIMIT) {
        Err(ReachError::PasswordNeeded(_)) if known.credentials.is_some() => talk(&known, LIMIT),
        other => other,
    };
    Ok(talk?.bounded(LONGEST))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpListener,
    };

    use super::*;

    /// Starts a Sentinel that names the primary at the port `primary`, with this failover epoch. Returns the Sentinel's
    /// port.
    fn sentinel(primary: u16, epoch: u64) -> u16 {
        let address = format!("*2\r\n$9\r\n127.0.0.1\r\n$4\r\n{primary}\r\n");
        answering(format!("{address}*2\r\n$12\r\nconfig-epoch\r\n$1\r\n{epoch}\r\n"))
    }

    /// Starts a Sentinel that replies `answer` to SENTINEL commands. Returns the Sentinel's port.
    fn answering(answer: String) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut buffer = [0; 4096];
                while let Ok(n @ 1..) = stream.read(&mut buffer) {
                    let is_question = buffer[..n].windows(8).any(|bytes| bytes == b"SENTINEL");
                    let reply = if is_question { &*answer } else { "+PONG\r\n" };
                    if stream.write_all(reply.as_bytes()).is_err() {
                        break;
                    }
                }
            }
        });
        port
    }

    fn target(ports: &[u16]) -> Target {
        let sentinels = ports.iter().map(|port| ("127.0.0.1".to_owned(), *port)).collect();
        Target { address: Address::Service(Service { name: "main".into(), sentinels }), ..Target::default() }
    }

    #[test]
    fn a_sentinel_names_the_primary_and_dead_sentinels_cause_no_error() {
        // Nothing listens on port 1.
        let target = target(&[1, sentinel(7001, 0)]);
        let found = target.resolve().unwrap().wait(Duration::from_secs(60)).unwrap().unwrap();
        assert_eq!(found, [Endpoint::Tcp("127.0.0.1:7001".parse().unwrap())]);
    }

    #[test]
    fn the_sentinel_that_knows_of_the_last_failover_is_believed() {
        let (late, led) = (sentinel(7001, 0), sentinel(7002, 3));
        for ports in [[late, led, 1], [led, 1, late]] {
            let target = target(&ports);
            let found = target.resolve().unwrap().wait(Duration::from_secs(60)).unwrap().unwrap();
            assert_eq!(found, [Endpoint::Tcp("127.0.0.1:7002".parse().unwrap())]);
            let Address::Service(service) = &target.address else { panic!("{target:?}") };
            assert_eq!(service.epoch(&target), Some(3));
        }
    }

    #[test]
    fn a_service_that_no_sentinel_knows_is_reported_in_one_line() {
        let port = answering("*-1\r\n*-1\r\n".to_owned());
        let error = target(&[port]).resolve().unwrap().wait(Duration::from_secs(60)).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("127.0.0.1:{port} is no Sentinel of a service 'main'")),
            "{error}"
        );
    }
}
