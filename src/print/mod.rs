//! Prints a session that runs without the screen: lines or JSON lines while it runs, a summary at its end. The output
//! goes through outlets to standard output and standard error, which never block the session.
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
mod ycsb_status;

pub use change::{Tuned, change, segment_words};
pub use said::{Said, Which};
pub use summary::summary;
pub use ycsb::{YcsbForm, YcsbInterval, YcsbText, ycsb_summary};
pub use ycsb_status::YcsbStatus;
