//! The ramp of a heat map: from one request in a cell to the densest cell of all.
//!
//! ```text
//!   mono        · : ░ ▒ ▓ █
//!   16, 256     ░ ▒ ▓ █ ▓ █   blue, cyan, and at the end the terminal's own foreground
//!   dark        █ █ █ █ █ █   viridis, from dark to bright
//!   light       █ █ █ █ █ █   viridis, from bright to dark
//! ```
//! It is read by brightness alone, so that it is the same to every eye: each step stands out more from the
//! background than the one before. Where the background is not known, that holds on a black one and on a white one,
//! which is why such a ramp ends in the terminal's own foreground. No step is yellow or red with the meaning of
//! an alarm: density is a finding.

use ratatui::style::{Color, Style};

use super::{Colours, GlyphSet};

/// How many steps a ramp has.
pub const STEPS: usize = 6;

/// How a cell of one step looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shade {
    /// What is drawn.
    pub character: char,
    /// In which colour.
    pub style: Style,
}

/// How step `step` looks; one above the last looks like the last.
pub fn shade(palette: Colours, glyphs: GlyphSet, step: usize) -> Shade {
    let step = step.min(STEPS - 1);
    let colour = colours(palette)[step];
    let characters = match (glyphs, palette) {
        (GlyphSet::Ascii, _) => ASCII,
        (GlyphSet::Unicode, Colours::Mono) => DENSITY,
        (GlyphSet::Unicode, Colours::Ansi16 | Colours::Ansi256 | Colours::Neutral) => TWICE,
        (GlyphSet::Unicode, Colours::Dark | Colours::Light) => FULL,
    };
    let style = Style::reset();
    Shade { character: characters[step], style: colour.map_or(style, |colour| style.fg(colour)) }
}

const ASCII: [char; STEPS] = ['.', ':', '+', '*', '#', '@'];
const DENSITY: [char; STEPS] = ['·', ':', '░', '▒', '▓', '█'];
const TWICE: [char; STEPS] = ['░', '▒', '▓', '█', '▓', '█'];
const FULL: [char; STEPS] = ['█'; STEPS];

/// The colours of the steps; none is the terminal's foreground.
fn colours(palette: Colours) -> [Option<Color>; STEPS] {
    let indexed = |index| Some(Color::Indexed(index));
    match palette {
        Colours::Mono => [None; STEPS],
        Colours::Ansi16 => {
            let [blue, cyan] = [Some(Color::Blue), Some(Color::Cyan)];
            [blue, cyan, cyan, cyan, None, None]
        }
        Colours::Ansi256 => [indexed(62), indexed(67), indexed(73), indexed(72), None, None],
        Colours::Neutral => {
            let [a, b, c, d, _, _] = ON_ANY.map(rgb);
            [a, b, c, d, None, None]
        }
        Colours::Dark => VIRIDIS.map(rgb),
        Colours::Light => {
            let mut colours = VIRIDIS_LIGHT.map(rgb);
            colours.reverse();
            colours
        }
    }
}

fn rgb((red, green, blue): (u8, u8, u8)) -> Option<Color> {
    Some(Color::Rgb(red, green, blue))
}

/// viridis by Smith and van der Walt (CC0), from a fifth of its way on: its beginning cannot be told from black.
const VIRIDIS: [(u8, u8, u8); STEPS] =
    [(65, 68, 135), (49, 104, 142), (33, 145, 140), (53, 183, 121), (144, 215, 67), (253, 231, 37)];
/// The same up to four fifths of its way: its end cannot be told from white. Read backwards.
const VIRIDIS_LIGHT: [(u8, u8, u8); STEPS] =
    [(68, 1, 84), (70, 50, 126), (54, 92, 141), (39, 127, 142), (31, 161, 135), (94, 201, 98)];
/// viridis' hues, held between black and white; the last two steps are the foreground's.
const ON_ANY: [(u8, u8, u8); STEPS] =
    [(86, 92, 190), (66, 120, 180), (44, 150, 160), (46, 170, 130), (0, 0, 0), (0, 0, 0)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::luminance::{contrast, luminance};

    /// How much of a cell each character covers.
    fn coverage(character: char) -> f64 {
        match character {
            '·' => 0.03,
            ':' => 0.06,
            '░' => 0.25,
            '▒' => 0.5,
            '▓' => 0.75,
            '█' => 1.0,
            other => panic!("{other} is on no ramp"),
        }
    }

    /// What the eye sees of a step: the luminance of the cell on `ground`, when the foreground is its opposite.
    fn seen(palette: Colours, step: usize, ground: f64) -> f64 {
        let shade = shade(palette, GlyphSet::Unicode, step);
        let ink = shade.style.fg.filter(|colour| *colour != Color::Reset);
        let ink = ink.map_or(1.0 - ground, luminance);
        let covered = coverage(shade.character);
        covered * ink + (1.0 - covered) * ground
    }

    #[test]
    fn each_step_stands_out_more_than_the_one_before() {
        for (palette, grounds) in [
            (Colours::Mono, &[0.0, 1.0][..]),
            (Colours::Ansi16, &[0.0, 1.0]),
            (Colours::Ansi256, &[0.0, 1.0]),
            (Colours::Neutral, &[0.0, 1.0]),
            (Colours::Dark, &[0.0]),
            (Colours::Light, &[1.0]),
        ] {
            for ground in grounds {
                let seen: Vec<f64> = (0..STEPS).map(|step| seen(palette, step, *ground)).collect();
                let distance = |luminance: &f64| (luminance - ground).abs();
                assert!(
                    seen.is_sorted_by(|a, b| distance(a) < distance(b)),
                    "{palette:?} on {ground}: {seen:.3?}"
                );
                let first = contrast(seen[0], *ground);
                assert!(
                    first > 1.02,
                    "{palette:?} on {ground}: the first step is as good as nothing, {first:.3}"
                );
            }
        }
    }

    #[test]
    fn in_colours_that_fill_the_cell_neighbours_differ_by_a_quarter_in_contrast() {
        for palette in [Colours::Dark, Colours::Light] {
            let seen: Vec<f64> = (0..STEPS).map(|step| seen(palette, step, 0.0)).collect();
            for pair in seen.windows(2) {
                let contrast = contrast(pair[0], pair[1]);
                assert!(contrast > 1.25, "{palette:?}: {seen:.3?}");
            }
        }
    }

    #[test]
    fn a_step_beyond_the_last_is_the_last_and_ascii_and_mono_keep_their_promise() {
        for palette in Colours::ALL {
            let last = shade(palette, GlyphSet::Unicode, STEPS - 1);
            assert_eq!(shade(palette, GlyphSet::Unicode, usize::MAX), last);
            let ascii: Vec<char> =
                (0..STEPS).map(|step| shade(palette, GlyphSet::Ascii, step).character).collect();
            assert!(ascii.iter().all(char::is_ascii) && ascii.windows(2).all(|pair| pair[0] != pair[1]));
        }
        assert!((0..STEPS).all(|n| shade(Colours::Mono, GlyphSet::Unicode, n).style == Style::reset()));
    }
}
