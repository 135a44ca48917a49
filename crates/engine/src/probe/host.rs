//! The host probe. Once a second, its thread samples the figures of this machine, and of the servers that run on this
//! machine.
//!
//! The thread sends no requests to servers, so the thread takes samples even while a server does not answer. The
//! control plane passes the process IDs of the servers through [`ServerPid`]. The control plane is the part that polls
//! servers with INFO.

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, SocketAddr, UdpSocket},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    time::{Duration, Instant},
};

use crate::{
    clock::Clock,
    endpoint::{Endpoint, Resolution, Target},
    host::{HostSample, LocalServer, Sampler},
};

use super::{
    ProbeMessage,
    thread::{ProbeThread, StopFlag},
    ticker::Ticker,
};

/// The time between two samples: 1 s. A cause of slowness must be visible within seconds.
const EVERY: Duration = Duration::from_secs(1);

/// The settings of the thread that samples this machine.
pub struct HostPlan {
    /// The directory that contains `proc` and `sys`, usually `/`.
    pub root: PathBuf,
    /// The servers, at least one, in the order of their numbers in the session.
    pub servers: Vec<WatchedServer>,
}

/// A server that may run on this machine.
#[derive(Debug, Clone, Default)]
pub struct WatchedServer {
    /// The address of the server, and the settings for connections to the server.
    pub target: Target,
    /// The process ID of the server.
    pub pid: ServerPid,
}

/// The process ID of a server. The control plane, which polls the server's own figures, sets the ID. The host probe
/// reads the ID. Clones share their state.
#[derive(Debug, Clone, Default)]
pub struct ServerPid(Arc<AtomicU32>);

impl ServerPid {
    /// Sets the process ID.
    pub fn set(&self, pid: u32) {
        self.0.store(pid, Ordering::Relaxed);
    }

    fn get(&self) -> Option<u32> {
        Some(self.0.load(Ordering::Relaxed)).filter(|pid| *pid > 0)
    }
}

/// A running host probe. Dropping the probe ends its thread.
pub struct HostProbe {
    added: Sender<WatchedServer>,
    _thread: ProbeThread,
}

impl HostProbe {
    /// Starts the thread `host`, which sends a report at once and then every second. The reports about the first server
    /// always contain the figures of this machine, even if this server runs elsewhere. Reports about other servers are
    /// sent only if these servers run on this machine.
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    pub fn start(plan: HostPlan, clock: Clock, reports: Sender<ProbeMessage>) -> io::Result<Self> {
        let (added, news) = channel();
        let body = move |stop: StopFlag| watch(&stop, plan, &news, (&clock, &reports));
        Ok(Self { added, _thread: ProbeThread::start("host", body)? })
    }

    /// Adds a server. The server gets the next number.
    pub fn add(&self, server: WatchedServer) {
        // Without the thread there are no samples.
        drop(self.added.send(server));
    }
}

fn watch(
    stop: &StopFlag,
    HostPlan { root, servers }: HostPlan,
    added: &Receiver<WatchedServer>,
    (clock, reports): (&Clock, &Sender<ProbeMessage>),
) {
    let mut sampler = Sampler::new(&root);
    let mut servers: Vec<_> = servers.into_iter().map(|server| LocatedServer::begin(server, &root)).collect();
    let mut ticker = Ticker::new(EVERY, clock.now_ns());
    let mut is_due = true;
    while !stop.is_asked() {
        let now_ns = clock.now_ns();
        if !is_due {
            let left_ns = ticker.end_ns.saturating_sub(now_ns);
            stop.pause_until(Instant::now() + Duration::from_nanos(left_ns));
            is_due = ticker.close_if_over(clock.now_ns(), || ()).is_some();
            continue;
        }
        is_due = false;
        servers.extend(added.try_iter().map(|server| LocatedServer::begin(server, &root)));
        let (machine, mut processes) = (sampler.sample(now_ns), BTreeMap::new());
        let here =
            servers.iter().filter(|watched| matches!(watched.place, ServerPlace::Here(_))).count() as u64;
        for (server, watched) in servers.iter_mut().enumerate() {
            if let ServerPlace::Here(own) = &mut watched.place {
                own.set_sharers(here);
            }
            let Some(sample) = watched.sample(now_ns, &machine, &mut processes, server == 0) else {
                continue;
            };
            let message = ProbeMessage::Host { at_ns: now_ns, server, sample: Box::new(sample) };
            if reports.send(message).is_err() {
                return;
            }
        }
    }
}

/// A server and its place.
struct LocatedServer<'a> {
    root: &'a Path,
    server: WatchedServer,
    place: ServerPlace,
    /// The process ID that the server reported when its place was found.
    pid: Option<u32>,
    /// The time of the next attempt if the address is unknown, in ns.
    retry_ns: u64,
}

/// The pause between two attempts to find an unknown address, in ns.
const RETRY_NS: u64 = 10_000_000_000;

/// The place where a server runs.
enum ServerPlace {
    /// The name of the server is being looked up.
    Sought(Resolution),
    Here(Box<LocalServer>),
    Elsewhere(String),
}

impl ServerPlace {
    /// Begins to look up the address of a server.
    fn of(target: &Target) -> Self {
        target.resolve().map_or_else(|error| Self::Elsewhere(error.to_string()), Self::Sought)
    }
}

impl<'a> LocatedServer<'a> {
    fn begin(server: WatchedServer, root: &'a Path) -> Self {
        let place = ServerPlace::of(&server.target);
        Self { root, server, place, pid: None, retry_ns: u64::MAX }
    }

    /// Looks for the place of the server again, if the server reports another process ID or if the server's address is
    /// unknown.
    fn follow(&mut self, at_ns: u64) {
        let pid = self.server.pid.get();
        let is_other = self.pid.is_some() && pid.is_some() && pid != self.pid;
        self.pid = pid.or(self.pid);
        if is_other || at_ns >= self.retry_ns {
            (self.place, self.retry_ns) = (ServerPlace::of(&self.server.target), u64::MAX);
        }
    }

    /// Returns the sample of the machine with the figures of the server. If the server runs elsewhere, returns a sample
    /// only if `is_first` is true.
    fn sample(
        &mut self,
        at_ns: u64,
        machine: &HostSample,
        processes: &mut BTreeMap<u32, HostSample>,
        is_first: bool,
    ) -> Option<HostSample> {
        self.follow(at_ns);
        if let ServerPlace::Sought(resolution) = &mut self.place {
            match resolution.wait(Duration::ZERO) {
                Ok(Some(mut found)) => self.place = self.place_of(found.make_contiguous()),
                Ok(None) => {}
                Err(error) => {
                    self.place = ServerPlace::Elsewhere(format!("the server's address is unknown: {error}"));
                    self.retry_ns = at_ns + RETRY_NS;
                }
            }
        }
        let why = match &mut self.place {
            ServerPlace::Here(server) => {
                return Some(server.sample(at_ns, self.server.pid.get(), machine, processes));
            }
            ServerPlace::Sought(_) => "the server's name is being looked up",
            ServerPlace::Elsewhere(why) => why,
        };
        is_first.then(|| {
            let mut sample = machine.clone();
            Arc::make_mut(&mut sample.missing).insert("server".to_owned(), why.to_owned());
            sample
        })
    }

    fn place_of(&self, found: &[Endpoint]) -> ServerPlace {
        let port = |endpoint: &Endpoint| match endpoint {
            Endpoint::Unix(_) => Some(None),
            Endpoint::Tcp(address) => is_local(address.ip()).then_some(Some(address.port())),
        };
        match found.iter().find_map(port) {
            Some(port) => ServerPlace::Here(Box::new(LocalServer::new(self.root, port))),
            None => ServerPlace::Elsewhere("the server runs on another machine".to_owned()),
        }
    }
}

/// Returns whether an address belongs to this machine. The test is whether a socket can be bound to the address.
fn is_local(ip: IpAddr) -> bool {
    !ip.is_unspecified() && UdpSocket::bind(SocketAddr::new(ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::endpoint::Address;

    fn server(host: &str) -> WatchedServer {
        let address = Address::Tcp { host: host.to_owned(), port: 1 };
        WatchedServer { target: Target { address, ..Target::default() }, pid: ServerPid::default() }
    }

    #[test]
    fn the_first_server_and_all_servers_on_this_machine_get_samples_at_once() {
        let (sender, receiver) = channel();
        // No machine has these addresses: they are reserved for documentation (RFC 5737).
        let servers = ["192.0.2.1", "127.0.0.1", "192.0.2.2"].map(server).into();
        let root = tempfile::tempdir().unwrap();
        let plan = HostPlan { root: root.path().to_owned(), servers };
        let probe = HostProbe::start(plan, Clock::start(), sender).unwrap();
        let samples = [receiver.recv().unwrap(), receiver.recv().unwrap()];
        drop(probe);
        let reason = |message: &ProbeMessage| match message {
            ProbeMessage::Host { server, sample, .. } => (*server, sample.missing.get("server").cloned()),
            other => panic!("the host's thread sent {other:?}"),
        };
        let [first, second] = samples.each_ref().map(reason);
        assert_eq!(first, (0, Some("the server runs on another machine".to_owned())));
        assert_eq!(second.0, 1);
        assert_ne!(second.1, first.1);
    }

    #[test]
    fn an_address_is_local_if_a_socket_can_be_bound_to_it() {
        let local =
            ["127.0.0.1", "127.0.0.9", "192.0.2.1", "0.0.0.0"].map(|ip| is_local(ip.parse().unwrap()));
        assert_eq!(local, [true, cfg!(target_os = "linux"), false, false]);
    }
}
