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
    sixteen: &'static [Rgb; 16],
}

/// A terminal's sixteen colours that can be read on a dark ground.
const ON_DARK: [Rgb; 16] = [
    (40, 44, 52),
    (240, 113, 120),
    (126, 198, 128),
    (229, 192, 107),
    (108, 160, 232),
    (198, 140, 222),
    (86, 190, 200),
    (190, 196, 206),
    (124, 132, 146),
    (255, 140, 140),
    (152, 220, 150),
    (245, 215, 130),
    (140, 180, 250),
    (222, 165, 240),
    (120, 215, 222),
    (240, 243, 248),
];

/// The same for a light one.
const ON_LIGHT: [Rgb; 16] = [
    (36, 40, 46),
    (178, 30, 20),
    (0, 106, 50),
    (132, 88, 0),
    (30, 80, 180),
    (130, 40, 150),
    (0, 100, 120),
    (90, 94, 100),
    (110, 114, 120),
    (200, 50, 40),
    (20, 120, 60),
    (150, 100, 0),
    (50, 95, 200),
    (150, 50, 165),
    (0, 115, 135),
    (20, 22, 26),
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
            0..=15 => self.sixteen[usize::from(index)],
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
