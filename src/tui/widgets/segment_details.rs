//! The selected segment in full, and how it differs from the baseline, with the evidence.
//!
//! ```text
//!  ─ segment 3 against 2, the baseline ──────────────────────────────────────
//!   200 clients × 1, rate max, GET:SET 10:1, 32 B values, 10 k keys
//!   ops/s    119 k   101 k  +18 %  better: more than noise, +15 % to +21 %
//!   p99    3.51 ms 2.50 ms  +40 %  not clear: drift is possible; alternate the sides, -2.1 % to +90 %
//! ```

use ratatui::layout::Rect;

use super::{
    figures::written,
    segment_table::verdict_ink,
    table::{Column, Table},
};
use crate::{
    app::Model,
    compare::Difference,
    session::{
        figures::{self, Figure, Row},
        timeline::SegmentTotal,
    },
    tui::{Ink, Paint, row},
    units,
};

/// The rule, the knobs, six figures.
pub const ROWS: u16 = 8;

/// Draws the segment that is selected.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model) {
    let selected = model.selected_segment().and_then(|number| model.segments().numbered(number));
    let Some(segment) = selected else {
        paint.rule(row(area, 0), "");
        return;
    };
    let number = segment.start.segment;
    let baseline = model.baseline();
    let title = match baseline {
        Some(base) if base.start.segment == number => format!("segment {number}, the baseline"),
        Some(base) => format!("segment {number} against {}, the baseline", base.start.segment),
        None => format!("segment {number}"),
    };
    paint.rule(row(area, 0), &title);
    let inside = Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area };
    paint.text(row(inside, 1), &segment.start.knobs.to_string(), Ink::Strong);
    match (baseline, model.baseline_number()) {
        (Some(base), _) if base.start.segment != number => compared(paint, inside, model, segment, base),
        (Some(_), _) => {
            let text = "select another: its row and this place then say how it differs";
            paint.text(row(inside, 2), text, Ink::Faint);
        }
        (None, Some(lost)) => {
            let text = format!("the baseline, segment {lost}, is no longer listed; b pins another");
            paint.text(row(inside, 2), &text, Ink::Warn);
        }
        (None, None) => {
            let text = "b pins it as the baseline that all others are compared with";
            paint.text(row(inside, 2), text, Ink::Faint);
        }
    }
}

/// `p99.9 ` before the figures, and the width of each of them.
const NAME: u16 = 10;
const FIGURE: u16 = 9;

/// What is told of both; of the response time where both have one.
const COMPARED: [Figure; 6] = [
    figures::OPS_PER_S,
    figures::SERVICE_P50,
    figures::SERVICE_P99,
    figures::SERVICE_P999,
    figures::SERVICE_MAX,
    figures::RESPONSE_P99,
];

fn compared(paint: &mut Paint, area: Rect, model: &Model, segment: &SegmentTotal, base: &SegmentTotal) {
    let now_s = model.known_s();
    let [this, other] = [segment, base].map(|segment| Row::of_segment(segment, now_s));
    let both_open = this.response.is_some() && other.response.is_some();
    let is_told = |figure: &Figure| *figure != figures::RESPONSE_P99 || both_open;
    // The name, both figures, the change, and its verdict.
    let columns = [
        Column::left(0, NAME, 0),
        Column::right(1, FIGURE),
        Column::right(2, FIGURE),
        Column::right(3, FIGURE),
    ];
    let table = Table::new(area, columns.into_iter().chain([Column::rest(4, 2)]));
    for (n, figure) in (2..).zip(COMPARED.into_iter().filter(is_told)) {
        let difference = Difference::of_segments(base, segment, figure, now_s);
        table.write(paint, n, |key, _| match key {
            0 => (figure.heading.to_owned(), Ink::Text),
            1 => (written(figure, &this), Ink::Strong),
            2 => (written(figure, &other), Ink::Faint),
            3 => (difference.change.map(units::change).unwrap_or_default(), Ink::Text),
            _ => (String::new(), Ink::Text),
        });
        let range = difference.range().map(|range| format!(", {range}")).unwrap_or_default();
        let ink = verdict_ink(difference.verdict);
        paint.parts(table.cell(n, 4).area, &[(&difference.words(), ink), (&range, Ink::Faint)]);
    }
}
