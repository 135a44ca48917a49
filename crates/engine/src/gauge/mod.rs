//! Gauges: sampled figures of a server and its host. One table describes them; lanes, panels, files and exports use it.
//!
//! A new gauge is a row of the [table](GAUGES). If its source is a field of INFO or of memcached's `stats`, that is
//! all; if it is [`Own`](GaugeSource::Own), the server's readers of both need a line for it.

mod about;
mod sample;
mod table;

pub use about::{About, Alarm, GaugeSource, Group, Kind, Unit};
pub use sample::Gauges;
pub use table::{GAUGES, Gauge};
