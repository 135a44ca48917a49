//! What stands still while a view is frozen: the figures and tables as they stood at the last moment that it shows.
//!
//! ```text
//!   history  ├─ cells: of every moment ────────────────┼───────────► goes on
//!   held     ├─ segments, ping windows, last figures ──┤ t_s
//! ```
//! The history shows how it was at any moment, and about. What is summed up as it comes is known of the latest moment
//! only, and exactly: of that this keeps a copy. It is small: segments share their memory with the timeline's until
//! those change.

use super::{CommandCell, ErrorLog, IntrinsicRun, Measure, PingCell, PingWindows, Segments, Timeline};
use crate::{probe::TcpRtt, server::Status, session::Moment, stats::Latency};

/// The latest moment of a timeline, kept.
#[derive(Debug, Clone)]
pub struct Latest {
    pub(super) t_s: f64,
    pub(super) segments: Segments,
    pub(super) pings: PingWindows,
    /// Those of the last second and of the last 60 s.
    pub(super) recent_pings: (PingCell, PingCell),
    pub(super) commands_minute: CommandCell,
    pub(super) ping_tcp: Option<TcpRtt>,
    pub(super) intrinsic_run: Option<IntrinsicRun>,
    pub(super) errors: ErrorLog,
    pub(super) status: Option<Moment<Status>>,
    pub(super) ops_per_s: Option<f64>,
    pub(super) ops_per_s_minute: Option<f64>,
    /// The last second and the last 60 s of each measurement.
    pub(super) windows: [(Latency, Latency); Measure::ALL.len()],
}

impl Latest {
    /// The moment, in seconds since the session began.
    pub fn t_s(&self) -> f64 {
        self.t_s
    }

    /// The segments as they were.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// The errors so far, by kind.
    pub fn errors(&self) -> &ErrorLog {
        &self.errors
    }
}

impl Timeline {
    /// Keeps the latest moment.
    pub fn hold(&self) -> Latest {
        Latest {
            t_s: self.now_s,
            segments: self.segments.clone(),
            pings: self.pings.clone(),
            recent_pings: (self.latest().pings_now(), self.latest().pings_minute()),
            commands_minute: self.latest().commands_minute(),
            ping_tcp: self.ping_tcp,
            intrinsic_run: self.intrinsic_run.clone(),
            errors: self.errors.clone(),
            status: self.status.clone(),
            ops_per_s: self.ops_per_s(),
            ops_per_s_minute: self.ops_per_s_minute(),
            windows: Measure::ALL.map(|measure| {
                let lane = self.lane(measure);
                (lane.now().clone(), lane.minute().clone())
            }),
        }
    }
}
