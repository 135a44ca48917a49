//! Runs a mode with redis-cli's output, and chooses the destinations of figures and warnings.

use std::{
    io::{self, Write},
    sync::mpsc::Receiver,
};

use super::{
    dist, keys, latency,
    pinging::REACH_LIMIT,
    plan::{OneshotMode, OneshotPlan},
    stat,
};
use crate::{
    endpoint::{ReachError, reach},
    print::{
        outlet::{CLEAR, is_broken_pipe},
        words::StreamText,
    },
    protocol::Dialect,
    signals::Signal,
};

/// The output of a mode.
pub struct Streams<'a> {
    /// The destination of figures.
    pub out: &'a mut dyn Write,
    /// The destination of warnings.
    pub err: &'a mut dyn Write,
    /// Whether `out` is a terminal. On a terminal, lines are redrawn.
    pub is_tty: bool,
}

impl Streams<'_> {
    /// Writes figures immediately.
    pub(super) fn print(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Writes a warning. On a terminal, the warning replaces a line that is being redrawn.
    pub(super) fn warn(&mut self, text: &str) -> io::Result<()> {
        if self.is_tty {
            self.print(CLEAR)?;
        }
        writeln!(self.err, "redyno: {text}")?;
        self.err.flush()
    }
}

/// Runs a plan until it is done, or until `stop` receives a signal (Ctrl-C, SIGTERM). After a signal, prints the
/// figures so far. Figures go to stdout, and warnings go to stderr. `is_tty` is true if stdout is a terminal.
///
/// # Errors
/// Fails if the plan is invalid, or if no sample was taken. Without a sample, the error contains a diagnosis. Also
/// fails if stdout cannot be written, or if the system cannot start a thread.
pub fn run(plan: &OneshotPlan, stop: &Receiver<Signal>, is_tty: bool) -> anyhow::Result<()> {
    run_on(
        plan,
        stop,
        &mut Streams { out: &mut StreamText::stdout(), err: &mut StreamText::stderr(), is_tty },
    )
}

/// Runs a plan with these streams.
///
/// # Errors
/// Returns the errors of [`run`]. Also fails if `err` cannot be written.
pub fn run_on(plan: &OneshotPlan, stop: &Receiver<Signal>, streams: &mut Streams) -> anyhow::Result<()> {
    plan.check().map_err(anyhow::Error::msg)?;
    let done = match plan.mode {
        OneshotMode::Latency | OneshotMode::LatencyHistory => latency::run(plan, stop, streams),
        OneshotMode::LatencyDist => dist::run(plan, stop, streams),
        OneshotMode::IntrinsicLatency(length) => latency::run_intrinsic(length, stop, streams),
        OneshotMode::Stat => stat::run(plan, stop, streams),
        OneshotMode::BigKeys | OneshotMode::MemKeys | OneshotMode::KeyStats | OneshotMode::HotKeys => {
            keys::run(plan, stop, streams)
        }
    };
    match done {
        Err(error) if is_broken_pipe(&error) => Ok(()),
        Err(error) => Err(refusal_of_memcached(plan).map_or(error, anyhow::Error::msg)),
        Ok(()) => Ok(()),
    }
}

/// Returns an error if the server is a memcached, and the mode does not work with memcached.
fn refusal_of_memcached(plan: &OneshotPlan) -> Option<String> {
    let refusal = plan.refusal_of(Dialect::Memcached)?;
    match reach(&plan.target, REACH_LIMIT) {
        Err(ReachError::Memcached(server)) => Some(format!("{server} is a memcached: {refusal}")),
        _ => None,
    }
}
