//! The knobs in the panel: the switch of the load, then a row for each knob. If not all knobs fit, those around the
//! selected one are shown.
//!
//! ```text
//! ├─ knobs 4 to 11 of 26 ───
//! │   load          on
//! │   rate         max
//! │ ▸ distribution zipfian ◂▸
//! │   HGETALL        5 was 1
//! ```

use ratatui::layout::Rect;

use super::{dialog::input, panel::section, table::around};
use crate::{
    app::{Knob, Model, Purpose, Spot},
    tui::{Ink, Paint, cut, from_column, row},
};

/// The width of the names, including the pointer before them.
const NAME: u16 = 12;
/// The width of the values: `1.50 KiB`.
const VALUE: u16 = 8;
/// The width of a pointer and a blank.
const POINTER: u16 = 2;
/// The least width for a name, next to a long value.
const LEAST_NAME: usize = 6;
/// The least number of rows of the section: enough for the knobs of a plain load.
const LEAST_ROWS: u16 = 8;

/// Draws the knobs in a section at the top of `rest`, and removes the section from `rest`. It has at most half of
/// the rows.
pub fn draw(paint: &mut Paint, rest: &mut Rect, model: &Model) {
    let knobs = model.panel.knobs();
    let most = (rest.height / 2).max(LEAST_ROWS);
    let rows = (1 + knobs.len() as u16).min(most);
    let selected = knobs.iter().position(|knob| *knob == model.panel.selected()).unwrap_or(0);
    let shown = around(selected, knobs.len(), rows - 1);
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
}

fn load(paint: &mut Paint, line: Rect, model: &Model) {
    let wanted = model.panel.wanted();
    let (load, ink) = if wanted.load { ("on", Ink::Good) } else { ("off", Ink::Text) };
    paint.text(line, "  load", Ink::Text);
    let value = Rect { x: line.x + NAME, width: VALUE.min(line.width.saturating_sub(NAME)), ..line };
    paint.right(value, load, ink);
    if wanted.load != model.in_force().load {
        paint.text(from_column(line, line.x + NAME + VALUE), " …", Ink::Warn);
    }
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
    /// Returns the row of a knob in `width` columns. Values are aligned. A long value extends to the right; if it
    /// still does not fit, the name is shortened, and finally the value is cut.
    fn of(knob: Knob, model: &Model, width: usize) -> Self {
        let wanted = model.panel.wanted();
        let pointer = usize::from(POINTER);
        let room = width.saturating_sub(pointer + 1);
        let value = cut(&knob.value(wanted), room.saturating_sub(LEAST_NAME));
        let name = cut(knob.called(wanted), room.saturating_sub(value.chars().count()));
        let end = pointer + name.chars().count() + 1 + value.chars().count();
        Self { knob, name, value, end: end.max(usize::from(NAME + VALUE)) }
    }

    fn draw(&self, paint: &mut Paint, line: Rect, model: &Model) {
        let glyphs = paint.glyphs();
        let Self { knob, name, value, end } = self;
        let selected = model.panel.selected() == *knob;
        let ink = if selected { Ink::Selected } else { Ink::Text };
        let pointer = if selected { glyphs.pointer } else { ' ' };
        if let Some(entry) = model.entry(Purpose::Knob).filter(|_| selected) {
            let from = NAME.max(POINTER + name.chars().count() as u16);
            paint.text(line, &format!("{pointer} {name}"), ink);
            input(paint, from_column(line, line.x + from + 1), entry);
            return;
        }
        let room = end.saturating_sub(usize::from(POINTER) + value.chars().count());
        let after = from_column(line, paint.text(line, &format!("{pointer} {name:<room$}{value}"), ink));
        let (wanted, in_force) = (model.panel.wanted(), model.in_force());
        // Weights of another workload cannot be compared with the present ones.
        let before = knob.value(in_force);
        if before != knob.value(wanted) && knob.called(in_force) == knob.called(wanted) {
            paint.parts(after, &[(" was ", Ink::Warn), (&before, Ink::Warn)]);
        } else if selected {
            paint.text(after, &format!(" {}{}", glyphs.less, glyphs.more), Ink::Selected);
        }
    }
}

/// Draws the knobs in one line, for screens without a panel: the selected knob with its value, its neighbours by
/// name.
pub fn line(paint: &mut Paint, area: Rect, model: &Model) {
    let glyphs = paint.glyphs();
    let selected = model.panel.selected();
    let wanted = model.panel.wanted();
    let name = format!(" {} {}", glyphs.pointer, selected.called(wanted));
    let rest = from_column(area, paint.text(area, &name, Ink::Selected) + 1);
    let x = match model.entry(Purpose::Knob) {
        Some(entry) => input(paint, rest, entry),
        None => {
            let value = selected.value(wanted);
            paint.text(rest, &format!("{value} {} {} ", glyphs.less, glyphs.more), Ink::Selected)
        }
    };
    let others = model.panel.knobs().into_iter().filter(|knob| *knob != selected);
    let text = |knob: Knob| (format!("  {} {}", knob.called(wanted), knob.value(wanted)), Ink::Faint);
    paint.parts(from_column(rest, x), &others.map(text).collect::<Vec<_>>());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{knobs::Knobs, session::TimelineOptions, workload::Workload};

    fn line(knob: Knob, knobs: &Knobs, width: usize) -> (String, String, usize) {
        let model = Model::new(knobs.clone(), TimelineOptions::default());
        let KnobRow { name, value, end, .. } = KnobRow::of(knob, &model, width);
        (name, value, end)
    }

    #[test]
    fn values_stand_below_each_other_and_a_long_one_goes_on_to_the_right() {
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
        workload.operations[0].name = "a name that goes on and on".to_owned();
        let knobs = Knobs { workload: workload.into(), ..Knobs::default() };
        let expected = ("a name that goe…".to_owned(), "1000".to_owned(), 23);
        assert_eq!(line(Knob::Weight(0), &knobs, 23), expected);
    }
}
