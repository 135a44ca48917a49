//! The wall clock of the recording host. Times of the session become times of day, such as `14:05:22`.

use std::{fmt, str::FromStr};

use time::{Duration, OffsetDateTime, UtcOffset, format_description::well_known::Rfc3339};

use super::{SessionStart, Timeline};
use crate::units;

/// The seconds of a day.
const DAY_S: f64 = 86_400.0;

/// Converts times of a session to the recording host's wall clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WallClock {
    /// The start of the session, in the host's local time.
    started: OffsetDateTime,
}

/// A time of day: a minute, `14:05`, or a second, `14:05:30`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeOfDay {
    /// The start, in seconds since midnight.
    since_s: f64,
    /// The length: a minute or a second, in seconds.
    length_s: f64,
}

/// A moment of the session as the user gives it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GivenMoment {
    /// Seconds of the session: `42`.
    Seconds(f64),
    /// A time of the recording host's wall clock: `14:05`.
    Clock(TimeOfDay),
}

impl fmt::Display for GivenMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seconds(s) => s.fmt(f),
            Self::Clock(time) => f.write_str(&units::elapsed((time.since_s * 1e9) as u64)),
        }
    }
}

impl FromStr for GivenMoment {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.contains(':') {
            return text.parse().map(Self::Clock);
        }
        let seconds = text.trim().parse().ok().filter(|s: &f64| *s >= 0.0 && s.is_finite());
        seconds
            .map(Self::Seconds)
            .ok_or("it is neither a number of seconds, 0 or more, nor a time of day such as 14:05")
    }
}

impl Timeline {
    /// Returns the recording host's wall clock; `None` if the wall clock is unknown.
    pub fn wall_clock(&self) -> Option<WallClock> {
        self.session()?.wall_clock()
    }

    /// Returns the time of day at `t_s` by the recording host's wall clock. If the wall clock is unknown, returns the
    /// minutes and seconds since the session's start.
    pub fn time_text(&self, t_s: f64) -> String {
        self.wall_clock().map_or_else(|| units::clock(t_s), |clock| clock.time(t_s))
    }

    /// Converts a moment that the user gave to seconds of the session.
    ///
    /// # Errors
    /// Fails if the moment is not in the session, or the wall clock is unknown. The error message says what to give
    /// instead.
    pub fn moment(&self, given: GivenMoment) -> Result<f64, String> {
        let (begins_s, ends_s) = (self.begins_s(), self.now_s);
        let time = match given {
            GivenMoment::Seconds(s) if s > ends_s => {
                return Err(format!("give at most {ends_s:.1} seconds, the end of the recording"));
            }
            GivenMoment::Seconds(s) if s < begins_s => {
                return Err(format!(
                    "give at least {begins_s:.1} seconds, where this file of the recording begins"
                ));
            }
            GivenMoment::Seconds(s) => return Ok(s),
            GivenMoment::Clock(time) => time,
        };
        let Some(clock) = self.wall_clock() else {
            return Err(
                "the recording has no wall clock; give seconds since the start of the session".to_owned()
            );
        };
        let t_s = clock.moment(time, begins_s);
        if t_s > ends_s + 1.0 {
            let (from, to) = (clock.time(begins_s), clock.time(ends_s));
            return Err(format!("give a time from {from} to {to}, the time of the session"));
        }
        Ok(t_s.clamp(begins_s, ends_s))
    }
}

impl SessionStart {
    /// Returns the host's wall clock; `None` if the recording does not contain the host's offset from UTC.
    pub fn wall_clock(&self) -> Option<WallClock> {
        let offset = UtcOffset::from_whole_seconds(self.utc_offset_s?).ok()?;
        Some(WallClock { started: self.started_at()?.checked_to_offset(offset)? })
    }

    /// Returns the start of the session; `None` if the start in the recording is not a valid time.
    pub fn started_at(&self) -> Option<OffsetDateTime> {
        OffsetDateTime::parse(&self.started, &Rfc3339).ok()
    }
}

impl WallClock {
    /// Returns the local time at `t_s` seconds of the session; `None` if the time cannot be represented.
    pub fn at(&self, t_s: f64) -> Option<OffsetDateTime> {
        // Rounded, so that a whole second is not shown as the second before it.
        let since_ms = Duration::milliseconds((t_s * 1e3).round() as i64);
        self.started.checked_add(since_ms)
    }

    /// Returns the time of day at `t_s` seconds of the session, such as `14:05:22`.
    pub fn time(&self, t_s: f64) -> String {
        let (hour, minute, second) = self.at(t_s).unwrap_or(self.started).to_hms();
        format!("{hour:02}:{minute:02}:{second:02}")
    }

    /// Returns date, time and offset from UTC at `t_s`, such as `2026-11-23 14:05:22 +02:00`.
    pub fn date(&self, t_s: f64) -> String {
        let at = self.at(t_s).unwrap_or(self.started);
        let (hours, minutes, _) = at.offset().as_hms();
        let sign = if at.offset().is_negative() { '-' } else { '+' };
        let offset = format!("{sign}{:02}:{:02}", hours.unsigned_abs(), minutes.unsigned_abs());
        format!("{} {} {offset}", at.date(), self.time(t_s))
    }

    /// Returns the moment `t_s` in the format of RFC 3339, such as `2026-11-23T14:05:22+02:00`.
    pub fn rfc3339(&self, t_s: f64) -> Option<String> {
        // The session's start was rounded down to a second.
        self.at(t_s)?.replace_nanosecond(0).ok()?.format(&Rfc3339).ok()
    }

    /// Returns the time of day at the session's start, in seconds since midnight.
    pub fn starts_s(&self) -> f64 {
        let (hour, minute, second) = self.started.to_hms();
        f64::from(hour) * 3600.0 + f64::from(minute) * 60.0 + f64::from(second)
    }

    /// Returns the first moment from `begins_s` on, in seconds of the session, at which the clock shows `time`. In a
    /// session that is longer than a day, the clock shows the same time again later.
    pub fn moment(&self, time: TimeOfDay, begins_s: f64) -> f64 {
        let first_s = time.since_s - self.starts_s();
        let days = ((begins_s - time.length_s - first_s) / DAY_S).floor() + 1.0;
        (first_s + days * DAY_S).max(begins_s)
    }
}

impl FromStr for TimeOfDay {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.trim().split(':').collect();
        let number = |n: usize, most: u32| -> Option<f64> {
            let digits = parts.get(n).copied().unwrap_or("0");
            let is_number = (1..=2).contains(&digits.len()) && digits.chars().all(|c| c.is_ascii_digit());
            digits.parse().ok().filter(|n: &u32| is_number && *n <= most).map(f64::from)
        };
        let whole = [number(0, 23), number(1, 59), number(2, 59)];
        match (whole, parts.len()) {
            ([Some(hour), Some(minute), Some(second)], 2 | 3) => {
                let length_s = if parts.len() == 2 { 60.0 } else { 1.0 };
                Ok(Self { since_s: hour * 3600.0 + minute * 60.0 + second, length_s })
            }
            _ => Err("it is not a time of day such as 14:05 or 14:05:30"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Mark, Record, ServerIdentity};

    fn clock(started: &str, utc_offset_s: i32) -> WallClock {
        let (started, utc_offset_s) = (started.to_owned(), Some(utc_offset_s));
        let start = SessionStart { started, utc_offset_s, ..SessionStart::now(ServerIdentity::default()) };
        start.wall_clock().unwrap()
    }

    #[test]
    fn times_are_in_the_local_time_of_the_recording_host() {
        let berlin = clock("2026-07-31T22:59:58Z", 7200);
        assert_eq!((berlin.time(0.0), berlin.time(2.999_9)), ("00:59:58".to_owned(), "01:00:01".to_owned()));
        assert_eq!(berlin.date(3600.0), "2026-08-01 01:59:58 +02:00");
        assert_eq!(berlin.rfc3339(1.75).as_deref(), Some("2026-08-01T00:59:59+02:00"));
        assert_eq!(clock("2026-01-01T00:10:00Z", -12_600).date(0.0), "2025-12-31 20:40:00 -03:30");
    }

    #[test]
    fn a_time_of_day_means_its_first_occurrence_in_the_session() {
        let night = clock("2026-01-01T23:00:00Z", 0);
        let moment = |text: &str, begins_s| night.moment(text.parse().unwrap(), begins_s);
        assert_eq!((moment("23:00", 0.0), moment("23:30:05", 0.0)), (0.0, 1805.0));
        assert_eq!((moment("02:00", 0.0), moment("22:59", 0.0)), (10_800.0, 86_340.0));
        assert_eq!(moment("23:30", 3600.0), 1800.0 + 86_400.0);
        assert_eq!((moment("23:30", 1860.0), moment("23:30:00", 1801.0)), (88_200.0, 88_200.0));
        for bad in ["", "14", "24:00", "14:60", "14:05:60", "1:2:3:4", "-1:00", "14:", "14:005", "a:b"] {
            assert!(bad.parse::<TimeOfDay>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_moment_is_given_in_seconds_or_as_a_time_of_day_within_the_session() {
        let mut timeline = Timeline::default();
        let (started, utc_offset_s) = ("2026-01-01T13:00:00Z".to_owned(), Some(3600));
        let start = SessionStart { started, utc_offset_s, ..SessionStart::now(ServerIdentity::default()) };
        timeline.push(&Record::Session(start.clone()));
        timeline.push(&Record::Mark(Mark { t_s: 600.0, text: String::new() }));
        let moment = |timeline: &Timeline, text: &str| timeline.moment(text.parse().unwrap());
        assert_eq!((moment(&timeline, "42"), moment(&timeline, "14:05:30")), (Ok(42.0), Ok(330.0)));
        let late = "give a time from 14:00:00 to 14:10:00, the time of the session".to_owned();
        assert_eq!(moment(&timeline, "13:05"), Err(late));
        assert!(moment(&timeline, "601").is_err() && "4:5:6:7".parse::<GivenMoment>().is_err());
        assert_eq!(timeline.time_text(61.0), "14:01:01");
        let mut old = Timeline::default();
        old.push(&Record::Session(SessionStart { utc_offset_s: None, ..start }));
        assert!(moment(&old, "14:05").unwrap_err().contains("no wall clock"));
        assert_eq!(old.time_text(61.0), "01:01");
    }

    /// Tests a moment in the first minute. An earlier version refused 13:06 for a recording that begins at 13:06:20.
    #[test]
    fn a_minute_in_which_the_session_begins_means_the_first_second_of_the_session() {
        let noon = clock("2026-01-01T13:06:20Z", 0);
        let moment = |text: &str, begins_s| noon.moment(text.parse().unwrap(), begins_s);
        assert_eq!((moment("13:06", 0.0), moment("13:07", 0.0), moment("13:06:20", 0.25)), (0.0, 40.0, 0.25));
        assert_eq!(moment("13:07", 50.0), 50.0, "of a later file of a recording");
        assert_eq!((moment("13:05", 0.0), moment("13:06:19", 0.0)), (86_320.0, 86_399.0));
    }

    #[test]
    fn a_recording_without_an_offset_has_no_wall_clock() {
        let start = SessionStart { utc_offset_s: None, ..SessionStart::now(ServerIdentity::default()) };
        assert_eq!(start.wall_clock(), None);
        let wild = SessionStart { utc_offset_s: Some(i32::MAX), ..start };
        assert_eq!(wild.wall_clock(), None);
    }
}
