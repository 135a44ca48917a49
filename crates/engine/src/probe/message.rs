//! What probes say to whoever started them.

use super::{Intrinsic, Ping, Report, Wake};

/// One message of a probe.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// What the ping probe saw in a tick.
    Ping(Box<Report<Ping>>),
    /// What the wake probe saw in a tick.
    Wake(Report<Wake>),
    /// What the intrinsic probe saw in a tick. It reports while it runs and is silent while it is off.
    Intrinsic(Report<Intrinsic>),
    /// The server answered a PING with an error: the first of its kind that this probe met. How many there
    /// were is in the reports.
    ErrorReply {
        /// When it arrived.
        at_ns: u64,
        /// Its prefix, `NOAUTH`, by which [`Ping::errors`] counts it.
        kind: String,
        /// The whole line, `NOAUTH Authentication required.`
        text: String,
    },
    /// The ping probe lost its connection, or could not get one. Sent again when the cause changes before it
    /// is back.
    Lost {
        /// When.
        at_ns: u64,
        /// By which kind the PINGs are counted that were due meanwhile.
        kind: String,
        /// Why, in words.
        cause: String,
    },
    /// The ping probe has a connection again.
    Back {
        /// Since when.
        at_ns: u64,
    },
}
