//! `-I`: connections that are held and never used, until one of them is lost.

use std::{
    convert::Infallible,
    io::{self, Read as _, Write},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags};

use crate::{
    compat::Stop,
    endpoint::{Endpoints, Target, Transport, wait_for},
    foreign,
    load::most_clients,
    print::words::Words,
    protocol::{Reply, Skipper},
};

/// How often their number is told.
const TICK: Duration = Duration::from_millis(250);
/// How long the lookup of the host's name may take.
const RESOLVE_LIMIT: Duration = Duration::from_secs(10);
/// Room for one read: what comes is a line of an error.
const READ_SIZE: usize = 4096;

/// Why a connection is not held any longer.
pub(super) enum Lost {
    /// It could not be had.
    Unreachable(io::Error),
    /// The server said this error, and hangs up.
    Said(String),
    /// It was closed, or broke.
    Closed(io::Error),
}

/// A connection that is held.
struct Held {
    transport: Transport,
    is_connected: bool,
    /// Whether hands are shaken, too, where there is TLS.
    is_open: bool,
    skipper: Skipper,
}

/// Opens so many connections, and holds them until one is lost, which `end` makes the end of the run.
///
/// # Errors
/// That end, or that nobody takes what is written.
pub(super) fn hold(
    target: &Target,
    clients: i64,
    out: &mut Words,
    end: impl Fn(Lost) -> Stop,
) -> Result<Infallible, Stop> {
    writeln!(out, "Creating {clients} idle connections and waiting forever (Ctrl+C when done)")?;
    // For its raising of the limit.
    most_clients(1, 1);
    let mut held = open(target, clients).map_err(|error| end(Lost::Unreachable(error)))?;
    loop {
        write!(out, "clients: {}\r", held.len())?;
        out.flush()?;
        let next = Instant::now() + TICK;
        while let Some(left) = next.checked_duration_since(Instant::now()) {
            attend(&mut held, left).map_err(&end)?;
        }
    }
}

fn open(target: &Target, clients: i64) -> io::Result<Vec<Held>> {
    let endpoints = Endpoints::find(target, RESOLVE_LIMIT, 0)?.current(0).unwrap_or_default();
    let endpoint = endpoints.first().ok_or(io::ErrorKind::NotFound)?;
    let open = |_| {
        let transport = Transport::connect(endpoint, target.tls.as_ref())?;
        Ok(Held { transport, is_connected: false, is_open: false, skipper: target.dialect.skipper() })
    };
    (0..clients).map(open).collect()
}

/// Waits for `limit` at the most until something happens to one of them, and attends to all to which it does.
fn attend(held: &mut [Held], limit: Duration) -> Result<(), Lost> {
    let mut polled: Vec<_> = held.iter().map(|held| PollFd::new(&held.transport, held.interest())).collect();
    wait_for(&mut polled, limit);
    let ready: Vec<_> = polled.iter().map(|polled| !polled.revents().is_empty()).collect();
    held.iter_mut().zip(ready).filter(|(_, ready)| *ready).try_for_each(|(held, _)| held.go_on())
}

impl Held {
    fn interest(&self) -> PollFlags {
        let has_to_write = !self.is_connected || self.transport.wants_write();
        if has_to_write { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN }
    }

    /// Goes on with opening it, and then reads what should not come.
    fn go_on(&mut self) -> Result<(), Lost> {
        if !self.is_connected {
            self.is_connected = self.transport.is_connected().map_err(Lost::Unreachable)?;
        }
        if self.is_connected && !self.is_open {
            self.is_open = self.transport.shake_hands().map_err(Lost::Closed)?;
        }
        let mut buffer = [0; READ_SIZE];
        while self.is_open {
            let mut bytes = match self.transport.read(&mut buffer) {
                Ok(0) => return Err(Lost::Closed(io::Error::other("Server closed the connection"))),
                Ok(n) => &buffer[..n],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Lost::Closed(error)),
            };
            let broken = |error| Lost::Closed(io::Error::other(error));
            while let Some(reply) = self.skipper.next(&mut bytes).map_err(broken)? {
                // As theirs: what is no error is nothing.
                if let Reply::Error(line) = reply {
                    return Err(Lost::Said(foreign::bytes(line)));
                }
            }
        }
        Ok(())
    }
}
