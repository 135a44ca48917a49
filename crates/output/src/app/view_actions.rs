//! The effects of keys. Most effects change only the view: the screen, the pane, the selected row or the moment.

use super::{
    Direction, Effect, InputMode, JumpTarget, Model, Order, Pane, Purpose, Screen, TextEntry, Tone, Typing,
    list::{moved, turned},
};
use crate::{knobs::Knobs, print::summary, session::timeline::IntrinsicRun};

/// The default length of an intrinsic run, as text in the input line.
const USUAL_INTRINSIC_S: &str = "10";

impl Model {
    /// Shows a screen, with all its panes.
    pub(super) fn show(&mut self, screen: Screen) {
        if !self.screens().any(|shown| shown == screen) {
            let text = "this session has only one server; the Nodes screen needs several servers";
            return self.show_message(Tone::Info, text);
        }
        self.screen = screen;
        self.maximised = None;
    }

    pub(super) fn open_help(&mut self) {
        self.begin_typing(Purpose::Help { scroll: 0 }, TextEntry::sentence(""));
    }

    pub(super) fn toggle_load(&mut self) {
        let wanted = self.panel.wanted.clone();
        self.send_order(Order::SetKnobs(Knobs { load: !wanted.load, ..wanted }));
    }

    /// Changes the selected knob by a step.
    pub(super) fn turn_knob(&mut self, direction: Direction) {
        let turned = self.panel.turned(direction, self.timeline().ops_per_s());
        self.propose_or_warn(turned.map(Some));
    }

    /// Changes the selected parameter of the server by a step. redyno asks first.
    pub(super) fn turn_parameter(&mut self, direction: Direction) {
        let turned = self.turned_parameter(direction);
        self.ask_to_set(turned.map(Some));
    }

    pub(super) fn toggle_intrinsic(&mut self) {
        if self.timeline().intrinsic_run().is_some_and(IntrinsicRun::is_running) {
            self.request(Order::StopIntrinsic);
        } else {
            self.begin_typing(Purpose::Intrinsic, TextEntry::quantity(USUAL_INTRINSIC_S));
        }
    }

    pub(super) fn toggle_gentle_intrinsic(&mut self) {
        self.gentle_intrinsic = !self.gentle_intrinsic;
        self.request(Order::GentleIntrinsic(self.gentle_intrinsic));
    }

    pub(super) fn copy_summary(&mut self) {
        let text = summary(self.timeline(), &self.node_states(), &self.files);
        self.request(Effect::Copy { what: "the summary", text });
    }

    /// Sorts the table of the segments or the nodes by the next column to the left or right.
    pub(super) fn sort_by(&mut self, direction: Direction) {
        match self.screen {
            Screen::Nodes => self.sort_nodes(direction),
            _ => self.sort_segments(direction),
        }
    }

    pub(super) fn reverse_order(&mut self) {
        match self.screen {
            Screen::Nodes => self.node_table.reverse(),
            _ => self.segment_table.reverse(),
        }
    }

    /// Moves the selection of a list by this many rows.
    pub(super) fn select_row(&mut self, by: i16) {
        match self.screen {
            Screen::Segments => self.select_segment(by),
            Screen::Log => self.select_line(by),
            Screen::Nodes => self.select_node(by),
            _ => {}
        }
    }

    pub(super) fn go_to_row(&mut self) {
        match self.screen {
            Screen::Segments => self.go_to_segment(),
            Screen::Log => self.go_to_line(),
            Screen::Nodes => self.show_node(),
            _ => {}
        }
        self.play_on();
    }

    /// Moves the cursor by this many columns.
    pub(super) fn move_cursor(&mut self, columns: i32) {
        self.scrub(columns);
        self.play_on();
    }

    /// Moves the cursor to a special moment. If there is no such moment, shows the reason.
    pub(super) fn jump_to(&mut self, to: JumpTarget) {
        self.jump(to).unwrap_or_else(|why| self.show_message(Tone::Info, why));
        self.play_on();
    }

    /// Shows a shorter or longer period. If this is impossible, shows the reason.
    pub(super) fn zoom_or_say(&mut self, closer: bool) {
        self.zoom_by(closer).unwrap_or_else(|why| self.show_message(Tone::Info, why));
    }

    /// Shows the next or previous screen.
    pub(super) fn turn_screen(&mut self, direction: Direction) {
        let screens: Vec<_> = self.screens().collect();
        let at = screens.iter().position(|screen| *screen == self.screen).unwrap_or(0);
        self.show(screens[turned(at, direction, screens.len())]);
    }

    /// Scrolls the help, or moves the selection of the palette, by this many lines.
    pub(super) fn scroll(&mut self, lines: i16) {
        if let InputMode::Typing(Typing { purpose: Purpose::Help { scroll }, .. }) = &mut self.mode {
            *scroll = scroll.saturating_add_signed(lines);
        }
        self.choose(lines);
    }

    /// Limits the scroll position of the help.
    pub(super) fn limit_help(&mut self, last: u16) {
        if let InputMode::Typing(Typing { purpose: Purpose::Help { scroll }, .. }) = &mut self.mode {
            *scroll = (*scroll).min(last);
        }
    }

    /// Scrolls the list of operations by this many rows, at most to the last operation.
    pub(super) fn scroll_operations(&mut self, rows: i16) {
        let all = self.shown().segment().map_or(0, |segment| segment.total.commands.len());
        self.first_operation = moved(self.first_operation, rows, all);
    }

    pub(super) fn maximise(&mut self) {
        if self.screen.panes().is_empty() {
            self.show_message(Tone::Info, format!("the screen {} has only one part", self.screen.name()));
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
        assert_eq!(model.message().unwrap().text, "the screen Segments has only one part");
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
