//! The messages between a session and its peers: orders go in, records and notices come out.

use std::{sync::Arc, time::Duration};

use crate::{
    events::EventKind,
    knobs::Knobs,
    server::{KeyWay, KeysSeen, Parameter, Progress},
    session::{
        Mark, Record,
        timeline::{Excerpt, Reread},
    },
};

/// An order that a peer sends to the session.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// Apply these load settings at every node.
    SetKnobs(Knobs),
    /// Run the load only at the node with this number, from 0.
    Carry(u16),
    /// Run the prefill for the workload of these load settings again, and then apply them.
    Prefill(Knobs),
    /// Set a parameter of the server, as the user has agreed.
    SetConfig {
        /// The parameter to set.
        parameter: &'static Parameter,
        /// The new value of the parameter.
        to: String,
    },
    /// Look at the keys of a node; [`Notice::Keys`] reports the results.
    LookAtKeys {
        /// The number of the node, from 0.
        node: usize,
        /// How to look.
        way: KeyWay,
    },
    /// End the look at the keys early.
    StopKeys,
    /// Run the intrinsic probe for this long.
    RunIntrinsic(Duration),
    /// End the run of the intrinsic probe early.
    StopIntrinsic,
    /// Switch the gentle intrinsic probe on or off.
    GentleIntrinsic(bool),
    /// Answer [`Notice::FirstWrite`] or [`Notice::Danger`]: allow or refuse.
    AllowWrites(bool),
    /// Record a user's note.
    Mark(Mark),
    /// Record an event of an experiment.
    Event(EventKind),
    /// Start a recording in a new file; [`Notice::Recording`] reports its progress.
    StartRecording,
    /// End the recording.
    StopRecording,
    /// Play a recording; [`Notice::Played`] reports its progress.
    Play {
        /// The first moment to play, in seconds of the session.
        from_s: f64,
        /// The speed: how many seconds of the session to play per second.
        speed: f64,
    },
    /// Pause playing.
    Pause,
    /// Read a part of a recording again; [`Delivery::Stretch`] contains the result. If several such orders wait, only
    /// the last one is carried out.
    Refine(Reread),
    /// End the session.
    End,
}

/// A message from a session to a peer.
#[derive(Debug, Clone)]
pub enum Delivery {
    /// A record of the session.
    Record(Arc<Record>),
    /// The number of a node, from 0, and a notice about it that is in no record. Notices about the whole session have
    /// node 0.
    Notice(u16, Notice),
    /// A part of a recording that was read again.
    Stretch(Arc<Excerpt>),
    /// An order of this peer that was refused, and the reason as a message.
    Refused(Order, String),
}

impl From<Arc<Record>> for Delivery {
    fn from(record: Arc<Record>) -> Self {
        Self::Record(record)
    }
}

/// A notice from a session to its peers.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// The load waits until the user allows writing to this server; the text describes the other data there and what
    /// will be written. [`Order::AllowWrites`] is the answer.
    FirstWrite(String),
    /// The requested load settings may do harm, which the text describes. The previous load continues unless the user
    /// allows them. [`Order::AllowWrites`] is the answer.
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
    /// The target answers again.
    Reachable,
    /// Other information.
    Info(String),
    /// A problem: its cause, its meaning and what to do.
    Warning(String),
    /// The share of a recording that has been read so far, 0 to 1.
    Read(f64),
    /// The moment up to which a recording has been played, in seconds of the session.
    Played(f64),
    /// The results of a look at keys so far. They are in no record, because they contain names of keys.
    Keys(Box<KeysSeen>),
    /// The state of the running recording; `None` when it has ended.
    Recording(Option<RecordingState>),
    /// The replayed recording has ended: no more records will come, but the screen stays open.
    Ended,
    /// The session ends, and the screen closes: the time of the session is over, or the session was asked to end. The
    /// last records, and notices about undone changes, still follow.
    Leave,
    /// Keys are being removed.
    Cleaning(Progress),
    /// The result of undoing a change on the server, as a whole line.
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
