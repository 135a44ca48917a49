//! The events with the results of experiments, such as a sweep or a search for the highest rate.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::after;
use crate::units;

/// The result of a search for the highest value of a knob (a setting of the load) that keeps a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchResult {
    /// The knob.
    pub knob: String,
    /// The value of the knob that the search found. The value is the same as `lower`.
    pub value: u64,
    /// Lower bound: the highest tested value of the knob that keeps the limit.
    pub lower: u64,
    /// Upper bound: the lowest tested value that does not keep the limit, or `None` if there is no such
    /// value.
    pub upper: Option<u64>,
    /// The limit, `p99<1ms`.
    pub limit: String,
}

impl fmt::Display for SearchResult {
    /// Writes `p99<1ms is met up to rate 9 410, not at 9 600`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let upper = self.upper.map(|upper| format!("not at {}", units::grouped(upper)));
        let value = units::grouped(self.value);
        write!(f, "{} is met up to {} {value}{}", self.limit, self.knob, after(", ", &upper))
    }
}

/// The measurements of a sweep at one value of its knob (the setting that it varies).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweptStep {
    /// The knob.
    pub knob: String,
    /// The knob's value as a plain number. Sizes are in bytes.
    pub value: u64,
    /// The knob and its value as text, `value size 4.00 KiB`.
    pub setting: String,
    /// How long the value was measured, in seconds.
    pub length_s: f64,
    /// Good replies per second.
    pub ops_per_s: f64,
    /// The p50 of the response time. If the load has no rate, the p50 of the service time. The value is `None` if there
    /// are too few requests.
    pub p50_us: Option<f64>,
    /// The p99 of the same time as in `p50_us`.
    pub p99_us: Option<f64>,
    /// The p99.9 of the same time as in `p50_us`.
    pub p999_us: Option<f64>,
    /// The mean recall of searches for nearest vectors, 0 to 1, or `None` if the recall was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recall: Option<f64>,
    /// The results of the workload's receivers (clients that wait for messages), or `None` without receivers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<Box<SweptReceivers>>,
    /// Whether the figures became steady before the end of the step.
    pub is_steady: bool,
    /// The reason why redyno itself limited the throughput, or `None` without such a limit.
    pub client_limit: Option<String>,
}

/// The results of a workload's receivers in a step of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweptReceivers {
    /// The name of the measured times: `delivery`, `handover` or `invalidation`.
    pub of: String,
    /// The p99 of the times that `of` names. `None` if there are too few messages.
    pub p99_us: Option<f64>,
    /// Lost messages. `None` for invalidations, whose losses are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
}

impl fmt::Display for SweptStep {
    /// Writes `pipeline 16 for 3.0 s: 1.21 M/s, p50 292 µs, p99 780 µs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for {:.1} s: {}", self.setting, self.length_s, units::rate(self.ops_per_s))?;
        for (name, us) in [("p50", self.p50_us), ("p99", self.p99_us), ("p99.9", self.p999_us)] {
            us.map_or(Ok(()), |us| write!(f, ", {name} {}", latency(us)))?;
        }
        self.recall.map_or(Ok(()), |recall| write!(f, ", recall {}", units::percent(recall)))?;
        if let Some(SweptReceivers { of, p99_us, lost }) = self.received.as_deref() {
            p99_us.map_or(Ok(()), |us| write!(f, ", {of} p99 {}", latency(us)))?;
            lost.filter(|lost| *lost > 0).map_or(Ok(()), |lost| write!(f, ", {lost} lost"))?;
        }
        f.write_str(if self.is_steady { "" } else { ", not steady" })?;
        f.write_str(&after(", redyno was the limit: ", &self.client_limit))
    }
}

/// The step with the most throughput in a sweep. If the sweep has a limit, only the steps within the limit
/// are compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepBest {
    /// The knob.
    pub knob: String,
    /// The knob's value as a plain number. Sizes are in bytes.
    pub value: u64,
    /// The knob and its value as text, `value size 4.00 KiB`.
    pub setting: String,
    /// Good replies per second.
    pub ops_per_s: f64,
    /// The p99 of the response time. If the load has no rate, the p99 of the service time. The value is `None` if there
    /// are too few requests.
    pub p99_us: Option<f64>,
    /// The limit, such as `p99<1ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// The number of measured steps.
    pub steps: u32,
    /// The number of planned steps.
    pub of: u32,
    /// The knee by the universal scalability law, or `None` if the steps do not show a knee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<KneeAt>,
}

/// The knee of a sweep by the universal scalability law. Beyond the knee, throughput falls.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KneeAt {
    /// The value of the knob at the knee.
    pub value: f64,
    /// The throughput at the knee, per second.
    pub ops_per_s: f64,
}

impl fmt::Display for SweepBest {
    /// Writes `pipeline 16 has the most throughput: 1.21 M/s, p99 780 µs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let under = after(" within ", &self.limit);
        let p99 = after(", p99 ", &self.p99_us.map(latency));
        write!(f, "{} has the most throughput{under}: {}{p99}", self.setting, units::rate(self.ops_per_s))?;
        if self.steps < self.of { write!(f, ", of {} of {} steps", self.steps, self.of) } else { Ok(()) }
    }
}

fn latency(us: f64) -> String {
    units::latency((us * 1e3) as u64)
}
