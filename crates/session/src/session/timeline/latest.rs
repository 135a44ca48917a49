//! A copy of the latest figures and tables, for a screen that the user has frozen.
//!
//! ```text
//!   history  ├─ cells: of every moment ────────────────┼───────────► goes on
//!   held     ├─ segments, ping windows, last figures ──┤ t_s
//! ```
//! The history has approximate values for every moment. Exact values exist only for the latest moment, so a frozen
//! screen keeps a copy of the exact values. The copy is small, because the copy and the timeline share the memory of
//! all segments that have not changed.

use super::{CommandCell, ErrorLog, IntrinsicRun, Measure, PingCell, PingWindows, Segments, Timeline};
use crate::{
    host::HostSample,
    probe::TcpRtt,
    server::Status,
    session::{Moment, watches::UsualLevels},
    stats::Latency,
};

/// A copy of the exact values of a timeline's latest moment.
#[derive(Debug, Clone)]
pub struct LatestValues {
    /// The moment of the copy, in seconds of the session.
    pub t_s: f64,
    /// The segments at the moment of the copy.
    pub segments: Segments,
    pub(super) pings: PingWindows,
    /// The counts of the pings in the last second, and in the last 60 s.
    pub(super) recent_pings: (PingCell, PingCell),
    pub(super) commands_minute: CommandCell,
    pub(super) ping_tcp: Option<TcpRtt>,
    pub(super) intrinsic_run: Option<IntrinsicRun>,
    /// The errors up to the moment of the copy, by kind.
    pub errors: ErrorLog,
    pub(super) status: Option<Moment<Status>>,
    pub(super) host: Option<Moment<HostSample>>,
    pub(super) standings: UsualLevels,
    pub(super) ops_per_s: Option<f64>,
    pub(super) ops_per_s_minute: Option<f64>,
    /// The latencies of each measurement in the last second, and in the last 60 s.
    pub(super) windows: [(Latency, Latency); Measure::ALL.len()],
}

impl Timeline {
    /// Returns a copy of the exact values of the latest moment.
    pub fn freeze(&self) -> LatestValues {
        LatestValues {
            t_s: self.now_s,
            segments: self.segments.clone(),
            pings: self.pings.clone(),
            recent_pings: (self.latest().pings_now(), self.latest().pings_minute()),
            commands_minute: self.latest().commands_minute(),
            ping_tcp: self.ping_tcp,
            intrinsic_run: self.intrinsic_run.clone(),
            errors: self.errors.clone(),
            status: self.status.clone(),
            host: self.host.clone(),
            standings: self.watches.standings(),
            ops_per_s: self.ops_per_s(),
            ops_per_s_minute: self.ops_per_s_minute(),
            windows: Measure::ALL.map(|measure| {
                let lane = self.lane(measure);
                (lane.now().clone(), lane.minute().clone())
            }),
        }
    }
}
