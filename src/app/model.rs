//! Everything the screen shows.

use std::collections::BTreeMap;

use super::{
    Charts, ConfigPanel, Effect, Entry, LogView, Lookback, Mode, Pane, Panel, Playback, Purpose, Question,
    Reachability, RecordingState, Screen, SegmentTable, Track, Typing, View, Zoom,
};
use crate::{
    diagnose::{Finding, of_segment},
    experiment::{Dimension, Experiment},
    knobs::Knobs,
    session::{Record, Timeline, TimelineOptions},
};

/// What the load does, or is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadState {
    /// It runs as wanted.
    On,
    /// It is off, as wanted.
    Off,
    /// A change is on its way.
    Settling,
    /// A change waits for the answer to a question.
    Asking,
    /// A change waits for the target to answer.
    Waiting,
}

/// Whether a session goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// Records come.
    Running,
    /// No more come, and the screen stays.
    Ended,
    /// No more come, and the screen goes.
    Over,
}

/// How a message is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// It went well, or is worth knowing.
    Info,
    /// Something needs attention.
    Warning,
}

/// A line for the person at the screen, until the next key or for a few seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// What to say.
    pub text: String,
    /// How it is meant.
    pub tone: Tone,
    /// When it was said, in seconds of the session.
    pub since_s: f64,
}

/// More nodes than a person can watch beside each other have no track: a recording may tell of any number.
const MOST_TRACKS: usize = 16;
/// How long a message stands, in seconds of the session.
const MESSAGE_S: f64 = 8.0;

/// An experiment that was begun.
#[derive(Debug, Clone)]
pub(super) struct Begun {
    pub(super) experiment: Box<dyn Experiment>,
    /// The knobs before it.
    pub(super) before: Knobs,
}

/// How far the tour is.
#[derive(Debug, Clone, Default)]
pub struct Tour {
    /// The step that is shown.
    pub(super) step: usize,
    /// Its next key.
    pub(super) key: usize,
    /// When the step began or its last key was pressed, in seconds of the session.
    pub(super) since_s: f64,
    /// Whether the keys are pressed by themselves.
    pub(super) plays: bool,
}

impl Tour {
    /// The tour whose keys a person presses.
    pub fn of_hints() -> Self {
        Self::default()
    }

    /// The tour that presses its keys.
    pub fn that_plays() -> Self {
        Self { plays: true, ..Self::default() }
    }
}

/// What all command lines of a session begin with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// The program with its target, and what else is the same in all segments.
    pub words: String,
    /// Whether the server wants a password.
    pub has_password: bool,
}

/// Columns that are assumed until the screen has reported its own.
const USUAL_COLUMNS: u16 = 60;

/// Everything the screen shows.
#[derive(Debug, Clone)]
pub struct Model {
    /// What is shown, one beside the other; figures and tables are of the first, which is always there.
    pub(super) tracks: Vec<Track>,
    /// Which moment of them is shown.
    pub view: View,
    /// How long a stretch of them.
    pub zoom: Zoom,
    /// How many columns the charts of the screen have.
    pub columns: u16,
    /// What the charts show, and on which axes.
    pub charts: Charts,
    /// The recording that this is, unless it is live.
    pub playback: Option<Playback>,
    /// Which screen.
    pub screen: Screen,
    /// The pane of it that has all of its body; `None` shows all of them.
    pub maximised: Option<Pane>,
    /// Which stretch the Latency screen shows.
    pub stretch: Lookback,
    /// From which place on it lists the operations.
    pub first_operation: usize,
    /// The table of the segments.
    pub segment_table: SegmentTable,
    /// The log.
    pub log_view: LogView,
    /// What the curve lies over; while nothing was chosen, what an experiment is about, or what was turned most.
    pub(super) curve_over: Option<Dimension>,
    /// The knobs.
    pub panel: Panel,
    /// The parameters of the server.
    pub config: ConfigPanel,
    /// The experiment that runs or ran last.
    pub(super) experiment: Option<Begun>,
    /// What takes the keys.
    pub mode: Mode,
    /// Whether the gentle intrinsic probe was turned on.
    pub gentle_intrinsic: bool,
    /// The recording under way.
    pub recording: Option<RecordingState>,
    /// How often each offer of the palette was carried out.
    pub(super) used: BTreeMap<String, u32>,
    /// What the session was begun by.
    pub(super) program: Program,
    /// What it is recorded to, or read from, and what was made of it.
    files: Vec<String>,
    /// The names of the themes that the screen can be drawn in.
    pub themes: &'static [&'static str],
    /// Whether more records come.
    pub course: Course,
    pub(super) message: Option<Message>,
    /// The tour, until it is over.
    pub(super) tour: Option<Tour>,
    /// What the message that is being taken in asks to be done.
    pub(super) effects: Vec<Effect>,
    /// The knobs that the session began with.
    pub(super) initial: Knobs,
    options: TimelineOptions,
}

impl Model {
    /// The state before the first record. `knobs` are what the source starts with.
    pub fn new(knobs: Knobs, options: TimelineOptions) -> Self {
        Self {
            tracks: vec![Track::new(Timeline::new(options))],
            view: View::Live,
            zoom: Zoom::default(),
            columns: USUAL_COLUMNS,
            charts: Charts::default(),
            playback: None,
            screen: Screen::default(),
            maximised: None,
            stretch: Lookback::default(),
            first_operation: 0,
            segment_table: SegmentTable::default(),
            log_view: LogView::default(),
            curve_over: None,
            panel: Panel::new(knobs.clone()),
            config: ConfigPanel::default(),
            experiment: None,
            mode: Mode::Screen,
            gentle_intrinsic: false,
            recording: None,
            used: BTreeMap::new(),
            program: Program::default(),
            files: Vec::new(),
            themes: &[],
            course: Course::Running,
            message: None,
            tour: None,
            effects: Vec::new(),
            // Before the first segment nothing is in force.
            initial: Knobs { load: false, ..knobs },
            options,
        }
    }

    /// The state before the first record of a recording, which is shown as a whole.
    pub fn replaying(playback: Playback, options: TimelineOptions) -> Self {
        let files = vec![playback.file.clone()];
        Self { playback: Some(playback), zoom: Zoom::Whole, files, ..Self::new(Knobs::default(), options) }
    }

    /// The same, begun by this program.
    pub fn of_program(self, program: Program) -> Self {
        Self { program, ..self }
    }

    /// What the session is or was recorded to, or is read from, and what was made of it.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// The same, with a tour.
    pub fn on_tour(self, tour: Option<Tour>) -> Self {
        Self { tour, ..self }
    }

    /// The same, drawn on a screen that has these themes to choose from.
    pub fn with_themes(self, themes: &'static [&'static str]) -> Self {
        Self { themes, ..self }
    }

    /// The same with these tracks beside each other, if there is one at least.
    pub fn showing(self, tracks: Vec<Track>) -> Self {
        if tracks.is_empty() { self } else { Self { tracks, ..self } }
    }

    /// The tracks beside each other, the one that figures and tables are of first.
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// The track that figures and tables are of.
    pub fn track(&self) -> &Track {
        &self.tracks[0]
    }

    /// Its session so far.
    pub fn timeline(&self) -> &Timeline {
        self.track().timeline()
    }

    /// The same, when the screen is gone.
    pub fn into_timeline(mut self) -> Timeline {
        self.tracks.swap_remove(0).into_timeline()
    }

    /// Whether the target answers now.
    pub fn reachability(&self) -> &Reachability {
        &self.track().reachability
    }

    /// Takes a record of the session in: each track what is of its node. The first of another node begins its
    /// track.
    pub(super) fn push(&mut self, record: &Record) {
        let next = self.tracks.len();
        if next < MOST_TRACKS && record.node().is_some_and(|node| usize::from(node) == next) {
            self.tracks.push(Track::new(Timeline::new(self.options)));
        }
        for (node, track) in (0..).zip(&mut self.tracks) {
            if record.is_of(node) {
                track.push(record);
            }
        }
    }

    /// The knobs in force: those of the current segment, in a recording those of the segment that is shown; before
    /// the first those that the source starts with.
    pub fn in_force(&self) -> &Knobs {
        let segments = self.timeline().segments();
        let segment = match self.cursor_s().filter(|_| self.playback.is_some()) {
            Some(cursor_s) => segments.holding_at(cursor_s),
            None => segments.current(),
        };
        segment.map_or(&self.initial, |segment| &segment.start.knobs)
    }

    /// What the load does, or is about to do.
    pub fn load_state(&self) -> LoadState {
        let (wanted, in_force) = (self.panel.wanted(), self.in_force());
        match self.track().reachability {
            _ if self.course != Course::Running || wanted == in_force => {
                if in_force.load {
                    LoadState::On
                } else {
                    LoadState::Off
                }
            }
            _ if matches!(self.mode, Mode::Asking(Question::FirstWrite(_) | Question::Danger(_))) => {
                LoadState::Asking
            }
            Reachability::Down { .. } => LoadState::Waiting,
            Reachability::Unknown | Reachability::Up { .. } => LoadState::Settling,
        }
    }

    /// Whether the target answered at the moment that is shown.
    pub fn reachability_shown(&self) -> Reachability {
        if self.view == View::Live && self.playback.is_none() {
            return self.track().reachability.clone();
        }
        match self.shown().outage() {
            Some((since_s, cause)) => Reachability::Down { since_s, cause: cause.to_owned() },
            None => Reachability::Up { since_s: 0.0 },
        }
    }

    /// What is wrong, or limits the result, the most pressing first: now, in a frozen view and in a recording over the segment
    /// shown as a whole.
    pub fn findings(&self) -> Vec<Finding> {
        if self.view == View::Live && self.playback.is_none() {
            return self.track().findings.now();
        }
        let cores = self.timeline().session().map_or(0, |session| session.host.cores);
        let shown = self.shown();
        shown.segment().map_or_else(Vec::new, |segment| of_segment(&segment.start, &segment.total, cores))
    }

    /// The message to show now.
    pub fn message(&self) -> Option<&Message> {
        // In a recording the time of the session says nothing about how long a message has stood.
        let stands = |since_s: f64| self.playback.is_some() || self.timeline().now_s() - since_s < MESSAGE_S;
        self.message.as_ref().filter(|message| stands(message.since_s))
    }

    pub(super) fn say(&mut self, tone: Tone, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), tone, since_s: self.timeline().now_s() });
    }

    /// Remembers a file of the session for its summary.
    pub(super) fn add_file(&mut self, file: String) {
        if !self.files.contains(&file) {
            self.files.push(file);
        }
    }

    /// Asks for something to be done.
    pub(super) fn ask(&mut self, effect: impl Into<Effect>) {
        self.effects.push(effect.into());
    }

    /// What is being typed for this purpose.
    pub fn entry(&self, purpose: Purpose) -> Option<&Entry> {
        match &self.mode {
            Mode::Typing(typing) if typing.purpose == purpose => Some(&typing.entry),
            _ => None,
        }
    }

    /// Begins to type.
    pub(super) fn begin_typing(&mut self, purpose: Purpose, entry: Entry) {
        self.mode = Mode::Typing(Typing { purpose, entry });
    }

    /// Changes what is being typed, after which the best offer of the palette is chosen, and the help begins at its top.
    pub(super) fn edit(&mut self, change: impl FnOnce(&mut Entry)) {
        if let Mode::Typing(Typing { purpose, entry }) = &mut self.mode {
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
