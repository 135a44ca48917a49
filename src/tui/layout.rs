//! Where everything goes: from the size of the terminal to a plan of rectangles. Pure arithmetic.
//!
//! ```text
//!  header                                     ┐ always
//!  status line                                ┘
//!  ─ throughput ─────── now  60 s ─┬─ knobs ─   gutter | plot | values  ┬ panel
//!  ─ latency ───────────────────── ├─ ping ──
//!  ─ probes, server ────────────── ├─ …
//!  time axis                       │
//!  server line
//!  footer
//! ```
//! Small terminals lose whole parts, least needed first, instead of squeezing all of them.

use ratatui::layout::Rect;

/// How much fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Charts beside a panel.
    Panel,
    /// Charts, the knobs in one line.
    Compact,
    /// Numbers, one line of chart.
    Numbers,
    /// One line.
    Line,
}

/// The columns that all lanes share, so that one moment stands above and below itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    /// Width of the names and axis labels left of the plot.
    pub gutter: u16,
    /// Width of the plot.
    pub plot: u16,
    /// How many figures stand right of it: now, 60 s, segment.
    pub values: u16,
    /// Width of each figure.
    pub value: u16,
}

/// The plan of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// How much fits.
    pub tier: Tier,
    /// Target, load, time.
    pub header: Rect,
    /// The sentence that says what goes on.
    pub status: Rect,
    /// Throughput: a rule and the chart.
    pub throughput: Rect,
    /// Service time: a rule and five lanes.
    pub latency: Rect,
    /// Rows of each latency lane.
    pub latency_rows: u16,
    /// Probes and server: a rule, where there is room, and some lanes.
    pub probes: Rect,
    /// Rows of each probe lane.
    pub probe_rows: u16,
    /// Whether the probes have a rule.
    pub probe_rule: bool,
    /// The time axis, with its labels if it is two high.
    pub axis: Rect,
    /// Knobs and tables beside the charts.
    pub panel: Rect,
    /// The knobs in one line.
    pub knob_line: Rect,
    /// What the server says.
    pub server: Rect,
    /// Which keys work.
    pub footer: Rect,
    /// The columns of all lanes.
    pub columns: Columns,
}

/// A lane for each level of the service time.
const LEVELS: u16 = 5;
/// The lanes of probes and server: ping, ping max, its kernel part, wake, server CPU, errors, intrinsic.
pub const PROBE_LANES: u16 = 7;
/// Below this, the panel would leave the plot too narrow to show half a minute.
const PANEL_MIN_WIDTH: u16 = 76;
/// Below this, the panel's knobs alone would fill it.
const PANEL_MIN_HEIGHT: u16 = 18;
/// Rules, five lanes, three rows of chart, ping, axis and knobs need this much.
const COMPACT_MIN: (u16, u16) = (46, 14);
/// Two figures with their names side by side, four rows of them and a header.
const NUMBERS_MIN: (u16, u16) = (24, 5);
/// From this width on there is room for long names, the segment's own figures and a roomy panel.
const WIDE: u16 = 110;

/// The plan for a terminal of `area`'s size.
pub fn plan(area: Rect) -> Plan {
    let (w, h) = (area.width, area.height);
    let tier = match () {
        () if w >= PANEL_MIN_WIDTH && h >= PANEL_MIN_HEIGHT => Tier::Panel,
        () if w >= COMPACT_MIN.0 && h >= COMPACT_MIN.1 => Tier::Compact,
        () if w >= NUMBERS_MIN.0 && h >= NUMBERS_MIN.1 => Tier::Numbers,
        () => Tier::Line,
    };
    match tier {
        Tier::Panel | Tier::Compact => charts(area, tier),
        Tier::Numbers | Tier::Line => Plan { header: line(area, 0), ..empty(area, tier) },
    }
}

fn charts(area: Rect, tier: Tier) -> Plan {
    let (w, h) = (area.width, area.height);
    let panel_width = if tier == Tier::Panel { panel_width(w) } else { 0 };
    // A blank column keeps the figures off the edge.
    let main = w - panel_width - 1;
    let server_rows = u16::from(tier == Tier::Panel);
    let knob_rows = u16::from(tier == Tier::Compact);
    // Header, status and footer stand above and below.
    let body = h.saturating_sub(3 + server_rows + knob_rows);
    let axis_rows = if body >= 18 { 2 } else { 1 };
    let latency_rows = match body {
        0..28 => 1,
        28..46 => 2,
        _ => 3,
    };
    let latency = 1 + LEVELS * latency_rows;
    // A chart of two rows is the least; of four, once there is a lane for ping.
    let chart = 1 + if body < 13 { 2 } else { 4 };
    let spare = body.saturating_sub(axis_rows + latency + chart);
    let probe_rule = spare > 4;
    let probe_lanes = spare.saturating_sub(u16::from(probe_rule)).min(PROBE_LANES);
    let probe_rows = if body >= 46 { 2 } else { 1 };
    let probes = u16::from(probe_rule) + probe_lanes * probe_rows;
    let throughput = body.saturating_sub(axis_rows + latency + probes);
    let mut y = area.y + 2;
    let mut next = |rows: u16| {
        let rect = Rect { x: area.x, y, width: main, height: rows };
        y += rows;
        rect
    };
    let [throughput, latency, probes, axis] = [throughput, latency, probes, axis_rows].map(&mut next);
    let knob_line = Rect { width: w, ..next(knob_rows) };
    let server = Rect { width: w, ..next(server_rows) };
    Plan {
        tier,
        header: line(area, 0),
        status: line(area, 1),
        throughput,
        latency,
        latency_rows,
        probes,
        probe_rows,
        probe_rule,
        axis,
        panel: Rect { x: area.x + w - panel_width, y: area.y + 2, width: panel_width, height: body },
        knob_line,
        server,
        footer: line(area, h - 1),
        columns: columns(main),
    }
}

/// Wide enough for its tables, never more than a third of the screen.
fn panel_width(w: u16) -> u16 {
    match w {
        0..WIDE => 25,
        WIDE..160 => 43,
        // Room for all figures of a segment.
        160..190 => 52,
        _ => 61,
    }
}

/// `1.94 ms` with two blanks before it, one where room is short; `12.4 k/s` needs eight.
pub fn columns(main: u16) -> Columns {
    let wide = main >= 70;
    let gutter = if wide { 10 } else { 7 };
    let value = if wide { 9 } else { 8 };
    let values = if wide { 3 } else { 2 };
    Columns { gutter, plot: main.saturating_sub(gutter + value * values), values, value }
}

fn line(area: Rect, n: u16) -> Rect {
    Rect { y: area.y + n, height: area.height.min(1), ..area }
}

fn empty(area: Rect, tier: Tier) -> Plan {
    let none = Rect { width: 0, height: 0, ..area };
    Plan {
        tier,
        header: none,
        status: none,
        throughput: none,
        latency: none,
        latency_rows: 0,
        probes: none,
        probe_rows: 0,
        probe_rule: false,
        axis: none,
        panel: none,
        knob_line: none,
        server: none,
        footer: none,
        columns: Columns { gutter: 0, plot: 0, values: 0, value: 0 },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(w: u16, h: u16) -> Plan {
        plan(Rect::new(0, 0, w, h))
    }

    #[test]
    fn the_usual_sizes_get_their_tiers() {
        let tiers = [(200, 60), (120, 36), (80, 24), (60, 15), (40, 10), (19, 3), (1, 1), (0, 0)]
            .map(|(w, h)| of(w, h).tier);
        use Tier::{Compact, Line, Numbers, Panel};
        assert_eq!(tiers, [Panel, Panel, Panel, Compact, Numbers, Line, Line, Line]);
    }

    #[test]
    fn a_bigger_screen_shows_more_time_and_higher_lanes() {
        let (small, full, large) = (of(80, 24), of(120, 36), of(200, 60));
        assert!(small.columns.plot >= 30 && full.columns.plot > small.columns.plot);
        assert!(large.columns.plot > 100);
        assert_eq!((small.latency_rows, full.latency_rows, large.latency_rows), (1, 2, 3));
        assert!(small.throughput.height >= 5 && large.throughput.height > full.throughput.height);
    }

    proptest! {
        #[test]
        fn the_parts_lie_inside_and_do_not_overlap(w in 0_u16..260, h in 0_u16..90) {
            let area = Rect::new(0, 0, w, h);
            let plan = plan(area);
            let parts = [
                plan.header, plan.status, plan.throughput, plan.latency, plan.probes, plan.axis, plan.panel,
                plan.knob_line, plan.server, plan.footer,
            ];
            for (i, part) in parts.iter().enumerate() {
                prop_assert!(part.is_empty() || area.intersection(*part) == *part, "{part:?} in {w}x{h}");
                for other in &parts[i + 1..] {
                    prop_assert!(part.intersection(*other).is_empty(), "{part:?} {other:?} in {w}x{h}");
                }
            }
            let columns = plan.columns;
            let used = columns.gutter + columns.plot + columns.value * columns.values;
            prop_assert_eq!(used, plan.throughput.width);
        }
    }
}
