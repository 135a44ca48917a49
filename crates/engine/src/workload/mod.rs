//! The requests of a load: weighted operations, keys, values.
//!
//! ```text
//!  Workload (data: a preset, a recording) ──compile──► Program (what workers run) ── + Draws ──► request bytes
//!     └── its Setup ──compile──► SetupCommands (what the control plane runs once before)
//! ```
//! This module has no sockets, and no clock except for the date of `{now}`. It also reads workload files and datasets.
//! A program turns random numbers into the bytes of requests, and [`load`](crate::load) sends these bytes.

mod cas;
mod check;
mod chooser;
mod command_keys;
mod commands;
mod compiled;
mod compiling;
mod custom;
mod data;
mod dataset;
mod distribution;
mod error;
mod file;
mod footprint;
mod growth;
mod hottest;
mod http_fields;
mod inline;
mod key_form;
mod key_names;
mod key_places;
mod key_span;
mod messages;
mod of_trace;
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
mod ready;
mod receivers;
mod receiving;
mod record_fields;
mod same_slot;
mod search_numbers;
mod setup;
mod share;
mod slots;
mod spoken;
mod step;
mod step_text;
mod suggested;
mod templates;
#[cfg(test)]
mod testing;
mod trace;
mod traced;
mod value_kind;
mod values;
mod vectors;
mod zipf;

pub use self::check::LONGEST_PREFIX;
pub use self::check::MAX_OPERATIONS;
pub(crate) use self::chooser::part_of;
pub use self::chooser::{Draws, client_seed};
pub use self::commands::Misses;
pub use self::data::{Keyset, Operation, Order, Steps, Together, Workload};
pub use self::dataset::{Dataset, DatasetError, Portion};
pub use self::distribution::{DISTRIBUTIONS, Distribution, MAX_EXPONENT};
pub use self::error::WorkloadError;
pub use self::file::{Chosen, FileError};
pub use self::file::{Wrong, line_start, text_of};
pub use self::footprint::Footprint;
pub use self::growth::Insertions;
pub use self::hottest::Hottest;
pub use self::http_fields::HttpFields;
pub use self::inline::numbers;
pub use self::key_form::MAX_DIGITS;
pub use self::key_form::{KeyForm, KeyNaming};
pub use self::key_names::{KeyNames, NAMESPACE, NoRunId, OwnKey, RunId};
pub use self::key_span::{KeySpan, NameSet};
pub use self::messages::Messages;
pub(crate) use self::messages::Stamp;
pub use self::of_trace::{LENGTHS, MonitorCommands};
pub use self::operations::{Expected, OpId, Operations};
pub use self::outgoing::Outgoing;
pub use self::parameters::{Setting, Settings};
pub use self::parameters::{filled, settable, written};
pub use self::presets::is_path;
pub use self::presets::{preset, preset_names, presets, usual, ycsb_parameters};
pub use self::preview::{
    Asking, DatasetPreview, KeysPreview, OperationPreview, PrefillPreview, Preview, Sample,
};
pub use self::program::Program;
pub use self::quantity::MAX_WEIGHT;
pub use self::quantity::{quantity, some_quantity};
pub use self::read_back::{ReadBack, RecordCheck};
pub use self::ready::ReadyRequests;
pub use self::receivers::{MAX_RECEIVERS, ReceiverKind, Receivers};
pub use self::search_numbers::{MAX_SEARCH_NUMBER, SearchNumber};
pub use self::setup::SetupCommand;
pub use self::share::Share;
pub use self::step_text::{plain_words, without_query};
pub use self::suggested::Suggested;
pub use self::trace::{
    MonitorLine, Trace, TraceOrder, command_of, left_out_words, moved_keys, not_sent, quoted,
};
pub use self::value_kind::{Content, MAX_VALUE_SIZE, Size, ValueKind};
pub use self::values::Values;
pub use self::vectors::{VectorQuery, VectorSearch};
pub use self::zipf::zeta;
