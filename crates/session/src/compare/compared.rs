//! Compares the runs of two settings, A and B: their figures, the differences, and whether a difference is
//! more than noise.

use std::collections::BTreeSet;

use super::{
    Difference, DifferenceTable, Run, Sides,
    difference::{better, stretches},
    fit::mismatches,
};
use crate::{
    session::figures::{self, Figure, FigureUnit},
    stats::{Reason, Verdict, repeats, seconds},
};

/// The figures that are compared for each single operation.
const OF_OPERATION: [Figure; 3] = [figures::OPS_PER_S, figures::SERVICE_P50, figures::SERVICE_P99];

/// The comparison of two sides, each with one run or several runs.
#[derive(Debug, Clone)]
pub struct RunComparison {
    /// The differences: first for all operations together, then for each operation.
    pub table: DifferenceTable,
    /// The settings that must be equal but differ between the sides. The list is empty if the sides can be compared.
    pub mismatches: Vec<String>,
    /// Whether all runs of one side came before all runs of the other side. If true, each difference includes any drift
    /// of the machine.
    pub is_sequential: bool,
    is_one_run_each: bool,
    is_one_session: bool,
}

impl RunComparison {
    /// Compares `new` with `base`. Each side must have at least one run.
    pub fn of(base: &[Run], new: &[Run]) -> Self {
        let is_open = base.iter().chain(new).all(Run::is_open);
        let is_monitor = base.iter().chain(new).all(Run::is_monitor);
        let levels = if is_open { figures::RESPONSE } else { figures::SERVICE };
        let all = match is_monitor {
            true => figures::MONITORED.to_vec(),
            false => [&[figures::OPS_PER_S], &levels[..], &[figures::ERRORS]].concat(),
        };
        let all = all.iter().chain(&figures::OF_RECEIVERS);
        let mut rows: Vec<_> = all.map(|figure| compared(base, new, None, *figure)).collect();
        let is_optional = |row: &Difference| is_monitor || figures::OF_RECEIVERS.contains(&row.figure);
        rows.retain(|row| !is_optional(row) || row.values != [None, None]);
        let names: BTreeSet<&String> =
            base.iter().chain(new).flat_map(|run| run.segment.total.commands.keys()).collect();
        if names.len() > 1 {
            let of = |name: &&String| OF_OPERATION.map(|figure| compared(base, new, Some(name), figure));
            rows.extend(names.iter().flat_map(of));
        }
        Self {
            table: DifferenceTable { sides: Sides::BaseNew, rows },
            mismatches: mismatches(base, new),
            is_sequential: is_sequential(base, new),
            is_one_run_each: base.len() == 1 && new.len() == 1,
            is_one_session: base[0].session == new[0].session,
        }
    }

    /// Returns the notes about the comparison.
    pub fn notes(&self) -> Vec<String> {
        let misfits = (!self.mismatches.is_empty())
            .then(|| format!("different kinds of runs: {}", self.mismatches.join("; ")));
        let repeated = match (self.is_one_run_each, self.is_one_session) {
            (true, true) => None,
            (true, false) => Some(
                "a difference between two single runs may be drift of the machine: repeat both in alternation",
            ),
            (false, _) => self.is_sequential.then_some(
                "the runs of base and new do not alternate, so a difference may be drift of the machine; alternate the \
                 runs",
            ),
        };
        misfits.into_iter().chain(repeated.map(str::to_owned)).collect()
    }
}

fn is_sequential(base: &[Run], new: &[Run]) -> bool {
    let are_before = |a: &[Run], b: &[Run]| a.iter().all(|a| b.iter().all(|b| a.began() < b.began()));
    are_before(base, new) || are_before(new, base)
}

/// Compares a figure of both sides. If `operation` is `None`, the figure is for all operations together.
pub(super) fn compared(base: &[Run], new: &[Run], operation: Option<&str>, figure: Figure) -> Difference {
    let [base_values, new_values] = [base, new].map(|runs| values(runs, operation, figure));
    let is_gauge =
        figures::MONITORED[figures::MONITORED_LEVELS..].contains(&figure) && base.iter().all(Run::is_monitor);
    let [base_value, new_value] = [&base_values, &new_values].map(|values| joined(values, figure, is_gauge));
    let measured = Difference::unjudged(operation, figure, [base_value, new_value]);
    let is_known =
        |values: &[f64], runs: &[Run]| values.len() == runs.len() && values.iter().all(|value| *value > 0.0);
    if !is_known(&base_values, base) || !is_known(&new_values, new) {
        return Difference { change: None, ..measured };
    }
    if let ([base], [new]) = (base, new) {
        return if operation.is_some() { measured } else { by_seconds(measured, base, new) };
    }
    // The maximum of a run is a single value, not a percentile.
    if figure.unit == FigureUnit::Trouble || is_maximum(figure) || is_gauge {
        return measured;
    }
    measured.judged(&repeats::compare(&base_values, &new_values, better(figure)))
}

/// Compares two single runs. If the figure has a value for each second, the runs are compared by these
/// values.
fn by_seconds(measured: Difference, base: &Run, new: &Run) -> Difference {
    let stretches = stretches(&base.segment, &new.segment, measured.figure);
    // Without a value for each second, the noise is unknown.
    match stretches.filter(|all| all.iter().all(|stretch| !stretch.values.is_empty())) {
        None => measured,
        Some([base_seconds, new_seconds]) => {
            let mut comparison = seconds::compare(base_seconds, new_seconds, better(measured.figure));
            let is_one = matches!(comparison.verdict, Verdict::Better | Verdict::Worse);
            // A drift of the machine between the two runs may be the cause.
            if is_one && base.session != new.session {
                comparison.verdict = Verdict::NotClear(Reason::Drift);
            }
            let comparison = comparison.of_change(measured.change);
            measured.judged(&comparison)
        }
    }
}

/// Returns the value of the figure in each run; runs without a value are left out.
fn values(runs: &[Run], operation: Option<&str>, figure: Figure) -> Vec<f64> {
    let of = |run: &Run| {
        let row = run.row();
        let row = match operation {
            Some(name) => row.of_operation(run.segment.total.commands.get(name)?),
            None => row,
        };
        figure.value(&row)
    };
    runs.iter().filter_map(of).collect()
}

/// Returns the value of a side from the values of its runs. The value is the sum for errors and lost messages, the
/// largest value for maxima, and the mean for gauges. For all other figures, the value is the geometric mean.
fn joined(values: &[f64], figure: Figure, is_gauge: bool) -> Option<f64> {
    let mean = |of: fn(f64) -> f64| values.iter().map(|value| of(*value)).sum::<f64>() / values.len() as f64;
    (!values.is_empty()).then(|| match figure.unit {
        FigureUnit::Trouble => values.iter().sum(),
        _ if is_maximum(figure) => values.iter().copied().fold(0.0, f64::max),
        _ if is_gauge => mean(|value| value),
        _ => mean(f64::ln).exp(),
    })
}

fn is_maximum(figure: Figure) -> bool {
    figure.name.ends_with("_max_us")
}
