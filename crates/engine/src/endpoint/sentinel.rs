//! Asks Sentinels which server is the primary of a service.
//!
//! ```text
//! all Sentinels at once ──► SENTINEL GET-MASTER-ADDR-BY-NAME ──► the answer with the latest failover counts
//!                     └───► SENTINEL MASTER ──► the state of the primary, from late answers too
//! ```
//! A Sentinel that does not answer causes only a short delay. redyno sends the servers' credentials to a
//! Sentinel only if the Sentinel requires a password.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, mpsc::channel},
    thread::Builder,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::{Address, Endpoint, ReachError, Service, Talk, Target, node_address, talk};
use crate::protocol::{Dialect, RespValue};

/// The timeout of the connection to a Sentinel, and of each reply of the Sentinel: 1 s.
const LIMIT: Duration = Duration::from_secs(1);
/// How long redyno waits for the answers of other Sentinels after the first answer: 20 ms. If the first answer took
/// longer than 10 ms, redyno waits for twice the time of this answer. After a failover, some Sentinels still name the
/// old primary.
const GRACE: Duration = Duration::from_millis(20);
/// The longest accepted reply: 64 KiB. The properties of a primary have about 1 kB.
const LONGEST: usize = 64 * 1024;

/// The answer of a Sentinel about a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentinelAnswer {
    /// The address of the primary.
    pub primary: Address,
    /// The number of the failover that promoted the primary. The number is 0 if there was no failover, or if the
    /// Sentinel does not report the number.
    pub epoch: u64,
    /// The state of the primary, according to the Sentinel.
    state: PrimaryFlags,
}

/// The state of a primary, according to all Sentinels that have answered so far. Clones share the same state.
#[derive(Debug, Clone, Default)]
pub struct PrimaryState(Arc<Mutex<PrimaryFlags>>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct PrimaryFlags {
    /// A Sentinel gets no answer from the primary (`s_down`).
    is_down: bool,
    /// Enough Sentinels agree that the primary is down (`o_down`).
    is_agreed: bool,
    /// The Sentinel that leads the failover (`failover_in_progress`).
    leader: Option<Address>,
}

impl PrimaryState {
    /// Returns why the primary was replaced and which Sentinel led the failover. Returns `None` if no Sentinel reported
    /// the reason.
    pub fn cause(&self) -> Option<String> {
        self.0.lock().cause()
    }
}

impl PrimaryFlags {
    /// Parses the flags in a reply to SENTINEL MASTER of the Sentinel at `asked`.
    fn read(flags: &[u8], asked: &Address) -> Self {
        let has = |name: &str| flags.split(|byte| *byte == b',').any(|flag| flag == name.as_bytes());
        let leader = has("failover_in_progress").then(|| asked.clone());
        Self { is_down: has("s_down"), is_agreed: has("o_down"), leader }
    }

    /// Adds the report of another Sentinel, or of a later answer.
    fn add(&mut self, other: Self) {
        self.is_down |= other.is_down;
        self.is_agreed |= other.is_agreed;
        self.leader = other.leader.or(self.leader.take());
    }

    fn cause(&self) -> Option<String> {
        let down = match self {
            Self { is_agreed: true, .. } => {
                Some("the Sentinels agreed that the old primary was down".to_owned())
            }
            Self { is_down: true, .. } => Some("a Sentinel marked the old primary as down".to_owned()),
            _ => None,
        };
        let leader = self.leader.as_ref().map(|leader| format!("the Sentinel {leader} led the failover"));
        let parts: Vec<_> = down.into_iter().chain(leader).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl SentinelAnswer {
    /// Parses the replies of the Sentinel at `asked`: the address of the primary, and the primary's properties.
    fn read(address: &RespValue, properties: Option<&RespValue>, asked: &Address) -> Option<Self> {
        let number = |value: &RespValue| std::str::from_utf8(value.text()?).ok()?.parse().ok();
        let [host, port] = address.list()? else { return None };
        let primary = node_address(host.text()?, u16::try_from(number(port)?).ok()?, asked)?;
        let property = |name: &[u8]| {
            let properties = properties?.list()?;
            properties.get(properties.iter().position(|it| it.text() == Some(name))? + 1)
        };
        let epoch = property(b"config-epoch").and_then(number).unwrap_or_default();
        let flags = property(b"flags").and_then(RespValue::text).unwrap_or_default();
        Some(Self { primary, epoch, state: PrimaryFlags::read(flags, asked) })
    }
}

impl Service {
    /// Returns the addresses of the service's primary. `target` contains the credentials and TLS settings.
    ///
    /// # Errors
    /// Fails if no Sentinel names the primary. The error contains the message of a Sentinel.
    pub(super) fn primary(&self, target: &Target) -> io::Result<VecDeque<Endpoint>> {
        let late = || io::Error::new(io::ErrorKind::TimedOut, "the resolver did not answer in time");
        target
            .resolver
            .start(&self.named(target, 3 * LIMIT, &PrimaryState::default())?.primary)?
            .wait(LIMIT)?
            .ok_or_else(late)
    }

    /// Queries all Sentinels about the service for at most `limit`. Returns the answer that reports the latest
    /// failover. The function adds the Sentinels' reports about the state of the primary to `state`. Late answers are
    /// added, too.
    ///
    /// # Errors
    /// Fails if no Sentinel names the primary. The error contains the message of a Sentinel.
    pub fn named(
        &self,
        target: &Target,
        limit: Duration,
        state: &PrimaryState,
    ) -> io::Result<SentinelAnswer> {
        let (answers, answered) = channel();
        for (host, port) in &self.sentinels {
            let (answers, name, state) = (answers.clone(), self.name.clone(), state.clone());
            let address = Address::Tcp { host: host.clone(), port: *port };
            let sentinel = target.at(address).map_err(io::Error::other)?;
            let ask = move || {
                let answer = ask(&sentinel, &name);
                answer.iter().for_each(|answer| state.0.lock().add(answer.state.clone()));
                // If other Sentinels were faster, the receiver is gone.
                drop(answers.send(answer));
            };
            Builder::new().name("sentinel".to_owned()).spawn(ask)?;
        }
        drop(answers);
        let (mut newest, mut why): (Option<SentinelAnswer>, _) =
            (None, "there is no Sentinel to ask".to_owned());
        let begun = Instant::now();
        let mut deadline = begun + limit;
        while let Ok(answer) = answered.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            match answer {
                Ok(named) => {
                    deadline = deadline.min(Instant::now() + GRACE.max(2 * begun.elapsed()));
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

impl Target {
    /// Returns whether a Sentinel leads a failover of this service now. Blocks for at most `limit` and
    /// 100 ms.
    pub fn is_failing_over(&self, limit: Duration) -> bool {
        let Address::Service(service) = &self.address else { return false };
        let state = PrimaryState::default();
        let named = service.named(self, limit, &state);
        // The leader of the failover may answer later than the others.
        std::thread::sleep(5 * GRACE);
        named.is_ok() && state.0.lock().leader.is_some()
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
            "{address} is no Sentinel of a service '{name}'; SENTINEL MASTERS lists its services; check the port"
        )
    })
}

/// Connects to a Sentinel. Sends the credentials of the servers only if the Sentinel requires a password.
fn connect_to_sentinel(sentinel: &Target) -> Result<Talk, ReachError> {
    let dialect = if sentinel.dialect == Dialect::Resp3 { Dialect::Resp2 } else { sentinel.dialect };
    let known = Target { db: 0, dialect, ..sentinel.clone() };
    let stranger = Target { credentials: None, ..known.clone() };
    let talk = match talk(&stranger, None, LIMIT) {
        Err(ReachError::PasswordNeeded(_)) if known.credentials.is_some() => talk(&known, None, LIMIT),
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
        answering_after(Arc::default(), answer)
    }

    /// Works like `answering`, but replies to SENTINEL commands only while `held` is not locked.
    fn answering_after(held: Arc<Mutex<()>>, answer: String) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut buffer = [0; 4096];
                while let Ok(n @ 1..) = stream.read(&mut buffer) {
                    let is_question = buffer[..n].windows(8).any(|bytes| bytes == b"SENTINEL");
                    let reply = if is_question { &*answer } else { "+PONG\r\n" };
                    drop(is_question.then(|| held.lock()));
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
            assert_eq!(
                service.named(&target, Duration::from_secs(60), &PrimaryState::default()).unwrap().epoch,
                3
            );
        }
    }

    #[test]
    fn the_cause_of_a_failover_is_what_sentinels_report_during_it() {
        let asked = |port| Address::Tcp { host: "10.0.0.1".into(), port };
        let mut state = PrimaryFlags::default();
        assert_eq!(state.cause(), None);
        state.add(PrimaryFlags::read(b"master,s_down,disconnected", &asked(1)));
        assert_eq!(state.cause().unwrap(), "a Sentinel marked the old primary as down");
        state.add(PrimaryFlags::read(b"s_down,o_down,master,disconnected,failover_in_progress", &asked(2)));
        state.add(PrimaryFlags::read(b"master", &asked(3)));
        let both =
            "the Sentinels agreed that the old primary was down; the Sentinel 10.0.0.1:2 led the failover";
        assert_eq!(state.cause().unwrap(), both);
    }

    #[test]
    fn a_failover_is_known_from_the_sentinel_that_leads_it() {
        let flags = |flags: &str| {
            let named = "*2\r\n$9\r\n127.0.0.1\r\n$4\r\n7001\r\n*2\r\n$5\r\nflags\r\n";
            answering(format!("{named}${}\r\n{flags}\r\n", flags.len()))
        };
        let (leader, other) = (flags("master,failover_in_progress"), flags("master"));
        let is_known = |ports: &[u16]| target(ports).is_failing_over(Duration::from_secs(60));
        assert_eq!([is_known(&[other]), is_known(&[leader])], [false, true]);
    }

    #[test]
    fn a_late_answer_counts_for_the_cause() {
        let held = Arc::new(Mutex::new(()));
        let waits = held.lock();
        let flags = "failover_in_progress,o_down";
        let answer = "*2\r\n$9\r\n127.0.0.1\r\n$4\r\n7001\r\n*2\r\n$5\r\nflags\r\n";
        let leader = answering_after(Arc::clone(&held), format!("{answer}${}\r\n{flags}\r\n", flags.len()));
        let (target, state) = (target(&[leader, sentinel(7002, 1)]), PrimaryState::default());
        let Address::Service(service) = &target.address else { panic!("{target:?}") };
        assert_eq!(service.named(&target, Duration::from_secs(60), &state).unwrap().epoch, 1);
        assert_eq!(state.cause(), None);
        drop(waits);
        let named = format!("the Sentinel 127.0.0.1:{leader} led the failover");
        while state.cause().is_none_or(|cause| !cause.ends_with(&named)) {
            std::thread::yield_now();
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
