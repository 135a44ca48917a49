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
    0x28_2c_34, 0xf0_71_78, 0x7e_c6_80, 0xe5_c0_6b, 0x6c_a0_e8, 0xc6_8c_de, 0x56_be_c8, 0xbe_c4_ce,
    0x7c_84_92, 0xff_8c_8c, 0x98_dc_96, 0xf5_d7_82, 0x8c_b4_fa, 0xde_a5_f0, 0x78_d7_de, 0xf0_f3_f8,
];

/// The same for a light one.
const ON_LIGHT: [u32; 16] = [
    0x24_28_2e, 0xb2_1e_14, 0x00_6a_32, 0x84_58_00, 0x1e_50_b4, 0x82_28_96, 0x00_64_78, 0x5a_5e_64,
    0x6e_72_78, 0xc8_32_28, 0x14_78_3c, 0x96_64_00, 0x32_5f_c8, 0x96_32_a5, 0x00_73_87, 0x14_16_1a,
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
