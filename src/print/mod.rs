//! What prints a session, the screen's peer: lines and JSON lines as it goes, a summary at its end, and the ways out to
//! standard output and standard error, on which nobody waits.
//!
//! ```text
//! records ─► Lines, JsonLines, an exporter ─► Printer ─► Outlet ─► pipe, file or terminal
//! notices ─► Said ───────────────────────────► Words ────┘
//! ```

pub(crate) mod ab;
mod change;
pub(crate) mod compare;
pub mod lines;
pub mod outlet;
pub mod printer;
mod said;
pub(crate) mod series;
mod summary;
pub mod words;
mod ycsb;

pub use change::{Tuned, change, segment_words};
pub use said::Said;
pub use summary::summary;
pub use ycsb::ycsb_summary;
