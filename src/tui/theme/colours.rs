//! How each ink looks in each palette.
//!
//! Yellow and red say that something needs attention or is wrong, and nothing else. The background is always the
//! terminal's own: a palette for light ones has darker colours, and paints nothing behind them.

use ratatui::style::{Color, Modifier, Style};

use super::{Colours, Ink};
use crate::session::timeline::Level;

/// How `ink` looks in `palette`.
pub fn style(palette: Colours, ink: Ink) -> Style {
    match palette {
        Colours::Mono => mono(ink),
        Colours::Ansi16 | Colours::Ansi256 | Colours::Neutral => weighed(ink, ansi16),
        Colours::Dark => weighed(ink, dark),
        Colours::Light => weighed(ink, light),
    }
}

/// The colour of `ink`, and its weight: what matters is bold, whatever its colour.
fn weighed(ink: Ink, colour: fn(Ink) -> Option<Color>) -> Style {
    let colour = colour(ink);
    let style = colour.map_or(Style::new(), |colour| Style::new().fg(colour));
    match ink {
        Ink::Strong | Ink::Selected | Ink::Good | Ink::Warn | Ink::Bad => style.add_modifier(Modifier::BOLD),
        Ink::Found => style.add_modifier(Modifier::REVERSED),
        // Without a colour of its own. Not bright black, which some palettes make the colour of the background.
        Ink::Faint if colour.is_none() => style.add_modifier(Modifier::DIM),
        // The restless line is the quiet one.
        Ink::Level(Level::Max) if colour == Some(Color::Gray) => style.add_modifier(Modifier::DIM),
        _ => style,
    }
}

fn ansi16(ink: Ink) -> Option<Color> {
    match ink {
        Ink::Text | Ink::Faint | Ink::Strong | Ink::Found => None,
        Ink::Selected | Ink::Level(Level::P50) | Ink::Ping => Some(Color::Cyan),
        Ink::Good | Ink::Throughput | Ink::Server => Some(Color::Green),
        Ink::Warn => Some(Color::Yellow),
        Ink::Bad => Some(Color::Red),
        Ink::Level(Level::P90) => Some(Color::LightBlue),
        Ink::Level(Level::P99) => Some(Color::Magenta),
        Ink::Level(Level::P999) => Some(Color::LightMagenta),
        Ink::Level(Level::Max) | Ink::Machine => Some(Color::Gray),
    }
}

fn dark(ink: Ink) -> Option<Color> {
    match ink {
        Ink::Text | Ink::Strong | Ink::Found => None,
        Ink::Faint => Some(Color::Rgb(142, 142, 142)),
        Ink::Selected | Ink::Level(Level::P50) | Ink::Ping => Some(Color::Rgb(86, 196, 233)),
        Ink::Good | Ink::Throughput | Ink::Server => Some(Color::Rgb(70, 200, 150)),
        Ink::Warn => Some(Color::Rgb(240, 200, 66)),
        Ink::Bad => Some(Color::Rgb(255, 118, 98)),
        Ink::Level(Level::P90) => Some(Color::Rgb(126, 164, 255)),
        Ink::Level(Level::P99) => Some(Color::Rgb(182, 146, 246)),
        Ink::Level(Level::P999) => Some(Color::Rgb(230, 140, 226)),
        Ink::Level(Level::Max) => Some(Color::Rgb(160, 160, 160)),
        Ink::Machine => Some(Color::Rgb(200, 200, 200)),
    }
}

fn light(ink: Ink) -> Option<Color> {
    match ink {
        Ink::Text | Ink::Strong | Ink::Found => None,
        Ink::Faint => Some(Color::Rgb(104, 104, 104)),
        Ink::Selected | Ink::Level(Level::P50) | Ink::Ping => Some(Color::Rgb(0, 96, 150)),
        Ink::Good | Ink::Throughput | Ink::Server => Some(Color::Rgb(0, 106, 70)),
        Ink::Warn => Some(Color::Rgb(132, 88, 0)),
        Ink::Bad => Some(Color::Rgb(178, 30, 20)),
        Ink::Level(Level::P90) => Some(Color::Rgb(44, 74, 190)),
        Ink::Level(Level::P99) => Some(Color::Rgb(104, 52, 176)),
        Ink::Level(Level::P999) => Some(Color::Rgb(150, 30, 140)),
        Ink::Level(Level::Max) => Some(Color::Rgb(105, 105, 105)),
        Ink::Machine => Some(Color::Rgb(72, 72, 72)),
    }
}

fn mono(ink: Ink) -> Style {
    let plain = Style::new();
    match ink {
        Ink::Faint | Ink::Level(Level::Max) => plain.add_modifier(Modifier::DIM),
        Ink::Strong | Ink::Good | Ink::Warn => plain.add_modifier(Modifier::BOLD),
        Ink::Selected | Ink::Found | Ink::Bad => plain.add_modifier(Modifier::REVERSED),
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::fixture::{contrast, luminance};

    /// What is read as text, WCAG 2 level AA.
    const LEGIBLE: f64 = 4.5;

    #[test]
    fn every_ink_can_be_read_on_the_background_that_its_palette_is_for() {
        // Few backgrounds are quite black or white.
        for (palette, ground) in
            [(Colours::Dark, Color::Rgb(38, 38, 38)), (Colours::Light, Color::Rgb(245, 245, 240))]
        {
            for ink in Ink::ALL {
                let Some(colour) = style(palette, ink).fg else { continue };
                let contrast = contrast(luminance(colour), luminance(ground));
                assert!(contrast >= LEGIBLE, "{palette:?} {ink:?}: {contrast:.2}");
            }
        }
    }

    #[test]
    fn wrong_looks_other_than_well_and_faint_other_than_text_in_every_palette() {
        for palette in Colours::ALL {
            assert_ne!(style(palette, Ink::Bad), style(palette, Ink::Good), "{palette:?}");
            assert_ne!(style(palette, Ink::Faint), style(palette, Ink::Text), "{palette:?}");
        }
    }
}
