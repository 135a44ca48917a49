//! The control plane against real servers: it sees them, loses them, finds them again, and writes nothing by itself.

use std::{
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use crate::support::{Server, wait_among, wait_for};
use redyno::{
    clock::Clock,
    endpoint::{Address, Credentials, Password, Target},
    events::EventKind,
    gauge::Gauge,
    server::{Control, ControlMessage, Foreign, Ledger, Marker, Owner, ServerError, Status, Writes},
    workload::{KeyNames, KeySpan, RunId},
};

const POLL: Duration = Duration::from_millis(20);
/// Long enough for any answer; nothing is judged by it.
const LIMIT: Duration = Duration::from_secs(30);

fn at(server: &Server) -> Target {
    Target { address: Address::Tcp { host: "127.0.0.1".into(), port: server.port() }, ..Target::default() }
}

fn start(target: Target) -> (Control, Receiver<ControlMessage>) {
    let (news, messages) = channel();
    (Control::start(target, Clock::start(), POLL, news).unwrap(), messages)
}

fn status(messages: &Receiver<ControlMessage>) -> Status {
    wait_among(messages, "status", |message| match message {
        ControlMessage::Status { status, .. } => Some((**status).clone()),
        ControlMessage::Event { what, .. } => {
            assert!(!matches!(what, EventKind::Unreachable { .. }), "{what:?}");
            None
        }
        ControlMessage::SetupRequests { .. } => None,
    })
}

fn unreachable(messages: &Receiver<ControlMessage>) -> String {
    wait_among(messages, "bad news", |message| match message {
        ControlMessage::Event { what: EventKind::Unreachable { cause }, .. } => Some(cause.clone()),
        _ => None,
    })
}

fn back(messages: &Receiver<ControlMessage>) {
    wait_among(messages, "good news", |message| is_back(message).then_some(()));
}

fn is_back(message: &ControlMessage) -> bool {
    matches!(message, ControlMessage::Event { what: EventKind::Reachable, .. })
}

#[test]
fn redis_and_valkey_tell_their_status_by_port_and_by_socket() {
    let cases = [(Server::redis().start(), "redis", "7.0."), (Server::valkey().start(), "valkey", "9.1.")];
    for (server, name, version) in cases {
        server.cli(&["SET", "a", "1"]);
        let by_socket = Target { address: Address::Unix(server.socket()), db: 7, ..Target::default() };
        let loopback6 =
            Target { address: Address::Tcp { host: "::1".into(), port: server.port() }, ..Target::default() };
        // Not every machine has IPv6.
        let has_v6 = std::net::TcpListener::bind("[::1]:0").is_ok();
        for target in [at(&server), by_socket].into_iter().chain(has_v6.then_some(loopback6)) {
            let (_control, messages) = start(target);
            let status = status(&messages);
            assert_eq!((status.name.as_str(), status.role.as_str()), (name, "master"));
            assert!(status.version.starts_with(version), "{}", status.version);
            assert_eq!((status.mode.as_str(), status.gauges.get(Gauge::Keys)), ("standalone", Some(1.0)));
        }
    }
}

#[test]
fn differences_come_with_the_second_status() {
    let server = Server::redis().start();
    server.cli(&["SET", "a", "1"]);
    // Far enough apart for the CPU that was used between two polls to mean something.
    let (news, messages) = channel();
    let _control = Control::start(at(&server), Clock::start(), Duration::from_millis(150), news).unwrap();
    assert_eq!(status(&messages).gauges.get(Gauge::Hits), None);
    server.cli(&["GET", "a"]);
    server.cli(&["GET", "b"]);
    let (mut hits, mut misses) = (0, 0);
    wait_among(&messages, "a hit and a miss", |message| {
        let ControlMessage::Status { status, .. } = message else { return None };
        hits += status.gauges.whole(Gauge::Hits).unwrap();
        misses += status.gauges.whole(Gauge::Misses).unwrap();
        assert!(status.gauges.get(Gauge::Cpu).is_some_and(|cpu| cpu >= 0.0), "{:?}", status.gauges);
        ((hits, misses) == (1, 1)).then_some(())
    });
}

#[test]
fn passwords_and_acl_users_are_let_in() {
    let args = ["--requirepass", "pw", "--user", "ann", "on", ">pw-ann", "~*", "+@all"];
    for server in [Server::redis(), Server::valkey()].map(|recipe| recipe.with_args(&args).start()) {
        for (user, password) in [(None, "pw"), (Some("ann".to_owned()), "pw-ann")] {
            let who = Credentials { user, password: Password::new(password) };
            let (_control, messages) = start(Target { credentials: Some(who), ..at(&server) });
            assert!(status(&messages).gauges.get(Gauge::Clients).is_some());
        }
        let (_control, messages) = start(at(&server));
        assert!(unreachable(&messages).contains("wants a password"));
    }
}

#[test]
fn a_user_who_may_not_ask_for_info_is_mute_and_not_unreachable() {
    let args = ["--user", "ann", "on", ">pw", "~*", "+@all", "-info"];
    let server = Server::redis().with_args(&args).start();
    let who = Credentials { user: Some("ann".into()), password: Password::new("pw") };
    let (control, messages) = start(Target { credentials: Some(who), ..at(&server) });
    let ControlMessage::Event { what, .. } = messages.recv_timeout(LIMIT).unwrap() else {
        panic!("a status")
    };
    assert!(matches!(&what, EventKind::InfoRefused { cause } if cause.contains("NOPERM")), "{what:?}");
    assert_eq!(control.find_leftovers().wait(LIMIT), Some(Ok(vec![])));
    server.cli(&["ACL", "SETUSER", "ann", "+info"]);
    assert!(is_back(&messages.recv_timeout(LIMIT).unwrap()));
    assert!(matches!(messages.recv_timeout(LIMIT).unwrap(), ControlMessage::Status { .. }));
}

#[test]
fn a_killed_server_is_unreachable_and_a_restarted_one_is_back() {
    let mut server = Server::redis().start();
    let (control, messages) = start(at(&server));
    status(&messages);
    server.kill();
    unreachable(&messages);
    // An order is refused with the cause while nobody is there.
    wait_for("a refusal", || {
        let Err(ServerError::Unreachable(cause)) = control.survey().wait(LIMIT)? else { return None };
        cause.contains("connection refused").then_some(())
    });
    server.restart();
    // The outage was reported once, whatever the attempts met that were made in it.
    let next = wait_among(&messages, "good news", |message| match message {
        ControlMessage::Event { what: EventKind::Unreachable { cause }, .. } if cause.contains("loading") => {
            None
        }
        other => Some(other.clone()),
    });
    assert!(is_back(&next), "{next:?}");
    let status = status(&messages);
    let differences = [Gauge::Hits, Gauge::Cpu].map(|gauge| status.gauges.get(gauge));
    assert_eq!(differences, [None, None], "a new process has nothing to compare with");
    assert_eq!(control.survey().wait(LIMIT).unwrap().unwrap().keys, 0);
}

#[test]
fn a_server_that_is_not_there_yet_is_waited_for() {
    let mut server = Server::valkey().start();
    server.kill();
    let (_control, messages) = start(at(&server));
    assert!(unreachable(&messages).contains("nothing listens"));
    server.restart();
    back(&messages);
    status(&messages);
}

#[test]
fn a_hung_server_is_noticed_and_holds_up_neither_the_end_nor_the_answers() {
    let server = Server::redis().start();
    let (control, messages) = start(at(&server));
    status(&messages);
    server.pause();
    let ordered = control.survey();
    let cause = unreachable(&messages);
    assert!(cause.contains("no answer to "), "{cause}");
    let cut_short = control.clean(vec![Marker::new(RunId::random(), Owner::default())]);
    // The server stays paused: were the end to wait for it, this would wait in vain.
    let end = thread::spawn(move || drop(control));
    wait_for("the end of the control plane", || end.is_finished().then_some(()));
    assert!(ordered.wait(LIMIT).unwrap().is_err());
    assert!(cut_short.wait(LIMIT).unwrap().is_err());
    server.resume();
}

#[test]
fn a_hung_server_holds_up_no_other_on_the_same_thread_and_ends_at_once() {
    let servers = [Server::redis().start(), Server::redis().start()];
    let (hung, messages) = start(at(&servers[0]));
    let (news, others) = channel();
    let other = Control::beside(Some(&hung), at(&servers[1]), Clock::start(), POLL, news).unwrap();
    status(&messages);
    status(&others);
    servers[0].pause();
    unreachable(&messages);
    // It took the time limit of a reply to notice that: more than a hundred polls of the other.
    let polled = others.try_iter().filter(|message| matches!(message, ControlMessage::Status { .. })).count();
    assert!(polled > 10, "{polled}");
    let cut_short = hung.survey();
    drop(hung);
    assert!(cut_short.wait(LIMIT).unwrap().is_err());
    assert_eq!(other.poll().wait(LIMIT), Some(Ok(())));
    servers[0].resume();
}

#[test]
fn a_paused_server_that_goes_on_is_back_and_holds_one_connection_of_ours() {
    let server = Server::valkey().start();
    let (_control, messages) = start(at(&server));
    status(&messages);
    server.pause();
    unreachable(&messages);
    server.resume();
    back(&messages);
    wait_for("abandoned connections to be closed", || {
        let list = server.cli(&["CLIENT", "LIST"]);
        // Ours and redis-cli's.
        (list.matches("name=redyno-control").count() == 1 && list.lines().count() == 2).then_some(())
    });
}

#[test]
fn polling_surveying_and_looking_for_leftovers_write_nothing() {
    let server = Server::redis().start();
    let (control, messages) = start(Target { db: 2, ..at(&server) });
    for _ in 0..3 {
        status(&messages);
    }
    control.survey().wait(LIMIT).unwrap().unwrap();
    assert_eq!(control.find_leftovers().wait(LIMIT), Some(Ok(vec![])));
    drop(control);
    let stats = server.cli(&["INFO", "commandstats"]);
    let read_only = [
        "ping",
        "select",
        "client|",
        "info",
        "dbsize",
        "scan",
        "smembers",
        "command",
        "slowlog|get",
        "latency|latest",
        "latency|histogram",
        "config|get",
    ];
    for line in stats.lines().filter_map(|line| line.strip_prefix("cmdstat_")) {
        assert!(read_only.iter().any(|name| line.starts_with(name)), "{line}");
    }
    assert!(server.cli(&["INFO", "persistence"]).contains("rdb_changes_since_last_save:0\r"));
}

fn writes() -> Writes {
    Writes {
        names: KeyNames::of_run(RunId::random()),
        is_users: false,
        is_service: false,
        asks_always: false,
        is_load: true,
        kept: false,
        span: KeySpan::from_iter([(String::new(), 0..10)]),
        others: Vec::new(),
        setup: Vec::new(),
    }
}

#[test]
fn a_survey_counts_keys_and_clients_that_are_not_ours() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let (control, _messages) = start(at(&server));
        let survey = || control.survey().wait(LIMIT).unwrap().unwrap();
        let empty = wait_for("clients of the start to be gone", || {
            Some(survey()).filter(|survey| survey.neighbours.clients == 0)
        });
        assert_eq!((empty.total_keys, empty.question(&writes()), empty.obstacle()), (0, None, None));
        server.cli(&["MSET", "redyno:4g7k2m9q:000000000001", "x", "theirs", "x"]);
        assert_eq!(survey().foreign, Foreign::Exactly(2), "that run is not listed");
        server.cli(&["SADD", "redyno:runs", "4g7k2m9q"]);
        server.cli(&["-n", "3", "SET", "elsewhere", "x"]);
        let found = survey();
        assert_eq!((found.keys, found.total_keys, found.foreign), (3, 4, Foreign::Exactly(2)));
        let question = found.question(&writes()).unwrap();
        assert!(question.contains("holds 2 keys beside redyno's own"), "{question}");
        server.cli(&["EVAL", "for i=1,6000 do redis.call('SET','key:'..i,1) end", "0"]);
        assert!(matches!(survey().foreign, Foreign::AtMost(n) if n >= 6002));
    }
}

#[test]
fn a_survey_sees_a_replica_as_an_obstacle_and_replicas_apart() {
    let master = Server::redis().start();
    let replica =
        Server::redis().with_args(&["--replicaof", "127.0.0.1", &master.port().to_string()]).start();
    let survey = |server: &Server| {
        let (control, _messages) = start(at(server));
        control.survey().wait(LIMIT).unwrap().ok()
    };
    let seen = wait_for("the replica to be connected", || {
        survey(&master).filter(|survey| survey.neighbours.replicas == 1 && survey.neighbours.clients == 0)
    });
    assert!(seen.question(&writes()).unwrap().contains("serves 1 replica;"));
    let obstacle = wait_for("the replica to be loaded", || survey(&replica).filter(|found| !found.loading));
    let (here, there) = (replica.port(), master.port());
    assert_eq!(
        obstacle.obstacle().unwrap().to_string(),
        format!("127.0.0.1:{here} is a read-only replica; name its primary, 127.0.0.1:{there}, to write")
    );
}

#[test]
fn the_marker_is_found_again_and_leaves_get_and_set_uncounted() {
    let server = Server::valkey().start();
    let owner = Owner { started: "2026-11-21T07:08:00Z".into(), host: "box".into(), pid: Some(4711) };
    let ledger = Ledger::new(RunId::random(), owner);
    ledger.add_keys(KeySpan::from_iter([(String::new(), 0..10), ("counter:".to_owned(), 0..2)]), false);
    let marker = ledger.marker();
    let (control, _messages) = start(at(&server));
    control.mark(&ledger).wait(LIMIT).unwrap().unwrap();
    assert_eq!(control.find_leftovers().wait(LIMIT), Some(Ok(vec![marker.clone()])));
    assert_eq!(control.survey().wait(LIMIT).unwrap().unwrap().runs, [marker]);
    let stats = server.cli(&["INFO", "commandstats"]);
    assert!(!stats.contains("cmdstat_get:") && !stats.contains("cmdstat_set:"), "{stats}");
}
