//! Gauges: figures of a server and of its host, sampled regularly. One table describes all gauges. The
//! screen, recordings and exports use this table.
//!
//! A new gauge is a new row of the [table](GAUGES). If the gauge's source is a field of INFO or of memcached's `stats`,
//! nothing else is needed. If the source is [`Own`](GaugeSource::Own), the code that reads INFO and `stats` needs a
//! line for the gauge.

mod about;
mod sample;
mod table;
mod watched;

pub use about::{GaugeAlarm, GaugeGroup, GaugeKind, GaugeSource, GaugeSpec, GaugeUnit};
pub use sample::Gauges;
pub use table::{GAUGES, Gauge};
