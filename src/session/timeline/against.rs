//! A segment against another, the baseline.

use super::{PerSecond, Seconds, SegmentTotal};
use crate::stats::{Better, Comparison, compare};

/// How a segment does against the baseline, second by second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Against {
    /// Good replies per second.
    pub ops_per_s: Comparison,
    /// The median of the service time.
    pub service_p50: Comparison,
    /// The 99th percentile of the service time.
    pub service_p99: Comparison,
    /// That of the response time; `None` unless both are open loops.
    pub response_p99: Option<Comparison>,
}

impl SegmentTotal {
    /// Compares this segment with `baseline`.
    pub fn against(&self, baseline: &Self) -> Against {
        let compared = |measure: fn(&Seconds) -> &PerSecond, better| {
            let base = measure(&baseline.seconds).stretch(baseline.start.t_s);
            compare(base, measure(&self.seconds).stretch(self.start.t_s), better)
        };
        let both_open = baseline.total.response.is_some() && self.total.response.is_some();
        Against {
            ops_per_s: compared(Seconds::ops_per_s, Better::Higher),
            service_p50: compared(Seconds::service_p50_ns, Better::Lower),
            service_p99: compared(Seconds::service_p99_ns, Better::Lower),
            response_p99: both_open.then(|| compared(Seconds::response_p99_ns, Better::Lower)),
        }
    }
}
