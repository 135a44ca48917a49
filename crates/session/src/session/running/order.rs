//! The messages between a session and its peers (such as the screen): orders go in, records and notices come
//! out.

use std::{sync::Arc, time::Duration};

use crate::{
    events::EventKind,
    knobs::Knobs,
    server::{CleaningProgress, KeyMethod, KeyReport, Parameter},
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
    /// Set a parameter of the server. The user has agreed to this change.
    SetConfig {
        /// The parameter to set.
        parameter: &'static Parameter,
        /// The new value of the parameter.
        to: String,
    },
    /// Scan the keys of a node. [`Notice::Keys`] reports the results.
    ScanKeys {
        /// The number of the node, from 0.
        node: usize,
        /// The kind of scan.
        way: KeyMethod,
    },
    /// Stop the scan of the keys early.
    StopKeys,
    /// Run the intrinsic probe for this long.
    RunIntrinsic(Duration),
    /// End the run of the intrinsic probe early.
    StopIntrinsic,
    /// Switch the gentle form of the intrinsic probe on or off. This form measures for only a tenth of the
    /// time.
    GentleIntrinsic(bool),
    /// Answer [`Notice::FirstWrite`] or [`Notice::Danger`]: allow or refuse.
    AllowWrites(bool),
    /// Record a user's note.
    Mark(Mark),
    /// Record an event of an experiment.
    Event(EventKind),
    /// Start a recording in a new file. [`Notice::Recording`] reports its progress.
    StartRecording,
    /// End the recording.
    StopRecording,
    /// Play a recording. [`Notice::Played`] reports its progress.
    Play {
        /// The first moment to play, in seconds of the session.
        from_s: f64,
        /// The speed: the number of seconds of the session to play per second.
        speed: f64,
    },
    /// Pause playing.
    Pause,
    /// Read a part of a recording again. [`Delivery::Stretch`] contains the result. If several orders of this kind
    /// wait, the session carries out only the last order.
    Refine(Reread),
    /// End the session.
    End,
}

/// A message from a session to a peer.
#[derive(Debug, Clone)]
pub enum Delivery {
    /// A record of the session.
    Record(Arc<Record>),
    /// A notice that no record contains, and the node number of the notice, from 0. Notices about the whole session
    /// have node 0.
    Notice(u16, Notice),
    /// A part of a recording that was read again.
    Stretch(Arc<Excerpt>),
    /// An order of this peer that the session refused, and the reason as a message.
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
    /// The load waits until the user allows writing to the server. The text describes the server's other data and the
    /// planned writes. Answer with [`Order::AllowWrites`].
    FirstWrite(String),
    /// The requested load settings may do harm. The text describes the harm. The previous load continues
    /// until the user allows the new settings. Answer with [`Order::AllowWrites`].
    Danger(String),
    /// The requested load is impossible. The text is the reason.
    LoadStaysOff(String),
    /// The load was switched off. The text is the reason.
    LoadStopped(String),
    /// Other information.
    Info(String),
    /// A problem: its cause, its meaning and what to do.
    Warning(String),
    /// The share of a recording that has been read so far, 0 to 1.
    Read(f64),
    /// A recording has been played up to this moment, in seconds of the session.
    Played(f64),
    /// The results of a key scan so far. Records do not contain these results, because the results include names of
    /// keys.
    Keys(Box<KeyReport>),
    /// The state of the running recording. `None` when the recording has ended.
    Recording(Option<RecordingState>),
    /// The replayed recording has ended. No more records will come, but the screen stays open.
    Ended,
    /// The session ends and the screen closes, because the time of the session is over or the user ended the session.
    /// Peers still receive the last records, and notices about the changes that redyno has undone.
    Leave,
    /// Keys are being removed.
    Cleaning(CleaningProgress),
    /// The result of undoing a change on the server, as a whole line.
    Undone(String),
}

/// The state of a running recording.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordingState {
    /// The path of the file.
    pub file: String,
    /// The start of the recording, in seconds of the session.
    pub since_s: f64,
    /// Bytes written so far.
    pub bytes: u64,
}
