//! A pair of parts, one of either setting, and what they are compared by.

use serde::Serialize;

use crate::{diagnose::ClientLimit, session::Interval, stats::Better};

/// One of the two settings, or targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

impl Side {
    /// Both.
    pub const ALL: [Self; 2] = [Self::A, Self::B];

    /// The other one.
    pub(super) fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// What settings are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Good replies per second.
    Throughput,
    /// Half of the latencies are at most so long.
    P50,
    /// 99 % of them are.
    P99,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Throughput, Self::P50, Self::P99];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::P50 => "p50",
            Self::P99 => "p99",
        }
    }

    /// Which way it is better.
    pub fn better(self) -> Better {
        match self {
            Self::Throughput => Better::Higher,
            Self::P50 | Self::P99 => Better::Lower,
        }
    }
}

/// What one part of a pair was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// How long it was.
    pub length_s: f64,
    /// Good replies per second.
    pub ops_per_s: f64,
    /// Half of the latencies are at most so long, in µs; `None` where too few were counted. These are response times under
    /// a rate, else service times.
    pub p50_us: Option<f64>,
    /// 99 % of them are.
    pub p99_us: Option<f64>,
    /// Requests that failed.
    pub errors: u64,
    /// Why redyno itself was the limit, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_limit: Option<String>,
}

impl Part {
    /// Of what was measured; `is_open` is whether response times count.
    pub(super) fn of(measured: &Interval, is_open: bool) -> Self {
        let latency = measured.response.as_ref().filter(|_| is_open).unwrap_or(&measured.service);
        let percentile_us = |quantile| latency.percentile(quantile).map(|ns| ns as f64 / 1e3);
        Self {
            length_s: measured.length_s,
            ops_per_s: measured.ops_per_s,
            p50_us: percentile_us(0.50),
            p99_us: percentile_us(0.99),
            errors: measured.errors.values().sum(),
            client_limit: ClientLimit::of(measured).map(|limit| limit.to_string()),
        }
    }

    fn value(&self, quantity: Quantity) -> Option<f64> {
        match quantity {
            Quantity::Throughput => Some(self.ops_per_s),
            Quantity::P50 => self.p50_us,
            Quantity::P99 => self.p99_us,
        }
    }
}

/// Both settings, one right after the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// Its number, from 1, with those that were left out.
    pub pair: u32,
    /// When it ended, in seconds of the session.
    pub t_s: f64,
    /// Which setting was first.
    pub first: Side,
    /// The first setting.
    pub a: Part,
    /// The second.
    pub b: Part,
    /// Why it does not count, if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<&'static str>,
}

impl Pair {
    /// How much more B is, as a difference of logarithms; `None` where one of both is nothing or too little.
    pub fn difference(&self, quantity: Quantity) -> Option<f64> {
        let logarithm = |part: &Part| part.value(quantity).filter(|value| *value > 0.0).map(f64::ln);
        Some(logarithm(&self.b)? - logarithm(&self.a)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::repeated;

    #[test]
    fn a_pair_compares_response_times_under_a_rate_and_what_is_missing_with_nothing() {
        let measured = |ops_per_s, ns| Interval {
            ops_per_s,
            service: repeated(5, 5000),
            response: Some(repeated(ns, 500)),
            ..Interval::default()
        };
        let pair = |is_open| Pair {
            pair: 1,
            t_s: 0.0,
            first: Side::A,
            a: Part::of(&measured(1000.0, 10_000), is_open),
            b: Part::of(&measured(1100.0, 20_000), is_open),
            left_out: None,
        };
        let difference = |pair: Pair, quantity| pair.difference(quantity).map(|d| (d.exp() * 100.0).round());
        assert_eq!(difference(pair(true), Quantity::Throughput), Some(110.0));
        assert_eq!(difference(pair(true), Quantity::P50), Some(200.0));
        assert_eq!(difference(pair(true), Quantity::P99), None, "500 are too few");
        assert_eq!(difference(pair(false), Quantity::P99), Some(100.0));
        let dead = Pair { a: Part::of(&Interval::default(), false), ..pair(false) };
        assert_eq!(dead.difference(Quantity::Throughput), None);
    }
}
