//! Conditions that make a comparison fail: `p99 > +10%`, `ops < -5%`, `p99 > 2ms`, `ping_p99 > 5ms`, `errors > 0`.

use std::{fmt, str::FromStr};

use super::{Run, compared::compared};
use crate::{
    session::figures::{self, FIGURES, Figure, FigureUnit, Row},
    stats::{PERCENTILES, Verdict},
    units::{self, parse_bytes, parse_count, parse_duration},
};

/// A condition on a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The condition as written.
    text: String,
    what: TestedFigure,
    /// Whether values above the bound meet the condition. If false, values below the bound meet the
    /// condition.
    pub is_above: bool,
    bound: Bound,
}

/// The figure that a condition tests.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TestedFigure {
    /// A percentile or the maximum of a latency. The latency is the response time if the load has a rate, and
    /// the service time otherwise.
    Level {
        service: Figure,
        response: Figure,
    },
    Figure(Figure),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    /// A change relative to the base, as a share: 0.1 is +10 %.
    Change(f64),
    /// A value, in the figure's own unit.
    Value(f64),
}

/// An upper limit of a latency, from a condition or from the limit of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyBound {
    /// The limit as written: `p99 > 2ms`.
    pub words: String,
    /// The share of the requests that must be below the limit, from 0 to 1.
    pub quantile: f64,
    /// The limit, in nanoseconds.
    pub ns: u64,
    /// The latency that has the limit.
    pub of: BoundedLatency,
}

/// A latency with a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundedLatency {
    /// The round trips of PING.
    Pings,
    /// The service times.
    Service,
    /// The response times in an open loop, and the service times in a closed loop.
    Requests,
}

/// A condition that is met, or that may be met.
#[derive(Debug, Clone, PartialEq)]
pub struct MetCondition {
    /// The condition as written.
    pub condition: String,
    /// The measured value, as text.
    pub measured: String,
    /// Whether the condition is certainly met. False if the difference may be noise, or if the figure was not measured.
    pub is_sure: bool,
}

impl MetCondition {
    /// Marks the condition as uncertain, because the server may not be the cause. The reason `why` is added to the
    /// text.
    #[must_use]
    pub fn doubted(mut self, why: &str) -> Self {
        self.measured += &format!("; {why}");
        self.is_sure = false;
        self
    }
}

impl fmt::Display for MetCondition {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.condition, self.measured)
    }
}

const fn level(service: Figure, response: Figure) -> TestedFigure {
    TestedFigure::Level { service, response }
}

/// Short names of figures.
const SHORT: [(&str, TestedFigure); 11] = [
    ("ops", TestedFigure::Figure(figures::OPS_PER_S)),
    ("errors", TestedFigure::Figure(figures::ERRORS)),
    ("misses", TestedFigure::Figure(figures::MISSES)),
    ("mean", level(figures::SERVICE_MEAN, figures::RESPONSE_MEAN)),
    ("p50", level(figures::SERVICE_P50, figures::RESPONSE_P50)),
    ("p90", level(figures::SERVICE_P90, figures::RESPONSE_P90)),
    ("p95", level(figures::SERVICE_P95, figures::RESPONSE_P95)),
    ("p99", level(figures::SERVICE_P99, figures::RESPONSE_P99)),
    ("p99.9", level(figures::SERVICE_P999, figures::RESPONSE_P999)),
    ("p99.99", level(figures::SERVICE_P9999, figures::RESPONSE_P9999)),
    ("max", level(figures::SERVICE_MAX, figures::RESPONSE_MAX)),
];

/// Returns the short name of a figure of PING, such as `ping_p99`.
fn ping_name(figure: &Figure) -> String {
    figure.heading.replace(' ', "_")
}

/// Returns all short names.
fn names() -> Vec<String> {
    let pings = figures::of_pings().iter().map(ping_name);
    SHORT.iter().map(|(name, _)| (*name).to_owned()).chain(pings).collect()
}

impl FromStr for Condition {
    /// A message that says what to write instead.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || {
            format!(
                "'{text}' is not a condition; write for example 'p99 > +10%', 'ops < -5%', 'p99 > 2ms' or 'errors > 0'"
            )
        };
        let at = text.find(['<', '>']).ok_or_else(form)?;
        let (name, rest) = (text[..at].trim(), &text[at + 1..]);
        let (is_above, bound) = (text[at..].starts_with('>'), rest.trim());
        if name.is_empty() || bound.is_empty() {
            return Err(form());
        }
        let short = SHORT.iter().find(|(short, _)| *short == name).map(|(_, what)| *what);
        let pings = figures::of_pings();
        let mut long = FIGURES
            .iter()
            .chain(pings)
            .filter(|figure| figure.name == name)
            .chain(pings.iter().filter(|figure| ping_name(figure) == name));
        let what =
            short.or_else(|| long.next().map(|figure| TestedFigure::Figure(*figure))).ok_or_else(|| {
                let names = names().join(", ");
                format!("'{name}' is not a figure; give one of {names}, or a figure in `redyno help formats`")
            })?;
        let bound = what.bound(name, bound)?;
        Ok(Self { text: text.trim().to_owned(), what, is_above, bound })
    }
}

impl TestedFigure {
    fn figure(self, is_open: bool) -> Figure {
        match self {
            Self::Level { response, .. } if is_open => response,
            Self::Level { service: figure, .. } | Self::Figure(figure) => figure,
        }
    }

    fn bound(self, name: &str, text: &str) -> Result<Bound, String> {
        let wrong = |expected| format!("'{text}' cannot be compared with {name}; give {expected}");
        let unit = self.figure(false).unit;
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let scaled = if unit == FigureUnit::Bytes { parse_bytes } else { parse_count };
        let value = |text: &str| number(text).or_else(|| Some(scaled(text).ok()? as f64)).map(Bound::Value);
        if let Some(percent) = text.strip_suffix('%').filter(|_| unit != FigureUnit::Trouble) {
            // `client_cpu > 90%` limits the share itself, and `client_cpu > +10%` limits its change.
            let is_share = unit == FigureUnit::Ratio && !percent.starts_with(['+', '-']);
            return number(percent)
                .map(
                    |percent| {
                        if is_share { Bound::Value(percent / 100.0) } else { Bound::Change(percent / 100.0) }
                    },
                )
                .ok_or_else(|| wrong("a change such as +10%"));
        }
        match unit {
            FigureUnit::Latency => {
                let duration = parse_duration(text)
                    .map_err(|_| wrong("a duration such as 2ms, or a change such as +10%"));
                Ok(Bound::Value(duration?.as_nanos() as f64))
            }
            // If the base value is 0, a change cannot be given as a percentage.
            FigureUnit::Trouble => value(text).ok_or_else(|| wrong("a number such as 50 or 5k")),
            _ => value(text).ok_or_else(|| wrong("a number such as 50 or 5k, or a change such as +10%")),
        }
    }
}

impl Condition {
    /// Returns whether the condition limits the change from a base, such as `p99 > +10%`.
    pub fn is_relative(&self) -> bool {
        matches!(self.bound, Bound::Change(_))
    }

    /// Returns the quantile of the latency that the condition tests, from 0 to 1; 1 means the maximum.
    pub fn quantile(&self) -> Option<f64> {
        let heading = self.what.figure(false).heading;
        let heading = ["ping ", "resp "].iter().find_map(|of| heading.strip_prefix(of)).unwrap_or(heading);
        let known = PERCENTILES.iter().find(|known| known.name == heading);
        let max = (heading == figures::SERVICE_MAX.heading).then_some(1.0);
        known.map(|known| known.quantile).or(max)
    }

    /// Returns the upper limit that the condition sets for a percentile or the maximum of a latency.
    pub fn latency_bound(&self) -> Option<LatencyBound> {
        let Bound::Value(ns) = self.bound else { return None };
        let quantile = self.quantile().filter(|_| self.is_above)?;
        let of = match self.what {
            _ if self.is_of_pings() => BoundedLatency::Pings,
            TestedFigure::Figure(figure) if !figure.name.starts_with("response_") => BoundedLatency::Service,
            _ => BoundedLatency::Requests,
        };
        Some(LatencyBound { words: self.text.clone(), quantile, ns: ns as u64, of })
    }

    /// Returns whether the condition is on PING. Without load, only conditions on PING have a meaning.
    pub fn is_of_pings(&self) -> bool {
        matches!(self.what, TestedFigure::Figure(figure) if figures::of_pings().contains(&figure))
    }

    /// Returns whether the condition is on a figure that redyno measures only when it polls the server.
    pub fn is_of_polls(&self) -> bool {
        self.what == TestedFigure::Figure(figures::SERVER_CPU)
    }

    /// Returns whether the condition is on a setting of the load.
    pub fn is_of_settings(&self) -> bool {
        matches!(self.what.figure(false).unit, FigureUnit::Setting | FigureUnit::Shape)
    }

    /// Returns whether the condition can be met because redyno is slow, even if the server is fast. This is
    /// true for a latency above a bound (`p99 > 2ms`), and for a throughput below a bound (`ops < -5%`).
    pub fn is_of_speed(&self) -> bool {
        let is_latency = self.what.figure(false).unit == FigureUnit::Latency;
        is_latency && self.is_above || self.what == TestedFigure::Figure(figures::OPS_PER_S) && !self.is_above
    }

    /// Returns the condition if the measured figure meets it. If the figure was not measured, the condition is returned
    /// with `is_sure` false.
    pub fn of_row(&self, row: &Row, is_open: bool) -> Option<MetCondition> {
        let figure = self.what.figure(is_open);
        match figure.value(row) {
            Some(value) if self.is_met_by(value) => {
                Some(self.crossed(format!("{} {}", figure.heading, figure.cell(row)), true))
            }
            Some(_) => None,
            None => Some(self.unmeasured(&figure)),
        }
    }

    /// Returns the condition if the new side of a comparison meets it. For a condition on a change with the verdict *no
    /// difference*, a change of 0 must also meet the condition. For a condition on a value, the function prefers a run
    /// that certainly meets the condition.
    pub fn of_runs(&self, base: &[Run], new: &[Run]) -> Option<MetCondition> {
        let Bound::Change(_) = self.bound else {
            let met = new.iter().filter_map(|run| self.of_row(&run.row(), run.is_open()));
            return met.min_by_key(|met| !met.is_sure);
        };
        let figure = self.what.figure(new.iter().all(Run::is_open));
        let difference = compared(base, new, None, figure);
        let Some(change) = difference.change else { return Some(self.unmeasured(&figure)) };
        let is_same = matches!(difference.verdict, Some(Verdict::Same { .. }));
        if !self.is_met_by(change) || is_same && !self.is_met_by(0.0) {
            return None;
        }
        let [name, base, new, _, words] = difference.cells();
        let words = if words.is_empty() { words } else { format!(", {words}") };
        let measured = format!("{name} {new} against {base} ({}){words}", units::change(change));
        Some(self.crossed(measured, !difference.may_be_noise()))
    }

    fn is_met_by(&self, value: f64) -> bool {
        let (Bound::Change(bound) | Bound::Value(bound)) = self.bound;
        if self.is_above { value > bound } else { value < bound }
    }

    fn crossed(&self, measured: String, is_sure: bool) -> MetCondition {
        MetCondition { condition: self.text.clone(), measured, is_sure }
    }

    fn unmeasured(&self, figure: &Figure) -> MetCondition {
        let text = format!("{} was not measured, or has too few samples", figure.heading);
        self.crossed(text, false)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}
