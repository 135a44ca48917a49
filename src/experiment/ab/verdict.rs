//! What the pairs say, as a judgement, in figures and in words.

use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::{Pair, Quantity};
use crate::{
    stats::{
        Better,
        paired::{Judgement, LAST, LOOK, Shift},
    },
    units,
};

/// What the pairs say of B, compared with A.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// What decides.
    pub decides: Quantity,
    /// How much more B is, by quantity; `None` where it could not be measured.
    pub shifts: [(Quantity, Option<Shift>); 3],
    /// How many pairs count.
    pub pairs: usize,
    /// How many do not.
    pub left_out: usize,
    /// Whether no more come.
    pub is_last: bool,
}

impl Verdict {
    /// Of these pairs; `is_last` is whether no more come.
    pub(super) fn of(pairs: &[Pair], decides: Quantity, is_last: bool) -> Self {
        let counted: Vec<_> = pairs.iter().filter(|pair| pair.left_out.is_none()).collect();
        let shift = |quantity| {
            let differences: Vec<_> = counted.iter().filter_map(|pair| pair.difference(quantity)).collect();
            (quantity, Shift::of(&differences, if is_last { LAST } else { LOOK }))
        };
        Self {
            decides,
            shifts: Quantity::ALL.map(shift),
            pairs: counted.len(),
            left_out: pairs.len() - counted.len(),
            is_last,
        }
    }

    /// Which setting is better, by what decides.
    pub fn judgement(&self) -> Judgement {
        self.judgement_by(self.decides)
    }

    /// The same by another quantity.
    pub fn judgement_by(&self, quantity: Quantity) -> Judgement {
        let better = quantity.better();
        self.shift(quantity).map_or(Judgement::Undecided, |shift| shift.judge(better, self.is_last))
    }

    fn shift(&self, quantity: Quantity) -> Option<Shift> {
        self.shifts.iter().find(|(of, _)| *of == quantity)?.1
    }

    /// How B compares by what decides while pairs go on coming: `throughput +9.5 % to +15 %`.
    pub fn so_far(&self) -> String {
        let name = self.decides.name();
        match self.shift(self.decides).map(|shift| (shift.shares(), shift.share())) {
            None => "nothing to compare yet".to_owned(),
            Some((None, share)) => format!("B's {name} {} % so far", signed(share)),
            Some((Some((low, high)), _)) => format!("B's {name} {} % to {} %", signed(low), signed(high)),
        }
    }

    /// How B compares by a quantity, in words: `12 % more (9 to 15)`, `no difference above 2 %`.
    pub fn words(&self, quantity: Quantity) -> String {
        let (judgement, Some(shift)) = (self.judgement_by(quantity), self.shift(quantity)) else {
            return "not measured".to_owned();
        };
        match judgement {
            Judgement::Same => {
                format!("no difference above {} %", percent(shift.above().unwrap_or_default()))
            }
            Judgement::Better | Judgement::Worse => {
                let estimate = shift.share();
                difference(quantity.better(), estimate, shift.shares().unwrap_or((estimate, estimate)))
            }
            Judgement::Undecided => match shift.shares() {
                Some((low, high)) => {
                    format!("no clear difference: {} % to {} %", signed(low), signed(high))
                }
                None => "not clear: too few pairs".to_owned(),
            },
        }
    }

    /// The verdict in a sentence: `B does 12 % more (9 to 15)`.
    pub fn sentence(&self) -> String {
        let words = self.words(self.decides);
        match (self.judgement(), self.decides) {
            (Judgement::Better | Judgement::Worse, Quantity::Throughput) => format!("B does {words}"),
            (Judgement::Better | Judgement::Worse, latency) => {
                format!("B's {} is {words}", latency.name())
            }
            _ => words,
        }
    }

    /// The same, and how B compares by each quantity, in lines.
    pub fn report(&self) -> String {
        let mut text = format!("{}\n", self.sentence());
        for quantity in Quantity::ALL {
            text += &format!("  {:<10} {}\n", quantity.name(), self.words(quantity));
        }
        let left_out = match self.left_out {
            0 => String::new(),
            n => format!(", {n} left out"),
        };
        text + &format!("  {:<10} {}{left_out}\n", "pairs", self.pairs)
    }

    /// Its name in records.
    pub fn name(&self) -> &'static str {
        judgement_name(self.judgement())
    }
}

/// The name of a judgement in records.
pub(super) fn judgement_name(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Better => "better",
        Judgement::Worse => "worse",
        Judgement::Same => "same",
        Judgement::Undecided => "undecided",
    }
}

/// A difference that is one, with its interval, all as shares: `12 % more (9 to 15)`, `2.4 times as long (2.2 to 2.6)`.
fn difference(better: Better, estimate: f64, (low, high): (f64, f64)) -> String {
    if estimate >= 1.0 {
        let word = if better == Better::Higher { "much" } else { "long" };
        let times = |share: f64| units::count(1.0 + share);
        return format!("{} times as {word} ({} to {})", times(estimate), times(low), times(high));
    }
    let word = match (better, estimate > 0.0) {
        (Better::Higher, true) => "more",
        (Better::Higher, false) => "less",
        (Better::Lower, true) => "longer",
        (Better::Lower, false) => "shorter",
    };
    let (least, most) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
    format!("{} % {word} ({} to {})", percent(estimate.abs()), percent(least), percent(most))
}

/// A share as percents, whole ones where that is exact enough.
pub(super) fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value.abs() {
        4.95..99.5 => format!("{value:.0}"),
        99.5..100.0 => format!("{value:.2}"),
        100.0.. => format!("{value:.0}"),
        _ => format!("{value:.1}"),
    }
}

pub(super) fn signed(share: f64) -> String {
    let sign = if share < 0.0 { "-" } else { "+" };
    format!("{sign}{}", percent(share.abs()))
}

/// A shift as it stands in a record, as shares of A.
#[derive(Serialize)]
struct Change {
    change: f64,
    low: Option<f64>,
    high: Option<f64>,
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut record = serializer.serialize_struct("verdict", 8)?;
        record.serialize_field("verdict", self.name())?;
        record.serialize_field("decides", self.decides.name())?;
        record.serialize_field("words", &self.sentence())?;
        record.serialize_field("pairs", &self.pairs)?;
        record.serialize_field("left_out", &self.left_out)?;
        for (quantity, shift) in self.shifts {
            let change = shift.map(|shift| {
                let (low, high) = shift.shares().unzip();
                Change { change: shift.share(), low, high }
            });
            record.serialize_field(quantity.name(), &change)?;
        }
        record.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(decides: Quantity, level: f64, spread: f64) -> Verdict {
        let differences: Vec<_> =
            (0..12).map(|n| level.ln_1p() + spread * [1.0, -0.5, -1.0, 0.5][n % 4]).collect();
        let shift = Shift::of(&differences, LAST);
        let shifts = Quantity::ALL.map(|quantity| (quantity, shift.filter(|_| quantity == decides)));
        Verdict { decides, shifts, pairs: 12, left_out: 1, is_last: true }
    }

    #[test]
    fn a_verdict_is_a_sentence() {
        let told = |decides, level, spread| verdict(decides, level, spread).sentence();
        assert_eq!(told(Quantity::Throughput, 0.12, 0.03), "B does 12 % more (10 to 15)");
        assert_eq!(told(Quantity::Throughput, -0.12, 0.03), "B does 12 % less (10 to 14)");
        assert_eq!(told(Quantity::P99, 0.12, 0.03), "B's p99 is 12 % longer (10 to 15)");
        assert_eq!(told(Quantity::P99, -0.031, 0.003), "B's p99 is 3.1 % shorter (2.9 to 3.3)");
        assert_eq!(told(Quantity::P50, 1.4, 0.03), "B's p50 is 2.40 times as long (2.35 to 2.45)");
        assert_eq!(told(Quantity::P50, -0.9983, 0.03), "B's p50 is 99.83 % shorter (99.83 to 99.83)");
        assert_eq!(told(Quantity::Throughput, 0.0, 0.02), "no difference above 1.5 %");
        assert_eq!(told(Quantity::Throughput, 0.0, 0.2), "no clear difference: -14 % to +16 %");
        let none = Verdict::of(&[], Quantity::Throughput, true);
        assert_eq!((none.sentence(), none.name()), ("not measured".to_owned(), "undecided"));
    }

    #[test]
    fn a_record_of_it_has_the_figures() {
        let record = serde_json::to_value(verdict(Quantity::P99, -0.1, 0.01)).unwrap();
        assert_eq!((&record["verdict"], &record["decides"]), (&"better".into(), &"p99".into()));
        assert!((record["p99"]["change"].as_f64().unwrap() + 0.1).abs() < 1e-9, "{record}");
        assert!(record["p99"]["low"].as_f64() < record["p99"]["high"].as_f64());
        assert_eq!((&record["p50"], &record["pairs"]), (&serde_json::Value::Null, &12.into()));
    }
}
