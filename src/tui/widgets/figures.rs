//! Formats the figures in the screen's charts and tables.

use crate::{
    session::{
        figures::{Figure, FigureUnit, Row},
        timeline::{Level, PingCell},
    },
    stats::Latency,
    units,
};

/// The sign for a figure that is unknown or has too few samples.
pub const NONE: &str = "–";

/// Returns a latency, or the sign for too few samples.
pub fn figure(ns: Option<u64>) -> String {
    ns.map_or_else(|| NONE.to_owned(), units::latency)
}

/// Returns a figure of `row` as text. An unknown figure is shown as [`NONE`].
pub fn written(figure: Figure, row: &Row) -> String {
    figure.written(row).unwrap_or_else(|| NONE.to_owned())
}

/// Returns whether a figure is unknown or counts no errors, so that its cell is faint.
pub fn is_nothing(figure: Figure, row: &Row) -> bool {
    figure.value(row).is_none_or(|value| value == 0.0 && figure.unit == FigureUnit::Trouble)
}

/// Returns a percentile of the PINGs as text. If an unanswered PING has waited longer than the maximum, its waiting
/// time is the maximum, such as `>1.98 s`. If no PING was answered, every percentile is the longest waiting time of an
/// unanswered PING.
pub fn ping_figure(level: Level, rtt: &Latency, pings: PingCell) -> String {
    let known = level.of(rtt);
    let is_relevant = rtt.is_empty() || level == Level::Max;
    match pings.wait_beyond(known).filter(|_| is_relevant) {
        Some(wait_ns) => format!(">{}", units::latency(wait_ns)),
        None => figure(known),
    }
}

/// Returns the median of one part of a ping's time (such as the receive delay) as text. Returns a sign if the parts of
/// most pings are unknown.
pub fn part_figure(part: &Latency, pings: PingCell) -> String {
    figure(Level::P50.of(part).filter(|_| !pings.lacks_parts()))
}

/// Returns a round latency without decimals: `10 µs`.
pub fn decade(ns: u64) -> String {
    trimmed(&units::latency(ns))
}

/// Returns a number without trailing zeros: `1.10 ms` becomes `1.1 ms`.
pub fn trimmed(text: &str) -> String {
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text.to_owned(),
    }
}
