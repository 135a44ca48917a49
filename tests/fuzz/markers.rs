//! What a marker says was written by whoever could: `clean` ends whatever stands there, and a note of a parameter that it does
//! not carry out is not erased with the marker.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use redyno::server::PARAMETERS;

use super::{Dice, cases};
use crate::{scripted::Crowd, support::program::run};

const RUN: &str = "4g7k2m9q";
const COUNTS: &str =
    "0|1|5|9223372036854775807|18446744073709551615|18446744073709551614|18446744073709551616|-1|x|";
const VALUES: &str = "0|1|512kb|1gb|4000000000|-1|18446744073709551615|noeviction|allkeys-lru|always|everysec|10|500|\
    99999999999999999999|3600 1|'|\\u001b[2J|";

fn marker(dice: &mut Dice) -> BTreeMap<String, String> {
    let (counts, values): (Vec<_>, Vec<_>) = (COUNTS.split('|').collect(), VALUES.split('|').collect());
    let mut fields = BTreeMap::from([
        ("started".to_owned(), "2026-11-21T07:08:00Z".to_owned()),
        ("host".to_owned(), "box".to_owned()),
        ("pid".to_owned(), dice.pick(&counts).to_owned()),
        ("kept".to_owned(), dice.pick(&["yes", "no", "x"]).to_owned()),
    ]);
    let set = |prefix: &str, dice: &mut Dice| {
        let (first, count) = (dice.pick(&counts), dice.pick(&counts));
        format!("{{\"prefix\":\"{prefix}\",\"first\":{first},\"count\":{count}}}")
    };
    let sets = ["", "counter:", "user"].map(|prefix| set(prefix, dice));
    fields.insert("keys".to_owned(), format!("[{}]", sets.join(",")));
    for _ in 0..dice.below(3) {
        let (from, to) = (dice.pick(&values), dice.pick(&values));
        let note = format!("{{\"from\":\"{from}\",\"to\":[\"{to}\"]}}");
        let mut note = note.into_bytes();
        if dice.once_in(4) {
            dice.damage(&mut note);
        }
        let note = String::from_utf8_lossy(&note).into_owned();
        fields.insert(format!("config:{}", dice.pick(&PARAMETERS.each_ref()).name), note);
    }
    fields
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

fn array(parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<_> = parts.into_iter().collect();
    format!("*{}\r\n{}", parts.len(), parts.concat())
}

/// What the server has been asked to do.
#[derive(Default)]
struct Done {
    /// Parameters that were set.
    set: Vec<String>,
    /// Fields of the marker that were removed; all of them with the marker.
    forgotten: Vec<String>,
}

fn answer(words: &[String], marker: &BTreeMap<String, String>, done: &Mutex<Done>) -> String {
    let upper: Vec<_> = words.iter().take(2).map(|word| word.to_uppercase()).collect();
    let mut done = done.lock().unwrap();
    match upper.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["PING", ..] => "+PONG\r\n".to_owned(),
        ["INFO", ..] => bulk("redis_version:7.0.15\r\nredis_mode:standalone\r\nrole:master\r\nrun_id:a\r\n"),
        ["SMEMBERS", ..] => array([bulk(RUN)]),
        ["SSCAN", ..] => array([bulk("0"), array([bulk(RUN)])]),
        ["SISMEMBER" | "SREM", ..] => ":1\r\n".to_owned(),
        ["HGETALL", ..] => array(marker.iter().flat_map(|(name, value)| [bulk(name), bulk(value)])),
        ["HMGET", ..] => array(
            words[2..]
                .iter()
                .map(|name| marker.get(name).map_or_else(|| "$-1\r\n".to_owned(), |value| bulk(value))),
        ),
        ["HDEL", ..] => {
            done.forgotten.extend(words[2..].iter().cloned());
            ":1\r\n".to_owned()
        }
        ["DEL" | "UNLINK", ..] => {
            if words[1..]
                .iter()
                .any(|key| key.starts_with(&format!("redyno:{RUN}")) && !key[13..].contains(':'))
            {
                done.forgotten.extend(marker.keys().cloned());
            }
            format!(":{}\r\n", words.len() - 1)
        }
        ["SCAN", ..] => array([bulk("0"), array([])]),
        ["DBSIZE", ..] => ":1\r\n".to_owned(),
        ["CONFIG", "SET"] => {
            done.set.extend(words.get(2).cloned());
            "+OK\r\n".to_owned()
        }
        ["CONFIG", "GET"] => array(words[2..].iter().flat_map(|name| [bulk(name), bulk("1")])),
        ["TYPE", ..] => "+hash\r\n".to_owned(),
        ["EXISTS", ..] => ":1\r\n".to_owned(),
        ["CLIENT", "LIST"] => bulk("id=1 addr=127.0.0.1:1 name= flags=N\n"),
        ["EVAL" | "EVALSHA" | "SCRIPT" | "FUNCTION", ..] => "-ERR unknown command\r\n".to_owned(),
        _ => "+OK\r\n".to_owned(),
    }
}

#[test]
fn clean_ends_whatever_a_marker_says_and_forgets_no_note_that_it_did_not_carry_out() {
    for case in cases("markers", 800) {
        let dice = &mut Dice::new(case);
        let marker = Arc::new(marker(dice));
        let done = Arc::new(Mutex::new(Done::default()));
        let (on_server, shown) = (Arc::clone(&marker), Arc::clone(&done));
        let crowd = Crowd::start(move |peer, _| {
            while let Some(words) = peer.words() {
                peer.say(&answer(&words, &on_server, &shown));
            }
        });
        let outcome = run(&["clean", "--yes", "-p", &crowd.port().to_string()]);
        assert!((0..=3).contains(&outcome.code()), "case {case}: {marker:#?}: {outcome:?}");
        assert!(!outcome.err.contains("panicked"), "case {case}: {outcome:?}");
        let done = done.lock().unwrap();
        for name in marker.keys().filter_map(|field| field.strip_prefix("config:")) {
            let was_forgotten = done.forgotten.contains(&format!("config:{name}"));
            let was_set = done.set.iter().any(|set| set == name);
            // The value may be as before, or somebody else's by now: then it says so.
            let lines = || outcome.out.lines().chain(outcome.err.lines()).filter(|line| line.contains(name));
            let is_settled = lines().any(|line| {
                line.contains(" is restored to 1") || line.contains("so redyno did not change it")
            });
            assert!(
                !was_forgotten || was_set || is_settled || (lines().count() > 0 && outcome.code() != 0),
                "case {case}: {marker:#?}: {outcome:?}"
            );
        }
    }
}
