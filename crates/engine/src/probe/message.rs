//! Messages of probes to their owner.

use super::{Intrinsic, Ping, Report, Wake};

/// One message of a probe.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// The ping probe's results of a tick.
    Ping(Box<Report<Ping>>),
    /// The wake probe's results of a tick.
    Wake(Report<Wake>),
    /// The intrinsic probe's results of a tick. Reports are sent only while the probe runs.
    Intrinsic(Report<Intrinsic>),
    /// The server answered a PING with an error: the first of its kind for this probe. The reports contain the
    /// number of errors.
    ErrorReply {
        /// When the error arrived, in ns.
        at_ns: u64,
        /// The error's prefix, `NOAUTH`, under which [`Ping::errors`] counts it.
        kind: String,
        /// The whole line, `NOAUTH Authentication required.`
        text: String,
    },
    /// The ping probe lost its connection, or failed to open one. Sent again if the cause changes before it
    /// reconnects.
    Lost {
        /// When the connection was lost, in ns.
        at_ns: u64,
        /// The kind under which PINGs that come due meanwhile are counted.
        kind: String,
        /// The cause, in words.
        cause: String,
    },
    /// The ping probe has a connection again.
    Back {
        /// When the connection was open again, in ns.
        at_ns: u64,
    },
}
