//! What lies at a place of the screen, by the plan that it was drawn by.

use ratatui::layout::Rect;

use super::{
    layout::Tier,
    maximised,
    widgets::{footer, palette, panel},
};
use crate::app::{Model, Screen, Spot};

/// What lies at column `x` of row `y` on a screen of `area`'s size that shows `model`.
pub fn spot(area: Rect, model: &Model, x: u16, y: u16) -> Spot {
    if model.palette().is_some() {
        return palette::offer_at(area, model, x, y).map_or(Spot::Elsewhere, Spot::Offer);
    }
    let plan = maximised::plan(area, model);
    if !matches!(plan.tier, Tier::Panel | Tier::Compact) {
        return Spot::Elsewhere;
    }
    if y + 1 == area.bottom() {
        return footer::tab_at(plan.footer, model, x).map_or(Spot::Elsewhere, Spot::Tab);
    }
    if model.screen != Screen::Overview {
        return Spot::Elsewhere;
    }
    if plan.panel.contains((x, y).into()) {
        return panel::knob_at(plan.panel, y).map_or(Spot::Elsewhere, Spot::Knob);
    }
    // All between the status and the axis, whichever lanes there are.
    let left = plan.axis.x + plan.columns.gutter;
    let is_chart = (plan.status.bottom()..plan.axis.bottom()).contains(&y);
    if is_chart && (left..left + plan.columns.plot).contains(&x) {
        return Spot::Chart { column: x - left };
    }
    Spot::Elsewhere
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::{Buffer, Cell};

    use super::*;
    use crate::{
        app::{Knob, Model},
        load::Knobs,
        session::TimelineOptions,
        tui::{
            screens,
            theme::{GlyphSet, Palette, Theme},
        },
    };

    const AREA: Rect = Rect { x: 0, y: 0, width: 120, height: 36 };

    fn drawn(model: &Model) -> Vec<Vec<String>> {
        let mut buffer = Buffer::empty(AREA);
        screens::draw(&mut buffer, Theme::new(Palette::Mono, GlyphSet::Unicode), model);
        let rows = buffer.content.chunks(AREA.width.into());
        rows.map(|row| row.iter().map(Cell::symbol).map(str::to_owned).collect()).collect()
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
        let rows = drawn(&model);
        for knob in Knob::ALL {
            let (x, y) = find(&rows, knob.name());
            assert_eq!(spot(AREA, &model, x, y), Spot::Knob(knob));
        }
        for (n, screen) in Screen::ALL.into_iter().enumerate() {
            let (x, y) = find(&rows, &format!("{} {}", n + 1, screen.name()));
            assert_eq!(spot(AREA, &model, x, y), Spot::Tab(screen));
        }
        let plan = maximised::plan(AREA, &model);
        let left = plan.columns.gutter;
        assert_eq!(spot(AREA, &model, left, plan.axis.y), Spot::Chart { column: 0 });
        assert_eq!(spot(AREA, &model, left - 1, plan.axis.y), Spot::Elsewhere);
        assert_eq!(spot(AREA, &model, 0, 0), Spot::Elsewhere);
    }

    #[test]
    fn an_offer_is_found_where_it_is_drawn() {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        for c in [':', 'z', 'o', 'o', 'm'] {
            let key = crate::app::Key::plain(crate::app::KeyCode::Char(c));
            crate::app::update(&mut model, crate::app::Msg::Key(key));
        }
        let rows = drawn(&model);
        for (n, title) in ["zoom in", "zoom out"].into_iter().enumerate() {
            let (x, y) = find(&rows, title);
            assert_eq!(spot(AREA, &model, x, y), Spot::Offer(n));
        }
    }
}
