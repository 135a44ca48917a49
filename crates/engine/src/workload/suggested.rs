//! The load settings that a workload suggests. A suggested setting applies unless the user gives the option.

use serde::{Deserialize, Serialize};

use super::quantity::some_quantity;

/// The load settings that a workload suggests. Settings that are absent have their usual default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Suggested {
    /// Connections.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// Requests in flight on each connection.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<u32>,
    /// The rate in requests per second.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
    /// The number of keys in sets without a number of their own.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub keys: Option<u64>,
    /// The size in bytes of values without a size of their own.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub data_size: Option<u32>,
    /// Duration in seconds.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub duration: Option<u32>,
    /// Total number of requests.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Worker threads.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
}

impl Suggested {
    /// Returns whether the workload suggests nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns these settings, with the values of `other` for absent settings.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        // Both are about the length of the load.
        let other_ends = if self.has_end() { (None, None) } else { (other.duration, other.requests) };
        Self {
            clients: self.clients.or(other.clients),
            pipeline: self.pipeline.or(other.pipeline),
            rate: self.rate.or(other.rate),
            keys: self.keys.or(other.keys),
            data_size: self.data_size.or(other.data_size),
            duration: self.duration.or(other_ends.0),
            requests: self.requests.or(other_ends.1),
            threads: self.threads.or(other.threads),
        }
    }

    /// Returns whether the workload suggests when the load ends.
    pub fn has_end(&self) -> bool {
        self.duration.is_some() || self.requests.is_some()
    }
}
