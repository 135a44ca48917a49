//! The end of a session, whatever brought it about: last replies, last records, keys removed.

use std::{
    io::Write,
    sync::{Arc, mpsc::Receiver},
    time::Duration,
};

use super::{gate::Gate, source::LiveSource, tuning};
use crate::{
    cli::words::Words,
    server::{Control, counted},
    session::Record,
    signals::Signal,
};

/// How often a removal that takes its time is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How often it is looked whether our own connections are gone.
const CLOSING_LOOKS: u32 = 5;
/// How long the server may take to say who is connected.
const SURVEY_LIMIT: Duration = Duration::from_secs(5);

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

/// Removes the keys and the marker, if that was set, unless another session still needs them. The load is off.
pub fn remove_keys(gate: &Gate, control: &Control, signals: &Receiver<Signal>) {
    if !gate.has_marked() {
        return;
    }
    if others_are_at_work(control) {
        let left = "another redyno puts load on this server: its end removes the keys of both";
        // If stderr is gone, so is who would read this.
        let _ = writeln!(Words::stderr(), "{left}");
    } else {
        clean(control, signals, &mut Words::stderr());
    }
}

/// Whether another redyno puts load on the server. Our own connections are closed by now; the server may take a
/// moment to see that.
fn others_are_at_work(control: &Control) -> bool {
    for _ in 0..CLOSING_LOOKS {
        match control.survey().wait(SURVEY_LIMIT) {
            Some(Ok(survey)) if survey.neighbours.load.is_some_and(|n| n > 0) => {}
            _ => return false,
        }
        std::thread::sleep(LOOK_EVERY);
    }
    true
}

/// Removes the keys. Its words go to `out`; if that is gone, so is who would read them.
fn clean(control: &Control, signals: &Receiver<Signal>, out: &mut Words) {
    let shows_progress = out.is_terminal();
    let cleaning = control.clean();
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
            let _ = write!(out, "\rremoving redyno's keys: {} of {} looked at", now.scanned, now.total);
            let _ = out.flush();
        }
    };
    if shows_progress {
        let _ = write!(out, "\r\x1b[K");
    }
    let told = match ended {
        Ok(cleaned) if cleaned.complete => writeln!(out, "removed {}", counted(cleaned.removed, "key")),
        Ok(cleaned) => {
            let removed = counted(cleaned.removed, "key");
            writeln!(out, "removed {removed}, then was interrupted; `redyno clean` removes the others")
        }
        Err(error) => {
            writeln!(out, "redyno's keys may be left on the server ({error}); `redyno clean` removes them")
        }
    };
    let _ = told;
}
