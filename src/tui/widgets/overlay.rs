//! What lies over a screen: the help, a question, something being asked for.

use ratatui::layout::Rect;

use super::{
    dialog::{dialog, text_width},
    figures::clock,
    help, palette,
};
use crate::{
    app::{Model, Overlay, Setting, value_words},
    tui::paint::{Paint, wrapped},
};

/// Draws the overlay that is open, if any.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model) {
    match &model.overlay {
        Overlay::None => {}
        Overlay::Help { scroll } => help::draw(paint, area, *scroll),
        Overlay::FirstWrite { question } => {
            let mut lines = wrapped(question, text_width(area));
            lines.extend([String::new(), "y yes    n, Enter: no (default)".to_owned()]);
            dialog(paint, area, "write to this server?", &lines);
        }
        Overlay::SetConfig(Setting { parameter, from, to, harm }) => {
            let harm = harm.as_ref().map(|harm| format!("{harm}. ")).unwrap_or_default();
            let what = format!(
                "CONFIG SET {} {} ({}; now {}). {harm}A new segment begins. At the end of the session the old value \
                 comes back.",
                parameter.name,
                value_words(to),
                parameter.about,
                value_words(from),
            );
            let mut lines = wrapped(&what, text_width(area));
            lines.extend([String::new(), "y yes    n, Enter: no (default)".to_owned()]);
            dialog(paint, area, "change this server?", &lines);
        }
        Overlay::Danger { question, .. } => {
            let mut lines = wrapped(question, text_width(area));
            lines.extend([String::new(), "y yes    n, Enter: no (default)".to_owned()]);
            dialog(paint, area, "this may do harm", &lines);
        }
        Overlay::Mark { entry, t_s } => {
            let at = format!("A note on the time axis at {}:", clock(*t_s));
            let typed = format!("{}{}", entry.text(), paint.glyphs().caret);
            let mut lines = wrapped(&at, text_width(area));
            lines.extend([String::new(), typed, String::new(), "Enter set the mark    Esc none".to_owned()]);
            dialog(paint, area, "mark", &lines);
        }
        Overlay::Palette { .. } => palette::draw(paint, area, model),
        Overlay::Intrinsic { entry } => {
            let what = "How many seconds? A busy loop takes one core of this machine for as long, so the load \
                        has less of it.";
            let mut lines = wrapped(what, text_width(area));
            let typed = format!("{}{}", entry.text(), paint.glyphs().caret);
            lines.extend([String::new(), format!("{typed} s    Enter start    Esc not now")]);
            dialog(paint, area, "intrinsic latency", &lines);
        }
    }
}
