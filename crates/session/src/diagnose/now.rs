//! The common input of all rules: the machine, the server, the segment and its last seconds.

use crate::{
    protocol::{Dialect, Words},
    session::{Interval, Record, Segment},
};

/// The longest time that a rule judges, in seconds.
const KEPT_S: f64 = 4.0;

/// The recent state of one target, updated with each record.
#[derive(Debug, Clone, Default)]
pub(super) struct Now {
    /// The number of cores of the machine that redyno runs on.
    pub(super) cores: usize,
    server: String,
    /// The current segment.
    pub(super) segment: Option<Segment>,
    /// The last intervals of the current segment, without the figures of each operation.
    parts: Vec<Interval>,
}

impl Now {
    /// Takes the next record.
    pub(super) fn push(&mut self, record: &Record) {
        match record {
            Record::Session(session) => {
                self.cores = session.host.cores;
                self.server.clone_from(&session.target.server);
            }
            Record::Segment(segment) => {
                self.segment = Some(segment.clone());
                self.parts.clear();
            }
            Record::Interval(interval) if self.is_of(interval) => {
                self.parts.push(Interval { commands: [].into(), ..Interval::clone(interval) });
                let kept = self.last(KEPT_S, 1).len() + 1;
                self.parts.drain(..self.parts.len() - kept);
            }
            Record::End(_) => *self = Self::default(),
            _ => {}
        }
    }

    /// Returns whether this interval belongs to the current segment; a late report of a worker belongs to an earlier
    /// one.
    pub(super) fn is_of(&self, interval: &Interval) -> bool {
        self.segment.as_ref().is_some_and(|segment| segment.segment == interval.segment)
    }

    /// Returns the names that this kind of server uses, such as `PING`.
    pub(super) fn words(&self) -> &'static Words {
        Dialect::of_server(&self.server).words()
    }

    /// Returns the latest intervals, oldest first, without the last `but`: as few intervals as cover `window_s`, or
    /// all.
    pub(super) fn last(&self, window_s: f64, but: usize) -> &[Interval] {
        let parts = &self.parts[..self.parts.len().saturating_sub(but)];
        let mut all_s = 0.0;
        let is_needed = |part: &&Interval| {
            all_s < window_s && {
                all_s += part.length_s;
                true
            }
        };
        let needed = parts.iter().rev().take_while(is_needed).count();
        &parts[parts.len() - needed..]
    }
}

/// Returns the total length of the intervals, in seconds.
pub(super) fn length_s(parts: &[Interval]) -> f64 {
    parts.iter().map(|part| part.length_s).sum()
}
