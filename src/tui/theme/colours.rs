//! How each ink looks in each palette.
//!
//! Yellow and red say that something needs attention or is wrong, and nothing else. The background is always the
//! terminal's own: a palette for light ones has darker colours, and paints nothing behind them.

use ratatui::style::{Color, Modifier, Style};

use super::{Colours, Ink};
use crate::session::timeline::Level;

/// How `ink` looks in `palette`.
pub fn style(palette: Colours, ink: Ink) -> Style {
    let [of_terminal, dark, light] = colours(ink);
    match palette {
        Colours::Mono => mono(ink),
        Colours::Ansi16 | Colours::Ansi256 | Colours::Neutral => weighed(ink, of_terminal),
        Colours::Dark => weighed(ink, dark),
        Colours::Light => weighed(ink, light),
    }
}

/// The colour of `ink`, and its weight: what matters is bold, whatever its colour.
fn weighed(ink: Ink, colour: Option<Color>) -> Style {
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

/// The colours of `ink`: of the terminal's sixteen, on a dark background, on a light one.
fn colours(ink: Ink) -> [Option<Color>; 3] {
    let (of_terminal, dark, light) = match ink {
        Ink::Text | Ink::Strong | Ink::Found => return [None; 3],
        Ink::Faint => (None, (142, 142, 142), (104, 104, 104)),
        Ink::Selected | Ink::Level(Level::P50) | Ink::Ping => {
            (Some(Color::Cyan), (86, 196, 233), (0, 96, 150))
        }
        Ink::Good | Ink::Throughput | Ink::Server => (Some(Color::Green), (70, 200, 150), (0, 106, 70)),
        Ink::Warn => (Some(Color::Yellow), (240, 200, 66), (132, 88, 0)),
        Ink::Bad => (Some(Color::Red), (255, 118, 98), (178, 30, 20)),
        Ink::Level(Level::P90) => (Some(Color::LightBlue), (126, 164, 255), (44, 74, 190)),
        Ink::Level(Level::P99) => (Some(Color::Magenta), (182, 146, 246), (104, 52, 176)),
        Ink::Level(Level::P999) => (Some(Color::LightMagenta), (230, 140, 226), (150, 30, 140)),
        Ink::Level(Level::Max) => (Some(Color::Gray), (160, 160, 160), (105, 105, 105)),
        Ink::Machine => (Some(Color::Gray), (200, 200, 200), (72, 72, 72)),
    };
    let rgb = |(red, green, blue)| Some(Color::Rgb(red, green, blue));
    [of_terminal, rgb(dark), rgb(light)]
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
