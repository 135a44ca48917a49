//! A server on this machine. The figures are about its process, the CPU use of its threads, and the data that waits in
//! its sockets.

use std::{collections::BTreeMap, fs, path::Path};

use super::{
    HostSample,
    pace::ReadingSchedule,
    processes::{Stat, own_pid},
    sample_builder::SampleBuilder,
    sock_diag::{ListeningSocket, Sockets},
    threads::Threads,
    tree::Tree,
    waits::throttled_s,
};
use crate::{
    clock::{SECOND_NS, seconds},
    gauge::{Gauge, Gauges},
    units::grouped,
};

/// The names of possible servers. A process may be a server if its name contains one of these words.
const NAMES: [&str; 6] = ["redis", "valkey", "memcached", "keydb", "dragonfly", "redyno"];
/// How often redyno searches all processes for a server that does not report its process ID: every 10 s.
const SEARCH_EVERY_NS: u64 = 10 * SECOND_NS;

/// A server on this machine.
pub struct LocalServer {
    tree: Tree,
    port: Option<u16>,
    counters: Gauges,
    threads: Threads,
    sockets: Result<Sockets, String>,
    /// The rate of retransmitted segments at the last reading of the sockets. The next field is the time of this
    /// reading, in ns.
    retransmits: Option<f64>,
    read_ns: Option<u64>,
    pace: ReadingSchedule,
    known: Option<CheckedProcess>,
    search: ReadingSchedule,
}

/// A process that was checked, with the result.
struct CheckedProcess {
    pid: u32,
    /// Whether the process is the server, or why this is unknown.
    verdict: Result<(), ProcessUnknown>,
}

/// The reason why the server's process is unknown, in words.
#[derive(Debug, Clone, PartialEq)]
enum ProcessUnknown {
    /// The server runs on this machine, but its process is not visible.
    Unseen(String),
    /// On this machine, the process ID belongs to no process, or to another program. The server and its sockets are
    /// then in a container or on another machine.
    Elsewhere(String),
}

impl LocalServer {
    /// Creates the state for a server that listens on `port`, or on a unix socket if `port` is `None`. `root` is the
    /// directory that contains `proc`.
    pub fn new(root: &Path, port: Option<u16>) -> Self {
        Self {
            tree: Tree::below(root),
            port,
            counters: Gauges::default(),
            threads: Threads::default(),
            sockets: Err("the server listens on a unix socket".to_owned()),
            retransmits: None,
            read_ns: None,
            pace: ReadingSchedule::every(SECOND_NS),
            known: None,
            search: ReadingSchedule::every(SEARCH_EVERY_NS),
        }
    }

    /// Sets the number of `servers` on this machine. With more servers, redyno reads the sockets of each server less
    /// often. The readings of all servers together then take no more CPU time than the readings of a single server.
    pub fn set_sharers(&mut self, servers: u64) {
        self.pace.set_sharers(servers);
    }

    /// Returns a sample at `at_ns`. The sample contains the figures of the machine and the figures of the server. `pid`
    /// is the process ID that the server reports. `processes` contains the samples of other servers' processes at this
    /// moment, by process ID. If several servers share a process, the process is therefore read only once.
    pub fn sample(
        &mut self,
        at_ns: u64,
        pid: Option<u32>,
        machine: &HostSample,
        processes: &mut BTreeMap<u32, HostSample>,
    ) -> HostSample {
        if let Some(port) = self.port.filter(|_| self.pace.begins(at_ns)) {
            self.read_sockets(at_ns, port);
            self.pace.end(at_ns);
        }
        let found = match pid {
            Some(pid) => self.check(pid).map(|()| pid),
            None => self.searched(at_ns),
        };
        let process = found.as_ref().ok().and_then(|pid| processes.get(pid));
        let begun = process.cloned().unwrap_or_else(|| machine.clone().without(found.as_ref().ok().copied()));
        let is_read = process.is_some();
        let mut draft = SampleBuilder::after(begun, &mut self.counters);
        match &found {
            Ok(_) if is_read => {}
            Ok(pid) => {
                self.threads.read(*pid, &mut draft, &self.tree);
                let throttled = draft.known("server's cgroup", throttled_s(&self.tree, &pid.to_string()));
                draft.share(Gauge::ServerThrottled, throttled);
                processes.insert(*pid, draft.sample.clone());
            }
            Err(ProcessUnknown::Unseen(why) | ProcessUnknown::Elsewhere(why)) => {
                draft.add_missing("server", why);
            }
        }
        match &found {
            Err(ProcessUnknown::Elsewhere(why)) => draft.add_missing("connections", why),
            _ => show(&self.sockets, self.retransmits, self.pace, &mut draft),
        }
        let sample = draft.sample;
        if found.is_err() {
            // Old counters must not be used for rates when the server is found again.
            (self.counters, self.threads) = (Gauges::default(), Threads::default());
        }
        sample
    }

    fn read_sockets(&mut self, at_ns: u64, port: u16) {
        let now = Sockets::of(port);
        let passed_s = self.read_ns.map(|read_ns| seconds(at_ns.saturating_sub(read_ns)));
        self.retransmits = match (&now, &self.sockets, passed_s.filter(|s| *s > 0.0)) {
            (Ok(now), Ok(before), Some(passed_s)) => Some(now.retransmits_since(before) as f64 / passed_s),
            _ => None,
        };
        self.read_ns = Some(at_ns);
        self.sockets = now.and_then(|sockets| {
            let is_there = !sockets.listeners.is_empty();
            is_there
                .then_some(sockets)
                .ok_or_else(|| format!("nothing in redyno's network namespace listens on port {port}"))
        });
    }

    /// Checks that a process is the server.
    fn check(&mut self, pid: u32) -> Result<(), ProcessUnknown> {
        if self.known.as_ref().is_none_or(|known| known.pid != pid) {
            (self.counters, self.threads) = (Gauges::default(), Threads::default());
            self.known = Some(CheckedProcess { pid, verdict: self.verdict(pid) });
        }
        self.known.as_ref().map_or(Ok(()), |known| known.verdict.clone())
    }

    fn verdict(&self, pid: u32) -> Result<(), ProcessUnknown> {
        if pid == own_pid(&self.tree) {
            return Err(ProcessUnknown::Unseen("the server runs within redyno's process".to_owned()));
        }
        let Ok(text) = self.tree.read(&format!("proc/{pid}/stat")) else {
            let is_hidden = self.tree.read("proc/1/stat").is_err();
            return Err(if is_hidden {
                ProcessUnknown::Unseen(format!("process {pid} is hidden from redyno (hidepid)"))
            } else {
                ProcessUnknown::Elsewhere(format!(
                    "there is no process {pid} here: the server runs in a container or on another machine"
                ))
            });
        };
        let listens = owns(&self.tree, pid, self.listeners());
        let name = Stat::parse(&text).map(|stat| stat.name.to_owned()).unwrap_or_default();
        if listens.unwrap_or_else(|| is_server(&name)) {
            return Ok(());
        }
        Err(ProcessUnknown::Elsewhere(format!(
            "process {pid} is another program here: the server runs in a container or on another machine"
        )))
    }

    fn listeners(&self) -> &[ListeningSocket] {
        self.sockets.as_ref().map_or(&[], |sockets| &sockets.listeners)
    }

    /// Searches for the server's process, which listens on the port. Returns the process ID if redyno has the
    /// permission to see the process.
    fn searched(&mut self, at_ns: u64) -> Result<u32, ProcessUnknown> {
        let unknown = || ProcessUnknown::Unseen("the server has not reported its process ID".to_owned());
        if self.search.begins(at_ns) {
            let is_it = |pid: &u32| {
                let text = self.tree.read(&format!("proc/{pid}/stat")).unwrap_or_default();
                Stat::parse(&text).is_some_and(|stat| is_server(stat.name))
                    && owns(&self.tree, *pid, self.listeners()) == Some(true)
            };
            let found = self.tree.numbers("proc").unwrap_or_default().into_iter().find(is_it);
            self.known = found.map(|pid| CheckedProcess { pid, verdict: Ok(()) });
            self.search.end(at_ns);
        }
        self.known.as_ref().filter(|known| known.verdict.is_ok()).map(|known| known.pid).ok_or_else(unknown)
    }
}

/// Returns whether a process has one of these sockets. Returns `None` if no socket is known, or if redyno has no
/// permission to see the files of the process.
fn owns(tree: &Tree, pid: u32, listeners: &[ListeningSocket]) -> Option<bool> {
    let folder = format!("proc/{pid}/fd");
    let files = tree.names(&folder).ok().filter(|_| !listeners.is_empty())?;
    let names: Vec<_> = listeners.iter().map(|listener| format!("socket:[{}]", listener.inode)).collect();
    let is_one = |file: &String| {
        let link = fs::read_link(tree.path(&format!("{folder}/{file}")));
        link.is_ok_and(|link| names.iter().any(|name| link.as_os_str() == name.as_str()))
    };
    Some(files.iter().any(is_one))
}

fn is_server(name: &str) -> bool {
    NAMES.iter().any(|part| name.contains(part))
}

/// Sets the gauges of the sockets in a sample.
fn show(
    sockets: &Result<Sockets, String>,
    retransmits: Option<f64>,
    pace: ReadingSchedule,
    draft: &mut SampleBuilder,
) {
    let Some(sockets) = draft.known("connections", sockets.clone()) else { return };
    if pace.rest_ns() > SECOND_NS {
        let rest_s = pace.rest_ns().div_ceil(SECOND_NS);
        let cost_ms = grouped(pace.cost_ns / 1_000_000);
        draft.add_missing(
            "connections",
            format!("they are read only every {rest_s} s, because a reading takes {cost_ms} ms"),
        );
    }
    let listener = sockets.fullest();
    draft.level(Gauge::AcceptQueue, listener.map(|listener| listener.waiting.into()));
    draft.level(Gauge::AcceptLimit, listener.map(|listener| listener.limit.into()));
    draft.level(Gauge::Unread, Some(sockets.unread as f64));
    draft.level(Gauge::UnreadLargest, Some(sockets.unread_largest as f64));
    draft.level(Gauge::UnreadConnections, Some(sockets.unread_connections as f64));
    draft.level(Gauge::Unsent, Some(sockets.unsent as f64));
    draft.level(Gauge::WireRtt, sockets.rtt_us().map(f64::from));
    draft.level(Gauge::WireRetransmits, retransmits);
}
