//! Asks Sentinels which server is the primary of a service.
//!
//! ```text
//! all Sentinels at once ──► SENTINEL GET-MASTER-ADDR-BY-NAME ──► the first answer is the primary
//! ```
//! A Sentinel that does not answer holds up nothing. Sentinels get the credentials of the servers only if they ask for a
//! password.

use std::{
    collections::VecDeque,
    io,
    sync::mpsc::{Receiver, channel},
    thread::Builder,
    time::Duration,
};

use super::{Address, Endpoint, ReachError, Service, Talk, Target, node_address, talk};
use crate::protocol::{Dialect, RespValue};

/// How long a Sentinel may take to connect, and again to answer.
const LIMIT: Duration = Duration::from_secs(1);
/// The longest accepted reply. The properties of a primary have about 1 kB.
const LONGEST: usize = 64 * 1024;

impl Service {
    /// Returns the addresses of the service's primary; `target` has the credentials and TLS for it.
    ///
    /// # Errors
    /// When no Sentinel names the primary. The message is that of one Sentinel.
    pub(super) fn primary(&self, target: &Target) -> io::Result<VecDeque<Endpoint>> {
        let primary = self.ask(target, b"GET-MASTER-ADDR-BY-NAME", |reply, asked| {
            let [host, port] = reply.list()? else { return None };
            let port = std::str::from_utf8(port.text()?).ok()?.parse().ok()?;
            node_address(host.text()?, port, asked)
        })?;
        let late = || io::Error::new(io::ErrorKind::TimedOut, "the resolver did not answer in time");
        target.resolver.start(&primary)?.wait(LIMIT)?.ok_or_else(late)
    }

    /// Returns the number of the failover that made the service's present primary; `None` if no Sentinel names it. It is
    /// the largest number: for a moment, some Sentinels do not know of the failover yet.
    pub fn epoch(&self, target: &Target) -> Option<u64> {
        let epoch = |reply: &RespValue, _: &Address| {
            let properties = reply.list()?;
            let at = properties.iter().position(|name| name.text() == Some(b"config-epoch"))?;
            std::str::from_utf8(properties.get(at + 1)?.text()?).ok()?.parse().ok()
        };
        self.ask_all(target, b"MASTER", epoch).ok()?.iter().flatten().max()
    }

    /// Asks all Sentinels about the service, and returns what `read` finds in the first reply.
    fn ask<T: Send + 'static>(
        &self,
        target: &Target,
        question: &'static [u8],
        read: impl Fn(&RespValue, &Address) -> Option<T> + Copy + Send + 'static,
    ) -> io::Result<T> {
        let mut why = "there is no Sentinel to ask".to_owned();
        for answer in self.ask_all(target, question, read)? {
            match answer {
                Ok(found) => return Ok(found),
                Err(error) => why = error,
            }
        }
        Err(io::Error::other(why))
    }

    /// Asks all Sentinels about the service; returns what `read` finds in their replies, as they arrive.
    fn ask_all<T: Send + 'static>(
        &self,
        target: &Target,
        question: &'static [u8],
        read: impl Fn(&RespValue, &Address) -> Option<T> + Copy + Send + 'static,
    ) -> io::Result<Receiver<Result<T, String>>> {
        let (answers, answered) = channel();
        for (host, port) in &self.sentinels {
            let (answers, name) = (answers.clone(), self.name.clone());
            let address = Address::Tcp { host: host.clone(), port: *port };
            let sentinel = target.at(address).map_err(io::Error::other)?;
            // If another Sentinel was faster, the receiver is gone.
            let ask = move || drop(answers.send(ask(&sentinel, question, &name, read)));
            Builder::new().name("sentinel".to_owned()).spawn(ask)?;
        }
        Ok(answered)
    }
}

/// Asks one Sentinel.
fn ask<T>(
    sentinel: &Target,
    question: &[u8],
    name: &str,
    read: impl Fn(&RespValue, &Address) -> Option<T>,
) -> Result<T, String> {
    let mut reply = Vec::new();
    let mut talk = greeted(sentinel).map_err(|error| format!("Sentinel: {error}"))?;
    let words = sentinel.dialect.encode(&[b"SENTINEL", question, name.as_bytes()]);
    talk.ask(&words, 1, LIMIT, |bytes, _| reply = bytes.to_vec())
        .map_err(|error| format!("Sentinel: {error}"))?;
    let found = RespValue::read(&reply).and_then(|reply| read(&reply, &sentinel.address));
    found.ok_or_else(|| {
        let (address, name) = (&sentinel.address, crate::untrusted::text(name));
        format!(
            "{address} is no Sentinel of a service '{name}'; see its SENTINEL MASTERS, and check the port"
        )
    })
}

/// Connects to a Sentinel, with the servers' credentials only if it wants a password.
fn greeted(sentinel: &Target) -> Result<Talk, ReachError> {
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

    /// A Sentinel that answers questions with `answer`; returns its port.
    fn sentinel(answer: &'static str) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut buffer = [0; 4096];
                while let Ok(n @ 1..) = stream.read(&mut buffer) {
                    let is_question = buffer[..n].windows(8).any(|bytes| bytes == b"SENTINEL");
                    let reply = if is_question { answer } else { "+PONG\r\n" };
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
    fn the_primary_is_the_one_that_a_sentinel_names_and_dead_sentinels_hold_up_nothing() {
        // Nothing listens on port 1.
        let target = target(&[1, sentinel("*2\r\n$9\r\n127.0.0.1\r\n$4\r\n7001\r\n")]);
        let found = target.resolve().unwrap().wait(Duration::from_secs(60)).unwrap().unwrap();
        assert_eq!(found, [Endpoint::Tcp("127.0.0.1:7001".parse().unwrap())]);
    }

    #[test]
    fn the_epoch_is_that_of_the_sentinel_that_knows_of_the_last_failover() {
        let late = sentinel("*2\r\n$12\r\nconfig-epoch\r\n$1\r\n0\r\n");
        let led = sentinel("*2\r\n$12\r\nconfig-epoch\r\n$1\r\n3\r\n");
        for ports in [[late, led, 1], [led, 1, late]] {
            let target = target(&ports);
            let Address::Service(service) = &target.address else { panic!("{target:?}") };
            assert_eq!(service.epoch(&target), Some(3));
        }
    }

    #[test]
    fn a_service_that_no_sentinel_knows_is_reported_in_one_line() {
        let port = sentinel("*-1\r\n");
        let error = target(&[port]).resolve().unwrap().wait(Duration::from_secs(60)).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("127.0.0.1:{port} is no Sentinel of a service 'main'")),
            "{error}"
        );
    }
}
