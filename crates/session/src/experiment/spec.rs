//! Parses experiments as a user types them: `find p99<1ms`, `ab pipeline 16`, `ab from clients 50 to clients
//! 100`.

use super::{Ab, AbPlan, Experiment, ExperimentSetting, Find, Limit, Script, Sweep, SweepPlan, WordsError};
use crate::{
    knobs::{Arrivals, Knobs},
    server::Parameter,
};

/// A requested experiment.
#[derive(Debug, Clone, PartialEq)]
pub enum ExperimentSpec {
    /// Find the highest rate that keeps a limit. All other knobs keep their values.
    Find(Limit, Knobs),
    /// Alternate between two settings, A and B.
    Ab(Box<[ExperimentSetting; 2]>),
    /// Measure the load at several values of one knob. The list has a complete setting for each
    /// value.
    Sweep(SweepPlan, Vec<ExperimentSetting>),
    /// Play the script of a file. The times in the script are relative to the start of the script.
    Script(Box<Script>),
}

impl ExperimentSpec {
    /// The experiments that can be typed. Each entry has the first word of the experiment, an example of the text after
    /// this word, and a description.
    pub const WORDS: [(&str, &str, &str); 3] = [
        (
            "find",
            "p99<1ms",
            "Find, within three minutes, the highest rate at which the response time keeps a limit.",
        ),
        (
            "sweep",
            "clients 1..1000",
            "Measure several values of a setting, some seconds each; then restore the setting.",
        ),
        (
            "ab",
            "pipeline 16",
            "Compare, within three minutes, a setting with the present one, or two settings: from clients 50 to clients 100.",
        ),
    ];

    /// Parses the experiment in `text`, and sets its load to on. Knobs that the text does not name come from `knobs`.
    /// Returns `None` if the first word does not name an experiment, or if there is no second word.
    pub fn parse(text: &str, knobs: &Knobs) -> Option<Result<Self, WordsError>> {
        let (word, rest) = text.trim().split_once(' ')?;
        let knobs = Knobs { load: true, ..knobs.clone() };
        match word {
            "find" => {
                let text = rest.trim();
                let limit = text.strip_prefix("rate ").unwrap_or(text).parse();
                Some(limit.and_then(|limit| Self::find(limit, knobs)))
            }
            "ab" => Some(Self::ab(rest.trim(), &knobs)),
            "sweep" => Some(rest.parse().and_then(|plan| Self::sweep(plan, &knobs))),
            _ => None,
        }
    }

    /// Checks that an experiment can use these knobs.
    ///
    /// # Errors
    /// Fails if requests come in bursts, because a part of an experiment may be shorter than the period of the bursts.
    pub fn check(knobs: &Knobs) -> Result<(), WordsError> {
        match knobs.arrivals {
            Arrivals::Bursty(_) => Err(WordsError::of(
                "an experiment needs arrivals without bursts, since its parts may be shorter than the time between \
                 two bursts; set 'arrivals' to 'constant' or 'poisson'",
            )),
            _ => Ok(()),
        }
    }

    /// Returns a search for the highest rate that keeps `limit`.
    ///
    /// # Errors
    /// The errors are the same as for [`check`](Self::check). Also fails if clients have a think time, because an open
    /// loop has no think time. Also fails if the load does not measure the times of the limit.
    pub fn find(limit: Limit, knobs: Knobs) -> Result<Self, WordsError> {
        if knobs.think.is_some() {
            return Err(WordsError::of(
                "a search for the highest rate needs clients that do not pause; leave out the think time",
            ));
        }
        Self::check(&knobs)?;
        limit.check(&knobs)?;
        Ok(Self::Find(limit, knobs))
    }

    fn ab(text: &str, knobs: &Knobs) -> Result<Self, WordsError> {
        let (from, to) = match text.strip_prefix("from ") {
            Some(both) => {
                let one = || {
                    WordsError::of(format!(
                        "'{text}' has no second setting; write for example ab from clients 50 to clients 100"
                    ))
                };
                let (from, to) = both.split_once(" to ").ok_or_else(one)?;
                (ExperimentSetting::parse(from, knobs)?, to)
            }
            None => (ExperimentSetting::of(knobs.clone()), text.strip_prefix("to ").unwrap_or(text)),
        };
        let settings = [from, ExperimentSetting::parse(to, knobs)?];
        settings.iter().try_for_each(|setting| Self::check(&setting.knobs))?;
        Ok(Self::Ab(Box::new(settings)))
    }

    /// Returns a sweep that begins with these knobs.
    ///
    /// # Errors
    /// Fails if a setting of the sweep is invalid, or if the load does not measure the times of the limit.
    pub fn sweep(plan: SweepPlan, knobs: &Knobs) -> Result<Self, WordsError> {
        let settings = plan.settings(knobs)?;
        settings.iter().try_for_each(|setting| Self::check(&setting.knobs))?;
        plan.limit.iter().try_for_each(|limit| limit.check(knobs))?;
        Ok(Self::Sweep(plan, settings))
    }

    /// Returns the server parameters that the experiment sets, each with its values.
    pub fn parameters(&self) -> Vec<(&'static Parameter, Vec<&str>)> {
        ExperimentSetting::parameters(self.settings())
    }

    /// Parses the script `text` of the file `name`, and sets its load to on. Knobs that the script does not name come
    /// from `knobs`.
    ///
    /// # Errors
    /// The error is a message with the invalid line.
    pub fn script(name: &str, text: &str, knobs: &Knobs) -> Result<Self, WordsError> {
        let knobs = Knobs { load: true, ..knobs.clone() };
        Script::parse(name, text, &knobs).map(|script| Self::Script(Box::new(script.from_now())))
    }

    /// Returns the settings of the experiment that are known in advance.
    pub fn settings(&self) -> &[ExperimentSetting] {
        match self {
            Self::Find(..) => &[],
            Self::Ab(settings) => &settings[..],
            Self::Sweep(_, settings) => settings,
            Self::Script(script) => script.settings(),
        }
    }

    /// Returns a description of the experiment in one or two sentences.
    pub fn about(&self) -> String {
        match self {
            Self::Find(limit, _) => format!(
                "Looks for the highest rate at which the response time keeps {limit}: first a closed loop, then trials of \
                 rates. At the end, the rate is set to the result."
            ),
            Self::Sweep(plan, _) => {
                let (name, steps) = (plan.dimension.name(), plan.values.len());
                let limit = plan
                    .limit
                    .as_ref()
                    .map_or_else(String::new, |limit| format!(" among those that keep {limit}"));
                format!(
                    "Measures {steps} values of {name}, 3 to 10 s each, to find the value with the most throughput{limit}. \
                     At the end, the old value is restored."
                )
            }
            Self::Ab(settings) => {
                let [a, b] = &**settings;
                format!(
                    "Compares A, {}, with B, {}, in blocks of some seconds. At the end, the old settings are restored.",
                    a.words, b.words
                )
            }
            Self::Script(script) => {
                let (turns, end_s) = (script.settings().len(), script.end_s());
                format!("Changes settings {turns} times in {end_s} s. The last settings remain.")
            }
        }
    }

    /// Starts the experiment. The result waits for the first record of a session.
    pub fn begin(self) -> Box<dyn Experiment> {
        match self {
            Self::Find(limit, knobs) => Box::new(Find::new(limit, knobs)),
            Self::Ab(settings) => {
                let [a, b] = *settings;
                Box::new(Ab::new(a, b, AbPlan::default()))
            }
            Self::Sweep(plan, settings) => Box::new(Sweep::of(plan, settings)),
            Self::Script(script) => script,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Option<Result<ExperimentSpec, String>> {
        ExperimentSpec::parse(text, &Knobs::default()).map(|asked| asked.map_err(|error| error.to_string()))
    }

    fn title(text: &str) -> String {
        asked(text).unwrap().unwrap().begin().title()
    }

    #[test]
    fn an_experiment_is_named_by_its_first_word() {
        assert_eq!(title("find p99<1ms"), "find p99<1ms");
        assert_eq!(title("find  rate p99.9 < 2 ms"), "find p99.9<2ms");
        assert_eq!(title("sweep value size 16..4k p99<1ms"), "sweep value size 16 B..4.00 KiB");
        assert_eq!(title("ab pipeline 16"), "A/B pipeline 16");
        assert_eq!(title("ab to pipeline 16"), title("ab pipeline 16"));
        assert_eq!(
            title("ab from clients 50 to clients 100, rate 5k"),
            "A/B clients 50 | clients 100, rate 5k"
        );
        let bursts = Knobs { arrivals: "bursty 10x 1s/10s".parse().unwrap(), ..Knobs::default() };
        let think = Knobs { think: Some("5ms".parse().unwrap()), ..Knobs::default() };
        let refused = ExperimentSpec::parse("find p99<1ms", &think).unwrap().unwrap_err().to_string();
        assert!(refused.contains("leave out the think time"), "{refused}");
        let refused = ExperimentSpec::parse("find p99<1ms", &bursts).unwrap().unwrap_err().to_string();
        assert!(refused.contains("needs arrivals without bursts"), "{refused}");
        for (word, example, _) in ExperimentSpec::WORDS {
            title(&format!("{word} {example}"));
        }
        assert_eq!([asked("find"), asked("find "), asked("clients 5"), asked("")], [None, None, None, None]);
    }

    #[test]
    fn an_experiment_has_the_load_on_and_lists_its_parameters() {
        let knobs = |text| {
            let asked = asked(text).unwrap().unwrap();
            asked.settings().iter().map(|setting| setting.knobs.clone()).collect::<Vec<_>>()
        };
        let ExperimentSpec::Find(_, found) = asked("find p99<1ms").unwrap().unwrap() else {
            panic!("a search")
        };
        assert_eq!(found, Knobs { load: true, ..Knobs::default() });
        let clients =
            knobs("ab from clients 50 to clients 100").iter().map(|knobs| knobs.clients).collect::<Vec<_>>();
        assert_eq!(clients, [50, 100]);
        let set = asked("ab config appendfsync always").unwrap().unwrap();
        assert_eq!(set.parameters(), [(Parameter::named("appendfsync").unwrap(), vec!["always"])]);
        let script = "at 0s config hz 20, config appendfsync no\nat 1s config hz 50\nat 2s config hz 20";
        let script = ExperimentSpec::script("a", script, &Knobs::default()).unwrap();
        let set: Vec<_> = script.parameters().into_iter().map(|(of, to)| (of.name, to)).collect();
        assert_eq!(set, [("hz", vec!["20", "50"]), ("appendfsync", vec!["no"])]);
        assert!(knobs("ab preset cache").iter().all(|knobs| knobs.load));
    }

    #[test]
    fn an_invalid_experiment_is_refused_with_a_reason() {
        let error = |text| asked(text).unwrap().unwrap_err();
        assert!(error("find p98<1ms").starts_with("'p98' is not a percentile; give one of p50,"));
        assert!(error("find 1ms").starts_with("'1ms' is not a limit; write for example p99<1ms"));
        assert!(error("sweep clients").starts_with("'clients' must begin with one of"));
        assert!(error("sweep clients 1..20k").contains("between 1 and 18000"));
        assert!(error("sweep clients 1..100 delivery p99<1ms").starts_with("the workload has no receivers"));
        assert!(error("ab nonsense").starts_with("'nonsense' is not a setting"));
        assert!(error("ab from clients 50").starts_with("'from clients 50' has no second setting"));
        assert!(error("ab clients 0").contains("between 1 and 18000"));
    }
}
