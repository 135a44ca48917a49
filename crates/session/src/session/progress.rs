//! The progress of a session's prefill, which writes the workload's keys before the measurement.

use std::fmt;

use super::{Interval, Segment};
use crate::units;

/// The progress of a prefill.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrefillProgress {
    /// Answered requests.
    pub answered: u64,
    /// The number of requests of the whole prefill.
    pub requests: u64,
    /// Requests per second.
    pub per_s: f64,
}

impl PrefillProgress {
    /// Returns the progress of a segment from the sum of its intervals. Returns `None` if the segment is no prefill.
    pub fn of(segment: &Segment, total: &Interval) -> Option<Self> {
        let requests = segment.prefill?.requests;
        Some(Self { answered: total.ops.min(requests), requests, per_s: total.ops_per_s })
    }

    /// Returns the expected time to the end of the prefill, in seconds.
    pub fn left_s(&self) -> Option<f64> {
        (self.per_s > 0.0).then(|| (self.requests - self.answered) as f64 / self.per_s)
    }
}

impl fmt::Display for PrefillProgress {
    /// Writes the progress as `43 %, 120 k keys/s, 5 s left`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let share = self.answered as f64 / self.requests.max(1) as f64;
        // 100 % is shown only for a complete prefill.
        let percent = if self.answered < self.requests { (share * 100.0).min(99.0).floor() } else { 100.0 };
        write!(f, "{percent:.0} %, {} keys/s", units::count(self.per_s))?;
        match self.left_s().filter(|_| self.answered < self.requests) {
            Some(left_s) => write!(f, ", {} left", units::elapsed((left_s * 1e9) as u64)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{knobs::Knobs, load::Prefilling};

    #[test]
    fn the_text_has_the_progress_and_the_remaining_time() {
        let prefill = Some(Prefilling { requests: 1000, pipeline: 16 });
        let segment = |prefill| Segment { prefill, ..Segment::new(0.0, 1, Knobs::default()) };
        let said = |ops, ops_per_s| {
            let total = Interval { ops, ops_per_s, ..Interval::default() };
            PrefillProgress::of(&segment(prefill), &total).unwrap().to_string()
        };
        assert_eq!(said(430, 114.0), "43 %, 114 keys/s, 00:00:05 left");
        assert_eq!(said(999, 100.0), "99 %, 100 keys/s, 00:00:00 left");
        assert_eq!(said(1000, 100.0), "100 %, 100 keys/s");
        assert_eq!(said(0, 0.0), "0 %, 0 keys/s");
        assert_eq!(PrefillProgress::of(&segment(None), &Interval::default()), None);
    }
}
