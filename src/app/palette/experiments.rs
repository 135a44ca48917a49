//! What the palette offers of experiments: one that is spelled out, and how to go on spelling.

use super::{Command, Offer, fuzzy::score};
use crate::{
    app::{Effect, Model, PRESETS},
    experiment::ExperimentSpec,
    knobs::Adjustable,
    server::{PARAMETERS, Parameter, Values},
};

/// Limits that are asked for often.
const LIMITS: [&str; 3] = ["p99<1ms", "p99<10ms", "p99.9<10ms"];

/// Why none can begin in a recording.
const ENDED: &str = "this is a recording: nothing can be measured in it any more";

/// Likewise what is swept.
const RANGES: [&str; 7] = [
    "clients 1..1000",
    "pipeline 1..64",
    "rate 1k..100k p99<1ms",
    "value size 16..64k",
    "keys 1k..1M",
    "reads 0..100",
    "config io-threads 1,2,4,8",
];

impl Model {
    /// The experiments by their words.
    pub(super) fn experiments(&self) -> Vec<Offer> {
        if self.playback.is_some() {
            return Vec::new();
        }
        let offer = |(word, example, about)| {
            Offer::to_type_on(word, format!("{about} Type on, for example {word} {example}"))
        };
        let script = ("script", "evening.script", "Turn knobs in the times of a file.");
        ExperimentSpec::WORDS.into_iter().chain([script]).map(offer).collect()
    }

    /// The script that `query` names.
    fn script_in(&self, query: &str) -> Option<Offer> {
        let file = query.trim_start().strip_prefix("script ")?.trim();
        let (help, command) = match file {
            "" => ("Type on with the name of its file.".to_owned(), Command::Type("script ".to_owned())),
            _ => {
                let help = format!("Turns knobs in the times of {file}, from now on.");
                (help, Command::Want(Effect::Read(file.to_owned())))
            }
        };
        Some(self.unless_ended(query, Ok((help, command))))
    }

    /// The experiment that `query` spells out, or what may follow, or why it is none; `None` where it does not begin with
    /// the word of one.
    pub(super) fn experiment_in(&self, query: &str) -> Option<Vec<Offer>> {
        if let Some(script) = self.script_in(query) {
            return Some(vec![script]);
        }
        let begun =
            |(word, ..): &(&str, &str, &str)| query.trim_start().strip_prefix(word)?.strip_prefix(' ');
        let (word, ..) = ExperimentSpec::WORDS.into_iter().find(|words| begun(words).is_some())?;
        let spelled = self.spelled(query);
        if let Some(offer @ Offer { command: Command::Begin(_), .. }) = spelled {
            return Some(vec![offer]);
        }
        let follow = match word {
            "ab" => settings(),
            "sweep" => RANGES.map(str::to_owned).to_vec(),
            _ => LIMITS.map(str::to_owned).to_vec(),
        };
        let can_be = |rest: &String| self.has_parameters() || !rest.starts_with("config ");
        let follow =
            follow.into_iter().filter(can_be).filter_map(|rest| self.begun(&format!("{word} {rest}")));
        let mut ranked: Vec<_> = follow.filter_map(|o| Some((score(query, &o.title)?, o))).collect();
        ranked.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        // What is wrong is said where nothing goes on from there.
        let follow: Vec<_> = ranked.into_iter().map(|(_, offer)| offer).collect();
        Some(if follow.is_empty() { spelled.into_iter().collect() } else { follow })
    }

    /// The experiment that `text` is, or why it is none.
    fn spelled(&self, text: &str) -> Option<Offer> {
        let asked = ExperimentSpec::parse(text, self.panel.wanted())?;
        let can = asked.map(|asked| (asked.about(), Command::Begin(asked)));
        Some(self.unless_ended(text, can.map_err(|error| error.to_string())))
    }

    /// What is spelled out by `text`, but in a recording.
    fn unless_ended(&self, text: &str, can: Result<(String, Command), String>) -> Offer {
        let can = if self.playback.is_some() { Err(ENDED.to_owned()) } else { can };
        Offer::or_refusal(text.trim().to_owned(), can)
    }

    /// The offer of a whole experiment, or where something is still missing, to go on typing.
    fn begun(&self, text: &str) -> Option<Offer> {
        let Some(start) = text.strip_suffix('…') else { return self.spelled(text) };
        Some(Offer::new(text.to_owned(), "Go on typing.".to_owned(), Command::Type(start.to_owned())))
    }
}

/// All settings that can be compared with the present one; with `…` at the end where a value is to be typed.
fn settings() -> Vec<String> {
    let adjustable = Adjustable::all().flat_map(|setting| match setting.choices() {
        choices if choices.is_empty() => vec![format!("{} …", setting.word())],
        choices => choices.into_iter().map(|choice| format!("{} {choice}", setting.word())).collect(),
    });
    let presets = PRESETS.iter().map(|preset| format!("preset {}", preset.name));
    adjustable.chain(presets).chain(PARAMETERS.iter().flat_map(parameter)).collect()
}

fn parameter(parameter: &Parameter) -> Vec<String> {
    let name = parameter.name;
    match parameter.values {
        Values::Words(words) => words.iter().map(|word| format!("config {name} {word}")).collect(),
        _ => vec![format!("config {name} …")],
    }
}
