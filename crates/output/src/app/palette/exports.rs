//! The command palette's offers to export the segment shown or the whole session. There is an offer for each format,
//! and an offer for the report. The command `export session csv to mine.csv` also names the file.
//!
//! The palette also offers experiments. If the user has typed a part of an experiment, the palette offers the possible
//! next words.

use super::{Offer, PaletteCommand, offers::best_first, score};
use crate::{
    app::{
        Effect, Model, PRESETS,
        outgoing::{FileDestination, FileForm, FileRequest},
    },
    experiment::ExperimentSpec,
    knobs::Knob,
    server::{PARAMETERS, Parameter, ParameterValues},
};

/// The first word of commands that export.
const WORD: &str = "export ";
/// The word that precedes the file name in the command.
const TO: &str = " to ";

impl Model {
    /// Returns the exports that `query` names. Returns `None` if `query` does not begin with `export`.
    pub(super) fn exports_in(&self, query: &str) -> Option<Vec<Offer>> {
        let asked = query.trim_start().strip_prefix(WORD)?;
        // Before the user has typed a file name, the blank after the word may be missing.
        let (asked, file) =
            asked.split_once(TO).map_or((asked, None), |(asked, file)| (asked, Some(file.trim())));
        Some(best_first(asked, self.exports(file.filter(|file| !file.is_empty()))))
    }

    /// Returns the offers of all exports, to `file` or to files with new names.
    pub(super) fn exports(&self, file: Option<&str>) -> Vec<Offer> {
        let segment = self.outgoing_segment();
        let parts = segment.map(Some).into_iter().chain([None]);
        parts.flat_map(|segment| FileForm::all().map(move |form| self.export(form, segment, file))).collect()
    }

    fn export(&self, form: FileForm, segment: Option<u32>, file: Option<&str>) -> Offer {
        let part = if segment.is_some() { "segment" } else { "session" };
        let title = format!("{WORD}{part} {form}");
        if let Some(why) = segment.and_then(|number| self.why_not(form, number)) {
            return Offer::or_refusal(title, Err(why));
        }
        let name = self.name_of_files(segment);
        let place = match file {
            Some(file) => format!("into {file}"),
            None => format!("into {name}-TIME.{} (for another name, type{TO}FILE)", form.extension()),
        };
        let to = file.map_or(FileDestination::Fresh(name), |file| FileDestination::Named(file.to_owned()));
        let outgoing = FileRequest { form, segment, to };
        let first = self.timeline().address_of(0);
        let node = if self.node == 0 { String::new() } else { format!(" of {first}") };
        let of = segment
            .map_or_else(|| "the whole session".to_owned(), |number| format!("segment {number}{node} alone"));
        let help = format!("{of}, {place}: {}", form.about());
        Offer::new(title, help, PaletteCommand::Want(Effect::Write(outgoing)))
    }

    /// Returns the reason why segment `number` cannot be exported alone in this form. Returns `None` if the segment can
    /// be exported.
    fn why_not(&self, form: FileForm, number: u32) -> Option<String> {
        let includes_it = matches!(form, FileForm::Figures(format, _) if format.has_asides());
        let aside = self.tracks[0].segments().numbered(number)?.start.aside().filter(|_| !includes_it)?;
        Some(format!(
            "this format leaves out segment {number}, a {aside}; csv, ndjson, json and hlog contain the segment"
        ))
    }
}

/// Examples of limits.
const LIMITS: [&str; 3] = ["p99<1ms", "p99<10ms", "p99.9<10ms"];

/// The reason why no experiment can begin in a recording.
const IN_RECORDING: &str = "a recording cannot run an experiment; only a live session can";

/// Examples of ranges to sweep.
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
    /// Returns an offer for each kind of experiment, with the first word of its command.
    pub(super) fn experiments(&self) -> Vec<Offer> {
        if self.playback.is_some() {
            return Vec::new();
        }
        let offer = |(word, example, about)| {
            Offer::to_type_on(word, format!("{about} Type more, for example {word} {example}"))
        };
        let script = ("script", "evening.script", "Change knobs at the times in a script file.");
        ExperimentSpec::WORDS.into_iter().chain([script]).map(offer).collect()
    }

    /// Returns the offer to run the script that `query` names.
    fn script_in(&self, query: &str) -> Option<Offer> {
        let file = query.trim_start().strip_prefix("script ")?.trim();
        let (help, command) = match file {
            "" => {
                ("Type the name of the script file.".to_owned(), PaletteCommand::Type("script ".to_owned()))
            }
            _ => {
                let help = format!("Starts the script {file}, which changes settings at given times.");
                (help, PaletteCommand::Want(Effect::Read(file.to_owned())))
            }
        };
        Some(self.unless_ended(query, Ok((help, command))))
    }

    /// Returns offers for the experiment in `query`. An offer begins a complete experiment, continues an incomplete
    /// experiment, or shows an error. Returns `None` if `query` does not begin with the word of an experiment.
    pub(super) fn experiment_in(&self, query: &str) -> Option<Vec<Offer>> {
        if let Some(script) = self.script_in(query) {
            return Some(vec![script]);
        }
        let begun =
            |(word, ..): &(&str, &str, &str)| query.trim_start().strip_prefix(word)?.strip_prefix(' ');
        let (word, ..) = ExperimentSpec::WORDS.into_iter().find(|words| begun(words).is_some())?;
        let spelled = self.experiment_offer(query);
        if let Some(offer @ Offer { command: PaletteCommand::Begin(_), .. }) = spelled {
            return Some(vec![offer]);
        }
        // An own value that is wrong or incomplete must not run the experiment with another value.
        let has_value = query
            .rsplit([' ', '<'])
            .next()
            .is_some_and(|last| last.starts_with(|c: char| c.is_ascii_digit()));
        let follow = match word {
            _ if has_value => Vec::new(),
            "ab" => settings(),
            "sweep" => RANGES.map(str::to_owned).to_vec(),
            _ => LIMITS.map(str::to_owned).to_vec(),
        };
        let can_be = |rest: &String| self.has_parameters() || !rest.starts_with("config ");
        let follow =
            follow.into_iter().filter(can_be).filter_map(|rest| self.begun(&format!("{word} {rest}")));
        let mut ranked: Vec<_> = follow.filter_map(|o| Some((score(query, &o.title)?, o))).collect();
        ranked.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        // The error of an incomplete text is shown only if no offer continues the text.
        let follow: Vec<_> = ranked.into_iter().map(|(_, offer)| offer).collect();
        Some(if follow.is_empty() { spelled.into_iter().collect() } else { follow })
    }

    /// Returns an offer to begin the experiment in `text`. If `text` has an error, the offer shows this error.
    fn experiment_offer(&self, text: &str) -> Option<Offer> {
        let asked = ExperimentSpec::parse(text, &self.panel.wanted)?;
        let can = asked.map(|asked| (asked.about(), PaletteCommand::Begin(asked)));
        Some(self.unless_ended(text, can.map_err(|error| error.to_string())))
    }

    /// Returns an offer with the title `text`. While a recording is shown, the offer shows the reason why no experiment
    /// can begin.
    fn unless_ended(&self, text: &str, can: Result<(String, PaletteCommand), String>) -> Offer {
        let can = if self.playback.is_some() { Err(IN_RECORDING.to_owned()) } else { can };
        Offer::or_refusal(text.trim().to_owned(), can)
    }

    /// Returns the offer of a complete experiment. For an incomplete experiment, returns an offer to continue to type.
    fn begun(&self, text: &str) -> Option<Offer> {
        let Some(start) = text.strip_suffix('…') else { return self.experiment_offer(text) };
        Some(Offer::new(
            text.to_owned(),
            "Continue typing.".to_owned(),
            PaletteCommand::Type(start.to_owned()),
        ))
    }
}

/// Returns all settings that an A/B comparison can compare with the present setting. A setting whose value must be
/// typed ends with `…`.
fn settings() -> Vec<String> {
    let adjustable = Knob::ALL.into_iter().flat_map(|setting| match setting.choices() {
        choices if choices.is_empty() => vec![format!("{} …", setting.name())],
        choices => choices.into_iter().map(|choice| format!("{} {choice}", setting.name())).collect(),
    });
    let presets = PRESETS.iter().map(|preset| format!("preset {}", preset.name));
    adjustable.chain(presets).chain(PARAMETERS.iter().flat_map(parameter)).collect()
}

fn parameter(parameter: &Parameter) -> Vec<String> {
    let name = parameter.name;
    match parameter.values {
        ParameterValues::Words(words) => words.iter().map(|word| format!("config {name} {word}")).collect(),
        _ => vec![format!("config {name} …")],
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        app::{Delivery, Msg, Screen, update, update::tests::press},
        export::{CSV, Format, Rows},
        knobs::Knobs,
        report,
        session::{Record, Segment, ServerIdentity, SessionStart, TimelineOptions},
    };

    fn push(model: &mut Model, record: Record) {
        update(model, Msg::Delivery(Delivery::Record(Arc::new(record))));
    }

    /// Returns a session with a warm-up and a segment after it.
    fn model() -> Model {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        let target = ServerIdentity { address: "[::1]:6379".to_owned(), ..ServerIdentity::default() };
        push(&mut model, Record::Session(SessionStart::now(target)));
        let knobs = Knobs { load: true, ..Knobs::default() };
        push(&mut model, Record::Segment(Segment { warmup: true, ..Segment::new(0.0, 1, knobs.clone()) }));
        push(&mut model, Record::Segment(Segment::new(5.0, 2, knobs)));
        model
    }

    fn csv(segment: Option<u32>, to: FileDestination) -> Effect {
        Effect::Write(FileRequest { form: FileForm::Figures(CSV, Rows::Intervals), segment, to })
    }

    #[test]
    fn the_key_offers_each_form_of_the_segment_and_of_the_session() {
        let mut model = model();
        assert_eq!(press(&mut model, "x"), []);
        let titles: Vec<_> = model.palette().unwrap().1.into_iter().map(|offer| offer.title).collect();
        for format in Format::ALL {
            for part in ["segment", "session"] {
                let title = format!("export {part} {}", format.name);
                assert_eq!(titles.iter().filter(|known| **known == title).count(), 1, "{title}");
            }
        }
        let name = FileDestination::Fresh("___1__6379-segment-2".to_owned());
        assert_eq!(press(&mut model, "seg csv\n"), [csv(Some(2), name)]);
        assert!(model.palette().is_none());
        assert_eq!(
            press(&mut model, "xsession csv\n"),
            [csv(None, FileDestination::Fresh("___1__6379".to_owned()))]
        );
    }

    #[test]
    fn the_report_of_the_session_takes_one_key() {
        let form = FileForm::Report(report::ReportForm::Html);
        let to = FileDestination::Fresh("___1__6379".to_owned());
        assert_eq!(press(&mut model(), "X"), [Effect::Write(FileRequest { form, segment: None, to })]);
    }

    #[test]
    fn a_file_name_may_be_typed_after_the_export() {
        let mut model = model();
        let named = FileDestination::Named("my run.csv".to_owned());
        assert_eq!(press(&mut model, "xses csv to my run.csv\n"), [csv(None, named)]);
    }

    #[test]
    fn on_the_segments_screen_the_selected_segment_is_exported() {
        let mut model = model();
        model.screen = Screen::Segments;
        press(&mut model, "j");
        assert_eq!(model.outgoing_segment(), Some(1));
        assert_eq!(press(&mut model, "xsegment hgrm\n"), []);
        assert!(model.message().unwrap().text.starts_with("this format leaves out segment 1, a warm-up;"));
    }

    #[test]
    fn before_the_first_segment_only_the_session_is_offered() {
        let model = Model::new(Knobs::default(), TimelineOptions::default());
        assert!(model.exports(None).iter().all(|offer| offer.title.starts_with("export session ")));
    }
}
