//! A chart of a report: its lines and axes. The page's script draws the chart, and the static picture also shows it.

use serde::Serialize;

use super::heat_map::HeatMap;
use crate::units;

/// The quantity of an axis, which determines its scale and format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Quantity {
    /// The time since the session began, in seconds.
    Time,
    /// The share of requests up to a latency, on the scale log10(1 / (1 - share)). HdrHistogram's plots use the same
    /// scale.
    Nines,
    /// The value of a knob, linear.
    Knob,
    /// The value of a knob, logarithmic.
    KnobLog,
    /// A rate per second, from 0.
    Rate,
    /// A share, such as the used share of a core, from 0.
    Cores,
    /// A latency in microseconds, logarithmic.
    Latency,
}

impl Quantity {
    /// Returns whether the axis is logarithmic.
    pub(super) fn is_log(self) -> bool {
        matches!(self, Self::KnobLog | Self::Latency)
    }

    /// Returns the label of a value.
    pub(super) fn written(self, value: f64) -> String {
        match self {
            Self::Time => units::clock(value),
            Self::Nines if value < 0.5 => "0 %".to_owned(),
            Self::Nines => {
                let share = 100.0 * (1.0 - 10_f64.powf(-value));
                format!("{share:.*} %", (value.round() as usize).saturating_sub(2))
            }
            Self::Knob | Self::KnobLog => units::setting(value.round() as u64),
            Self::Rate => units::count(value),
            Self::Cores => units::percent(value),
            Self::Latency => units::latency((value * 1e3).round() as u64),
        }
    }
}

/// The style of a line: a class name. The style sheet has a colour and dashes for this class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Ink(pub(super) &'static str);

/// The styles for lines of the same kind. Neighbouring styles are easy to tell apart.
const SERIES: [&str; 8] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];

impl Ink {
    /// Returns the style of line number `n`, from 0, of several lines of the same kind.
    pub(super) fn of_series(n: usize) -> Self {
        Self(SERIES[n % SERIES.len()])
    }
}

/// A line of a chart, with a value for each of the chart's `xs`.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ChartLine {
    pub(super) name: String,
    pub(super) ink: Ink,
    /// A value for each x. `None` if there are no samples, or too few samples.
    pub(super) values: Vec<Option<f64>>,
    /// Whether each value is drawn with a dot.
    pub(super) is_dotted: bool,
    /// The segment of the line. `None` if the line covers several segments.
    pub(super) segment: Option<u32>,
}

impl ChartLine {
    /// Creates a line without dots.
    pub(super) fn new(name: impl Into<String>, ink: Ink, values: Vec<Option<f64>>) -> Self {
        Self { name: name.into(), ink, values, is_dotted: false, segment: None }
    }

    /// Returns whether there are values to draw.
    pub(super) fn has_values(&self) -> bool {
        self.values.iter().any(Option::is_some)
    }
}

/// A chart: lines over one axis.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Chart {
    /// The id of the chart on the page: letters, digits and hyphens.
    pub(super) id: String,
    pub(super) title: String,
    /// The note below the chart.
    #[serde(skip)]
    pub(super) note: String,
    pub(super) x: Quantity,
    /// The name of the horizontal axis.
    pub(super) x_name: String,
    pub(super) y: Quantity,
    pub(super) xs: Vec<f64>,
    pub(super) lines: Vec<ChartLine>,
    pub(super) heat: Option<HeatMap>,
}

impl Chart {
    /// Creates a chart over the time of the session. Lines without any values are left out.
    pub(super) fn of(id: &str, title: &str, y: Quantity, xs: Vec<f64>, lines: Vec<ChartLine>) -> Self {
        let (id, title, x_name) = (id.to_owned(), title.to_owned(), "time of the session".to_owned());
        let lines = lines.into_iter().filter(ChartLine::has_values).collect();
        Self { id, title, note: String::new(), x: Quantity::Time, x_name, y, xs, lines, heat: None }
    }

    /// Returns all values of all lines.
    pub(super) fn values(&self) -> impl Iterator<Item = f64> {
        self.lines.iter().flat_map(|line| &line.values).copied().flatten()
    }

    /// Returns whether there are values to draw.
    pub(super) fn has_values(&self) -> bool {
        self.lines.iter().any(ChartLine::has_values)
    }
}
