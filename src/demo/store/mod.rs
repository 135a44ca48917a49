//! The data: databases of keys and typed values, with expiry and a count of their bytes.
//!
//! Pure: no sockets, no clock of its own (the time is told), no protocol.

mod collections;
mod database;
mod key;
mod sorted_set;
mod value;

pub use collections::{End, Hash, List, Set, Stream};
pub use database::Database;
pub use sorted_set::SortedSet;
pub use value::Kind;
use value::Value;

/// A map whose entries have places, from 0 on without gaps.
pub type Map<K, V> = indexmap::IndexMap<K, V, foldhash::fast::RandomState>;
