//! The figures that two targets are compared by: of all that was asked, and of each operation.

use crate::{session::Interval, stats::Better, units};

/// What a row of the table is about, in the table's order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// Good replies per second.
    Throughput,
    /// A level of the service times, from write to last byte.
    Service(Level),
    /// A level of the response times under a rate, from when requests were due.
    Response(Level),
    /// Of one operation, by its name.
    Operation(String, OfOperation),
}

/// A level of latencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Half of them are at most so long.
    P50,
    /// 99 % are.
    P99,
    /// 99.9 % are.
    P999,
}

/// What is told of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OfOperation {
    /// Good replies per second.
    Throughput,
    /// The p99 of its service times.
    P99,
}

impl Level {
    const ALL: [Self; 3] = [Self::P50, Self::P99, Self::P999];

    fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
        }
    }

    fn quantile(self) -> f64 {
        match self {
            Self::P50 => 0.50,
            Self::P99 => 0.99,
            Self::P999 => 0.999,
        }
    }
}

impl Figure {
    /// Its name: `throughput`, `service p99`, `GET p99`.
    pub fn name(&self) -> String {
        match self {
            Self::Throughput => "throughput".to_owned(),
            Self::Service(level) => format!("service {}", level.name()),
            Self::Response(level) => format!("response {}", level.name()),
            Self::Operation(name, OfOperation::Throughput) => format!("{name} throughput"),
            Self::Operation(name, OfOperation::P99) => format!("{name} p99"),
        }
    }

    /// Which way it is better.
    pub fn better(&self) -> Better {
        match self {
            Self::Throughput | Self::Operation(_, OfOperation::Throughput) => Better::Higher,
            Self::Service(_) | Self::Response(_) | Self::Operation(_, OfOperation::P99) => Better::Lower,
        }
    }

    /// What its values are counted in, as records tell them.
    pub fn unit(&self) -> &'static str {
        match self.better() {
            Better::Higher => "ops/s",
            Better::Lower => "us",
        }
    }

    /// A value as a person reads it.
    pub fn written(&self, value: f64) -> String {
        match self.better() {
            Better::Higher => units::count(value),
            Better::Lower => units::latency((value * 1e3) as u64),
        }
    }

    /// All that `measured` tells, in operations per second and µs; what too little was counted for is missing. One operation
    /// alone is no more than the whole.
    pub(super) fn of(measured: &Interval) -> Vec<(Self, f64)> {
        let us = |ns: u64| ns as f64 / 1e3;
        let mut told = vec![(Self::Throughput, measured.ops_per_s)];
        for level in Level::ALL {
            let service = measured.service.percentile(level.quantile());
            told.extend(service.map(|ns| (Self::Service(level), us(ns))));
            let response = measured.response.as_ref().and_then(|times| times.percentile(level.quantile()));
            told.extend(response.map(|ns| (Self::Response(level), us(ns))));
        }
        if measured.commands.len() < 2 {
            return told;
        }
        for (name, part) in &measured.commands {
            let of = |what| Self::Operation(name.clone(), what);
            told.push((of(OfOperation::Throughput), part.ops as f64 / measured.length_s));
            let p99 = part.service.percentile(Level::P99.quantile());
            told.extend(p99.map(|ns| (of(OfOperation::P99), us(ns))));
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{session::OperationInterval, stats::fixture::repeated};

    #[test]
    fn all_that_was_counted_is_told_by_name() {
        let operation = |ops, ns| OperationInterval { ops, service: repeated(ns, ops), ..Default::default() };
        let mut measured = Interval {
            length_s: 2.0,
            ops_per_s: 1500.0,
            service: repeated(5000, 3000),
            response: Some(repeated(7000, 3000)),
            ..Interval::default()
        };
        measured.commands.insert("GET".to_owned(), operation(2000, 5000));
        let names = |measured: &Interval| -> Vec<_> {
            Figure::of(measured).into_iter().map(|(figure, value)| (figure.name(), value.round())).collect()
        };
        assert_eq!(names(&measured).len(), 5, "one operation is the whole");
        measured.commands.insert("SET".to_owned(), operation(100, 5000));
        let told = names(&measured);
        let told: Vec<_> = told.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let expected = [
            ("throughput", 1500.0),
            ("service p50", 5.0),
            ("response p50", 7.0),
            ("service p99", 5.0),
            ("response p99", 7.0),
            ("GET throughput", 1000.0),
            ("GET p99", 5.0),
            ("SET throughput", 50.0),
        ];
        assert_eq!(told, expected, "3000 are too few for a p99.9, and 100 for a p99");
    }
}
