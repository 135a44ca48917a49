//! What a probe of failovers watches.

use std::sync::Arc;

use crate::endpoint::{Cluster, Lulls, Target};

/// The settings of the probe.
#[derive(Debug, Clone)]
pub struct FailoverPlan {
    /// The server that the user named.
    pub target: Target,
    /// Its cluster; `None` watches the server itself, whose name may get another address.
    pub cluster: Option<Arc<Cluster>>,
    /// The lulls of the nodes.
    pub lulls: Lulls,
    /// The setbacks of the load, by node.
    pub setbacks: Lulls,
}
