//! A file of records, one of which each operation uses: `HSET doc:__field:id__ title __field:title__`, `JSON.SET
//! doc:__field:id__ $ __record__`.
//!
//! ```text
//!  file ─► unpacked ─► lines counted ─► rows ─► batches ──channel──► the current batch ─► one record each
//!  └──────────────────── one thread ────────────────────┘            └─── all workers ───┘
//! ```
//! The file is read twice: once before anything is sent, to count and check its records, and then as needed. Only a few
//! batches are in memory at a time, however large the file is.

mod error;
mod format;
mod json_lines;
mod portion;
mod reading;
mod records;
mod separated;
mod xml;

pub use self::error::DatasetError;
pub use self::portion::Portion;
pub(in crate::workload) use self::portion::Taken;
pub use self::records::Dataset;
