//! The palette's offers: actions of the key table, settings, parameters, presets, themes.

use super::{entries, score};
use crate::{
    app::{Action, Context, Effect, Model, PRESETS, Screen, Setting, bindings},
    experiment::ExperimentSpec,
    knobs::{Adjustable, Knobs},
    workload::is_path,
};

/// The effect of an offer.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// The action of a key.
    Do(Action),
    /// Sets these knobs.
    Set(Knobs),
    /// Sets these knobs, and writes the keys that their workload reads.
    Prefill(Knobs),
    /// Puts this text into the entry, so that the user can continue to type.
    Type(String),
    /// Begins this experiment.
    Begin(ExperimentSpec),
    /// Requests an effect outside of the model: to read or write a file, or to change the theme.
    Want(Effect),
    /// Sets a parameter of the server, after a question.
    Configure(Setting),
    /// Moves the cursor to this moment, in seconds of the session.
    Go(f64),
    /// Shows this text in a box.
    Show {
        /// The heading of the box.
        title: &'static str,
        /// The text.
        text: String,
    },
    /// Shows the reason why the offer is impossible.
    Refuse(String),
}

/// One line of the palette.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// The title. A match in the title ranks above a match in the help.
    pub title: String,
    /// The keys with the same effect, as text; empty if there are none.
    pub keys: String,
    /// A sentence about the effect, or the reason why the offer is impossible.
    pub help: String,
    /// The effect of the offer.
    pub command: Command,
}

impl Offer {
    /// Returns an offer without a key.
    pub(super) fn new(title: String, help: String, command: Command) -> Self {
        Self { title, keys: String::new(), help, command }
    }

    /// Returns an offer to carry out a command, or to show why the command is impossible.
    pub(super) fn or_refusal(title: String, can: Result<(String, Command), String>) -> Self {
        let (help, command) = can.unwrap_or_else(|why| (why.clone(), Command::Refuse(why)));
        Self::new(title, help, command)
    }

    /// Returns an offer to continue to type after `word`.
    pub(super) fn to_type_on(word: &str, help: String) -> Self {
        Self::new(format!("{word} …"), help, Command::Type(format!("{word} ")))
    }
}

/// The weight of a match in the title of an offer; a match in its help text has weight 1.
const NAME_WEIGHT: u32 = 1000;

/// The titles of the most common commands. The palette lists these commands first until the user has used other
/// commands.
const USUAL: &[&str] = &[
    "load on or off",
    "clients …",
    "rate …",
    "pipeline …",
    "find …",
    "sweep …",
    "ab …",
    "mark this moment",
    "record, start or stop",
    "presets",
    "undo",
    "freeze",
    "export figures",
    "make the report",
    "copy the summary",
    "copy the command line of this segment",
];
/// The titles of the most common commands while a recording is shown.
const USUAL_IN_A_RECORDING: &[&str] = &[
    "play or pause",
    "jump to the worst moment",
    "jump to the next event",
    "jump to the next segment",
    "play faster",
    "play slower",
    "export figures",
    "make the report",
    "save the screen as SVG",
    "copy the summary",
    "copy the command line of this segment",
];

impl Model {
    /// Returns the offers that match `query`, the best first. If `query` is a complete setting, only this setting is
    /// offered.
    pub(super) fn offers(&self, query: &str) -> Vec<Offer> {
        let spelled = Adjustable::in_query(query).filter(|(_, value)| !value.is_empty());
        if let Some((setting, value)) = spelled {
            let begun = if setting == Adjustable::Weight { self.begun_weights(query) } else { Vec::new() };
            if !begun.is_empty() {
                return begun;
            }
            let first = self.first_workload().filter(|offer| offer.title == query.trim());
            return vec![first.unwrap_or_else(|| self.setting(setting, value))];
        }
        if let Some(offers) = self.experiment_in(query) {
            return offers;
        }
        if let Some(name) = query.trim_start().strip_prefix("preset ") {
            return best_first(name, self.presets());
        }
        if let Some(offers) = self.exports_in(query) {
            return offers;
        }
        if let Some(given) = query.trim_start().strip_prefix("at ").filter(|given| !given.trim().is_empty()) {
            return vec![self.moment(given.trim())];
        }
        if let Some(offers) = self.parameter_in(query).or_else(|| self.entries_in(query)) {
            return offers;
        }
        if query.trim().is_empty() {
            return self.usual_first();
        }
        best_first(query, self.everything())
    }

    /// Returns all offers. The order is: the offers used most in this session, the offers of this screen, common
    /// offers, all others.
    fn usual_first(&self) -> Vec<Offer> {
        // On the Overview, common commands come before the commands of the screen.
        let is_own =
            |context: &Context| matches!(context, Context::Screen(screen) if *screen != Screen::Overview);
        let here = self.contexts_here().into_iter().find(is_own);
        let of_screen = |offer: &Offer| {
            let does = |command: &Command, action: Action| *command == Command::Do(action) && !action.moves();
            let mut own =
                bindings().filter(|binding| Some(binding.context) == here).flat_map(|binding| binding.keys);
            own.any(|(_, action)| does(&offer.command, *action))
        };
        let usual = if self.playback.is_some() { USUAL_IN_A_RECORDING } else { USUAL };
        let place =
            |offer: &Offer| usual.iter().position(|title| *title == offer.title).unwrap_or(usual.len());
        let mut offers = self.everything();
        offers.sort_by_cached_key(|offer| {
            let used = self.used.get(&offer.title).copied().unwrap_or_default();
            (std::cmp::Reverse(used), !of_screen(offer), place(offer))
        });
        offers
    }

    fn everything(&self) -> Vec<Offer> {
        let mut offers = self.actions();
        offers.extend(self.prefill());
        offers.extend(self.experiments());
        offers.extend(self.parameters());
        let wanted = &self.panel.wanted;
        for setting in Adjustable::all() {
            let help = format!("{} now; type {}", setting.value(wanted), setting.range());
            offers.push(Offer::to_type_on(setting.word(), help));
            // The list of workloads contains their descriptions.
            let choices = if setting == Adjustable::Workload { Vec::new() } else { setting.choices() };
            offers.extend(choices.into_iter().map(|choice| self.setting(setting, choice)));
        }
        offers.extend(self.weights());
        offers.extend(self.presets());
        offers.extend(self.exports(None));
        let help = "moves the cursor; type seconds of the session, or a time such as 14:05 or 14:05:30";
        offers.push(Offer::to_type_on("at", help.to_owned()));
        let help = "Lists the slow commands and the clients; Enter shows one in full.";
        offers.push(Offer::to_type_on(entries::WORD, help.to_owned()));
        offers.extend(self.themes.iter().map(|theme| {
            let help = "Changes the colours of the screen.".to_owned();
            Offer::new(format!("theme {theme}"), help, Command::Want(Effect::Theme(theme)))
        }));
        offers
    }

    /// Returns offers of the presets: named settings of all knobs, and workloads.
    fn presets(&self) -> Vec<Offer> {
        let wanted = &self.panel.wanted;
        let presets = PRESETS.iter().map(|preset| {
            let help = format!("{}: {}", preset.like, preset.settings());
            Offer::new(format!("preset {}", preset.name), help, Command::Set(preset.of(wanted)))
        });
        presets.chain(self.workloads()).collect()
    }

    /// Returns offers of the actions of the key table that are possible here, each once.
    fn actions(&self) -> Vec<Offer> {
        let here = self.contexts_here();
        let holds = |context: Context| match context {
            Context::Anywhere | Context::Time => true,
            context => here.contains(&context),
        };
        let mut offers: Vec<Offer> = Vec::new();
        for binding in bindings().filter(|binding| holds(binding.context)) {
            for (pattern, action) in binding.keys {
                let command = Command::Do(*action);
                match offers.iter_mut().find(|offer| offer.command == command) {
                    Some(known) if !known.keys.split(", ").any(|key| key == pattern.to_string()) => {
                        known.keys += &format!(", {pattern}");
                    }
                    Some(_) => {}
                    None => offers.push(Offer {
                        title: action.title(),
                        keys: pattern.to_string(),
                        help: binding.help.to_owned(),
                        command,
                    }),
                }
            }
        }
        offers
    }

    /// Returns the offer to move the cursor to a moment.
    fn moment(&self, given: &str) -> Offer {
        let timeline = self.timeline();
        let moment = given.parse().map_err(str::to_owned).and_then(|moment| timeline.moment(moment));
        let help = |t_s| format!("Moves the cursor to {}.", timeline.time_text(t_s));
        Offer::or_refusal(format!("at {given}"), moment.map(|t_s| (help(t_s), Command::Go(t_s))))
    }

    pub(super) fn setting(&self, setting: Adjustable, value: &str) -> Offer {
        let wanted = &self.panel.wanted;
        let title = format!("{} {value}", setting.word());
        if setting == Adjustable::Workload && is_path(value) {
            let help = format!("Uses the workload in the file {value} from now on.");
            return Offer::new(title, help, Command::Want(Effect::ReadWorkload(value.to_owned())));
        }
        let typed = setting.typed(wanted, value).map(|knobs| {
            let (now, then) = (setting.value(wanted), setting.value(&knobs));
            let help =
                if now == then { format!("unchanged: {now}") } else { format!("{now} now, then {then}") };
            (help, Command::Set(knobs))
        });
        Offer::or_refusal(title, typed.map_err(|error| error.to_string()))
    }
}

/// Returns the offers that match `query`, the best first. If `query` is empty, returns all offers in their order.
pub(super) fn best_first(query: &str, offers: Vec<Offer>) -> Vec<Offer> {
    if query.trim().is_empty() {
        return offers;
    }
    let mut ranked: Vec<_> = offers.into_iter().filter_map(|o| Some((rank(query, &o)?, o))).collect();
    ranked.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
    ranked.into_iter().map(|(_, offer)| offer).collect()
}

fn rank(query: &str, offer: &Offer) -> Option<u32> {
    let by_name = score(query, &offer.title).map(|score| score * NAME_WEIGHT);
    // In the help text, letters with gaps do not count as a match, since they occur in almost any sentence.
    let help = offer.help.to_lowercase();
    let query = query.to_lowercase();
    let by_help = query.split_whitespace().all(|word| help.contains(word)).then_some(1);
    by_name.or(by_help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{app::Playback, session::TimelineOptions};

    fn model() -> Model {
        Model::new(Knobs::default(), TimelineOptions::default()).with_themes(&["auto", "mono"])
    }

    fn titles(query: &str) -> Vec<String> {
        model().offers(query).into_iter().map(|offer| offer.title).collect()
    }

    #[test]
    fn every_action_that_can_be_done_on_a_screen_is_offered_once_with_its_keys() {
        let offers = model().offers("");
        for binding in
            bindings().filter(|binding| matches!(binding.context, Context::Main | Context::Anywhere))
        {
            for (pattern, action) in binding.keys {
                let same = offers.iter().filter(|offer| offer.command == Command::Do(*action));
                let [offer] = &same.collect::<Vec<_>>()[..] else { panic!("{action:?} is not offered once") };
                assert!(offer.keys.split(", ").any(|key| key == pattern.to_string()), "{offer:?}");
            }
        }
        let mut titles: Vec<_> = offers.iter().map(|offer| &offer.title).collect();
        titles.sort();
        titles.dedup();
        assert_eq!(titles.len(), offers.len(), "two offers have one name");
    }

    #[test]
    fn without_a_word_common_offers_come_first_then_used_ones() {
        let first = |model: &Model| -> Vec<String> {
            model.offers("").into_iter().map(|offer| offer.title).collect()
        };
        let all = first(&model());
        for title in USUAL {
            assert!(all.contains(&(*title).to_owned()), "'{title}' is no offer");
        }
        let of_screen = all.iter().position(|title| title == USUAL[0]).unwrap();
        assert_eq!(all[of_screen..of_screen + USUAL.len()], *USUAL);
        let replayed = Model::replaying(Playback::new("x".to_owned()), TimelineOptions::default());
        for title in USUAL_IN_A_RECORDING {
            assert!(first(&replayed).contains(&(*title).to_owned()), "'{title}' is no offer");
        }
        let mut segments = model();
        segments.screen = Screen::Segments;
        assert_eq!(first(&segments)[0], "sort by the column to the left");
        segments.used.insert("theme mono".to_owned(), 2);
        assert_eq!(first(&segments)[..2], ["theme mono", "sort by the column to the left"]);
    }

    #[test]
    fn the_best_answer_comes_first() {
        for (query, best) in [
            ("quit", "quit"),
            ("lat", "screen Latency"),
            ("rate max", "rate max"),
            ("shed", "backlog shed"),
            ("gentle", "preset gentle"),
            ("pr ca", "preset cache"),
            ("wl get", "workload get"),
            ("theme mono", "theme mono"),
            ("clients", "clients …"),
        ] {
            assert_eq!(titles(query).first().map(String::as_str), Some(best), "{query}: {:?}", titles(query));
        }
        assert_eq!(titles("xyzzy"), [""; 0]);
    }

    #[test]
    fn a_complete_setting_shows_its_effect_or_why_it_is_impossible() {
        let offers = model().offers("clients 200");
        let knobs = Knobs { clients: 200, ..Knobs::default() };
        assert_eq!((offers.len(), &offers[0].command), (1, &Command::Set(knobs)));
        assert_eq!(offers[0].help, "50 now, then 200");
        let offers = model().offers("clients 0");
        assert_eq!(offers[0].help, "clients must be between 1 and 18000, not 0");
        assert!(matches!(&offers[0].command, Command::Refuse(_)));
    }

    #[test]
    fn a_complete_experiment_is_the_only_offer_and_an_incomplete_one_can_be_continued() {
        let one = |query| {
            let mut offers = model().offers(query);
            assert_eq!(offers.len(), 1, "{query}: {offers:?}");
            offers.swap_remove(0)
        };
        let asked = |text| Command::Begin(ExperimentSpec::parse(text, &Knobs::default()).unwrap().unwrap());
        for text in ["find p99<1ms", "find rate p99<1ms", "ab pipeline 16", "ab preset cache"] {
            assert_eq!(one(text).command, asked(text), "{text}");
        }
        let wrong = one("find p98<1ms");
        assert!(
            matches!(&wrong.command, Command::Refuse(why) if why.starts_with("'p98' is not a percentile; give one of")),
            "{wrong:?}"
        );
        assert_eq!(
            one("ab from clients 5").command,
            Command::Refuse(
                "'from clients 5' has no second setting; write for example ab from clients 50 to clients 100"
                    .to_owned()
            )
        );
        assert_eq!(titles("find ")[..2], ["find p99<1ms", "find p99<10ms"]);
        assert_eq!(titles("ab conf fsync alw"), ["ab config appendfsync always"]);
        assert_eq!(model().offers("ab pipe")[0].command, Command::Type("ab pipeline ".to_owned()));
        let replayed = Model::replaying(Playback::new("x".to_owned()), TimelineOptions::default());
        assert!(matches!(replayed.offers("find p99<1ms")[0].command, Command::Refuse(_)));
    }

    #[test]
    fn actions_of_recordings_are_offered_only_in_a_recording() {
        let offers =
            |model: &Model| model.offers("").iter().any(|offer| offer.command == Command::Do(Action::Play));
        assert!(!offers(&model()));
        assert!(offers(&Model::replaying(Playback::new("x".to_owned()), TimelineOptions::default())));
        let mut log = model();
        log.screen = Screen::Log;
        assert!(!log.offers("").is_empty());
    }
}
