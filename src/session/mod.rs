//! A session is a stream of records: live measurement produces it, a file holds it, everything else folds it.

mod alone;
mod assembly;
mod busiest;
mod client;
mod coalesce;
mod collector;
mod event;
pub mod figures;
mod file;
mod fresh;
mod glance;
mod input;
mod interval;
mod kept;
mod lean;
mod live;
mod lost_connections;
mod measured;
mod output;
mod pauses;
mod places;
mod progress;
pub mod queue;
mod reader;
mod record;
mod recorder;
mod redact;
pub mod running;
mod sink;
mod sound;
mod start;
mod tally;
mod target_records;
pub mod timeline;

pub use alone::Alone;
pub use client::{Client, WorkerCost};
pub use coalesce::Coalesce;
pub use event::Event;
pub use file::{FileError, Writer, line};
pub use fresh::{file_name, fresh_file, today};
pub use glance::Glance;
pub use interval::{Interval, Opening, OperationInterval, Summary, add_counts};
pub use kept::{Kept, KeptError};
pub use live::{Beginning, Live, LiveError, TargetBeginning};
pub use measured::Measured;
pub use progress::Progress;
pub use reader::{ReadError, Reader};
pub use record::{
    Encryption, End, Host, Mark, Moment, Record, SCHEMA, Segment, ServerIdentity, SessionStart, Span,
};
pub use recorder::Recording;
pub use running::{Delivery, Notice, Order, RecordingState};
pub use sink::{JsonLines, Sink};
pub use tally::Tally;
pub use timeline::{Timeline, TimelineOptions};
