//! Chooses epoll or io_uring for the load. A short measurement on this machine decides, if the kernel permits
//! io_uring.
//!
//! ```text
//!  rounds over epoll:     32 writes ──► (the other ends reply) ──► wait, 32 reads     in turns
//!  rounds over the ring:  32 sends  ──► (the other ends reply) ──► wait, 32 copies
//! ```
//! The measurement covers only the system calls of a worker, because the two methods differ only in these calls.

use std::{
    fmt,
    io::{self, Read, Write},
    os::{fd::AsRawFd, unix::net::UnixStream},
    sync::OnceLock,
    time::{Duration, Instant},
};

use mio::{Events, Interest, Poll, Token, unix::SourceFd};

use super::{Io, IoMethod, RingEventKind, Tag};

/// The length of the whole measurement.
const LENGTH: Duration = Duration::from_millis(240);
/// io_uring is chosen only if it saves at least this share of the time. A shorter measurement of a busy machine varies
/// by some percent. Runs with different methods cannot be compared.
const LEAST_SAVED: f64 = 0.1;
/// The number of connections. The ring sends the requests of this many connections at once.
const SOCKETS: usize = 32;
const REQUEST: &[u8] = b"*2\r\n$3\r\nGET\r\n$10\r\nkey:000001\r\n";
const REPLY: &[u8] = b"$8\r\nxxxxxxxx\r\n";

/// The method that `auto` has chosen, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IoChoice {
    /// The method, epoll or io_uring.
    pub method: IoMethod,
    /// The reason, as the end of a sentence.
    pub why: String,
}

static CHOICE: OnceLock<IoChoice> = OnceLock::new();

impl IoChoice {
    /// Returns the choice on this machine. The first call measures for a quarter of a second.
    pub fn get() -> &'static Self {
        CHOICE.get_or_init(|| Self::of(IoMethod::Uring.check(), measured))
    }

    /// Returns the choice if it has been made.
    pub fn made() -> Option<&'static Self> {
        CHOICE.get()
    }

    fn of(check: io::Result<()>, measured: impl FnOnce() -> io::Result<[f64; 2]>) -> Self {
        let costs = check.map_err(|error| format!("the system refuses io_uring ({error})"));
        match costs.and_then(|()| measured().map_err(|error| format!("the measurement failed ({error})"))) {
            Err(why) => Self { method: IoMethod::Epoll, why },
            Ok([epoll_ns, uring_ns]) => {
                let saved = 1.0 - uring_ns / epoll_ns;
                let method = if saved >= LEAST_SAVED { IoMethod::Uring } else { IoMethod::Epoll };
                let rule = if saved >= LEAST_SAVED { "" } else { "; io_uring must save at least 10 %" };
                let per = |ns: f64| format!("{:.2} µs", ns / 1e3);
                let why = format!(
                    "a request took {} over io_uring and {} over epoll{rule}",
                    per(uring_ns),
                    per(epoll_ns)
                );
                Self { method, why }
            }
        }
    }
}

impl fmt::Display for IoChoice {
    /// Writes `auto chose epoll: the system refuses io_uring (…)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "auto chose {}: {}", self.method.name(), self.why)
    }
}

/// Returns the median time per request over epoll and over io_uring, in ns.
fn measured() -> io::Result<[f64; 2]> {
    let mut ways = [Connections::new(false)?, Connections::new(true)?];
    let mut costs = [Vec::new(), Vec::new()];
    let began = Instant::now();
    while began.elapsed() < LENGTH {
        for (way, costs) in ways.iter_mut().zip(&mut costs) {
            costs.push(way.round()?.as_nanos() as f64 / SOCKETS as f64);
        }
    }
    Ok(costs.map(|mut costs| {
        costs.sort_by(f64::total_cmp);
        costs[costs.len() / 2]
    }))
}

/// Connections whose two ends are both in this thread.
struct Connections {
    io: Io,
    events: Events,
    /// For each connection, the worker's end of the connection, and the connection's tag in the ring.
    near: Vec<(UnixStream, Option<Tag>)>,
    far: Vec<UnixStream>,
}

impl Connections {
    fn new(in_ring: bool) -> io::Result<Self> {
        let mut io = Io::new(Poll::new()?);
        if in_ring {
            io.use_ring()?;
        }
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for lane in 0..SOCKETS {
            let (own, other) = UnixStream::pair()?;
            own.set_nonblocking(true)?;
            other.set_read_timeout(Some(Duration::from_secs(1)))?;
            let tag = io.receive(lane, &own)?.map(|number| Tag { lane, number });
            if tag.is_none() {
                io.registry().register(&mut SourceFd(&own.as_raw_fd()), Token(lane), Interest::READABLE)?;
            }
            near.push((own, tag));
            far.push(other);
        }
        Ok(Self { io, events: Events::with_capacity(SOCKETS), near, far })
    }

    /// Sends a request on each connection, and reads the replies. Returns the elapsed time, without the time that the
    /// other ends of the connections took.
    fn round(&mut self) -> io::Result<Duration> {
        let mut buffer = [0; 256];
        let began = Instant::now();
        for (socket, tag) in &mut self.near {
            match tag {
                Some(tag) => drop(self.io.send(*tag, socket, REQUEST)?),
                None => socket.write_all(REQUEST)?,
            }
        }
        self.io.flush()?;
        let sent = began.elapsed();
        for socket in &mut self.far {
            socket.read_exact(&mut buffer[..REQUEST.len()])?;
            socket.write_all(REPLY)?;
        }
        let (replied, mut read) = (Instant::now(), 0);
        while read < SOCKETS * REPLY.len() {
            self.io.wait(&mut self.events, Duration::from_secs(1))?;
            let before = read;
            while let Some(event) = self.io.next(&mut buffer) {
                match event.came {
                    RingEventKind::Bytes(n) => read += n,
                    RingEventKind::Nothing => {}
                    RingEventKind::Failed(error) => return Err(error),
                    RingEventKind::Unsent(rest) => {
                        return rest.and(Err(io::Error::other("a send was incomplete")));
                    }
                }
                if event.has_ended {
                    self.io.receive_on(event.tag, &self.near[event.tag.lane].0)?;
                }
            }
            for event in self.events.iter().filter(|event| event.token().0 < SOCKETS) {
                read += self.near[event.token().0].0.read(&mut buffer)?;
            }
            if read == before {
                return Err(io::Error::other("no reply within a second"));
            }
        }
        Ok(sent + replied.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_is_chosen_only_if_it_is_permitted_and_clearly_cheaper() {
        let of = |costs: [f64; 2]| IoChoice::of(Ok(()), || Ok(costs));
        assert_eq!(
            (of([2000.0, 1799.0]).method, of([2000.0, 1801.0]).method),
            (IoMethod::Uring, IoMethod::Epoll)
        );
        let why =
            "a request took 1.90 µs over io_uring and 2.00 µs over epoll; io_uring must save at least 10 %";
        assert_eq!(of([2000.0, 1900.0]).why, why);
        let refused = IoChoice::of(Err(io::Error::other("no")), || panic!("nothing is measured"));
        assert_eq!(
            (refused.method, refused.why.as_str()),
            (IoMethod::Epoll, "the system refuses io_uring (no)")
        );
    }

    #[test]
    fn both_methods_carry_the_requests_of_the_measurement() {
        for in_ring in [false, true] {
            if in_ring && IoMethod::Uring.check().is_err() {
                eprintln!("not measured: the system refuses io_uring");
                continue;
            }
            let mut connections = Connections::new(in_ring).unwrap();
            (0..3).for_each(|_| assert!(connections.round().unwrap() > Duration::ZERO));
        }
    }
}
