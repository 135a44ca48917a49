//! Keeping and passing on what is seen: pictures, the summary, marks, recordings.

use super::{Entry, Model, Order, Purpose, Tone};
use crate::session::Mark;

/// A form of a picture of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picture {
    /// A drawing that any browser shows.
    Svg,
    /// The characters alone.
    Text,
}

impl Picture {
    /// The extension of its file.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Text => "txt",
        }
    }
}

/// What a recording says to whoever wants to add to it.
const NOT_LIVE: &str = "this is a recording already: no mark can be added, and nothing is recorded";

impl Model {
    /// Asks for the text of a mark at this moment.
    pub(super) fn begin_mark(&mut self) {
        if self.playback.is_some() {
            return self.say(Tone::Warning, NOT_LIVE);
        }
        self.begin_typing(Purpose::Mark { t_s: self.timeline().now_s() }, Entry::sentence(""));
    }

    /// Sets the mark, unless nothing was typed.
    pub(super) fn set_mark(&mut self, text: &str, t_s: f64) {
        let text = text.trim().to_owned();
        if text.is_empty() {
            return self.say(Tone::Info, "no text, no mark");
        }
        self.say(Tone::Info, format!("marked: {text}"));
        self.ask(Order::Mark(Mark { t_s, text }));
    }

    /// Starts to record, or stops it.
    pub(super) fn toggle_recording(&mut self) {
        if self.playback.is_some() {
            return self.say(Tone::Warning, NOT_LIVE);
        }
        self.ask(if self.recording.is_some() { Order::StopRecording } else { Order::StartRecording });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Delivery, Effect, Key, KeyCode, Mode, Msg, Notice, Playback, RecordingState, update},
        knobs::Knobs,
        session::TimelineOptions,
    };

    fn press(model: &mut Model, keys: &str) -> Vec<Effect> {
        let code = |c| match c {
            '\n' => KeyCode::Enter,
            '\x1b' => KeyCode::Esc,
            c => KeyCode::Char(c),
        };
        keys.chars().flat_map(|c| update(model, Msg::Key(Key::plain(code(c))))).collect()
    }

    fn live() -> Model {
        Model::new(Knobs::default(), TimelineOptions::default())
    }

    #[test]
    fn a_mark_has_the_moment_of_the_key_and_the_text_that_was_typed() {
        let mut model = live();
        let text = "before: größer, (A/B)?".to_owned();
        assert_eq!(
            press(&mut model, &format!("m{text}\n")),
            [Effect::Order(Order::Mark(Mark { t_s: 0.0, text }))]
        );
        assert_eq!(press(&mut model, "m\n"), []);
        assert_eq!(model.message().unwrap().text, "no text, no mark");
        assert_eq!(press(&mut model, "mq\x1b"), []);
        assert_eq!(model.mode, Mode::Screen);
    }

    #[test]
    fn the_same_key_starts_and_stops_a_recording() {
        let mut model = live();
        assert_eq!(press(&mut model, "r"), [Effect::Order(Order::StartRecording)]);
        let state = RecordingState { file: "x.jsonl".to_owned(), since_s: 0.0, bytes: 10 };
        update(&mut model, Msg::Delivery(Delivery::Notice(Notice::Recording(Some(state)))));
        assert_eq!(press(&mut model, "r"), [Effect::Order(Order::StopRecording)]);
        update(&mut model, Msg::Delivery(Delivery::Notice(Notice::Recording(None))));
        assert_eq!(press(&mut model, "r"), [Effect::Order(Order::StartRecording)]);
    }

    #[test]
    fn a_recording_takes_neither_marks_nor_another_recording_and_says_so() {
        for key in ["m", "r"] {
            let mut model = Model::replaying(Playback::new("x".to_owned()), TimelineOptions::default());
            assert_eq!(press(&mut model, key), []);
            assert_eq!((model.message().unwrap().text.as_str(), &model.mode), (NOT_LIVE, &Mode::Screen));
        }
    }

    #[test]
    fn pictures_and_the_summary_are_asked_for_by_keys() {
        let mut model = live();
        assert_eq!(press(&mut model, "eE"), [Effect::Save(Picture::Svg), Effect::Save(Picture::Text)]);
        assert_eq!(
            press(&mut model, "y"),
            [Effect::Copy { what: "the summary", text: "00:00:00 measured\n".to_owned() }]
        );
    }
}
