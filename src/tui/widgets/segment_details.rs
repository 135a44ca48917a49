//! The selected segment in full, and how it differs from the baseline, with the evidence.
//!
//! ```text
//!  ─ segment 3 against 2, the baseline ──────────────────────────────────────
//!   200 clients × 1, rate max, GET:SET 10:1, 32 B values, 10 k keys
//!   ops/s    119 k   101 k  +18 %  faster, by +15 % to +21 %, drift allowed for (40 and 60 values)
//!   p99    3.51 ms 2.50 ms  +40 %  drift is possible; alternate the settings, by -2.1 % to +90 %
//! ```

use ratatui::layout::Rect;

use super::{
    figures::{signed, written},
    segment_table::{difference, verdict_ink},
    table::{Column, Table},
};
use crate::{
    app::Model,
    session::{
        figures::{self, Figure, Row},
        timeline::SegmentTotal,
    },
    stats::{Comparison, Verdict},
    tui::{
        paint::{Paint, row},
        theme::Ink,
    },
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

fn compared(paint: &mut Paint, area: Rect, model: &Model, segment: &SegmentTotal, base: &SegmentTotal) {
    let against = segment.against(base);
    let rows = [
        (figures::OPS_PER_S, Some(against.ops_per_s)),
        (figures::SERVICE_P50, Some(against.service_p50)),
        (figures::SERVICE_P99, Some(against.service_p99)),
        (figures::SERVICE_P999, None),
        (figures::SERVICE_MAX, None),
        (figures::RESPONSE_P99, against.response_p99),
    ];
    let is_told =
        |(figure, comparison): &(Figure, Option<_>)| *figure != figures::RESPONSE_P99 || comparison.is_some();
    let now_s = model.known_s();
    let [this, other] = [segment, base].map(|segment| Row::of_segment(segment, now_s));
    // The name, both figures, the change, and its verdict.
    let columns = [
        Column::left(0, NAME, 0),
        Column::right(1, FIGURE),
        Column::right(2, FIGURE),
        Column::right(3, FIGURE),
    ];
    let table = Table::new(area, columns.into_iter().chain([Column::rest(4, 2)]));
    for (n, (figure, comparison)) in rows.into_iter().filter(is_told).enumerate() {
        let n = n as u16 + 2;
        table.write(paint, n, |key, _| match key {
            0 => (figure.heading.to_owned(), Ink::Text),
            1 => (written(figure, &this), Ink::Strong),
            2 => (written(figure, &other), Ink::Faint),
            3 => (difference(figure, segment, base, now_s).unwrap_or_default(), Ink::Text),
            _ => (String::new(), Ink::Text),
        });
        if let Some(comparison) = comparison {
            let place = table.cell(n, 4).area;
            let (words, evidence) = verdict_words(&comparison, place.width.into());
            paint.parts(place, &[(&words, verdict_ink(comparison.verdict)), (&evidence, Ink::Faint)]);
        }
    }
}

/// A verdict in words, and what it rests on, in as many as there is `room` for.
fn verdict_words(comparison: &Comparison, room: usize) -> (String, String) {
    let Comparison { verdict, interval, values: (baseline, other) } = *comparison;
    let verdict = match verdict {
        Verdict::Faster => "faster".to_owned(),
        Verdict::Slower => "slower".to_owned(),
        Verdict::Same { above } => format!("no difference above {}", units::percent(above)),
        Verdict::NotYet { values } => {
            // A value is a second.
            let more = |had: u64| units::count((values - had as f64).max(1.0));
            let short = format!("not yet: about {} s more", more(other));
            let long = format!("{short}, and {} s more of the baseline", more(baseline));
            if values > baseline as f64 { fitting([long, short], room) } else { short }
        }
        Verdict::Drift => {
            let long = "drift is possible; alternate the settings";
            fitting([long, "drift is possible"].map(str::to_owned), room)
        }
    };
    let had = format!("{other} and {baseline} values");
    let room = room.saturating_sub(verdict.chars().count());
    let evidence = match interval {
        None => {
            fitting([format!("; there are {other} s, and {baseline} s of the baseline"), String::new()], room)
        }
        Some((low, high)) => {
            let range = format!("by {} to {}", signed(low), signed(high));
            let long = format!(", {range}, drift allowed for ({had})");
            fitting([long, format!(", {range} ({had})"), format!(", {range}"), String::new()], room)
        }
    };
    (verdict, evidence)
}

/// The first that fits, else the last.
fn fitting<const N: usize>(texts: [String; N], room: usize) -> String {
    let shortest = texts.last().cloned().unwrap_or_default();
    texts.into_iter().find(|text| text.chars().count() <= room).unwrap_or(shortest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(verdict: Verdict, interval: Option<(f64, f64)>, room: usize) -> String {
        let (words, evidence) = verdict_words(&Comparison { verdict, interval, values: (60, 40) }, room);
        words + &evidence
    }

    #[test]
    fn a_verdict_comes_with_what_it_rests_on() {
        let interval = Some((0.031, 0.069));
        assert_eq!(
            said(Verdict::Faster, interval, 99),
            "faster, by +3.1 % to +6.9 %, drift allowed for (40 and 60 values)"
        );
        assert_eq!(
            said(Verdict::Same { above: 0.034 }, Some((-0.034, 0.01)), 99),
            "no difference above 3.4 %, by -3.4 % to +1.0 %, drift allowed for (40 and 60 values)"
        );
        assert_eq!(
            said(Verdict::NotYet { values: 130.0 }, None, 99),
            "not yet: about 90 s more, and 70 s more of the baseline; there are 40 s, and 60 s of the baseline"
        );
        assert_eq!(
            said(Verdict::Drift, interval, 70),
            "drift is possible; alternate the settings, by +3.1 % to +6.9 %"
        );
        assert_eq!(said(Verdict::Slower, interval, 6), "slower", "what does not fit goes");
        assert_eq!(said(Verdict::NotYet { values: 55.0 }, None, 39), "not yet: about 15 s more");
        assert_eq!(said(Verdict::Drift, None, 39), "drift is possible");
    }
}
