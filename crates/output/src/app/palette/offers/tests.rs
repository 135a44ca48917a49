//! Tests of the offers of the palette.

use super::*;
use crate::{
    app::{KeyPattern, Playback},
    session::TimelineOptions,
};

fn model() -> Model {
    Model { themes: vec!["auto", "mono"], ..Model::new(Knobs::default(), TimelineOptions::default()) }
}

fn titles(query: &str) -> Vec<String> {
    model().offers(query).into_iter().map(|offer| offer.title).collect()
}

#[test]
fn every_action_that_can_be_done_on_a_screen_is_offered_once_with_its_keys() {
    let offers = model().offers("");
    for binding in bindings().filter(|binding| matches!(binding.context, Context::Main | Context::Anywhere)) {
        for action in binding.actions {
            let same = offers.iter().filter(|offer| offer.command == PaletteCommand::Do(*action));
            let [offer] = &same.collect::<Vec<_>>()[..] else { panic!("{action:?} is not offered once") };
            let has = |pattern: &KeyPattern| offer.keys.split(", ").any(|key| key == pattern.to_string());
            assert!(action.keys.iter().all(has), "{offer:?}");
        }
    }
    let mut titles: Vec<_> = offers.iter().map(|offer| &offer.title).collect();
    titles.sort();
    titles.dedup();
    assert_eq!(titles.len(), offers.len(), "two offers have one name");
}

#[test]
fn without_a_word_common_offers_come_first_then_used_ones() {
    let first =
        |model: &Model| -> Vec<String> { model.offers("").into_iter().map(|offer| offer.title).collect() };
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
    assert_eq!((offers.len(), &offers[0].command), (1, &PaletteCommand::Set(knobs)));
    assert_eq!(offers[0].help, "from 50 to 200");
    let offers = model().offers("clients 0");
    assert_eq!(offers[0].help, "clients must be between 1 and 18000, not 0");
    assert!(matches!(&offers[0].command, PaletteCommand::Refuse(_)));
}

#[test]
fn a_complete_experiment_is_the_only_offer_and_an_incomplete_one_can_be_continued() {
    let one = |query| {
        let mut offers = model().offers(query);
        assert_eq!(offers.len(), 1, "{query}: {offers:?}");
        offers.swap_remove(0)
    };
    let asked =
        |text| PaletteCommand::Begin(ExperimentSpec::parse(text, &Knobs::default()).unwrap().unwrap());
    for text in ["find p99<1ms", "find rate p99<1ms", "ab pipeline 16", "ab preset cache"] {
        assert_eq!(one(text).command, asked(text), "{text}");
    }
    let wrong = one("find p98<1ms");
    assert!(
        matches!(&wrong.command, PaletteCommand::Refuse(why) if why.starts_with("'p98' is not a percentile; give one of")),
        "{wrong:?}"
    );
    assert_eq!(
        one("ab from clients 5").command,
        PaletteCommand::Refuse(
            "'from clients 5' has no second setting; write for example ab from clients 50 to clients 100"
                .to_owned()
        )
    );
    assert_eq!(titles("find ")[..2], ["find p99<1ms", "find p99<10ms"]);
    assert_eq!(titles("ab conf fsync alw"), ["ab config appendfsync always"]);
    assert_eq!(model().offers("ab pipe")[0].command, PaletteCommand::Type("ab pipeline ".to_owned()));
    let replayed = Model::replaying(Playback::new("x".to_owned()), TimelineOptions::default());
    assert!(matches!(replayed.offers("find p99<1ms")[0].command, PaletteCommand::Refuse(_)));
}

#[test]
fn actions_of_recordings_are_offered_only_in_a_recording() {
    let offers = |model: &Model| model.offers("").iter().any(|offer| offer.title == "play or pause");
    assert!(!offers(&model()));
    assert!(offers(&Model::replaying(Playback::new("x".to_owned()), TimelineOptions::default())));
    let mut log = model();
    log.screen = Screen::Log;
    assert!(!log.offers("").is_empty());
}

#[test]
fn a_command_with_a_wrong_value_never_runs_another_command() {
    for query in ["find p99<0", "find p99<1", "sweep clients 1.."] {
        let offers = model().offers(query);
        let runs = |offer: &&Offer| !matches!(offer.command, PaletteCommand::Refuse(_));
        assert_eq!(offers.iter().find(runs), None, "{query}");
    }
    assert!(titles("find p99").iter().any(|title| title == "find p99<1ms"));
}
