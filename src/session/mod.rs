//! A session is a stream of records: live measurement produces it, a file holds it, everything else folds it.

mod assembly;
mod client;
mod coalesce;
mod collector;
mod file;
mod fresh;
mod interval;
mod kinds;
mod live;
mod outages;
mod reader;
mod record;
mod recorder;
mod sound;
mod start;
mod tally;
pub mod timeline;

pub use client::{Client, WorkerCost};
pub use coalesce::Coalesce;
pub use file::{FileError, Writer, line};
pub use fresh::fresh_file;
pub use interval::{CommandInterval, Interval, add_counts};
pub use live::{Beginning, Live, LiveError};
pub use outages::{LOAD_BACK, LOAD_LOST};
pub use reader::{ReadError, Reader, UNREADABLE};
pub use record::{
    Encryption, End, Event, Host, Mark, Moment, REACHABLE, Record, SCHEMA, Segment, ServerIdentity,
    SessionStart, Span, Summary, UNREACHABLE,
};
pub use recorder::Recording;
pub use tally::Tally;
pub use timeline::{Timeline, TimelineOptions};
