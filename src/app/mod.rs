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
mod closer;
mod command_line;
mod config_panel;
mod curve_view;
mod entry;
mod experiment;
mod keys;
mod landmark;
mod latency_view;
mod list;
mod lists;
mod log_view;
mod mode;
mod model;
mod mouse;
mod occurrence;
mod outgoing;
mod palette;
mod pane;
mod panel;
mod playback;
mod proposal;
mod screens;
mod segment_table;
mod sharing;
mod source;
mod subject;
mod throughput_axis;
mod track;
mod update;
mod value_axis;
mod view;
mod zoom;

pub use axis::TimeAxis;
pub use charts::Charts;
pub use command_line::{Program, quoted};
pub use config_panel::{ConfigPanel, Setting};
pub use curve_view::{Bounds, CurveView};
pub use entry::Entry;
pub use keys::{Action, Binding, Context, Key, KeyCode, Pattern, action, bindings, footer};
pub use landmark::Landmark;
pub use latency_view::Stretch;
pub use log_view::{LogKind, LogLine, LogView};
pub use mode::{Mode, Purpose, Question, Typing};
pub use model::{Course, LoadState, Message, Model, Tone};
pub use mouse::{Mouse, Spot};
pub use occurrence::{Kind, Occurrence, turned};
pub use outgoing::{Destination, Form, Outgoing, Written};
pub use palette::{Command, Offer};
pub use pane::Pane;
pub use panel::Panel;
pub use playback::Playback;
pub use screens::Screen;
pub use segment_table::{COLUMNS, SegmentTable};
pub use sharing::Picture;
pub use source::{Effect, Source};
pub use subject::Subject;

pub use crate::{
    knobs::{Direction, Knob, PRESETS, Preset, TurnError},
    server::value_words,
    session::{Delivery, Notice, Order, RecordingState},
};
pub use track::{Reachability, Track};
pub use update::{Msg, update};
pub use value_axis::{Spread, ValueAxis};
pub use view::View;
pub use zoom::Zoom;
