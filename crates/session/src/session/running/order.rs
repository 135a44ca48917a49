//! The messages between a session and its peers: orders go in, records and notices come out.

use std::{sync::Arc, time::Duration};

use crate::{
    events::EventKind,
    knobs::Knobs,
    server::{Parameter, Progress},
    session::{
        Mark, Record,
        timeline::{Excerpt, Reread},
    },
};

/// An order of a peer.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// Set these knobs, at every node.
    SetKnobs(Knobs),
    /// From now on only the node with this number, from 0, carries the load.
    Carry(u16),
    /// Set these knobs, and run the prefill for their workload again first.
    Prefill(Knobs),
    /// Set a parameter of the server; the user has agreed.
    SetConfig {
        /// The parameter.
        parameter: &'static Parameter,
        /// The new value of the parameter.
        to: String,
    },
    /// Run the intrinsic probe for this long.
    RunIntrinsic(Duration),
    /// End the run of the intrinsic probe early.
    StopIntrinsic,
    /// Switch the gentle intrinsic probe on or off.
    GentleIntrinsic(bool),
    /// The answer to [`Notice::FirstWrite`] or [`Notice::Danger`].
    AllowWrites(bool),
    /// Add a mark on the time axis.
    Mark(Mark),
    /// Add an event of an experiment to the time axis.
    Event(EventKind),
    /// Record to a new file from now on; [`Notice::Recording`] reports its progress.
    StartRecording,
    /// End the recording.
    StopRecording,
    /// Play a recording; [`Notice::Played`] reports its progress.
    Play {
        /// The first moment to play, in seconds of the session.
        from_s: f64,
        /// Seconds of the session per second.
        speed: f64,
    },
    /// Pause playing.
    Pause,
    /// Read a part of a recording again; [`Delivery::Stretch`] has the result. Of several such orders the last one is
    /// carried out.
    Refine(Reread),
    /// End the session.
    End,
}

/// A delivery of a session.
#[derive(Debug, Clone)]
pub enum Delivery {
    /// A record of the session.
    Record(Arc<Record>),
    /// A notice that is in no record, and its node, from 0; notices of the session itself have the first node.
    Notice(u16, Notice),
    /// A stretch of a recording that was read again.
    Stretch(Arc<Excerpt>),
    /// An order of this peer that was refused, and why, as a message.
    Refused(Order, String),
}

impl From<Arc<Record>> for Delivery {
    fn from(record: Arc<Record>) -> Self {
        Self::Record(record)
    }
}

/// A notice of a session to its peers.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// The load waits until the user allows writing to this server: the other data there, and what will be written.
    /// Answered by [`Order::AllowWrites`].
    FirstWrite(String),
    /// The requested knobs may do harm; the text says what could happen. The previous load continues until they are
    /// allowed, and if they are refused. Answered by [`Order::AllowWrites`].
    Danger(String),
    /// The requested load is impossible, for this reason.
    LoadStaysOff(String),
    /// The load was switched off, for this reason.
    LoadStopped(String),
    /// The target cannot be reached; the session keeps trying.
    Unreachable {
        /// The start of the outage, in seconds of the session.
        since_s: f64,
        /// The cause of the outage.
        cause: String,
    },
    /// The target answers.
    Reachable,
    /// Other information.
    Info(String),
    /// A problem: cause, meaning, next step.
    Warning(String),
    /// This share of a recording has been read, 0 to 1.
    Read(f64),
    /// A recording has played to this moment, in seconds of the session.
    Played(f64),
    /// The state of the recording; `None` when it has ended.
    Recording(Option<RecordingState>),
    /// No more records will come, but the screen stays open: this is the end of a recording.
    Ended,
    /// The session ends, and the screen with it: its time is over, or it was asked to end. Its last records, and
    /// notices about undoing, are still to come.
    Leave,
    /// Keys are being removed.
    Cleaning(Progress),
    /// The outcome of undoing something, as a whole line.
    Undone(String),
}

/// A recording in progress.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordingState {
    /// The path of the file.
    pub file: String,
    /// The start of the recording, in seconds of the session.
    pub since_s: f64,
    /// Bytes written so far.
    pub bytes: u64,
}
