//! Messages are timed from their sending to each receiver, and what a receiver does not get is counted exactly.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::channel,
    },
    thread,
    time::{Duration, Instant},
};

use redyno::{
    diagnose::Findings,
    session::{OneReceiver, ReceivedMessages, Record, Summary},
};
use rustix::process::Signal;

use crate::support::{
    Server,
    program::{Running, redyno, run},
    wait_for,
};

const HEADLESS: [&str; 5] = ["--headless", "--json", "--load", "--yes", "--workload"];

/// Workloads with receivers: what is timed, the command that sends, and how many receivers get a message.
const KINDS: [(&str, &str, &str, u64); 9] = [
    ("pubsub receivers=6 channels=2", "delivery", "publish", 3),
    ("sharded-pubsub receivers=2 channels=5", "delivery", "spublish", 1),
    ("queue", "handover", "rpush", 1),
    ("queue kind=move", "handover", "rpush", 1),
    ("stream", "handover", "xadd", 1),
    ("stream kind=stream receivers=8", "handover", "xadd", 2),
    ("tracking", "invalidation", "set", 1),
    ("tracking kind=broadcast receivers=3", "invalidation", "set", 3),
    ("keyspace receivers=3", "invalidation", "set", 3),
];

/// Returns the arguments of a session with a workload and its parameters.
pub fn session<'a>(port: &'a str, workload: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = workload.split(' ');
    let name = words.next().unwrap();
    let parameters = words.flat_map(|word| ["--set", word]);
    let args = [&["-p", port], &HEADLESS[..], &[name]].concat().into_iter();
    args.chain(parameters).chain(more.iter().copied()).collect()
}

pub fn summary(records: &[Record]) -> &Summary {
    // The last record is the end of the first node.
    let mut last = records.iter().rev();
    let end = last.find_map(|record| if let Record::End(end) = record { Some(end) } else { None });
    &end.expect("an end record").summary
}

/// The one kind of receipts of a session, with its name.
pub fn received(summary: &Summary) -> (&'static str, &ReceivedMessages) {
    let mut all = summary.arrivals.iter();
    let one = all.next().expect("something was received");
    assert!(all.next().is_none());
    one
}

/// Returns the ids of the receivers in CLIENT LIST.
fn ids(server: &Server) -> Vec<String> {
    let list = server.cli(&["CLIENT", "LIST"]);
    let own = list.lines().filter(|line| line.contains("name=redyno-receiver"));
    own.map(|line| line["id=".len()..].split(' ').next().unwrap().to_owned()).collect()
}

/// Waits until the session has received messages, and returns the ids of its receivers.
pub fn receivers(server: &Server, running: &Running) -> Vec<String> {
    running.wait_for("a receipt", |out| {
        let is_some = |name: String| out.split(&name).skip(1).any(|rest| !rest.starts_with("0,"));
        ["delivery", "handover", "invalidation"]
            .map(|kind| format!("\"{kind}\":{{\"count\":"))
            .into_iter()
            .any(is_some)
            .then_some(())
    });
    ids(server)
}

#[test]
fn every_message_is_received_as_often_as_the_server_says_and_nothing_is_left() {
    let server = Server::redis().start();
    let port = server.port_text();
    for (workload, name, command, fan_out) in KINDS {
        server.cli(&["CONFIG", "RESETSTAT"]);
        let args = session(&port, workload, &["-n", "500", "-c", "5"]);
        let records = run(&args).expect_code(0).records();
        let sum = summary(&records);
        let (found, got) = received(sum);
        let none = (name != "invalidation").then_some(0);
        assert_eq!((found, got.lost, got.doubled), (name, none, 0), "{workload}: {got:?}");
        assert_eq!((sum.ops, server.calls(&[], command)), (500, 500), "{workload}");
        assert_eq!(got.times.count() + got.unclear, 500 * fan_out, "{workload}");
        assert!(got.times.min_ns() > 0 && got.unclear < 10, "{workload}: {got:?}");
        assert_eq!(server.cli(&["DBSIZE"]), "0", "{workload}");
        assert_eq!(server.cli(&["CONFIG", "GET", "notify-keyspace-events"]), "notify-keyspace-events");
    }
}

/// Starts the built-in server with these options. Returns it and its port, or that of its first node.
pub fn built_in(options: &[&str]) -> (Running, String) {
    let demo = Running::start(redyno(&[&["demo"], options].concat()));
    let port = demo.wait_for("its port", |out| {
        let digits = out.split_once("127.0.0.1:")?.1;
        digits.split(|c: char| !c.is_ascii_digit()).next().map(str::to_owned)
    });
    (demo, port)
}

#[test]
fn every_kind_runs_on_the_built_in_server() {
    let (_demo, port) = built_in(&["-p", "0"]);
    for (workload, name, _, fan_out) in KINDS {
        let args = session(&port, workload, &["-n", "500", "-c", "5"]);
        let records = run(&args).expect_code(0).records();
        let (found, got) = received(summary(&records));
        let none = (name != "invalidation").then_some(0);
        assert_eq!((found, got.lost, got.doubled, got.left), (name, none, 0, 0), "{workload}: {got:?}");
        assert_eq!(got.times.count() + got.unclear, 500 * fan_out, "{workload}: {got:?}");
    }
}

#[test]
fn the_group_of_a_stream_has_read_and_acknowledged_all_and_what_a_dead_consumer_left() {
    let server = Server::redis().start();
    let port = server.port_text();
    let more = ["stream", "--set", "streams=1", "--keep", "-n", "8000", "--rate", "2000"];
    let running = Running::start(redyno(&[&["-p", &port], &HEADLESS[..], &more].concat()));
    receivers(&server, &running);
    let key = server.cli(&["KEYS", "redyno:*:stream:*"]);
    // A consumer that takes entries and never acknowledges them.
    let taken = wait_for("entries that no receiver has got", || {
        let words =
            ["XREADGROUP", "GROUP", "redyno", "dead", "COUNT", "3", "BLOCK", "1000", "STREAMS", &key, ">"];
        let reply = server.cli(&words);
        Some(reply.matches("event").count() as u64).filter(|taken| *taken > 0)
    });
    let records = running.end().expect_code(0).records();
    let (_, got) = received(summary(&records));
    assert_eq!((got.times.count(), got.lost, got.claimed), (8000, Some(0), taken), "{got:?}");
    let info = server.cli(&["XINFO", "STREAM", &key]).replace('\n', " ");
    assert!(info.contains("entries-added 8000 "), "{info}");
    let group = server.cli(&["XINFO", "GROUPS", &key]).replace('\n', " ");
    assert!(group.contains("pending 0 ") && group.contains("entries-read 8000 lag 0"), "{group}");
}

#[test]
fn what_a_killed_subscriber_misses_is_counted_as_its_loss() {
    let server = Server::redis().start();
    let port = server.port_text();
    let more = ["pubsub", "-n", "5000", "--rate", "2500"];
    let running = Running::start(redyno(&[&["-p", &port], &HEADLESS[..], &more].concat()));
    let all = receivers(&server, &running);
    assert_eq!((all.len(), server.cli(&["CLIENT", "KILL", "ID", &all[3]]).as_str()), (10, "1"));
    let records = running.end().expect_code(0).records();
    let sum = summary(&records);
    let (_, got) = received(sum);
    assert_eq!((sum.ops, got.times.count() + got.lost.unwrap()), (5000, 50_000));
    assert_eq!((got.reconnects, got.doubled, got.late), (1, 0, 0));
    let lost: Vec<_> = got.by_receiver.iter().filter(|one| one.reconnects > 0 || one.lost > 0).collect();
    assert!(lost.len() == 1 && lost[0].lost > 0 && Some(lost[0].lost) == got.lost, "{got:?}");
}

#[test]
fn receivers_that_cannot_connect_are_found_and_shown_beside_those_that_were_ordered() {
    let server = Server::redis().start();
    let port = server.port_text();
    let args = ["-p", &port, "--headless", "--load", "--rate", "1000", "--yes", "--workload", "pubsub"];
    let running = Running::start(redyno(&args));
    let all = wait_for("10 receivers", || Some(ids(&server)).filter(|all| all.len() == 10));
    // No client can connect any more, nor can one that is to look at the server.
    let kill = |id: &String| format!("CLIENT KILL ID {id}\r\n");
    let commands: String = all[..3].iter().map(kill).collect();
    let mut link = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    write!(link, "CONFIG SET maxclients 1\r\n{commands}").unwrap();
    running.wait_for_lines(1, "only 7 of 10 receivers are connected");
    running.signal(Signal::INT);
    let out = running.end().out;
    assert!(out.contains(" received by 7 of 10 receivers, "), "{out}");
}

#[test]
fn another_number_of_receivers_neither_loses_nor_repeats_messages() {
    let server = Server::redis().start();
    let port = server.port_text();
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("turn.script");
    std::fs::write(&script, "at 500ms receivers 2\nat 1s receivers 7\nat 1500ms end\n").unwrap();
    for workload in ["pubsub", "queue", "stream", "stream kind=stream"] {
        let script = script.to_str().unwrap();
        let args = session(&port, workload, &["--receivers", "4", "--rate", "1000", "--script", script]);
        let records = run(&args).expect_code(0).records();
        let sum = summary(&records);
        let (_, got) = received(sum);
        assert_eq!((got.lost, got.doubled, got.receivers), (Some(0), 0, 7), "{workload}: {got:?}");
        assert!(got.times.count() > sum.ops / 2, "{workload}: {got:?}");
        if workload == "queue" || workload == "stream" {
            assert!(got.times.count() + got.unclear <= sum.ops, "{workload}: {} {got:?}", sum.ops);
        }
    }
}

#[test]
fn receivers_whose_command_is_refused_say_so_and_wait_longer_and_longer() {
    let server = Server::redis().start();
    let port = server.port_text();
    server.cli(&["ACL", "SETUSER", "w", "on", ">w", "~*", "&*", "+@all", "-blpop", "-subscribe"]);
    for (workload, command) in [("queue", "blpop"), ("pubsub", "subscribe")] {
        let more = [workload, "--user", "w", "-a", "w", "--receivers", "2", "-n", "2000", "--rate", "1000"];
        let outcome = run(&[&["-p", &port], &HEADLESS[..], &more].concat());
        assert!(
            outcome.out.contains("a receiver: the server refused its command: NOPERM"),
            "{}",
            outcome.out
        );
        assert!(outcome.out.contains(&format!("'{command}' command")), "{}", outcome.out);
        let records = outcome.records();
        let (_, got) = received(summary(&records));
        // Pauses from 10 ms to 1 s, and not one after the other.
        assert!(got.times.count() == 0 && got.reconnects < 40, "{got:?}");
        let (lost, left) = if workload == "pubsub" { (4000, 0) } else { (0, 2000) };
        assert_eq!((got.lost, got.left), (Some(lost), left), "{got:?}");
    }
}

#[test]
fn messages_that_an_earlier_session_has_left_are_foreign() {
    let server = Server::redis().start();
    let port = server.port_text();
    server.cli(&["ACL", "SETUSER", "w", "on", ">w", "~*", "&*", "+@all", "-blpop", "-xread", "-xreadgroup"]);
    for (workload, foreign) in [("queue", 100), ("stream", 100), ("stream kind=stream", 0)] {
        let prefix = workload.replace(' ', "");
        let args = session(&port, workload, &["--key-prefix", &prefix]);
        let left = run(&[&args[..], &["-n", "100", "--user", "w", "-a", "w"]].concat()).records();
        assert_eq!(received(summary(&left)).1.times.count(), 0, "{workload}");
        let records = run(&[&args[..], &["-n", "500"]].concat()).expect_code(0).records();
        let (_, got) = received(summary(&records));
        let counts = (got.lost, got.left, got.doubled, got.foreign);
        assert_eq!(counts, (Some(0), 0, 0, foreign), "{workload}: {got:?}");
        assert!(got.times.count() % 500 == 0, "{workload}: {got:?}");
    }
}

#[test]
fn receivers_leave_while_the_load_is_off_and_come_again_and_nothing_is_lost() {
    let (server, folder) = (Server::redis().start(), tempfile::tempdir().unwrap());
    let (port, script) = (server.port_text(), folder.path().join("turns.script"));
    std::fs::write(&script, "at 0s rate 500\nat 1s load off\nat 5s load on\nat 7s end\n").unwrap();
    let more = ["queue", "--script", script.to_str().unwrap()];
    let running = Running::start(redyno(&[&["-p", &port], &HEADLESS[..], &more].concat()));
    let own = || server.cli(&["CLIENT", "LIST"]).matches("name=redyno-receiver").count();
    for is_there in [true, false, true] {
        wait_for("receivers to come and go", || ((own() > 0) == is_there).then_some(()));
    }
    let records = running.end_of_writing().expect_code(0).records();
    let sum = summary(&records);
    let (_, got) = received(sum);
    let counts = (got.times.count(), got.lost, got.doubled, got.reconnects);
    assert_eq!(counts, (sum.ops, Some(0), 0, 0), "{got:?}");
}

/// How late the messages of the slow subscriber are: much later than a busy machine makes the others.
const LATE: Duration = Duration::from_millis(300);

/// Starts a relay that passes on what a server sends to the first subscriber after [`LATE`]. Returns its port.
fn late_for_one(server: &Server) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, to) = (listener.local_addr().unwrap().port(), server.port());
    let is_chosen = Arc::new(AtomicBool::new(false));
    thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let Ok(mut server) = TcpStream::connect(("127.0.0.1", to)) else { break };
            [&client, &server].map(|link| link.set_nodelay(true)).into_iter().for_each(drop);
            let (Ok(mut back), Ok(mut from)) = (client.try_clone(), server.try_clone()) else { break };
            let (is_chosen, is_late) = (Arc::clone(&is_chosen), Arc::new(AtomicBool::new(false)));
            let choice = Arc::clone(&is_late);
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(n @ 1..) = client.read(&mut buffer) {
                    let subscribes = buffer[..n].windows(9).any(|word| word == b"SUBSCRIBE");
                    if subscribes && !is_chosen.swap(true, Relaxed) {
                        choice.store(true, Relaxed);
                    }
                    if server.write_all(&buffer[..n]).is_err() {
                        break;
                    }
                }
            });
            let (up, down) = channel::<(Instant, Vec<u8>)>();
            thread::spawn(move || {
                for (at, bytes) in down {
                    thread::sleep(at.saturating_duration_since(Instant::now()));
                    if back.write_all(&bytes).is_err() {
                        break;
                    }
                }
            });
            thread::spawn(move || {
                let mut buffer = [0; 65536];
                while let Ok(n @ 1..) = from.read(&mut buffer) {
                    let delay = if is_late.load(Relaxed) { LATE } else { Duration::ZERO };
                    if up.send((Instant::now() + delay, buffer[..n].to_vec())).is_err() {
                        break;
                    }
                }
            });
        }
    });
    port
}

#[test]
fn the_one_subscriber_that_is_slow_is_named_with_its_times() {
    let server = Server::redis().start();
    let port = late_for_one(&server).to_string();
    let more = ["pubsub", "-n", "2000", "--rate", "500"];
    let outcome = run(&[&["-p", &port], &HEADLESS[..], &more].concat()).expect_code(0);
    let records = outcome.records();
    let (_, got) = received(summary(&records));
    assert_eq!((got.times.count(), got.lost), (20_000, Some(0)));
    let each: Vec<_> = got.by_receiver.iter().map(|one| one.received).collect();
    assert_eq!(each, [2000; 10], "of the whole session");
    // Another one may be slow for an interval, on a busy machine.
    let is_slow = |one: &&OneReceiver| one.times.as_ref().is_some_and(|times| times.count() > 1000);
    let slow: Vec<_> = got.by_receiver.iter().filter(is_slow).collect();
    assert_eq!(slow.len(), 1, "{:?}", got.by_receiver);
    let times = slow[0].times.as_ref().unwrap();
    let late_ns = LATE.as_nanos() as u64;
    assert!(times.min_ns() >= late_ns, "{}", times.min_ns());
    assert!(got.times.value_at_quantile(0.5) < late_ns);
    let named = format!("receiver {} of 10 is far slower than the other receivers: p50 ", slow[0].receiver);
    let mut findings = Findings::default();
    // On a busy machine redyno itself may be the limit, and this finding would stand for the receiver's.
    let without_client = |mut record| {
        if let Record::Interval(part) = &mut record {
            part.client = None;
        }
        record
    };
    let found: Vec<_> =
        records.into_iter().map(without_client).flat_map(|record| findings.push(&record)).collect();
    assert!(found.iter().any(|line| line.contains(&named)), "{found:?}");
}

#[test]
fn a_sweep_of_receivers_shows_the_delivery_and_a_limit_can_be_about_it() {
    let (_demo, port) = built_in(&["-p", "0"]);
    let args = [
        "-p",
        &port,
        "--headless",
        "--workload",
        "pubsub",
        "--rate",
        "100",
        "--sweep",
        "receivers 1,50 delivery p99<9s",
    ];
    let out = run(&args).expect_code(0).out;
    let rows: Vec<Vec<_>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    let heading = rows.iter().position(|row| row.starts_with(&["receivers", "ops/s", "dlv", "p99", "p50"]));
    let heading = heading.unwrap_or_else(|| panic!("{out}"));
    // The number, the rate with its unit, and the p99 with its unit.
    let steps: Vec<_> = rows[heading + 1..].iter().take(2).map(|row| (row[0], row[3] == "-")).collect();
    assert_eq!(steps, [("1", false), ("50", false)], "{out}");
    let refused = run(&["-p", &port, "--headless", "--find", "delivery p99<1s"]);
    assert!(refused.code() == 2 && refused.err.contains("the workload has no receivers"), "{refused:?}");
}
