//! The selected segment in full, and how it differs from the baseline, with the evidence.
//!
//! ```text
//!  ─ segment 3 against 2, the baseline ──────────────────────────────────────
//!   200 clients × 1, rate max, GET:SET 10:1, 32 B values, 10 k keys
//!   ops/s    119 k   101 k  +18 %  faster: higher in 97 of 100 pairs of seconds, by chance p < 0.001 (40 and 60 s)
//!   p99    3.51 ms 2.50 ms  +40 %  slower: …
//! ```

use ratatui::layout::Rect;

use super::segment_table::{difference, figure, verdict_ink};
use crate::{
    app::{Column, Model},
    session::timeline::{Level, SegmentTotal},
    stats::{Comparison, Verdict, comparison::LEAST_SECONDS},
    tui::{
        paint::{Paint, from_column, row},
        theme::Ink,
    },
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

fn compared(paint: &mut Paint, area: Rect, model: &Model, segment: &SegmentTotal, base: &SegmentTotal) {
    let against = segment.against(base);
    let service = |level| (Column::Service(level), None);
    let rows = [
        (Column::Ops, Some(against.ops_per_s)),
        service(Level::P50),
        (Column::Service(Level::P99), Some(against.service_p99)),
        service(Level::P999),
        service(Level::Max),
        (Column::Response, against.response_p99),
    ];
    let is_told =
        |(column, comparison): &(Column, Option<_>)| *column != Column::Response || comparison.is_some();
    let now_s = model.known_s();
    for (n, (column, comparison)) in rows.into_iter().filter(is_told).enumerate() {
        let line = row(area, n as u16 + 2);
        paint.text(line, column.name(), Ink::Text);
        let place = |n: u16| Rect { x: line.x + NAME + FIGURE * n, width: FIGURE, ..line }.intersection(line);
        paint.right(place(0), &figure(column, segment, now_s), Ink::Strong);
        paint.right(place(1), &figure(column, base, now_s), Ink::Faint);
        let change = difference(column, segment, base, now_s).unwrap_or_default();
        paint.right(place(2), &change, Ink::Text);
        if let Some(comparison) = comparison {
            let rest = from_column(line, line.x + NAME + FIGURE * 3 + 2);
            let words = comparison.verdict.words();
            let room = usize::from(rest.width).saturating_sub(words.len());
            let evidence = evidence(&comparison, room);
            paint.parts(rest, &[(words, verdict_ink(comparison.verdict)), (&evidence, Ink::Faint)]);
        }
    }
}

/// What a verdict rests on, in as many words as there is `room` for.
fn evidence(comparison: &Comparison, room: usize) -> String {
    let Comparison { verdict, higher, p, seconds: (baseline, other) } = *comparison;
    if verdict == Verdict::TooShort {
        let had = format!(": {other} s and {baseline} s of the baseline can be compared");
        let long = format!("{had}; {LEAST_SECONDS} each are needed");
        return fitting([long, had, format!(": {other} and {baseline} s")], room);
    }
    let (way, share) = if higher < 0.5 { ("lower", 1.0 - higher) } else { ("higher", higher) };
    let share = format!("{:.0} %", share * 100.0);
    let p = if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") };
    let long = format!(": {way} in {share} of all pairs of seconds, {p} ({other} and {baseline} s)");
    fitting([long, format!(": {share} of pairs, {p}"), format!(": {share}, {p}")], room)
}

/// The first that fits, else the last.
fn fitting<const N: usize>(texts: [String; N], room: usize) -> String {
    let shortest = texts.last().cloned().unwrap_or_default();
    texts.into_iter().find(|text| text.chars().count() <= room).unwrap_or(shortest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Better, compare};

    #[test]
    fn a_verdict_comes_with_what_it_rests_on() {
        let base: Vec<f64> = (0..20).map(f64::from).collect();
        let other: Vec<f64> = (15..45).map(f64::from).collect();
        assert_eq!(
            evidence(&compare(&base, &other, Better::Higher), 99),
            ": higher in 98 % of all pairs of seconds, p < 0.001 (30 and 20 s)"
        );
        assert_eq!(
            evidence(&compare(&base, &other[..3], Better::Lower), 99),
            ": 3 s and 20 s of the baseline can be compared; 8 each are needed"
        );
        assert!(
            evidence(&compare(&base, &base, Better::Lower), 99)
                .contains("50 % of all pairs of seconds, p = 1.000")
        );
    }
}
