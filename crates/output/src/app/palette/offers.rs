//! The command palette's offers (the commands that it lists): actions of keys, settings, parameters, presets,
//! themes.

use super::{entries, score};
use crate::{
    app::{Action, Context, Effect, Model, PRESETS, ParameterChange, Screen, bindings},
    experiment::ExperimentSpec,
    knobs::{Knob, Knobs},
    workload::is_path,
};

/// The effect of an offer, which is a line of the palette.
#[derive(Debug, Clone, PartialEq)]
pub enum PaletteCommand {
    /// Does the same as a key press.
    Do(Action),
    /// Sets these knobs.
    Set(Knobs),
    /// Sets these knobs, and writes the keys that their workload reads.
    Prefill(Knobs),
    /// Puts this text into the palette's input line, so that the user can continue to type.
    Type(String),
    /// Begins this experiment.
    Begin(ExperimentSpec),
    /// Requests an effect outside of the model: to read or write a file, or to change the theme.
    Want(Effect),
    /// Sets a parameter of the server. redyno asks first.
    Configure(ParameterChange),
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
    pub command: PaletteCommand,
}

impl Offer {
    /// Returns an offer without a key.
    pub(super) fn new(title: String, help: String, command: PaletteCommand) -> Self {
        Self { title, keys: String::new(), help, command }
    }

    /// Returns an offer to carry out a command. If the command is impossible, the offer shows the reason.
    pub(super) fn or_refusal(title: String, can: Result<(String, PaletteCommand), String>) -> Self {
        let (help, command) = can.unwrap_or_else(|why| (why.clone(), PaletteCommand::Refuse(why)));
        Self::new(title, help, command)
    }

    /// Returns an offer to continue to type after `word`.
    pub(super) fn to_type_on(word: &str, help: String) -> Self {
        Self::new(format!("{word} …"), help, PaletteCommand::Type(format!("{word} ")))
    }
}

/// The weight of a match in the title of an offer. A match in its help text has weight 1.
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
        let spelled = Knob::in_query(query).filter(|(_, value)| !value.is_empty());
        if let Some((setting, value)) = spelled {
            let begun = if setting == Knob::WeightByName { self.begun_weights(query) } else { Vec::new() };
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
        let mut offers = self.everything();
        // After the name of a command with arguments, no other command is offered.
        if let Some((word, rest)) = query.trim_start().split_once(' ')
            && !rest.trim().is_empty()
            && offers.iter().any(|offer| offer.title == format!("{word} …"))
        {
            offers.retain(|offer| offer.title.split(' ').next() == Some(word));
        }
        best_first(query, offers)
    }

    /// Returns all offers. The offers that the user has used most in this session come first. The next offers are those
    /// of this screen, common offers, and all other offers.
    fn usual_first(&self) -> Vec<Offer> {
        // On the Overview, common commands come before the commands of the screen.
        let is_own =
            |context: &Context| matches!(context, Context::Screen(screen) if *screen != Screen::Overview);
        let here = self.contexts_here().into_iter().find(is_own);
        let own = || bindings().filter(|binding| Some(binding.context) == here);
        let of_screen = |offer: &Offer| match offer.command {
            PaletteCommand::Do(action) => {
                !action.selects() && own().any(|binding| binding.actions.contains(&action))
            }
            _ => false,
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
        for setting in Knob::ALL {
            let help = format!("{} now; type {}", setting.value(wanted), setting.range());
            offers.push(Offer::to_type_on(setting.name(), help));
            // The list of workloads contains their descriptions.
            let choices = if setting == Knob::Workload { Vec::new() } else { setting.choices() };
            offers.extend(choices.into_iter().map(|choice| self.setting(setting, choice)));
        }
        offers.extend(self.weights());
        offers.extend(self.presets());
        offers.extend(self.exports(None));
        let help = "moves the cursor; type seconds since the start of the session, or a clock time such as 14:05 or 14:05:30";
        offers.push(Offer::to_type_on("at", help.to_owned()));
        let help = "Lists slow commands and clients. Press Enter on an entry to see its details.";
        offers.push(Offer::to_type_on(entries::WORD, help.to_owned()));
        offers.extend(self.themes.iter().map(|theme| {
            let help = "Changes the colours of the screen.".to_owned();
            Offer::new(format!("theme {theme}"), help, PaletteCommand::Want(Effect::Theme(theme)))
        }));
        offers
    }

    /// Returns offers of the presets: named settings of all knobs, and workloads.
    fn presets(&self) -> Vec<Offer> {
        let wanted = &self.panel.wanted;
        let presets = PRESETS.iter().map(|preset| {
            let help = format!("{}: {}", preset.like, preset.settings());
            Offer::new(format!("preset {}", preset.name), help, PaletteCommand::Set(preset.of(wanted)))
        });
        presets.chain(self.workloads()).collect()
    }

    /// Returns one offer for each action of the key table that is possible here.
    fn actions(&self) -> Vec<Offer> {
        let here = self.contexts_here();
        let holds = |context: Context| match context {
            Context::Anywhere | Context::Time => true,
            context => here.contains(&context),
        };
        let mut offers: Vec<Offer> = Vec::new();
        for binding in bindings().filter(|binding| holds(binding.context)) {
            for action in binding.actions {
                let keys: Vec<_> = action.keys.iter().map(ToString::to_string).collect();
                match offers.iter_mut().find(|offer| offer.title == action.title) {
                    Some(known) => {
                        let is_new = |key: &String| !known.keys.split(", ").any(|known| known == key);
                        let new: String =
                            keys.iter().filter(|key| is_new(key)).map(|key| format!(", {key}")).collect();
                        known.keys += &new;
                    }
                    None => offers.push(Offer {
                        title: action.title.to_owned(),
                        keys: keys.join(", "),
                        help: binding.help.to_owned(),
                        command: PaletteCommand::Do(*action),
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
        Offer::or_refusal(format!("at {given}"), moment.map(|t_s| (help(t_s), PaletteCommand::Go(t_s))))
    }

    pub(super) fn setting(&self, setting: Knob, value: &str) -> Offer {
        let wanted = &self.panel.wanted;
        let title = format!("{} {value}", setting.name());
        if setting == Knob::Workload && is_path(value) {
            let help = format!("Uses the workload in the file {value} from now on.");
            return Offer::new(title, help, PaletteCommand::Want(Effect::ReadWorkload(value.to_owned())));
        }
        let typed = setting.typed(wanted, value).map(|knobs| {
            let (now, then) = (setting.value(wanted), setting.value(&knobs));
            let help =
                if now == then { format!("unchanged: {now}") } else { format!("from {now} to {then}") };
            (help, PaletteCommand::Set(knobs))
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
mod tests;
