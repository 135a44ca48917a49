//! The layout: computes the position of each part of the screen from the size of the terminal.
//!
//! ```text
//!  header                                     ┐ always
//!  status line                                ┘
//!  ─ commands ──────── without load
//!  ─ throughput ────────────────── ┬─ knobs ─   gutter | plot | names | values ┬ panel
//!  ─ latency ───────────────── now ├─ ping ──
//!                                  ├─ …
//!  ─ probes, server ────────────── │
//!  segments, events, moments       │
//!  knobs: without load, and on a screen without a panel
//!  news, server line: in a frozen view, the values at the cursor
//!  footer
//! ```
//! On a small terminal, the layout leaves out whole parts, the least important part first. A visible part always has
//! all rows that it needs.

use ratatui::layout::Rect;

use super::paint::row;
use crate::app::{Pane, Subject};

/// The class of a screen size. The class decides which parts are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tier {
    /// Room for charts with a panel at their right.
    Panel,
    /// Room for charts, with the knobs in one or two lines below.
    Compact,
    /// Room for a list, but not for charts.
    List,
    /// Room for a single line.
    #[default]
    Line,
}

/// The widths that all charts share, so that a moment is at the same column in each chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Columns {
    /// Width of the names and axis labels left of the plot.
    pub gutter: u16,
    /// Width of the plot.
    pub plot: u16,
    /// Width of the names right of the plot, with the mark and the blank before each name.
    pub name: u16,
    /// The number of figures right of each name, at most three: now, 60 s and segment.
    pub values: u16,
    /// Width of each figure.
    pub value: u16,
}

/// The layout of the screen: the areas of its parts. The layout is computed once for each frame, and used for drawing
/// and for the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScreenPlan {
    /// The whole screen.
    pub area: Rect,
    /// The class of the screen's size.
    pub tier: Tier,
    /// The header: target, load and time.
    pub header: Rect,
    /// The status line.
    pub status: Rect,
    /// The rows between status line and footer, which each screen fills with its own content.
    pub body: Rect,
    /// The throughput: a horizontal rule and the chart.
    pub throughput: Rect,
    /// The server's commands, while the charts are about the server: a heading and a table.
    pub commands: Rect,
    /// The latency: a horizontal rule and the chart.
    pub latency: Rect,
    /// The lanes of the probes and of the server. A lane is a chart of one or more rows. Above the lanes is a
    /// horizontal rule if there is room.
    pub probes: Rect,
    /// The height of each lane, in rows.
    pub probe_rows: u16,
    /// Whether there is a horizontal rule above the lanes.
    pub probe_rule: bool,
    /// The time axis. With three rows, the axis shows segments, events and times. With two rows, segments and events
    /// share a row.
    pub axis: Rect,
    /// Knobs and tables next to the charts.
    pub panel: Rect,
    /// The knobs in one or two lines, on a screen whose panel does not show knobs.
    pub knob_line: Rect,
    /// The latest events. Empty if there is no room.
    pub news: Rect,
    /// The server's own figures.
    pub server: Rect,
    /// The footer: the available keys.
    pub footer: Rect,
    /// The columns of all charts.
    pub columns: Columns,
}

/// The largest number of lanes for probes and server.
pub const PROBE_LANES: u16 = 8;
/// Up to this number of lanes, no line is drawn above them.
const LANES_WITHOUT_RULE: u16 = 2;
/// The minimum width of a screen with a panel. On a narrower screen, charts next to a panel would have fewer than 56
/// columns.
const PANEL_MIN_WIDTH: u16 = 106;
/// The minimum height of a screen with a panel. On a screen with fewer rows, the knobs alone would fill the panel.
const PANEL_MIN_HEIGHT: u16 = 18;
/// The minimum width and height of a screen with charts. The charts need their horizontal rules, five rows
/// for latency, two rows for throughput, and one row each for ping, axis and knobs.
pub const COMPACT_MIN: (u16, u16) = (46, 14);
/// The minimum width and height of a screen with a list: header, status line, footer, a heading, and four rows.
const LIST_MIN: (u16, u16) = (30, 8);

impl ScreenPlan {
    /// Returns the number of columns of the charts.
    pub fn chart_columns(&self) -> u16 {
        match self.columns.plot {
            // Without a chart, the number of columns does not matter.
            0 => self.area.width,
            plot => plot,
        }
    }
}

/// Returns the layout for a terminal with the size of `area` and charts about `subject`. If `alone` is set, the layout
/// contains only the pane `alone`, provided that there is room for charts.
pub fn plan(area: Rect, subject: Subject, alone: Option<Pane>) -> ScreenPlan {
    let whole = of_all(area, subject);
    match (alone, whole.tier) {
        (Some(pane), Tier::Panel | Tier::Compact) => with_one(whole, subject, pane),
        _ => whole,
    }
}

/// Returns the layout with all panes.
fn of_all(area: Rect, subject: Subject) -> ScreenPlan {
    let (w, h) = (area.width, area.height);
    let tier = match () {
        () if w >= PANEL_MIN_WIDTH && h >= PANEL_MIN_HEIGHT => Tier::Panel,
        () if w >= COMPACT_MIN.0 && h >= COMPACT_MIN.1 => Tier::Compact,
        () if w >= LIST_MIN.0 && h >= LIST_MIN.1 => Tier::List,
        () => Tier::Line,
    };
    match tier {
        Tier::Panel | Tier::Compact => charts(area, tier, subject),
        Tier::List => framed(area, tier),
        Tier::Line => ScreenPlan { area, header: row(area, 0), ..ScreenPlan::default() },
    }
}

/// The parts that share the rows of the charts, from top to bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChartPart {
    Throughput,
    Commands,
    Latency,
    Probes,
}

use ChartPart::{Commands, Latency, Probes, Throughput};

/// The steps in which the parts of the charts get their rows. The first steps give each part its minimum height, the
/// most important part first. Later steps add rows. The latency chart gets the remaining rows.
const OF_LOAD: [(ChartPart, u16); 21] = [
    // A rule, and a row for each name of the legend.
    (Latency, 6),
    // A rule and a chart of two rows.
    (Throughput, 3),
    // Ping.
    (Probes, 1),
    (Throughput, 1),
    (Latency, 2),
    // The server's CPU.
    (Probes, 1),
    (Throughput, 1),
    // A third lane, and the rule that is needed with three lanes.
    (Probes, 2),
    // A screen of 80x24 gets to here.
    (Latency, 1),
    (Latency, 2),
    (Throughput, 1),
    (Probes, 2),
    (Latency, 1),
    (Probes, 2),
    (Throughput, 1),
    // A screen of 120x36 gets to here.
    (Probes, 1),
    (Latency, 4),
    // From here on, lanes are two rows high.
    (Probes, PROBE_LANES),
    (Throughput, 3),
    (Latency, 4),
    (Throughput, 3),
];

/// The steps in which the parts get their rows while the charts show the server.
const OF_SERVER: [(ChartPart, u16); 17] = [
    // A heading and two commands.
    (Commands, 3),
    (Latency, 5),
    (Throughput, 3),
    // The server's CPU.
    (Probes, 1),
    (Latency, 1),
    (Throughput, 1),
    (Commands, 1),
    (Latency, 1),
    // A screen of 80x24 gets to here.
    (Commands, 1),
    // A second and a third lane, and with them a rule.
    (Probes, 3),
    (Latency, 2),
    (Commands, 1),
    (Probes, 2),
    (Latency, 2),
    // A screen of 120x36 gets to here.
    (Commands, 4),
    (Throughput, 3),
    // From here on, lanes are two rows high.
    (Probes, 3 + PROBE_LANES),
];

/// Divides `rows` among throughput, commands, latency and probes.
fn divide_rows(rows: u16, subject: Subject) -> [u16; 4] {
    let mut granted = [0; 4];
    let mut left = rows;
    let grants: &[_] = match subject {
        Subject::Load => &OF_LOAD,
        Subject::Server => &OF_SERVER,
    };
    for (part, wanted) in grants {
        if *wanted > left {
            break;
        }
        granted[*part as usize] += wanted;
        left -= wanted;
    }
    granted[Latency as usize] += left;
    granted
}

/// The minimum height of a screen that shows the latest event. The first number is for a screen with a panel, and the
/// second number is for a screen without a panel.
const ROOM_FOR_NEWS: (u16, u16) = (30, 22);
/// The minimum height of a screen without a panel that shows the server's own figures. Under load, such a screen also
/// shows the knobs in two lines.
const ROOM_FOR_LINES: u16 = 20;

/// Returns the number of rows below the charts for the knobs, for the latest event, and for the server's own figures.
fn rows_below(tier: Tier, h: u16, subject: Subject) -> [u16; 3] {
    let has_panel = tier == Tier::Panel;
    let knobs = match subject {
        Subject::Server => 1,
        Subject::Load if has_panel => 0,
        Subject::Load => 1 + u16::from(h >= ROOM_FOR_LINES),
    };
    let for_news = if has_panel { ROOM_FOR_NEWS.0 } else { ROOM_FOR_NEWS.1 };
    [knobs, u16::from(h >= for_news), u16::from(has_panel || h >= ROOM_FOR_LINES)]
}

/// Returns a layout with header, status line and footer, and all rows between them for the body.
fn framed(area: Rect, tier: Tier) -> ScreenPlan {
    ScreenPlan {
        area,
        tier,
        header: row(area, 0),
        status: row(area, 1),
        body: Rect { y: area.y + 2, height: area.height - 3, ..area },
        footer: row(area, area.height - 1),
        ..ScreenPlan::default()
    }
}

fn charts(area: Rect, tier: Tier, subject: Subject) -> ScreenPlan {
    let (w, h) = (area.width, area.height);
    let panel_width = if tier == Tier::Panel { panel_width(w, subject) } else { 0 };
    // A blank column between the figures and the edge.
    let main = w - panel_width - 1;
    let below = rows_below(tier, h, subject);
    // Header, status line and footer need one row each.
    let body = h.saturating_sub(3 + below.iter().sum::<u16>());
    let axis_rows = match body {
        0..16 => 1,
        16..26 => 2,
        _ => 3,
    };
    let [throughput, commands, latency, probes] = divide_rows(body.saturating_sub(axis_rows), subject);
    let probe_rule = probes > LANES_WITHOUT_RULE;
    let probe_rows = if probes > PROBE_LANES + 1 { 2 } else { 1 };
    let mut y = area.y + 2;
    let mut next = |rows: u16| {
        let rect = Rect { x: area.x, y, width: main, height: rows };
        y += rows;
        rect
    };
    let [commands, throughput, latency, probes, axis] =
        [commands, throughput, latency, probes, axis_rows].map(&mut next);
    let [knob_line, news, server] = below.map(|rows| Rect { width: w, ..next(rows) });
    ScreenPlan {
        throughput,
        commands,
        latency,
        probes,
        probe_rows,
        probe_rule,
        axis,
        panel: Rect { x: area.x + w - panel_width, y: area.y + 2, width: panel_width, height: body },
        knob_line,
        news,
        server,
        columns: columns(main, subject),
        ..framed(area, tier)
    }
}

/// Returns the layout in which `pane` replaces all charts and the panel. Below a chart, the time axis and the
/// rows with figures of the server or of the cursor stay.
fn with_one(whole: ScreenPlan, subject: Subject, pane: Pane) -> ScreenPlan {
    let area = whole.area;
    let body = Rect { height: whole.axis.bottom() - whole.body.y, ..whole.body };
    let none = Rect { width: 0, height: 0, ..body };
    let (throughput, commands, latency, probes) = (none, none, none, none);
    let alone = ScreenPlan { throughput, commands, latency, probes, axis: none, panel: none, ..whole };
    let axis = whole.axis.height;
    let chart = Rect { width: area.width - 1, height: body.height - axis, ..body };
    let columns = columns(chart.width, subject);
    let axis = Rect { y: chart.bottom(), height: axis, ..chart };
    match pane {
        Pane::Panel => ScreenPlan { panel: body, ..alone },
        Pane::Latency => ScreenPlan { latency: chart, axis, columns, ..alone },
        Pane::Probes => {
            let probe_rows = ((chart.height - 1) / PROBE_LANES).max(1);
            ScreenPlan { probes: chart, probe_rows, probe_rule: true, axis, columns, ..alone }
        }
        Pane::Throughput if subject == Subject::Server => {
            let commands = Rect { height: chart.height / 2, ..chart };
            let throughput = Rect { y: commands.bottom(), height: chart.height - commands.height, ..chart };
            ScreenPlan { throughput, commands, axis, columns, ..alone }
        }
        Pane::Throughput | Pane::Curve | Pane::Percentiles | Pane::Distribution => {
            ScreenPlan { throughput: chart, axis, columns, ..alone }
        }
    }
}

/// Returns the width of the panel. The panel has room for its tables, but the charts always have most of the screen.
fn panel_width(w: u16, subject: Subject) -> u16 {
    match w {
        // The names of commands need the columns more than the panel does.
        0..132 if subject == Subject::Server => 25,
        0..110 => 25,
        // The titles of segments fit completely; on 120 columns, the charts have 70.
        110..132 => 27,
        // Two figures in a row.
        132..160 => 37,
        // Room for all figures of a segment.
        _ => 52,
    }
}

/// The minimum width at which the charts have room for all figures and for long names.
const ROOM_FOR_FIGURES: u16 = 130;

/// Returns the columns of the charts. A name has the width of `p99.9` with a mark and a blank. A figure has
/// the width of `12.4 k/s`.
fn columns(main: u16, subject: Subject) -> Columns {
    let (gutter, values, value) = if main >= ROOM_FOR_FIGURES { (10, 3, 9) } else { (7, 1, 8) };
    let name = match subject {
        Subject::Load => 7,
        // Charts of 56 columns are more important than names in full.
        Subject::Server if main < 80 => 8,
        // Room for the name `hgetall`.
        Subject::Server => 9,
    };
    Columns { gutter, plot: main.saturating_sub(gutter + name + value * values), name, values, value }
}

#[cfg(test)]
mod tests;
