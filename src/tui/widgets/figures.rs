//! How the figures of the charts and tables are written.

pub use crate::units::clock;
use crate::{
    session::{
        figures::{Figure, Row, Unit},
        timeline::{Level, PingCell},
    },
    stats::Latency,
    units,
};

/// What stands where a figure has too few samples.
pub const NONE: &str = "–";

/// A latency as a figure, or the sign for too few samples.
pub fn figure(ns: Option<u64>) -> String {
    ns.map_or_else(|| NONE.to_owned(), units::latency)
}

/// A figure as it is written, or the sign that there is none, or no trouble.
pub fn written(figure: Figure, row: &Row) -> String {
    let is_nothing = figure.unit == Unit::Trouble && figure.value(row) == Some(0.0);
    figure.written(row).filter(|_| !is_nothing).unwrap_or_else(|| NONE.to_owned())
}

/// A level of the pings as a figure; `>1.98 s` where all that is known is how long one has been waiting so far, or that
/// this is longer than the longest.
pub fn ping_figure(level: Level, rtt: &Latency, pings: PingCell) -> String {
    let known = level.of(rtt);
    let is_told = rtt.is_empty() || level == Level::Max;
    match pings.wait_beyond(known).filter(|_| is_told) {
        Some(wait_ns) => format!(">{}", units::latency(wait_ns)),
        None => figure(known),
    }
}

/// The median of a part of the pings as a figure; none where most answers have no parts.
pub fn part_figure(part: &Latency, pings: PingCell) -> String {
    figure(Level::P50.of(part).filter(|_| !pings.lacks_parts()))
}

/// A round latency without decimals: `10 µs`.
pub fn decade(ns: u64) -> String {
    units::latency(ns).replace(".00", "").replace(".0", "")
}

/// A share with its sign: `+18 %`.
pub fn signed(share: f64) -> String {
    let sign = if share < 0.0 { "-" } else { "+" };
    format!("{sign}{}", units::percent(share.abs()))
}
