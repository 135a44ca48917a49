//! The marker says what a session has to undo: it is there before that is done, is kept while there is something, goes
//! when nothing is left, and `redyno clean` goes by it without believing everything.

use std::{
    process::Command,
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use crate::support::{
    Server,
    program::{Running, run},
    wait_among, wait_for,
};
use redyno::{
    clock::Clock,
    endpoint::{Address, Target},
    events::EventKind,
    knobs::MAX_KEYSPACE,
    server::{
        Control, ControlMessage, Ledger, Marker, Owner, Parameter, Restored, ServerError, TuneResult,
        TunedParameter,
    },
    workload::{KeySpan, RunId},
};

const LIMIT: Duration = Duration::from_secs(30);

fn owner(pid: u32) -> Owner {
    Owner { started: "2026-11-21T07:08:00Z".into(), host: "box".into(), pid: Some(pid) }
}

fn ledger(pid: u32) -> Ledger {
    Ledger::new(RunId::random(), owner(pid))
}

fn with_news(server: &Server) -> (Control, Receiver<ControlMessage>) {
    let address = Address::Tcp { host: "127.0.0.1".into(), port: server.port() };
    let target = Target { address, ..Target::default() };
    let (news, messages) = channel();
    (Control::start(target, Clock::start(), Duration::from_millis(100), news).unwrap(), messages)
}

fn control(server: &Server) -> Control {
    with_news(server).0
}

fn value(server: &Server, name: &str) -> String {
    server.cli(&["CONFIG", "GET", name]).lines().nth(1).unwrap_or_default().to_owned()
}

/// The markers as they stand on the server, whoever is connected.
fn markers(control: &Control) -> Vec<Marker> {
    control.survey().wait(LIMIT).unwrap().unwrap().runs
}

fn set(control: &Control, name: &str, value: &str, ledger: &Ledger) -> Result<TuneResult, ServerError> {
    let parameter = Parameter::named(name).unwrap();
    control.set_config(parameter, value.to_owned(), ledger).wait(LIMIT).unwrap()
}

fn restore(control: &Control, name: &str, ledger: &Ledger) -> Restored {
    let tuned = ledger.marker().tuned.into_iter().find(|tuned| tuned.name == name).expect("it was set");
    control.restore_config(tuned, ledger).wait(LIMIT).unwrap().unwrap()
}

fn tuned(name: &str, from: &str, to: &str) -> TunedParameter {
    TunedParameter { name: name.to_owned(), from: from.to_owned(), to: vec![to.to_owned()] }
}

fn values() -> KeySpan {
    KeySpan::from_iter([(String::new(), 0..100)])
}

#[test]
fn what_is_set_stands_in_the_marker_in_the_servers_words_and_goes_with_it() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let (control, ledger) = (control(&server), ledger(1));
        set(&control, "maxmemory", "100mb", &ledger).unwrap();
        let run = ledger.marker().run;
        let expected =
            Marker { tuned: vec![tuned("maxmemory", "0", "104857600")], ..Marker::new(run, owner(1)) };
        assert_eq!(markers(&control), [expected]);
        // Again, and another.
        set(&control, "maxmemory", "200mb", &ledger).unwrap();
        set(&control, "hz", "50", &ledger).unwrap();
        assert_eq!(
            markers(&control)[0].tuned,
            [tuned("hz", "10", "50"), tuned("maxmemory", "0", "209715200")]
        );
        for name in ["hz", "maxmemory"] {
            assert_eq!(server.cli(&["EXISTS", &format!("redyno:{run}"), "redyno:runs"]), "2");
            assert_eq!(restore(&control, name, &ledger), Restored::Restored);
        }
        assert_eq!((server.cli(&["DBSIZE"]), value(&server, "maxmemory")), ("0".into(), "0".into()));
    }
}

#[test]
fn a_marker_of_many_sets_of_keys_is_read_as_it_was_written() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let (control, ledger) = (control(&server), ledger(1));
        let prefix = |n: u64| (format!("{}{n:02}\"\u{e9}", "p".repeat(120)), n..MAX_KEYSPACE);
        ledger.add_keys((0..64).map(prefix).collect(), false);
        control.mark(&ledger).wait(LIMIT).unwrap().unwrap();
        assert_eq!(markers(&control), [ledger.marker()]);
    }
}

#[test]
fn a_parameter_that_the_server_refuses_leaves_no_note() {
    let server = Server::redis().start();
    let (control, ledger) = (control(&server), ledger(1));
    // It cannot be set while a Redis runs.
    assert!(set(&control, "io-threads", "2", &ledger).unwrap_err().is_refused());
    assert_eq!((markers(&control), ledger.marker().tuned), (vec![], vec![]));
    set(&control, "hz", "50", &ledger).unwrap();
    assert!(set(&control, "io-threads", "2", &ledger).unwrap_err().is_refused());
    assert_eq!(markers(&control)[0].tuned, [tuned("hz", "10", "50")]);
}

#[test]
fn what_another_session_set_is_not_touched() {
    let server = Server::redis().start();
    let (control, first, second) = (control(&server), ledger(1), ledger(2));
    set(&control, "hz", "50", &first).unwrap();
    let refused = set(&control, "hz", "100", &second).unwrap_err();
    assert_eq!(refused, ServerError::Taken { name: "hz".into(), by: owner(1).to_string() });
    assert!(refused.is_refused());
    assert_eq!(value(&server, "hz"), "50");
    // Another parameter is free; each session has its own marker.
    set(&control, "maxmemory", "64mb", &second).unwrap();
    let mut found: Vec<_> = markers(&control).into_iter().map(|m| (m.owner.pid, m.tuned.len())).collect();
    found.sort_unstable();
    assert_eq!(found, [(Some(1), 1), (Some(2), 1)]);
}

#[test]
fn a_server_that_takes_no_keys_is_tuned_without_a_marker_and_that_is_reported() {
    let server = Server::redis().with_args(&["--maxmemory", "1"]).start();
    let ((control, messages), ledger) = (with_news(&server), ledger(1));
    let turned = set(&control, "hz", "50", &ledger).unwrap();
    assert!(
        matches!(&turned.unmarked, Some(ServerError::Refused { message, .. }) if message.contains("OOM"))
    );
    assert_eq!((value(&server, "hz"), markers(&control)), ("50".into(), vec![]));
    wait_among(&messages, "the event", |message| match message {
        ControlMessage::Event { what: EventKind::MarkerRefused { .. }, .. } => Some(()),
        _ => None,
    });
    // As soon as it can be set it is.
    server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    wait_for("the marker", || (markers(&control).len() == 1).then_some(()));
    assert_eq!(restore(&control, "hz", &ledger), Restored::Restored);
    assert_eq!((value(&server, "hz"), server.cli(&["DBSIZE"])), ("10".into(), "0".into()));
}

#[test]
fn a_limit_below_what_is_used_is_set_noted_and_set_back() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let (control, ledger) = (control(&server), ledger(1));
        let turned = set(&control, "maxmemory", "100kb", &ledger).unwrap();
        assert_eq!((turned.change.to.as_str(), turned.unmarked), ("102400", None), "it was noted before");
        assert_eq!(ledger.marker().tuned, [tuned("maxmemory", "0", "102400")]);
        assert_eq!(markers(&control).len(), 1);
        assert_eq!(restore(&control, "maxmemory", &ledger), Restored::Restored);
        assert_eq!((value(&server, "maxmemory"), server.cli(&["DBSIZE"])), ("0".into(), "0".into()));
    }
}

#[test]
fn a_marker_that_is_lost_is_set_again_while_there_is_something_to_undo() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let ((control, messages), ledger) = (with_news(&server), ledger(1));
        ledger.add_keys(values(), false);
        control.mark(&ledger).wait(LIMIT).unwrap().unwrap();
        set(&control, "hz", "50", &ledger).unwrap();
        let marker = Marker { tuned: vec![tuned("hz", "10", "50")], ..ledger.marker() };
        server.cli(&["CONFIG", "RESETSTAT"]);
        let key = format!("redyno:{}", marker.run);
        for loss in [&["FLUSHALL"][..], &["DEL", &key], &["DEL", "redyno:runs"], &["PEXPIRE", &key, "1"]] {
            server.cli(loss);
            wait_among(&messages, "the event", |message| match message {
                ControlMessage::Event { what: EventKind::MarkerRenewed { .. }, .. } => Some(()),
                _ => None,
            });
            assert_eq!(markers(&control), std::slice::from_ref(&marker), "{loss:?}");
        }
        assert_eq!((server.calls(&[], "get"), server.calls(&[], "set")), (0, 0));
        // Not once there is nothing any more.
        restore(&control, "hz", &ledger);
        control.forget_key_names(vec![ledger]).wait(LIMIT).unwrap().unwrap();
        let polls = server.calls(&[], "slowlog|get");
        wait_for("two more polls", || (server.calls(&[], "slowlog|get") > polls + 2).then_some(()));
        assert_eq!(server.cli(&["DBSIZE"]), "0");
    }
}

#[test]
fn a_marker_that_is_being_set_is_not_reported_as_lost() {
    let server = Server::redis().start();
    let (control, messages) = with_news(&server);
    for n in 0..50 {
        let ledger = ledger(n);
        ledger.add_keys(values(), false);
        // The look at the marker comes while it is written.
        let (marked, polled) = (control.mark(&ledger), control.poll());
        marked.wait(LIMIT).unwrap().unwrap();
        polled.wait(LIMIT).unwrap().unwrap();
        control.poll().wait(LIMIT).unwrap().unwrap();
    }
    let lost = |message: &ControlMessage| {
        matches!(message, ControlMessage::Event { what: EventKind::MarkerRenewed { .. }, .. })
    };
    assert_eq!(messages.try_iter().filter(lost).count(), 0);
}

#[test]
fn the_keys_of_a_session_go_and_what_could_not_be_set_back_stays_in_the_marker() {
    let server = Server::redis().start();
    let (control, ledger) = (control(&server), ledger(1));
    ledger.add_keys(values(), false);
    control.mark(&ledger).wait(LIMIT).unwrap().unwrap();
    set(&control, "hz", "50", &ledger).unwrap();
    let run = ledger.marker().run;
    server.cli(&["SET", &format!("redyno:{run}:000000000001"), "1"]);
    let cleaned = control.clean(vec![ledger.marker()]).wait(LIMIT).unwrap().unwrap();
    control.forget_key_names(vec![ledger]).wait(LIMIT).unwrap().unwrap();
    assert_eq!((cleaned.removed, cleaned.complete), (1, true));
    let left = Marker { tuned: vec![tuned("hz", "10", "50")], ..Marker::new(run, owner(1)) };
    assert_eq!(markers(&control), [left]);
}

const KEY: &str = "redyno:4g7k2m9q";

/// A marker as somebody wrote it.
fn forge(server: &Server, fields: &[&str]) {
    server.cli(&["SADD", "redyno:runs", "4g7k2m9q"]);
    server.cli(&[&["HSET", KEY, "keys", "[]"], fields].concat());
}

#[test]
fn clean_asks_before_it_sets_anything_and_shows_no_control_characters() {
    let server = Server::redis().start();
    let port = server.port_text();
    forge(
        &server,
        &["host", "\x1b]0;gotcha\x07", "started", "\x1b[2J", "config:hz", r#"{"from":"500","to":["10"]}"#],
    );
    let refused = run(&["clean", "-p", &port]).expect_code(2);
    assert!(refused.err.contains("hz would be restored from 10 to 500"), "{}", refused.err);
    assert!(refused.err.contains("Give --yes"), "{}", refused.err);
    assert!(![refused.out, refused.err].concat().contains(['\x1b', '\x07']));
    assert_eq!((value(&server, "hz"), server.cli(&["EXISTS", KEY])), ("10".into(), "1".into()));
    run(&["clean", "-p", &port, "--yes"]).expect_code(0);
    assert_eq!((value(&server, "hz"), server.cli(&["DBSIZE"])), ("500".into(), "0".into()));
}

#[test]
fn clean_sets_back_what_may_have_been_set_and_nothing_implausible() {
    let server = Server::valkey().start();
    let (port, directory) = (server.port_text(), value(&server, "dir"));
    // Killed between two CONFIG SETs: either value may hold.
    server.cli(&["CONFIG", "SET", "hz", "20"]);
    let dir = format!(r#"{{"from":"/","to":["{directory}"]}}"#);
    forge(
        &server,
        &[
            "config:hz",
            r#"{"from":"10","to":["20","50"]}"#,
            "config:dir",
            &dir,
            "config:maxmemory",
            r#"{"from":"1","to":["0"]}"#,
        ],
    );
    let note = r#"{"from":"1","to":["0"]}"#;
    for _ in 0..2 {
        let cleaned = run(&["clean", "-p", &port, "--yes"]).expect_code(1);
        let reported =
            format!("redyno did not write this note about maxmemory and does not delete it: {note}");
        assert!(
            cleaned.err.contains(&reported) && cleaned.err.contains("config:maxmemory"),
            "{}",
            cleaned.err
        );
        let now = ["hz", "dir", "maxmemory"].map(|name| value(&server, name));
        assert_eq!(now, ["10".to_owned(), directory.clone(), "0".to_owned()]);
        assert_eq!(server.cli(&["SISMEMBER", "redyno:runs", "4g7k2m9q"]), "1");
        assert_eq!(server.cli(&["HGET", "redyno:4g7k2m9q", "config:maxmemory"]), note);
        assert_eq!(server.cli(&["HEXISTS", "redyno:4g7k2m9q", "config:hz"]), "0");
    }
    server.cli(&["HDEL", "redyno:4g7k2m9q", "config:maxmemory"]);
    run(&["clean", "-p", &port, "--yes"]).expect_code(0);
    assert_eq!(server.cli(&["SISMEMBER", "redyno:runs", "4g7k2m9q"]), "0");
}

#[test]
fn clean_does_not_set_back_under_a_session_that_is_connected_without_yes() {
    let server = Server::redis().start();
    let port = server.port_text();
    let at_work = control(&server);
    set(&at_work, "hz", "50", &ledger(1)).unwrap();
    let refused = run(&["clean", "-p", &port]).expect_code(1);
    assert!(
        refused.err.contains("may be the one that set hz; stop it first, or give --yes"),
        "{}",
        refused.err
    );
    assert_eq!(value(&server, "hz"), "50");
    // Nor is it reported to the next as left behind.
    assert_eq!(run(&["-p", &port, "--headless", "--duration", "0.5"]).expect_code(0).err, "");
    drop(at_work);
    run(&["clean", "-p", &port, "--yes"]).expect_code(0);
    assert_eq!((value(&server, "hz"), server.cli(&["DBSIZE"])), ("10".into(), "0".into()));
}

#[test]
fn clean_says_by_hand_how_to_set_back_what_the_server_refuses_and_keeps_the_marker() {
    let server = Server::redis().start();
    let port = server.port_text();
    // Redis takes 128 threads at the most, and none once it has started.
    let keys = r#"[{"prefix":"","first":0,"count":10}]"#;
    forge(&server, &["keys", keys, "config:io-threads", r#"{"from":"200","to":["1"]}"#]);
    let outcome = run(&["clean", "-p", &port, "--yes"]).expect_code(1);
    assert!(
        outcome.err.contains(&format!("redis-cli -h 127.0.0.1 -p {port} CONFIG SET io-threads 200")),
        "{}",
        outcome.err
    );
    assert_eq!(server.cli(&["HGET", KEY, "keys"]), "[]", "the keys are gone, the parameter is not");
}

/// A session with load whose engine cannot start: it fits into the limit of open files, and 70 files that it inherits
/// leave too few for 20 workers.
fn without_files(port: &str) -> Running {
    let script = "ulimit -n 125; for n in $(seq 10 79); do eval \"exec $n</dev/null\"; done; exec \"$@\"";
    let mut command = Command::new("bash");
    command.args(["-c", script, "-", env!("CARGO_BIN_EXE_redyno"), "-p", port]);
    command.args(["--headless", "--load", "--yes", "-c", "1", "--threads", "20"]);
    Running::start(command)
}

#[test]
fn an_engine_that_cannot_start_leaves_neither_marker_nor_keys() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let failed = without_files(&server.port().to_string()).end().expect_code(1);
        assert!(failed.err.contains("a worker cannot start"), "{}", failed.err);
        assert!(server.cli(&["INFO", "commandstats"]).contains("cmdstat_hset:calls=1"), "the marker was set");
        assert_eq!(server.cli(&["DBSIZE"]), "0");
    }
}
