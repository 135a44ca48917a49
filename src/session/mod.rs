//! A session is a stream of records: live measurement produces it, a file holds it, everything else folds it.

mod assembly;
mod coalesce;
mod file;
mod record;
mod tally;

pub use coalesce::Coalesce;
pub use file::{FileError, Writer, line};
pub use record::{
    CommandInterval, End, Event, Host, Interval, Mark, Moment, Record, SCHEMA, Segment, ServerIdentity,
    SessionStart, Span, Summary, add_counts,
};
pub use tally::Tally;
