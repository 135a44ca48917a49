//! Prints YCSB's status lines during a session.

use std::{collections::BTreeMap, fmt::Write as _};

use time::OffsetDateTime;

use super::ycsb::add_steps;
use crate::session::{OperationInterval, Record, WallClock};

/// Writes YCSB's status line for each period.
#[derive(Debug, Default)]
pub struct YcsbStatus {
    /// The text before each line.
    label: String,
    every_s: f64,
    clock: Option<WallClock>,
    /// The number of operations of the run, if known.
    operations: Option<u64>,
    now_s: f64,
    /// The time under load so far, in seconds.
    length_s: f64,
    ops: u64,
    /// The time under load in the present period, in seconds.
    period_s: f64,
    period: BTreeMap<String, OperationInterval>,
}

impl YcsbStatus {
    /// Creates the writer of the status lines. There is a line every `every_s` seconds, and each line begins with
    /// `label`. `operations` is the number of operations of the run, if known.
    pub fn new(label: String, every_s: f64, operations: Option<u64>) -> Self {
        Self { label, every_s, operations, ..Self::default() }
    }

    /// Adds the next record. Returns a line if the record completes a period, or ends the session.
    pub fn push(&mut self, record: &Record) -> Option<String> {
        match record {
            Record::Session(session) => {
                self.clock = session.wall_clock();
                return None;
            }
            Record::Interval(interval) => {
                self.now_s = interval.t_s;
                let timed_s = interval.timed_s();
                (self.length_s, self.period_s) = (self.length_s + timed_s, self.period_s + timed_s);
                for (name, part) in &interval.commands {
                    self.period.entry(name.clone()).or_default().merge(part);
                }
            }
            Record::End(_) if self.period_s > 0.0 => return Some(self.line()),
            _ => return None,
        }
        // Intervals are about a quarter of a second long.
        (self.period_s >= self.every_s - 0.01).then(|| self.line())
    }

    /// Ends the period, and returns its line.
    fn line(&mut self) -> String {
        let mut period = std::mem::take(&mut self.period);
        let length_s = std::mem::take(&mut self.period_s);
        let ops: u64 = period.values().map(|part| part.ops).sum();
        self.ops += ops;
        add_steps(&mut period);
        let mut line = format!(
            "{}{} {} sec: {} operations; ",
            self.label,
            self.clock.and_then(|clock| clock.at(self.now_s)).map(stamp).unwrap_or_default(),
            self.length_s.round(),
            self.ops,
        );
        // Writing to a string cannot fail.
        if self.ops > 0 {
            let _ = write!(line, "{} current ops/sec; ", hundredth(ops as f64 / length_s));
        }
        let left =
            self.operations.map(|all| all.saturating_sub(self.ops) as f64 * self.length_s / self.ops as f64);
        if let Some(left_s) = left.filter(|left_s| left_s.is_finite() && *left_s > 0.0) {
            let _ = write!(line, "est completion in {}", remaining(left_s.ceil() as u64));
        }
        for (name, part) in &period {
            let us = |ns: u64| ((ns + 500) / 1000).to_string();
            let service = &part.service;
            let _ = write!(line, "[{name}: Count={}", service.count());
            if !service.is_empty() {
                let mean = hundredth(service.mean_ns() / 1000.0);
                let _ =
                    write!(line, ", Max={}, Min={}, Avg={mean}", us(service.max_ns()), us(service.min_ns()));
                for percent in [50.0, 90.0, 99.0, 99.9, 99.99] {
                    let _ = write!(line, ", {percent}={}", us(service.value_at_percent(percent)));
                }
            }
            line.push_str("] ");
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// Returns a number with at most two decimals.
fn hundredth(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Returns a time in seconds as YCSB writes it: `2 days 3 hours `, `1 hour 20 minutes ` or `45 seconds `. As in YCSB,
/// the unit of less than ten seconds is `second`. Times from one minute on have no seconds.
fn remaining(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    let parts = [(days, "day"), (hours, "hour"), (if days < 1 { minutes } else { 0 }, "minute")];
    let parts = parts.into_iter().filter(|(n, _)| *n > 0);
    let words: String =
        parts.map(|(n, unit)| format!("{n} {unit}{} ", if n == 1 { "" } else { "s" })).collect();
    match words.is_empty() {
        true => format!("{seconds} {} ", if seconds < 10 { "second" } else { "seconds" }),
        false => words,
    }
}

/// Returns a time as YCSB writes it: `2020-12-29 17:39:19:271`.
fn stamp(time: OffsetDateTime) -> String {
    let (year, month, day) = time.to_calendar_date();
    let (hour, minute, second, ms) = time.to_hms_milli();
    format!("{year}-{:02}-{day:02} {hour:02}:{minute:02}:{second:02}:{ms:03}", u8::from(month))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        session::{Interval, ServerIdentity, SessionStart},
        stats::fixture::latency_of,
    };

    #[test]
    fn each_period_has_a_line_with_its_operations() {
        let mut status = YcsbStatus::new("a ".to_owned(), 2.0, Some(4000));
        let part = OperationInterval {
            ops: 500,
            service: latency_of((1..=500).map(|n| n * 1000)),
            ..OperationInterval::default()
        };
        let commands = BTreeMap::from([("READ".to_owned(), part)]);
        let second = Record::Interval(Box::new(Interval {
            t_s: 10.0,
            length_s: 1.0,
            commands,
            ..Interval::default()
        }));
        let started = SessionStart {
            started: "2020-12-29T16:39:09.271Z".to_owned(),
            utc_offset_s: Some(3600),
            ..SessionStart::now(ServerIdentity::default())
        };
        assert_eq!(status.push(&Record::Session(started)), None);
        assert_eq!(status.push(&second), None);
        let line = status.push(&second).unwrap();
        let expected = "a 2020-12-29 17:39:19:271 2 sec: 1000 operations; 500 current ops/sec; est completion in 6 second [READ: Count=1000, \
            Max=500, Min=1, Avg=250.5, 50=250, 90=450, 99=495, 99.9=500, 99.99=500]";
        assert_eq!(line, expected);
        assert_eq!(status.push(&second), None);
        let drain = Interval { t_s: 14.0, length_s: 4.0, drain: true, ..Interval::default() };
        assert_eq!(status.push(&Record::Interval(Box::new(drain))), None, "a drain is no time under load");
        let line = status.push(&second).unwrap();
        assert!(line.contains(" 4 sec: 2000 operations; 500 current ops/sec;"), "{line}");
    }

    #[test]
    fn the_remaining_time_is_written_as_in_ycsb() {
        let texts = [0, 45, 60, 3600, 4805, 86_400, 183_700].map(remaining);
        let expected = [
            "0 second ",
            "45 seconds ",
            "1 minute ",
            "1 hour ",
            "1 hour 20 minutes ",
            "1 day ",
            "2 days 3 hours ",
        ];
        assert_eq!(texts, expected);
    }
}
