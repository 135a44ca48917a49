//! The end of a session, whatever brought it about: last replies, last records, keys removed.

use std::{
    io::Write,
    sync::{Arc, mpsc::Receiver},
    time::Duration,
};

use super::{gate::Gate, source::LiveSource, tuning};
use crate::{
    cli::words::Words,
    server::{Cleaned, Control, Ledger},
    session::Record,
    signals::Signal,
    units::{self, counted},
};

/// How often a removal that takes its time is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How long the server may take to tell what happened since it was last asked.
const LAST_POLL_LIMIT: Duration = Duration::from_secs(1);

/// Ends the session. Every record that is still to come goes to `take`. Then the parameters of the server
/// that were set get their old values, and the keys are removed, unless an
/// interrupt or a `kill` among `signals` says that there is no time; what happens to them is told on stderr.
///
/// # Errors
/// When the recording could not be written to its end.
pub fn finish(
    source: LiveSource,
    signals: &Receiver<Signal>,
    mut take: impl FnMut(&Arc<Record>),
) -> anyhow::Result<()> {
    let LiveSource { mut live, control, gate, records, recordings, tuning, address, .. } = source;
    live.end_load();
    // A server that does not answer in time has nothing in the records of its last second.
    let _ = control.poll().wait(LAST_POLL_LIMIT);
    live.finish();
    records.into_iter().for_each(|record| take(&record));
    tuning::restore(tuning, &control, &address);
    remove_keys(&gate, &control, signals);
    Ok(recordings.finish()?)
}

/// Removes the keys of the run, if there may be any, or tells how to use those that are to stay. The load is off.
pub fn remove_keys(gate: &Gate, control: &Control, signals: &Receiver<Signal>) {
    let Some((ledger, kept)) = gate.to_remove() else { return };
    let mut out = Words::stderr();
    if kept {
        let prefix = gate.names().values();
        // If stderr is gone, so is who would read this.
        let _ = writeln!(
            out,
            "the keys stay under {prefix}; --key-prefix {prefix} uses them again, `redyno clean` removes them"
        );
    } else {
        clean(ledger, control, signals, &mut out);
    }
}

/// Removes the keys. Its words go to `out`; if that is gone, so is who would read them.
fn clean(ledger: &Ledger, control: &Control, signals: &Receiver<Signal>, out: &mut Words) {
    let shows_progress = out.is_terminal();
    let cleaning = control.clean(vec![ledger.clone()]);
    let ended = loop {
        if let Some(ended) = cleaning.wait(LOOK_EVERY) {
            break ended;
        }
        // A terminal that goes says so more than once: that is no haste.
        if signals.try_iter().any(|signal| matches!(signal, Signal::Interrupt | Signal::Terminate)) {
            cleaning.stop();
        }
        if shows_progress {
            let now = cleaning.progress();
            let _ = write!(out, "\rremoving redyno's keys: {} of {} looked at", now.looked_at, now.total);
            let _ = out.flush();
        }
    };
    if shows_progress {
        let _ = write!(out, "\r\x1b[K");
    }
    let written = match ended {
        Ok(cleaned) if cleaned.complete => writeln!(out, "{}", told(cleaned)),
        Ok(cleaned) => {
            let removed = counted(cleaned.removed, "key");
            writeln!(out, "removed {removed}, then was interrupted; `redyno clean` removes the others")
        }
        Err(error) => {
            writeln!(out, "redyno's keys may be left on the server ({error}); `redyno clean` removes them")
        }
    };
    let _ = written;
}

/// `removed 19 952 keys in 42.0 ms`.
pub fn told(cleaned: Cleaned) -> String {
    let took = u64::try_from(cleaned.took.as_nanos()).unwrap_or(u64::MAX);
    format!("removed {} in {}", counted(cleaned.removed, "key"), units::latency(took))
}
