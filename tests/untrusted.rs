//! What a server or a file says is shown, and never obeyed: in every mode of the program, on every way out of it.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::{
    scripted::{Crowd, Peer},
    support::{
        program::{Outcome, redyno, run},
        sources::sources,
        terminal::Terminal,
    },
};

/// Sets a terminal's title, begins a control sequence with one character (C1), turns the direction of writing.
const HARM: &str = "\x1b]0;OWNED\x07\u{9b}31m\u{202e}txt";
/// How it is shown.
const SHOWN: &str = "\\x1b]0;OWNED\\x07\\x9b31m\\u{202e}txt";

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

fn array(parts: &[String]) -> String {
    format!("*{}\r\n{}", parts.len(), parts.concat())
}

fn info(seconds: usize) -> String {
    let fields = [
        "# Server".to_owned(),
        format!("redis_version:7{HARM}"),
        format!("server_name:r{HARM}"),
        format!("redis_mode:m{HARM}"),
        format!("run_id:a{HARM}"),
        format!("uptime_in_seconds:{seconds}"),
        "connected_clients:3".to_owned(),
        "role:master".to_owned(),
        format!("master_host:h{HARM}"),
        "master_port:1".to_owned(),
        "maxmemory:1000000".to_owned(),
        format!("maxmemory_policy:p{HARM}"),
        "used_memory:1000".to_owned(),
        format!("cmdstat_c{HARM}:calls={seconds},usec=5,usec_per_call=5,rejected_calls=0,failed_calls=0"),
    ];
    bulk(&fields.join("\r\n"))
}

/// An answer to each command, with harm wherever there is text.
fn answer(command: &str, n: usize) -> String {
    let word = |text: &str| bulk(&format!("{text}{HARM}"));
    match command.split(' ').next().unwrap_or_default() {
        "PING" => "+PONG\r\n".to_owned(),
        "CLIENT" if command.contains("LIST") => {
            bulk(&format!("id=1 addr=a{HARM} name=n{HARM} flags=N\nid=2 name=x{HARM} flags=S\n"))
        }
        "CLIENT" | "SELECT" | "HELLO" | "AUTH" => "+OK\r\n".to_owned(),
        "INFO" => info(n),
        "CLUSTER" => bulk("cluster_state:ok"),
        "DBSIZE" => ":7\r\n".to_owned(),
        "SCAN" => array(&[bulk("0"), array(&[word("key")])]),
        "SLOWLOG" => {
            let words = array(&[word("GET"), word("key")]);
            let entry = [format!(":{n}\r\n"), ":1\r\n".to_owned(), ":900000\r\n".to_owned(), words];
            array(&[array(&[&entry[..], &[word("10.0.0.1:5"), word("name")]].concat())])
        }
        "LATENCY" => array(&[array(&[word("event"), format!(":{n}\r\n"), ":5\r\n".into(), ":9\r\n".into()])]),
        "CONFIG" => {
            array(&[bulk("maxmemory"), word("1"), word("name"), word("value"), bulk("save"), word("")])
        }
        "HGETALL" => array(&[
            bulk("started"),
            word("2026"),
            bulk("host"),
            word("box"),
            bulk("keys"),
            bulk("yes"),
            bulk("config:maxmemory"),
            bulk("{\"from\":\"1\\u001b]0;OWNED\\u0007\\u009b\",\"to\":[\"2\\u202e\"]}"),
        ]),
        "GET" => format!("-OOM no {HARM}\r\n"),
        _ => format!("-ERR never {command} {HARM} {}\r\n", "x".repeat(60_000)),
    }
}

fn serve(peer: &mut Peer) {
    let mut n = 0;
    while let Some(command) = peer.command() {
        n += 1;
        peer.say(&answer(&command, n));
    }
}

/// A server that puts harm into everything it says.
fn hostile() -> (Crowd, String) {
    let crowd = Crowd::start(|peer, _| serve(peer));
    let port = crowd.target().address.to_string().rsplit(':').next().unwrap().to_owned();
    (crowd, port)
}

fn assert_harmless(what: &str, text: &str) {
    let obeyed = |c: &char| !matches!(c, '\n' | '\r') && redyno::untrusted::is_interpreted(*c);
    let found: Vec<_> = text.chars().filter(obeyed).collect();
    assert!(found.is_empty(), "{what}: {found:?} in {text:?}");
    assert!(text.lines().all(|line| line.len() < 20_000), "{what}: a line of {}", text.len());
}

fn harmless(args: &[&str]) -> Outcome {
    let outcome = run(args);
    assert_harmless(&format!("stdout of {args:?}"), &outcome.out);
    assert_harmless(&format!("stderr of {args:?}"), &outcome.err);
    outcome
}

#[test]
fn nothing_that_a_server_says_is_obeyed_by_who_reads_lines_records_or_messages() {
    let (_crowd, port) = hostile();
    let with = |args: &[&'static str]| harmless(&[&["-p", port.as_str()], args].concat());
    let ping = ["--headless", "--duration", "3", "--workload", "ping", "-c", "2", "--rate", "200"];
    let lines = with(&ping);
    assert!(lines.out.contains(SHOWN), "{}", lines.out);
    let records = with(&[&ping[..], &["--json"]].concat());
    assert!(records.out.contains(r"\\x1b]0;OWNED") && records.records().len() > 3, "{}", records.out);
    let read = with(&["--headless", "--duration", "2", "--workload", "get", "-c", "2", "--rate", "50"]);
    assert!(read.out.contains(&format!("OOM no {SHOWN}")), "{}", read.out);
    let look = with(&["--headless", "--duration", "2"]);
    assert!(look.out.contains("10.0.0.1:5"), "{}", look.out);
    // What would be written, and what is undone: refused, asked about or not understood, in words.
    with(&["--headless", "--duration", "1", "--load"]);
    with(&["--headless", "--duration", "1", "--load", "--yes"]);
    let clean = harmless(&["clean", "--yes", "-p", &port]);
    assert_ne!(clean.code(), 0, "{clean:?}");
    for mode in [&["--latency", "-i", "0.3"][..], &["--latency", "-i", "0.3", "--json"]] {
        assert_eq!(with(mode).code(), 0);
    }
}

#[test]
fn a_server_that_only_refuses_is_quoted_harmlessly() {
    for greeting in [
        "",
        "-LOADING ",
        "-DENIED ",
        "-ERR max number of clients reached ",
        "-NOAUTH ",
        "-BUSY ",
        "HTTP/1.1 ",
        "+OK ",
    ] {
        let crowd = Crowd::start(move |peer, _| {
            while peer.command().is_some() {
                peer.say(&format!("{greeting}{HARM}{}\r\n", "y".repeat(60_000)));
            }
        });
        let port = crowd.target().address.to_string().rsplit(':').next().unwrap().to_owned();
        for mode in [&["--headless"][..], &["--latency", "-i", "1"], &["-a", "pw", "--headless"]] {
            let outcome = harmless(&[&["-p", port.as_str()], mode].concat());
            let most = if mode.contains(&"--latency") { 2 } else { 1 };
            assert!(outcome.err_without_unanswered().len() <= most, "{greeting:?}: {outcome:?}");
            // The ping takes any good reply for one.
            let is_taken = greeting == "+OK " && mode.contains(&"--latency");
            assert_eq!(outcome.code(), i32::from(!is_taken), "{greeting:?}: {outcome:?}");
            assert!(outcome.err.len() < 3000, "{greeting:?}: {} bytes", outcome.err.len());
        }
        let clean = harmless(&["clean", "-p", &port]);
        assert_ne!(clean.code(), 0);
    }
}

/// The bytes that came to a terminal hold none of those that the server sent.
fn assert_unharmed(what: &str, terminal: &Terminal) {
    let bytes = terminal.bytes();
    let has = |part: &str| bytes.windows(part.len()).any(|window| window == part.as_bytes());
    assert!(has("OWNED"), "{what}: it was not even shown");
    for part in ["\x1b]0;OWNED", "\u{9b}", "\u{202e}", "\x07"] {
        assert!(!has(part), "{what}: {part:?}");
    }
}

#[test]
fn nothing_that_a_server_says_is_obeyed_by_a_terminal() {
    let (_crowd, port) = hostile();
    let args = ["-p", &port, "--workload", "get", "-c", "2", "--rate", "50"];
    let mut terminal = Terminal::start(&redyno(&args), 160, 50);
    for screen in ["1", "2", "3", "4", "5"] {
        terminal.press(screen);
        terminal.wait_for_text("OWNED");
    }
    terminal.press("q");
    terminal.wait_for("the end of the screen", |_| terminal.is_given_back().then_some(()));
    assert_unharmed("the screen", &terminal);
}

/// A recording whose every text is harm.
fn recording(folder: &Path) -> PathBuf {
    let (_crowd, port) = hostile();
    let path = folder.join("harm.jsonl");
    let file = path.to_str().unwrap();
    let load = ["--workload", "get", "-c", "2", "--rate", "200", "--record", file];
    run(&[&["-p", &port, "--headless", "--duration", "3"], &load[..]].concat());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("OWNED"), "{text}");
    assert_harmless("the recording itself", &text);
    // As a recorder without a gate, or a malicious one, would have written it.
    let harm = serde_json::to_string(HARM).unwrap();
    let text = text.replace(&SHOWN.replace('\\', "\\\\"), harm.trim_matches('"'));
    assert!(text.contains("\\u001b]0;OWNED"), "{text}");
    let event = format!(
        "{{\"kind\":\"event\",\"t_s\":1,\"name\":\"event{0}\",\"detail\":\"OWNED\\u009b{0}\"}}",
        harm.trim_matches('"')
    );
    let unknown = format!("{{\"kind\":\"x{}\"}}", harm.trim_matches('"'));
    std::fs::write(&path, format!("{text}{event}\n{unknown}\n")).unwrap();
    path
}

#[test]
fn nothing_that_a_recording_says_is_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording(folder.path());
    let file = path.to_str().unwrap();
    let replayed = harmless(&["replay", file]).expect_code(0);
    assert!(replayed.out.contains("event\\x1b]0;OWNED"), "{}", replayed.out);
    for screen in ["overview", "latency", "server", "segments", "log"] {
        for form in ["svg", "txt"] {
            let out = folder.path().join(format!("{screen}.{form}"));
            let args = ["replay", file, "--screenshot", out.to_str().unwrap(), "--screen", screen];
            harmless(&args).expect_code(0);
            let picture = std::fs::read_to_string(out).unwrap();
            assert_harmless(&format!("{screen} as {form}"), &picture);
            assert!(form != "svg" || roxmltree::Document::parse(&picture).is_ok(), "{screen}");
        }
    }
    let mut terminal = Terminal::start(&redyno(&["replay", file]), 160, 50);
    terminal.wait_for_text("OWNED");
    terminal.press("5");
    terminal.wait_for_text("event\\x1b]0;OWNED");
    terminal.press("q");
    terminal.wait_for("the end of the screen", |_| terminal.is_given_back().then_some(()));
    assert_unharmed("a replay", &terminal);
}

#[test]
fn an_argument_is_not_obeyed_either() {
    for line in
        [format!("--x{HARM}"), format!("-h={HARM}"), format!("--theme={HARM}"), format!("--ratio={HARM}")]
    {
        let outcome = harmless(&[&line]);
        assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join(HARM);
    assert_eq!(harmless(&["replay", missing.to_str().unwrap()]).code(), 1);
    let long = "x".repeat(60_000);
    assert!(harmless(&[&long]).err.len() < 5000);
}

/// Every way from bytes to text but the gate.
const WAYS: [&str; 6] = [
    "from_utf8_lossy",
    "as_str_lossy",
    "String::from_utf8(",
    "str::from_utf8(",
    "as_bytes_str",
    ".as_string()",
];

/// Where one is taken, and why it may be: folders end with a slash, all others are files.
const ALLOWED: [(&str, &str); 19] = [
    ("demo/", "the built-in server is a server"),
    ("cli/completions.rs", "our own scripts"),
    ("cli/man.rs", "our own manual"),
    ("print/outlet/testing.rs", "what a test looks at"),
    ("export/csv.rs", "cells that were text before they were quoted"),
    ("host/own_thread.rs", "a figure of this system"),
    ("host/tree.rs", "figures of this system; names of processes pass the gate before they enter a sample"),
    ("protocol/reply.rs", "the code of an error is a word of capitals"),
    ("endpoint/neighbours.rs", "figures and addresses of INFO; an address passes the gate where it is shown"),
    ("endpoint/sentinel.rs", "a port and a number in the replies of a Sentinel"),
    ("endpoint/topology.rs", "the host of a node, which passes the gate where it is shown"),
    ("endpoint/uri.rs", "a URI of the user's"),
    ("load/parcel.rs", "the port in a redirect"),
    ("probe/failover/bus.rs", "flags and a number of CLUSTER NODES"),
    ("protocol/resp_value.rs", "the digits of a number"),
    ("tui/background.rs", "a colour of the terminal, which is parsed and not shown"),
    ("workload/dataset/portion.rs", "JSON that only a server is sent"),
    ("workload/key_names.rs", "a name of our own"),
    ("workload/testing.rs", "what a test looks at"),
];

fn allowance(path: &str) -> Option<&'static str> {
    let covers = |allowed: &str| path == allowed || (allowed.ends_with('/') && path.starts_with(allowed));
    ALLOWED.iter().map(|(allowed, _)| *allowed).find(|allowed| covers(allowed))
}

/// Returns the lines of a file's code that convert bytes to text in another way. Tests are no code in this sense.
fn ways_around<'a>(path: &str, text: &'a str) -> Vec<&'a str> {
    if path.ends_with("/tests.rs") {
        return Vec::new();
    }
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    code.lines().filter(|line| WAYS.iter().any(|way| line.contains(way))).map(str::trim).collect()
}

#[test]
fn bytes_become_text_in_one_place() {
    let (mut found, mut used) = (Vec::new(), BTreeSet::new());
    for (path, place) in sources() {
        let text = std::fs::read_to_string(place).unwrap();
        let ways = ways_around(&path, &text);
        match allowance(&path) {
            Some(allowed) if !ways.is_empty() => drop(used.insert(allowed)),
            Some(_) => {}
            None => found.extend(ways.iter().map(|line| format!("{path}: {line}"))),
        }
    }
    assert!(found.is_empty(), "{found:#?}");
    let unused: Vec<_> = ALLOWED.iter().filter(|(allowed, _)| !used.contains(allowed)).collect();
    assert!(unused.is_empty(), "allowed and not used: {unused:?}");
}

/// A name is no reason: `hottest.rs` is no test, nor is what stands below the line that declares one.
#[test]
fn no_file_is_passed_over_for_its_name_or_for_a_module_of_tests_beside_it() {
    assert!(sources().contains_key("workload/hottest.rs"));
    assert_eq!(allowance("workload/hottest.rs"), None);
    let code = "#[cfg(test)]\nmod tests;\n\nfn f() {\n    String::from_utf8(b);\n}\n";
    assert_eq!(ways_around("a.rs", code), ["String::from_utf8(b);"]);
    assert!(ways_around("a.rs", "#[cfg(test)]\nmod tests {\n    String::from_utf8(b);\n}\n").is_empty());
}

#[test]
fn a_client_beyond_the_limit_is_refused() {
    let server = crate::support::Server::redis().with_args(&["--maxclients", "10"]).start();
    let port = server.port_text();
    let load = ["--load", "--yes", "--headless", "--json", "-c", "40", "--rate", "500", "--duration", "2"];
    let outcome = run(&[&["-p", &port], &load[..]].concat());
    assert!(outcome.out.contains("\"maxclients\":"), "{}", outcome.out);
    assert!(outcome.out.contains("max number of clients reached"), "{}", outcome.out);
}
