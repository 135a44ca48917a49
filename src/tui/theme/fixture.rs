//! Functions for tests of the screen's palettes and backgrounds: all inks, the luminance of colours, and
//! their contrast.

use ratatui::style::Color;

use super::{Colours, Ink};
use crate::session::timeline::Level;

impl Colours {
    /// All palettes.
    pub const ALL: [Self; 7] =
        [Self::Ansi16, Self::Ansi256, Self::Pale256, Self::Neutral, Self::Dark, Self::Light, Self::Mono];
}

impl Ink {
    /// All inks.
    pub const ALL: [Self; 17] = [
        Self::Text,
        Self::Faint,
        Self::Strong,
        Self::Selected,
        Self::Found,
        Self::Good,
        Self::Warn,
        Self::Bad,
        Self::Throughput,
        Self::Level(Level::P50),
        Self::Level(Level::P90),
        Self::Level(Level::P99),
        Self::Level(Level::P999),
        Self::Level(Level::Max),
        Self::Ping,
        Self::Machine,
        Self::Server,
    ];
}

/// Returns the relative luminance of a colour from 0 to 1, as WCAG 2 defines it.
pub fn luminance(colour: Color) -> f64 {
    let (red, green, blue) = components(colour);
    let linear = |value: u8| {
        let value = f64::from(value) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

/// Returns the contrast of two luminances, from 1 to 21, as WCAG 2 defines it.
pub fn contrast(a: f64, b: f64) -> f64 {
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn components(colour: Color) -> (u8, u8, u8) {
    match colour {
        Color::Rgb(red, green, blue) => (red, green, blue),
        other => panic!("{other:?} has no components here"),
    }
}
