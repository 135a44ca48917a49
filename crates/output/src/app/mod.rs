//! The state of the screen: its content, its orders to the session, and the effects of keys. This code uses no ratatui,
//! no I/O and no clock.
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
mod context;
mod curve_view;
mod experiment;
mod finding_view;
mod jump;
mod key_view;
mod keys;
mod list;
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
mod question;
mod recording;
mod records;
mod segment_table;
mod sharing;
mod source;
mod subject;
mod tables;
mod tour;
mod track;
mod update;
mod view;
mod view_actions;
mod zoom;

pub use self::axis::{AxisScale, TimeAxis, ValueAxis};
pub use self::charts::Charts;
pub use self::context::{Context, Pane, Screen};
pub use self::keys::{Action, Binding, JumpTarget, Key, KeyCode, KeyPattern, action, bindings, footer};
pub use self::list::SortedTable;
pub use self::mode::{InputMode, Purpose, TextEntry, Typing, UserQuestion};
pub use self::model::{CommandPrefix, LoadState, Model, SessionPhase, StatusMessage, Tone, Tour};
pub use self::moment::{Lookback, View, Zoom};
pub use self::node_table::{NODE_COLUMNS, NODE_GAUGES, NodeRow};
pub use self::occurrence::{Occurrence, OccurrenceKind, turned};
pub use self::outgoing::{FileDestination, FileForm, FileRequest, Picture, WrittenFile};
pub use self::palette::{Offer, PaletteCommand};
pub use self::panel::{ConfigPanel, Panel, ParameterChange};
pub use self::playback::Playback;
pub use self::segment_table::SEGMENT_COLUMNS;
pub use self::source::{Effect, Source};
pub use self::subject::Subject;
pub use self::tables::{LogKind, LogLine, LogView, NodeColumn};
pub use self::track::Track;
pub use self::update::{Gesture, Mouse, Msg, Spot, update};
pub use crate::{
    knobs::{Direction, Knob, KnobError, KnobPreset, PRESETS},
    server::value_words,
    session::{Delivery, Notice, Order, RecordingState},
};
