//! A trace is sent in its order, at its times, below the prefix of the run; what could harm the server is not sent.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::support::{
    Server, free_port,
    program::{Outcome, Running, run},
};
use redyno::workload::moved_keys;

/// Writes a trace of commands that follow each other after 10 ms.
fn trace(directory: &Path, commands: &[&str]) -> PathBuf {
    let mut text = "OK\n".to_owned();
    for (n, command) in commands.iter().enumerate() {
        let words: Vec<_> = command.split(' ').map(|word| format!("\"{word}\"")).collect();
        writeln!(text, "1700000000.{n:02}0000 [0 127.0.0.1:5000] {}", words.join(" ")).unwrap();
    }
    let file = directory.join("trace.log");
    fs::write(&file, text).unwrap();
    file
}

fn replayed(server: &Server, file: &Path, options: &[&str]) -> Outcome {
    let (port, file) = (server.port_text(), file.display().to_string());
    run(&[&["-p", &port, "--headless", "--yes", "--trace", &file], options].concat())
}

/// Starts MONITOR; it has begun when this returns.
fn monitor(server: &Server) -> Running {
    let mut monitor = Command::new("redis-cli");
    monitor.arg("-s").arg(server.socket()).arg("MONITOR").stdin(Stdio::null()).env_remove("REDISCLI_AUTH");
    let monitor = Running::start(monitor);
    monitor.wait_for_lines(1, "OK");
    monitor
}

const COMMANDS: [&str; 9] = [
    "SET user:1 ann",
    "GET user:1",
    "CONFIG SET maxmemory 1",
    "MSET {a}1 x {a}2 y",
    "MULTI",
    "RENAME {a}1 {a}3",
    "EVAL return 0",
    "OBJECT ENCODING user:1",
    "GET {a}3",
];
const SENT: [&str; 6] = [
    "SET P:user:1 ann",
    "GET P:user:1",
    "MSET P:{a}1 x P:{a}2 y",
    "RENAME P:{a}1 P:{a}3",
    "OBJECT ENCODING P:user:1",
    "GET P:{a}3",
];

#[test]
fn commands_are_sent_in_order_below_the_prefix_of_the_run_and_their_keys_are_removed() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let directory = tempfile::tempdir().unwrap();
        let file = trace(directory.path(), &COMMANDS);
        let monitor = monitor(&server);
        let outcome = replayed(&server, &file, &["-c", "2"]).expect_code(0);
        server.cli(&["ECHO", "end-of-the-test"]);
        monitor.wait_for_lines(1, "end-of-the-test");
        let heard = monitor.out();
        let words = |line: &str| line.split('"').skip(1).step_by(2).collect::<Vec<_>>().join(" ");
        let run = heard.lines().find_map(|line| Some(line.split_once("\"SET\" \"")?.1[..15].to_owned()));
        let run = run.expect("a SET");
        let is_of_load = |line: &&str| line.contains(&format!("{run}:")) && !line.contains("UNLINK");
        let of_load = heard.lines().filter(is_of_load);
        let sent: Vec<_> = of_load.map(|line| words(line).replace(&run, "P")).collect();
        assert_eq!(sent, SENT);
        assert!(run.starts_with("redyno:"), "{run}");
        assert_eq!(server.cli(&["DBSIZE"]), "0");
        assert_eq!(server.cli(&["CONFIG", "GET", "maxmemory"]), "maxmemory\n0");
        let not_sent = "6 commands in 80.0 ms; 3 commands not sent: CONFIG 1, EVAL 1, MULTI 1\n";
        let not_sent = not_sent.replace("CONFIG 1", "CONFIG SET 1");
        assert!(outcome.out.contains(&not_sent), "{}", outcome.out);
        assert!(outcome.out.contains("  load      6 ops in "), "{}", outcome.out);
    }
}

#[test]
fn the_times_are_those_of_the_trace_divided_by_the_speed() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let file = trace(directory.path(), &["GET a"; 40]);
    for (options, least) in [(&["--speed", "0.5"][..], 0.78), (&[], 0.39)] {
        let outcome = replayed(&server, &file, options).expect_code(0);
        let (_, rest) = outcome.out.split_once("  load      40 ops in ").expect("all of them");
        let took: f64 = rest.split(' ').next().unwrap().parse().unwrap();
        assert!(took >= least - 0.1, "{took} s with {options:?}");
    }
    assert_eq!(server.calls(&[], "get"), 80);
}

#[test]
fn a_replay_names_the_trace_and_what_of_it_was_not_sent() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let file = trace(directory.path(), &["GET a", "FLUSHALL", "GET b"]);
    let recording = directory.path().join("trace.jsonl").display().to_string();
    let live = replayed(&server, &file, &["--record", &recording]).expect_code(0);
    let again = run(&["replay", &recording, "--headless"]).expect_code(0);
    let line = |out: &str| out.lines().find(|line| line.starts_with("  trace ")).map(str::to_owned);
    let named = line(&live.out).expect("the summary names the trace");
    assert!(named.ends_with("; 1 command not sent: FLUSHALL 1"), "{named}");
    assert_eq!(line(&again.out), Some(named), "{}", again.out);
}

#[test]
fn keys_that_are_kept_are_removed_by_clean_and_names_of_a_user_are_asked_about() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let file = trace(directory.path(), &["SET some:name x", "SADD other y"]);
    replayed(&server, &file, &["--keep"]).expect_code(0);
    assert_eq!(server.cli(&["DBSIZE"]), "4", "two keys, the marker and the list of runs");
    server.cli(&["SET", "mine", "x"]);
    let port = server.port_text();
    run(&["clean", "-p", &port, "--yes"]).expect_code(0);
    assert_eq!(server.cli(&["KEYS", "*"]), "mine");
    let file = file.display().to_string();
    let asked = run(&["-p", &port, "--headless", "--trace", &file, "--own-names"]).expect_code(2);
    let question = "the load writes keys named * as in the trace, overwrites existing values";
    assert!(asked.err.contains(question), "{}", asked.err);
    assert_eq!(server.cli(&["KEYS", "*"]), "mine");
}

#[test]
fn a_file_that_is_no_trace_is_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace.log");
    let port = free_port().to_string();
    let line = |at: &str, command: &str| format!("{at} [0 127.0.0.1:5000] {command}\n");
    let set = line("1700000001.000000", "\"SET\" \"k\" \"v\"");
    for (text, what) in [
        (String::new(), "it has no commands"),
        ("OK\n# a comment\n\n".to_owned(), "it has no commands"),
        ("\0\u{1b}[2J\n".to_owned(), "line 1: it does not begin with a time"),
        (set.clone() + "SET k v\n", "line 2: it does not begin with a time"),
        (set.clone() + &line("1700000000.999999", "\"GET\" k"), "line 2: a word of its command is not"),
        (line("1700000000.000000", "\"FLUSHALL\""), "of its 1 command, none is sent: FLUSHALL 1"),
        ("x".repeat(17 << 20), "line 1: a record has more than 16 MiB"),
        (line("1700000000.000000", "\"SET\" \"k"), "line 1: the quotes of a word are not closed"),
    ] {
        fs::write(&file, text).unwrap();
        let outcome =
            run(&["-p", &port, "--headless", "--trace", &file.display().to_string()]).expect_code(2);
        let expected = format!("redyno: --trace: {}: {what}", file.display());
        assert!(outcome.err.starts_with(&expected) && outcome.err.lines().count() == 1, "{}", outcome.err);
    }
    let outcome = run(&["-p", &port, "--headless", "--trace", "/dev/zero"]).expect_code(2);
    assert!(outcome.err.ends_with("it is not a regular file\n"), "{}", outcome.err);
}

#[test]
fn requests_are_sent_at_the_times_of_a_file_until_its_end_or_the_given_limit() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let (file, port) = (directory.path().join("web.times"), server.port_text());
    fs::write(&file, "# web\n0.05\n0.05\n0.1\n\n0.2\n").unwrap();
    let times = file.display().to_string();
    let run_with =
        |options: &[&str]| run(&[&["-p", &port, "--headless", "--yes", "--times", &times], options].concat());
    for (options, sent) in [(&["--speed", "2"][..], 4), (&["-n", "10", "--workload", "get"], 10)] {
        let outcome = run_with(options).expect_code(0);
        assert!(outcome.out.contains(&format!("  load      {sent} ops in ")), "{}", outcome.out);
        assert!(outcome.out.contains("web.times: 4 times in 150 ms"), "{}", outcome.out);
    }
    let recording = directory.path().join("times.jsonl").display().to_string();
    run_with(&["--record", &recording]).expect_code(0);
    let replayed = run(&["replay", &recording, "--headless"]).expect_code(0);
    assert!(replayed.out.contains("web.times: 4 times in 150 ms"), "{}", replayed.out);
    for (options, refused) in [
        (&["--threads", "2"][..], "--threads"),
        (&["--trace", "f"], "--trace"),
        (&["--agents", "2", "--local"], "--agents cannot be used with a dataset, times or a trace"),
    ] {
        let outcome = run_with(options).expect_code(2);
        assert!(outcome.err.contains(refused), "{}", outcome.err);
    }
    fs::write(&file, "0\n0,5\n").unwrap();
    let expected = format!("redyno: --times: {times}: line 2: '0,5' is not a time in seconds");
    let outcome = run_with(&[]).expect_code(2);
    assert!(outcome.err.starts_with(&expected) && outcome.err.lines().count() == 1, "{}", outcome.err);
}

/// The categories whose commands are never sent.
const NEVER: [&str; 5] = ["admin", "dangerous", "scripting", "transaction", "pubsub"];

#[test]
fn no_command_of_a_dangerous_category_is_sent_and_keys_are_where_the_server_finds_them() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        for command in NEVER.iter().flat_map(|category| {
            let listed = server.cli(&["ACL", "CAT", category]);
            listed.lines().map(|command| command.replace('|', " ")).collect::<Vec<_>>()
        }) {
            let words = words(&format!("{command} a b c d e"));
            assert_eq!(moved_keys(&words), None, "{command}");
        }
        for command in [
            "SET k v EX 5",
            "MSET a 1 b 2",
            "MGET a b",
            "DEL a b",
            "RENAME a b",
            "COPY a b REPLACE",
            "SMOVE a b m",
            "LMOVE a b LEFT LEFT",
            "ZUNIONSTORE d 2 a b WEIGHTS 1 2",
            "ZINTER 2 a b",
            "SINTERCARD 2 a b LIMIT 1",
            "LMPOP 2 a b LEFT",
            "XREAD COUNT 1 STREAMS a b 0 0",
            "XREADGROUP GROUP g c STREAMS a b > >",
            "XGROUP CREATE s g $",
            "OBJECT ENCODING k",
            "MEMORY USAGE k",
            "BITOP AND d a b",
            "PFMERGE d a b",
            "GEORADIUS g 1 2 3 km STORE d",
            "GEOSEARCHSTORE d s FROMMEMBER m BYRADIUS 1 km",
            "ZRANGESTORE d s 0 -1",
            "LCS a b",
            "SDIFFSTORE d a b",
            "XADD s * f v",
            "XINFO STREAM s",
            "ZADD z 1 m",
            "HSET h f v",
        ] {
            let words = words(command);
            let keys = moved_keys(&words).unwrap_or_else(|| panic!("{command} is not sent"));
            let keys: Vec<_> = keys.iter().map(|place| String::from_utf8_lossy(&words[*place])).collect();
            let asked: Vec<_> = ["COMMAND", "GETKEYS"].into_iter().chain(command.split(' ')).collect();
            let mut found: Vec<_> = server.cli(&asked).lines().map(str::to_owned).collect();
            found.sort_by_key(|key| keys.iter().position(|known| known == key));
            assert_eq!(keys, found, "{command}");
        }
    }
}

fn words(command: &str) -> Vec<Vec<u8>> {
    command.split(' ').map(|word| word.as_bytes().to_vec()).collect()
}
