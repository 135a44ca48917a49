//! The marker says what a session has to undo: it is there before that is done and goes when nothing is left, and
//! `redyno clean` goes by it without believing everything.

use std::{process::Command, sync::mpsc::channel, time::Duration};

use crate::support::{
    Server,
    program::{Running, run},
};
use redyno::{
    clock::Clock,
    server::{Control, Marker, Owner, Parameter, Restored, ServerError, Tuned, Turned},
    target::{Address, Target},
};

const LIMIT: Duration = Duration::from_secs(30);
const KEY: &str = "redyno:session";

fn owner(pid: u32) -> Owner {
    Owner { started: "2026-11-21T07:08:00Z".into(), host: "box".into(), pid: Some(pid) }
}

fn control(server: &Server) -> Control {
    let address = Address::Tcp { host: "127.0.0.1".into(), port: server.port() };
    let target = Target { address, ..Target::default() };
    Control::start(target, Clock::start(), Duration::from_secs(1), channel().0).unwrap()
}

fn value(server: &Server, name: &str) -> String {
    server.cli(&["CONFIG", "GET", name]).lines().nth(1).unwrap_or_default().to_owned()
}

/// The marker as it stands on the server, whoever is connected.
fn marker(control: &Control) -> Option<Marker> {
    control.survey().wait(LIMIT).unwrap().unwrap().leftover
}

fn set(
    control: &Control,
    name: &str,
    value: &str,
    known: Option<&Tuned>,
    owner: Owner,
) -> Result<Turned, ServerError> {
    let parameter = Parameter::named(name).unwrap();
    control.set_config(parameter, value.to_owned(), known.cloned(), Some(owner)).wait(LIMIT).unwrap()
}

fn tuned(name: &str, from: &str, to: &str) -> Tuned {
    Tuned { name: name.to_owned(), from: from.to_owned(), to: vec![to.to_owned()] }
}

#[test]
fn what_is_set_stands_in_the_marker_in_the_servers_words_and_goes_with_it() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let control = control(&server);
        set(&control, "maxmemory", "100mb", None, owner(1)).unwrap();
        let maxmemory = tuned("maxmemory", "0", "104857600");
        let expected = Marker { owner: owner(1), keys: false, tuned: vec![maxmemory.clone()] };
        assert_eq!(marker(&control), Some(expected));
        // Again, and another.
        set(&control, "maxmemory", "200mb", Some(&maxmemory), owner(1)).unwrap();
        set(&control, "hz", "50", None, owner(1)).unwrap();
        let (hz, maxmemory) = (tuned("hz", "10", "50"), tuned("maxmemory", "0", "209715200"));
        assert_eq!(marker(&control).unwrap().tuned, [hz.clone(), maxmemory.clone()]);
        for tuned in [hz, maxmemory] {
            assert_eq!(server.cli(&["EXISTS", KEY]), "1");
            assert_eq!(control.restore_config(tuned).wait(LIMIT), Some(Ok(Restored::Restored)));
        }
        assert_eq!((server.cli(&["EXISTS", KEY]), value(&server, "maxmemory")), ("0".into(), "0".into()));
    }
}

#[test]
fn a_parameter_that_the_server_refuses_leaves_no_note() {
    let server = Server::redis().start();
    let control = control(&server);
    assert!(set(&control, "hz", "many", None, owner(1)).unwrap_err().is_refused());
    assert_eq!(marker(&control), None);
    set(&control, "hz", "50", None, owner(1)).unwrap();
    let known = tuned("hz", "10", "50");
    assert!(set(&control, "hz", "many", Some(&known), owner(1)).unwrap_err().is_refused());
    assert_eq!(marker(&control).unwrap().tuned, [known]);
}

#[test]
fn what_another_session_set_is_not_touched() {
    let server = Server::redis().start();
    let control = control(&server);
    set(&control, "hz", "50", None, owner(1)).unwrap();
    let refused = set(&control, "hz", "100", None, owner(2)).unwrap_err();
    assert_eq!(refused, ServerError::Taken { name: "hz".into(), by: owner(1) });
    assert!(refused.is_refused());
    assert_eq!(value(&server, "hz"), "50");
    // Another parameter is free; the marker keeps its owner.
    set(&control, "maxmemory", "64mb", None, owner(2)).unwrap();
    let both = marker(&control).unwrap();
    assert_eq!((both.owner, both.tuned.len()), (owner(1), 2));
}

#[test]
fn a_server_that_takes_no_keys_is_tuned_without_a_marker_and_that_is_told() {
    let server = Server::redis().with_args(&["--maxmemory", "1"]).start();
    let control = control(&server);
    let turned = set(&control, "maxmemory", "0", None, owner(1)).unwrap();
    assert!(
        matches!(&turned.unmarked, Some(ServerError::Refused { message, .. }) if message.contains("OOM"))
    );
    assert_eq!((value(&server, "maxmemory"), marker(&control)), ("0".into(), None));
    let restored = control.restore_config(tuned("maxmemory", "1", "0")).wait(LIMIT);
    assert_eq!((restored, value(&server, "maxmemory")), (Some(Ok(Restored::Restored)), "1".into()));
}

#[test]
fn the_keys_of_a_session_go_and_what_could_not_be_set_back_stays_in_the_marker() {
    let server = Server::redis().start();
    let control = control(&server);
    control.mark(owner(1)).wait(LIMIT).unwrap().unwrap();
    set(&control, "hz", "50", None, owner(1)).unwrap();
    server.cli(&["SET", "redyno:1", "1"]);
    let cleaned = control.clean().wait(LIMIT).unwrap().unwrap();
    assert_eq!((cleaned.removed, cleaned.marker), (1, false));
    let left = Marker { owner: owner(1), keys: false, tuned: vec![tuned("hz", "10", "50")] };
    assert_eq!(marker(&control), Some(left));
}

#[test]
fn clean_sets_back_what_may_have_been_set_and_nothing_that_redyno_never_sets() {
    let server = Server::valkey().start();
    let (port, directory) = (server.port().to_string(), value(&server, "dir"));
    // Killed between two CONFIG SETs: either value may hold.
    server.cli(&["CONFIG", "SET", "hz", "20"]);
    server.cli(&[
        "HSET",
        KEY,
        "started",
        "x",
        "keys",
        "no",
        "config:hz",
        r#"{"from":"10","to":["20","50"]}"#,
    ]);
    let dir = format!(r#"{{"from":"/","to":["{directory}"]}}"#);
    server.cli(&["HSET", KEY, "config:dir", &dir, "config:maxmemory", "nonsense"]);
    let cleaned = run(&["clean", "-p", &port]).expect_code(0);
    assert!(cleaned.out.contains("hz is 10 again"), "{}", cleaned.out);
    for name in ["dir", "maxmemory"] {
        assert!(cleaned.out.contains(&format!("the marker's note of {name} is none")), "{}", cleaned.out);
    }
    assert_eq!((value(&server, "hz"), value(&server, "dir")), ("10".into(), directory));
    assert_eq!(server.cli(&["EXISTS", KEY]), "0");
}

#[test]
fn clean_does_not_set_back_under_a_session_that_is_connected_without_yes() {
    let server = Server::redis().start();
    let port = server.port().to_string();
    let at_work = control(&server);
    set(&at_work, "hz", "50", None, owner(1)).unwrap();
    let refused = run(&["clean", "-p", &port]).expect_code(1);
    assert!(
        refused.err.contains("may be the one that set hz; stop it first, or say --yes"),
        "{}",
        refused.err
    );
    assert_eq!(value(&server, "hz"), "50");
    // Nor is it told to the next as left behind.
    assert_eq!(run(&["-p", &port, "--headless", "--duration", "0.5"]).expect_code(0).err, "");
    run(&["clean", "-p", &port, "--yes"]).expect_code(0);
    assert_eq!((value(&server, "hz"), server.cli(&["EXISTS", KEY])), ("10".into(), "0".into()));
}

#[test]
fn clean_says_by_hand_how_to_set_back_what_the_server_refuses_and_keeps_the_marker() {
    let server = Server::redis().start();
    let port = server.port().to_string();
    server.cli(&["HSET", KEY, "started", "x", "config:hz", r#"{"from":"much","to":["10"]}"#]);
    let outcome = run(&["clean", "-p", &port]).expect_code(1);
    assert!(
        outcome.err.contains(&format!("redis-cli -h 127.0.0.1 -p {port} CONFIG SET hz much")),
        "{}",
        outcome.err
    );
    assert!(!outcome.out.contains("and the marker"), "{}", outcome.out);
    assert_eq!(server.cli(&["HGET", KEY, "keys"]), "no", "the keys are gone, the parameter is not");
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
