//! The table of the screens: what each is called, which keys it has, what can be done on it. How they are drawn is the
//! terminal's table.
//!
//! Another screen is a [`ScreenRow`] here, a file in `tui/screens` that draws it, and a line in either table.
//! Keys, help, footer, palette, manual and mouse read the tables; a state of its own is a field of the model.

use super::{Action, Binding, Context, KeyCode, ROWS, ROWS_WRITTEN, key, on};
use crate::app::Direction::{Down, Up};

/// The screens, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Screen {
    /// Load, latency, probes, server and knobs on one time axis.
    #[default]
    Overview,
    /// Distributions and percentiles in full.
    Latency,
    /// What the server says of itself.
    Server,
    /// All segments with their knobs and results.
    Segments,
    /// Events and errors in words.
    Log,
    /// Throughput and latency over the value of a knob.
    Curve,
}

/// A row of the table.
struct ScreenRow {
    /// Its name.
    name: &'static str,
    /// The key that shows it.
    key: char,
    /// What keys do on it alone.
    keys: &'static [Binding],
    /// Whether these turn the parameters of the server, which can be done now and not in the past.
    turns_parameters: bool,
    /// What of it can be shown alone.
    panes: &'static [Pane],
}

impl ScreenRow {
    /// A screen without keys, panes and rows of its own.
    const PLAIN: Self = Self { name: "", key: ' ', keys: &[], turns_parameters: false, panes: &[] };
}

/// The Overview: load, latency, probes and server on one time axis, beside the knobs, which its arrows turn.
const OVERVIEW: ScreenRow = ScreenRow {
    name: "Overview",
    key: '1',
    keys: key_table! {
        in Context::Screen(Screen::Overview);
        &[(on('L'), Action::TurnSpread)], "L", Some(("L", "log axis", 9)),
            "Show the throughput on a logarithmic axis, on which all segments have room; again: on a linear one, on which \
             the last segment, or that of the cursor, is seen closely.";
        &[(on('v'), Action::TurnTimed)], "v", Some(("v", "response/service", 9)),
            "Show in the latency chart of an open loop the service time, from when each request was written; again: the \
             response time, from when it was due. In closed loop the two are one.";
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
        &[(on('t'), Action::TurnStretch)], "t", Some(("t", "now/minute/segment", 1)),
            "Show the distributions of the last second, the last minute or the whole segment.";
        &[(on('J'), Action::ScrollOperations(1)), (on('K'), Action::ScrollOperations(-1))],
            "J, K", Some(("J, K", "operations", 9)),
            "Scroll the table of the operations, of which there is one where a workload has more than four.";
    },
    panes: &[Pane::Curve, Pane::Percentiles, Pane::Distribution],
    ..ScreenRow::PLAIN
};

/// The Server screen: what the server says of itself, and its parameters, which the arrows turn.
const SERVER: ScreenRow = ScreenRow {
    name: "Server",
    key: '3',
    keys: key_table! {
        in Context::Screen(Screen::Server);
        &[(key(KeyCode::Up), Action::SelectParameter(Up)), (key(KeyCode::Down), Action::SelectParameter(Down)),
            (on('k'), Action::SelectParameter(Up)), (on('j'), Action::SelectParameter(Down))],
            "↑, ↓, k, j", Some(("↑↓", "parameter", 2)),
            "Select a parameter of the server.";
        &[(key(KeyCode::Left), Action::TurnParameter(Down)), (key(KeyCode::Right), Action::TurnParameter(Up))],
            "←, →", Some(("←→", "set", 2)),
            "Set it a step down or up, after a question. A new segment begins; the old value comes back at the end.";
        &[(key(KeyCode::Enter), Action::TypeParameter)], "Enter", Some(("Enter", "type", 4)),
            "Type a value for it: 100mb, 1.5 GiB, 5ms; of words, choose one of the list.";
    },
    turns_parameters: true,
    ..ScreenRow::PLAIN
};

/// The Segments screen: all segments with their knobs and results.
const SEGMENTS: ScreenRow = ScreenRow {
    name: "Segments",
    key: '4',
    keys: key_table! {
        in Context::Screen(Screen::Segments);
        ROWS, ROWS_WRITTEN, Some(("↑↓", "select", 2)),
            "Select a segment.";
        &[(key(KeyCode::Left), Action::SortBy(Down)), (key(KeyCode::Right), Action::SortBy(Up))],
            "←, →", Some(("←→", "sort", 2)),
            "Sort by the next column to the left or right.";
        &[(on('R'), Action::ReverseOrder)], "R", Some(("R", "reverse", 4)),
            "Reverse the order.";
        &[(on('b'), Action::PinBaseline)], "b", Some(("b", "baseline", 1)),
            "Compare all others with the selected segment: differences, and whether they are more than noise. \
             Again on the same one: let it go.";
        &[(key(KeyCode::Enter), Action::GoToRow)], "Enter", Some(("Enter", "go there", 3)),
            "Freeze the view in the selected segment.";
    },
    ..ScreenRow::PLAIN
};

/// The Log screen: events and errors in words.
const LOG: ScreenRow = ScreenRow {
    name: "Log",
    key: '5',
    keys: key_table! {
        in Context::Screen(Screen::Log);
        ROWS, ROWS_WRITTEN, Some(("↑↓", "select", 2)),
            "Select a line. At the last one, new lines are followed.";
        &[(key(KeyCode::Left), Action::TurnFilter(Down)), (key(KeyCode::Right), Action::TurnFilter(Up))],
            "←, →", Some(("←→", "kind", 4)),
            "Show everything, or only events, errors, marks or segments.";
        &[(on('/'), Action::BeginSearch)], "/", Some(("/", "search", 1)),
            "Look for a text, in upper or lower case.";
        &[(on('n'), Action::FindNext(Down)), (on('N'), Action::FindNext(Up))], "n, N", Some(("n", "next", 4)),
            "Go to the next hit below, or above.";
        &[(key(KeyCode::Enter), Action::GoToRow)], "Enter", Some(("Enter", "go there", 3)),
            "Freeze the view at the moment of the selected line.";
    },
    ..ScreenRow::PLAIN
};

/// The Curve screen: throughput and latency over the value of a knob.
const CURVE: ScreenRow = ScreenRow {
    name: "Curve",
    key: '6',
    keys: key_table! {
        in Context::Screen(Screen::Curve);
        &[(key(KeyCode::Left), Action::TurnDimension(Down)), (key(KeyCode::Right), Action::TurnDimension(Up))],
            "←, →", Some(("←→", "over", 1)),
            "Lay the curve over another knob, or a parameter of the server, of those that have more than one value in the \
             segments of the session. By itself it lies over what an experiment is about, or what was turned most.";
    },
    ..ScreenRow::PLAIN
};

const TABLE: [(Screen, ScreenRow); 6] = [
    (Screen::Overview, OVERVIEW),
    (Screen::Latency, LATENCY),
    (Screen::Server, SERVER),
    (Screen::Segments, SEGMENTS),
    (Screen::Log, LOG),
    (Screen::Curve, CURVE),
];

impl Screen {
    /// All of them, in the order of the table.
    pub const ALL: [Self; TABLE.len()] = {
        let mut all = [Self::Overview; TABLE.len()];
        let mut n = 0;
        while n < all.len() {
            all[n] = TABLE[n].0;
            n += 1;
        }
        all
    };

    const fn row(self) -> &'static ScreenRow {
        const ROWS: &[(Screen, ScreenRow)] = &TABLE;
        &ROWS[self as usize].1
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The key that shows it.
    pub const fn key(self) -> char {
        self.row().key
    }

    /// What of it can be shown alone; nothing where it is one table.
    pub fn panes(self) -> &'static [Pane] {
        self.row().panes
    }

    /// What keys do on it alone.
    pub(in crate::app) fn keys(self) -> &'static [Binding] {
        self.row().keys
    }

    /// Whether its keys turn the parameters of the server.
    pub(in crate::app) fn turns_parameters(self) -> bool {
        self.row().turns_parameters
    }

    /// The one so many further, round the end.
    pub(in crate::app) fn turned(self, by: usize) -> Self {
        Self::ALL[(self as usize + by) % Self::ALL.len()]
    }
}

/// A pane of a screen that can be shown alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    /// The throughput over time.
    Throughput,
    /// The latency over time.
    Latency,
    /// The lanes of probes and server.
    Probes,
    /// The knobs and the tables below them.
    Panel,
    /// The curve of the percentiles.
    Curve,
    /// Their table.
    Percentiles,
    /// The distribution as bars.
    Distribution,
}

impl Pane {
    /// What is shown after `shown`: the first pane, then each, then the whole screen again.
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
            assert_eq!((screen as usize, screen.turned(Screen::ALL.len())), (n, screen));
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
