//! Parses the text of a sweep: `clients 1..1000`, `pipeline 1,2,4,8`, `rate 1k..50k in 10 p99<1ms`.

use std::str::FromStr;

use crate::{
    experiment::{Dimension, ExperimentSetting, Limit, WordsError, dimension::Range},
    knobs::{Knob, Knobs},
};

/// The maximum number of steps.
const MOST: usize = 100;
/// A range with at most this many values has one step for each value.
const FEW: u64 = 10;
/// A range is wide if its end is at least this many times its start. The steps of a wide range are 1, 2, 5, 10, 20 and
/// so on, or powers of two for bytes.
const WIDE: u64 = 16;
/// The number of steps of all other ranges.
const STEPS: usize = 8;

/// A planned sweep: the values in order, and the limit.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepPlan {
    /// The dimension.
    pub dimension: Dimension,
    /// The values of the steps.
    pub values: Vec<u64>,
    /// The limit that the best step must keep; `None` without a limit.
    pub limit: Option<Limit>,
}

impl FromStr for SweepPlan {
    type Err = WordsError;

    fn from_str(text: &str) -> Result<Self, WordsError> {
        let (words, limit) = match text.split_once('<') {
            // The percentile of the limit is the last word before the `<`; the name of the receivers' times, a word
            // without digits, may precede it.
            Some((before, _)) => {
                let start = |text: &str| text.trim_end().rfind(' ').map_or(0, |at| at + 1);
                let at = start(before);
                let of = start(&before[..at]);
                let is_name = Limit::RECEIVED.contains(&before[of..at].trim());
                let at = if is_name { of } else { at };
                (&text[..at], Some(text[at..].parse()?))
            }
            None => (text, None),
        };
        let (dimension, words) = Dimension::in_words(words)?;
        let values = values(dimension, words)?;
        match values.len() {
            0 | 1 => return Err(WordsError::of(ONE)),
            n if n > MOST => return Err(too_many(n)),
            _ => {}
        }
        let twice = values.iter().enumerate().find(|(n, value)| values[..*n].contains(value));
        twice.map_or(Ok(()), |(_, value)| {
            Err(WordsError::of(format!("{} is given twice; leave one out", dimension.written(*value))))
        })?;
        Ok(Self { dimension, values, limit })
    }
}

const ONE: &str = "a sweep needs at least two values";

fn too_many(steps: usize) -> WordsError {
    WordsError::of(format!("{steps} steps are too many; give at most {MOST}"))
}

fn values(dimension: Dimension, words: &str) -> Result<Vec<u64>, WordsError> {
    if words.contains(',') {
        return Ok(words.split(',').map(|text| dimension.parse(text.trim())).collect::<Result<_, _>>()?);
    }
    if dimension.parse(words).is_ok() {
        return Err(WordsError::of(ONE));
    }
    let other = |error| WordsError::of(format!("{error}, or 1,2,4,8"));
    let Range { from, to, steps } = Range::parse(dimension, words).map_err(other)?;
    if let Some(steps) = steps.filter(|steps| *steps > MOST) {
        return Err(too_many(steps));
    }
    let mut values = series(dimension, from.min(to), from.max(to), steps);
    if from > to {
        values.reverse();
    }
    Ok(values)
}

/// Returns `steps` values from `low` to `high`, including both. If `steps` is `None`, the number depends on the
/// dimension and the range.
fn series(dimension: Dimension, low: u64, high: u64, steps: Option<usize>) -> Vec<u64> {
    let is_wide = high / WIDE >= low.max(1);
    let mut values: Vec<_> = match steps {
        Some(steps) => spread(low, high, steps, dimension),
        None if high - low < FEW => (low..=high).collect(),
        None if dimension == Dimension::Knob(Knob::Reads) => spread(low, high, STEPS + 1, dimension),
        None if is_wide && dimension.is_bytes() => (0..64).map(|power| 1 << power).collect(),
        None if is_wide => (0..19).flat_map(|power| [1, 2, 5].map(|n| n * 10_u64.pow(power))).collect(),
        None => spread(low, high, STEPS, dimension),
    };
    values.retain(|value| (low..=high).contains(value));
    values.extend([low, high]);
    values.sort_unstable();
    values.dedup();
    values
}

/// Returns `steps` values from `low` to `high` with a constant factor between neighbours. For percentages, and if `low`
/// is 0, the difference is constant instead. The values are rounded, so some may be equal.
fn spread(low: u64, high: u64, steps: usize, dimension: Dimension) -> Vec<u64> {
    let (from, to) = (low as f64, high as f64);
    let is_even = low == 0 || dimension == Dimension::Knob(Knob::Reads);
    let at = |n: usize| {
        let share = n as f64 / steps.saturating_sub(1).max(1) as f64;
        let value = if is_even { from + (to - from) * share } else { from * (to / from).powf(share) };
        value.round() as u64
    };
    (0..steps).map(at).collect()
}

impl SweepPlan {
    /// Returns the settings of the steps: the knobs `base` with each value.
    ///
    /// # Errors
    /// The error is a message with the first invalid step.
    pub fn settings(&self, base: &Knobs) -> Result<Vec<ExperimentSetting>, WordsError> {
        // An error about an end of the range names a value that the user has given.
        let ends = [self.values.first(), self.values.last()].into_iter().flatten();
        ends.map(|end| self.dimension.set(*end, base)).collect::<Result<Vec<_>, _>>()?;
        self.values.iter().map(|value| self.dimension.set(*value, base)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Result<SweepPlan, WordsError> {
        text.parse()
    }

    #[test]
    fn the_values_of_a_range_depend_on_its_width_and_dimension() {
        for (text, values) in [
            ("clients 1..1000", "1 2 5 10 20 50 100 200 500 1000"),
            ("pipeline 1..64", "1 2 5 10 20 50 64"),
            ("clients 30..3k", "30 50 100 200 500 1000 2000 3000"),
            ("pipeline 1..8", "1 2 3 4 5 6 7 8"),
            ("pipeline 8..1", "8 7 6 5 4 3 2 1"),
            ("clients 50..100", "50 55 61 67 74 82 91 100"),
            ("clients 1..100 in 3", "1 10 100"),
            ("clients 1..4 in 50 steps", "1 2 3 4"),
            ("reads 0..80", "0 10 20 30 40 50 60 70 80"),
            ("value size 100..4k", "100 128 256 512 1024 2048 4096"),
            ("config hz 0..100", "0 1 2 5 10 20 50 100"),
            ("config io-threads 1, 4,2", "1 4 2"),
            ("rate 1k,2k/s", "1000 2000"),
        ] {
            let plan = plan(text).unwrap();
            let found: Vec<_> = plan.values.iter().map(ToString::to_string).collect();
            assert_eq!(found.join(" "), values, "{text}");
            assert_eq!(plan.limit, None);
        }
    }

    #[test]
    fn a_sweep_may_have_a_limit() {
        let plan = plan("rate 1k..50k in 4 p99.9<5ms").unwrap();
        assert_eq!((plan.values.len(), plan.limit), (4, Some("p99.9<5ms".parse().unwrap())));
    }

    #[test]
    fn an_invalid_sweep_is_refused_with_an_example() {
        for (text, expected) in [
            ("clients", "'clients' must begin with one of clients, "),
            ("wheels 1..4", "'wheels 1..4' must begin with one of "),
            (
                "clients many",
                "'many' is not a range of clients; write for example clients 1..64, or 1..64 in 10, or 1,2,4,8",
            ),
            ("clients 1..", "'1..' is not a range of clients"),
            ("clients 1..x", "'x' is not a count such as"),
            ("clients 1..9 in some", "'1..9 in some' is not a range"),
            ("clients 5", "a sweep needs at least two values"),
            ("clients 5..5", "a sweep needs at least two values"),
            ("clients 5,6,5", "5 is given twice"),
            ("clients 1..10000 in 101", "101 steps are too many; give at most 100"),
            ("clients 1..9 p98<1ms", "'p98' is not a percentile; give one of p50, "),
            ("config appendfsync no,always", "config 'appendfsync' is not a parameter with numbers"),
        ] {
            let error = plan(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let beyond = plan("pipeline 1..1M").unwrap().settings(&Knobs::default()).unwrap_err().to_string();
        assert_eq!(beyond, "pipeline must be between 1 and 10000, not 1000000");
        let beyond = plan("clients 1..20000").unwrap().settings(&Knobs::default()).unwrap_err().to_string();
        assert_eq!(beyond, "clients must be between 1 and 18000, not 20000");
    }
}
