//! The JSON of memtier_benchmark (its format version 2): its names, in its order, with its units. The same writer serves the
//! imitated program and records of any session.

mod figures;
mod report;
mod results;
mod session;
mod value;

pub(super) use session::MEMTIER_JSON;
pub use {
    report::{PERCENTILES, STEPS, json, plural},
    results::{Counts, Report, ResultRow, Results, kib, ms},
    value::{Json, truth},
};
