//! What stands in an argument, or is named by one, is shown and never obeyed: names of files and hosts, words of scripts and
//! workloads, on every way out.

use std::{ffi::OsString, fs, path::Path};

use clap::CommandFactory;
use redyno::cli::{args::CommandLine, refusal};

use crate::support::{
    Server,
    program::{Outcome, run},
};

/// Sets a terminal's title, begins a control sequence with one character (C1), turns the direction of writing.
const HARM: &str = "\x1b]0;OWNED\x07\u{9b}31m\u{202e}txt";

fn assert_harmless(what: &str, text: &str) {
    let obeyed = |c: &char| !matches!(c, '\n' | '\r') && redyno::untrusted::is_interpreted(*c);
    let found: Vec<_> = text.chars().filter(obeyed).collect();
    assert!(found.is_empty(), "{what}: {found:?} in {text:?}");
}

fn harmless(args: &[&str]) -> Outcome {
    let outcome = run(args);
    assert_harmless(&format!("stdout of {args:?}"), &outcome.out);
    assert_harmless(&format!("stderr of {args:?}"), &outcome.err);
    outcome
}

/// The words that a command needs besides its options.
fn needed(command: &str) -> &'static [&'static str] {
    match command {
        "ab" => &["--to", "clients 5"],
        "versus" => &["redis://a", "redis://b"],
        "series" => &["tair-threads"],
        "agent" => &["--target", "h:1", "--bus", "redis://h", "--index", "0", "--of", "1"],
        "ycsb" => &["load", "redis"],
        "replay" | "export" => &["x"],
        "report" => &["x", "-o", "x.html"],
        "compare" => &["x", "y"],
        "capture" => &["-o", "x"],
        "redyno" => &["--headless", "--load"],
        _ => &[],
    }
}

#[test]
fn a_refused_value_is_not_obeyed_and_the_error_names_its_option() {
    let root = CommandLine::command();
    let mut refused = 0;
    for command in std::iter::once(&root).chain(root.get_subcommands()) {
        let name = (command.get_name() != root.get_name()).then(|| command.get_name());
        if ["bench", "memtier"].contains(&command.get_name()) {
            continue; // These have their own command lines.
        }
        for option in command.get_arguments().filter(|option| option.get_action().takes_values()) {
            for value in [HARM, "", "x", "-1", "0", "1e99", "99999999999999999999", "a=b", "1:"] {
                let names = [
                    option.get_long().map(|long| format!("--{long}")),
                    option.get_short().map(|short| format!("-{short}")),
                ];
                let names: Vec<_> = names.into_iter().flatten().collect();
                let word = names.first().map_or_else(
                    || value.to_owned(),
                    |name| match name.starts_with("--") {
                        true => format!("{name}={value}"),
                        false => format!("{name}{value}"),
                    },
                );
                let words =
                    std::iter::once("redyno").chain(name).chain(needed(command.get_name()).iter().copied());
                let args: Vec<_> = words.map(OsString::from).chain([word.into()]).collect();
                let Some(error) = refusal(&args, false) else { continue };
                refused += 1;
                assert_harmless(&format!("{args:?}"), &error);
                // A URI needs no option, and its text may contain a password. A target is written as @NAME.
                let is_server = ["uri", "nodes", "named"].contains(&option.get_id().as_str());
                let is_named = names.iter().any(|name| error.contains(name.as_str()))
                    || is_server && (error.contains("the URI ") || error.contains("no target '@"));
                // The value may be right, and the option needs another option or excludes one.
                let of_others = ["required arguments were not provided", "has no effect with --"];
                let is_of_others = of_others.iter().any(|text| error.contains(text));
                assert!(is_named || is_of_others || names.is_empty(), "{args:?}: {error}");
            }
        }
    }
    assert!(refused > 300, "{refused}");
}

/// Files whose names and texts are harm.
struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn place(&self, end: &str) -> String {
        self.folder.path().join(format!("{HARM}{end}")).to_str().unwrap().to_owned()
    }

    fn with(&self, end: &str, text: &str) -> String {
        let place = self.place(end);
        fs::write(&place, text).unwrap();
        place
    }
}

#[test]
fn names_of_files_and_words_of_scripts_are_shown_and_not_obeyed() {
    let server = Server::redis().start();
    let (files, port) = (Files::new(), server.port_text());
    let (recording, csv) = (files.place(".jsonl"), format!("csv:{}", files.place(".csv")));
    let script = files.with(".script", &format!("at 0.3s mark {HARM}\nat 1s end\n"));
    let load = ["-p", &port, "--headless", "--yes", "-c", "1", "--rate", "100", "--script", &script];
    let written = ["--record", &recording, "--export", &csv];
    let outcome = harmless(&[&load[..], &written].concat()).expect_code(0);
    assert!(
        outcome.out.contains("mark: \\x1b]0;OWNED") && outcome.out.contains("file      "),
        "{}",
        outcome.out
    );
    harmless(&[&load[..], &["--json"]].concat()).expect_code(0);
    // They are there already.
    harmless(&[&load[..], &written].concat()).expect_code(1);
    for line in [
        vec!["replay", &recording, "--headless"],
        vec!["export", &recording, "--format", "json"],
        vec!["export", &recording, "--format", "md"],
        vec!["report", &recording, "-o", &recording],
        vec!["report", &recording, "-o", &files.place(".html")],
        vec!["report", &recording, "-o", &files.place(".md")],
        vec!["replay", &recording, "--screenshot", &files.place(".txt")],
        vec!["replay", &recording, "--screenshot", &files.place(".svg"), "--screen", "log"],
        vec!["sessions", files.folder.path().to_str().unwrap()],
        vec!["sessions", files.folder.path().to_str().unwrap(), "--json"],
        vec!["compare", &recording, &recording],
    ] {
        harmless(&line);
    }
    for entry in fs::read_dir(files.folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let is_made = |path: &Path| path.extension().is_some_and(|end| end != "script");
        if is_made(&path) {
            assert_harmless("a file", &fs::read_to_string(&path).unwrap().replace('\t', " "));
        }
    }
}

#[test]
fn names_of_hosts_keys_commands_and_workloads_are_shown_and_not_obeyed() {
    let server = Server::redis().start();
    let (files, port) = (Files::new(), server.port_text());
    let step = |step: &str| format!("name = \"a\"\nsteps = ['{step}']\n");
    let named = format!("name = {0}\nabout = {0}\n", toml_text(HARM));
    let workload = files.with(".toml", &format!("{named}[[operation]]\n{}", step("PING")));
    let wrong = files.with(".wrong.toml", &format!("{named}[[operation]]\n{}", step("\"")));
    let socket = files.place(".sock");
    let (uri, out, json) = (format!("redis://{HARM}:1"), files.place(".out"), files.place(".json"));
    let command = format!("{HARM} __key__");
    let quick = ["--headless", "--yes", "--duration", "1", "-p", &port];
    let more: [&[&str]; 6] = [
        &["--workload", &workload, "-c", "1"],
        &["--workload", &wrong],
        &["--key-prefix", HARM, "--load", "-c", "1"],
        &["--dataset", &workload, "--", "SET", "a__field:x__", "y"],
        &["--user", HARM, "-a", HARM],
        &["--", HARM, "{key}"],
    ];
    more.iter().for_each(|more| drop(harmless(&[&quick[..], more].concat())));
    let latency = ["--latency", "-i", "0.1"];
    let memtier = ["memtier", "-p", &port, "-n", "5", "-c", "1", "-t", "1", "--hide-histogram"];
    let bench = ["bench", "-p", &port, "-n", "5", "-c", "1"];
    for line in [
        [&latency[..], &["-h", HARM]].concat(),
        [&latency[..], &["-s", &socket]].concat(),
        [&latency[..], &["-u", &uri]].concat(),
        vec!["--headless", "-h", HARM],
        vec!["--headless", "-s", &socket],
        vec!["clean", "-h", HARM],
        [&memtier[..], &["-o", &out]].concat(),
        [&memtier[..], &["--json-out-file", &json]].concat(),
        [&memtier[..], &["--command", &command]].concat(),
        [&memtier[..], &["--key-prefix", HARM]].concat(),
        vec!["memtier", "-s", HARM, "-n", "1", "-c", "1", "-t", "1"],
        vec!["memtier", "-S", &socket, "-n", "1", "-c", "1", "-t", "1"],
        [&bench[..], &["-t", HARM]].concat(),
        [&bench[..], &[HARM, HARM]].concat(),
        [&bench[..], &["--csv", HARM, HARM]].concat(),
        vec!["bench", "-h", HARM, "-n", "1"],
        vec!["bench", "-s", &socket, "-n", "1"],
        vec!["series", &workload],
        vec!["series", HARM],
        vec!["workloads", HARM],
        vec!["help", HARM],
        vec!["ab", HARM, HARM, "-p", &port],
        vec!["compare", HARM, HARM],
    ] {
        harmless(&line);
    }
    assert_harmless("memtier's file", &fs::read_to_string(&out).unwrap());
}

/// A text as TOML writes it.
fn toml_text(text: &str) -> String {
    let escaped: String = text.chars().map(|c| format!("\\U{:08x}", c as u32)).collect();
    format!("\"{escaped}\"")
}
