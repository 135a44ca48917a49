//! The reports of probes. A probe reports at the end of every tick, usually every 250 ms.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::stats::Latency;

/// The report of one probe over one interval.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeReport<T> {
    /// The time when the interval began, in ns.
    pub start_ns: u64,
    /// The time when the interval ended, in ns.
    pub end_ns: u64,
    /// The measurements of the interval.
    pub body: T,
}

/// The results of the ping probe. The probe sends PINGs on a schedule, on its own connection.
///
/// If the kernel takes timestamps for the connection, each round trip is the sum of three parts: `send`, `kernel` and
/// `pickup`. If the parts of a round trip are unknown, the round trip is counted in `left_out`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ping {
    /// The round trips. A round trip is the time from the due time of a PING to the last byte of its PONG. Only good
    /// replies are included.
    pub rtt: Latency,
    /// Whether the kernel took timestamps for the connection, and if not, why. The field is `None` before the
    /// first connection.
    pub timing: Option<Timing>,
    /// The client's delay in sending: the time from the due time of each PING until it left the host. `None` without
    /// timestamps.
    pub send: Option<Latency>,
    /// The time of network and server: the time from the departure of each PING until its reply was in the local
    /// kernel. This time does not depend on the local scheduler. `None` without timestamps.
    pub kernel: Option<Latency>,
    /// The client's delay in reading: how long each reply waited in the local kernel until the ping thread's wait
    /// returned. The wake probe measures a different delay: how late a timer ends a sleep. `None` without timestamps.
    pub pickup: Option<Latency>,
    /// The number of round trips with unknown parts, for each reason. `shared read`: bytes after the reply were read
    /// together with the reply. `no stamp`: there is no timestamp. `doubt`: the ping thread was interrupted between two
    /// clock readings. `clock step`: the wall clock was set meanwhile. `order`: the timestamps contradict each other,
    /// or the reply arrived after the wake-up.
    pub left_out: BTreeMap<String, u64>,
    /// The round trip of the connection as the kernel measures it, at the end of the interval. `None` for a
    /// unix socket, on systems other than Linux, and without a connection.
    pub tcp: Option<TcpRtt>,
    /// Failed PINGs by kind: a server error's prefix, `timeout`, `refused`, `reset`, `unreachable`, `protocol`, or
    /// `missed`. `missed` means that redyno itself did not run.
    pub errors: BTreeMap<String, u64>,
    /// How long the oldest unanswered PING had waited at the end of the interval, in µs. The value is 0 if all PINGs
    /// were answered. While the server stalls, the stall is visible in this field. After the stall, the stall is
    /// visible in the samples.
    pub waiting_us: u64,
    /// How long each unanswered PING had waited at the end of the interval. The waits will last longer, so `rtt` does
    /// not contain these times.
    #[serde(default, skip_serializing_if = "Latency::is_empty")]
    pub unanswered: Latency,
}

/// Whether the kernel takes timestamps for the ping connection, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timing {
    /// The kernel takes timestamps for the connection.
    #[serde(rename = "kernel")]
    Kernel,
    /// The connection is a unix socket, which has no timestamps.
    #[serde(rename = "unix socket")]
    UnixSocket,
    /// The connection uses TLS. There, a timestamp belongs to a TLS record and not to a PING.
    #[serde(rename = "TLS")]
    Tls,
    /// The operating system has no timestamps, because it is not Linux.
    #[serde(rename = "not Linux")]
    NotLinux,
    /// The system has refused SO_TIMESTAMPING, as some sandboxes do.
    #[serde(rename = "refused by the system")]
    Refused,
}

impl Timing {
    /// Returns the reason why there are no timestamps, in one or two words. Returns `None` if there are timestamps.
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

/// The round trip of a TCP connection as the kernel measures it (TCP_INFO): the time from sending a TCP segment to its
/// acknowledgement. If the acknowledgement comes with the server's reply, the round trip includes the server's time.
/// The shortest round trip usually belongs to an acknowledgement without a reply. The shortest round trip therefore
/// shows the time of the network alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpRtt {
    /// The smoothed round trip, in microseconds.
    pub rtt_us: u32,
    /// The smoothed deviation of the round trip, in microseconds.
    pub rtt_var_us: u32,
    /// The shortest round trip of the last minutes, in microseconds, or `None` before Linux 4.6.
    pub rtt_min_us: Option<u32>,
}

/// The results of the wake probe. The probe's thread sleeps for 10 ms again and again, and measures how late it wakes
/// up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Wake {
    /// The time from the planned end of each sleep to the actual end.
    pub late: Latency,
}

/// The results of the intrinsic probe: the gaps that the host and its kernel caused in a busy loop.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Intrinsic {
    /// Whether the probe runs in its gentle form. The loop then runs for a tenth of the time, and does not end by
    /// itself.
    pub gentle: bool,
    /// The time that the loop ran in this interval, in nanoseconds.
    pub busy_ns: u64,
    /// The number of turns (repetitions) of the loop.
    pub runs: u64,
    /// The duration of each turn. The longest duration is the figure that redis-cli prints.
    pub gaps: Latency,
    /// Remaining seconds of a run on demand, or `None` in the gentle form.
    pub remaining_s: Option<f64>,
}
