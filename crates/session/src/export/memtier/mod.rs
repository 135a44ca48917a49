//! The JSON of memtier_benchmark (format version 2), with the same names, order and units. `redyno memtier` and the
//! export of a session use the same writer.

mod figures;
mod report;
mod results;
mod session;
mod value;

pub(super) use session::MEMTIER_JSON;
pub use {
    report::{PERCENTILES, STEPS, json, plural},
    results::{ResultRow, Results, TitledResults, kib, ms},
    value::{JsonValue, truth},
};
