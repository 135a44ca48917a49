//! The load settings that a workload suggests. A suggestion applies only if the user does not set the option.

use serde::{Deserialize, Serialize};

use super::quantity::some_quantity;

/// The load settings that a workload suggests. A setting that is `None` has its usual default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Suggested {
    /// The number of connections.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// The number of requests in flight on each connection.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<u32>,
    /// The rate in requests per second.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
    /// The number of keys in a set that does not define its own number of keys.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub keys: Option<u64>,
    /// The size in bytes of a value that does not define its own size.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub data_size: Option<u32>,
    /// The duration of the load in seconds.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub duration: Option<u32>,
    /// The total number of requests.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// The number of worker threads.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
}

impl Suggested {
    /// Returns whether the workload suggests nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns these settings, with the values of `other` for missing settings.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        // A duration and a number of requests both end a load, so both are taken from `self` or both from
        // `other`.
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
