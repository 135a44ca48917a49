//! Prints messages on stderr during a session without a screen. The messages are the notices of the session, and the
//! changes that the session undid at the end.

use std::io::Write;

use super::words::StreamText;
use crate::{
    server::CleaningProgress,
    session::Notice,
    units::{count_with_noun, grouped},
};

/// A printer of notices.
#[derive(Default)]
pub struct NoticePrinter {
    /// The names of the nodes. Each message begins with the name of its node. The list is empty if there is only one
    /// node.
    of: Vec<String>,
    which: NoticeFilter,
    /// Whether a line of progress is on the terminal.
    has_progress: bool,
}

/// The notices that are printed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum NoticeFilter {
    /// All notices, except notices that are also records.
    #[default]
    All,
    /// All notices that `All` prints, except the reason why the load stays off.
    WithoutReason,
    /// Only notices about undone changes.
    Undone,
}

impl NoticePrinter {
    /// Creates a printer for notices of nodes with these names.
    pub fn of(nodes: Vec<String>, which: NoticeFilter) -> Self {
        Self { of: nodes, which, has_progress: false }
    }

    /// Prints a notice of a node. If stderr is closed, the notice is lost.
    pub fn print(&mut self, node: u16, notice: &Notice) {
        let of = self.of.get(usize::from(node)).map(|name| format!("{name}: ")).unwrap_or_default();
        let mut out = StreamText::stderr();
        match notice {
            Notice::LoadStaysOff(_) if self.which == NoticeFilter::WithoutReason => {}
            Notice::Info(text) | Notice::Warning(text) | Notice::LoadStaysOff(text)
                if self.which != NoticeFilter::Undone =>
            {
                let _ = writeln!(out, "redyno: {of}{text}");
            }
            Notice::Cleaning(CleaningProgress { looked_at, total, .. }) if out.is_terminal => {
                self.has_progress = true;
                let (done, all) = (grouped(*looked_at), count_with_noun(*total, "key"));
                let _ = write!(out, "\r{of}removing redyno's keys: {done} of {all} checked");
            }
            Notice::Undone(text) => {
                if std::mem::take(&mut self.has_progress) {
                    let _ = write!(out, "\r\x1b[K");
                }
                let _ = writeln!(out, "{of}{text}");
            }
            // All other notices are also records, or only for the screen.
            _ => {}
        }
    }
}
