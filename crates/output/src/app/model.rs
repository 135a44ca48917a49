//! The model: all state of the screen.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Charts, ConfigPanel, Effect, InputMode, LogView, Lookback, NodeColumn, Order, Pane, Panel, Playback,
    Purpose, RecordingState, Screen, SortedTable, TextEntry, Track, Typing, UserQuestion, View, Zoom,
};
use crate::{
    diagnose::{FindingsByNode, NodeState},
    experiment::{Dimension, Experiment},
    knobs::Knobs,
    server::KeyReport,
    session::{Coalesce, Timeline, TimelineOptions, figures::Figure},
};

/// The present state of the load, or the state of a pending change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadState {
    /// The load is on.
    On,
    /// The load is off.
    Off,
    /// A change of the knobs was sent to the session.
    Settling,
    /// A change waits for the user's answer to a question.
    Asking,
    /// A change waits for the target to answer.
    Waiting,
}

/// Whether a session continues.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SessionPhase {
    /// The session is running, and more records will arrive.
    #[default]
    Running,
    /// The session has ended. The screen stays open.
    Ended,
    /// The session has ended. The screen closes.
    Over,
}

/// Whether a message informs or warns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Success, or information.
    Info,
    /// Something needs attention.
    Warning,
}

/// A message to the user, shown until the next key or for a few seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusMessage {
    /// The text.
    pub text: String,
    /// The tone of the message.
    pub tone: Tone,
    /// The time when the message was first shown, in seconds of the session.
    pub since_s: f64,
}

/// The time for which a message is shown, in seconds of the session.
const MESSAGE_S: f64 = 8.0;

/// An experiment that was begun.
#[derive(Debug, Clone)]
pub(super) struct ExperimentRun {
    pub(super) experiment: Box<dyn Experiment>,
    /// The knobs before the experiment.
    pub(super) before: Knobs,
}

/// The progress of the tour.
#[derive(Debug, Clone, Default)]
pub struct Tour {
    /// The step that is shown.
    pub(super) step: usize,
    /// The next key of the step.
    pub(super) key: usize,
    /// The start of the step, or the time of the tour's last key press in this step, in seconds of the session.
    pub(super) since_s: f64,
    /// Whether the tour presses the keys without the user.
    pub(super) plays: bool,
}

impl Tour {
    /// Creates a tour that presses the keys itself.
    pub fn that_plays() -> Self {
        Self { plays: true, ..Self::default() }
    }
}

/// The beginning of a command line that repeats a segment. The beginning is the same for all segments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandPrefix {
    /// The program with its target and all options that are the same in all segments.
    pub words: String,
    /// Whether the server needs a password.
    pub has_password: bool,
    /// Whether several servers share the load.
    pub is_shared: bool,
}

/// The number of columns before the first picture is drawn.
const USUAL_COLUMNS: u16 = 60;

/// The model: all state of the screen.
#[derive(Debug, Clone, Default)]
pub struct Model {
    /// The tracks: the data of each node for the screen. The first track always exists, and its node gets the load.
    pub tracks: Vec<Track>,
    /// The findings of all nodes, with the sums for the summary. The findings are computed from whole seconds, like the
    /// findings of recordings and of printed lines.
    pub(super) watched: FindingsByNode,
    /// A copy of `watched` at the moment when the view of a live session was frozen.
    pub(super) held: Option<Box<FindingsByNode>>,
    pub(super) seconds: Coalesce,
    /// Whether the results by node are added once a second.
    pub(super) by_second: bool,
    /// The number of the track that figures and tables show.
    pub node: usize,
    /// The moment that is shown.
    pub view: View,
    /// The length of the period that is shown.
    pub zoom: Zoom,
    /// The number of columns of the screen's charts.
    pub columns: u16,
    /// The content of the charts, and their axes.
    pub charts: Charts,
    /// The state of playing a recording; `None` for a live session.
    pub playback: Option<Playback>,
    /// The current screen.
    pub screen: Screen,
    /// The pane that fills the screen. `None` shows all panes.
    pub maximised: Option<Pane>,
    /// The period that the Latency screen shows.
    pub period: Lookback,
    /// The position of the first visible operation in its list.
    pub first_operation: usize,
    /// The table of the segments. Without a selected row, the segment shown counts as selected.
    pub segment_table: SortedTable<Figure, u32>,
    /// The number of the baseline segment. All other segments are compared with the baseline.
    pub pinned: Option<u32>,
    /// The table of the nodes. Without a selected row, the node that the screens show counts as selected.
    pub node_table: SortedTable<NodeColumn, usize>,
    /// The log.
    pub log_view: LogView,
    /// The dimension of the curve. `None` until the user selects a dimension. Without a selection, the curve has the
    /// dimension of the experiment, or the dimension with the most values.
    pub(super) curve_over: Option<Dimension>,
    /// The panel of the knobs.
    pub panel: Panel,
    /// The panel of the server's parameters.
    pub config: ConfigPanel,
    /// The running experiment, or the last experiment.
    pub(super) experiment: Option<ExperimentRun>,
    /// The receiver of the keys that the user presses.
    pub mode: InputMode,
    /// A question of the session. The screen shows this question only after the user has finished typing or has
    /// answered another question.
    pub(super) pending: Option<UserQuestion>,
    /// Whether the intrinsic probe runs in its gentle form. The loop of this form is busy for a tenth of the time.
    pub gentle_intrinsic: bool,
    /// The recording in progress.
    pub recording: Option<RecordingState>,
    /// The number of times that the user has run each command of the palette.
    pub(super) used: BTreeMap<String, u32>,
    /// The command line that began the session.
    pub program: CommandPrefix,
    /// The files of the session: its recording, exports and reports.
    pub files: Vec<String>,
    /// The names of the available themes.
    pub themes: Vec<&'static str>,
    /// Whether more records come.
    pub course: SessionPhase,
    pub(super) message: Option<StatusMessage>,
    /// The rules with findings that the user has folded. Until such a finding ends, only the header shows it.
    pub(super) folded: BTreeSet<&'static str>,
    /// The results of the last sampling of the server's keys.
    pub(super) keys: Option<KeyReport>,
    /// The number of the node whose keys are in [`keys`](Self::keys).
    pub(super) keys_of: usize,
    /// The tour. `None` without a tour or after its last step.
    pub tour: Option<Tour>,
    /// The effects requested while the present message is handled.
    pub(super) effects: Vec<Effect>,
    /// The knobs at the start of the session.
    pub(super) initial: Knobs,
    pub(super) options: TimelineOptions,
}

impl Model {
    /// Creates the state before the first record. The session starts with `knobs`.
    pub fn new(knobs: Knobs, options: TimelineOptions) -> Self {
        Self {
            tracks: vec![Track::new(Timeline::new(options))],
            columns: USUAL_COLUMNS,
            panel: Panel::new(knobs.clone()),
            // Before the first segment, the load is off.
            initial: Knobs { load: false, ..knobs },
            options,
            ..Self::default()
        }
    }

    /// Creates the state before the first record of a recording. The whole recording is shown at first.
    pub fn replaying(playback: Playback, options: TimelineOptions) -> Self {
        let files = vec![playback.file.clone()];
        Self { playback: Some(playback), zoom: Zoom::Whole, files, ..Self::new(Knobs::default(), options) }
    }

    /// Returns the track that figures and tables show.
    pub fn track(&self) -> &Track {
        &self.tracks[self.node]
    }

    /// Returns whether the screen shows the present moment of a live session.
    pub(super) fn is_live(&self) -> bool {
        self.view == View::Live && self.playback.is_none()
    }

    /// Returns the timeline of the first node. This node gets the load. For the node on the screen, use
    /// [`shown`](Self::shown) or [`track`](Self::track).
    pub fn timeline(&self) -> &Timeline {
        &self.tracks[0].timeline
    }

    /// Returns the timeline of the first track, after the screen has closed.
    pub fn into_timeline(mut self) -> Timeline {
        if self.by_second {
            self.seconds.rest().iter().for_each(|record| self.take_by_node(record));
        }
        self.tracks.swap_remove(0).timeline
    }

    /// Returns the knobs (load settings) of the current segment or, in a recording, of the segment shown. Before the
    /// first segment, returns the knobs from the start of the session, with the load off.
    pub fn in_force(&self) -> &Knobs {
        let segments = &self.timeline().segments;
        let segment = match self.figures_s().filter(|_| self.playback.is_some()) {
            Some(t_s) => segments.start_at(t_s),
            None => segments.starts().next_back(),
        };
        segment.map_or(&self.initial, |segment| &segment.knobs)
    }

    /// Returns the knobs to show. In a live view, the result is the knobs that the user has requested. In a frozen
    /// view, the result is the knobs of the segment at the cursor.
    pub fn knobs_shown(&self) -> &Knobs {
        let Some(t_s) = self.figures_s() else { return &self.panel.wanted };
        let segment = self.timeline().segments.start_at(t_s);
        segment.map_or(&self.initial, |segment| &segment.knobs)
    }

    /// Returns the state of the load, and pending changes.
    pub fn load_state(&self) -> LoadState {
        let (wanted, in_force) = (&self.panel.wanted, self.in_force());
        let is_settled = self.course != SessionPhase::Running || wanted == in_force;
        match () {
            () if is_settled && in_force.load => LoadState::On,
            () if is_settled => LoadState::Off,
            () if self.is_asked() => LoadState::Asking,
            () if self.timeline().latest().outage().is_some() => LoadState::Waiting,
            () => LoadState::Settling,
        }
    }

    /// Takes a record that nothing else uses.
    #[cfg(test)]
    pub(super) fn push(&mut self, record: &crate::session::Record) {
        self.take(&std::sync::Arc::new(record.clone()));
    }

    /// Returns all nodes with their findings, up to the latest moment. In a frozen view, returns them up to the moment
    /// of freezing.
    pub(super) fn watched_shown(&self) -> &[NodeState] {
        &self.held.as_deref().unwrap_or(&self.watched).nodes
    }

    /// Returns all nodes with their findings and the sums of their PINGs, for the summary.
    pub fn node_states(&self) -> Vec<NodeState> {
        let (mut seconds, mut watched) = (self.seconds.clone(), self.watched.clone());
        seconds.rest().iter().for_each(|record| drop(watched.push(record)));
        watched.nodes
    }

    /// Returns the message to show at present.
    pub fn message(&self) -> Option<&StatusMessage> {
        // In a recording, session time is not wall-clock time, so a message stays until the next key.
        let stands = |since_s: f64| self.playback.is_some() || self.timeline().now_s - since_s < MESSAGE_S;
        self.message.as_ref().filter(|message| stands(message.since_s))
    }

    pub(super) fn show_message(&mut self, tone: Tone, text: impl Into<String>) {
        self.message = Some(StatusMessage { text: text.into(), tone, since_s: self.timeline().now_s });
    }

    /// Adds a file to the list in the session's summary.
    pub(super) fn add_file(&mut self, file: String) {
        if !self.files.contains(&file) {
            self.files.push(file);
        }
    }

    /// Requests an effect.
    pub(super) fn request(&mut self, effect: impl Into<Effect>) {
        let effect = effect.into();
        if matches!(effect, Effect::Order(Order::SetKnobs(_) | Order::Prefill(_))) {
            self.drop_question();
        }
        self.effects.push(effect);
    }

    /// Returns the text that is being typed for this purpose.
    pub fn entry(&self, purpose: Purpose) -> Option<&TextEntry> {
        match &self.mode {
            InputMode::Typing(typing) if typing.purpose == purpose => Some(&typing.entry),
            _ => None,
        }
    }

    /// Opens an input line.
    pub(super) fn begin_typing(&mut self, purpose: Purpose, entry: TextEntry) {
        self.mode = InputMode::Typing(Typing { purpose, entry });
    }

    /// Changes the typed text. After a change, the palette selects its best match, and the help scrolls to
    /// its first line.
    pub(super) fn edit(&mut self, change: impl FnOnce(&mut TextEntry)) {
        if let InputMode::Typing(Typing { purpose, entry }) = &mut self.mode {
            let before = entry.text();
            change(entry);
            if entry.text() != before {
                match purpose {
                    Purpose::Command { chosen } => *chosen = 0,
                    Purpose::Help { scroll } => *scroll = 0,
                    _ => {}
                }
            }
        }
    }
}
