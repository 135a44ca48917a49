//! Due times of requests from a file. The file can give the times for any workload, or for the commands of a
//! trace.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use super::{WorkloadError, dataset::Input, shared::Shared};
use crate::{
    units::{self, count_with_noun},
    untrusted,
};

/// Microseconds in a second.
const SECOND_US: f64 = 1e6;
/// The largest number of times in a file. The largest number of times needs 1 GiB of memory.
const MOST_TIMES: usize = 1 << 27;
/// The latest time in a file in seconds: 10 years.
pub(super) const LATEST_S: f64 = 10.0 * 365.0 * 86_400.0;

/// The times of a file at which requests are due. All copies share the position in the file.
pub type DueTimes = Shared<TimesContent>;

/// The times of a file, with the position in the file.
#[derive(Default)]
pub struct TimesContent {
    /// The path of the file.
    pub file: PathBuf,
    dues_us: Vec<u64>,
    speed: f64,
    /// Whether the times belong to a trace. The position then moves when the next command of the trace is taken.
    pub is_of_trace: bool,
    /// The number of the next time. This number is not reset after a pass over the file.
    next: AtomicU64,
}

impl DueTimes {
    /// Reads a file with one time per line, in seconds since the start of the load. The file may be compressed with
    /// gzip. Empty lines, and lines that begin with `#`, are skipped. With a `speed` of 2, the requests are due in half
    /// of the time.
    ///
    /// # Errors
    /// Fails if the file cannot be read or has no times. Also fails if a line is not a time, or if its time is before
    /// the time of the previous line. The error names the line.
    pub fn read(file: &Path, speed: f64) -> Result<Self, WorkloadError> {
        let mut dues_us: Vec<u64> = Vec::new();
        Input::each_line(file, |line, _| {
            if line.is_empty() || line.starts_with(b"#") {
                return Ok(());
            }
            let due_us = time_us(line).ok_or_else(|| {
                let shown = untrusted::at_most(line, 40);
                format!("'{shown}' is not a time in seconds since the start, such as 0.25")
            })?;
            if dues_us.last().is_some_and(|last_us| *last_us > due_us) {
                return Err(
                    "the time is earlier than the time before it; sort the file with `sort -g`".to_owned()
                );
            }
            if dues_us.len() == MOST_TIMES {
                return Err(format!("the file has more than {MOST_TIMES} times; give a part of the file"));
            }
            dues_us.push(due_us);
            Ok(())
        })?;
        if dues_us.is_empty() {
            let what = "it has no times; write one time a line, in seconds since the start";
            return Err(invalid!("{}: {what}", untrusted::path(file)));
        }
        Ok(Self::new(TimesContent { file: file.to_owned(), dues_us, speed, ..TimesContent::default() }))
    }

    /// Creates the times of the commands of a trace, in microseconds since the first command, in ascending order.
    pub(super) fn of_trace(file: &Path, dues_us: Vec<u64>, speed: f64) -> Self {
        let is_of_trace = true;
        let next = AtomicU64::default();
        Self::new(TimesContent { file: file.to_owned(), dues_us, speed, is_of_trace, next })
    }
}

impl TimesContent {
    /// Returns the number of times, which is the number of requests in one pass over the file.
    pub fn count(&self) -> u64 {
        self.dues_us.len() as u64
    }

    fn first_us(&self) -> u64 {
        self.dues_us.first().copied().unwrap_or_default()
    }

    fn span_us(&self) -> u64 {
        self.dues_us.last().copied().unwrap_or_default() - self.first_us()
    }

    /// Returns the length of a pass in microseconds. The length is the time from the first to the last time, plus the
    /// mean gap between two times.
    pub fn length_us(&self) -> u64 {
        let (span, count) = (self.span_us(), self.count());
        (u128::from(span) * u128::from(count) / u128::from(count.saturating_sub(1).max(1))).max(1000) as u64
    }

    /// Returns the mean rate in requests per second at the speed of these times.
    fn mean_rate(&self) -> f64 {
        self.count() as f64 / (self.length_us() as f64 / SECOND_US) * self.speed
    }

    /// Returns the mean rate in requests per second, rounded to a whole number of at least 1.
    pub fn rate(&self) -> u32 {
        self.mean_rate().round().clamp(1.0, u32::MAX.into()) as u32
    }

    /// Returns the speed at which the times of the file have the rate `rate`. The speed is relative to the times in the
    /// file. For the rate that [`rate`](Self::rate) returns, the result is exactly the given speed. For twice this
    /// rate, the result is twice the given speed. The same is true below one request per second.
    pub fn speed_at(&self, rate: u32) -> f64 {
        self.speed * (f64::from(rate) / f64::from(self.rate()))
    }

    /// Returns the number of the next time. This number is not reset after a pass over the file.
    #[inline]
    pub fn position(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Returns time number `number`, in microseconds since the start of the file.
    #[inline]
    pub fn due_us(&self, number: u64) -> u64 {
        let (pass, place) = (number / self.count(), number % self.count());
        let due_us = self.dues_us[place as usize];
        if pass == 0 { due_us } else { (pass.saturating_mul(self.length_us())).saturating_add(due_us) }
    }

    /// Skips the times before `until_us`, in microseconds since the start of the file. Returns the number of skipped
    /// times.
    pub fn pass(&self, until_us: f64) -> u64 {
        let (from, first_us, length_us) = (self.position(), self.first_us(), self.length_us() as f64);
        let since_first_us = (until_us - first_us as f64).max(0.0);
        let (pass, within_us) = ((since_first_us / length_us).floor(), since_first_us % length_us);
        let within = self.dues_us.partition_point(|due_us| ((*due_us - first_us) as f64) < within_us) as u64;
        let to = (pass as u64).saturating_mul(self.count()).saturating_add(within);
        self.next.store(to.max(from), Ordering::Relaxed);
        to.saturating_sub(from)
    }

    /// Notes that a request was sent for the next time.
    #[inline]
    pub fn sent(&self) {
        if !self.is_of_trace {
            self.take();
        }
    }

    /// Advances the position by one, and returns the number of the time at the old position.
    #[inline]
    pub(super) fn take(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Moves the position back to the first time.
    pub(super) fn rewind(&self) {
        self.next.store(0, Ordering::Relaxed);
    }

    /// Returns a summary: `cart.log: 12 000 commands in 60.0 s, 2 times as fast`. `noun` names the things that are due,
    /// such as `commands`.
    pub(super) fn summary(&self, noun: &str) -> String {
        let (file, count) = (untrusted::path(&self.file), count_with_noun(self.count(), noun));
        let mut text = format!("{file}: {count} in {}", units::latency(self.span_us().saturating_mul(1000)));
        if self.speed.to_bits() != 1_f64.to_bits() {
            text += &format!(", {} times as fast", self.speed);
        }
        if self.mean_rate() < 1.0 {
            text += ", below 1 request per second (shown as 1)";
        }
        text
    }
}

impl fmt::Display for DueTimes {
    /// Writes a summary: `web.times: 12 000 times in 60.0 s`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.summary("time"))
    }
}

/// Reads a time in seconds. Returns the time in microseconds.
fn time_us(line: &[u8]) -> Option<u64> {
    let time_s: f64 = untrusted::bytes(line).parse().ok()?;
    (0.0..=LATEST_S).contains(&time_s).then(|| (time_s * SECOND_US).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<DueTimes, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let named = format!("{}: ", file.path().display());
        DueTimes::read(file.path(), 1.0).map_err(|error| error.to_string().replace(&named, ""))
    }

    #[test]
    fn a_pass_ends_a_mean_gap_after_the_last_time_and_keeps_the_first_time() {
        let times = read("# web\n2\n2.1\r\n\n2.1\n 2.6 \n").unwrap();
        let dues: Vec<_> = (0..6).map(|number| times.due_us(number)).collect();
        assert_eq!(dues, [2_000_000, 2_100_000, 2_100_000, 2_600_000, 2_800_000, 2_900_000]);
        assert_eq!((times.length_us(), times.rate(), times.speed_at(10)), (800_000, 5, 2.0));
        let passed = [1e6, 2e6, 2.05e6, 2.6e6, 2.85e6].map(|until_us| times.pass(until_us));
        assert_eq!(passed, [0, 0, 1, 2, 2]);
        assert!(times.to_string().ends_with(": 4 times in 600 ms"), "{times}");
    }

    #[test]
    fn twice_the_rate_of_slow_times_is_twice_their_speed() {
        let slow = read("0\n10\n").unwrap();
        assert_eq!((slow.rate(), slow.speed_at(1), slow.speed_at(2)), (1, 1.0, 2.0));
        let shown = slow.to_string();
        assert!(shown.ends_with(": 2 times in 10.0 s, below 1 request per second (shown as 1)"), "{shown}");
    }

    #[test]
    fn a_line_that_is_no_later_time_is_named() {
        for (text, expected) in [
            ("", "it has no times; write one"),
            ("0\n# 1\n1,5\n", "line 3: '1,5' is not a time in seconds since"),
            ("0\n-1\n", "line 2: '-1' is not"),
            ("nan", "line 1: 'nan' is not"),
            ("1e30", "line 1: '1e30' is not"),
            ("1\n0.5\n", "line 2: the time is earlier than the time before it; sort"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
    }
}
