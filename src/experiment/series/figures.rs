//! The figures of a cell, measured or published: one form for both, so that they stand in one table.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Figures of a cell, or of one of its operations. What is not known is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all(deserialize = "kebab-case"))]
pub struct Figures {
    /// Operations per second, or what is counted in their place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ops_per_s: Option<f64>,
    /// Mean latency in µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_us: Option<f64>,
    /// 99 % of the latencies are at most so long, in µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
    /// Percent of the requests that took no longer than each of the table's limits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<f64>,
}

/// The figures of a cell in all, and those of its operations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OfOperations {
    /// In all.
    pub all: Figures,
    /// By operation.
    pub operations: BTreeMap<String, Figures>,
}
