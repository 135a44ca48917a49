//! The effects of mouse clicks on the screen. Keys have the same effects.

use super::{InputMode, Key, KeyCode, Model, Purpose, Typing, action};
use crate::app::{Direction, Knob, Screen};

/// The part of the screen under the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// A knob of the panel.
    Knob(Knob),
    /// A column of the charts.
    Chart {
        /// The column, counted from the left, from 0.
        column: u16,
    },
    /// The name of a screen.
    Tab(Screen),
    /// A command in the palette's list.
    Offer(usize),
    /// Anything else.
    Elsewhere,
}

/// The kind of a mouse action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gesture {
    /// The left button was pressed.
    Click,
    /// The wheel was turned.
    Wheel {
        /// Whether the wheel was turned up.
        up: bool,
    },
}

/// An action of the mouse and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mouse {
    /// The action.
    pub gesture: Gesture,
    /// The place.
    pub spot: Spot,
}

impl Model {
    /// Handles the mouse. The mouse has no effect while a question or an input line is open.
    pub(super) fn on_mouse(&mut self, Mouse { gesture, spot }: Mouse) {
        match (&mut self.mode, gesture, spot) {
            (InputMode::Screen, Gesture::Click, _) => self.click(spot),
            (InputMode::Screen, Gesture::Wheel { up }, _) => self.wheel(spot, up),
            (InputMode::Typing(_), Gesture::Wheel { up }, _) => {
                self.scroll(if up { -1 } else { 1 });
            }
            (
                InputMode::Typing(Typing { purpose: Purpose::Command { chosen }, .. }),
                _,
                Spot::Offer(offer),
            ) => {
                *chosen = offer;
                self.accept_offer();
            }
            _ => {}
        }
    }

    fn click(&mut self, spot: Spot) {
        match spot {
            Spot::Knob(knob) => self.panel.selected = knob,
            Spot::Tab(screen) => self.show(screen),
            Spot::Chart { column } => {
                let axis = self.axis(self.columns);
                self.put_cursor(axis.start_s(column));
                self.play_on();
            }
            Spot::Offer(_) | Spot::Elsewhere => {}
        }
    }

    /// Handles the wheel. Over a chart, the wheel zooms. Over the knobs, the wheel selects a knob. Elsewhere,
    /// the wheel moves through lists, like the arrow keys.
    fn wheel(&mut self, spot: Spot, up: bool) {
        if let Spot::Knob(_) = spot {
            return self.panel.select(if up { Direction::Up } else { Direction::Down });
        }
        if let Spot::Chart { .. } = spot {
            return self.zoom_or_say(up);
        }
        let arrow = Key::plain(if up { KeyCode::Up } else { KeyCode::Down });
        let own = self.context_of_screen();
        if let Some(action) = own.and_then(|own| action(&[own], arrow)) {
            (action.run)(self);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Effect, Msg, TextEntry, UserQuestion, View, update},
        knobs::Knobs,
        session::{Mark, Record, TimelineOptions},
    };

    fn model() -> Model {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        model.push(&Record::Mark(Mark { t_s: 50.0, text: String::new() }));
        model
    }

    fn click(model: &mut Model, spot: Spot) -> Vec<Effect> {
        update(model, Msg::Mouse(Mouse { gesture: Gesture::Click, spot }))
    }

    #[test]
    fn a_click_selects_a_knob_shows_a_screen_or_puts_the_cursor_there() {
        let mut model = model();
        assert_eq!(click(&mut model, Spot::Knob(Knob::Rate)), []);
        assert_eq!((model.panel.selected(), model.panel.wanted.clone()), (Knob::Rate, Knobs::default()));
        click(&mut model, Spot::Tab(Screen::Log));
        assert_eq!(model.screen, Screen::Log);
        assert_eq!(model.view, View::Live);
        click(&mut model, Spot::Chart { column: 20 });
        assert_eq!(model.cursor_s(), Some(model.axis(60).start_s(20)), "the beginning of the column");
        click(&mut model, Spot::Chart { column: 59 });
        assert_eq!(model.cursor_s(), Some(model.axis(60).start_s(59)), "the last column");
    }

    #[test]
    fn the_wheel_selects_a_knob_while_the_mouse_is_over_the_knobs() {
        let mut model = model();
        let wheel = |model: &mut Model, up| {
            update(model, Msg::Mouse(Mouse { gesture: Gesture::Wheel { up }, spot: Spot::Knob(Knob::Keys) }));
            model.panel.selected()
        };
        assert_eq!(
            [false, false, true].map(|up| wheel(&mut model, up)),
            [Knob::Pipeline, Knob::Rate, Knob::Pipeline]
        );
    }

    #[test]
    fn the_wheel_zooms_charts_and_scrolls_an_open_help() {
        let mut model = model();
        model.push(&Record::Mark(Mark { t_s: 500.0, text: String::new() }));
        let before = model.zoom;
        let wheel = |model: &mut Model, up| {
            update(
                model,
                Msg::Mouse(Mouse { gesture: Gesture::Wheel { up }, spot: Spot::Chart { column: 3 } }),
            )
        };
        wheel(&mut model, true);
        assert_ne!(model.zoom, before);
        wheel(&mut model, false);
        assert_eq!(model.zoom, before);
        update(&mut model, Msg::Key(Key::plain(KeyCode::Char('?'))));
        wheel(&mut model, false);
        assert_eq!(model.zoom, before);
        let help = InputMode::Typing(Typing {
            purpose: Purpose::Help { scroll: 1 },
            entry: TextEntry::sentence(""),
        });
        assert_eq!(model.mode, help);
    }

    #[test]
    fn a_click_carries_out_an_offer_but_never_answers_a_question() {
        let mut model = model();
        update(&mut model, Msg::Key(Key::plain(KeyCode::Char(':'))));
        let quit = model.palette().unwrap().1.iter().position(|offer| offer.title == "quit").unwrap();
        assert_eq!(click(&mut model, Spot::Offer(quit)), [Effect::Quit]);
        let question = "Do it?".to_owned();
        model.mode = InputMode::Asking(UserQuestion::Danger(question));
        assert_eq!(click(&mut model, Spot::Tab(Screen::Log)), []);
        assert_eq!(model.screen, Screen::Overview);
    }
}
