//! Keyspace notifications: who switches them on, who sets them back, and what happens if another client does.

use redyno::{events::EventKind, session::Record};
use rustix::process::Signal;

use crate::{
    messages::{received, receivers, session, summary},
    support::{
        Server,
        program::{Running, redyno, run},
        wait_for,
    },
};

#[test]
fn notifications_are_switched_on_after_a_question_and_set_back_also_after_a_kill() {
    let server = Server::redis().start();
    let port = server.port_text();
    let value =
        || server.cli(&["CONFIG", "GET", "notify-keyspace-events"]).lines().nth(1).unwrap().to_owned();
    server.cli(&["CONFIG", "SET", "notify-keyspace-events", "Ex"]);
    let mut args = session(&port, "keyspace", &["-n", "500"]);
    args.retain(|word| *word != "--yes");
    let asks = run(&args);
    assert!(asks.err.contains("adds K$ to notify-keyspace-events and sets it back"), "{asks:?}");
    assert_eq!((asks.code() == 0, value()), (false, "xE".to_owned()));
    let running = Running::start(redyno(&session(&port, "keyspace", &[])));
    receivers(&server, &running);
    assert_eq!(value(), "$xKE");
    running.signal(Signal::KILL);
    running.end();
    run(&["clean", "-p", &port, "--yes"]).expect_code(0);
    assert_eq!((value(), server.cli(&["DBSIZE"])), ("xE".to_owned(), "0".to_owned()));
    server.cli(&["CONFIG", "SET", "notify-keyspace-events", "AKE"]);
    let got = run(&args).expect_code(0).records();
    assert!(received(summary(&got)).1.times.count() > 4000, "nothing is asked");
    assert_eq!(value(), "AKE");
}

/// The changes of the notifications that a session reports as made by others.
fn changes(records: &[Record]) -> Vec<String> {
    let of_others = records.iter().filter_map(|record| match record {
        Record::Event(event) => match &event.what {
            EventKind::ConfigChanged { name, to, .. } if name == "notify-keyspace-events" => Some(to.clone()),
            _ => None,
        },
        _ => None,
    });
    of_others.collect()
}

#[test]
fn a_session_keeps_the_notifications_that_another_session_switched_on_and_sets_back() {
    let server = Server::redis().start();
    let port = server.port_text();
    let value = || {
        server.cli(&["CONFIG", "GET", "notify-keyspace-events"]).lines().nth(1).unwrap_or_default().to_owned()
    };
    let start = || {
        let running = Running::start(redyno(&session(&port, "keyspace", &["--rate", "200"])));
        receivers(&server, &running);
        running
    };
    let first = start();
    let second = start();
    first.signal(Signal::TERM);
    assert!(changes(&first.end().records()).is_empty(), "its own change is not one of others");
    wait_for("the letters", || (value() == "$K").then_some(()));
    second.signal(Signal::TERM);
    assert_eq!(changes(&second.end().records()), [""]);
    assert_eq!(value(), "");
}
