//! What the receivers of a workload got, in the summary.

use super::line;
use crate::session::{Summary, timeline::Level};

/// How many receivers the summary names.
const MOST_RECEIVERS: usize = 5;

/// Adds the times and counts of each kind of receipts.
pub(super) fn add(text: &mut String, sum: &Summary) {
    for (name, received) in sum.arrivals.iter() {
        line(text, name, &Level::line(|level| level.of(&received.times)));
        received.lines(name, MOST_RECEIVERS).iter().for_each(|counts| line(text, "", counts));
    }
}
