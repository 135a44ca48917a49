//! The verdict of an A/B, as lines of text and in records.

use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::{Ab, Pair};
use crate::{compare::Difference, experiment::conclusions::limited, stats::Verdict, units};

/// The figures that decide about a pair, by their names in records.
const NAMES: [&str; 3] = ["throughput", "p50", "p99"];

/// A difference in the form of a record. The values are relative to A: 0.1 means that B is 10 % higher.
#[derive(Serialize)]
struct ChangeFields {
    change: f64,
    low: Option<f64>,
    high: Option<f64>,
}

impl Ab {
    /// Returns the verdict as a sentence: `B is better: ops/s +12 % (+9.0 % to +15 %)`.
    pub fn sentence(&self) -> String {
        let decides = self.verdict();
        let of = format!("{} {}", decides.name(), decides.difference());
        match decides.verdict {
            Some(verdict @ (Verdict::Better | Verdict::Worse)) => format!("B is {}: {of}", verdict.word()),
            _ if decides.change.is_none() => decides.words(),
            _ => format!("{}; {of}", decides.words()),
        }
    }

    /// Returns the comparison so far as text, in the figure that decides the A/B.
    pub(super) fn so_far(&self) -> String {
        let decides = self.verdict();
        match decides.change {
            None => "nothing to compare yet".to_owned(),
            Some(_) => format!("{} of B {}", decides.name(), decides.difference()),
        }
    }

    /// Returns the verdict as a sentence. Further lines have the numbers of pairs, of errors, and of pairs in which
    /// redyno was the limit.
    pub(super) fn conclusion(&self) -> String {
        let (pairs, counted) = (self.pairs(), self.counted().count());
        let left_out = match pairs.len() - counted {
            0 => String::new(),
            n => format!(", {n} left out: connections were lost"),
        };
        let errors: u64 = pairs.iter().map(Pair::errors).sum();
        let errors = if errors > 0 { format!(", errors {}", units::grouped(errors)) } else { String::new() };
        let limit = limited(pairs.iter().map(Pair::client_limit), "pairs").map(|limited| limited + "\n");
        format!("{}\npairs {counted}{left_out}{errors}\n{}", self.sentence(), limit.unwrap_or_default())
    }
}

/// The verdict in a record: its figures and its sentence.
impl Serialize for Ab {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let figures = self.figures();
        let decides = self.verdict();
        let name = figures.iter().zip(NAMES).find(|(figure, _)| **figure == decides.figure);
        let counted = self.counted().count();
        let mut record = serializer.serialize_struct("verdict", 10)?;
        record.serialize_field("verdict", &decides.verdict.map(Verdict::word))?;
        record.serialize_field("reason", &decides.verdict.map(Verdict::reason))?;
        record.serialize_field("decides", &name.map(|(_, name)| name))?;
        record.serialize_field("words", &self.sentence())?;
        record.serialize_field("pairs", &counted)?;
        record.serialize_field("left_out", &(self.pairs().len() - counted))?;
        for (figure, name) in figures.into_iter().zip(NAMES) {
            let Difference { change, interval, .. } = self.difference(None, figure);
            let (low, high) = interval.unzip();
            record.serialize_field(name, &change.map(|change| ChangeFields { change, low, high }))?;
        }
        record.serialize_field("table", &self.table())?;
        record.end()
    }
}
