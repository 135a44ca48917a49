//! The line that is drawn again four times a second while a test runs, also where nobody looks.

use crate::{
    compat::redis_benchmark::suite::Test,
    session::{Interval, Summary},
};

/// What is drawn.
pub(in crate::compat::redis_benchmark) struct Progress<'a> {
    test: &'a Test,
    pub(super) behind: Behind,
    /// How long it was last.
    drawn: usize,
    /// The sum of the warm-up.
    warm: Summary,
}

/// What stands behind the figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::compat::redis_benchmark) enum Behind {
    Nothing,
    /// How many requests were sent.
    Requests,
    /// How many seconds have passed since the test began.
    Seconds,
}

impl<'a> Progress<'a> {
    pub(in crate::compat::redis_benchmark) fn new(test: &'a Test, behind: Behind) -> Self {
        Self { test, behind, drawn: 0, warm: Summary::default() }
    }

    /// What takes the line away: as many spaces as it had characters, one at least.
    pub(in crate::compat::redis_benchmark) fn clear(&mut self) -> String {
        format!("{:>1$}\r", " ", std::mem::take(&mut self.drawn))
    }

    /// The line after one more interval, `all` being the sum of those that are measured.
    pub(in crate::compat::redis_benchmark) fn line(
        &mut self,
        last: &Interval,
        all: &Summary,
        is_warmup: bool,
    ) -> String {
        if is_warmup {
            self.warm.add(last, true);
        }
        let (all, before) = if is_warmup { (&self.warm, "Warming up ") } else { (all, "") };
        let Test { title, commands, .. } = self.test;
        let line = format!(
            "{before}{title}: rps={:.1} (overall: {:.1}) avg_msec={:.3} (overall: {:.3}){}",
            last.ops_per_s * *commands as f64,
            all.ops_per_s * *commands as f64,
            last.service.mean_ns() / 1e6,
            all.service.mean_ns() / 1e6,
            match self.behind {
                Behind::Nothing if !is_warmup => String::new(),
                Behind::Requests if !is_warmup => format!(" {} requests", all.ops * commands),
                _ => format!(" {:.1} seconds", all.length_s),
            },
        );
        let cleared = self.clear();
        self.drawn = line.chars().count();
        format!("{cleared}{line}\r")
    }
}
