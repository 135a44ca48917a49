//! Gauges: figures of a server and of its host that redyno samples regularly. One table describes all gauges,
//! for the screen, recordings and exports.
//!
//! To add a new gauge, add a row to the [table](GAUGES). If the gauge is a field of INFO or of memcached's `stats`, the
//! row is enough. If the source of the gauge is [`Own`](GaugeSource::Own), the code that reads INFO and `stats` also
//! needs a line for it.

mod about;
mod sample;
mod table;
mod watched;

pub use about::{GaugeAlarm, GaugeGroup, GaugeKind, GaugeSource, GaugeSpec, GaugeUnit};
pub use sample::Gauges;
pub use table::{GAUGES, Gauge};
