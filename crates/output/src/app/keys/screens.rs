//! The table of the screens: the name, keys and actions of each screen. A second table, in `tui/screens`, has the
//! functions that draw the screens.
//!
//! To add a screen, add a [`ScreenRow`], a line in both tables, and a file in `tui/screens` that draws the screen. The
//! key that shows the screen belongs in `modes.rs`. The code for keys, help, footer, palette, manual and mouse reads
//! these tables. The state of a screen is a field of the model.

use super::{Binding, Context, KeyCode, ROWS, ROWS_WRITTEN, Screen, does, key, on};
use crate::app::{
    Direction::{Down, Up},
    Model, Pane, Purpose, TextEntry,
};

/// A row of the table of screens.
struct ScreenRow {
    /// The name of the screen.
    name: &'static str,
    /// The key that shows the screen.
    key: char,
    /// The keys that work only on this screen.
    keys: &'static [Binding],
    /// Whether keys of this screen change the server's parameters. Keys that change parameters do not work in a
    /// recording.
    turns_parameters: bool,
    /// The panes that can be shown alone.
    panes: &'static [Pane],
}

impl ScreenRow {
    /// The default: no keys and no panes.
    const PLAIN: Self = Self { name: "", key: ' ', keys: &[], turns_parameters: false, panes: &[] };
}

/// The Overview: load, latency, probes and server on one time axis, with the knobs. The arrow keys change the knobs.
const OVERVIEW: ScreenRow = ScreenRow {
    name: "Overview",
    key: '1',
    keys: key_table! {
        in Context::Screen(Screen::Overview);
        &[does(&[on('L')], "linear or logarithmic throughput axis", Model::turn_spread)],
            "L", Some(("L", "log axis", 9)),
            "Show the throughput on a logarithmic axis, which has room for all segments. \
             Press L again for a linear axis, which shows the details of the last segment or of the segment at the cursor.";
        &[does(&[on('v')], "response or service time in the chart", Model::turn_timed)],
            "v", Some(("v", "response/service", 9)),
            "Show service times in the latency chart. A service time begins when a request is written. Press v again for \
             response times. A response time begins when a request is due, and avoids coordinated omission. In a closed \
             loop, response and service times are equal.";
    },
    panes: &[Pane::Throughput, Pane::Latency, Pane::Probes, Pane::Panel],
    ..ScreenRow::PLAIN
};

/// The Latency screen: distributions and percentiles in full.
const LATENCY: ScreenRow = ScreenRow {
    name: "Latency",
    key: '2',
    keys: key_table! {
        in Context::Screen(Screen::Latency);
        &[does(&[on('t')], "show the distributions of another period", |model| model.period = model.period.turned())],
            "t", Some(("t", "now/minute/segment", 1)),
            "Show the distributions of the last second, of the last minute or of the whole segment.";
        &[does(&[on('J')], "scroll the operations down", |model| model.scroll_operations(1)),
            does(&[on('K')], "scroll the operations up", |model| model.scroll_operations(-1))],
            "J, K", Some(("J, K", "operations", 9)),
            "Scroll the table of the operations. A workload with more than four operations has this table.";
    },
    panes: &[Pane::Curve, Pane::Percentiles, Pane::Distribution],
    ..ScreenRow::PLAIN
};

/// The Server screen: the server's own figures and its parameters. The arrow keys change the parameters.
const SERVER: ScreenRow = ScreenRow {
    name: "Server",
    key: '3',
    keys: key_table! {
        in Context::Screen(Screen::Server);
        &[does(&[key(KeyCode::Up), on('k')], "select the previous parameter", |model| model.config.select(Up)),
            does(&[key(KeyCode::Down), on('j')], "select the next parameter", |model| model.config.select(Down))],
            "↑, ↓, k, j", Some(("↑↓", "parameter", 2)),
            "Select a parameter of the server.";
        &[does(&[key(KeyCode::Left)], "set the parameter a step down", |model| model.turn_parameter(Down)),
            does(&[key(KeyCode::Right)], "set the parameter a step up", |model| model.turn_parameter(Up))],
            "←, →", Some(("←→", "set", 2)),
            "Set the selected parameter one step lower or higher. redyno asks first. A new segment begins. redyno restores the \
             old value at the end of the session.";
        &[does(&[key(KeyCode::Enter)], "type a value for the parameter", Model::type_parameter)],
            "Enter", Some(("Enter", "type", 4)),
            "Type a value for the selected parameter, such as 100mb, 1.5 GiB or 5ms, or choose a value from its list.";
    },
    turns_parameters: true,
    ..ScreenRow::PLAIN
};

/// The Segments screen: all segments, with their knobs and results.
const SEGMENTS: ScreenRow = ScreenRow {
    name: "Segments",
    key: '4',
    keys: key_table! {
        in Context::Screen(Screen::Segments);
        ROWS, ROWS_WRITTEN, Some(("↑↓", "select", 2)),
            "Select a segment.";
        &[does(&[key(KeyCode::Left)], "sort by the column to the left", |model| model.sort_by(Down)),
            does(&[key(KeyCode::Right)], "sort by the column to the right", |model| model.sort_by(Up))],
            "←, →", Some(("←→", "sort", 2)),
            "Sort by the next column to the left or right.";
        &[does(&[on('R')], "reverse the order of the rows", Model::reverse_order)],
            "R", Some(("R", "reverse", 4)),
            "Reverse the order.";
        &[does(&[on('b')], "pin the segment as baseline, or unpin it", Model::pin_baseline)],
            "b", Some(("b", "baseline", 1)),
            "Make the selected segment the baseline: the table shows the differences from the baseline, and \
             whether they are more than noise. Press b on the baseline to unpin it.";
        &[does(&[key(KeyCode::Enter)], "go to the moment of the selected row", Model::go_to_row)],
            "Enter", Some(("Enter", "go there", 3)),
            "Freeze the view, with the cursor in the selected segment.";
    },
    ..ScreenRow::PLAIN
};

/// The Log screen: events and errors as text.
const LOG: ScreenRow = ScreenRow {
    name: "Log",
    key: '5',
    keys: key_table! {
        in Context::Screen(Screen::Log);
        ROWS, ROWS_WRITTEN, Some(("↑↓", "select", 2)),
            "Select a line. While the last line is selected, the selection follows new lines.";
        &[does(&[key(KeyCode::Left)], "log, previous kind", |model| model.turn_filter(Down)),
            does(&[key(KeyCode::Right)], "log, next kind", |model| model.turn_filter(Up))],
            "←, →", Some(("←→", "kind", 4)),
            "Show everything, or only events, errors, marks or segments.";
        &[does(&[on('/')], "search the log", |model| model.begin_typing(Purpose::Search, TextEntry::sentence("")))],
            "/", Some(("/", "search", 1)),
            "Search for a text; case does not matter.";
        &[does(&[on('n')], "log, next hit", |model| model.find_next(Down)),
            does(&[on('N')], "log, previous hit", |model| model.find_next(Up))],
            "n, N", Some(("n", "next", 4)),
            "Go to the next match below or above.";
        &[does(&[key(KeyCode::Enter)], "go to the moment of the selected row", Model::go_to_row)],
            "Enter", Some(("Enter", "go there", 3)),
            "Freeze the view, with the cursor at the moment of the selected line. An entry of the slow log is shown in full.";
    },
    ..ScreenRow::PLAIN
};

/// The Curve screen: throughput and latency as functions of the value of a knob.
const CURVE: ScreenRow = ScreenRow {
    name: "Curve",
    key: '6',
    keys: key_table! {
        in Context::Screen(Screen::Curve);
        &[does(&[key(KeyCode::Left)], "draw the curve over the previous knob", |model| model.turn_dimension(Down)),
            does(&[key(KeyCode::Right)], "draw the curve over the next knob", |model| model.turn_dimension(Up))],
            "←, →", Some(("←→", "over", 1)),
            "Draw the curve over another knob or server parameter that has had several values in this session. By default, \
             the curve shows the knob of the experiment, or the knob that was changed most.";
    },
    ..ScreenRow::PLAIN
};

/// The Nodes screen: a row for each server of the session.
const NODES: ScreenRow = ScreenRow {
    name: "Nodes",
    key: '7',
    keys: key_table! {
        in Context::Screen(Screen::Nodes);
        ROWS, ROWS_WRITTEN, Some(("↑↓", "select", 2)),
            "Select a node.";
        &[does(&[key(KeyCode::Left)], "sort by the column to the left", |model| model.sort_by(Down)),
            does(&[key(KeyCode::Right)], "sort by the column to the right", |model| model.sort_by(Up))],
            "←, →", Some(("←→", "sort", 2)),
            "Sort the nodes by another column. At first, the nodes are in the order in which redyno found them.";
        &[does(&[on('R')], "reverse the order of the rows", Model::reverse_order)],
            "R", Some(("R", "reverse", 4)),
            "Reverse the order.";
        &[does(&[key(KeyCode::Enter)], "go to the moment of the selected row", Model::go_to_row)],
            "Enter", Some(("Enter", "show this node", 1)),
            "Show the selected node on all other screens.";
    },
    ..ScreenRow::PLAIN
};

const TABLE: [ScreenRow; Screen::ALL.len()] = [OVERVIEW, LATENCY, SERVER, SEGMENTS, LOG, CURVE, NODES];

impl Screen {
    /// All screens, in the order of their keys.
    pub const ALL: [Self; 7] =
        [Self::Overview, Self::Latency, Self::Server, Self::Segments, Self::Log, Self::Curve, Self::Nodes];

    const fn row(self) -> &'static ScreenRow {
        const ROWS: &[ScreenRow] = &TABLE;
        &ROWS[self as usize]
    }

    /// Returns the name of the screen.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the key that shows the screen.
    pub const fn key(self) -> char {
        self.row().key
    }

    /// Returns the panes that can be shown alone. Empty if the screen is a single table.
    pub fn panes(self) -> &'static [Pane] {
        self.row().panes
    }

    /// Returns the keys that work only on this screen.
    pub(in crate::app) fn keys(self) -> &'static [Binding] {
        self.row().keys
    }

    /// Returns whether the screen's keys change the server's parameters.
    pub(in crate::app) fn turns_parameters(self) -> bool {
        self.row().turns_parameters
    }
}

impl Pane {
    /// Returns the pane to show alone after the pane `shown`. `None` means the whole screen, which follows the last
    /// pane.
    pub(in crate::app) fn after(screen: Screen, shown: Option<Self>) -> Option<Self> {
        let panes = screen.panes();
        let next =
            shown.and_then(|shown| panes.iter().position(|pane| *pane == shown)).map_or(0, |at| at + 1);
        panes.get(next).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_screen_finds_its_own_row_and_each_row_binds_its_own_keys() {
        for (n, screen) in Screen::ALL.into_iter().enumerate() {
            assert_eq!(screen as usize, n);
            assert!(screen.keys().iter().all(|binding| binding.context == Context::Screen(screen)));
        }
    }

    #[test]
    fn each_pane_comes_once_and_then_the_whole_screen() {
        for screen in Screen::ALL {
            let mut shown = Pane::after(screen, None);
            for pane in screen.panes() {
                assert_eq!(shown, Some(*pane));
                shown = Pane::after(screen, shown);
            }
            assert_eq!(shown, None);
        }
    }
}
