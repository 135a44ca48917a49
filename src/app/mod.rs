//! The screen's state: what is shown, what was asked for, what a key means. Pure: no ratatui, no I/O, no clock.
//!
//! ```text
//!   Source ──records, notices──► Msg ─► update(Model) ─► Effect ──► Source
//!   keys   ────────────────────►           │
//!                                          └─► Model ─► tui draws it
//! ```
//! A live engine and a replayed file are both a [`Source`], so no screen can tell them apart.

mod axis;
mod charts;
mod command_line;
mod config_panel;
mod curve_view;
mod entry;
mod experiment;
mod keys;
mod landmark;
mod list;
mod lists;
mod log_view;
mod mode;
mod model;
mod moment;
mod occurrence;
mod outgoing;
mod palette;
mod panel;
mod playback;
mod proposal;
mod recording;
mod segment_table;
mod sharing;
mod source;
mod subject;
mod tables;
mod throughput_axis;
mod track;
mod update;
mod value_axis;
mod view;
mod zoom;

pub use axis::TimeAxis;
pub use charts::Charts;
pub use command_line::quoted;
pub use curve_view::Bounds;
pub use entry::Entry;
pub use keys::{
    Action, Binding, Context, Key, KeyCode, Landmark, Pane, Pattern, Screen, action, bindings, footer,
};
pub use mode::{Mode, Purpose, Question, Typing};
pub use model::{Course, LoadState, Message, Model, Program, Tone};
pub use moment::{Lookback, View, Zoom};
pub use occurrence::{Kind, Occurrence, turned};
pub use outgoing::{Destination, Form, Outgoing, Picture, Written};
pub use palette::{Command, Offer};
pub use panel::{ConfigPanel, Panel, Setting};
pub use playback::Playback;
pub use source::{Effect, Source};
pub use subject::Subject;
pub use tables::{COLUMNS, LogKind, LogLine, LogView, SegmentTable};

pub use crate::{
    knobs::{Direction, Knob, PRESETS, Preset, TurnError},
    server::value_words,
    session::{Delivery, Notice, Order, RecordingState},
};
pub use track::{Reachability, Track};
pub use update::{Gesture, Mouse, Msg, Spot, update};
pub use value_axis::{Spread, ValueAxis};
