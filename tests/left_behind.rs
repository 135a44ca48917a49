//! What a session changed on a server comes back whatever ends it, from every database, or the exit code says that it did not.

use std::{collections::BTreeMap, sync::mpsc::channel, time::Duration};

use crate::support::{
    Server,
    program::{Outcome, Running, redyno, run},
    wait_for,
};
use redyno::{
    clock::Clock,
    endpoint::{Address, Target},
    server::{Control, Ledger, Owner, Parameter, ServerError, TuneResult},
    workload::RunId,
};
use rustix::process::Signal;

const LIMIT: Duration = Duration::from_secs(30);

fn control(server: &Server, db: u32) -> Control {
    let address = Address::Tcp { host: "127.0.0.1".into(), port: server.port() };
    let (news, _) = channel();
    Control::start(
        Target { address, db, ..Target::default() },
        Clock::start(),
        Duration::from_millis(100),
        news,
    )
    .unwrap()
}

fn ledger(pid: u32) -> Ledger {
    Ledger::new(RunId::random(), owner(pid))
}

fn owner(pid: u32) -> Owner {
    Owner { started: "2026-11-21T07:08:00Z".into(), host: "box".into(), pid: Some(pid) }
}

fn set(control: &Control, name: &str, value: &str, ledger: &Ledger) -> Result<TuneResult, ServerError> {
    let parameter = Parameter::named(name).unwrap();
    control.set_config(parameter, value.to_owned(), ledger).wait(LIMIT).unwrap()
}

fn value(server: &Server, name: &str) -> String {
    server.cli(&["CONFIG", "GET", name]).lines().nth(1).unwrap_or_default().to_owned()
}

/// All parameters, whose order changes from one answer to the next.
fn config(server: &Server) -> BTreeMap<String, String> {
    let text = server.cli(&["CONFIG", "GET", "*"]) + "\n";
    let lines: Vec<_> = text.lines().collect();
    let pair = |pair: &[&str]| (pair[0].to_owned(), pair.get(1).copied().unwrap_or_default().to_owned());
    lines.chunks(2).map(pair).collect()
}

/// Its control connection is closed, as after a kill: nothing is set back.
fn killed(control: Control, server: &Server) {
    drop(control);
    let list = || server.cli(&["CLIENT", "LIST"]);
    wait_for("its connection to be gone", || (!list().contains("redyno-control")).then_some(()));
}

fn clean(server: &Server) -> Outcome {
    run(&["clean", "-p", &server.port_text(), "--yes"])
}

/// Each parameter that can be turned, and values at both ends of what it takes, and beyond.
const EXTREMES: [(&str, [&str; 2]); 12] = [
    ("maxmemory", ["1", "512kb"]),
    ("maxmemory", ["0", "1125899906842624"]),
    ("maxmemory-policy", ["allkeys-random", "volatile-ttl"]),
    ("save", ["", "1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8 9 9 10 2147483647"]),
    ("appendonly", ["YES", "no"]),
    ("appendfsync", ["always", "no"]),
    ("hz", ["1", "500"]),
    ("hz", ["0", "501"]),
    ("latency-monitor-threshold", ["0", "9223372036854775807"]),
    ("slowlog-log-slower-than", ["-1", "9223372036854775807"]),
    ("io-threads", ["2", "256"]),
    ("activedefrag", ["no", "yes"]),
];

#[test]
fn after_a_kill_with_any_value_in_any_database_clean_brings_back_what_was() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let before = config(&server);
        let values = EXTREMES.into_iter().flat_map(|(name, values)| values.map(|value| (name, value)));
        let mut set_at_all = 0;
        for (n, (name, value)) in values.enumerate() {
            let (control, ledger) = (control(&server, n as u32 % 16), ledger(7));
            let outcome = set(&control, name, value, &ledger);
            assert!(
                outcome.as_ref().err().is_none_or(ServerError::is_refused),
                "{name} {value}: {outcome:?}"
            );
            set_at_all += u32::from(outcome.is_ok());
            killed(control, &server);
            let cleaned = clean(&server).expect_code(0);
            assert_eq!(config(&server), before, "{name} {value}: {}", cleaned.out);
            assert_eq!(server.cli(&["INFO", "keyspace"]), "# Keyspace", "{name} {value}");
        }
        assert!(set_at_all >= 15, "{set_at_all} were set");
    }
}

#[test]
fn a_users_own_value_comes_back_or_the_parameter_is_not_set() {
    let server = Server::redis().start();
    server.cli(&["CONFIG", "SET", "slowlog-log-slower-than", "4000000000"]);
    let (control, ledger) = (control(&server, 0), ledger(7));
    set(&control, "slowlog-log-slower-than", "5", &ledger).unwrap();
    server.cli(&["CONFIG", "SET", "maxmemory", "524288"]);
    let refused = set(&control, "maxmemory", "64mb", &ledger).unwrap_err();
    assert!(refused.to_string().contains("the present value is 524288"), "{refused}");
    let refused = set(&control, "hz", "501", &ledger).unwrap_err();
    assert_eq!(refused.to_string(), "hz: the allowed values are 1 to 500, not 501");
    killed(control, &server);
    clean(&server).expect_code(0);
    assert_eq!(
        ["slowlog-log-slower-than", "maxmemory", "hz"].map(|name| value(&server, name)),
        ["4000000000", "524288", "10"]
    );
}

#[test]
fn a_parameter_is_set_by_one_session_at_a_time_whatever_their_databases() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        for (first_db, second_db) in [(0, 5), (5, 0), (3, 4)] {
            let (first, second) = (ledger(1), ledger(2));
            let controls = [control(&server, first_db), control(&server, second_db)];
            set(&controls[0], "hz", "20", &first).unwrap();
            let refused = set(&controls[1], "hz", "50", &second).unwrap_err();
            assert_eq!(refused, ServerError::Taken { name: "hz".into(), by: owner(1).to_string() });
            assert_eq!((value(&server, "hz"), second.marker().needs_undo()), ("20".to_owned(), false));
            set(&controls[1], "slowlog-log-slower-than", "5", &second).unwrap();
            for (control, ledger) in controls.iter().zip([&first, &second]) {
                let tuned = ledger.marker().tuned.remove(0);
                control.restore_config(tuned, ledger).wait(LIMIT).unwrap().unwrap();
            }
            let now = ["hz", "slowlog-log-slower-than"].map(|name| value(&server, name));
            assert_eq!(now, ["10", "10000"], "{first_db} and {second_db}");
            assert_eq!(server.cli(&["INFO", "keyspace"]), "# Keyspace");
        }
    }
}

/// A script that sets `hz` at once.
fn script(folder: &tempfile::TempDir) -> String {
    let file = folder.path().join("turns.script");
    std::fs::write(&file, "at 0s config hz 50\n").unwrap();
    file.display().to_string()
}

#[test]
fn what_a_killed_session_set_is_found_and_set_back_from_every_database() {
    let folder = tempfile::tempdir().unwrap();
    let script = script(&folder);
    for (server, db) in [(Server::redis().start(), "5"), (Server::valkey().start(), "15")] {
        let port = server.port_text();
        let usual = [
            "-p",
            &port,
            "--db",
            db,
            "--headless",
            "--rate",
            "500",
            "-r",
            "50",
            "-c",
            "2",
            "--script",
            &script,
            "--yes",
            "--duration",
            "60",
        ];
        let running = Running::start(redyno(&usual));
        wait_for("hz to be set", || (value(&server, "hz") == "50").then_some(()));
        let keys = || server.cli(&["-n", db, "DBSIZE"]).parse::<u64>().unwrap();
        wait_for("its keys", || (keys() > 20).then_some(()));
        running.signal(Signal::KILL);
        running.end();
        let list = || server.cli(&["CLIENT", "LIST"]);
        wait_for("its connections to be gone", || (!list().contains("redyno-")).then_some(()));
        let command = format!("`redyno clean -h 127.0.0.1 -p {port} --db {db}`");
        let shown = run(&["-p", &port, "--headless", "--duration", "0.5"]).expect_code(0).err;
        assert!(shown.contains(&format!("left its keys in db {db} and set hz to 50")), "{shown}");
        assert!(shown.contains(&format!("{command} removes the keys and sets that back")), "{shown}");
        let cleaned = clean(&server).expect_code(0);
        assert!(cleaned.out.contains(&format!("db {db}: hz is restored to 10")), "{}", cleaned.out);
        assert!(
            cleaned.out.contains(&format!("the run's keys are kept; {command} removes them")),
            "{}",
            cleaned.out
        );
        assert_eq!(value(&server, "hz"), "10");
        assert!(keys() > 20, "they are another database's");
        run(&["clean", "-p", &port, "--db", db]).expect_code(0);
        assert_eq!(keys(), 0);
    }
}

/// Runs a load for two seconds and changes the server meanwhile; how it ended.
fn changed(server: &Server, more: &[&str], change: impl FnOnce()) -> Outcome {
    let port = server.port_text();
    let usual = ["-p", &port, "--headless", "--json", "--rate", "500", "-r", "50", "-c", "2", "--keep-going"];
    let running = Running::start(redyno(&[&usual[..], more].concat()));
    running.wait_for_lines(1, r#""kind":"interval""#);
    change();
    running.end()
}

const TWO_SECONDS: [&str; 2] = ["--duration", "2.5"];

#[test]
fn keys_that_stay_behind_are_an_error() {
    let shown = |outcome: Outcome| {
        let outcome = outcome.expect_code(1);
        assert!(outcome.err.contains("redyno's keys may be left on the server"), "{}", outcome.err);
        assert!(outcome.err.contains("not undone; see above"), "{}", outcome.err);
    };
    let server =
        Server::redis().with_args(&["--rename-command", "UNLINK", "", "--rename-command", "DEL", ""]).start();
    shown(changed(&server, &TWO_SECONDS, || ()));
    let server = Server::redis().start();
    shown(changed(&server, &TWO_SECONDS, || {
        drop(server.cli(&["ACL", "SETUSER", "default", "-unlink", "-del"]));
    }));
    let server = Server::valkey().start();
    shown(changed(&server, &TWO_SECONDS, || drop(server.cli(&["CLIENT", "PAUSE", "30000", "WRITE"]))));
    let server = Server::redis().start();
    shown(changed(&server, &TWO_SECONDS, || drop(server.cli(&["REPLICAOF", "127.0.0.1", "1"]))));
    let server = Server::redis().start();
    shown(changed(&server, &TWO_SECONDS, || server.pause()));
    server.resume();
}

#[test]
fn the_result_of_a_session_whose_server_died_is_named_beside_what_stays_behind() {
    for (args, result) in [
        (&["ab", "--to", "clients 3", "--part", "0.25", "--json"][..], "no request succeeded on one side"),
        (&["--headless", "--json", "--sweep", "clients 2,3"], "no request succeeded at clients"),
        (&["--headless", "--json", "--fail-if", "errors > 0", "--duration", "6"], "errors > 0: errors "),
    ] {
        let server = Server::redis().start();
        let port = server.port_text();
        let usual = ["-p", &port, "--yes", "--rate", "500", "-c", "2"];
        let running = Running::start(redyno(&[args, &usual].concat()));
        wait_for("the load", || (server.calls(&[], "set") > 100).then_some(()));
        drop(server);
        let outcome = running.end_of_writing().expect_code(1);
        let last = outcome.err.lines().last().unwrap_or_default();
        assert!(
            last.contains(result)
                && last.ends_with("; some changes to the server were not undone; see above"),
            "{}",
            outcome.err
        );
    }
}

#[test]
fn who_may_not_unlink_may_still_delete() {
    let server = Server::redis().start();
    let outcome =
        changed(&server, &TWO_SECONDS, || drop(server.cli(&["ACL", "SETUSER", "default", "-unlink"])));
    assert!(outcome.expect_code(0).err.contains("removed "), "its keys are gone");
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}

#[test]
fn a_parameter_that_stays_behind_is_an_error_and_after_an_interrupt_it_is_reported_too() {
    let folder = tempfile::tempdir().unwrap();
    let script = script(&folder);
    for (signal, code) in [(None, 1), (Some(Signal::INT), 130)] {
        let server = Server::redis().start();
        let port = server.port_text();
        let usual = [
            "-p",
            &port,
            "--headless",
            "--json",
            "--script",
            &script,
            "--yes",
            "--workload",
            "ping",
            "--rate",
            "500",
            "--duration",
            "4",
        ];
        let running = Running::start(redyno(&usual));
        wait_for("hz to be set", || (value(&server, "hz") == "50").then_some(()));
        server.cli(&["ACL", "SETUSER", "default", "-config|set"]);
        if let Some(signal) = signal {
            running.signal(signal);
        }
        let outcome = running.end().expect_code(code);
        assert!(outcome.err.contains("hz could not be restored"), "{}", outcome.err);
        assert!(
            outcome.err.contains(&format!("redis-cli -h 127.0.0.1 -p {port} CONFIG SET hz 10")),
            "{}",
            outcome.err
        );
    }
}

#[test]
fn a_load_whose_keys_the_user_may_not_remove_does_not_begin() {
    let server = Server::redis().start();
    let load = ["-p", &server.port_text(), "--load", "--yes", "--headless", "--duration", "1"];
    for missing in ["unlink -del", "srem", "hdel", "exists", "sismember"] {
        let rules = format!("ACL SETUSER default +@all -{missing}");
        server.cli(&rules.split(' ').collect::<Vec<_>>());
        let refused = run(&load).expect_code(1).err;
        let command = missing.trim_start_matches("unlink -");
        assert!(refused.contains(&format!("ACL SETUSER default +{command} ")), "{missing}: {refused}");
        assert_eq!(server.cli(&["DBSIZE"]), "0", "{missing}");
    }
    // The advice names all permissions that are missing.
    server.cli(&["ACL", "SETUSER", "default", "-@all", "+ping", "+acl", "+get", "+set"]);
    let refused = run(&load).expect_code(1).err;
    let advice = refused.trim_end().split_once("ACL SETUSER").unwrap().1;
    server.cli(&[&["ACL", "SETUSER"], &advice.split_whitespace().collect::<Vec<_>>()[..]].concat());
    run(&load).expect_code(0);
    server.cli(&["ACL", "SETUSER", "default", "+@all", "-unlink"]);
    run(&load).expect_code(0);
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}

#[test]
fn markers_whose_counts_add_up_beyond_64_bits_are_cleaned_up_by_a_scan() {
    let server = Server::redis().start();
    let keys =
        |count: u64| format!(r#"[{{"prefix":"a","first":0,"count":{count},"digits":0,"open":false}}]"#);
    for (run, count) in [("4g7k2m9q", u64::MAX), ("5g7k2m9q", 2)] {
        server.cli(&["SADD", "redyno:runs", run]);
        server.cli(&["HSET", &format!("redyno:{run}"), "keys", &keys(count), "kept", "no"]);
        server.cli(&["SET", &format!("redyno:{run}:a1"), "own"]);
        server.cli(&["SET", &format!("redyno:{run}:b1"), "somebody's"]);
    }
    let cleaned = run(&["clean", "-p", &server.port_text()]).expect_code(0);
    assert!(cleaned.out.contains("removed 2 keys in "), "{}", cleaned.out);
    assert!(server.calls(&[], "scan") > 0);
    assert_eq!(server.cli(&["DBSIZE"]), "2");
}
