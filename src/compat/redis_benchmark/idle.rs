//! `-I`: connections that are held and never used, until one of them is lost.

use std::{
    convert::Infallible,
    io::{self, Write},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags};

use super::server_config::unreachable;
use crate::{
    compat::{run::Stop, server::plain},
    endpoint::{ReachError, Talk, Target, wait_for},
    load::most_clients,
    print::words::StreamText,
    protocol::Reply,
    untrusted,
};

/// How often their number is told.
const TICK: Duration = Duration::from_millis(250);
/// How long connections may take to be had, all of them.
const OPENING: Duration = Duration::from_secs(86_400);
/// How long what came is listened to.
const LISTENING: Duration = Duration::from_millis(1);

/// Opens so many connections, and holds them until one is lost, which is the end of the run.
///
/// # Errors
/// That end, or that nobody takes what is written.
pub(super) fn hold(
    target: &Target,
    server: &str,
    clients: i64,
    out: &mut StreamText,
) -> Result<Infallible, Stop> {
    writeln!(out, "Creating {clients} idle connections and waiting forever (Ctrl+C when done)")?;
    // For its raising of the limit.
    most_clients(1, 1);
    let until = Instant::now() + OPENING;
    let held: Result<Vec<_>, _> = (0..clients).map(|_| Talk::silent(target, until)).collect();
    let mut held = held.map_err(|error| Stop::Told(unreachable(target, server, &error)))?;
    loop {
        write!(out, "clients: {}\r", held.len())?;
        out.flush()?;
        let next = Instant::now() + TICK;
        while let Some(left) = next.checked_duration_since(Instant::now()) {
            attend(&mut held, left)?;
        }
    }
}

/// Waits for `limit` at the most until something happens to one of them, and attends to all to which it does.
fn attend(held: &mut [Talk], limit: Duration) -> Result<(), Stop> {
    let mut polled: Vec<_> = held.iter().map(|talk| PollFd::new(talk, PollFlags::IN)).collect();
    wait_for(&mut polled, limit);
    let ready: Vec<_> = polled.iter().map(|polled| !polled.revents().is_empty()).collect();
    held.iter_mut().zip(ready).filter(|(_, ready)| *ready).try_for_each(|(talk, _)| listen(talk))
}

/// Listens to what nobody asked for. As theirs: what is no error is nothing.
fn listen(talk: &mut Talk) -> Result<(), Stop> {
    let mut said = None;
    let heard = talk.ask(&[], 1, LISTENING, |_, reply| {
        if let Reply::Error(line) = reply {
            said = Some(format!("Error from server: {}", untrusted::bytes(line)));
        }
    });
    let end = match heard {
        Err(ReachError::Io { cause, .. }) => match cause.kind() {
            io::ErrorKind::TimedOut => None,
            io::ErrorKind::UnexpectedEof => Some("Error: Server closed the connection".to_owned()),
            _ => Some(format!("Error: {}", plain(&cause))),
        },
        Err(error) => Some(format!("Error: {error}")),
        Ok(()) => said,
    };
    end.map_or(Ok(()), |line| Err(Stop::Told(line)))
}
