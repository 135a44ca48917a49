//! The theme of the screen: the only module that names colours and drawing characters.
//!
//! By default, the theme uses the sixteen colours and the background of the terminal. No information depends on colour
//! alone. The theme `mono` uses only the terminal's default colour, so redyno sends no colour commands. If `NO_COLOR`
//! is set, crossterm turns each colour command into a reset, and a reset removes bold and underline.
//!
//! [`colours`] defines the colours of each ink (the meaning of a text or line, such as p99). It also defines
//! the shades behind a chart's lines: `Theme::ground(step)` for `step` in `0..colours::STEPS`. A [`GlyphSet`]
//! defines the drawing characters.
//!
//! The option `--theme` names the palette. Without this option, redyno chooses the palette by the environment
//! variables that describe the terminal.
//!
//! The theme `auto` uses only colours that are legible on any background. Its shades depend on the background that the
//! terminal or the variable `COLORFGBG` reports. redyno treats an unknown background as dark.

pub(super) mod colours;
#[cfg(test)]
mod fixture;
mod glyphs;

pub use self::glyphs::{GlyphSet, Glyphs};

use std::str::FromStr;

use ratatui::{
    buffer::Buffer,
    style::{Modifier, Style},
};
use thiserror::Error;

use self::colours::CellBackground;
use crate::{print::words::in_ascii, session::timeline::Level};

/// The colours that may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// The terminal's sixteen colours.
    Ansi16,
    /// The terminal's sixteen colours. The shades are taken from the other 240 colours, which are the same on all
    /// terminals with 256 colours.
    Ansi256,
    /// The terminal's sixteen colours. The shades are taken from the other 240 colours, for a light background.
    Pale256,
    /// The terminal's sixteen colours, and shades in 24-bit colours.
    Neutral,
    /// 24-bit colours for a dark background.
    Dark,
    /// 24-bit colours for a light background.
    Light,
    /// No colours, only bold, faint and reverse.
    Mono,
}

/// The meaning of a piece of text or drawing. The theme maps each meaning to colours and attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Ordinary text.
    Text,
    /// Secondary text: rules, labels, hints.
    Faint,
    /// An important figure, or a heading.
    Strong,
    /// The selected knob.
    Selected,
    /// A match of a search.
    Found,
    /// A state that is good, or switched on.
    Good,
    /// A state that needs attention.
    Warn,
    /// A state that is wrong.
    Bad,
    /// The throughput line.
    Throughput,
    /// A percentile of a latency, from cool to bright colours. No percentile has a warning colour, because a
    /// long tail is a result and not an alarm.
    Level(Level),
    /// The ping probe.
    Ping,
    /// The delays of this machine: wake and intrinsic probe.
    Machine,
    /// The server's own figures.
    Server,
}

/// Colours and characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    palette: Colours,
    glyphs: GlyphSet,
    /// Whether the palette follows the terminal's background.
    follows_background: bool,
}

/// Returns whether `COLORFGBG` (`0;15`, text and background) names a light background: white or grey.
fn is_light(colours: &str) -> bool {
    matches!(colours.rsplit(';').next(), Some("7" | "15"))
}

impl Theme {
    /// Returns a theme of these colours and characters.
    pub fn new(palette: Colours, glyphs: GlyphSet) -> Self {
        Self { palette, glyphs, follows_background: false }
    }

    /// Returns the theme for `choice` on the terminal that the environment variables describe. If `ascii` is set or
    /// the locale does not use UTF-8, the theme uses only ASCII characters.
    pub fn from_env(choice: ThemeChoice, ascii: bool) -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable);
        let glyphs =
            if ascii || !Self::is_utf8(locale.as_deref()) { GlyphSet::Ascii } else { GlyphSet::Unicode };
        let is_light = variable("COLORFGBG").is_some_and(|colours| is_light(&colours));
        let asks = choice == ThemeChoice::Auto;
        Self { follows_background: asks, ..Self::new(choice.palette(variable), glyphs) }
            .on_background(is_light)
    }

    /// Returns whether redyno must query the terminal for its background. A query is necessary if the shades depend on
    /// the background and the user has not chosen a palette.
    pub fn must_query_background(&self) -> bool {
        self.follows_background && !matches!(self.palette, Colours::Mono | Colours::Ansi16)
    }

    /// Returns the theme for a light or a dark background. A palette that the user has chosen stays unchanged.
    #[must_use]
    pub fn on_background(self, is_light: bool) -> Self {
        let palette = match (self.palette, is_light) {
            _ if !self.follows_background => self.palette,
            (Colours::Neutral, true) => Colours::Light,
            (Colours::Light, false) => Colours::Neutral,
            (Colours::Ansi256, true) => Colours::Pale256,
            (Colours::Pale256, false) => Colours::Ansi256,
            (palette, _) => palette,
        };
        Self { palette, ..self }
    }

    /// Returns whether a locale (`en_US.UTF-8`) uses UTF-8. Without a locale, UTF-8 is assumed, because
    /// nearly all terminals use UTF-8.
    fn is_utf8(locale: Option<&str>) -> bool {
        locale.is_none_or(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        })
    }

    /// Returns whether the theme uses colours.
    pub fn has_colours(&self) -> bool {
        self.palette != Colours::Mono
    }

    /// Returns `written`, a text with names of keys, in the characters of the theme.
    pub fn keys(&self, written: &str) -> String {
        self.glyphs.keys(written)
    }

    /// Returns the theme's drawing characters.
    pub fn glyphs(&self) -> &'static Glyphs {
        self.glyphs.glyphs()
    }

    /// Returns whether charts may use braille dots.
    pub fn has_braille(&self) -> bool {
        self.glyphs == GlyphSet::Unicode
    }

    /// Returns the braille character with these dots (bit 0 is dot 1), or a blank if there are no dots.
    pub fn braille(dots: u8) -> char {
        if dots == 0 { ' ' } else { char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' ') }
    }

    /// Returns the dots of a braille character, as bits. Returns 0 for any other character.
    pub fn dots(character: char) -> u8 {
        u32::from(character).checked_sub(0x2800).and_then(|dots| u8::try_from(dots).ok()).unwrap_or(0)
    }

    /// Returns the colours and attributes of `ink`. The returned style replaces any previous style.
    pub fn style(&self, ink: Ink) -> Style {
        Style::reset().patch(colours::style(self.palette, ink))
    }

    /// Returns the background of a chart's cell that contains requests. Step 0 is for the fewest requests. Step
    /// [`colours::STEPS`] − 1 is for the most requests. Higher steps have the same background.
    pub fn ground(&self, step: usize) -> CellBackground {
        colours::ground(self.palette, self.glyphs, step)
    }

    /// Returns whether the lines of a chart need marks. Lines need marks if the theme has no colours or no braille to
    /// distinguish the lines.
    pub fn marks_lines(&self) -> bool {
        !self.has_colours() || !self.has_braille()
    }

    /// Returns the style of the bars in a lane. The bars are fainter than the figures next to them, except for
    /// errors.
    pub fn bar(&self, ink: Ink) -> Style {
        match (self.palette, ink) {
            // In reversed colours, a low bar would look like a high bar.
            (Colours::Mono, Ink::Bad) => self.style(Ink::Strong),
            (_, Ink::Bad) => self.style(ink),
            _ => self.style(ink).add_modifier(Modifier::DIM),
        }
    }

    /// Replaces every character outside ASCII if the theme is limited to ASCII. Each frame ends with this
    /// replacement.
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

/// The value of `--theme`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThemeChoice {
    /// The palette for the terminal that the environment describes.
    #[default]
    Auto,
    /// This palette, independent of the environment.
    Fixed(Colours),
}

/// The themes to choose from, with their names.
const THEMES: [(&str, ThemeChoice); 5] = [
    ("auto", ThemeChoice::Auto),
    ("16", ThemeChoice::Fixed(Colours::Ansi16)),
    ("dark", ThemeChoice::Fixed(Colours::Dark)),
    ("light", ThemeChoice::Fixed(Colours::Light)),
    ("mono", ThemeChoice::Fixed(Colours::Mono)),
];

/// Returns the names of the themes.
pub fn theme_names() -> Vec<&'static str> {
    THEMES.map(|(name, _)| name).to_vec()
}

/// The name of a theme that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no theme '{given}'; the themes are {}", theme_names().join(", "))]
pub struct UnknownTheme {
    given: String,
}

impl FromStr for ThemeChoice {
    type Err = UnknownTheme;

    fn from_str(text: &str) -> Result<Self, UnknownTheme> {
        let known = THEMES.into_iter().find(|(name, _)| *name == text);
        known.map(|(_, choice)| choice).ok_or_else(|| UnknownTheme { given: text.to_owned() })
    }
}

impl ThemeChoice {
    /// Returns the palette for the terminal that these environment variables describe. A name from the user has
    /// precedence over the variables.
    pub fn palette(self, variable: impl Fn(&str) -> Option<String>) -> Colours {
        let no_color = variable("NO_COLOR").is_some_and(|set| !set.is_empty());
        let term = variable("TERM").unwrap_or_default();
        match (self, variable("COLORTERM").as_deref()) {
            (Self::Fixed(palette), _) => palette,
            _ if no_color || term == "dumb" => Colours::Mono,
            (Self::Auto, Some("truecolor" | "24bit")) => Colours::Neutral,
            _ if term.contains("256color") || term.ends_with("-direct") => Colours::Ansi256,
            _ => Colours::Ansi16,
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
    fn the_ascii_theme_leaves_only_ascii_characters() {
        let mut buffer = Buffer::with_lines(["312 µs ± × 漢 – …"]);
        Theme::new(Colours::Mono, GlyphSet::Ascii).finish(&mut buffer);
        assert_eq!(buffer, Buffer::with_lines(["312 us ~ x ?  - ."]));
        assert_eq!(buffer.area, Rect::new(0, 0, 17, 1));
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
        for room in ["crates/output/src/app", "src/tui"] {
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

    #[test]
    fn an_unknown_name_is_refused_with_a_list_of_all_names() {
        assert_eq!("light".parse(), Ok(ThemeChoice::Fixed(Colours::Light)));
        assert_eq!("auto".parse(), Ok(ThemeChoice::default()));
        let error = "solarized".parse::<ThemeChoice>().unwrap_err().to_string();
        assert_eq!(error, "there is no theme 'solarized'; the themes are auto, 16, dark, light, mono");
    }

    #[test]
    fn auto_uses_the_colours_of_the_terminal_unless_colours_are_unwanted() {
        let auto = |no_color: Option<&str>, term: &str, colorterm: Option<&str>| {
            let variables = [("NO_COLOR", no_color), ("TERM", Some(term)), ("COLORTERM", colorterm)];
            let variable = |asked: &str| variables.iter().find(|(name, _)| *name == asked)?.1;
            ThemeChoice::Auto.palette(|name| variable(name).map(str::to_owned))
        };
        assert_eq!(auto(None, "xterm", None), Colours::Ansi16);
        assert_eq!(auto(None, "linux", Some("yes")), Colours::Ansi16);
        assert_eq!(auto(None, "screen-256color", None), Colours::Ansi256);
        assert_eq!(auto(None, "xterm-256color", Some("truecolor")), Colours::Neutral);
        assert_eq!(auto(None, "xterm", Some("24bit")), Colours::Neutral);
        assert_eq!(auto(Some("1"), "xterm", Some("24bit")), Colours::Mono);
        assert_eq!(auto(Some(""), "xterm", None), Colours::Ansi16);
        assert_eq!(auto(None, "dumb", Some("truecolor")), Colours::Mono);
    }

    #[test]
    fn only_the_theme_auto_follows_the_background() {
        assert!(is_light("0;15") && is_light("0;default;7") && !is_light("15;0") && !is_light(""));
        let auto = |palette| Theme { follows_background: true, ..Theme::new(palette, GlyphSet::Unicode) };
        assert_eq!(auto(Colours::Neutral).on_background(true), auto(Colours::Light));
        assert_eq!(auto(Colours::Light).on_background(false), auto(Colours::Neutral));
        assert_eq!(auto(Colours::Ansi256).on_background(true), auto(Colours::Pale256));
        let chosen = Theme::new(Colours::Dark, GlyphSet::Unicode);
        assert_eq!(chosen.on_background(true), chosen);
        assert!(
            auto(Colours::Neutral).must_query_background() && !auto(Colours::Mono).must_query_background()
        );
    }

    #[test]
    fn a_named_theme_has_precedence_over_no_color() {
        let no_color = |name: &str| (name == "NO_COLOR").then(|| "1".to_owned());
        assert_eq!(ThemeChoice::Fixed(Colours::Dark).palette(no_color), Colours::Dark);
    }
}
