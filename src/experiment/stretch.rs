//! What the load did under a setting, from a moment on.

use crate::session::Interval;

/// A stretch that is being measured.
#[derive(Debug, Clone)]
pub(super) struct Stretch {
    start_s: f64,
    measured: Interval,
}

impl Stretch {
    /// One from `start_s` of the session on.
    pub(super) fn from(start_s: f64) -> Self {
        Self { start_s, measured: Interval::default() }
    }

    /// Takes what was measured next, if it is of this stretch; whether it is.
    pub(super) fn take(&mut self, interval: &Interval) -> bool {
        let is_of_it = interval.t_s - interval.length_s >= self.start_s - 1e-6;
        if is_of_it {
            self.measured.merge(interval);
        }
        is_of_it
    }

    /// All of it so far.
    pub(super) fn measured(&self) -> &Interval {
        &self.measured
    }

    /// Whether it is so long.
    pub(super) fn has(&self, length_s: f64) -> bool {
        self.measured.length_s >= length_s - 1e-6
    }
}
