//! The panel's list of the knobs (the load settings that the user can change during a session). The first row is the
//! switch of the load. The next rows show the knobs. If not all knobs fit, the panel shows the knobs around the
//! selected knob. A frozen view shows the knobs at the cursor.
//!
//! ```text
//! ├─ knobs 4 to 11 of 26 ───
//! │   load          on
//! │   rate         max
//! │ ▸ distribution zipfian ◂▸
//! │   HGETALL        5 was 1
//! │   rhythm    spread
//! ```
//! Below the knobs are the other settings of the load that differ from their defaults.

use ratatui::layout::Rect;

use super::{dialog::input, panel::section, table::around};
use crate::{
    app::{Knob, Model, Purpose, SessionPhase, Spot, Subject},
    knobs::Knobs,
    tui::{Glyphs, Ink, Paint, cut, from_column, row},
};

/// The width of the names, with the pointer before each name.
const NAME: u16 = 12;
/// The width of the values: `1.50 KiB`.
const VALUE: u16 = 8;
/// The width of a pointer and a blank.
const POINTER: u16 = 2;
/// The minimum width of a name next to a long value.
const LEAST_NAME: usize = 6;
/// The minimum number of rows of the section. The number is enough for the knobs of a simple workload.
const LEAST_ROWS: u16 = 8;

/// Draws the knobs in a section at the top of `rest`, and removes the section from `rest`. The section has at most half
/// of the rows, or at most eight rows if half of the rows is less than eight.
pub fn draw(paint: &mut Paint, rest: &mut Rect, model: &Model) {
    let knobs = Knob::of(model.knobs_shown());
    let most = (rest.height / 2).max(LEAST_ROWS);
    let others = Knob::changed_alone(&Knobs::default(), model.knobs_shown());
    let rows = (1 + knobs.len() as u16 + others.len() as u16).min(most);
    let selected = knobs.iter().position(|knob| *knob == model.panel.selected()).unwrap_or(0);
    let shown = around(selected, knobs.len(), rows - 1 - others.len() as u16);
    let title = match shown.len() {
        all if all == knobs.len() => "knobs".to_owned(),
        _ => format!("knobs {} to {} of {}", shown.start + 1, shown.end, knobs.len()),
    };
    let area = section(paint, rest, &title, rows);
    load(paint, row(area, 0), model);
    for (n, knob) in (1..).zip(&knobs[shown]) {
        let line = row(area, n);
        paint.spot(line, Spot::Knob(*knob));
        KnobRow::of(*knob, model, line.width.into()).draw(paint, line, model);
    }
    for (y, (name, value)) in (area.y + rows - others.len() as u16..).zip(others) {
        let line = Rect { y, height: 1, ..area };
        let (name, value, end) = aligned(name, &value, line.width.into());
        paint.text(line, &row_text(' ', &name, &value, end), Ink::Text);
    }
}

fn load(paint: &mut Paint, line: Rect, model: &Model) {
    let wanted = model.knobs_shown();
    let (load, ink) = if wanted.load { ("on", Ink::Good) } else { ("off", Ink::Text) };
    paint.text(line, "  load", Ink::Text);
    let value = Rect { x: line.x + NAME, width: VALUE.min(line.width.saturating_sub(NAME)), ..line };
    paint.right(value, load, ink);
    if wanted.load != model.in_force().load {
        paint.text(from_column(line, line.x + NAME + VALUE), " …", Ink::Warn);
    }
}

/// Returns the name and the value of a row of `width` columns, and the column after the value. Values are aligned. A
/// long value extends to the right. If the row is still too long, the name is shortened first, and then the value.
fn aligned(name: &str, value: &str, width: usize) -> (String, String, usize) {
    let pointer = usize::from(POINTER);
    let room = width.saturating_sub(pointer + 1);
    let value = cut(value, room.saturating_sub(LEAST_NAME));
    let name = cut(name, room.saturating_sub(value.chars().count()));
    let end = pointer + name.chars().count() + 1 + value.chars().count();
    (name, value, end.max(usize::from(NAME + VALUE)))
}

/// Returns the text of a row, in which the value ends before the column `end`.
fn row_text(pointer: char, name: &str, value: &str, end: usize) -> String {
    let room = end.saturating_sub(usize::from(POINTER) + value.chars().count());
    format!("{pointer} {name:<room$}{value}")
}

/// The content of a knob's row.
#[derive(Debug, PartialEq)]
struct KnobRow {
    knob: Knob,
    name: String,
    value: String,
    /// The column after the value.
    end: usize,
}

impl KnobRow {
    /// Returns the row of a knob in `width` columns.
    fn of(knob: Knob, model: &Model, width: usize) -> Self {
        let wanted = model.knobs_shown();
        let (name, value, end) = aligned(knob.called(wanted), &knob.value(wanted), width);
        Self { knob, name, value, end }
    }

    fn draw(&self, paint: &mut Paint, line: Rect, model: &Model) {
        let glyphs = paint.glyphs();
        let Self { knob, name, value, end } = self;
        let selected = model.cursor_s().is_none() && model.panel.selected() == *knob;
        let ink = if selected { Ink::Selected } else { Ink::Text };
        let pointer = if selected { glyphs.pointer } else { ' ' };
        if let Some(entry) = model.entry(Purpose::Knob).filter(|_| selected) {
            let from = NAME.max(POINTER + name.chars().count() as u16);
            paint.text(line, &format!("{pointer} {name}"), ink);
            input(paint, from_column(line, line.x + from + 1), entry);
            return;
        }
        let after = from_column(line, paint.text(line, &row_text(pointer, name, value, *end), ink));
        let (wanted, in_force) = (model.knobs_shown(), model.in_force());
        // The previous value is shown only if the knob is still the same operation.
        let before = knob.value(in_force);
        if before != knob.value(wanted) && knob.called(in_force) == knob.called(wanted) {
            paint.parts(after, &[(" was ", Ink::Warn), (&before, Ink::Warn)]);
        } else if selected {
            paint.text(after, &format!(" {}{}", glyphs.less, glyphs.more), Ink::Selected);
        }
    }
}

/// Draws the knobs in the rows of `area`, for screens without a panel. If not all knobs fit, the first knobs are left
/// out, so that the selected knob is visible. Other settings follow if they differ from their defaults. Without load,
/// the line begins with the key that starts the load.
///
/// ```text
///  ▸ clients 50 ◂ ▸  pipeline 1  rate max  arrivals closed  reads 91 %
///  value size 32 B  keys 10 k  distribution uniform  rhythm spread
/// ```
pub fn lines(paint: &mut Paint, area: Rect, model: &Model) {
    let mut first = row(area, 0);
    let is_idle = model.subject() == Subject::Server && !model.in_force().load;
    if is_idle && model.course == SessionPhase::Running && model.playback.is_none() {
        let x = paint.parts(first, &[(" l", Ink::Strong), (" starts the load with", Ink::Faint)]);
        first = from_column(first, x);
    }
    let pieces = pieces(paint.glyphs(), model);
    let selected = pieces.iter().position(|piece| piece.knob == model.panel.selected()).unwrap_or(0);
    let others = Knob::changed_alone(&Knobs::default(), model.knobs_shown());
    let others: Vec<_> = others.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let others = others.join("  ");
    let kept = others.chars().count() as u16 + GAP;
    // Some columns are left for the selected knob.
    let most = area.width * 2 / 3;
    let kept = if kept > most && area.height > 1 { area.width } else { kept.min(most) };
    let flow = |from: usize| flow(&pieces[from..], first, area, if others.is_empty() { 0 } else { kept });
    let from = (0..=selected).find(|from| flow(*from).len() > selected - from).unwrap_or(selected);
    let places = flow(from);
    if let Some(last) = places.last() {
        let after = from_column(row(area, last.y - area.y), last.right() + GAP);
        let is_next = kept > after.width + GAP && last.y + 1 < area.bottom();
        let line = if is_next { from_column(row(area, last.y + 1 - area.y), area.x + 1) } else { after };
        paint.text(line, &cut(&others, line.width.into()), Ink::Text);
    }
    for (piece, place) in pieces[from..].iter().zip(places) {
        paint.spot(place, Spot::Knob(piece.knob));
        match model.entry(Purpose::Knob).filter(|_| piece.ink == Ink::Selected) {
            Some(entry) => {
                let name = format!("{} {} ", paint.glyphs().pointer, piece.name);
                let x = paint.text(place, &name, Ink::Selected);
                input(paint, from_column(place, x), entry);
            }
            None => drop(paint.text(place, &piece.text, piece.ink)),
        }
    }
}

/// A knob in a line: `clients 50`.
struct KnobPiece {
    knob: Knob,
    name: String,
    text: String,
    ink: Ink,
    width: u16,
}

/// The room for a value that is being typed.
const ENTRY: usize = 16;

fn pieces(glyphs: &Glyphs, model: &Model) -> Vec<KnobPiece> {
    let knobs = model.knobs_shown();
    let can_turn = model.cursor_s().is_none();
    let is_typed = model.entry(Purpose::Knob).is_some();
    let piece = |knob: Knob| {
        let (name, value) = (knob.called(knobs).to_owned(), knob.value(knobs));
        let is_selected = can_turn && knob == model.panel.selected();
        let text = match is_selected {
            true => format!("{} {name} {value} {} {}", glyphs.pointer, glyphs.less, glyphs.more),
            false => format!("{name} {value}"),
        };
        let ink = if is_selected { Ink::Selected } else { Ink::Faint };
        let width = if is_selected && is_typed { name.chars().count() + ENTRY } else { text.chars().count() };
        KnobPiece { knob, name, text, ink, width: width as u16 }
    };
    Knob::of(knobs).into_iter().map(piece).collect()
}

/// The distance between two pieces.
const GAP: u16 = 2;

/// Returns the areas of the pieces that fit completely. The pieces are in `first`, and then in the other rows of
/// `area`. `kept` columns of the last row stay free. The first piece is always included.
fn flow(pieces: &[KnobPiece], first: Rect, area: Rect, kept: u16) -> Vec<Rect> {
    let free = |line: Rect, n: u16| {
        let kept = if n + 1 < area.height { 0 } else { kept };
        Rect { width: line.width.saturating_sub(kept), ..line }
    };
    let (mut places, mut n) = (Vec::new(), 0);
    let mut line = free(from_column(first, first.x + 1), n);
    for piece in pieces {
        if piece.width > line.width && n + 1 < area.height {
            n += 1;
            line = free(from_column(row(area, n), area.x + 1), n);
        }
        if piece.width > line.width && !places.is_empty() {
            break;
        }
        places.push(Rect { width: piece.width.min(line.width), ..line });
        line = from_column(line, line.x + piece.width + GAP);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{session::TimelineOptions, workload::Workload};

    fn line(knob: Knob, knobs: &Knobs, width: usize) -> (String, String, usize) {
        let model = Model::new(knobs.clone(), TimelineOptions::default());
        let KnobRow { name, value, end, .. } = KnobRow::of(knob, &model, width);
        (name, value, end)
    }

    #[test]
    fn values_are_aligned_and_a_long_value_extends_to_the_right() {
        let drawn = |text: &str| Knob::Distribution.typed(&Knobs::default(), text).unwrap();
        let expected = |name: &str, value: &str, end| (name.to_owned(), value.to_owned(), end);
        assert_eq!(line(Knob::Clients, &Knobs::default(), 23), expected("clients", "50", 20));
        assert_eq!(line(Knob::Distribution, &drawn("uniform"), 23), expected("distribution", "uniform", 22));
        assert_eq!(
            line(Knob::Distribution, &drawn("sequential"), 23),
            expected("distribut…", "sequential", 23)
        );
        assert_eq!(
            line(Knob::Distribution, &drawn("hotspot 0.25 0.8"), 23),
            expected("distr…", "hotspot 0.25 …", 23)
        );
    }

    #[test]
    fn a_long_name_of_an_operation_is_cut_before_its_weight() {
        let mut workload = Workload::clone(&Workload::ratio(1, 1000));
        workload.operations[0].name = "operation with a long name".to_owned();
        let knobs = Knobs { workload: workload.into(), ..Knobs::default() };
        let expected = ("operation with …".to_owned(), "1000".to_owned(), 23);
        assert_eq!(line(Knob::Weight(0), &knobs, 23), expected);
    }
}
