//! The ping windows: the results of PING for every 15 s, as `redis-cli --latency-history` prints them.

use std::collections::VecDeque;

use crate::{probe::Ping, stats::Latency};

/// The largest number of ended windows that are kept: one hour with windows of 15 s.
const KEPT: usize = 240;

/// The pings of one window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PingWindow {
    /// The start of the window, in seconds of the session.
    pub start_s: f64,
    /// The end of the window in seconds. For the current window, `end_s` is the time of the latest report.
    pub end_s: f64,
    /// The round trips of PINGs with a good reply.
    pub rtt: Latency,
    /// PINGs without a good reply.
    pub lost: u64,
}

impl PingWindow {
    fn add(&mut self, t_s: f64, ping: &Ping) {
        self.end_s = self.end_s.max(t_s);
        self.rtt.merge(&ping.rtt);
        self.lost += ping.errors.values().sum::<u64>();
    }
}

/// Ping windows of one length. A new segment ends the current window early.
#[derive(Debug, Clone)]
pub struct PingWindows {
    pub(super) length_s: f64,
    closed: VecDeque<PingWindow>,
    open: Option<PingWindow>,
    /// The start of the current segment, in seconds of the session.
    segment_s: f64,
}

impl PingWindows {
    pub(super) fn new(length_s: f64) -> Self {
        Self { length_s, closed: VecDeque::new(), open: None, segment_s: 0.0 }
    }

    /// Returns the windows from the newest to the oldest, beginning with the current window.
    pub fn newest_first(&self) -> impl Iterator<Item = &PingWindow> {
        self.open.iter().chain(self.closed.iter().rev())
    }

    pub(super) fn push(&mut self, t_s: f64, length_s: f64, ping: &Ping) {
        let start_s = (t_s - length_s).max(0.0);
        // The last report of a segment may arrive after the beginning of the next segment.
        if t_s <= self.segment_s
            && let Some(last) = self.closed.back_mut()
        {
            return last.add(t_s, ping);
        }
        let open = self.open.get_or_insert_with(|| PingWindow { start_s, ..PingWindow::default() });
        open.add(t_s, ping);
        // Times in seconds have rounding errors, so the limit has a millisecond of slack.
        if t_s - open.start_s >= self.length_s - 0.001 || t_s <= self.segment_s {
            self.close();
        }
    }

    /// Ends the current window, because a segment begins at `t_s`.
    pub(super) fn cut(&mut self, t_s: f64) {
        self.segment_s = t_s;
        self.close();
    }

    fn close(&mut self) {
        self.closed.extend(self.open.take());
        while self.closed.len() > KEPT {
            self.closed.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_the_requested_length_unless_a_segment_ends_it() {
        let mut windows = PingWindows::new(15.0);
        for tick in 1..=70 {
            windows.push(f64::from(tick) * 0.25, 0.25, &Ping::default());
        }
        windows.cut(17.6);
        windows.push(17.6, 0.1, &Ping::default());
        windows.push(17.75, 0.15, &Ping::default());
        let spans: Vec<_> = windows.newest_first().map(|w| (w.start_s, w.end_s)).collect();
        assert_eq!(spans, [(17.6, 17.75), (15.0, 17.6), (0.0, 15.0)]);
    }

    #[test]
    fn lost_pings_are_counted_without_a_sample() {
        let mut windows = PingWindows::new(15.0);
        let errors = [("timeout".to_owned(), 25)].into();
        windows.push(0.25, 0.25, &Ping { errors, ..Ping::default() });
        let window = windows.newest_first().next().unwrap();
        assert_eq!((window.lost, window.rtt.count()), (25, 0));
    }
}
