//! Distributions of latencies, and the statistics of comparisons. A [`Recorder`] counts latencies. A [`Latency`] stores
//! a distribution in little memory, and can be merged with other distributions.
//!
//! This module does no I/O and reads no clock. Values are nanoseconds from 1 ns to [`HIGHEST_NS`], with three
//! significant digits as in HdrHistogram. The recorder counts higher values as over range. The maximum is exact even
//! for these values.

pub mod baseline;
mod buckets;
mod compact;
mod comparison;
pub mod curve;
mod drift;
#[cfg(any(test, feature = "testing"))]
pub mod fixture;
mod hdr;
mod latency;
pub mod paired;
mod percentile_table;
mod recorder;
pub mod repeats;
mod samples;
pub mod search;
pub mod seconds;
mod series;
#[cfg(any(test, feature = "testing"))]
pub mod simulated;
mod spectrum;
mod steady;
mod student;
mod text;
mod totals;
mod usl;
pub mod walks;

pub use buckets::Buckets;
pub use compact::{Blend, Compact, coarser};
pub(crate) use compact::{pack_number, unpack_number};
pub use comparison::{Better, Comparison, Reason, Verdict};
pub use latency::{Latency, PERCENTILES, Percentile, quantile_of_percent};
pub use percentile_table::percentile_table;
pub use recorder::{HIGHEST_NS, Recorder};
pub(crate) use samples::Samples;
pub use seconds::TimeSeries;
pub use series::Series;
pub use spectrum::{Band, spectrum};
pub use steady::is_steady;
pub use text::{COMPUTED, coarse, is_default, lean};
pub use usl::Usl;
