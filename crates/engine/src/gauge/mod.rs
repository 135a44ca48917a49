//! Gauges: the figures that are sampled, of a server and of its host. One table says what each is; lanes, panels, files
//! and exports go through it.
//!
//! A new gauge is a row of the [table](GAUGES). Where its source is a field of INFO that is all; or of memcached's `stats` that is all, too;
//! where it is [`Own`](GaugeSource::Own), the server's readers of both have a line for it.

mod about;
mod sample;
mod table;

pub use about::{About, Alarm, GaugeSource, Group, Kind, Unit};
pub use sample::Gauges;
pub use table::{GAUGES, Gauge};
