//! The line that is drawn again four times a second while a test runs, also where nobody looks.

use crate::session::{Interval, Summary};

/// What is drawn, and how long it was last.
pub(in crate::compat::redis_benchmark) struct Progress {
    drawn: usize,
}

/// What Valkey's has behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::compat::redis_benchmark) enum Behind {
    Nothing,
    Requests,
    /// So many since the test began.
    Seconds(f64),
}

impl Progress {
    pub(in crate::compat::redis_benchmark) fn new() -> Self {
        Self { drawn: 0 }
    }

    /// What takes the line away: as many spaces as it had characters, one at least.
    pub(in crate::compat::redis_benchmark) fn clear(&mut self) -> String {
        format!("{:>1$}\r", " ", std::mem::take(&mut self.drawn))
    }

    /// The line after one more interval, for a test in which an operation is so many requests.
    pub(in crate::compat::redis_benchmark) fn line(
        &mut self,
        (title, commands): (String, u64),
        last: &Interval,
        all: &Summary,
        behind: Behind,
    ) -> String {
        let rate = |per_s: f64| per_s * commands as f64;
        let mut line = format!(
            "{title}: rps={:.1} (overall: {:.1}) avg_msec={:.3} (overall: {:.3})",
            rate(last.ops_per_s),
            rate(all.ops_per_s),
            last.service.mean_ns() / 1e6,
            all.service.mean_ns() / 1e6,
        );
        match behind {
            Behind::Nothing => {}
            Behind::Requests => line += &format!(" {} requests", all.ops * commands),
            Behind::Seconds(seconds) => line += &format!(" {seconds:.1} seconds"),
        }
        let cleared = self.clear();
        self.drawn = line.chars().count();
        format!("{cleared}{line}\r")
    }
}
