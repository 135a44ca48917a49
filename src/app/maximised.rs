//! One part of a screen on all of its body.

use super::Screen;

/// A part of a screen that can be shown alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The throughput over time.
    Throughput,
    /// The lanes of the service time.
    Latency,
    /// The heat map of the service time.
    Heat,
    /// The lanes of probes and server.
    Probes,
    /// The knobs and the tables below them.
    Panel,
    /// The curve of the percentiles.
    Curve,
    /// Their table.
    Percentiles,
    /// The distribution as bars.
    Distribution,
}

impl Part {
    /// Its name, for the line that says what is shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency lanes",
            Self::Heat => "heat map",
            Self::Probes => "probes and server",
            Self::Panel => "knobs and tables",
            Self::Curve => "percentile curve",
            Self::Percentiles => "table of percentiles",
            Self::Distribution => "distribution",
        }
    }

    /// The parts of `screen`; none where it is one table.
    pub fn of(screen: Screen) -> &'static [Self] {
        match screen {
            Screen::Overview => &[Self::Throughput, Self::Latency, Self::Heat, Self::Probes, Self::Panel],
            Screen::Latency => &[Self::Curve, Self::Percentiles, Self::Distribution],
            Screen::Server | Screen::Segments | Screen::Log => &[],
        }
    }

    /// What is shown after `shown`: the first part, then each, then the whole screen again.
    pub(super) fn after(screen: Screen, shown: Option<Self>) -> Option<Self> {
        let parts = Self::of(screen);
        let next =
            shown.and_then(|shown| parts.iter().position(|part| *part == shown)).map_or(0, |at| at + 1);
        parts.get(next).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_comes_once_and_then_the_whole_screen() {
        for screen in Screen::ALL {
            let mut shown = Part::after(screen, None);
            for part in Part::of(screen) {
                assert_eq!(shown, Some(*part));
                shown = Part::after(screen, shown);
            }
            assert_eq!(shown, None);
        }
    }
}
