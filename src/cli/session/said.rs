//! What is told on stderr beside the output of a session: its notices, and what it undoes at its end.

use std::io::Write;

use crate::{cli::words::Words, server::Progress, session::Notice};

/// Tells notices, each at its place.
#[derive(Default)]
pub struct Said {
    /// Whether a line of progress stands on the terminal.
    has_progress: bool,
}

impl Said {
    /// Tells what nobody was told of in a record. If stderr is gone, so is who would read this.
    pub fn tell(&mut self, notice: &Notice) {
        match notice {
            Notice::Info(text) | Notice::Warning(text) | Notice::LoadStaysOff(text) => {
                let _ = writeln!(Words::stderr(), "redyno: {text}");
            }
            // The others are records as well, or belong to a screen.
            notice => self.tell_undone(notice),
        }
    }

    /// Tells what a session undoes.
    pub fn tell_undone(&mut self, notice: &Notice) {
        let mut out = Words::stderr();
        match notice {
            Notice::Cleaning(Progress { looked_at, total, .. }) if out.is_terminal() => {
                self.has_progress = true;
                let _ = write!(out, "\rremoving redyno's keys: {looked_at} of {total} looked at");
            }
            Notice::Undone(told) => {
                if std::mem::take(&mut self.has_progress) {
                    let _ = write!(out, "\r\x1b[K");
                }
                let _ = writeln!(out, "{told}");
            }
            _ => {}
        }
    }
}
