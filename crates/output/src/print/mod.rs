//! Prints a session without the screen: lines or JSON lines while the session runs, and a summary at the end.
//! An *outlet* writes this output to standard output or standard error, and never blocks the session.
//!
//! ```text
//! records ─► Lines, JsonLines, an exporter ─► Printer ─► Outlet ─► pipe, file or terminal
//! notices ─► NoticePrinter ───────────────► StreamText ───┘
//! ```

pub mod ab;
mod change;
pub mod compare;
pub mod lines;
mod notice_printer;
pub mod outlet;
pub mod page_server;
pub mod printer;
pub mod series;
mod summary;
pub mod words;
mod ycsb;
mod ycsb_status;

pub use change::{ParameterChanges, change, segment_words};
pub use notice_printer::{NoticeFilter, NoticePrinter};
pub use summary::summary;
pub use ycsb::{YcsbForm, YcsbInterval, YcsbText, ycsb_summary};
pub use ycsb_status::YcsbStatus;
