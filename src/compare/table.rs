//! The figures of both sides, how far apart they are, and whether that is more than noise.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::Run;
use crate::{
    session::{
        figures::{self, Figure, Row},
        timeline::{PerSecond, Seconds},
    },
    stats::{self, Better, Comparison, Verdict, paired::Judgement, repeats},
    units,
};

/// What is compared of all operations together; the levels are those of the response time under a rate.
const CLOSED: [Figure; 7] = [
    figures::OPS_PER_S,
    figures::SERVICE_P50,
    figures::SERVICE_P90,
    figures::SERVICE_P99,
    figures::SERVICE_P999,
    figures::SERVICE_MAX,
    figures::ERRORS,
];
const OPEN: [Figure; 7] = [
    figures::OPS_PER_S,
    figures::RESPONSE_P50,
    figures::RESPONSE_P90,
    figures::RESPONSE_P99,
    figures::RESPONSE_P999,
    figures::RESPONSE_MAX,
    figures::ERRORS,
];
/// And of each operation.
const OF_OPERATION: [Figure; 3] = [figures::OPS_PER_S, figures::SERVICE_P50, figures::SERVICE_P99];

/// What a difference comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// The new side is better.
    Better,
    /// The new side is worse.
    Worse,
    /// The same as either, but of one run each: what the machine did in between may be all of it.
    MaybeDrift,
    /// There is no difference above this share.
    Same(f64),
    /// More repeats or longer runs would tell.
    NotClear,
    /// Nothing says how much it varies by itself.
    NotJudged,
}

/// A figure of both sides.
#[derive(Debug, Clone)]
pub struct Compared {
    /// The operation; nothing of all together.
    pub operation: Option<String>,
    /// What is compared.
    pub figure: Figure,
    /// Its value on the base side and on the new one: of several runs the mean, for latencies and rates the geometric one.
    pub values: [Option<f64>; 2],
    /// How much more the new side is, as a share of the base.
    pub change: Option<f64>,
    /// Between which shares that lies; of repeats in 96 of 100 comparisons.
    pub interval: Option<(f64, f64)>,
    /// What it comes to.
    pub outcome: Outcome,
}

/// All of them.
#[derive(Debug, Clone)]
pub struct Table {
    /// The rows: first all operations together, then each.
    pub rows: Vec<Compared>,
    /// Whether all runs of one side came before all of the other: what the machine did meanwhile is in each difference.
    pub is_sequential: bool,
}

impl Table {
    /// Compares `new` with `base`; neither is empty.
    pub fn of(base: &[Run], new: &[Run]) -> Self {
        let is_open = base.iter().chain(new).all(Run::is_open);
        let all = if is_open { OPEN } else { CLOSED };
        let mut rows: Vec<_> = all.iter().map(|figure| compared(base, new, None, *figure)).collect();
        let names: BTreeSet<&String> =
            base.iter().chain(new).flat_map(|run| run.segment.total.commands.keys()).collect();
        if names.len() > 1 {
            let of = |name: &&String| OF_OPERATION.map(|figure| compared(base, new, Some(name), figure));
            rows.extend(names.iter().flat_map(of));
        }
        Self { rows, is_sequential: is_sequential(base, new) }
    }
}

fn is_sequential(base: &[Run], new: &[Run]) -> bool {
    let are_before = |a: &[Run], b: &[Run]| a.iter().all(|a| b.iter().all(|b| a.began() < b.began()));
    are_before(base, new) || are_before(new, base)
}

/// Which way a figure is better.
fn better(figure: Figure) -> Better {
    if figure == figures::OPS_PER_S { Better::Higher } else { Better::Lower }
}

/// A figure of both sides, of one operation or of all together.
pub(super) fn compared(base: &[Run], new: &[Run], operation: Option<&str>, figure: Figure) -> Compared {
    let [base_values, new_values] = [base, new].map(|runs| values(runs, operation, figure));
    let mean = if figure == figures::ERRORS { arithmetic } else { geometric };
    let pair = [mean(&base_values), mean(&new_values)];
    let mut row = Compared {
        operation: operation.map(str::to_owned),
        figure,
        values: pair,
        change: None,
        interval: None,
        outcome: Outcome::NotJudged,
    };
    if figure == figures::ERRORS || base_values.len() != base.len() || new_values.len() != new.len() {
        return row;
    }
    let Some(shift) = repeats::of_repeats(&base_values, &new_values) else { return row };
    row.change = Some(shift.share());
    if let ([base], [new]) = (base, new) {
        if let Some(comparison) = by_seconds(base, new, operation, figure) {
            let is_one_session = base.session == new.session;
            row.interval = comparison.interval;
            row.outcome = of_comparison(&comparison, is_one_session);
        }
        return row;
    }
    // The longest of a run is one value, and no level of its distribution.
    if figure == figures::SERVICE_MAX || figure == figures::RESPONSE_MAX {
        return row;
    }
    row.interval = shift.shares();
    row.outcome = match repeats::judge(shift, better(figure)) {
        Judgement::Better => Outcome::Better,
        Judgement::Worse => Outcome::Worse,
        Judgement::Same => Outcome::Same(shift.above().unwrap_or_default()),
        Judgement::Undecided => Outcome::NotClear,
    };
    row
}

/// One run with another, second by second, where their seconds are known by this figure.
fn by_seconds(base: &Run, new: &Run, operation: Option<&str>, figure: Figure) -> Option<Comparison> {
    let measure: fn(&Seconds) -> &PerSecond = match figure {
        _ if operation.is_some() => return None,
        figure if figure == figures::OPS_PER_S => Seconds::ops_per_s,
        figure if figure == figures::SERVICE_P50 => Seconds::service_p50_ns,
        figure if figure == figures::SERVICE_P99 => Seconds::service_p99_ns,
        figure if figure == figures::RESPONSE_P99 => Seconds::response_p99_ns,
        _ => return None,
    };
    let [base, new] = [base, new].map(|run| measure(run.seconds()).stretch(run.segment.start.t_s));
    // Without a value there is nothing to tell noise by.
    let is_told = !base.values.is_empty() && !new.values.is_empty();
    is_told.then(|| stats::compare(base, new, better(figure)))
}

fn of_comparison(comparison: &Comparison, is_one_session: bool) -> Outcome {
    match comparison.verdict {
        Verdict::Faster if is_one_session => Outcome::Better,
        Verdict::Slower if is_one_session => Outcome::Worse,
        Verdict::Faster | Verdict::Slower | Verdict::Drift => Outcome::MaybeDrift,
        Verdict::Same { above } => Outcome::Same(above),
        Verdict::NotYet { .. } => Outcome::NotClear,
    }
}

/// Of each run that has it.
fn values(runs: &[Run], operation: Option<&str>, figure: Figure) -> Vec<f64> {
    let of = |run: &Run| {
        let row: Row = run.row();
        let row = match operation {
            Some(name) => row.of_operation(run.segment.total.commands.get(name)?),
            None => row,
        };
        figure.value(&row)
    };
    runs.iter().filter_map(of).collect()
}

fn arithmetic(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn geometric(values: &[f64]) -> Option<f64> {
    arithmetic(&values.iter().map(|value| value.ln()).collect::<Vec<_>>()).map(f64::exp)
}

impl Compared {
    /// What it is called: `ops/s`, `p99`, `GET p99`.
    pub fn name(&self) -> String {
        let heading = self.figure.heading;
        self.operation
            .as_ref()
            .map_or_else(|| heading.to_owned(), |operation| format!("{operation} {heading}"))
    }

    /// A value as a person reads it, that of the base side or that of the new one.
    pub fn written(&self, side: usize) -> String {
        let write = |value: f64| match self.figure.unit {
            figures::Unit::Latency => units::latency(value as u64),
            _ => units::count(value),
        };
        self.values[side].map_or_else(|| "-".to_owned(), write)
    }

    /// How much more the new side is, with its interval: `+12 % (+9.0 to +15)`.
    pub fn difference(&self) -> String {
        let Some(change) = self.change else { return "-".to_owned() };
        match self.interval {
            Some((low, high)) => format!("{} % ({} to {})", signed(change), signed(low), signed(high)),
            None => format!("{} %", signed(change)),
        }
    }

    /// What it comes to, in words.
    pub fn words(&self) -> String {
        match self.outcome {
            Outcome::Better => "better".to_owned(),
            Outcome::Worse => "worse".to_owned(),
            Outcome::MaybeDrift => "differs, or the machine drifted between the runs".to_owned(),
            Outcome::Same(above) => format!("no difference above {} %", percent(above)),
            Outcome::NotClear => "not clear".to_owned(),
            Outcome::NotJudged => String::new(),
        }
    }

    /// The same in a word, for programs.
    pub fn verdict(&self) -> Option<&'static str> {
        match self.outcome {
            Outcome::Better => Some("better"),
            Outcome::Worse => Some("worse"),
            Outcome::MaybeDrift => Some("maybe drift"),
            Outcome::Same(_) => Some("same"),
            Outcome::NotClear => Some("not clear"),
            Outcome::NotJudged => None,
        }
    }
}

fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value.abs() < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

fn signed(share: f64) -> String {
    let written = percent(share.abs());
    let sign = if share < 0.0 && written != "0.0" { "-" } else { "+" };
    format!("{sign}{written}")
}

impl Serialize for Compared {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // As exports write it: latencies in µs.
        let scale = if self.figure.unit == figures::Unit::Latency { 1e-3 } else { 1.0 };
        let value = |side: usize| self.values[side].map(|value| value * scale);
        let (low, high) = self.interval.unzip();
        let mut record = serializer.serialize_struct("row", 8)?;
        record.serialize_field("figure", self.figure.name)?;
        record.serialize_field("operation", &self.operation)?;
        record.serialize_field("base", &value(0))?;
        record.serialize_field("new", &value(1))?;
        record.serialize_field("change", &self.change)?;
        record.serialize_field("low", &low)?;
        record.serialize_field("high", &high)?;
        record.serialize_field("verdict", &self.verdict())?;
        record.end()
    }
}
