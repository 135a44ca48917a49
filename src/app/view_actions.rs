//! The actions that change only what the user sees: the screen, the pane, the selected row, the moment.

use super::{
    Action, Direction, InputMode, Model, Pane, Purpose, Screen, TextEntry, Tone, Typing, bindings,
    list::{moved, turned},
};

impl Model {
    /// Shows a screen, with all its panes.
    fn show(&mut self, screen: Screen) {
        self.screen = screen;
        self.maximised = None;
    }

    /// Carries out an action that changes only the view; ignores all other actions.
    pub(super) fn change_view(&mut self, action: Action) {
        match action {
            Action::Show(screen) if self.screens().any(|shown| shown == screen) => self.show(screen),
            Action::Show(_) => {
                self.show_message(Tone::Info, "this session has one server; the Nodes screen shows several");
            }
            Action::TurnScreen(direction) => self.turn_screen(direction),
            Action::Maximise => self.maximise(),
            Action::Minimise => self.maximised = None,
            Action::ScrollOperations(rows) => self.scroll_operations(rows),
            Action::TurnStretch => self.period = self.period.turned(),
            Action::SortBy(direction) => match self.screen {
                Screen::Nodes => self.sort_nodes(direction),
                _ => self.sort_segments(direction),
            },
            Action::TurnDimension(direction) => self.turn_dimension(direction),
            Action::ReverseOrder => match self.screen {
                Screen::Nodes => self.node_table.reverse(),
                _ => self.segment_table.reverse(),
            },
            Action::PinBaseline => self.pin_baseline(),
            Action::SelectRow(by) => match self.screen {
                Screen::Segments => self.select_segment(by),
                Screen::Log => self.select_line(by),
                Screen::Nodes => self.select_node(by),
                _ => {}
            },
            Action::TurnFilter(direction) => self.turn_filter(direction),
            Action::BeginSearch => self.begin_typing(Purpose::Search, TextEntry::sentence("")),
            Action::FindNext(direction) => self.find_next(direction),
            Action::GoToRow => {
                match self.screen {
                    Screen::Segments => self.go_to_segment(),
                    Screen::Log => self.go_to_line(),
                    Screen::Nodes => self.show_node(),
                    _ => {}
                }
                self.play_on();
            }
            Action::Freeze => self.freeze(),
            Action::Live => self.go_live(),
            Action::Scrub(columns) => {
                self.scrub(columns);
                self.play_on();
            }
            Action::Jump(to) => {
                self.jump(to).unwrap_or_else(|why| self.show_message(Tone::Info, why));
                self.play_on();
            }
            Action::ZoomIn | Action::ZoomOut => {
                self.zoom_by(action == Action::ZoomIn)
                    .unwrap_or_else(|why| self.show_message(Tone::Info, why));
            }
            Action::TurnTimed => self.turn_timed(),
            Action::TurnSpread => self.turn_spread(),
            Action::Play => self.toggle_play(),
            Action::Faster | Action::Slower => self.change_speed(action == Action::Faster),
            _ => {}
        }
    }

    /// Shows the next or previous screen.
    fn turn_screen(&mut self, direction: Direction) {
        let screens: Vec<_> = self.screens().collect();
        let at = screens.iter().position(|screen| *screen == self.screen).unwrap_or(0);
        self.show(screens[turned(at, direction, screens.len())]);
    }

    /// Scrolls the help, or moves the selection of the palette, by this many lines.
    pub(super) fn scroll(&mut self, lines: i16) {
        if let InputMode::Typing(Typing { purpose: Purpose::Help { scroll }, .. }) = &mut self.mode {
            *scroll = scroll.saturating_add_signed(lines).min(bindings().count() as u16 * 4);
        }
        self.choose(lines);
    }

    /// Scrolls the list of operations by this many rows, at most to the last operation.
    pub(super) fn scroll_operations(&mut self, rows: i16) {
        let all = self.shown().segment().map_or(0, |segment| segment.total.commands.len());
        self.first_operation = moved(self.first_operation, rows, all);
    }

    fn maximise(&mut self) {
        if self.screen.panes().is_empty() {
            self.show_message(Tone::Info, format!("the screen {} has one part only", self.screen.name()));
        }
        self.maximised = Pane::after(self.screen, self.maximised);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Context, update::tests::press},
        knobs::Knobs,
        session::TimelineOptions,
    };

    fn model() -> Model {
        Model::new(Knobs::default(), TimelineOptions::default())
    }

    #[test]
    fn a_part_is_maximised_in_turn_and_another_screen_shows_all_of_its_parts() {
        let mut model = model();
        press(&mut model, "z");
        assert_eq!((model.maximised, model.contexts()[0]), (Some(Pane::Throughput), Context::Maximised));
        press(&mut model, "z");
        assert_eq!(model.maximised, Some(Pane::Latency));
        press(&mut model, "\x1b");
        assert_eq!(model.maximised, None);
        press(&mut model, "z4z");
        assert_eq!(model.maximised, None);
        assert_eq!(model.message().unwrap().text, "the screen Segments has one part only");
    }

    #[test]
    fn arrow_keys_move_in_lists_and_do_not_change_hidden_knobs() {
        let mut model = model();
        for screen in ['4', '5'] {
            assert_eq!(press(&mut model, &format!("{screen}^<>\n")), []);
            assert_eq!(model.panel.wanted, Knobs::default());
        }
    }

    #[test]
    fn a_search_takes_every_character_until_enter_or_escape() {
        let mut model = model();
        press(&mut model, "5/");
        assert_eq!(model.contexts()[0], Context::Search);
        assert_eq!(press(&mut model, "q?\x08"), []);
        assert_eq!(model.search_text(), "q");
        press(&mut model, "\x1b");
        assert_eq!((model.search_text().as_str(), model.contexts()[0]), ("", Context::Screen(Screen::Log)));
    }
}
