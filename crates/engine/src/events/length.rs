//! Finds out how long the activity behind an event took, and which events are the beginning and the end of the same
//! activity.

use super::EventKind::{self, *};

impl EventKind {
    /// Returns the length in seconds of the activity that ended with the event. Returns `None` if the event has no
    /// length, or if the activity continues. Forks and slow commands have no length here, because they are shorter than
    /// the interval between two polls.
    pub fn length_s(&self) -> Option<f64> {
        match self {
            SnapshotEnded { length_s, .. } | RewriteEnded { length_s, .. } | Stalled { length_s, .. } => {
                *length_s
            }
            EvictionEnded { length_s, .. }
            | RejectionEnded { length_s, .. }
            | BlockingEnded { length_s, .. }
            | ExpiryEnded { length_s, .. }
            | LoadingEnded { length_s }
            | Paused { length_s }
            | NotRecorded { length_s }
            | AgentPaused { length_s, .. } => Some(*length_s),
            Shifted { shift } => shift.length_s,
            Failover { length_s, .. } if *length_s > 0.0 => Some(*length_s),
            _ => None,
        }
    }

    /// Returns whether the event is the beginning of an activity that still continues.
    pub fn opens(&self) -> bool {
        match self {
            crate::any_of!(EventKind SnapshotBegan RewriteBegan EvictionBegan RejectionBegan BlockingBegan
                ExpiryBegan LoadingBegan) => true,
            Stalled { length_s, .. } => length_s.is_none(),
            Shifted { shift } => shift.length_s.is_none(),
            _ => false,
        }
    }

    /// Returns whether this event and `other` are about the same activity. Of two events about the same activity, the
    /// later event ends the earlier event.
    pub fn continues(&self, other: &Self) -> bool {
        match (self, other) {
            (Shifted { shift }, Shifted { shift: other }) => shift.figure == other.figure,
            _ => self.name() == other.name(),
        }
    }

    /// Returns the subject of an event that reports a state of this subject. Examples of such events are `unreachable`
    /// and `reachable`. The order of such events is the history of the subject. Returns `None` for other events.
    pub fn state_of(&self) -> Option<&'static str> {
        Some(match self {
            crate::any_of!(EventKind Unreachable Reachable InfoRefused Restarted) => "server",
            crate::any_of!(EventKind ConnectionsLost ConnectionsBack LoadStopped) => "load",
            crate::any_of!(EventKind PingLost PingBack PingError) => "ping",
            crate::any_of!(EventKind AgentJoined AgentLost AgentBack AgentPaused) => "agents",
            crate::any_of!(EventKind BusLost BusBack) => "bus",
            crate::any_of!(EventKind NodeJoined NodeLeft NodeBack) => "nodes",
            crate::any_of!(EventKind RoleChanged FailoverTurned Failover) => "role",
            _ => return None,
        })
    }

    /// Returns whether the time of the event is the beginning of its activity. For all other events with a length, the
    /// time is the end of the activity.
    pub fn is_dated_by_its_beginning(&self) -> bool {
        matches!(self, Stalled { .. })
    }
}
