//! The one place that names colours and drawing characters.
//!
//! Colours are the terminal's own sixteen on its own background unless others are asked for, and nothing depends on
//! colour alone. In mono every colour is the terminal's default, so that not one colour command is sent: with
//! `NO_COLOR` set, crossterm would turn each into a bare reset that wipes bold and underline.
//!
//! Which palette is [`choice`]'s to say, how an ink looks and what stands behind the lines of a chart [`colours`]':
//! `Theme::ground(step)` for `step` in `0..colours::STEPS`. The characters are those of a [`GlyphSet`].

pub mod choice;
pub(super) mod colours;
#[cfg(test)]
mod fixture;
mod glyphs;

pub use self::glyphs::{GlyphSet, Glyphs};

use ratatui::{
    buffer::Buffer,
    style::{Modifier, Style},
};

use self::{choice::Choice, colours::Ground};
use crate::{print::words::in_ascii, session::timeline::Level};

/// Which colours may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// The terminal's sixteen.
    Ansi16,
    /// The same, with tones from the 240 that are alike on all terminals with 256.
    Ansi256,
    /// The same, with tones in 24-bit colours.
    Neutral,
    /// 24-bit colours for a dark background.
    Dark,
    /// 24-bit colours for a light background.
    Light,
    /// None; bold, faint and reverse only.
    Mono,
}

/// What a piece of text or drawing means; the theme decides how that looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Ordinary text.
    Text,
    /// What stands behind: rules, labels, hints.
    Faint,
    /// A figure that matters, a heading.
    Strong,
    /// The selected knob.
    Selected,
    /// What a search has found.
    Found,
    /// All is well; on.
    Good,
    /// Needs attention.
    Warn,
    /// Is wrong.
    Bad,
    /// The throughput line.
    Throughput,
    /// A level of the service time, from cool to bright. None is warm: a long tail is a finding and no alarm.
    Level(Level),
    /// The ping probe.
    Ping,
    /// This machine: wake and intrinsic.
    Machine,
    /// The server's own figures.
    Server,
}

/// Colours and characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    palette: Colours,
    glyphs: GlyphSet,
}

impl Theme {
    /// A theme of these colours and characters.
    pub fn new(palette: Colours, glyphs: GlyphSet) -> Self {
        Self { palette, glyphs }
    }

    /// The theme that `choice` means on the terminal that the environment describes; `ascii` forgoes all other
    /// characters, and so does a locale without UTF-8.
    pub fn from_env(choice: Choice, ascii: bool) -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable);
        let glyphs =
            if ascii || !Self::is_utf8(locale.as_deref()) { GlyphSet::Ascii } else { GlyphSet::Unicode };
        Self::new(choice.palette(variable), glyphs)
    }

    /// Whether a locale (`en_US.UTF-8`) writes UTF-8. One that is not set says nothing; nearly all terminals do.
    fn is_utf8(locale: Option<&str>) -> bool {
        locale.is_none_or(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        })
    }

    /// Whether it sends colours.
    pub fn has_colours(&self) -> bool {
        self.palette != Colours::Mono
    }

    /// Keys as it writes them.
    pub fn keys(&self, written: &str) -> String {
        self.glyphs.keys(written)
    }

    /// Its drawing characters.
    pub fn glyphs(&self) -> &'static Glyphs {
        self.glyphs.glyphs()
    }

    /// Whether charts may use braille dots.
    pub fn has_braille(&self) -> bool {
        self.glyphs == GlyphSet::Unicode
    }

    /// The braille character with these dots (bit 0 is dot 1); a blank for none, since an empty braille cell
    /// is no blank to a terminal.
    pub fn braille(dots: u8) -> char {
        if dots == 0 { ' ' } else { char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' ') }
    }

    /// The dots of a character; none for one that is no braille.
    pub fn dots(character: char) -> u8 {
        u32::from(character).checked_sub(0x2800).and_then(|dots| u8::try_from(dots).ok()).unwrap_or(0)
    }

    /// How `ink` looks. It replaces whatever look was there before.
    pub fn style(&self, ink: Ink) -> Style {
        Style::reset().patch(colours::style(self.palette, ink))
    }

    /// What stands behind the lines of a cell: step 0 where it holds the fewest, step [`colours::STEPS`] − 1 where it
    /// holds the most; one above that looks like it. A cell that holds nothing has none.
    pub fn ground(&self, step: usize) -> Ground {
        colours::ground(self.palette, self.glyphs, step)
    }

    /// Whether a line of a chart is known by its mark alone, having no colour of its own.
    pub fn marks_lines(&self) -> bool {
        !self.has_colours() || !self.has_braille()
    }

    /// How the bars of a lane look: quieter than the figures beside them. Errors are not quiet.
    pub fn bar(&self, ink: Ink) -> Style {
        match (self.palette, ink) {
            // Reversed, a low bar would look like a high one.
            (Colours::Mono, Ink::Bad) => self.style(Ink::Strong),
            (_, Ink::Bad) => self.style(ink),
            _ => self.style(ink).add_modifier(Modifier::DIM),
        }
    }

    /// The last step of a frame: in ASCII, every other character becomes its stand-in.
    pub fn finish(&self, buffer: &mut Buffer) {
        if self.glyphs == GlyphSet::Unicode {
            return;
        }
        for cell in &mut buffer.content {
            if !cell.symbol().is_ascii() {
                cell.set_symbol(in_ascii(cell.symbol()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use ratatui::{layout::Rect, style::Color};

    use super::*;

    #[test]
    fn mono_names_no_colour() {
        let theme = Theme::new(Colours::Mono, GlyphSet::Unicode);
        for ink in Ink::ALL {
            let style = theme.style(ink);
            assert_eq!((style.fg, style.bg), (Some(Color::Reset), Some(Color::Reset)), "{ink:?}");
        }
    }

    #[test]
    fn ascii_leaves_nothing_but_ascii() {
        let mut buffer = Buffer::with_lines(["312 µs × 漢 – …"]);
        Theme::new(Colours::Mono, GlyphSet::Ascii).finish(&mut buffer);
        assert_eq!(buffer, Buffer::with_lines(["312 us x ?  - ."]));
        assert_eq!(buffer.area, Rect::new(0, 0, 15, 1));
    }

    #[test]
    fn a_locale_without_utf8_is_drawn_in_ascii() {
        assert!(
            Theme::is_utf8(Some("de_DE.UTF-8")) && Theme::is_utf8(Some("C.utf8")) && Theme::is_utf8(None)
        );
        assert!(
            !Theme::is_utf8(Some("C"))
                && !Theme::is_utf8(Some("POSIX"))
                && !Theme::is_utf8(Some("de_DE@euro"))
        );
    }

    fn sources(directory: &Path, into: &mut Vec<std::path::PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("theme") {
                sources(&path, into);
            } else if path.is_file() && !path.ends_with("theme.rs") {
                into.push(path);
            }
        }
    }

    #[test]
    fn colours_and_drawing_characters_are_named_nowhere_else() {
        let mut files = Vec::new();
        for room in ["src/app", "src/tui"] {
            sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(room), &mut files);
        }
        assert!(files.len() > 20);
        for file in files {
            for (number, line) in fs::read_to_string(&file).unwrap().lines().enumerate() {
                let code = line.split("//").next().unwrap_or_default();
                let drawing = |c: char| matches!(c, '\u{2500}'..='\u{25ff}' | '\u{2800}'..='\u{28ff}');
                let named = code.contains("Color::") || code.contains(drawing);
                assert!(!named, "{}:{}: {line}", file.display(), number + 1);
            }
        }
    }
}
