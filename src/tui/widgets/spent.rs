//! Draws the time of requests by its parts. Each request has a bar with the parts in chronological order.
//!
//! ```text
//! ─ where the time goes, 5 s o ours  w wire  s in the server's queue  x execution ─
//!  PING ooowwwwwwwwwwwwwwwwwwwwwwwwssssx  20.4 ms ± 300 µs  wire 97 %
//! ```

use ratatui::layout::Rect;

use crate::{
    diagnose::TimeSpent,
    session::timeline::Level,
    tui::{Ink, Paint, cut, from_column, row},
    units,
};

/// The parts of a request's time, each with its mark for screens without colours, its ink, its name and a short name.
/// An unknown execution time is part of the wait in the server.
const PARTS: [(char, Ink, &str, &str); 4] = [
    ('o', Ink::Machine, "ours", "ours"),
    ('w', Ink::Ping, "wire", "wire"),
    ('s', Ink::Level(Level::P99), "waits in the server", "waits"),
    ('x', Ink::Server, "execution", "runs"),
];
/// The width of a command's name and a blank on either side.
const NAME: u16 = 12;
/// The width of `20.4 ms ± 300 µs  waits in the server 97 %`.
const FIGURES: u16 = 47;
/// The minimum width with room for the number of requests in flight.
const ROOM_FOR_FLIGHT: u16 = 100;

/// Returns the number of rows for all bars and their heading.
pub fn rows(all: &[TimeSpent]) -> u16 {
    if all.is_empty() { 0 } else { 1 + all.len() as u16 }
}

/// Draws the names of the parts, and the bars that fit.
pub fn draw(paint: &mut Paint, area: Rect, all: &[TimeSpent]) {
    let Some(title) = all.first().map(TimeSpent::title).filter(|_| !area.is_empty()) else { return };
    paint.rule(row(area, 0), &title);
    // The names begin with the blank after the title.
    let mut rest = from_column(row(area, 0), area.x + 2 + title.len() as u16);
    for (mark, ink, name, _) in PARTS {
        let mark = if paint.theme.marks_lines() { mark } else { paint.glyphs().bars[7] };
        rest = from_column(
            rest,
            paint.parts(rest, &[(format!(" {mark} "), ink), (format!("{name} "), Ink::Text)]),
        );
    }
    for (n, spent) in (1..area.height).zip(all) {
        let line = row(area, n);
        let flight = spent.in_flight.filter(|_| area.width >= ROOM_FOR_FLIGHT);
        let flight = flight.map_or_else(String::new, |n| format!("{n:.1} in flight"));
        let written = |us: f64| units::latency((us * 1e3) as u64);
        let [total, error] = [spent.total_us(), spent.error_us].map(written);
        let flight_width = if area.width >= ROOM_FOR_FLIGHT { 16 } else { 0 };
        let figures = FIGURES + flight_width;
        let bar = Rect { x: line.x + NAME, width: line.width.saturating_sub(NAME + figures), ..line };
        paint.text(
            Rect { width: NAME, ..line },
            &format!(" {}", cut(&spent.request, NAME as usize - 2)),
            Ink::Text,
        );
        draw_bar(paint, bar, spent);
        let text = format!(" {total:>8} ± {error:<9} {:<25}{flight}", largest(spent, false));
        paint.text(from_column(line, bar.right()), &text, Ink::Text);
    }
}

/// Draws the parts of a request as one bar over the whole width of `area`.
pub fn draw_bar(paint: &mut Paint, area: Rect, spent: &TimeSpent) {
    let (mut x, mut so_far_us) = (area.x, 0.0);
    for ((mark, ink, ..), (_, us)) in PARTS.into_iter().zip(spent.parts()) {
        so_far_us += us;
        let share = so_far_us / spent.total_us().max(f64::MIN_POSITIVE);
        let end = area.x + (share * f64::from(area.width)).round() as u16;
        let mark = if paint.theme.marks_lines() { mark } else { paint.glyphs().bars[7] };
        (x..end).for_each(|x| paint.dot(x, area.y, mark, ink));
        x = end;
    }
}

/// Returns the name of the largest part with its share: `wire 97 %`. If `short` is set, the short name is used.
fn largest(spent: &TimeSpent, short: bool) -> String {
    let parts = PARTS.into_iter().zip(spent.parts());
    let largest = parts.max_by(|(_, (_, a)), (_, (_, b))| a.total_cmp(b));
    let share = |us: f64| units::percent(us / spent.total_us().max(f64::MIN_POSITIVE));
    largest.map_or_else(String::new, |((.., word), (name, us))| {
        format!("{} {}", if short { word } else { name }, share(us))
    })
}

/// Returns a heading for a bar: `PING, 5 s: wire 97 %`.
pub fn heading(spent: &TimeSpent) -> String {
    format!("{}, {}: {}", spent.request, spent.period(), largest(spent, true))
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;

    use super::*;
    use crate::tui::theme::{Colours, GlyphSet, Theme};

    #[test]
    fn a_bar_is_divided_in_proportion_to_the_time() {
        let request = "PING".to_owned();
        let spent = TimeSpent {
            request,
            ours_us: 1000.0,
            wire_us: 6000.0,
            waits_us: 2000.0,
            execution_us: Some(1000.0),
            error_us: 300.0,
            in_flight: Some(2.0),
            period_s: 5.0,
        };
        let lines = |width, spent: &TimeSpent| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, width, 2));
            let theme = Theme::new(Colours::Mono, GlyphSet::Ascii);
            let area = buffer.area;
            draw(&mut Paint::new(&mut buffer, theme), area, std::slice::from_ref(spent));
            let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
            [line(0), line(1)]
        };
        let narrow = lines(78, &spent);
        assert!(
            narrow[0]
                .contains("where the time goes, 5 s o ours  w wire  s waits in the server  x execution "),
            "{narrow:?}"
        );
        assert_eq!(narrow[1].trim_end(), " PING       oowwwwwwwwwwwssssxx  10.0 ms ± 300 µs    wire 60 %");
        let wide = lines(120, &spent);
        assert!(wide[1].contains("wire 60 %") && wide[1].contains("2.0 in flight"), "{wide:?}");
        let unknown = TimeSpent { execution_us: None, waits_us: 7000.0, period_s: 1.42, ..spent };
        assert!(lines(78, &unknown)[1].contains("  in the server 50 %"));
        assert!(lines(78, &unknown)[0].contains("where the time goes, 1.4 s o ours"));
    }
}
