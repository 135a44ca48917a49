//! Measures how long it takes until a write to a primary can be read from the primary's replicas.
//!
//! ```text
//!  primary   SET marker ─► OK
//!                           ├──────── lag ────────┐
//!  replica                  GET: old   GET: old   GET: the marker
//! ```
//! The lag begins with the primary's reply to SET. The lag ends when redyno sends the first GET that finds the marker.
//! If the first GET already finds the marker, the lag is 0. Each replica has its own thread, so a replica that hangs
//! delays no other replica. redyno writes at most ten markers a second for all replicas together. A marker expires on
//! the server by itself.

use std::{
    collections::BTreeSet,
    io,
    sync::{Arc, mpsc::Sender},
    thread::{Builder, scope},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::{
    ProbeMessage,
    thread::{ProbeThread, StopFlag},
};
use crate::{
    clock::{Clock, TICK_NS},
    endpoint::{Cluster, ReachError, Role, Talk, Target, talk},
    events::EventKind,
    protocol::{RespValue, key_slot},
    stats::Recorder,
    untrusted,
    workload::{KeyForm, KeyNames, KeySpan},
};

/// The prefix of the markers' keys, after the prefix of the run.
const PREFIX: &str = "probe-lag:";
/// The number of possible keys of markers.
const NAMES: u64 = 1024;
/// The expiry of a marker: 60 000 ms.
const EXPIRY_MS: &[u8] = b"60000";
/// The shortest time between two markers of all replicas together: 100 ms.
const EVERY_OF_ALL: Duration = Duration::from_millis(100);
/// The shortest time between two markers of one replica: 250 ms.
const EVERY: Duration = Duration::from_millis(250);
/// The timeout of a connection, and of a reply: 500 ms.
const LIMIT: Duration = Duration::from_millis(500);
/// The longest wait for a marker: 10 s, in ns. If the replica does not show the marker within this time, the probe
/// stops waiting for the marker.
const BOUND_NS: u64 = 10_000_000_000;
/// The pause after a failed measurement of a replica: 1 s.
const AGAIN: Duration = Duration::from_secs(1);
/// The longest accepted reply: 1 MiB.
const LONGEST: usize = 1 << 20;
/// The client name of the probe's connections in CLIENT LIST.
const CLIENT_NAME: &str = "redyno-lag";

/// Returns the keys that the lag probe may write, without the prefix of the run.
pub fn lag_keys() -> KeySpan {
    [(PREFIX.to_owned(), 0..NAMES)].into_iter().collect()
}

/// The settings of the lag probe.
#[derive(Debug, Clone)]
pub struct LagPlan {
    /// The cluster of the nodes. With `None`, node 0 is the primary of all other nodes.
    pub cluster: Option<Arc<Cluster>>,
    /// The names of the keys that this run may write.
    pub names: KeyNames,
    /// The nodes of the session, in the order of their numbers.
    pub nodes: Vec<Target>,
}

/// A running lag probe. Dropping the probe ends its threads.
pub struct LagProbe {
    nodes: Arc<Mutex<Vec<Target>>>,
    _thread: ProbeThread,
}

impl LagProbe {
    /// Starts the thread `lag`, which sends its reports to `messages`.
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    pub fn start(plan: LagPlan, clock: Clock, messages: Sender<ProbeMessage>) -> io::Result<Self> {
        let LagPlan { cluster, names, nodes } = plan;
        let nodes = Arc::new(Mutex::new(nodes));
        let known = Arc::clone(&nodes);
        let body = move |stop: StopFlag| {
            let (run, measured) = (rand::random(), Mutex::default());
            LagWatch { cluster, names, run, nodes: known, clock, messages, stop, measured }.run();
        };
        Ok(Self { nodes, _thread: ProbeThread::start("lag", body)? })
    }

    /// Adds the next node of the session.
    pub fn add(&self, node: Target) {
        self.nodes.lock().push(node);
    }
}

/// The state of the thread that watches all replicas.
struct LagWatch {
    cluster: Option<Arc<Cluster>>,
    names: KeyNames,
    /// A random number at the beginning of all markers of this probe. The number is needed because a server may still
    /// have markers of an earlier run.
    run: u32,
    nodes: Arc<Mutex<Vec<Target>>>,
    clock: Clock,
    messages: Sender<ProbeMessage>,
    stop: StopFlag,
    /// The numbers of the replicas that have a thread.
    measured: Mutex<BTreeSet<usize>>,
}

/// A replica, its primary, and the key of the marker. If there is no key, an error with the reason takes its place.
struct ReplicaPair {
    primary: Target,
    replica: Target,
    key: Result<String, String>,
}

impl LagWatch {
    fn run(&self) {
        scope(|scope| {
            while !self.stop.is_asked() {
                let nodes = self.nodes.lock().len();
                for node in (0..nodes).filter(|node| self.pair(*node).is_some()) {
                    if !self.measured.lock().insert(node) {
                        continue;
                    }
                    let measure = move || self.measure(node);
                    // If the thread cannot start, the next pass of the loop tries again.
                    if Builder::new().name("lag".to_owned()).spawn_scoped(scope, measure).is_err() {
                        self.measured.lock().remove(&node);
                    }
                }
                self.stop.pause_until(Instant::now() + EVERY);
            }
        });
    }

    /// Returns a replica and its primary, or `None` if the node is not a replica. Each replica of a primary
    /// has its own marker key. If too few of the possible keys are in the primary's slots, replicas share a
    /// key.
    fn pair(&self, node: usize) -> Option<ReplicaPair> {
        let nodes = self.nodes.lock();
        let replica = nodes.get(node)?.clone();
        let key =
            |number: u64| format!("{}{PREFIX}{}", self.names.prefix(), KeyForm::default().write(number));
        let Some(cluster) = &self.cluster else {
            let primary = nodes.first().filter(|_| node > 0)?.clone();
            return Some(ReplicaPair { primary, replica, key: Ok(key(node as u64 % NAMES)) });
        };
        let topology = cluster.topology();
        let Role::Replica(primary) = topology.nodes().nth(node)?.1.role else { return None };
        let is_there = |key: &String| topology.owner(key_slot(key.as_bytes())) == Some(primary);
        let siblings = topology.nodes().take(node).filter(|(_, node)| node.role == Role::Replica(primary));
        let address = topology.node(primary).address.clone();
        let none = || format!("{address} has too few slots for one of the probe's keys");
        let key = (0..NAMES).map(key).filter(is_there).take(siblings.count() + 1).last().ok_or_else(none);
        Some(ReplicaPair { primary: replica.at(address).ok()?, replica, key })
    }

    /// Measures the lag of a node again and again, until the node is no longer a replica.
    fn measure(&self, node: usize) {
        let mut lags = Lags::default();
        while let Some(pair) = self.pair(node).filter(|_| !self.stop.is_asked()) {
            let began = Instant::now();
            let measured = self.measure_once(node, &pair, &mut lags);
            let pause = if measured.is_ok() { EVERY } else { AGAIN };
            let trouble = measured.err();
            if let Some(cause) = trouble.clone().filter(|_| trouble != lags.trouble) {
                let replica = pair.replica.address.to_string();
                self.report(node, EventKind::LagUnmeasured { replica, cause });
            }
            (lags.trouble, lags.replica) = (trouble, pair.replica.address.to_string());
            let replicas = self.measured.lock().len() as u32; // at most as many as a session has nodes
            self.stop.pause_until(began + pause.max(EVERY_OF_ALL * replicas));
        }
        if let Some(summary) = lags.summary() {
            self.report(node, summary);
        }
        self.measured.lock().remove(&node);
    }

    /// Writes a marker and waits until the replica shows the marker.
    ///
    /// # Errors
    /// Fails if the lag cannot be measured. The error is the cause, in words.
    fn measure_once(&self, node: usize, pair: &ReplicaPair, lags: &mut Lags) -> Result<(), String> {
        let ReplicaPair { primary, replica, key } = pair;
        let key = key.as_ref().map_err(Clone::clone)?.as_bytes();
        let text = |error: ReachError| error.to_string();
        let is_primary = |reply: &[u8]| {
            let reply = RespValue::read(reply);
            let role = reply.as_ref().and_then(|reply| reply.list()?.first()?.text());
            role == Some(b"master")
        };
        if is_primary(&lags.at_replica.ask(replica, self.cluster.is_some(), &[b"ROLE"]).map_err(text)?) {
            return Err("it is not a replica any more".to_owned());
        }
        let marker = self.clock.now_ns();
        let value = format!("{}:{marker}", self.run);
        let set: [&[u8]; 5] = [b"SET", key, value.as_bytes(), b"PX", EXPIRY_MS];
        let reply = lags.at_primary.ask(primary, false, &set).map_err(text)?;
        if let Some(RespValue::Error(line)) = RespValue::read(&reply) {
            return Err(format!("{} refused the marker: {}", primary.address, untrusted::bytes(line)));
        }
        let acknowledged_ns = self.clock.now_ns();
        // The first read follows at once.
        let (mut reported_ns, mut asked_ns) = (acknowledged_ns, acknowledged_ns);
        while !self.stop.is_asked() {
            let lag_ns = asked_ns - acknowledged_ns;
            // If replicas share a key, a later marker counts as well. A replica that hangs or refuses reads shows no
            // marker.
            let reply = lags.at_replica.ask(replica, self.cluster.is_some(), &[b"GET", key]);
            let shown = reply.ok().and_then(|reply| marker_of(self.run, &reply));
            let is_shown = shown.is_some_and(|shown| shown >= marker);
            if is_shown || asked_ns >= reported_ns + TICK_NS {
                reported_ns = asked_ns;
                // The receiver is gone only while the session ends.
                drop(self.messages.send(ProbeMessage::Lag { node, lag_ns }));
            }
            if is_shown {
                lags.seen.record_n(lag_ns, 1);
                return Ok(());
            }
            if lag_ns > BOUND_NS {
                lags.unseen += 1;
                let after_s = BOUND_NS / 1_000_000_000;
                return Err(format!(
                    "a test value written to {} did not arrive within {after_s} s",
                    primary.address
                ));
            }
            let pause = Duration::from_nanos(lag_ns / 10);
            let pause = pause.clamp(Duration::from_micros(200), Duration::from_millis(20));
            self.stop.pause_until(Instant::now() + pause);
            asked_ns = self.clock.now_ns();
        }
        Ok(())
    }

    fn report(&self, node: usize, what: EventKind) {
        drop(self.messages.send(ProbeMessage::Event { at_ns: self.clock.now_ns(), node, what }));
    }
}

/// Returns the time that the marker in a reply contains, or `None` if the reply contains no marker of this run.
fn marker_of(run: u32, reply: &[u8]) -> Option<u64> {
    let shown = untrusted::bytes(RespValue::read(reply)?.text()?);
    let (of, marker) = shown.split_once(':')?;
    if of.parse() == Ok(run) { marker.parse().ok() } else { None }
}

/// The state of the measurements of one replica, with the connections to the replica and to its primary.
#[derive(Default)]
struct Lags {
    replica: String,
    at_primary: LagLine,
    at_replica: LagLine,
    seen: Recorder,
    unseen: u64,
    /// The reason why the lag cannot be measured now, or `None` if the lag can be measured.
    trouble: Option<String>,
}

impl Lags {
    fn summary(self) -> Option<EventKind> {
        let (lags, us) = (self.seen.latency(), |ns: u64| ns as f64 / 1e3);
        (lags.count() + self.unseen > 0).then(|| EventKind::LagMeasured {
            replica: self.replica,
            markers: lags.count(),
            unseen: self.unseen,
            p50_us: us(lags.value_at_quantile(0.5)),
            max_us: us(lags.max_ns()),
        })
    }
}

/// A connection that opens when the first command is sent.
#[derive(Default)]
struct LagLine(Option<(Target, Talk)>);

impl LagLine {
    /// Sends a command to a server, and returns the reply.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or if it does not answer.
    fn ask(&mut self, target: &Target, is_replica: bool, words: &[&[u8]]) -> Result<Vec<u8>, ReachError> {
        let before = self.0.take().filter(|(known, _)| known.address == target.address);
        let mut talk = match before {
            Some((_, talk)) => talk,
            None => {
                let mut talk = talk(target, Some(CLIENT_NAME), LIMIT)?.bounded(LONGEST);
                // A server that refuses READONLY will refuse the reads.
                if is_replica {
                    talk.reply(&[b"READONLY"], LIMIT)?;
                }
                talk
            }
        };
        let replied = talk.reply(words, LIMIT)?;
        self.0 = Some((target.clone(), talk));
        Ok(replied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_of_an_earlier_run_does_not_count() {
        let shown = |text: &str| marker_of(7, format!("${}\r\n{text}\r\n", text.len()).as_bytes());
        assert_eq!(shown("7:120"), Some(120));
        assert_eq!((shown("8:120"), shown("120"), marker_of(7, b"$-1\r\n")), (None, None, None));
    }
}
