//! Parses the text of a script into changes in order of time.

use super::line::{LineAction, ScriptLine};
use crate::{
    experiment::{ExperimentSetting, WordsError},
    knobs::Knobs,
};

/// A change at a given time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ScriptStep {
    /// The time of the change, in seconds since the script began.
    pub(super) t_s: f64,
    /// The number of the line in the script, from 1.
    pub(super) line: usize,
    pub(super) what: StepAction,
}

/// The action of a change.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum StepAction {
    Set(String),
    Load(bool),
    Mark(String),
}

impl StepAction {
    /// Returns the setting after the action. `knobs` are the knobs before the action. Returns `None` if the
    /// action changes no setting.
    pub(super) fn setting(&self, knobs: &Knobs) -> Result<Option<ExperimentSetting>, WordsError> {
        match self {
            Self::Set(words) => ExperimentSetting::parse(words, knobs).map(Some),
            Self::Load(load) => Ok(Some(ExperimentSetting::of(Knobs { load: *load, ..knobs.clone() }))),
            Self::Mark(_) => Ok(None),
        }
    }
}

/// The changes of a script, and its end.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ScriptText {
    /// The changes, in order of time.
    pub(super) turns: Vec<ScriptStep>,
    /// The end of the script, in seconds since the script began.
    pub(super) end_s: f64,
    /// All settings in order, for a session in which only the script changes settings.
    pub(super) settings: Vec<ExperimentSetting>,
}

impl ScriptText {
    /// Parses the text of the file `name`. Knobs that the text does not name come from `base`.
    pub(super) fn parse(name: &str, text: &str, base: &Knobs) -> Result<Self, WordsError> {
        let (mut lines, mut turns) = (Vec::<(usize, ScriptLine)>::new(), Vec::new());
        for (number, text) in (1..).zip(text.lines()) {
            let wrong = |error| WordsError::of(format!("{name}:{number}: {error}"));
            let Some(line) = ScriptLine::parse(text).map_err(wrong)? else { continue };
            follows(&line, &lines).map_err(wrong)?;
            turns.extend(turns_of(number, &line));
            lines.push((number, line));
        }
        let end_s = lines.iter().map(|(_, line)| line.to_s()).reduce(f64::max);
        let end_s = end_s.filter(|_| !turns.is_empty()).ok_or_else(|| {
            WordsError::of(format!("{name} has no changes; write a line such as 'at 10s clients 100'"))
        })?;
        // Changes at the same time keep the order of their lines.
        turns.sort_by(|one, other| one.t_s.total_cmp(&other.t_s));
        let (mut settings, mut knobs) = (Vec::new(), base.clone());
        for turn in &turns {
            let wrong = |error| WordsError::of(format!("{name}:{}: {error}", turn.line));
            if let Some(setting) = turn.what.setting(&knobs).map_err(wrong)? {
                knobs.clone_from(&setting.knobs);
                settings.push(setting);
            }
        }
        Ok(Self { turns, end_s, settings })
    }

    /// Returns the setting after all lines at 0 s; `None` without such lines.
    pub(super) fn at_start(&self) -> Option<&ExperimentSetting> {
        let turns = self.turns.iter().filter(|turn| !matches!(turn.what, StepAction::Mark(_)));
        let at_start = turns.zip(&self.settings).take_while(|(turn, _)| turn.t_s <= 0.0);
        at_start.last().map(|(_, setting)| setting)
    }
}

fn turns_of(number: usize, line: &ScriptLine) -> Vec<ScriptStep> {
    let turn = |t_s, what| ScriptStep { t_s, line: number, what };
    match &line.what {
        LineAction::Set(words) => vec![turn(line.from_s, StepAction::Set(words.clone()))],
        LineAction::Load(load) => vec![turn(line.from_s, StepAction::Load(*load))],
        LineAction::Mark(text) => vec![turn(line.from_s, StepAction::Mark(text.clone()))],
        LineAction::Ramp(ramp) => {
            let set = |value| StepAction::Set(ramp.dimension.setting(value));
            ramp.turns().into_iter().map(|(t_s, value)| turn(t_s, set(value))).collect()
        }
        LineAction::End => Vec::new(),
    }
}

/// Checks that a line may follow the lines before it.
fn follows(line: &ScriptLine, before: &[(usize, ScriptLine)]) -> Result<(), WordsError> {
    if let Some((number, last)) = before.last().filter(|(_, last)| last.from_s > line.from_s) {
        return Err(WordsError::of(format!(
            "{} s is earlier than line {number}, at {} s; put lines in the order of their times",
            line.from_s, last.from_s
        )));
    }
    if let Some((number, _)) = before.iter().find(|(_, line)| line.what == LineAction::End) {
        return Err(WordsError::of(format!(
            "the script has ended at line {number}; remove the lines after it"
        )));
    }
    let turns = line.turns();
    for (number, ramp) in before.iter().filter(|(_, ramp)| ramp.to_s() > line.from_s) {
        // The end of a script also ends ramps.
        let same =
            ramp.turns().into_iter().find(|named| turns.contains(named) || line.what == LineAction::End);
        same.map_or(Ok(()), |named| {
            Err(WordsError::of(format!(
                "line {number} changes {named} until {} s; begin after that",
                ramp.to_s()
            )))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ScriptText, WordsError> {
        ScriptText::parse("a.script", text, &Knobs { load: true, ..Knobs::default() })
    }

    fn error(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn lines_become_changes_in_the_order_of_time() {
        let text = "# warm\nat 0s clients 10\n\nfrom 1s to 3s rate 100..300\nat 2s mark half way, pipeline 9\nat 3s rate 50\nat 9s end";
        let script = parse(text).unwrap();
        let turns: Vec<_> = script.turns.iter().map(|turn| (turn.t_s, turn.line)).collect();
        assert_eq!(turns, [(0.0, 2), (1.0, 4), (2.0, 4), (2.0, 5), (3.0, 4), (3.0, 6)]);
        assert_eq!(script.end_s, 9.0);
        assert_eq!(script.at_start().map(|setting| setting.knobs.clients), Some(10));
        let knobs: Vec<_> = script.settings.iter().map(|s| (s.knobs.clients, s.knobs.rate)).collect();
        assert_eq!(knobs, [(10, None), (10, Some(100)), (10, Some(200)), (10, Some(300)), (10, Some(50))]);
    }

    #[test]
    fn errors_are_reported_with_file_and_line() {
        for (text, why) in [
            ("\nat 5s wheels 4", "a.script:2: 'wheels 4' is not a setting; write for example clients 50, "),
            ("at 5s clients 4\nat 4s clients 5", "a.script:2: 4 s is earlier than line 1, at 5 s; "),
            ("at 5s clients 4\nat 6s end\nat 7s clients 5", "a.script:3: the script has ended at line 2"),
            ("at 5s arrivals poisson", "a.script:1: in a closed loop"),
            ("at 5s clients 0", "a.script:1: clients must be between 1 and 18000, not 0"),
            ("from 1s to 5s clients 1..20k", "a.script:1: clients must be between 1 and 18000, not 20000"),
            ("from 1s to 5s config save 1..2", "a.script:1: config 'save' is not a parameter with numbers"),
            ("# nothing\n", "a.script has no changes"),
            ("at 5s end", "a.script has no changes"),
        ] {
            assert!(error(text).starts_with(why), "{text}: {}", error(text));
        }
    }

    #[test]
    fn during_a_ramp_no_other_line_changes_its_knob() {
        let ramp = "from 1s to 9s rate 1..5\n";
        for second in ["from 5s to 6s rate 1..5", "at 5s rate 3", "at 5s preset gentle", "at 5s end"] {
            assert_eq!(
                error(&format!("{ramp}{second}")),
                "a.script:2: line 1 changes rate until 9 s; begin after that",
                "{second}"
            );
        }
        for second in
            ["from 5s to 6s clients 1..5", "at 5s pipeline 3", "at 9s rate 3", "from 9s to 10s rate 5..1"]
        {
            assert!(parse(&format!("{ramp}{second}")).is_ok(), "{second}");
        }
    }

    #[test]
    fn the_example_is_a_script() {
        let script = parse(include_str!("../../../../../examples/evening.script")).unwrap();
        assert!(script.settings.len() > 20 && script.end_s == 100.0, "{script:?}");
    }
}
