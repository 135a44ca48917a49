//! `--theme`: which palette, by name or by what the environment says of the terminal.
//!
//! The terminal itself is not asked for its background: not every one answers, and a late answer would be read as
//! keys. So `auto` uses only what is legible on any background.

use std::str::FromStr;

use thiserror::Error;

use super::Colours;

/// What `--theme` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// What suits the terminal that the environment describes.
    #[default]
    Auto,
    /// This palette, whatever the environment says.
    Fixed(Colours),
}

/// The names, and what each means.
const NAMES: [(&str, Choice); 5] = [
    ("auto", Choice::Auto),
    ("16", Choice::Fixed(Colours::Ansi16)),
    ("dark", Choice::Fixed(Colours::Dark)),
    ("light", Choice::Fixed(Colours::Light)),
    ("mono", Choice::Fixed(Colours::Mono)),
];

/// The names, for a list to choose from.
pub const THEMES: [&str; NAMES.len()] = {
    let mut names = [""; NAMES.len()];
    let mut n = 0;
    while n < NAMES.len() {
        names[n] = NAMES[n].0;
        n += 1;
    }
    names
};

/// There is no such theme.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no theme '{given}'; there are {}", NAMES.map(|(name, _)| name).join(", "))]
pub struct UnknownTheme {
    given: String,
}

impl FromStr for Choice {
    type Err = UnknownTheme;

    fn from_str(text: &str) -> Result<Self, UnknownTheme> {
        let known = NAMES.iter().find(|(name, _)| *name == text);
        known.map(|(_, choice)| *choice).ok_or_else(|| UnknownTheme { given: text.to_owned() })
    }
}

impl Choice {
    /// The palette on a terminal that these variables of the environment describe. A name that was given wins over all that they
    /// say.
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
    use super::*;

    #[test]
    fn a_name_is_known_or_refused_with_all_names() {
        assert_eq!("light".parse(), Ok(Choice::Fixed(Colours::Light)));
        assert_eq!("auto".parse(), Ok(Choice::default()));
        let error = "solarized".parse::<Choice>().unwrap_err().to_string();
        assert_eq!(error, "there is no theme 'solarized'; there are auto, 16, dark, light, mono");
    }

    #[test]
    fn auto_takes_what_the_terminal_has_and_colours_only_where_they_are_wanted() {
        let auto = |no_color: Option<&str>, term: &str, colorterm: Option<&str>| {
            let variables = [("NO_COLOR", no_color), ("TERM", Some(term)), ("COLORTERM", colorterm)];
            let variable = |asked: &str| variables.iter().find(|(name, _)| *name == asked)?.1;
            Choice::Auto.palette(|name| variable(name).map(str::to_owned))
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
    fn a_name_wins_over_no_color() {
        let no_color = |name: &str| (name == "NO_COLOR").then(|| "1".to_owned());
        assert_eq!(Choice::Fixed(Colours::Dark).palette(no_color), Colours::Dark);
    }
}
