//! The changes of the model that each message causes, and the effects that the model requests.

mod mouse;

use std::{sync::Arc, time::Duration};

use super::{
    Context, Delivery, Effect, InputMode, Key, KeyCode, KeyPattern, Model, Notice, Order, Purpose,
    SessionPhase, Tone, Typing, UserQuestion, View, WrittenFile, action, playback::RereadState,
};
use crate::{
    knobs::Knobs,
    server::KeyState,
    session::{Record, Segment},
    workload::WorkloadChoice,
};

pub use mouse::{Gesture, Mouse, Spot};

/// The longest intrinsic run, in seconds.
const LONGEST_INTRINSIC_S: u64 = 3600;

/// A message to the model.
#[derive(Debug, Clone)]
pub enum Msg {
    /// A key was pressed.
    Key(Key),
    /// The source delivered a record or a notice.
    Delivery(Delivery),
    /// An action of the mouse.
    Mouse(Mouse),
    /// The terminal pasted a text.
    Paste(String),
    /// The result of writing a file from the records: the file, or the reason why the file could not be written.
    Written(Result<WrittenFile, String>),
    /// The result of an effect on the terminal, as a message to show.
    Say(Tone, String),
    /// The text of a script that was requested, or the reason why the script cannot be read.
    Script {
        /// The file.
        name: String,
        /// The text of the script, or the error.
        text: Result<String, String>,
    },
    /// The workload of a file that was requested, or the error in the file.
    Workload(Result<WorkloadChoice, String>),
    /// The screen will draw a picture with this many columns in its charts.
    Columns(u16),
    /// The number of lines by which the open help can scroll down.
    HelpEnd(u16),
}

/// Handles one message.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::Key(key) => {
            model.tour.iter_mut().for_each(|tour| tour.plays = false);
            on_key(model, key);
        }
        Msg::Mouse(mouse) => {
            model.message = None;
            model.on_mouse(mouse);
        }
        Msg::Paste(text) => paste(model, &text),
        Msg::Written(written) => model.take_written(written),
        Msg::Say(tone, text) => model.show_message(tone, text),
        Msg::Script { name, text } => model.propose_script(&name, text),
        Msg::Workload(chosen) => model.propose_workload(chosen),
        Msg::Delivery(delivery) => {
            on_delivery(model, &delivery);
            model.pass_to_experiment(&delivery);
            if let Some(key) = model.key_of_tour() {
                on_key(model, key);
            }
        }
        Msg::Columns(columns) => {
            let columns = columns.max(1);
            if model.columns != columns {
                model.columns = columns;
                model.keep_cursor_in_view();
                model.charts.refit();
            }
            model.keep_axes();
            model.request_finer_part();
        }
        Msg::HelpEnd(last) => model.limit_help(last),
    }
    model.ask_pending();
    model.follow_tour();
    std::mem::take(&mut model.effects)
}

fn on_delivery(model: &mut Model, delivery: &Delivery) {
    match delivery {
        Delivery::Record(record) => on_record(model, record),
        Delivery::Notice(_, notice) => model.handle_notice(notice.clone()),
        Delivery::Stretch(stretch) => model.show_reread_part(stretch),
        Delivery::Refused(order, reason) => {
            if matches!(order, Order::SetKnobs(_) | Order::Prefill(_)) {
                let in_force = model.in_force().clone();
                model.panel.follow(in_force);
            }
            if let Order::SetConfig { parameter, to } = order {
                model.panel.forget(parameter.name, to);
            }
            if *order == Order::GentleIntrinsic(true) {
                model.gentle_intrinsic = false;
            }
            if matches!(order, Order::ScanKeys { .. }) {
                let seen = model.keys.iter_mut();
                seen.for_each(|seen| seen.state = KeyState::Failed(reason.clone()));
            }
            if matches!(order, Order::Refine(_)) {
                model.set_closer(RereadState::Impossible);
            }
            model.show_message(Tone::Warning, reason.clone());
        }
    }
}

/// Returns whether a session with a requested load begins with the load off. The load then waits for the server or for
/// the user's answer.
fn is_load_delayed(model: &Model, first: &Segment) -> bool {
    let wanted = &model.panel.wanted;
    let is_first = model.timeline().segments.current().is_none();
    is_first && wanted.load && first.knobs == Knobs { load: false, ..wanted.clone() }
}

fn on_record(model: &mut Model, record: &Arc<Record>) {
    if let Record::Segment(segment) = &**record
        && segment.node == 0
        && !model.panel.has_later_change(&segment.knobs)
        && model.panel.wanted == *model.in_force()
        && !is_load_delayed(model, segment)
    {
        // No request of the user is pending, so the panel shows the knobs in force.
        model.panel.follow(segment.knobs.clone());
    }
    model.take(record);
    model.unfold_ended();
}

impl Model {
    /// Handles a notice of the source.
    fn handle_notice(&mut self, notice: Notice) {
        match notice {
            Notice::FirstWrite(question) => self.ask(UserQuestion::FirstWrite(question)),
            Notice::Danger(question) => self.ask(UserQuestion::Danger(question)),
            Notice::Info(text) => self.show_message(Tone::Info, text),
            Notice::Recording(state) => {
                if let Some(state) = &state {
                    self.add_file(state.file.clone());
                }
                self.recording = state;
            }
            Notice::Keys(seen) => self.keys = Some(*seen),
            Notice::LoadStaysOff(cause) => {
                let in_force = self.in_force().clone();
                self.panel.follow(in_force);
                self.show_message(Tone::Warning, format!("the load stays off: {cause}"));
            }
            Notice::LoadStopped(cause) => {
                self.panel.set_load(false);
                self.drop_question();
                self.show_message(Tone::Warning, format!("the load is off: {cause}"));
            }
            Notice::Warning(text) => self.show_message(Tone::Warning, text),
            Notice::Ended => {
                self.course = SessionPhase::Ended;
                if let Some(playback) = &mut self.playback {
                    playback.read = None;
                    self.freeze();
                    self.follow_recording();
                }
            }
            Notice::Read(share) => {
                if let Some(playback) = &mut self.playback {
                    playback.read = Some(share);
                }
            }
            Notice::Played(to_s) => self.played_to(to_s),
            Notice::Leave => self.course = SessionPhase::Over,
            // These notices arrive after the screen has closed; the caller of the screen prints them.
            Notice::Cleaning(_) | Notice::Undone(_) => {}
        }
    }

    /// Returns the key contexts that apply now. Earlier contexts have precedence.
    pub fn contexts(&self) -> Vec<Context> {
        let mut contexts = self.mode.contexts().map_or_else(|| self.contexts_here(), <[Context]>::to_vec);
        contexts.push(Context::Anywhere);
        contexts
    }

    /// Returns the key context of the present screen, if this context applies now.
    fn context_of_screen(&self) -> Option<Context> {
        let screen = self.screen;
        // Parameters of a past moment cannot be changed.
        let holds = !screen.turns_parameters() || self.has_parameters() && self.view == View::Live;
        (holds && !screen.keys().is_empty()).then_some(Context::Screen(screen))
    }

    /// Returns whether an input line is open and contains text.
    fn has_typed(&self) -> bool {
        matches!(&self.mode, InputMode::Typing(typing) if !typing.entry.text().is_empty())
    }

    /// Returns the key contexts that apply without an overlay.
    pub fn contexts_here(&self) -> Vec<Context> {
        let screen = self.context_of_screen();
        let time: &[_] = match (&self.playback, self.view) {
            (Some(_), _) => &[Context::Replay, Context::Time],
            (None, View::Live) => &[],
            (None, View::Frozen { .. }) => &[Context::Frozen, Context::Time],
        };
        let maximised = self.maximised.map(|_| Context::Maximised);
        let experiment = self.experiment().map(|experiment| match experiment.is_over() {
            true => Context::Answer,
            false => Context::Experiment,
        });
        let first = maximised.into_iter().chain(screen).chain(time.iter().copied());
        first.chain(experiment).chain([Context::Main]).collect()
    }
}

fn on_key(model: &mut Model, key: Key) {
    model.message = None;
    let Some(action) = action(&model.contexts(), key) else { return };
    match key {
        // In an input line with text, `?` and `q` are characters like any other, also in the help.
        Key { code: KeyCode::Char(c), ctrl: false }
            if model.has_typed() || action.keys.contains(&KeyPattern::Character) =>
        {
            model.edit(|entry| entry.insert(c));
        }
        _ => (action.run)(model),
    }
}

impl Model {
    /// Accepts the text of the open input line.
    pub(super) fn accept(&mut self) {
        let InputMode::Typing(Typing { purpose, entry }) = &self.mode else { return };
        let (purpose, text) = (*purpose, entry.text());
        if !matches!(purpose, Purpose::Command { .. }) {
            self.mode = InputMode::Screen;
        }
        match purpose {
            Purpose::Knob => {
                let typed = self.panel.typed(&text);
                self.propose_or_warn(typed);
            }
            Purpose::Parameter => {
                let typed = self.typed_parameter(&text);
                self.ask_to_set(typed);
            }
            Purpose::Help { .. } => {}
            Purpose::Search => self.take_search(text),
            Purpose::Mark { t_s } => self.set_mark(&text, t_s),
            Purpose::Intrinsic => run_intrinsic(self, &text),
            // The first offer is selected by default, but Enter carries it out only after the user has typed something.
            Purpose::Command { chosen: 0 } if text.trim().is_empty() => {
                self.show_message(Tone::Info, "type a command, or select a command with the arrow keys");
            }
            Purpose::Command { .. } => self.accept_offer(),
        }
    }
}

fn run_intrinsic(model: &mut Model, text: &str) {
    match text.trim().parse().ok().filter(|s| (1..=LONGEST_INTRINSIC_S).contains(s)) {
        Some(seconds) => model.request(Order::RunIntrinsic(Duration::from_secs(seconds))),
        None => model.show_message(
            Tone::Warning,
            format!(
                "'{text}' is not a number of seconds between 1 and {LONGEST_INTRINSIC_S}; redyno started nothing"
            ),
        ),
    }
}

/// Inserts pasted text into the open input line. Without an input line, the text is ignored. The letters of the text do
/// not act as keys.
fn paste(model: &mut Model, text: &str) {
    model.message = None;
    match model.mode {
        InputMode::Typing(_) => model.edit(|entry| entry.paste(text)),
        _ => model.show_message(Tone::Info, "redyno ignored the pasted text, because no text field is open"),
    }
}

#[cfg(test)]
pub(super) mod tests;
