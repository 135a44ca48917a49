//! The target of a session, and the addresses of its host name. redyno looks up the host name before the first
//! connection. redyno looks the name up again after a lost connection, because the addresses may have changed.
//!
//! ```text
//! a connection is lost ──► stale ──► lookup, on a thread of its own ──► endpoints for the next connections
//! ```
//! While a lookup is in progress, a new connection waits for at most a second. After this second, the connection uses
//! the old addresses.

use std::{io, sync::Arc, time::Duration};

use parking_lot::Mutex;

use super::{Address, Credentials, Endpoint, Resolution, Resolver, SideCalls, Tls, TlsError};
use crate::protocol::Dialect;

/// The shortest time between the beginnings of two lookups of a name: 250 ms.
const GAP_NS: u64 = 250_000_000;
/// How long a new connection waits for a lookup before it uses the last result: 1 s.
const PATIENCE_NS: u64 = 1_000_000_000;

/// The server to measure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target {
    /// The name of the target in the config file, or `None` if the target has no name.
    pub name: Option<String>,
    /// The address on which the server listens.
    pub address: Address,
    /// The credentials for the server.
    pub credentials: Option<Credentials>,
    /// The database for SELECT.
    pub db: u32,
    /// The protocol.
    pub dialect: Dialect,
    /// The TLS configuration of every connection to the server, or `None` for connections without TLS.
    pub tls: Option<Tls>,
    /// The resolver for the server's host name.
    pub resolver: Resolver,
    /// Counts redyno's connections without load, to the server and to other nodes of its cluster. Also counts the
    /// commands on these connections.
    pub side_calls: SideCalls,
}

impl Target {
    /// Returns a copy of the target with another address, such as the address of another node of the cluster.
    ///
    /// # Errors
    /// Fails if TLS cannot be used for that address.
    pub fn at(&self, address: Address) -> Result<Self, TlsError> {
        let tls = self.tls.as_ref().map(|tls| tls.at(&address)).transpose()?;
        Ok(Self { name: None, address, tls, ..self.clone() })
    }

    /// Begins to look up the addresses of the target. The target's resolver looks up host names, and Sentinels name the
    /// primary of a service.
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    pub fn resolve(&self) -> io::Result<Resolution> {
        match &self.address {
            Address::Service(service) => {
                let (service, target) = (service.clone(), self.clone());
                Resolution::of(move || service.primary(&target))
            }
            address => self.resolver.start(address),
        }
    }
}

/// The addresses of a target. After a connection is lost, the addresses are looked up again. All times are on the
/// caller's clock, in ns.
pub struct Endpoints {
    target: Target,
    state: Mutex<Lookup>,
}

struct Lookup {
    found: Arc<[Endpoint]>,
    /// Whether a connection was lost since the last lookup began.
    is_stale: bool,
    /// The time when the last lookup began.
    begun_ns: u64,
    search: Option<Resolution>,
}

impl Endpoints {
    /// Resolves `target` for the first time, at `now_ns`, and waits for the result.
    ///
    /// # Errors
    /// Fails if the host name has no address, or if the lookup takes longer than `limit`.
    pub fn find(target: &Target, limit: Duration, now_ns: u64) -> io::Result<Self> {
        let found = target.resolve()?.wait(limit)?.ok_or(io::ErrorKind::TimedOut)?;
        let state =
            Lookup { found: Vec::from(found).into(), is_stale: false, begun_ns: now_ns, search: None };
        Ok(Self { target: target.clone(), state: Mutex::new(state) })
    }

    /// Begins to resolve `target` at `now_ns`, and does not wait for the result.
    pub fn begin(target: &Target, now_ns: u64) -> Self {
        let search = target.resolve().ok();
        let state = Lookup { found: Arc::default(), is_stale: search.is_none(), begun_ns: now_ns, search };
        Self { target: target.clone(), state: Mutex::new(state) }
    }

    /// Records that a connection was lost or could not be opened. The addresses may then be outdated.
    pub fn mark_stale(&self, now_ns: u64) {
        self.with(|state| {
            state.is_stale = true;
            state.look_up(&self.target, now_ns);
        });
    }

    /// Returns the known addresses, or `None` during the first second of a lookup. The list is empty only if
    /// [`begin`](Self::begin) found no address.
    pub fn current(&self, now_ns: u64) -> Option<Arc<[Endpoint]>> {
        self.with(|state| {
            state.look_up(&self.target, now_ns);
            state.is_known(now_ns).then(|| Arc::clone(&state.found))
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Lookup) -> T) -> T {
        act(&mut self.state.lock())
    }
}

impl Lookup {
    /// Begins a lookup if a connection was lost since the last lookup, and if the last lookup began at least 250 ms
    /// ago.
    fn look_up(&mut self, target: &Target, now_ns: u64) {
        if self.is_stale && self.search.is_none() && now_ns >= self.begun_ns + GAP_NS {
            // Without a thread, the old endpoints are used until the next loss.
            self.search = target.resolve().ok();
            (self.is_stale, self.begun_ns) = (false, now_ns);
        }
    }

    /// Stores the result of a finished lookup. Returns whether the addresses can be used now. The addresses
    /// can be used if no lookup is in progress, or if the lookup has taken longer than 1 s.
    fn is_known(&mut self, now_ns: u64) -> bool {
        match self.search.as_mut().map(|search| search.wait(Duration::ZERO)) {
            None => return true,
            Some(Ok(None)) => return now_ns >= self.begun_ns + PATIENCE_NS,
            Some(Ok(Some(found))) => self.found = Vec::from(found).into(),
            // If the name server fails, the old endpoints are kept.
            Some(Err(_)) => {}
        }
        self.search = None;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::{Ipv4Addr, SocketAddr},
        sync::mpsc::{Receiver, Sender, channel},
    };

    use super::*;
    use crate::endpoint::{Address, Resolver};

    const NOW: u64 = 10 * GAP_NS;

    /// Creates endpoints with a resolver whose answers come from the test. The answer to the first lookup is port 1.
    fn by_hand() -> (Endpoints, Sender<io::Result<u16>>) {
        let (answer, answers): (_, Receiver<io::Result<u16>>) = channel();
        answer.send(Ok(1)).unwrap();
        let answers = Mutex::new(answers);
        let resolver = Resolver::new(move |_, _| {
            let port = answers.lock().recv().unwrap_or(Ok(0))?;
            Ok(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))])
        });
        let address = Address::Tcp { host: "a.name".to_owned(), port: 1 };
        let target = Target { address, resolver, ..Target::default() };
        (Endpoints::find(&target, Duration::from_secs(60), NOW - GAP_NS).unwrap(), answer)
    }

    fn port(found: Option<Arc<[Endpoint]>>) -> Option<u16> {
        found.map(|found| match &found[0] {
            Endpoint::Tcp(address) => address.port(),
            Endpoint::Unix(_) => 0,
        })
    }

    /// Waits for the lookup in progress, and returns the port at `now_ns`.
    fn settled(endpoints: &Endpoints, now_ns: u64) -> u16 {
        loop {
            match port(endpoints.current(now_ns)) {
                Some(port) => return port,
                None => std::thread::yield_now(),
            }
        }
    }

    #[test]
    fn after_a_loss_the_name_is_looked_up_anew_before_the_next_connection() {
        let (endpoints, answer) = by_hand();
        assert_eq!(port(endpoints.current(NOW)), Some(1), "nothing was lost");
        endpoints.mark_stale(NOW);
        assert_eq!(port(endpoints.current(NOW)), None);
        answer.send(Ok(2)).unwrap();
        assert_eq!(settled(&endpoints, NOW), 2);
    }

    #[test]
    fn a_name_server_that_hangs_or_fails_delays_a_connection_by_a_second_at_most() {
        let (endpoints, answer) = by_hand();
        endpoints.mark_stale(NOW);
        assert_eq!(port(endpoints.current(NOW + PATIENCE_NS - 1)), None);
        assert_eq!(port(endpoints.current(NOW + PATIENCE_NS)), Some(1));
        answer.send(Err(io::ErrorKind::NotFound.into())).unwrap();
        assert_eq!(settled(&endpoints, NOW), 1);
    }

    #[test]
    fn losses_in_quick_succession_cause_one_lookup_and_a_later_loss_causes_another() {
        let (endpoints, answer) = by_hand();
        (0..1000).for_each(|n| endpoints.mark_stale(NOW + n));
        answer.send(Ok(2)).unwrap();
        assert_eq!(settled(&endpoints, NOW + 1000), 2, "no second lookup waits for an answer");
        assert_eq!(port(endpoints.current(NOW + GAP_NS)), None, "what was lost since then is in doubt");
        answer.send(Ok(3)).unwrap();
        assert_eq!(settled(&endpoints, NOW + GAP_NS), 3);
    }
}
