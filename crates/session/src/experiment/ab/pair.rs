//! The pairs of an A/B experiment (one measurement of each side), and the figures that are compared.

use std::sync::Arc;

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::{
    diagnose::our_limit,
    session::{
        Interval,
        figures::{self, Figure, Row},
    },
};

/// One of the two sides of an A/B: a setting or a target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub enum Side {
    /// The first side.
    #[default]
    A,
    /// The second side.
    B,
}

impl Side {
    /// Returns the other side.
    pub(super) fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// The figures that decide about pairs of closed loops: throughput, p50 and p99 of the service time.
const CLOSED: [Figure; 3] = [figures::OPS_PER_S, figures::SERVICE_P50, figures::SERVICE_P99];
/// The figures that decide about pairs of open loops: throughput, p50 and p99 of the response time.
const OPEN: [Figure; 3] = [figures::OPS_PER_S, figures::RESPONSE_P50, figures::RESPONSE_P99];

/// The measurements of both sides in two consecutive parts.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The number of the pair, from 1. Pairs that are left out have numbers too.
    pub pair: u32,
    /// The end of the pair, in seconds since the session began.
    pub t_s: f64,
    /// The side that was measured first.
    pub first: Side,
    /// Whether both sides are open loops. Response times are then compared.
    pub is_open: bool,
    /// The measurements of A, and of B.
    pub parts: Arc<[Interval; 2]>,
    /// The reason why the pair is left out; `None` if the pair counts.
    pub left_out: Option<&'static str>,
}

/// Returns a figure of a measurement. If `operation` is `None`, the figure is for all operations together.
pub(super) fn value(measured: &Interval, operation: Option<&str>, figure: Figure) -> Option<f64> {
    let row = Row::of_interval(measured);
    match operation {
        Some(name) => figure.value(&row.of_operation(measured.commands.get(name)?)),
        None => figure.value(&row),
    }
}

impl Pair {
    /// Returns the figures that decide which side of a pair is better: throughput, p50 and p99.
    pub fn figures(is_open: bool) -> [Figure; 3] {
        if is_open { OPEN } else { CLOSED }
    }

    /// Returns the values of a figure as text: first the value of A, then the value of B.
    pub fn written(&self, figure: Figure) -> [String; 2] {
        self.parts.each_ref().map(|part| figure.cell(&Row::of_interval(part)))
    }

    /// Returns the logarithm of B's value minus the logarithm of A's value; `None` if a value is zero or has too few
    /// samples.
    pub fn difference(&self, operation: Option<&str>, figure: Figure) -> Option<f64> {
        let logarithm = |part| value(part, operation, figure).filter(|value| *value > 0.0).map(f64::ln);
        let [a, b] = &*self.parts;
        Some(logarithm(b)? - logarithm(a)?)
    }

    /// Returns the number of failed requests on both sides.
    pub fn errors(&self) -> u64 {
        self.parts.iter().map(|part| part.errors.values().sum::<u64>()).sum()
    }

    /// Returns the reason why redyno itself was the limit; `None` if redyno was not the limit.
    pub(super) fn client_limit(&self) -> Option<String> {
        self.parts.iter().find_map(our_limit)
    }

    /// Returns whether redyno itself was the limit for both A and B.
    pub(super) fn is_limited(&self) -> bool {
        self.parts.iter().all(|part| our_limit(part).is_some())
    }
}

/// A part of a pair, in the form of a record.
#[derive(Serialize)]
struct SettingFigures {
    length_s: f64,
    ops_per_s: f64,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    errors: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_limit: Option<String>,
}

impl Serialize for Pair {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [_, p50, p99] = Self::figures(self.is_open);
        let part = |n: usize| {
            let part = &self.parts[n];
            SettingFigures {
                length_s: part.length_s,
                ops_per_s: part.ops_per_s,
                p50_us: p50.exported(&Row::of_interval(part)),
                p99_us: p99.exported(&Row::of_interval(part)),
                errors: part.errors.values().sum(),
                client_limit: our_limit(part),
            }
        };
        let mut record = serializer.serialize_struct("pair", 6)?;
        record.serialize_field("pair", &self.pair)?;
        record.serialize_field("t_s", &self.t_s)?;
        record.serialize_field("first", &self.first)?;
        record.serialize_field("a", &part(0))?;
        record.serialize_field("b", &part(1))?;
        match self.left_out {
            Some(why) => record.serialize_field("left_out", why)?,
            None => record.skip_field("left_out")?,
        }
        record.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::repeated;

    #[test]
    fn a_pair_of_open_loops_compares_response_times() {
        let measured = |ops_per_s, ns| Interval {
            length_s: 3.0,
            ops_per_s,
            service: repeated(5, 5000),
            response: Some(repeated(ns, 500)),
            ..Interval::default()
        };
        let parts = [measured(1000.0, 10_000), measured(1100.0, 20_000)];
        let pair =
            Pair { pair: 1, t_s: 0.0, first: Side::A, is_open: true, parts: parts.into(), left_out: None };
        let difference =
            |pair: &Pair, figure| pair.difference(None, figure).map(|d| (d.exp() * 100.0).round());
        assert_eq!(OPEN.map(|figure| difference(&pair, figure)), [Some(110.0), Some(200.0), None]);
        assert_eq!(CLOSED.map(|figure| difference(&pair, figure)), [Some(110.0), Some(100.0), Some(100.0)]);
        let json = serde_json::to_value(&pair).unwrap();
        assert_eq!((&json["b"]["p50_us"], &json["b"]["p99_us"]), (&20.0.into(), &serde_json::Value::Null));
        assert_eq!((&json["first"], json.get("left_out")), (&"A".into(), None), "500 are too few for a p99");
        let dead = Pair { parts: [measured(1.0, 5), Interval::default()].into(), ..pair };
        assert_eq!(difference(&dead, figures::OPS_PER_S), None);
    }
}
