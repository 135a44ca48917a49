//! The colours of a picture: what a terminal would show, as numbers.

use ratatui::style::Color;

use super::{Colours, Theme};

/// Red, green and blue, 0 to 255.
pub type Rgb = (u8, u8, u8);

/// The paper of a picture: its ground, and what is written without a colour of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paper {
    /// The background.
    pub ground: Rgb,
    /// The text.
    pub text: Rgb,
    sixteen: &'static [u32; 16],
}

/// A terminal's sixteen colours that can be read on a dark ground, red, green and blue in two hexadecimal digits each.
const ON_DARK: [u32; 16] = [
    0x282c34, 0xf07178, 0x7ec680, 0xe5c06b, 0x6ca0e8, 0xc68cde, 0x56bec8, 0xbec4ce, 0x7c8492, 0xff8c8c,
    0x98dc96, 0xf5d782, 0x8cb4fa, 0xdea5f0, 0x78d7de, 0xf0f3f8,
];

/// The same for a light one.
const ON_LIGHT: [u32; 16] = [
    0x24282e, 0xb21e14, 0x006a32, 0x845800, 0x1e50b4, 0x822896, 0x006478, 0x5a5e64, 0x6e7278, 0xc83228,
    0x14783c, 0x966400, 0x325fc8, 0x9632a5, 0x007387, 0x14161a,
];

impl Theme {
    /// The paper that a picture in this theme is drawn on: a light one for the palette made for that.
    pub fn paper(&self) -> Paper {
        match self.palette {
            Colours::Light => Paper { ground: (250, 250, 247), text: (36, 40, 46), sixteen: &ON_LIGHT },
            _ => Paper { ground: (24, 27, 33), text: (214, 219, 227), sixteen: &ON_DARK },
        }
    }
}

impl Paper {
    /// `colour` as numbers; `None` for one that is not told: the paper's own text or ground.
    pub fn rgb(&self, colour: Color) -> Option<Rgb> {
        let index = match colour {
            Color::Reset => return None,
            Color::Rgb(red, green, blue) => return Some((red, green, blue)),
            Color::Indexed(index) => index,
            Color::Black => 0,
            Color::Red => 1,
            Color::Green => 2,
            Color::Yellow => 3,
            Color::Blue => 4,
            Color::Magenta => 5,
            Color::Cyan => 6,
            Color::Gray => 7,
            Color::DarkGray => 8,
            Color::LightRed => 9,
            Color::LightGreen => 10,
            Color::LightYellow => 11,
            Color::LightBlue => 12,
            Color::LightMagenta => 13,
            Color::LightCyan => 14,
            Color::White => 15,
        };
        Some(self.indexed(index))
    }

    /// One of 256, as xterm counts them: sixteen, a cube of six a side, 24 greys.
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

    /// `colour` halfway to the ground, as faint text is shown.
    pub fn faint(&self, colour: Rgb) -> Rgb {
        let mix = |a: u8, b: u8| ((u16::from(a) * 3 + u16::from(b) * 2) / 5) as u8;
        (mix(colour.0, self.ground.0), mix(colour.1, self.ground.1), mix(colour.2, self.ground.2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::{
        GlyphSet,
        fixture::{contrast, luminance},
    };

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
    fn the_256_are_those_of_all_terminals() {
        let paper = Theme::new(Colours::Ansi256, GlyphSet::Unicode).paper();
        assert_eq!(paper.rgb(Color::Indexed(62)), Some((95, 95, 215)));
        assert_eq!(paper.rgb(Color::Indexed(255)), Some((238, 238, 238)));
        assert_eq!(paper.rgb(Color::Reset), None);
    }
}
