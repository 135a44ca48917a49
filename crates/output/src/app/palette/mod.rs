//! The command palette: the user types a few letters and gets a list of matching commands.
//!
//! ```text
//!   key table ──► actions  ─┐
//!   knobs     ──► settings ─┼─► offers ──► ranked by what was typed ──► Enter carries one out
//!   presets, workloads ─────┤
//!   themes ─────────────────┤
//!   experiments, exports ───┤
//!   slow commands, clients ─┘
//! ```
//!
//! [`score`] computes how well a name matches the typed text.

mod config;
mod entries;
mod exports;
mod offers;
mod workloads;

pub use self::offers::{Offer, PaletteCommand};

use super::{InputMode, Model, Order, Purpose, TextEntry, Tone, Typing, UserQuestion, list::moved};

impl Model {
    /// Opens the palette with this text in its input line.
    pub(super) fn open_palette(&mut self, typed: &str) {
        self.begin_typing(Purpose::Command { chosen: 0 }, TextEntry::sentence(typed));
    }

    /// Returns the typed text, the matching offers (best first), and the position of the selected offer. Returns `None`
    /// when the palette is closed.
    pub fn palette(&self) -> Option<(&TextEntry, Vec<Offer>, usize)> {
        let InputMode::Typing(Typing { purpose: Purpose::Command { chosen }, entry }) = &self.mode else {
            return None;
        };
        let offers = self.offers(&entry.text());
        let chosen = (*chosen).min(offers.len().saturating_sub(1));
        Some((entry, offers, chosen))
    }

    /// Moves the selection down by this many offers, or up if the number is negative. The selection stays within the
    /// list.
    pub(super) fn choose(&mut self, by: i16) {
        let Some((_, offers, now)) = self.palette() else { return };
        let then = moved(now, by, offers.len());
        if let InputMode::Typing(Typing { purpose: Purpose::Command { chosen }, .. }) = &mut self.mode {
            *chosen = then;
        }
    }

    /// Carries out the selected offer. If the offer is impossible, a message shows the reason, and the palette stays
    /// open.
    pub(super) fn accept_offer(&mut self) {
        let Some((_, mut offers, chosen)) = self.palette() else { return };
        if offers.is_empty() {
            return self
                .show_message(Tone::Warning, "no match; press Esc to close, or ? for a list of all keys");
        }
        let Offer { title, command, .. } = offers.swap_remove(chosen);
        if !matches!(command, PaletteCommand::Refuse(_)) {
            *self.used.entry(title).or_default() += 1;
            self.mode = InputMode::Screen;
        }
        match command {
            PaletteCommand::Type(text) => self.open_palette(&text),
            PaletteCommand::Refuse(why) => self.show_message(Tone::Warning, why),
            PaletteCommand::Do(action) => (action.run)(self),
            PaletteCommand::Set(knobs) if knobs == self.panel.wanted => {
                self.show_message(Tone::Info, "no change: the load already has these settings");
            }
            PaletteCommand::Set(knobs) => self.send_order(Order::SetKnobs(knobs)),
            PaletteCommand::Prefill(knobs) => self.send_order(Order::Prefill(knobs)),
            PaletteCommand::Begin(asked) => self.propose_experiment(asked),
            PaletteCommand::Want(effect) => self.request(effect),
            PaletteCommand::Go(t_s) => {
                self.put_cursor(t_s);
                self.play_on();
            }
            PaletteCommand::Show { title, text } => self.mode = InputMode::InFull { title, text },
            PaletteCommand::Configure(setting) => {
                self.ask(UserQuestion::SetConfig(setting));
            }
        }
    }
}

/// Returns how well `name` matches `query`: higher is better. The name matches if it contains the letters of
/// each word of the query in the same order. Without a match, returns `None`. Case and the order of words do
/// not matter.
pub fn score(query: &str, name: &str) -> Option<u32> {
    let name = name.to_lowercase();
    query.split_whitespace().map(|word| score_of_word(&word.to_lowercase(), &name)).sum()
}

fn score_of_word(word: &str, name: &str) -> Option<u32> {
    let is_start = |at: usize| name[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric());
    if name.split_whitespace().any(|part| part == word) {
        return Some(if name.starts_with(word) { 120 } else { 100 });
    }
    if let Some(at) = name.match_indices(word).map(|(at, _)| at).find(|at| is_start(*at)) {
        return Some(if at == 0 { 90 } else { 70 });
    }
    if name.contains(word) {
        return Some(40);
    }
    with_gaps(word, name)
}

/// Returns the score of a name that contains the letters of `word` in order, with other letters in between. The first
/// letter must be at the start of a word. The score is higher if fewer letters are in between.
fn with_gaps(word: &str, name: &str) -> Option<u32> {
    let first = word.chars().next()?;
    let starts = name.char_indices().filter(|(at, c)| {
        *c == first && name[..*at].chars().next_back().is_none_or(|before| !before.is_alphanumeric())
    });
    starts.filter_map(|(at, _)| gaps(word, &name[at..])).min().map(|gaps| 20_u32.saturating_sub(gaps).max(1))
}

/// Returns the number of characters of `name` between the letters of `word`.
fn gaps(word: &str, name: &str) -> Option<u32> {
    let mut rest = name.chars();
    let mut gaps = 0;
    for letter in word.chars() {
        loop {
            match rest.next()? {
                c if c == letter => break,
                _ => gaps += 1,
            }
        }
    }
    Some(gaps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Effect, Playback, Screen, update::tests::press},
        events::EventKind,
        knobs::{Backlog, Knobs},
        session::{Event, Mark, Record, TimelineOptions},
        workload::{Workload, preset},
    };

    fn model() -> Model {
        Model { themes: vec!["mono"], ..Model::new(Knobs::default(), TimelineOptions::default()) }
    }

    #[test]
    fn what_is_typed_is_carried_out() {
        let knobs = Knobs::default();
        for (typed, effects) in [
            ("clients 200", vec![Effect::Order(Order::SetKnobs(Knobs { clients: 200, ..knobs.clone() }))]),
            ("rate 5k", vec![Effect::Order(Order::SetKnobs(Knobs { rate: Some(5000), ..knobs.clone() }))]),
            (
                "backlog shed",
                vec![Effect::Order(Order::SetKnobs(Knobs { backlog: Backlog::Shed, ..knobs.clone() }))],
            ),
            (
                "workload get",
                vec![Effect::Order(Order::SetKnobs(Knobs {
                    workload: preset("get").unwrap(),
                    ..knobs.clone()
                }))],
            ),
            ("quit", vec![Effect::Quit]),
            ("theme mono", vec![Effect::Theme("mono")]),
            ("load on", vec![Effect::Order(Order::SetKnobs(Knobs { load: true, ..knobs }))]),
        ] {
            let mut model = model();
            assert_eq!(press(&mut model, &format!(":{typed}\n")), effects, "{typed}");
            assert_eq!(model.mode, InputMode::Screen, "{typed}");
        }
        let mut model = model();
        press(&mut model, ":screen log\n");
        assert_eq!(model.screen, Screen::Log);
    }

    #[test]
    fn the_cursor_goes_to_a_given_moment() {
        let mut model = model();
        model.push(&Record::Mark(Mark { t_s: 60.0, text: String::new() }));
        press(&mut model, ":at 42\n");
        assert_eq!((model.cursor_s(), &model.mode), (Some(42.0), &InputMode::Screen));
        press(&mut model, ":at 14:05\n");
        assert!(model.message().unwrap().text.contains("no wall clock"));
    }

    #[test]
    fn a_setting_without_a_value_is_continued_and_a_bad_one_is_reported() {
        let mut model = model();
        assert_eq!(press(&mut model, ":clients\n0\n"), []);
        assert_eq!(model.message().unwrap().text, "clients must be between 1 and 18000, not 0");
        assert_eq!(model.palette().unwrap().0.text(), "clients 0");
        assert_eq!(press(&mut model, "\x087\n").len(), 1);
        assert_eq!(press(&mut model, ":xyzzy\n"), []);
        assert!(model.message().unwrap().text.starts_with("no match"));
        press(&mut model, "\x1b");
        assert_eq!(model.mode, InputMode::Screen);
    }

    #[test]
    fn enter_on_an_empty_palette_does_nothing_unless_an_offer_was_chosen() {
        let mut model = model();
        assert_eq!(press(&mut model, ":\n \n"), []);
        assert!(model.palette().is_some());
        press(&mut model, "\x1b:");
        let second = model.palette().unwrap().1[1].title.clone();
        model.choose(1);
        press(&mut model, "\n");
        let is_empty = model.palette().is_some_and(|(entry, ..)| entry.text().is_empty());
        assert!(!is_empty, "'{second}' was chosen and not carried out");
    }

    #[test]
    fn presets_are_chosen_from_a_list_and_one_undo_reverts_the_choice() {
        let mut model = model();
        press(&mut model, "p\x0b\x0b");
        let (_, offers, chosen) = model.palette().unwrap();
        assert_eq!((chosen, offers[2].title.as_str()), (2, "preset write-heavy"));
        let effects = press(&mut model, "\n");
        assert!(
            matches!(&effects[..], [Effect::Order(Order::SetKnobs(knobs))] if knobs.workload == Workload::ratio(9, 1)),
            "{effects:?}"
        );
        assert_eq!(press(&mut model, "u"), [Effect::Order(Order::SetKnobs(Knobs::default()))]);
    }

    #[test]
    fn in_a_recording_the_palette_opens_and_does_what_is_possible() {
        let mut model = Model::replaying(Playback::new("x".to_owned()), TimelineOptions::default());
        press(&mut model, ":faster\n");
        assert_eq!(model.playback.as_ref().map(Playback::speed), Some(2.0));
    }

    #[test]
    fn a_recording_that_plays_continues_from_the_moment_of_the_command() {
        let mut model = Model::replaying(Playback::new("x".to_owned()), TimelineOptions::default());
        model.push(&Record::Event(Event::new(100.0, EventKind::Reachable)));
        assert_eq!(press(&mut model, ":at 10\n"), [], "it does not play yet");
        model.playback.as_mut().unwrap().is_playing = true;
        let play = Effect::Order(Order::Play { from_s: 20.0, speed: 1.0 });
        assert_eq!(press(&mut model, ":at 20\n"), [play]);
    }

    #[test]
    fn whole_words_rank_above_beginnings_and_beginnings_above_letters_with_gaps() {
        let scores = ["rate max", "rates", "overrate", "read a table"].map(|name| score("rate", name));
        assert!(scores.is_sorted_by(|a, b| a > b) && scores[3].is_some(), "{scores:?}");
        assert_eq!(score("rate", "clients"), None);
        assert_eq!(score("", "anything"), Some(0));
    }

    #[test]
    fn every_word_must_be_there_in_any_order_and_case() {
        assert!(score("LAT screen", "screen Latency").is_some());
        assert_eq!(score("screen foo", "screen Latency"), None);
        assert!(score("prca", "preset cache").is_some());
        assert!(score("größe", "Größe").is_some());
    }
}
