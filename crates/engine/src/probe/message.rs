//! The messages that a probe sends to its session, such as its regular report.

use std::sync::Arc;

use super::{Intrinsic, Ping, ProbeReport, Wake};
use crate::{events::EventKind, host::HostSample, workload::Workload};

/// One message of a probe.
#[derive(Debug, Clone, PartialEq)]
pub enum ProbeMessage {
    /// The ping probe's results of a tick (the interval between two reports).
    Ping(Box<ProbeReport<Ping>>),
    /// The wake probe's results of a tick.
    Wake(ProbeReport<Wake>),
    /// The intrinsic probe's results of a tick. Reports are sent only while the probe runs.
    Intrinsic(ProbeReport<Intrinsic>),
    /// A sample of this machine, and of a server that runs on it.
    Host {
        /// The time when the sample was taken, in ns.
        at_ns: u64,
        /// The number of the server in the session.
        server: usize,
        /// The sample.
        sample: Box<HostSample>,
    },
    /// The replication lag of a replica: the time until the replica showed the probe's last write to the
    /// primary.
    Lag {
        /// The number of the replica in the session.
        node: usize,
        /// The time until the replica showed the write, in ns. If the replica does not show the write yet, this is the
        /// time so far.
        lag_ns: u64,
    },
    /// The recall of a search for nearest vectors.
    Recall {
        /// The share of the exact neighbours that the server found, 0 to 1.
        recall: f64,
        /// The workload of the search, and the number of its keys.
        of: (Arc<Workload>, u64),
    },
    /// An event of a node of the session.
    Event {
        /// The time of the event, in ns.
        at_ns: u64,
        /// The number of the node.
        node: usize,
        /// The event.
        what: EventKind,
    },
    /// The server answered a PING with an error of a new kind. Only the first error of each kind is sent. The reports
    /// of the probe contain the number of all errors.
    ErrorReply {
        /// The time when the error arrived, in ns.
        at_ns: u64,
        /// The error's prefix, such as `NOAUTH`. [`Ping::errors`] counts the error under this name.
        kind: String,
        /// The whole line of the error, such as `NOAUTH Authentication required.`
        text: String,
    },
    /// The ping probe lost its connection, or failed to open a connection. The message is sent again if the cause
    /// changes before the probe has a connection again.
    Lost {
        /// The time when the connection was lost, in ns.
        at_ns: u64,
        /// The kind of error that is counted for each PING without a connection.
        kind: String,
        /// The cause, in words.
        cause: String,
    },
    /// The ping probe has a connection again.
    Back {
        /// The time when the connection was open again, in ns.
        at_ns: u64,
    },
}
