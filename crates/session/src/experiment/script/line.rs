//! Parses one line of a script, such as `at 30s clients 100`.

use super::ramp::Ramp;
use crate::{
    experiment::WordsError,
    knobs::Knob,
    units::{ParseQuantityError, parse_duration},
};

/// A line: a time, and an action.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ScriptLine {
    /// The start of the action, in seconds since the script began.
    pub(super) from_s: f64,
    /// The action.
    pub(super) what: LineAction,
}

/// The action of a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum LineAction {
    /// Changes one or more settings, separated by commas.
    Set(String),
    /// Switches the load on or off.
    Load(bool),
    /// Adds a mark on the time axis.
    Mark(String),
    /// Changes a knob step by step.
    Ramp(Ramp),
    /// Ends the script.
    End,
}

impl ScriptLine {
    /// Parses a line. Returns `None` for an empty line and for a comment.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, WordsError> {
        // A `#` within a word does not begin a comment.
        let text = if text.trim_start().starts_with('#') { "" } else { text };
        let text = text.split_once(" # ").map_or(text, |(text, _)| text).trim();
        let form =
            || WordsError::of(format!("'{text}' must be 'at TIME SETTING' or 'from TIME to TIME KNOB A..B'"));
        let (word, rest) = match text.split_once(' ') {
            Some((word, rest)) => (word, rest.trim()),
            None if text.is_empty() => return Ok(None),
            None => return Err(form()),
        };
        match word {
            "at" => {
                let (time, words) = rest.split_once(' ').ok_or_else(form)?;
                Ok(Some(Self { from_s: seconds(time)?, what: LineAction::parse(words.trim())? }))
            }
            "from" => {
                let (from, rest) = rest.split_once(" to ").ok_or_else(form)?;
                let (to, words) = rest.trim().split_once(' ').ok_or_else(form)?;
                let (from_s, to_s) = (seconds(from)?, seconds(to)?);
                Ok(Some(Self { from_s, what: LineAction::Ramp(Ramp::parse(from_s, to_s, words.trim())?) }))
            }
            _ => Err(form()),
        }
    }

    /// Returns the end of the action, in seconds since the script began.
    pub(super) fn to_s(&self) -> f64 {
        match &self.what {
            LineAction::Ramp(ramp) => ramp.to_s,
            _ => self.from_s,
        }
    }

    /// Returns the names of the knobs and parameters that the line changes.
    pub(super) fn turns(&self) -> Vec<String> {
        match &self.what {
            LineAction::Set(words) => words.split(',').flat_map(|part| named(part.trim())).collect(),
            LineAction::Ramp(ramp) => vec![ramp.dimension.word()],
            LineAction::Load(_) | LineAction::Mark(_) | LineAction::End => Vec::new(),
        }
    }
}

fn seconds(text: &str) -> Result<f64, ParseQuantityError> {
    Ok(parse_duration(text)?.as_secs_f64())
}

/// Returns the names of the knobs and parameters that a setting changes.
fn named(part: &str) -> Vec<String> {
    match part.split_once(' ') {
        Some(("preset", _)) => Knob::ALL.map(|named| named.name().to_owned()).to_vec(),
        Some(("config", rest)) => vec![format!("config {}", rest.split_whitespace().next().unwrap_or(""))],
        _ => Knob::in_query(part).map(|(named, _)| named.name().to_owned()).into_iter().collect(),
    }
}

impl LineAction {
    fn parse(words: &str) -> Result<Self, WordsError> {
        let (word, rest) = words.split_once(' ').unwrap_or((words, ""));
        match (word, rest.trim()) {
            ("end", "") => Ok(Self::End),
            ("load", "on") => Ok(Self::Load(true)),
            ("load", "off") => Ok(Self::Load(false)),
            ("load", other) => Err(WordsError::of(format!("'load {other}' must be 'load on' or 'load off'"))),
            ("mark", "") => Err(WordsError::of("mark needs a text, such as 'mark cache full'")),
            ("mark", text) => Ok(Self::Mark(text.to_owned())),
            _ => Ok(Self::Set(words.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<Option<ScriptLine>, WordsError> {
        ScriptLine::parse(text)
    }

    #[test]
    fn a_line_has_a_time_and_an_action() {
        let at = |from_s, what| Ok(Some(ScriptLine { from_s, what }));
        assert_eq!(line("at 30s clients 100"), at(30.0, LineAction::Set("clients 100".to_owned())));
        assert_eq!(line("  at 1.5m load off  # a rest"), at(90.0, LineAction::Load(false)));
        assert_eq!(
            line("at 0s mark issue #7, again"),
            at(0.0, LineAction::Mark("issue #7, again".to_owned()))
        );
        assert_eq!(line("at 9s end"), at(9.0, LineAction::End));
        for nothing in ["", "   ", "# at 30s clients 100", "  #"] {
            assert_eq!(line(nothing), Ok(None), "{nothing}");
        }
    }

    #[test]
    fn a_line_lists_the_knobs_that_it_changes() {
        let turns = |text: &str| line(text).unwrap().unwrap().turns().join(";");
        assert_eq!(turns("at 1s cl 5, value 4k, config hz 20"), "clients;value size;config hz");
        assert_eq!(turns("from 1s to 9s config maxmemory 0..1g"), "config maxmemory");
        assert!(turns("at 1s preset cache").contains("rate"));
        assert_eq!(turns("at 1s mark rate 5"), "");
    }

    #[test]
    fn an_invalid_line_is_refused() {
        for (text, expected) in [
            ("clients 100", "'clients 100' must be 'at TIME SETTING' or 'from TIME to TIME KNOB A..B'"),
            ("at", "'at' must be 'at TIME"),
            ("at 30s", "'at 30s' must be 'at TIME"),
            ("at 30 clients 5", "'30' is not a duration such as"),
            ("at 30s load maybe", "'load maybe' must be 'load on' or 'load off'"),
            ("at 30s mark", "mark needs a text"),
            ("from 30s rate 1..5", "'from 30s rate 1..5' must be 'at TIME"),
            ("from 30s to 40s", "'from 30s to 40s' must be 'at TIME"),
            ("from 30s to 40s arrivals 1..5", "'arrivals 1..5' must begin with one of clients,"),
            ("from 30s to 40s rate 5k", "'5k' is not a range of rate"),
        ] {
            let error = line(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
