//! What a curve says, in lines: the best of its points, the knee, the bounds of a search, and what is not to be trusted.

use super::knob_curve::Over;
use crate::{
    experiment::Point,
    session::timeline::Level,
    tui::{Glyphs, Ink},
    units,
};

/// So many rows are kept for the lines, so that the charts stay as they are when there is more to say.
const LEAST: usize = 3;

/// The lines, the most telling first.
pub fn lines(over: &Over, glyphs: &Glyphs) -> Vec<(String, Ink)> {
    let told = [best(over, glyphs), held(over, glyphs), bounds(over), knee(over), doubts(over, glyphs)];
    let mut lines: Vec<_> = told.into_iter().flatten().collect();
    lines.resize(lines.len().max(LEAST), (String::new(), Ink::Text));
    lines
}

fn of(over: &Over, point: &Point) -> String {
    let dimension = over.curve.dimension();
    let level =
        Level::P99.of(point.latency()).map_or_else(String::new, |ns| format!(", p99 {}", units::latency(ns)));
    format!(
        "{} {}: {}{level}",
        dimension.name(),
        dimension.written(point.value),
        units::rate(point.ops_per_s())
    )
}

fn best(over: &Over, glyphs: &Glyphs) -> Option<(String, Ink)> {
    let best = over.best().filter(|_| over.curve.points().len() > 1)?;
    Some((format!("{} the most at {}", glyphs.best, of(over, best)), Ink::Text))
}

fn held(over: &Over, glyphs: &Glyphs) -> Option<(String, Ink)> {
    let limit = over.limit.as_ref()?;
    Some(match over.best_under_limit() {
        Some(point) => {
            (format!("{} of what holds {limit} at {}", glyphs.best_held, of(over, point)), Ink::Text)
        }
        None => (format!("no point holds {limit}"), Ink::Warn),
    })
}

fn bounds(over: &Over) -> Option<(String, Ink)> {
    let bounds = over.bounds.as_ref()?;
    let written = |value: u64| over.curve.dimension().written(value);
    let text = match (bounds.lower, bounds.upper) {
        (Some(lower), Some(upper)) => format!("holds up to {}, not for {}", written(lower), written(upper)),
        (Some(lower), None) => format!("holds up to {}", written(lower)),
        (None, Some(upper)) => format!("does not hold for {}", written(upper)),
        (None, None) => return None,
    };
    Some((format!("{} {text}", bounds.limit), Ink::Text))
}

fn knee(over: &Over) -> Option<(String, Ink)> {
    let knee = over.law?.knee()?;
    let at = over.curve.dimension().written(knee.at.round() as u64);
    let peak = units::rate(knee.peak);
    Some((format!("the knee is near {at}, {peak} (a model: universal scalability law)"), Ink::Text))
}

/// What is not to be trusted.
fn doubts(over: &Over, glyphs: &Glyphs) -> Option<(String, Ink)> {
    let points = over.curve.points();
    let count = |is: fn(&Point) -> bool| points.iter().filter(|point| is(point)).count();
    let (limited, unsteady) =
        (count(|point| point.our_limit().is_some()), count(|point| point.is_steady == Some(false)));
    let all = points.len();
    let limited = (limited > 0)
        .then(|| format!("{} redyno itself was the limit at {limited} of {all} points", glyphs.off));
    let unsteady = (unsteady > 0).then(|| format!("{unsteady} of {all} not steady"));
    let told: Vec<_> = [limited, unsteady].into_iter().flatten().collect();
    (!told.is_empty()).then(|| (told.join("; "), Ink::Warn))
}
