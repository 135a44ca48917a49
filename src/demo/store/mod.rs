//! The data: databases of keys and typed values, with expiry and a count of their bytes.
//!
//! Pure: no sockets, no clock of its own (the time is told), no protocol.

mod database;
mod edit;
mod entry;
mod sorted_set;
mod value;

pub use database::Database;
pub use edit::Edit;
pub use sorted_set::SortedSet;
pub use value::{Hash, Kind, List, Set, Stream, StreamId, Value};
