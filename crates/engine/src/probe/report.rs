//! What probes report: one of these at the end of every tick.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::stats::Latency;

/// The report of one probe over one stretch of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Report<T> {
    /// When the stretch began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// What was measured in it.
    pub body: T,
}

/// What the ping probe saw: PINGs sent on a schedule on a connection of its own.
///
/// Where the kernel stamps the connection, each round trip has three parts that add up to it: `send`, `kernel` and
/// `pickup`. A round trip in `rtt` is then in all three of them or, once, in `left_out`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ping {
    /// From when each PING was due to the last byte of its PONG. Only good replies are in it.
    pub rtt: Latency,
    /// Whether the kernel stamped the connection, or why not; `None` before the first connection.
    pub timing: Option<Timing>,
    /// From when each PING was due until it left the host: our own lateness in sending. `None` without stamps.
    pub send: Option<Latency>,
    /// From when each PING left the host until its answer was in our kernel: network and server, whatever this
    /// machine's scheduler does. `None` without stamps.
    pub kernel: Option<Latency>,
    /// How long each answer then lay in the kernel until the ping thread's wait returned: our own lateness in
    /// reading. The wake probe measures another thing, sleeps that end by a timer. `None` without stamps.
    pub pickup: Option<Latency>,
    /// Round trips whose parts are unknown, by kind: `shared read` (bytes after the answer were read with
    /// it), `no stamp`, `doubt` (the ping thread was interrupted between two readings of clocks), `clock step` (the
    /// wall clock was set meanwhile), `order` (the stamps contradict each other, or the answer came after the
    /// wake-up).
    pub left_out: BTreeMap<String, u64>,
    /// The kernel's own round trip of the connection at the end of the stretch; `None` for a unix socket, on
    /// other systems than Linux and without a connection.
    pub tcp: Option<TcpRtt>,
    /// What came instead of a PONG, by kind: a server error's prefix, `timeout`, `refused`, `reset`,
    /// `unreachable`, `protocol`, or `missed` when redyno itself did not run.
    pub errors: BTreeMap<String, u64>,
    /// How long the oldest unanswered PING had been waiting at the end of the stretch, 0 when none was: a stall
    /// shows here while it lasts, and as samples when it is over.
    pub waiting_us: u64,
    /// How long each unanswered PING had been waiting at the end of the stretch: lower bounds, in no `rtt`.
    #[serde(default, skip_serializing_if = "Latency::is_empty")]
    pub unanswered: Latency,
}

/// Whether the kernel stamps the ping connection, or why it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timing {
    /// It does.
    #[serde(rename = "kernel")]
    Kernel,
    /// There are no stamps on unix sockets.
    #[serde(rename = "unix socket")]
    UnixSocket,
    /// Under TLS a stamp belongs to a record of the cipher and not to a PING.
    #[serde(rename = "TLS")]
    Tls,
    /// This system has none.
    #[serde(rename = "not Linux")]
    NotLinux,
    /// The system has turned SO_TIMESTAMPING down, as some sandboxes do.
    #[serde(rename = "refused by the system")]
    Refused,
}

impl Timing {
    /// Why there are no stamps, in a word or two; `None` when there are.
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

/// The round trip of a TCP connection as its kernel knows it (TCP_INFO): from a segment to its acknowledgement,
/// which may ride on the server's reply and then holds the server's time too. The minimum is the network's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpRtt {
    /// Smoothed, in microseconds.
    pub rtt_us: u32,
    /// Its smoothed deviation, in microseconds.
    pub rtt_var_us: u32,
    /// The shortest of the last minutes, in microseconds; `None` before Linux 4.6.
    pub rtt_min_us: Option<u32>,
}

/// What the wake probe saw: how late a thread that sleeps for 4 ms is woken.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Wake {
    /// Time between the moment a sleep should have ended and the moment it did.
    pub late: Latency,
}

/// What the intrinsic probe saw: the gaps in the life of a busy loop, which the host and its kernel caused.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Intrinsic {
    /// Whether this is the gentle form, which samples a tenth of the time and stays on.
    pub gentle: bool,
    /// Time spent in the loop in this stretch, in nanoseconds.
    pub busy_ns: u64,
    /// Turns of the loop.
    pub runs: u64,
    /// How long each turn took; the longest is the figure that redis-cli prints.
    pub gaps: Latency,
    /// Seconds that a run on demand still has to go; `None` in the gentle form.
    pub remaining_s: Option<f64>,
}
