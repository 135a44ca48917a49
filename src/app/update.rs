//! What each message does to the model, and what it asks to be done.

use std::time::Duration;

use super::{
    Action, Context, Delivery, Effect, Entry, Key, KeyCode, Mode, Model, Mouse, Order, Purpose, Question,
    Setting, Tone, Typing, View, action,
};
use crate::{
    load::Knobs,
    session::{Record, Segment},
};

/// The length of an intrinsic run unless another is typed, as text for the entry.
const USUAL_INTRINSIC_S: &str = "10";
/// The longest intrinsic run, an hour.
const LONGEST_INTRINSIC_S: u64 = 3600;

/// Something that happened to the screen.
#[derive(Debug, Clone)]
pub enum Msg {
    /// A key was pressed.
    Key(Key),
    /// The source handed something over.
    Delivery(Delivery),
    /// The mouse did something.
    Mouse(Mouse),
    /// A text came from the terminal's clipboard.
    Paste(String),
    /// A line is to be said: what has become of an effect that belongs to the terminal.
    Say(Tone, String),
    /// The charts of the screen have so many columns.
    Columns(u16),
}

/// Takes one message in.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::Key(key) => on_key(model, key),
        Msg::Mouse(mouse) => {
            model.message = None;
            model.on_mouse(mouse)
        }
        Msg::Paste(text) => {
            paste(model, &text);
            Vec::new()
        }
        Msg::Say(tone, text) => {
            model.say(tone, text);
            Vec::new()
        }
        Msg::Delivery(Delivery::Record(record)) => {
            on_record(model, &record);
            Vec::new()
        }
        Msg::Delivery(Delivery::Notice(notice)) => {
            model.take(notice);
            Vec::new()
        }
        Msg::Columns(columns) => {
            let columns = columns.max(1);
            if model.columns != columns {
                model.columns = columns;
                model.keep_cursor_in_view();
            }
            Vec::new()
        }
        Msg::Delivery(Delivery::Refused(order, reason)) => {
            if matches!(order, Order::SetKnobs(_)) {
                let in_force = model.in_force().clone();
                model.panel.follow(in_force);
            }
            if order == Order::GentleIntrinsic(true) {
                model.gentle_intrinsic = false;
            }
            model.say(Tone::Warning, reason);
            Vec::new()
        }
    }
}

/// Whether a session that was to begin under load begins without: it waits for the server, or for a person's yes.
fn is_held_back(model: &Model, first: &Segment) -> bool {
    let wanted = model.panel.wanted();
    let is_first = model.timeline().segments().current().is_none();
    is_first && wanted.load && first.knobs == Knobs { load: false, ..wanted.clone() }
}

fn on_record(model: &mut Model, record: &Record) {
    if let Record::Segment(segment) = record
        && model.panel.wanted() == model.in_force()
        && !is_held_back(model, segment)
    {
        // Nobody is turning here and now, so the panel follows what holds: a replay, a warm-up's end.
        model.panel.follow(segment.knobs.clone());
    }
    model.push(record);
    if let Record::Server(status) = record {
        model.count_others(status);
    }
}

impl Model {
    /// Which parts of the key table hold now; an earlier one's meaning of a key goes before a later one's.
    pub fn contexts(&self) -> Vec<Context> {
        let mut contexts =
            self.mode.contexts().map_or_else(|| self.contexts_of_screen(), <[Context]>::to_vec);
        contexts.push(Context::Anywhere);
        contexts
    }

    pub(super) fn contexts_of_screen(&self) -> Vec<Context> {
        let screen = self.screen.context(self);
        let time: &[_] = match (&self.playback, self.view) {
            (Some(_), _) => &[Context::Replay, Context::Time],
            (None, View::Live) => &[],
            (None, View::Frozen { .. }) => &[Context::Frozen, Context::Time],
        };
        let maximised = self.maximised.map(|_| Context::Maximised);
        maximised.into_iter().chain(screen).chain(time.iter().copied()).chain([Context::Main]).collect()
    }
}

fn on_key(model: &mut Model, key: Key) -> Vec<Effect> {
    model.message = None;
    match (action(&model.contexts(), key), key.code) {
        (Some(Action::Insert), KeyCode::Char(c)) => model.edit(|entry| entry.insert(c)),
        (Some(action), _) => return act(model, action),
        (None, _) => {}
    }
    Vec::new()
}

/// Does what a key or a command of the palette asks for.
pub(super) fn act(model: &mut Model, action: Action) -> Vec<Effect> {
    match action {
        Action::Quit => return vec![Effect::Quit],
        Action::Suspend => return vec![Effect::Suspend],
        Action::Help => model.mode = Mode::Help { scroll: 0 },
        Action::Show(screen) => model.show(screen),
        Action::TurnScreen(by) => model.show(model.screen.turned(by)),
        Action::Maximise
        | Action::Minimise
        | Action::TurnStretch
        | Action::SortBy(_)
        | Action::ReverseOrder
        | Action::PinBaseline
        | Action::SelectRow(_)
        | Action::GoToRow
        | Action::TurnFilter(_)
        | Action::BeginSearch
        | Action::FindNext(_) => return model.on_list_action(action).into_iter().collect(),
        Action::Scroll(lines) => scroll(model, lines),
        Action::Freeze
        | Action::Live
        | Action::Scrub(_)
        | Action::Jump(_)
        | Action::ZoomIn
        | Action::ZoomOut
        | Action::Play
        | Action::Faster
        | Action::Slower => return in_time(model, action),
        Action::ToggleLoad => {
            let wanted = model.panel.wanted().clone();
            return model.propose(Knobs { load: !wanted.load, ..wanted });
        }
        Action::Select(direction) => model.panel.select(direction),
        Action::Turn(direction) => {
            let turned = model.panel.turned(direction, model.timeline().ops_per_s());
            return model.propose_or_say(turned.map(Some));
        }
        Action::BeginEntry => model.begin_typing(Purpose::Knob, Entry::quantity("")),
        Action::SelectParameter(_) | Action::TurnParameter(_) | Action::TypeParameter => {
            on_parameter(model, action);
        }
        Action::Undo => match model.panel.undo() {
            Some(knobs) => return vec![Effect::Order(Order::SetKnobs(knobs))],
            None => model.say(Tone::Info, "no change to undo"),
        },
        Action::Intrinsic => return intrinsic(model),
        Action::GentleIntrinsic => return turn_gentle(model),
        Action::Palette => model.open_palette(""),
        Action::Presets => model.open_palette("preset "),
        Action::Mark => model.begin_mark(),
        Action::Record => return model.toggle_recording(),
        Action::Save(picture) => return vec![Effect::Save(picture)],
        Action::CopySummary => return model.copy_summary(),
        Action::Insert | Action::Erase | Action::Delete | Action::MoveCaret(_) | Action::Accept => {
            return in_text(model, action);
        }
        Action::Yes => return agree(model),
        Action::Dismiss => return dismiss(model),
    }
    Vec::new()
}

/// Moves through time.
fn in_time(model: &mut Model, action: Action) -> Vec<Effect> {
    match action {
        Action::Freeze => model.freeze(),
        Action::Live => model.go_live(),
        Action::Scrub(columns) => {
            model.scrub(columns);
            return model.play_on().into_iter().collect();
        }
        Action::Jump(to) => {
            if let Err(why) = model.jump(to) {
                model.say(Tone::Info, why);
            }
            return model.play_on().into_iter().collect();
        }
        Action::ZoomIn | Action::ZoomOut => {
            if let Err(why) = model.zoom_by(action == Action::ZoomIn) {
                model.say(Tone::Info, why);
            }
        }
        Action::Play => match model.toggle_play() {
            Some(effect) => return vec![effect],
            None => {
                model
                    .say(Tone::Info, "the recording is still being read; it can be played when that is done");
            }
        },
        Action::Faster | Action::Slower => {
            return model.change_speed(action == Action::Faster).into_iter().collect();
        }
        _ => {}
    }
    Vec::new()
}

/// Changes what is being typed, or takes it.
fn in_text(model: &mut Model, action: Action) -> Vec<Effect> {
    match action {
        Action::Erase => model.edit(Entry::erase),
        Action::Delete => model.edit(Entry::delete),
        Action::MoveCaret(by) => model.edit(|entry| entry.move_caret(by)),
        Action::Accept => return accept(model),
        // Which character is inserted stands in the key.
        _ => {}
    }
    Vec::new()
}

/// Chooses a parameter of the server, or a value for it.
fn on_parameter(model: &mut Model, action: Action) {
    match action {
        Action::SelectParameter(direction) => model.config.select(direction),
        Action::TurnParameter(direction) => {
            let turned = model.turned_parameter(direction);
            ask_to_set(model, turned.map(Some));
        }
        Action::TypeParameter => model.begin_typing(Purpose::Parameter, Entry::sentence("")),
        _ => {}
    }
}

/// Turns the gentle intrinsic probe on or off.
fn turn_gentle(model: &mut Model) -> Vec<Effect> {
    model.gentle_intrinsic = !model.gentle_intrinsic;
    vec![Effect::Order(Order::GentleIntrinsic(model.gentle_intrinsic))]
}

/// Says yes to what is asked.
fn agree(model: &mut Model) -> Vec<Effect> {
    match std::mem::take(&mut model.mode) {
        Mode::Asking(Question::Danger { knobs, .. }) => model.put_in_force(knobs),
        Mode::Asking(Question::SetConfig(setting)) => {
            vec![Effect::Order(Order::SetConfig { parameter: setting.parameter, to: setting.to })]
        }
        Mode::Asking(Question::FirstWrite(_)) => vec![Effect::Order(Order::AllowWrites(true))],
        Mode::Screen | Mode::Help { .. } | Mode::Typing(_) => Vec::new(),
    }
}

/// Every change of the server is asked for.
fn ask_to_set(model: &mut Model, wanted: Result<Option<Setting>, String>) {
    match wanted {
        Ok(Some(setting)) => model.mode = Mode::Asking(Question::SetConfig(setting)),
        Ok(None) => {}
        Err(why) => model.say(Tone::Info, why),
    }
}

fn scroll(model: &mut Model, lines: i16) {
    if let Mode::Help { scroll } = &mut model.mode {
        *scroll = scroll.saturating_add_signed(lines).min(super::bindings().count() as u16 * 4);
    }
    model.choose(lines);
}

fn intrinsic(model: &mut Model) -> Vec<Effect> {
    if model.timeline().intrinsic_run().is_some_and(crate::session::timeline::IntrinsicRun::is_running) {
        return vec![Effect::Order(Order::StopIntrinsic)];
    }
    model.begin_typing(Purpose::Intrinsic, Entry::quantity(USUAL_INTRINSIC_S));
    Vec::new()
}

/// Takes what was typed.
fn accept(model: &mut Model) -> Vec<Effect> {
    let Mode::Typing(Typing { purpose, entry }) = &model.mode else { return Vec::new() };
    let (purpose, text) = (*purpose, entry.text());
    if let Purpose::Command { .. } = purpose {
        return model.accept_offer();
    }
    model.mode = Mode::Screen;
    match purpose {
        Purpose::Knob => {
            let typed = model.panel.typed(&text);
            return model.propose_or_say(typed);
        }
        Purpose::Parameter => {
            let typed = model.typed_parameter(&text);
            ask_to_set(model, typed);
        }
        Purpose::Search => model.take_search(text),
        Purpose::Mark { t_s } => return model.set_mark(&text, t_s),
        Purpose::Intrinsic => return run_intrinsic(model, &text),
        Purpose::Command { .. } => {}
    }
    Vec::new()
}

fn run_intrinsic(model: &mut Model, text: &str) -> Vec<Effect> {
    let typed = text.trim().parse().ok().filter(|s| (1..=LONGEST_INTRINSIC_S).contains(s));
    let Some(seconds) = typed else {
        let text = format!(
            "'{text}' is not a number of seconds between 1 and {LONGEST_INTRINSIC_S}; nothing was started"
        );
        model.say(Tone::Warning, text);
        return Vec::new();
    };
    vec![Effect::Order(Order::RunIntrinsic(Duration::from_secs(seconds)))]
}

/// What a terminal pastes is typed where something is typed, and nowhere else: no key is in it.
fn paste(model: &mut Model, text: &str) {
    model.message = None;
    match model.mode {
        Mode::Typing(_) => model.edit(|entry| entry.paste(text)),
        _ => model.say(Tone::Info, "nothing is being typed, so what was pasted is left out"),
    }
}

fn dismiss(model: &mut Model) -> Vec<Effect> {
    match std::mem::take(&mut model.mode) {
        Mode::Asking(Question::FirstWrite(_)) => {
            let knobs = model.panel.set_load(false);
            model.say(Tone::Info, "nothing was written; the load stays off");
            return vec![Effect::Order(Order::AllowWrites(false)), Effect::Order(Order::SetKnobs(knobs))];
        }
        Mode::Asking(Question::SetConfig(_)) => model.say(Tone::Info, "nothing was set"),
        Mode::Asking(Question::Danger { .. }) => model.say(Tone::Info, "nothing was changed"),
        Mode::Screen | Mode::Help { .. } | Mode::Typing(_) => {}
    }
    Vec::new()
}

#[cfg(test)]
mod tests;
