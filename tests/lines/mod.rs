//! Every line of the README and its pages that begins with `redyno` is run, against servers of the test, and must show what
//! the text promises; a line of another program stands in a list with the reason why it is not.

mod place;
mod promises;

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use rustix::process::Signal;

use crate::{
    readme::{command, joined, pages},
    support::{
        program::{Outcome, Running, redyno},
        terminal::Terminal,
        wait_for,
    },
};
use place::Place;
pub use promises::PROMISES;
use promises::{How, OTHERS, Promise};

/// What an answer of the filter begins with.
const ANSWER: &str = "jq:";
/// So many lines are run at a time.
const AT_A_TIME: usize = 4;

/// A line as a shell would take it apart.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    /// Without `redyno`, its comment, and what it is piped into.
    words: Vec<String>,
    /// The last line as JSON goes through this filter of jq.
    filter: Option<String>,
    /// The file that its output goes into.
    into: Option<String>,
}

impl Line {
    fn of(command: &str) -> Self {
        let all = words(command);
        let at = |sign: &str| all.iter().position(|word| word == sign);
        let end = at("|").into_iter().chain(at(">")).min().unwrap_or(all.len());
        let after = |sign: &str| at(sign).and_then(|at| all.get(at + 1)).cloned();
        Self { words: all[..end].to_vec(), filter: after("jq"), into: after(">") }
    }
}

/// The words of a command line up to its comment. What is quoted is one, and no sign.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            ('\\', None) => word.get_or_insert_default().extend(chars.next()),
            ('#', None) if word.is_none() => break,
            (' ', None) => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The lines of a page that stand in blocks for a shell or a pipeline: behind `redyno`, or all of one that is another's.
fn lines(text: &str) -> Vec<Result<&str, &str>> {
    let mut language = None;
    let mut found = Vec::new();
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), language) {
            (Some(of), None) => language = Some(of),
            (Some(_), Some(_)) => language = None,
            (None, Some(_)) if line.trim().is_empty() || line.trim().starts_with('#') => {}
            (None, Some("sh" | "yaml" | "")) => found.push(command(line).ok_or(line.trim())),
            _ => {}
        }
    }
    found
}

/// What a line is called in the list: all before its comment.
fn name(command: &str) -> &str {
    command.split(" #").next().unwrap_or(command).trim()
}

#[test]
fn a_line_is_taken_apart_as_a_shell_does() {
    let line = Line::of(r#"-p 1 --find 'p99<1ms' "a b" \; x#1 --json | tail -1 | jq '.a[] | {b}'   # why"#);
    assert_eq!(line.words, ["-p", "1", "--find", "p99<1ms", "a b", ";", "x#1", "--json"]);
    assert_eq!(line.filter.as_deref(), Some(".a[] | {b}"));
    assert_eq!(Line::of("compare x > y.md").into.as_deref(), Some("y.md"));
}

#[test]
fn every_line_has_its_promise_and_every_line_of_another_program_its_reason() {
    let (mut unknown, mut promised, mut others) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for (path, text) in pages() {
        for line in lines(&joined(&text)) {
            let is_known = match line {
                Ok(command) => {
                    promised.insert(name(command).to_owned());
                    PROMISES.iter().any(|promise| promise.line == name(command))
                }
                Err(other) => {
                    let found = OTHERS.iter().find(|(begins, _)| other.starts_with(begins));
                    found.is_some_and(|(begins, _)| others.insert(*begins) || others.contains(begins))
                }
            };
            if !is_known {
                unknown.push(format!("{}: {line:?}", path.display()));
            }
        }
    }
    assert!(unknown.is_empty(), "add them to tests/lines/promises.rs: {unknown:#?}");
    let stale = PROMISES.iter().map(|promise| promise.line).filter(|line| !promised.contains(*line));
    let stale: Vec<_> =
        stale.chain(OTHERS.iter().map(|other| other.0).filter(|b| !others.contains(b))).collect();
    assert!(stale.is_empty(), "they stand on no page any more: {stale:#?}");
}

#[test]
fn every_line_does_what_the_text_promises() {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(promise) = PROMISES.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let kept = catch_unwind(AssertUnwindSafe(|| keep(promise)));
                    if let Err(why) = kept {
                        let why = why.downcast_ref::<String>().cloned().unwrap_or_default();
                        failed.lock().unwrap().push(format!("redyno {}\n{why}", promise.line));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} lines:\n{}", failed.len(), failed.join("\n\n"));
}

/// Runs a line in a place of its own, and looks for what is promised.
fn keep(promise: &Promise) {
    let mut place = Place::new();
    let line = Line::of(promise.line);
    let mut words = place.placed(&line.words);
    // Before the commands of one's own.
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words.splice(end..end, promise.more.iter().map(|word| (*word).to_owned()));
    let args: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut command = redyno(&args);
    command.current_dir(place.folder()).env("XDG_STATE_HOME", place.folder()).env("HOME", place.folder());
    command.env("XDG_CONFIG_HOME", place.folder());
    let shown = match promise.how {
        How::Screen => screen(&command, promise.shows),
        How::Ends(codes) => {
            let outcome = Running::start(command).end_of_writing();
            assert!(codes.contains(&outcome.code()), "{}:\n{}\n{}", outcome.code(), outcome.out, outcome.err);
            said(&line, &place, &outcome)
        }
        How::Until(part, code) => {
            let running = Running::start(command);
            wait_for(part, || {
                let (is_over, said) = (running.has_closed(), running.said());
                assert!(!is_over || said.contains(part), "it ended without '{part}':\n{said}");
                said.contains(part).then_some(())
            });
            running.signal(Signal::INT);
            let outcome = running.end().expect_code(code);
            // What it would have found at its end it may lack.
            let filter = line.filter.filter(|_| promise.shows.contains(&ANSWER));
            said(&Line { filter, ..line }, &place, &outcome)
        }
    };
    for part in promise.shows {
        assert!(squeezed(&shown).contains(part), "no '{part}' in:\n{shown}");
    }
    for (file, part) in promise.files {
        let bytes =
            std::fs::read(place.folder().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(String::from_utf8_lossy(&bytes).contains(part), "no '{part}' in {file}");
    }
    place.assert_left_clean();
}

/// With a blank between two words, however many there were.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a program said on both ways; the last line through the filter, where there is one.
fn said(line: &Line, place: &Place, outcome: &Outcome) -> String {
    if let Some(file) = &line.into {
        std::fs::write(place.folder().join(file), &outcome.out).unwrap();
    }
    let filtered = line.filter.as_ref().map(|filter| {
        let last = outcome.out.lines().next_back().unwrap_or_default();
        let json = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {last}"));
        through(filter, &json)
    });
    format!("{}\n{}\n{}", outcome.out, outcome.err, filtered.unwrap_or_default())
}

/// `.a.b`, or `.a[] | {b, c}`: as lines of JSON. What is not there is no answer.
fn through(filter: &str, json: &serde_json::Value) -> String {
    let (path, fields) = filter.split_once(" | ").unwrap_or((filter, ""));
    let names = path.trim_end_matches("[]").trim_start_matches('.').split('.');
    let found =
        names.fold(json, |json, name| json.get(name).unwrap_or_else(|| panic!("no {name} in {json}")));
    let fields: Vec<_> =
        fields.trim_matches(['{', '}']).split(", ").filter(|name| !name.is_empty()).collect();
    for item in found.as_array().filter(|_| path.ends_with("[]")).into_iter().flatten() {
        assert!(fields.iter().all(|name| item.get(name).is_some()), "{fields:?} in {item}");
    }
    assert!(!found.is_null(), "{filter} is null in {json}");
    format!("{ANSWER} {found}")
}

/// The program in a terminal, until it has shown all of it; `q` ends it.
fn screen(command: &std::process::Command, shows: &[&str]) -> String {
    let mut terminal = Terminal::start(command, 160, 48);
    let shown = terminal.wait_for(&format!("{shows:?}"), |text| {
        shows.iter().all(|part| squeezed(text).contains(part)).then(|| text.to_owned())
    });
    terminal.press("q");
    terminal.wait_for("the end of the screen", |_| terminal.is_given_back().then_some(()));
    let (code, text) = terminal.end();
    assert_eq!(code, Some(0), "{text}");
    shown
}
