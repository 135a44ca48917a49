//! The colours of the screen: the colour and attributes of each ink in each palette. An ink is the meaning of
//! a text or line, such as p99.
//!
//! Yellow means that something needs attention. Red means that something is wrong. The background is always that of the
//! terminal. The palette for light terminals has darker text colours.
//!
//! In the background of a latency chart, the shade of a cell shows the number of requests in this cell.
//!
//! ```text
//!   mono              no background
//!   16                four tones, only in cells without a line
//!   256, dark, light  six tones, each more different from the background
//! ```
//! The shades are faint, so every line is visible even on the strongest shade. Most terminals have a dark
//! background, so redyno treats an unknown background as dark.
//!
//! An SVG picture uses fixed colours in place of the terminal's own colours.

use ratatui::style::{Color, Modifier, Style};

use super::{Colours, GlyphSet, Ink, Theme};
use crate::session::timeline::Level;

/// Returns the colours and attributes of `ink` in `palette`.
pub fn style(palette: Colours, ink: Ink) -> Style {
    let [of_terminal, dark, light] = colours(ink);
    match palette {
        Colours::Mono => mono(ink),
        Colours::Ansi16 | Colours::Ansi256 | Colours::Pale256 | Colours::Neutral => weighed(ink, of_terminal),
        Colours::Dark => weighed(ink, dark),
        Colours::Light => weighed(ink, light),
    }
}

/// Returns the style of `ink` in this colour. Important inks are also bold.
fn weighed(ink: Ink, colour: Option<Color>) -> Style {
    let style = colour.map_or(Style::new(), |colour| Style::new().fg(colour));
    match ink {
        Ink::Strong | Ink::Selected | Ink::Good | Ink::Warn | Ink::Bad => style.add_modifier(Modifier::BOLD),
        Ink::Found => style.add_modifier(Modifier::REVERSED),
        // An ink without a colour of its own is dim. Bright black is avoided, since some palettes use it as the
        // background.
        Ink::Faint if colour.is_none() => style.add_modifier(Modifier::DIM),
        // The line of the maximum varies most, so it is faint.
        Ink::Level(Level::Max) if colour == Some(Color::Gray) => style.add_modifier(Modifier::DIM),
        _ => style,
    }
}

/// Returns three colours of `ink`: one of the terminal's sixteen colours, a 24-bit colour for a dark background, and
/// a 24-bit colour for a light background.
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

/// The number of tones for the background of a chart.
pub const STEPS: usize = 6;

/// The background of a cell, behind its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellBackground {
    /// No background.
    None,
    /// A colour.
    Tone(Color),
    /// A character, drawn in cells that are otherwise blank.
    Character(char, Style),
}

/// Returns the background for `step`. Steps above the last step have the background of the last step.
pub fn ground(palette: Colours, glyphs: GlyphSet, step: usize) -> CellBackground {
    let step = step.min(STEPS - 1);
    let rgb = |(red, green, blue)| CellBackground::Tone(Color::Rgb(red, green, blue));
    match palette {
        Colours::Mono => CellBackground::None,
        Colours::Ansi16 => {
            let tone = step * TONES_OF_16.len() / STEPS;
            let [in_unicode, in_ascii] = TONES_OF_16[tone];
            let character = if glyphs == GlyphSet::Unicode { in_unicode } else { in_ascii };
            let style = Style::reset().fg(Color::Blue);
            CellBackground::Character(
                character,
                if tone == 0 { style.add_modifier(Modifier::DIM) } else { style },
            )
        }
        Colours::Ansi256 => CellBackground::Tone(Color::Indexed(GREYS[step])),
        Colours::Pale256 => CellBackground::Tone(Color::Indexed(PALE_GREYS[step])),
        Colours::Neutral | Colours::Dark => rgb(DARK[step]),
        Colours::Light => rgb(PALE[step]),
    }
}

/// The characters for the four tones in sixteen colours, in Unicode and in ASCII. The first tone is dim. `▒` is not
/// used, because `▒` is the sign of an outage.
const TONES_OF_16: [[char; 2]; 4] = [['░', '.'], ['░', '.'], ['▓', ':'], ['█', '#']];
/// Some of xterm's 24 greys, which are the same on all terminals with 256 colours.
const GREYS: [u8; STEPS] = [234, 235, 236, 237, 238, 239];
/// Some of xterm's 24 greys for a light background.
const PALE_GREYS: [u8; STEPS] = [255, 254, 253, 252, 251, 250];
/// The hues of the viridis colour map. The hues are dark enough for lines to be visible.
const DARK: [(u8, u8, u8); STEPS] =
    [(25, 32, 52), (26, 42, 66), (26, 53, 76), (27, 65, 82), (29, 77, 84), (34, 90, 84)];
/// The hues of the viridis colour map, pale, for a light background.
const PALE: [(u8, u8, u8); STEPS] =
    [(240, 241, 248), (230, 235, 245), (219, 230, 241), (208, 225, 235), (197, 220, 227), (187, 215, 215)];

/// Red, green and blue, 0 to 255.
pub type Rgb = (u8, u8, u8);

/// The default colours of a picture: its background, and text without another colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureColours {
    /// The background.
    pub ground: Rgb,
    /// The text.
    pub text: Rgb,
    sixteen: &'static [u32; 16],
}

/// The sixteen terminal colours for a picture with a dark background, with two hexadecimal digits each for red, green
/// and blue.
const ON_DARK: [u32; 16] = [
    0x282c34, 0xf07178, 0x7ec680, 0xe5c06b, 0x6ca0e8, 0xc68cde, 0x56bec8, 0xbec4ce, 0x7c8492, 0xff8c8c,
    0x98dc96, 0xf5d782, 0x8cb4fa, 0xdea5f0, 0x78d7de, 0xf0f3f8,
];

/// The sixteen terminal colours for a picture with a light background.
const ON_LIGHT: [u32; 16] = [
    0x24282e, 0xb21e14, 0x006a32, 0x845800, 0x1e50b4, 0x822896, 0x006478, 0x5a5e64, 0x6e7278, 0xc83228,
    0x14783c, 0x966400, 0x325fc8, 0x9632a5, 0x007387, 0x14161a,
];

impl Theme {
    /// Returns the default colours for a picture in this theme. The picture has a light background if the palette is
    /// for a light background.
    pub fn paper(&self) -> PictureColours {
        match self.palette {
            Colours::Light | Colours::Pale256 => {
                PictureColours { ground: (250, 250, 247), text: (36, 40, 46), sixteen: &ON_LIGHT }
            }
            _ => PictureColours { ground: (24, 27, 33), text: (214, 219, 227), sixteen: &ON_DARK },
        }
    }
}

/// Returns the number of a colour among the 256 colours. Returns `None` for the terminal's default colour and for
/// 24-bit colours.
fn index(colour: Color) -> Option<u8> {
    match colour {
        Color::Reset | Color::Rgb(..) => None,
        Color::Indexed(index) => Some(index),
        Color::Black => Some(0),
        Color::Red => Some(1),
        Color::Green => Some(2),
        Color::Yellow => Some(3),
        Color::Blue => Some(4),
        Color::Magenta => Some(5),
        Color::Cyan => Some(6),
        Color::Gray => Some(7),
        Color::DarkGray => Some(8),
        Color::LightRed => Some(9),
        Color::LightGreen => Some(10),
        Color::LightYellow => Some(11),
        Color::LightBlue => Some(12),
        Color::LightMagenta => Some(13),
        Color::LightCyan => Some(14),
        Color::White => Some(15),
    }
}

/// Returns the SGR parameters that set a colour. `base` is 30 for text colours and 40 for background colours.
pub fn parameters_of(colour: Color, base: u8) -> String {
    match (colour, index(colour)) {
        (Color::Rgb(red, green, blue), _) => format!("{};2;{red};{green};{blue}", base + 8),
        (_, None) => (base + 9).to_string(),
        (_, Some(n @ ..8)) => (base + n).to_string(),
        // The SGR numbers of the bright colours are 60 higher.
        (_, Some(n @ 8..16)) => (base + 52 + n).to_string(),
        (_, Some(n)) => format!("{};5;{n}", base + 8),
    }
}

impl PictureColours {
    /// Returns `colour` as numbers. Returns `None` for the picture's default text or background colour.
    pub fn rgb(&self, colour: Color) -> Option<Rgb> {
        match colour {
            Color::Rgb(red, green, blue) => Some((red, green, blue)),
            _ => index(colour).map(|index| self.indexed(index)),
        }
    }

    /// Returns one of the 256 colours in xterm's numbering: sixteen basic colours, a cube of 6×6×6 colours, and 24
    /// greys.
    fn indexed(&self, index: u8) -> Rgb {
        let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
        match index {
            0..=15 => {
                let [_, red, green, blue] = self.sixteen[usize::from(index)].to_be_bytes();
                (red, green, blue)
            }
            16..=231 => {
                let cube = index - 16;
                (level(cube / 36), level(cube / 6 % 6), level(cube % 6))
            }
            232.. => {
                let grey = 8 + 10 * (index - 232);
                (grey, grey, grey)
            }
        }
    }

    /// Returns `colour` mixed with 40 % of the background, for faint text.
    pub fn faint(&self, colour: Rgb) -> Rgb {
        let mix = |a: u8, b: u8| ((u16::from(a) * 3 + u16::from(b) * 2) / 5) as u8;
        (mix(colour.0, self.ground.0), mix(colour.1, self.ground.1), mix(colour.2, self.ground.2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::fixture::{contrast, luminance};

    /// The contrast that WCAG 2 requires for text at level AA.
    const LEGIBLE: f64 = 4.5;

    #[test]
    fn every_ink_is_legible_on_the_background_of_its_palette() {
        // Few terminals have a background that is completely black or white.
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
    fn bad_differs_from_good_and_faint_from_text_in_every_palette() {
        for palette in Colours::ALL {
            assert_ne!(style(palette, Ink::Bad), style(palette, Ink::Good), "{palette:?}");
            assert_ne!(style(palette, Ink::Faint), style(palette, Ink::Text), "{palette:?}");
        }
    }

    fn tones(palette: Colours) -> Vec<f64> {
        let tone = |step| match ground(palette, GlyphSet::Unicode, step) {
            CellBackground::Tone(colour) => luminance(colour),
            other => panic!("{other:?}"),
        };
        (0..STEPS).map(tone).collect()
    }

    #[test]
    fn each_tone_differs_more_from_the_background_and_lines_are_legible_on_all() {
        for (palette, background) in [(Colours::Dark, 0.0), (Colours::Light, 1.0)] {
            let tones = tones(palette);
            let from_ground: Vec<f64> = tones.iter().map(|tone| contrast(*tone, background)).collect();
            assert!(from_ground.is_sorted_by(|a, b| a * 1.04 < *b), "{palette:?}: {from_ground:.2?}");
            for level in Level::ALL {
                let line = style(palette, Ink::Level(level)).fg.map_or(1.0 - background, luminance);
                let worst = tones.iter().map(|tone| contrast(line, *tone)).fold(f64::INFINITY, f64::min);
                // WCAG 2 requires this contrast of graphics.
                assert!(worst >= 3.0, "{palette:?} {level:?}: {worst:.2}");
            }
        }
    }

    #[test]
    fn sixteen_colours_have_four_tones_mono_has_none_and_ascii_stays_ascii() {
        let all = |palette, glyphs| (0..=STEPS).map(move |step| ground(palette, glyphs, step));
        assert!(all(Colours::Mono, GlyphSet::Unicode).all(|ground| ground == CellBackground::None));
        for glyphs in [GlyphSet::Unicode, GlyphSet::Ascii] {
            let mut tones: Vec<_> = all(Colours::Ansi16, glyphs).collect();
            tones.dedup();
            assert_eq!(tones.len(), 4);
        }
        let is_ascii = |ground| !matches!(ground, CellBackground::Character(c, _) if !c.is_ascii());
        for palette in Colours::ALL {
            assert!(all(palette, GlyphSet::Ascii).all(is_ascii), "{palette:?}");
        }
    }

    #[test]
    fn text_of_every_colour_can_be_read_on_its_paper() {
        for palette in [Colours::Ansi16, Colours::Light] {
            let paper = Theme::new(palette, GlyphSet::Unicode).paper();
            let bright = |(red, green, blue)| luminance(Color::Rgb(red, green, blue));
            let legible = |colour| contrast(bright(colour), bright(paper.ground));
            assert!(legible(paper.text) > 10.0);
            for index in 1..=15 {
                let colour = paper.rgb(Color::Indexed(index)).unwrap();
                assert!(legible(colour) >= 4.0, "{palette:?} {index}: {:.1}", legible(colour));
            }
        }
    }

    #[test]
    fn the_256_colours_have_their_usual_values() {
        let paper = Theme::new(Colours::Ansi256, GlyphSet::Unicode).paper();
        assert_eq!(paper.rgb(Color::Indexed(62)), Some((95, 95, 215)));
        assert_eq!(paper.rgb(Color::Indexed(255)), Some((238, 238, 238)));
        assert_eq!(paper.rgb(Color::Reset), None);
    }
}
