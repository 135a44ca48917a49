//! What lies where on the screen: what is drawn says what it is, and a click finds what was drawn last.

use ratatui::layout::Rect;

use crate::app::Spot;

/// The places of the last frame.
#[derive(Debug, Clone, Default)]
pub struct Spots(Vec<(Rect, Spot)>);

impl Spots {
    /// `spot` lies in `area`, over what was there before. Of a chart it is its first column.
    pub fn put(&mut self, area: Rect, spot: Spot) {
        self.0.push((area, spot));
    }

    /// What lies at column `x` of row `y`.
    pub fn at(&self, x: u16, y: u16) -> Spot {
        let here = self.0.iter().rev().find(|(area, _)| area.contains((x, y).into()));
        match here {
            Some((area, Spot::Chart { column })) => Spot::Chart { column: column + (x - area.x) },
            Some((_, spot)) => *spot,
            None => Spot::Elsewhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::{Buffer, Cell};

    use super::*;
    use crate::{
        app::{Model, Screen},
        knobs::Knobs,
        session::TimelineOptions,
        tui::{
            screens,
            theme::{Colours, GlyphSet, Theme},
        },
    };

    const AREA: Rect = Rect { x: 0, y: 0, width: 120, height: 36 };

    fn drawn(model: &Model) -> (Vec<Vec<String>>, Spots) {
        let theme = Theme::new(Colours::Mono, GlyphSet::Unicode);
        let mut buffer = Buffer::empty(AREA);
        let spots = screens::draw(&mut buffer, theme, model, &screens::plan(AREA, model));
        let rows = buffer.content.chunks(AREA.width.into());
        (rows.map(|row| row.iter().map(Cell::symbol).map(str::to_owned).collect()).collect(), spots)
    }

    /// Where `text` stands on the screen, searched from the right: in the panel or the tabs.
    fn find(rows: &[Vec<String>], text: &str) -> (u16, u16) {
        for (y, row) in rows.iter().enumerate() {
            let starts = (0..row.len()).rev();
            if let Some(x) = starts.into_iter().find(|x| row[*x..].concat().starts_with(text)) {
                return (x as u16, y as u16);
            }
        }
        panic!("'{text}' is not on the screen")
    }

    #[test]
    fn what_is_drawn_somewhere_is_found_there() {
        let model = Model::new(Knobs::default(), TimelineOptions::default());
        let (rows, spots) = drawn(&model);
        for knob in model.panel.knobs() {
            let (x, y) = find(&rows, knob.name());
            assert_eq!(spots.at(x, y), Spot::Knob(knob));
        }
        for screen in Screen::ALL {
            let (x, y) = find(&rows, &format!("{} {}", screen.key(), screen.name()));
            assert_eq!(spots.at(x, y), Spot::Tab(screen));
        }
        let plan = screens::plan(AREA, &model);
        let left = plan.columns.gutter;
        assert_eq!(spots.at(left, plan.axis.y), Spot::Chart { column: 0 });
        assert_eq!(spots.at(left + 7, plan.throughput.y), Spot::Chart { column: 7 });
        assert_eq!(spots.at(left - 1, plan.axis.y), Spot::Elsewhere);
        assert_eq!(spots.at(0, 0), Spot::Elsewhere);
    }

    #[test]
    fn an_offer_is_found_where_it_is_drawn() {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        for c in [':', 'z', 'o', 'o', 'm'] {
            let key = crate::app::Key::plain(crate::app::KeyCode::Char(c));
            crate::app::update(&mut model, crate::app::Msg::Key(key));
        }
        let (rows, spots) = drawn(&model);
        for (n, title) in ["zoom in", "zoom out"].into_iter().enumerate() {
            let (x, y) = find(&rows, title);
            assert_eq!(spots.at(x, y), Spot::Offer(n));
        }
    }
}
