//! The ground of a chart: how many requests stand in a cell, as a tone behind the lines.
//!
//! ```text
//!   mono              nothing: a ground that hides no line has no character left
//!   16                one tone, in cells that no line goes through
//!   256, dark, light  six tones, each further from the background than the one before
//! ```
//! It is quiet, so that every line can be read on its densest tone. Where the background is not known a dark one is
//! taken for granted, as most are; `--theme light` is for the others.

use ratatui::style::{Color, Style};

use super::{Colours, GlyphSet};

/// How many tones there are.
pub const STEPS: usize = 6;

/// What stands behind the lines of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// Nothing.
    None,
    /// A colour.
    Tone(Color),
    /// A character, where nothing else stands.
    Character(char, Style),
}

/// The ground of step `step`; one above the last looks like the last.
pub fn ground(palette: Colours, glyphs: GlyphSet, step: usize) -> Ground {
    let step = step.min(STEPS - 1);
    let rgb = |(red, green, blue)| Ground::Tone(Color::Rgb(red, green, blue));
    match palette {
        Colours::Mono => Ground::None,
        Colours::Ansi16 => {
            let character = if glyphs == GlyphSet::Unicode { '░' } else { '.' };
            Ground::Character(character, Style::reset().fg(Color::Blue))
        }
        Colours::Ansi256 => Ground::Tone(Color::Indexed(GREYS[step])),
        Colours::Neutral | Colours::Dark => rgb(DARK[step]),
        Colours::Light => rgb(PALE[step]),
    }
}

/// Of the 24 greys, which are alike on all terminals with 256 colours.
const GREYS: [u8; STEPS] = [234, 235, 236, 237, 238, 239];
/// The hues of viridis, as dark as leaves room for lines.
const DARK: [(u8, u8, u8); STEPS] =
    [(25, 32, 52), (26, 42, 66), (26, 53, 76), (27, 65, 82), (29, 77, 84), (34, 90, 84)];
/// The same, pale.
const PALE: [(u8, u8, u8); STEPS] =
    [(240, 241, 248), (230, 235, 245), (219, 230, 241), (208, 225, 235), (197, 220, 227), (187, 215, 215)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        session::timeline::Level,
        tui::theme::{
            Ink, colours,
            fixture::{contrast, luminance},
        },
    };

    fn tones(palette: Colours) -> Vec<f64> {
        let tone = |step| match ground(palette, GlyphSet::Unicode, step) {
            Ground::Tone(colour) => luminance(colour),
            other => panic!("{other:?}"),
        };
        (0..STEPS).map(tone).collect()
    }

    #[test]
    fn each_tone_is_further_from_the_background_and_every_line_is_read_on_the_densest() {
        for (palette, background) in [(Colours::Dark, 0.0), (Colours::Light, 1.0)] {
            let tones = tones(palette);
            let from_ground: Vec<f64> = tones.iter().map(|tone| contrast(*tone, background)).collect();
            assert!(from_ground.is_sorted_by(|a, b| a * 1.04 < *b), "{palette:?}: {from_ground:.2?}");
            for level in Level::ALL {
                let line = colours::style(palette, Ink::Level(level)).fg.map_or(1.0 - background, luminance);
                let worst = tones.iter().map(|tone| contrast(line, *tone)).fold(f64::INFINITY, f64::min);
                // WCAG 2 asks that of what is drawn and is no text.
                assert!(worst >= 3.0, "{palette:?} {level:?}: {worst:.2}");
            }
        }
    }

    #[test]
    fn it_is_one_tone_in_sixteen_colours_none_without_and_ascii_is_ascii() {
        let all = |palette, glyphs| (0..=STEPS).map(move |step| ground(palette, glyphs, step));
        assert!(all(Colours::Mono, GlyphSet::Unicode).all(|ground| ground == Ground::None));
        for glyphs in [GlyphSet::Unicode, GlyphSet::Ascii] {
            let first = ground(Colours::Ansi16, glyphs, 0);
            assert!(all(Colours::Ansi16, glyphs).all(|ground| ground == first));
        }
        let is_ascii = |ground| !matches!(ground, Ground::Character(c, _) if !c.is_ascii());
        for palette in Colours::ALL {
            assert!(all(palette, GlyphSet::Ascii).all(is_ascii), "{palette:?}");
        }
    }
}
