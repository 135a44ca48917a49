//! What is told on stderr beside the output of a session: its notices, and what it undoes at its end.

use std::io::Write;

use super::words::Words;
use crate::{server::Progress, session::Notice};

/// Tells notices, each at its place.
#[derive(Default)]
pub struct Said {
    /// Which of several targets it is that notices are of, as every line says; empty where there is one.
    of: String,
    /// Whether a line of progress stands on the terminal.
    has_progress: bool,
}

impl Said {
    /// Tells those of one of several targets, which is called so.
    pub fn of(target: &str) -> Self {
        Self { of: format!("{target}: "), has_progress: false }
    }

    /// Tells what nobody was told of in a record. If stderr is gone, so is who would read this.
    pub fn tell(&mut self, notice: &Notice) {
        match notice {
            Notice::Info(text) | Notice::Warning(text) | Notice::LoadStaysOff(text) => {
                let _ = writeln!(Words::stderr(), "redyno: {}{text}", self.of);
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
                let _ = write!(out, "\r{}removing redyno's keys: {looked_at} of {total} looked at", self.of);
            }
            Notice::Undone(told) => {
                if std::mem::take(&mut self.has_progress) {
                    let _ = write!(out, "\r\x1b[K");
                }
                let _ = writeln!(out, "{}{told}", self.of);
            }
            _ => {}
        }
    }
}
