//! The questions on the screen, and the effects of the answers.
//!
//! A question of the session can arrive at any moment. If the user is typing a text or answering another question, the
//! next letter would count as the answer to the new question. The screen therefore shows the new question only after
//! the user has finished.

use super::{InputMode, Model, Order, Tone, UserQuestion};
use crate::{experiment::Interruption, server::KeyMethod};

impl UserQuestion {
    /// Returns whether this is a question of the session. Such questions are about load settings.
    pub(super) fn is_of_session(&self) -> bool {
        matches!(self, Self::FirstWrite(_) | Self::Danger(_))
    }
}

impl Model {
    /// Asks the user a question. A question of the session replaces the session's last question, but is shown
    /// only after the user has finished typing or has answered another question.
    pub(super) fn ask(&mut self, question: UserQuestion) {
        let of_session = |mode: &InputMode| matches!(mode, InputMode::Asking(open) if open.is_of_session());
        if !question.is_of_session() {
            if of_session(&self.mode)
                && let InputMode::Asking(open) = std::mem::take(&mut self.mode)
            {
                self.pending = Some(open);
            }
            self.mode = InputMode::Asking(question);
        } else if self.mode == InputMode::Screen || of_session(&self.mode) {
            self.mode = InputMode::Asking(question);
        } else {
            self.pending = Some(question);
            self.show_message(Tone::Warning, "redyno has a question; close this view to see the question");
        }
    }

    /// Asks the waiting question of the session, if the user is not typing a text and no other question is
    /// open.
    pub(super) fn ask_pending(&mut self) {
        if self.mode == InputMode::Screen
            && let Some(question) = self.pending.take()
        {
            self.mode = InputMode::Asking(question);
        }
    }

    /// Returns whether the session waits for the user's answer about load settings.
    pub(super) fn is_asked(&self) -> bool {
        self.pending.is_some() || matches!(&self.mode, InputMode::Asking(open) if open.is_of_session())
    }

    /// Closes the question of the session. The session asks again if other load settings need an answer.
    pub(super) fn drop_question(&mut self) {
        self.pending = None;
        if self.is_asked() {
            self.mode = InputMode::Screen;
        }
    }
}

/// Carries out the action of the open question, after the answer yes.
pub(super) fn agree(model: &mut Model) {
    match std::mem::take(&mut model.mode) {
        InputMode::Asking(UserQuestion::SetConfig(setting)) => model.set_parameter(setting),
        InputMode::Asking(UserQuestion::Experiment { asked, .. }) => model.begin_experiment(asked),
        InputMode::Asking(UserQuestion::FirstWrite(_) | UserQuestion::Danger(_)) => {
            model.request(Order::AllowWrites(true));
        }
        InputMode::Asking(UserQuestion::Monitor(_)) => model.begin_sampling(KeyMethod::Monitor),
        _ => {}
    }
}

/// Closes the overlay. For a question, closing means the answer no.
pub(super) fn dismiss(model: &mut Model) {
    match std::mem::take(&mut model.mode) {
        InputMode::Asking(UserQuestion::FirstWrite(_)) => {
            let knobs = model.panel.set_load(false);
            model.interrupt_experiment(Interruption::LoadOff("nothing may be written".to_owned()));
            model.show_message(Tone::Info, "nothing was written; the load stays off");
            model.request(Order::AllowWrites(false));
            model.request(Order::SetKnobs(knobs));
        }
        InputMode::Asking(UserQuestion::SetConfig(_)) => model.show_message(Tone::Info, "nothing was set"),
        InputMode::Asking(UserQuestion::Experiment { .. }) => {
            model.show_message(Tone::Info, "the experiment did not start");
        }
        InputMode::Asking(UserQuestion::Danger(_)) => model.drop_proposal(),
        InputMode::Asking(UserQuestion::Monitor(_)) => model.mode = InputMode::Keys,
        InputMode::Keys => model.stop_sampling(),
        InputMode::Screen
        | InputMode::Typing(_)
        | InputMode::CommandLine { .. }
        | InputMode::InFull { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Delivery, Effect, LoadState, Msg, Notice, update, update::tests::press},
        knobs::Knobs,
        session::TimelineOptions,
    };

    fn model() -> Model {
        Model::new(Knobs::default(), TimelineOptions::default())
    }

    fn deliver(model: &mut Model, notice: Notice) {
        update(model, Msg::Delivery(Delivery::Notice(0, notice)));
    }

    fn asked(model: &Model) -> Option<&UserQuestion> {
        match &model.mode {
            InputMode::Asking(question) => Some(question),
            _ => None,
        }
    }

    #[test]
    fn a_letter_of_an_entry_answers_no_question_and_the_question_follows_the_entry() {
        for notice in [Notice::FirstWrite("Write?".to_owned()), Notice::Danger("Write?".to_owned())] {
            let mut model = model();
            press(&mut model, "lmm");
            deliver(&mut model, notice);
            assert_eq!((press(&mut model, "y test"), model.load_state()), (vec![], LoadState::Asking));
            let effects = press(&mut model, "\n");
            assert!(matches!(&effects[..], [Effect::Order(Order::Mark(mark))] if mark.text == "my test"));
            assert!(asked(&model).is_some());
            assert_eq!(press(&mut model, "y"), [Effect::Order(Order::AllowWrites(true))]);
            assert_eq!(model.mode, InputMode::Screen);
        }
    }

    #[test]
    fn a_question_of_the_session_follows_another_question_and_replaces_its_own_last_one() {
        let mut model = model();
        press(&mut model, ":ab config appendfsync always\n");
        let experiment = model.mode.clone();
        deliver(&mut model, Notice::FirstWrite("Write?".to_owned()));
        deliver(&mut model, Notice::FirstWrite("Write more?".to_owned()));
        assert_eq!(model.mode, experiment);
        press(&mut model, "n");
        let more = UserQuestion::FirstWrite("Write more?".to_owned());
        assert_eq!(asked(&model), Some(&more));
        model.ask(UserQuestion::Monitor("MONITOR?".to_owned()));
        deliver(&mut model, Notice::Danger("Fill it?".to_owned()));
        press(&mut model, "n");
        assert_eq!(model.mode, InputMode::Keys);
        press(&mut model, "\x1b");
        assert_eq!(asked(&model), Some(&UserQuestion::Danger("Fill it?".to_owned())));
    }

    #[test]
    fn other_load_settings_close_the_question_about_the_last_ones() {
        let mut model = model();
        press(&mut model, "l:");
        deliver(&mut model, Notice::FirstWrite("Write?".to_owned()));
        assert_eq!(press(&mut model, "clients 7\n").len(), 1);
        assert_eq!(model.mode, InputMode::Screen);
    }
}
