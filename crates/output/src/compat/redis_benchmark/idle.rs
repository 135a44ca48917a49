//! `-I` of redis-benchmark opens idle connections, and keeps them open until one of them is lost.

use std::{
    convert::Infallible,
    io::{self, Write as _},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags};

use super::server_config::unreachable;
use crate::{
    compat::{run::EarlyEnd, server::os_error_text},
    endpoint::{ReachError, Talk, TalkError, Target, wait_for},
    load::most_clients,
    print::words::StreamText,
    protocol::Reply,
    untrusted,
};

/// The time between two printed numbers of connections.
const TICK: Duration = Duration::from_millis(250);
/// The message about a connection that the server has closed.
pub(super) const CLOSED: &str = "Error: Server closed the connection";
/// The time limit for opening all connections.
const OPENING: Duration = Duration::from_secs(86_400);
/// The duration of one wait for incoming data.
const LISTENING: Duration = Duration::from_millis(1);

/// Opens this many connections, and keeps the connections open. The first lost connection ends the run.
///
/// # Errors
/// Fails if a connection was lost, or output cannot be written.
pub(super) fn keep_open(
    target: &Target,
    server: &str,
    clients: i64,
    out: &mut StreamText,
) -> Result<Infallible, EarlyEnd> {
    writeln!(out, "Creating {clients} idle connections and waiting forever (Ctrl+C when done)")?;
    // `most_clients` also raises the limit of open files.
    most_clients(1, 1);
    let until = Instant::now() + OPENING;
    let held: Result<Vec<_>, _> = (0..clients).map(|_| Talk::silent(target, until)).collect();
    let mut held = held.map_err(|error| match &error {
        // A server with too many clients closes further connections before it speaks TLS.
        TalkError::Tls(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => {
            EarlyEnd::Message(CLOSED.to_owned())
        }
        TalkError::Tls(cause) if cause.kind() == io::ErrorKind::ConnectionReset => {
            EarlyEnd::Message(format!("Error: {}", os_error_text(cause)))
        }
        error => EarlyEnd::Message(unreachable(target, server, error)),
    })?;
    loop {
        write!(out, "clients: {}\r", held.len())?;
        out.flush()?;
        let next = Instant::now() + TICK;
        while let Some(left) = next.checked_duration_since(Instant::now()) {
            handle_ready(&mut held, left)?;
        }
    }
}

/// Waits at most `limit` for data on the connections, and handles the data of all connections.
fn handle_ready(held: &mut [Talk], limit: Duration) -> Result<(), EarlyEnd> {
    let mut polled: Vec<_> = held.iter().map(|talk| PollFd::new(talk, PollFlags::IN)).collect();
    wait_for(&mut polled, limit);
    let ready: Vec<_> = polled.iter().map(|polled| !polled.revents().is_empty()).collect();
    held.iter_mut().zip(ready).filter(|(_, ready)| *ready).try_for_each(|(talk, _)| read_unrequested(talk))
}

/// Reads data that the server sends without a request. Only errors matter, as in redis-benchmark.
fn read_unrequested(talk: &mut Talk) -> Result<(), EarlyEnd> {
    let mut said = None;
    let heard = talk.ask(&[], 1, LISTENING, |_, reply| {
        if let Reply::Error(line) = reply {
            said = Some(format!("Error from server: {}", untrusted::bytes(line)));
        }
    });
    let end = match heard {
        Err(ReachError::Io { cause, .. }) => match cause.kind() {
            io::ErrorKind::TimedOut => None,
            io::ErrorKind::UnexpectedEof => Some(CLOSED.to_owned()),
            _ => Some(format!("Error: {}", os_error_text(&cause))),
        },
        Err(error) => Some(format!("Error: {error}")),
        Ok(()) => said,
    };
    end.map_or(Ok(()), |line| Err(EarlyEnd::Message(line)))
}
