//! The end of a session, whatever brought it about: last replies, last records, keys removed.

use std::{
    io::{self, IsTerminal, Write},
    sync::{Arc, mpsc::Receiver},
    time::Duration,
};

use super::source::LiveSource;
use crate::{
    server::{Control, counted},
    session::Record,
    signals::Signal,
};

/// How often a removal that takes its time is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Ends the session. Every record that is still to come goes to `take`. Then the keys are removed, unless an
/// interrupt or a `kill` among `signals` says that there is no time; what happens to them is told on stderr.
///
/// # Errors
/// When the recording could not be written to its end.
pub fn finish(
    source: LiveSource,
    signals: &Receiver<Signal>,
    mut take: impl FnMut(&Arc<Record>),
) -> anyhow::Result<()> {
    let LiveSource { live, control, gate, records, recording, .. } = source;
    live.finish();
    records.into_iter().for_each(|record| take(&record));
    if gate.has_marked() {
        clean(&control, signals, &mut io::stderr());
    }
    recording.map_or(Ok(()), |recording| Ok(recording.finish()?))
}

/// Removes the keys. Its words go to `out`; if that is gone, so is who would read them.
fn clean(control: &Control, signals: &Receiver<Signal>, out: &mut (impl Write + IsTerminal)) {
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
