//! The data: databases of keys and typed values, with expiry and a count of their bytes.
//!
//! Pure: no sockets, no clock of its own (the time is given), no protocol.

mod database;
mod value;

pub use database::Database;
use value::Value;
pub use value::{Hash, Kind, List, Set, SortedSet, Stream};

/// A map whose entries have places, from 0 on without gaps.
pub type Map<K, V> = indexmap::IndexMap<K, V, foldhash::fast::RandomState>;
