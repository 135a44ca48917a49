//! What is asked of the server: weighted operations, keys, values.
//!
//! ```text
//!  Workload (data: a preset, a recording) ──compile──► Program (what workers run) ── + Draws ──► request bytes
//!     └── its Setup ──compile──► SetupCommands (what the control plane runs once before)
//! ```
//! Knows no socket, and no clock but the date that `{now}` is; what it reads are its files and datasets. A program turns random numbers into request bytes; who sends them, and when, is
//! [`load`](crate::load)'s business.

mod cas;
mod check;
mod chooser;
mod commands;
mod compiled;
mod compiling;
mod custom;
mod data;
mod dataset;
mod distribution;
mod draws;
mod error;
mod file;
mod footprint;
mod growth;
mod hottest;
mod inline;
mod key_form;
mod key_names;
mod key_span;
mod operations;
mod outgoing;
mod parameters;
mod part;
mod prefill;
mod presets;
mod preview;
mod program;
mod quantity;
mod read_back;
mod readable;
mod record_fields;
mod scatter;
mod setup;
mod slots;
mod spoken;
mod step;
mod step_text;
mod suggested;
mod templates;
#[cfg(test)]
mod testing;
mod value_kind;
mod values;
mod zipf;

pub(crate) use check::LONGEST_PREFIX;
pub use check::MAX_OPERATIONS;
pub(crate) use chooser::part_of;
pub use commands::Misses;
pub use data::{Keyset, Operation, Steps, Together, Workload};
pub use dataset::{Dataset, DatasetError, Portion};
pub use distribution::{DISTRIBUTIONS, Distribution, MAX_EXPONENT};
pub use draws::{Draws, client_seed};
pub use error::WorkloadError;
pub use file::{Chosen, FileError};
pub(crate) use file::{Wrong, line_start, text_of};
pub use footprint::Footprint;
pub use growth::Insertions;
pub use hottest::Hottest;
pub(crate) use inline::numbers;
pub use key_form::KeyForm;
pub(crate) use key_form::MAX_DIGITS;
pub use key_names::{KeyNames, NAMESPACE, NoRunId, OwnKey, RunId};
pub use key_span::{KeySpan, NameSet};
pub use operations::{Expected, OpId, Operations};
pub use outgoing::Outgoing;
pub use parameters::{Setting, Settings};
pub(crate) use parameters::{filled, settable, written};
pub(crate) use presets::is_path;
pub use presets::{preset, preset_names, presets, usual};
pub use preview::{Asking, DatasetPreview, KeysPreview, OperationPreview, PrefillPreview, Preview, Sample};
pub use program::Program;
pub use quantity::MAX_WEIGHT;
pub(crate) use quantity::quantity;
pub use read_back::{ReadBack, RecordCheck};
pub use setup::SetupCommand;
pub use step_text::plain_words;
pub use suggested::Suggested;
pub use value_kind::{Content, MAX_VALUE_SIZE, Size, ValueKind};
pub use values::Values;
pub use zipf::zeta;
