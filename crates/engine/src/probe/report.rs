//! The reports of probes: one at the end of every tick.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::stats::Latency;

/// The report of one probe over one stretch of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Report<T> {
    /// When the stretch began, in ns.
    pub start_ns: u64,
    /// When the stretch ended, in ns.
    pub end_ns: u64,
    /// The measurements of the stretch.
    pub body: T,
}

/// The ping probe's results: PINGs sent on a schedule on their own connection.
///
/// If the kernel timestamps the connection, each round trip has three parts that add up to it: `send`, `kernel` and
/// `pickup`. A round trip in `rtt` is then either in all three parts or, once, in `left_out`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ping {
    /// From the due time of each PING to the last byte of its PONG. Only good replies are included.
    pub rtt: Latency,
    /// Whether the kernel timestamped the connection, or why not; `None` before the first connection.
    pub timing: Option<Timing>,
    /// From the due time of each PING until it left the host: the client's delay in sending. `None` without
    /// timestamps.
    pub send: Option<Latency>,
    /// From the departure of each PING until its reply was in the local kernel: network and server, independent of
    /// the local scheduler. `None` without timestamps.
    pub kernel: Option<Latency>,
    /// How long each reply then waited in the kernel until the ping thread's wait returned: the client's delay in
    /// reading. The wake probe measures something else: sleeps that a timer ends. `None` without timestamps.
    pub pickup: Option<Latency>,
    /// Round trips with unknown parts, by kind: `shared read` (bytes after the reply were read with it), `no
    /// stamp`, `doubt` (the ping thread was interrupted between two clock readings), `clock step` (the wall clock
    /// was set meanwhile), `order` (the timestamps contradict each other, or the reply arrived after the wake-up).
    pub left_out: BTreeMap<String, u64>,
    /// The kernel's own round trip of the connection at the end of the stretch; `None` for a unix socket, on
    /// systems other than Linux and without a connection.
    pub tcp: Option<TcpRtt>,
    /// Failed PINGs by kind: a server error's prefix, `timeout`, `refused`, `reset`, `unreachable`, `protocol`, or
    /// `missed` if redyno itself did not run.
    pub errors: BTreeMap<String, u64>,
    /// How long the oldest unanswered PING had waited at the end of the stretch, in µs, 0 if there was none: a
    /// stall shows here while it lasts, and as samples when it is over.
    pub waiting_us: u64,
    /// How long each unanswered PING had waited at the end of the stretch: lower bounds, not included in any `rtt`.
    #[serde(default, skip_serializing_if = "Latency::is_empty")]
    pub unanswered: Latency,
}

/// Whether the kernel timestamps the ping connection, or why it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timing {
    /// The kernel timestamps the connection.
    #[serde(rename = "kernel")]
    Kernel,
    /// Unix sockets have no timestamps.
    #[serde(rename = "unix socket")]
    UnixSocket,
    /// Under TLS a timestamp belongs to a TLS record and not to a PING.
    #[serde(rename = "TLS")]
    Tls,
    /// This system has no timestamps.
    #[serde(rename = "not Linux")]
    NotLinux,
    /// The system has refused SO_TIMESTAMPING, as some sandboxes do.
    #[serde(rename = "refused by the system")]
    Refused,
}

impl Timing {
    /// Returns why there are no timestamps, in a word or two; `None` if there are.
    pub fn obstacle(self) -> Option<&'static str> {
        match self {
            Self::Kernel => None,
            Self::UnixSocket => Some("unix socket"),
            Self::Tls => Some("TLS"),
            Self::NotLinux => Some("not Linux"),
            Self::Refused => Some("refused by the system"),
        }
    }
}

/// The round trip of a TCP connection as measured by its kernel (TCP_INFO): from a segment to its acknowledgement,
/// which may come with the server's reply and then includes the server's time too. The minimum is the network's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpRtt {
    /// The smoothed round trip, in microseconds.
    pub rtt_us: u32,
    /// The smoothed deviation of the round trip, in microseconds.
    pub rtt_var_us: u32,
    /// The shortest round trip of the last minutes, in microseconds; `None` before Linux 4.6.
    pub rtt_min_us: Option<u32>,
}

/// The wake probe's results: how late a thread that sleeps for 4 ms wakes up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Wake {
    /// Time between the planned end of a sleep and its actual end.
    pub late: Latency,
}

/// The intrinsic probe's results: the gaps in a busy loop that the host and its kernel caused.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Intrinsic {
    /// Whether this is the gentle form, which samples a tenth of the time and stays on.
    pub gentle: bool,
    /// Time spent in the loop in this stretch, in nanoseconds.
    pub busy_ns: u64,
    /// The number of turns of the loop.
    pub runs: u64,
    /// The duration of each turn; the longest is the figure that redis-cli prints.
    pub gaps: Latency,
    /// Remaining seconds of a run on demand; `None` in the gentle form.
    pub remaining_s: Option<f64>,
}
