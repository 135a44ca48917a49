//! What passes between a session and its peers: orders go in, records and notices come out.

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

/// What a peer wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// Put these settings in force, at every node.
    SetKnobs(Knobs),
    /// Let the node with this number, from 0, alone carry the load from now on.
    Carry(u16),
    /// The same, and make the keys anew that their workload reads, before the load goes on.
    Prefill(Knobs),
    /// Set a parameter of the server; a person has said yes to that.
    SetConfig {
        /// Which.
        parameter: &'static Parameter,
        /// Its new value.
        to: String,
    },
    /// Run the intrinsic probe for this long.
    RunIntrinsic(Duration),
    /// End that run early.
    StopIntrinsic,
    /// Turn the gentle intrinsic probe on or off.
    GentleIntrinsic(bool),
    /// The answer to [`Notice::FirstWrite`] or [`Notice::Danger`].
    AllowWrites(bool),
    /// Put a note on the time axis.
    Mark(Mark),
    /// Put on the time axis what an experiment tells.
    Event(EventKind),
    /// Record to a new file from now on; [`Notice::Recording`] tells how it goes.
    StartRecording,
    /// End the recording.
    StopRecording,
    /// Let time run in a recording; [`Notice::Played`] tells how far it is.
    Play {
        /// The moment to begin at, in seconds of the session.
        from_s: f64,
        /// Seconds of the session per second.
        speed: f64,
    },
    /// Let it stand still.
    Pause,
    /// Read a stretch of a recording again; [`Delivery::Stretch`] brings it. Of several the last is carried out.
    Refine(Reread),
    /// End the session.
    End,
}

/// One thing that a session hands over.
#[derive(Debug, Clone)]
pub enum Delivery {
    /// A record of the session.
    Record(Arc<Record>),
    /// Something that is in no record, and the node that it is of, from 0; what is of the session is of the first.
    Notice(u16, Notice),
    /// A stretch of a recording that was read again.
    Stretch(Arc<Excerpt>),
    /// An order of this peer's that is not carried out, and why, for a person.
    Refused(Order, String),
}

impl From<Arc<Record>> for Delivery {
    fn from(record: Arc<Record>) -> Self {
        Self::Record(record)
    }
}

/// Something a session tells its peers.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// The load is held back until a person allows writing to this server: what is there that would stand beside our
    /// keys, and what will be written. Answered by [`Order::AllowWrites`].
    FirstWrite(String),
    /// Knobs that were wanted may do harm: what could happen. The load before them goes on until they are allowed, or when they
    /// are not. Answered by [`Order::AllowWrites`].
    Danger(String),
    /// The load that was wanted cannot be, for this reason.
    LoadStaysOff(String),
    /// The load that ran was turned off, for this reason.
    LoadStopped(String),
    /// The target cannot be reached; the session keeps trying.
    Unreachable {
        /// Since when, in seconds of the session.
        since_s: f64,
        /// Why, in words.
        cause: String,
    },
    /// The target answers.
    Reachable,
    /// Anything else worth a line.
    Info(String),
    /// Something that went wrong: cause, meaning, next step.
    Warning(String),
    /// So much of a recording has been read, 0 to 1.
    Read(f64),
    /// A recording has played to this moment, in seconds of the session.
    Played(f64),
    /// How the recording goes; `None` when there is none any more.
    Recording(Option<RecordingState>),
    /// No more records will come, and the person may look on: a recording ends here.
    Ended,
    /// The session ends, and a screen with it: its time is over, or it was told to. Its last records are still to come, and
    /// what is undone.
    Leave,
    /// Keys are being removed.
    Cleaning(Progress),
    /// What became of something that was to be undone, as a whole line.
    Undone(String),
}

/// A recording that is under way.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordingState {
    /// Where it is written.
    pub file: String,
    /// Since when, in seconds of the session.
    pub since_s: f64,
    /// Bytes written so far.
    pub bytes: u64,
}
