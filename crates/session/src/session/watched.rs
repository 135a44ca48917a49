//! A figure of a session that redyno watches for level shifts (lasting changes).

use crate::{
    events::ShiftReport,
    gauge::{Gauge, GaugeGroup, GaugeKind, GaugeUnit},
    stats::baseline::{LevelShift, ShiftEnd, ShiftThreshold},
    units,
};

/// A shift of a share is reported only if the share changes by at least this factor. A share is at most 1, so a large
/// factor is often impossible.
const OF_SHARES: f64 = 1.5;
/// A shift of any other gauge is reported only if the gauge changes by at least this factor.
const OF_OTHERS: f64 = 2.0;

/// A watched figure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WatchedFigure {
    /// A gauge of the server or its host. A gauge that counts events is watched as a rate per second.
    Gauge(Gauge),
    /// The median round trip of the PINGs of a second, in microseconds.
    PingP50,
    /// The 99th percentile of the round trips of the PINGs of a second, in microseconds.
    PingP99,
    /// The longest round trip of the PINGs of a second, in microseconds.
    PingMax,
    /// The share of the time in which the server ran this command.
    Command(String),
}

impl WatchedFigure {
    /// The figures of PING.
    pub const PINGS: [Self; 3] = [Self::PingP50, Self::PingP99, Self::PingMax];

    /// Returns the smallest shift that is reported; `None` if the figure is not watched.
    pub fn smallest_shift(&self) -> Option<ShiftThreshold> {
        let least = |factor, least| Some(ShiftThreshold { factor, least });
        match self {
            Self::Gauge(gauge) => {
                let factor = if gauge.about().unit == GaugeUnit::Ratio { OF_SHARES } else { OF_OTHERS };
                gauge.smallest_shift().map(|least| ShiftThreshold { factor, least })
            }
            // At least 200 µs: smaller changes are noise in a data centre.
            Self::PingP50 => least(2.0, 200.0),
            // The p99 of 100 PINGs is a single PING, and the maximum varies most, so both need a larger shift.
            Self::PingP99 => least(3.0, 1000.0),
            Self::PingMax => least(5.0, 5000.0),
            // At least a tenth of the main thread's time.
            Self::Command(_) => least(OF_SHARES, 0.1),
        }
    }

    /// Returns the figure's name in files.
    fn name(&self) -> String {
        match self {
            Self::Gauge(gauge) => gauge.about().name.to_owned(),
            Self::PingP50 => "ping_p50".to_owned(),
            Self::PingP99 => "ping_p99".to_owned(),
            Self::PingMax => "ping_max".to_owned(),
            Self::Command(command) => format!("command_{command}"),
        }
    }

    /// Returns the figure's name in a sentence.
    pub fn in_words(&self) -> String {
        match self {
            Self::Gauge(gauge) => gauge.in_words().to_owned(),
            Self::PingP50 => "p50 of PING".to_owned(),
            Self::PingP99 => "p99 of PING".to_owned(),
            Self::PingMax => "longest PING".to_owned(),
            Self::Command(command) => format!("time of {}", command.to_uppercase()),
        }
    }

    /// Returns `value` with its unit.
    pub fn written(&self, value: f64) -> String {
        match self {
            Self::Gauge(gauge) if gauge.about().kind == GaugeKind::Added => {
                format!("{}/s", gauge.written(value))
            }
            Self::Gauge(gauge) => gauge.written(value),
            Self::PingP50 | Self::PingP99 | Self::PingMax => units::latency((value * 1e3) as u64),
            Self::Command(_) => units::percent(value),
        }
    }

    /// Returns the report of a shift of this figure. `now_s` is the current time, in seconds since the session began.
    pub(super) fn report(&self, shift: &LevelShift, now_s: f64) -> ShiftReport {
        let (end_s, back_text, given_up) = match shift.end {
            None => (None, None, None),
            Some(ShiftEnd::Back(at_s, value)) => (Some(at_s), Some(self.written(value)), None),
            Some(ShiftEnd::Crossed(at_s, value)) => {
                let side = if value < shift.from { "below" } else { "above" };
                (Some(at_s), None, Some(format!("{}, {side} the usual level", self.written(value))))
            }
            Some(ShiftEnd::NewLevel) => (Some(now_s), None, None),
        };
        ShiftReport {
            figure: self.name(),
            label: self.in_words(),
            from: shift.from,
            to: shift.to,
            from_text: self.written(shift.from),
            to_text: self.written(shift.to),
            length_s: end_s.map(|end_s| end_s - shift.since_s),
            back_text,
            given_up,
        }
    }
}

/// Returns whether the figure with this name in files is a gauge of the whole machine, not of a server.
pub(super) fn is_of_machine(figure: &str) -> bool {
    let of_machine = |gauge: &Gauge| gauge.about().group == GaugeGroup::Host;
    Gauge::all_watched().filter(of_machine).any(|gauge| gauge.about().name == figure)
}
