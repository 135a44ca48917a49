//! The requests of a load: weighted operations, keys and values.
//!
//! ```text
//!  Workload (data: a preset, a recording) ──compile──► Program (what workers run) ── + Draws ──► request bytes
//!     └── its Setup ──compile──► each SetupCommand (what the control plane runs once before)
//! ```
//! A program turns random numbers into the bytes of requests, and the module [`load`](crate::load) sends these bytes.
//! This module also reads workload files and datasets. The module uses no sockets, and reads a clock only for the date
//! of `{now}`.

#[macro_use]
mod error;

mod cas;
mod check;
mod chooser;
mod command_keys;
mod command_traits;
mod commands;
mod compiled;
mod compiling;
mod custom;
mod data;
mod dataset;
mod derived_workloads;
mod dialect_check;
mod distribution;
mod file;
mod footprint;
mod growth;
mod hottest;
mod http_fields;
mod inline;
mod json_vectors;
mod key_form;
mod key_names;
mod key_places;
mod key_span;
mod messages;
mod operations;
mod outgoing;
mod parameters;
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
mod record_vectors;
mod same_slot;
mod search_numbers;
mod setup;
mod share;
mod shared;
mod slots;
mod step;
mod step_text;
mod stored_vectors;
mod suggested;
mod templates;
#[cfg(test)]
mod testing;
mod times;
mod trace;
mod trace_encoder;
mod trace_file;
mod value_kind;
mod values;
mod vectors;
mod zipf;

pub use self::check::LONGEST_PREFIX;
pub use self::check::MAX_OPERATIONS;
pub use self::check::MAX_STEPS;
pub(crate) use self::chooser::part_of;
pub use self::chooser::{Draws, client_seed};
pub use self::command_traits::{CommandTraits, command_traits};
pub use self::commands::Misses;
pub use self::data::{Keyset, Operation, OperationOrder, Steps, Together, Workload};
pub use self::dataset::{Dataset, DatasetError, Portion};
pub use self::distribution::{DISTRIBUTIONS, Distribution, MAX_EXPONENT};
pub use self::error::WorkloadError;
pub use self::file::{PositionedError, line_start, text_of};
pub use self::file::{WorkloadChoice, WorkloadFileError};
pub use self::footprint::Footprint;
pub use self::growth::Insertions;
pub use self::hottest::HottestShares;
pub use self::http_fields::HttpFields;
pub use self::inline::numbers;
pub use self::key_form::MAX_DIGITS;
pub use self::key_form::{KeyForm, KeyNaming};
pub use self::key_names::{KeyNames, NAMESPACE, NoRunId, OwnKey, RunId};
pub use self::key_span::{KeySpan, NameSet};
pub use self::messages::Messages;
pub(crate) use self::messages::Stamp;
pub use self::operations::{Expected, OpId, Operations};
pub use self::outgoing::OutgoingRequests;
pub use self::parameters::{ParameterValue, Settings};
pub use self::parameters::{check_value, replace_parameters, value_text};
pub use self::presets::is_path;
pub use self::presets::{default_workload, preset, preset_names, presets, ycsb_parameters};
pub use self::preview::{
    DatasetPreview, KeysPreview, OperationPreview, PrefillPreview, Preview, PreviewInput, RequestSample,
};
pub use self::program::Program;
pub use self::quantity::MAX_WEIGHT;
pub use self::quantity::{quantity, some_quantity};
pub use self::read_back::{ReadBack, RecordCheck};
pub use self::ready::CompleteRequests;
pub use self::receivers::{MAX_RECEIVERS, ReceiverKind, Receivers};
pub use self::search_numbers::{MAX_SEARCH_NUMBER, SearchNumber};
pub use self::setup::SetupCommand;
pub use self::share::Share;
pub use self::step_text::{plain_words, without_query};
pub use self::stored_vectors::StoredVectors;
pub use self::suggested::Suggested;
pub use self::times::DueTimes;
pub use self::trace::{
    MonitorLine, Trace, TraceOrder, command_of, left_out_words, moved_keys, not_sent, quoted,
};
pub use self::trace_file::{LENGTHS, MonitorCommands};
pub use self::value_kind::{Content, MAX_VALUE_SIZE, Size, ValueKind};
pub use self::values::Values;
pub use self::vectors::{VectorQuery, VectorSearch};
pub use self::zipf::zeta;
