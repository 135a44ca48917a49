//! A session is a stream of records: a live measurement produces the records, a recording contains them, and screens,
//! reports and exports are computed from them alone.

mod alone;
mod assembly;
mod busiest;
mod by_node;
mod client;
mod coalesce;
mod collector;
mod counted;
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
mod night;
mod opening;
mod output;
mod part;
mod pauses;
mod places;
mod progress;
pub mod queue;
mod reader;
mod record;
mod recorder;
mod redact;
mod row;
pub mod running;
mod sink;
mod stall_watch;
mod start;
mod tally;
mod target_records;
pub mod timeline;
mod validate;
mod wall_clock;
mod watched;
mod watches;

pub use alone::Alone;
pub use by_node::Numbering;
pub use client::{AgentState, Client, WorkerCost};
pub use coalesce::Coalesce;
pub use event::Event;
pub use file::{FileError, Writer};
pub use fresh::{file_name, fresh_file, today};
pub use glance::Glance;
pub use interval::{Interval, OperationInterval, Summary};
pub use kept::{Kept, KeptError};
pub use live::{Beginning, Live};
pub use measured::{LiveError, Measured, TargetBeginning};
pub use night::Night;
pub use opening::Opening;
pub use part::add_counts;
pub(crate) use pauses::PauseWatch;
pub use progress::Progress;
pub use reader::{ReadError, Reader};
pub use record::{
    Encryption, End, Host, Mark, Member, Moment, Record, SCHEMA, Segment, ServerIdentity, SessionStart, Span,
    line,
};
pub use recorder::Recording;
pub use running::{Delivery, Notice, Order, RecordingState};
pub use sink::{JsonLines, Sink};
pub use tally::Tally;
pub(crate) use target_records::TargetRecords;
pub use timeline::{Timeline, TimelineOptions};
pub(crate) use validate::RecordLines;
pub use wall_clock::{GivenMoment, TimeOfDay, WallClock};
pub use watched::Watched;
