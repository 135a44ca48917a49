//! What the receivers of a workload got, in the summary.

use super::line;
use crate::{
    session::{Summary, timeline::Level},
    stats::Latency,
    units,
};

/// How many receivers the summary names.
const MOST_RECEIVERS: usize = 5;

/// Adds the times and counts of each kind of receipts.
pub(super) fn add(text: &mut String, sum: &Summary) {
    for (name, received) in sum.arrivals.iter() {
        line(text, name, &levels(&received.times));
        received.lines(name, MOST_RECEIVERS).iter().for_each(|counts| line(text, "", counts));
    }
}

/// Returns the levels of a distribution that has enough samples for them.
pub(super) fn levels(times: &Latency) -> String {
    let level_text = |level: Level| Some(format!("{} {}", level.name(), units::latency(level.of(times)?)));
    Level::ALL.into_iter().filter_map(level_text).collect::<Vec<_>>().join("  ")
}
