//! A session is a stream of records: live measurement produces it, a file holds it, everything else folds it.

mod record;

pub use record::{
    CommandInterval, End, Event, Host, Interval, Mark, Moment, Record, SCHEMA, Segment, ServerIdentity,
    SessionStart, Span, Summary, add_counts,
};
