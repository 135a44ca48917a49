//! The state of the screen: its content, its requests to the session, and the effects of keys. This code uses no
//! ratatui, no I/O and no clock.
//!
//! ```text
//!   Source ──records, notices──► Msg ─► update(Model) ─► Effect ──► Source
//!   keys   ────────────────────►           │
//!                                          └─► Model ─► tui draws it
//! ```
//! A live session and a replayed file are both a [`Source`], and the screens treat both in the same way.

mod axis;
mod charts;
mod command_line;
mod config_panel;
mod curve_view;
mod experiment;
mod finding_view;
mod key_view;
mod keys;
mod landmark;
mod list;
mod lists;
mod log_view;
mod mode;
mod model;
mod moment;
mod node_table;
mod nodes;
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
mod tour;
mod track;
mod update;
mod view;
mod zoom;

pub use self::axis::{Spread, TimeAxis, ValueAxis};
pub use self::charts::Charts;
pub use self::command_line::quoted;
pub use self::curve_view::Bounds;
pub use self::keys::{
    Action, Binding, Context, Key, KeyCode, Landmark, Pane, Pattern, Screen, action, bindings, footer,
};
pub use self::mode::{Entry, Mode, Purpose, Question, Typing};
pub use self::model::{Course, LoadState, Message, Model, Program, Tone, Tour};
pub use self::moment::{Lookback, View, Zoom};
pub use self::node_table::{NODE_COLUMNS, NODE_GAUGES, NodeColumn, NodeRow, NodeTable};
pub use self::occurrence::{Kind, Occurrence, turned};
pub use self::outgoing::{Destination, Form, Outgoing, Picture, Written};
pub use self::palette::{Command, Offer};
pub use self::panel::{ConfigPanel, Panel, Setting};
pub use self::playback::Playback;
pub use self::source::{Effect, Source};
pub use self::subject::Subject;
pub use self::tables::{COLUMNS, LogKind, LogLine, LogView, SegmentTable};
pub use self::track::{Reachability, Track};
pub use self::update::{Gesture, Mouse, Msg, Spot, update};
pub use crate::{
    knobs::{Direction, Knob, PRESETS, Preset, TurnError},
    server::value_words,
    session::{Delivery, Notice, Order, RecordingState},
};
