//! A segment against another, the baseline.

use super::SegmentTotal;
use crate::stats::{Better, Comparison, compare};

/// How a segment does against the baseline, second by second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Against {
    /// Good replies per second.
    pub ops_per_s: Comparison,
    /// The 99th percentile of the service time.
    pub service_p99: Comparison,
    /// That of the response time; `None` unless both are open loops.
    pub response_p99: Option<Comparison>,
}

impl SegmentTotal {
    /// Compares this segment with `baseline`.
    pub fn against(&self, baseline: &Self) -> Against {
        let (base, other) = (&baseline.seconds, &self.seconds);
        let both_open = baseline.total.response.is_some() && self.total.response.is_some();
        Against {
            ops_per_s: compare(base.ops_per_s(), other.ops_per_s(), Better::Higher),
            service_p99: compare(base.service_p99_ns(), other.service_p99_ns(), Better::Lower),
            response_p99: both_open
                .then(|| compare(base.response_p99_ns(), other.response_p99_ns(), Better::Lower)),
        }
    }
}
