//! Datasets: files of records that a load sends. Each operation uses one record, for example `HSET
//! doc:__field:id__ title __field:title__` or `JSON.SET doc:__field:id__ $ __record__`.
//!
//! ```text
//!  file ─► unpacked ─► lines counted ─► rows ─► batches ──channel──► the current batch ─► one record each
//!  └──────────────────── one thread ────────────────────┘            └─── all workers ───┘
//! ```
//! The file of a dataset is read twice. Before the load, redyno counts and checks the records. During the load, redyno
//! reads them again. Even for a large file, only a few batches are in memory at a time.

mod error;
mod format;
mod json_lines;
mod portion;
mod reading;
mod records;
mod separated;
mod vectors;
mod xml;

pub use self::error::DatasetError;
pub(in crate::workload) use self::portion::CurrentRecord;
pub use self::portion::Portion;
pub(in crate::workload) use self::reading::Input;
pub use self::records::Dataset;
