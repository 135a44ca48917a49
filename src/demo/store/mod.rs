//! The data: databases of keys and typed values, with expiry and a count of their bytes.
//!
//! Pure: no sockets, no clock of its own (the time is told), no protocol.

mod database;
mod deadlines;
mod edit;
mod entry;
mod key;
mod sorted_set;
mod value;

pub use database::{Database, Pressure};
pub use sorted_set::SortedSet;
pub use value::{Hash, List, Set, Stream, StreamId, Value};
