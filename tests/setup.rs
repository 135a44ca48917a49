//! A workload's setup runs once, before its load and in none of its operations; what it makes is undone at the end, by
//! `redyno clean` after a kill, and at once where a later step fails.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read, Write},
    net::TcpStream,
    sync::{
        Arc, Mutex,
        mpsc::{Sender, channel},
    },
    time::Duration,
};

use crate::{
    scripted::{Crowd, Peer as Client},
    support::{
        Server, calls,
        program::run,
        session::{at_port, commission, plan},
    },
};
use redyno::{
    clock::Clock,
    demo,
    knobs::Knobs,
    protocol::Dialect,
    server::{Control, Ledger, Owner, SetupObject},
    session::{
        Record,
        running::{Commission, Delivery, EndedBy, KeyOwner, Notice, Order, Peer, Session, StartError},
    },
    signals::Signal,
    workload::{KeyNames, Keyset, Operation, RunId, Steps, Workload},
};

const LIMIT: Duration = Duration::from_secs(30);
/// Good operations that prove that the load runs.
const ENOUGH: u64 = 500;

const SCRIPT: &str = "SCRIPT LOAD 'return ARGV[1]'";
const LIBRARY: &str =
    r##"FUNCTION LOAD "#!lua name=answers\nredis.register_function('answer', function() return 42 end)""##;
const BROKEN: &str = r##"FUNCTION LOAD "#!lua name=broken\nthis is no Lua""##;

/// Operations that need what these steps do, and one that does not.
fn workload(name: &str, steps: &[&str], operations: &[(&str, u32)]) -> Arc<Workload> {
    let total = Keyset { prefix: "total".to_owned(), count: Some(1), ..Keyset::default() };
    Arc::new(Workload {
        name: name.to_owned(),
        keys: [("total".to_owned(), total), ("key".to_owned(), Keyset::default())].into(),
        operations: operations.iter().map(|(step, weight)| Operation::command(step, *weight)).collect(),
        setup: Steps { steps: steps.iter().map(|step| (*step).to_owned()).collect() },
        ..Workload::default()
    })
}

fn answers() -> Arc<Workload> {
    let sha = "EVALSHA 098e0f0d1448c0a81dafe820f66d460eb09263da 0 {value}";
    let operations = [(sha, 1), ("FCALL answer 0", 1), ("INCRBY {total} 1", 1), ("GET {key}", 1)];
    workload("answers", &[SCRIPT, LIBRARY, "SET {total} 5"], &operations)
}

fn knobs(workload: Arc<Workload>) -> Knobs {
    Knobs { load: true, clients: 5, workload, keyspace: 100, ..Knobs::default() }
}

/// A session, its peer, and all that it received.
struct Watched {
    session: Session,
    peer: Peer,
    _signals: Sender<Signal>,
    shown: Vec<Delivery>,
}

impl Watched {
    fn start(commission: Commission) -> Result<Self, StartError> {
        let (signals, listening) = channel();
        let (session, mut peers) = Session::start(commission, listening, 1)?;
        Ok(Self { session, peer: peers.remove(0), _signals: signals, shown: Vec::new() })
    }

    /// Waits for what `found` looks for in what it receives from now on.
    fn wait_for<T>(&mut self, mut found: impl FnMut(&Delivery) -> Option<T>) -> T {
        loop {
            let delivery = self.peer.next_within(LIMIT).expect("the session goes on");
            let found = found(&delivery);
            self.shown.push(delivery);
            if let Some(found) = found {
                return found;
            }
        }
    }

    /// Waits until a load of this workload has done something.
    fn wait_for_work(&mut self, name: &str) {
        let (mut holds, mut ops) = (false, 0);
        self.wait_for(|delivery| {
            let Delivery::Record(record) = delivery else { return None };
            match &**record {
                Record::Segment(segment) => {
                    (holds, ops) = (segment.knobs.load && segment.knobs.workload.name == name, 0);
                }
                Record::Interval(interval) if holds && interval.length_s > 0.0 => ops += interval.ops,
                _ => {}
            }
            (ops >= ENOUGH).then_some(())
        });
    }

    /// Waits until the load was refused, and says why.
    fn refusal(&mut self) -> String {
        self.wait_for(|delivery| match delivery {
            Delivery::Notice(0, Notice::LoadStaysOff(cause)) => Some(cause.clone()),
            _ => None,
        })
    }

    /// Waits until the load is off.
    fn wait_for_rest(&mut self) {
        self.wait_for(|delivery| match delivery {
            Delivery::Record(record) => match &**record {
                Record::Segment(segment) => (!segment.knobs.load).then_some(()),
                _ => None,
            },
            _ => None,
        });
    }

    fn turn(&self, workload: Arc<Workload>) {
        self.peer.order(Order::SetKnobs(knobs(workload)));
    }

    /// Ends it. Its requests by command, the labels of its operations, and what was undone.
    fn end(mut self) -> (BTreeMap<String, u64>, BTreeSet<String>, Vec<String>) {
        self.peer.order(Order::End);
        self.shown.extend(self.peer.rest());
        assert_eq!(self.session.end().by, EndedBy::Itself);
        let (mut requests, mut labels, mut undone) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        for delivery in self.shown {
            match delivery {
                Delivery::Record(record) => {
                    let Record::Interval(interval) = &*record else { continue };
                    assert!(interval.errors.is_empty(), "{:?}", interval.errors);
                    interval
                        .requests
                        .iter()
                        .for_each(|(name, n)| *requests.entry(name.clone()).or_default() += n);
                    labels.extend(interval.commands.keys().cloned());
                }
                Delivery::Notice(0, Notice::Undone(shown)) => undone.push(shown),
                _ => {}
            }
        }
        (requests, labels, undone)
    }
}

fn servers() -> [Server; 2] {
    [Server::redis().start(), Server::valkey().start()]
}

fn at(server: &Server, workload: Arc<Workload>) -> Commission {
    commission(plan(at_port(server.port())), knobs(workload))
}

/// The cause for which a session without a person does not begin.
fn refused(commission: Commission) -> String {
    match Watched::start(commission) {
        Err(StartError::Refused(_, cause)) => cause,
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("it has begun"),
    }
}

fn libraries(server: &Server) -> String {
    server.cli(&["FUNCTION", "LIST", "LIBRARYNAME", "*"])
}

#[test]
fn a_setup_is_run_once_counted_apart_and_undone_at_the_end() {
    for server in servers() {
        server.cli(&["CONFIG", "RESETSTAT"]);
        let mut watched = Watched::start(at(&server, answers())).unwrap();
        watched.wait_for_work("answers");
        assert!(libraries(&server).contains("answers"));
        let run_id = server.cli(&["SMEMBERS", "redyno:runs"]);
        let marker = server.cli(&["HMGET", &format!("redyno:{run_id}"), "made", "keys"]);
        let keys = r#"[{"prefix":"total","first":0,"count":1}]"#;
        assert_eq!(marker, format!("[{{\"library\":\"answers\"}}]\n{keys}"));
        let (requests, labels, undone) = watched.end();
        assert_eq!(labels.iter().collect::<Vec<_>>(), ["EVALSHA", "FCALL", "GET", "INCRBY"]);
        assert_eq!(["SCRIPT|LOAD", "FUNCTION|LOAD", "SET"].map(|name| requests[name]), [1; 3]);
        let stats = server.cli(&["INFO", "commandstats"]);
        for (name, n) in &requests {
            // The control plane and the ping have names of their own.
            let beside = if name == "CLIENT|SETNAME" { 2 } else { 0 };
            assert_eq!(n + beside, calls(&stats, &name.to_lowercase()), "{name}");
        }
        assert!(undone.contains(&"redyno: deleted the function library answers".to_owned()), "{undone:?}");
        assert_eq!((libraries(&server), server.cli(&["DBSIZE"])), (String::new(), "0".to_owned()));
    }
}

#[test]
fn a_step_that_fails_refuses_the_load_and_undoes_the_steps_before_it() {
    for server in servers() {
        let failing = workload("failing", &[SCRIPT, LIBRARY, BROKEN, "SET {total} 1"], &[("GET {key}", 1)]);
        let cause = refused(at(&server, Arc::clone(&failing)));
        assert!(cause.starts_with("setup step 3: ERR "), "{cause}");
        assert_eq!((libraries(&server), server.cli(&["DBSIZE"])), (String::new(), "0".to_owned()));
        assert_eq!(
            ["get", "set"].map(|name| server.calls(&[], name)),
            [0; 2],
            "no load ran, nor another step"
        );

        // With a person there the session goes on, and each attempt meets the same.
        let attended = Commission { is_attended: true, ..at(&server, Arc::clone(&failing)) };
        let mut watched = Watched::start(attended).unwrap();
        assert_eq!(watched.refusal(), cause);
        watched.turn(Workload::ratio(0, 1));
        watched.wait_for_work("ratio");
        watched.turn(failing);
        assert_eq!(watched.refusal(), cause);
        watched.wait_for_rest();
        let (requests, ..) = watched.end();
        assert_eq!(requests["SCRIPT|LOAD"], 2);
        assert_eq!(libraries(&server), "");
    }
}

#[test]
fn the_built_in_server_runs_what_it_knows() {
    let server = demo::start(demo::Options::default()).unwrap();
    let start = |steps: &[&str]| {
        let knobs = knobs(workload("plain", steps, &[("INCR {total}", 1)]));
        let commission = commission(plan(at_port(server.address.port())), knobs);
        Commission { keys: KeyOwner::OwnServers, ..commission }
    };
    let cause = refused(start(&["SET {total} 1", SCRIPT]));
    assert!(cause.starts_with("setup step 2: ERR unknown command"), "{cause}");
    let mut watched = Watched::start(start(&["SET {total} \"7\""])).unwrap();
    watched.wait_for_work("plain");
    let (requests, ..) = watched.end();
    assert_eq!(requests["SET"], 1);
}

#[test]
fn what_somebody_else_made_is_neither_replaced_nor_deleted() {
    for server in servers() {
        let theirs = "#!lua name=answers\nredis.register_function('theirs', function() return 1 end)";
        server.cli(&["FUNCTION", "LOAD", theirs]);
        let before = libraries(&server);
        for step in [LIBRARY.to_owned(), LIBRARY.replace("LOAD", "LOAD REPLACE")] {
            let cause = refused(at(&server, workload("theirs", &[&step], &[("PING", 1)])));
            let expected = "setup step 1: the function library answers is on this server already";
            assert!(cause.starts_with(expected), "{cause}");
            assert_eq!((libraries(&server), server.cli(&["DBSIZE"])), (before.clone(), "0".to_owned()));
        }
    }
}

#[test]
fn another_workload_under_load_has_its_setup_run_once() {
    for server in servers() {
        let mut watched = Watched::start(at(&server, Workload::ratio(1, 1))).unwrap();
        watched.wait_for_work("ratio");
        for _ in 0..2 {
            watched.turn(answers());
            watched.wait_for_work("answers");
            watched.turn(Workload::ratio(1, 1));
            watched.wait_for_work("ratio");
        }
        let (requests, ..) = watched.end();
        assert_eq!((requests["SCRIPT|LOAD"], requests["FUNCTION|LOAD"]), (1, 1));
        let made = ["script|load", "function|load"].map(|name| server.calls(&[], name));
        assert_eq!((made, libraries(&server)), ([1, 1], String::new()));
    }
}

#[test]
fn a_setup_is_asked_about_beside_somebody_else() {
    let server = Server::redis().start();
    server.cli(&["SET", "theirs", "1"]);
    let reads = workload("reads", &[SCRIPT, LIBRARY], &[("GET {key}", 1)]);
    for (workload, asked) in [
        (answers(), "the load runs SCRIPT LOAD and FUNCTION LOAD and SET, then writes keys under redyno:"),
        (reads, "the load runs SCRIPT LOAD and FUNCTION LOAD."),
    ] {
        let asks = Commission { is_allowed: false, ..at(&server, workload) };
        let Err(StartError::Asks(_, question)) = Watched::start(asks) else { panic!("it does not ask") };
        assert!(question.contains(asked), "{question}");
    }
    assert_eq!(["script|load", "function|load", "set"].map(|name| server.calls(&[], name)), [0, 0, 1]);
}

/// What a session's control plane does before kill -9.
fn killed(server: &Server) {
    let (news, _) = channel();
    let target = at_port(server.port());
    let control = Control::start(target, Clock::start(), Duration::from_secs(1), news).unwrap();
    let ledger = Ledger::new(RunId::random(), Owner::default());
    let commands =
        answers().setup_commands((Dialect::Resp2, &KeyNames::of_run(ledger.marker().run)), 100, 8, 7);
    let done = control.set_up(commands, &ledger, false).wait(LIMIT).unwrap().unwrap();
    assert_eq!(done.failed, None);
    assert_eq!(ledger.marker().made, [SetupObject::Library("answers".to_owned())]);
}

#[test]
fn what_a_killed_sessions_setup_made_is_reported_and_deleted_by_clean() {
    for server in servers() {
        killed(&server);
        server.cli(&["DEL", &server.cli(&["KEYS", "*total*"])]);
        let port = server.port_text();
        let shown = run(&["-p", &port, "--headless", "--duration", "0.5"]).expect_code(0).err;
        let left = &format!(
            "made the function library answers; `redyno clean -h 127.0.0.1 -p {port}` deletes what it made"
        );
        assert!(shown.contains(left), "{shown}");
        let asked = run(&["clean", "-p", &port]).expect_code(2).err;
        assert!(asked.contains("the function library answers would be deleted"), "{asked}");
        assert!(libraries(&server).contains("answers"));
        // A run of before is in the way of the next, which says what to do.
        let cause = refused(at(&server, answers()));
        assert!(cause.contains("`redyno clean` deletes it"), "{cause}");
        let cleaned = run(&["clean", "-p", &port, "--yes"]).expect_code(0).out;
        assert!(cleaned.contains("deleted the function library answers"), "{cleaned}");
        assert_eq!((libraries(&server), server.cli(&["DBSIZE"])), (String::new(), "0".to_owned()));
    }
}

/// A server before `server` that knows search indexes: FT.* is its own, and all else is asked of that one.
fn with_indexes(server: &Server) -> (Crowd, Arc<Mutex<Vec<String>>>) {
    let (port, log) = (server.port(), Arc::new(Mutex::new(Vec::new())));
    let (indexes, said) = (Mutex::new(BTreeSet::new()), Arc::clone(&log));
    let front = Crowd::start(move |client, _| {
        let mut behind = TcpStream::connect(("127.0.0.1", port)).unwrap();
        while let Some(words) = client.words() {
            let mut indexes = indexes.lock().unwrap();
            let reply = match words[0].as_str() {
                "FT.CREATE" if !indexes.insert(words[1].clone()) => "-Index already exists\r\n",
                "FT.DROPINDEX" if !indexes.remove(&words[1]) => "-Unknown index name\r\n",
                "FT.INFO" if !indexes.contains(&words[1]) => "-Unknown index name\r\n",
                "FT.CREATE" | "FT.DROPINDEX" | "FT.INFO" => "+OK\r\n",
                "COMMAND" => {
                    let asked = words.len() - 2;
                    client.say(&(format!("*{asked}\r\n") + &"*1\r\n+known\r\n".repeat(asked)));
                    continue;
                }
                _ => {
                    drop(indexes);
                    relay(&words, &mut behind, client);
                    continue;
                }
            };
            said.lock().unwrap().push(words[..2].join(" "));
            client.say(reply);
        }
    });
    (front, log)
}

fn relay(words: &[String], behind: &mut TcpStream, client: &mut Client) {
    let words: Vec<_> = words.iter().map(String::as_bytes).collect();
    behind.write_all(&Dialect::Resp2.encode(&words)).unwrap();
    let (mut skipper, mut buffer) = (Dialect::Resp2.skipper(), [0; 4096]);
    loop {
        let n = behind.read(&mut buffer).unwrap();
        client.say_bytes(&buffer[..n]);
        if n == 0 || skipper.next(&mut &buffer[..n]).unwrap().is_some() {
            return;
        }
    }
}

#[test]
fn an_index_that_a_setup_made_is_dropped_at_the_end_or_when_a_later_step_fails() {
    const INDEX: &str = "FT.CREATE posts ON HASH PREFIX 1 post: SCHEMA title TEXT";
    let server = Server::redis().start();
    let (front, said) = with_indexes(&server);
    let at = |steps: &[&str]| {
        commission(plan(at_port(front.port())), knobs(workload("search", steps, &[("GET {key}", 1)])))
    };
    let cause = refused(at(&[INDEX, BROKEN]));
    assert!(cause.starts_with("setup step 2: ERR "), "{cause}");
    let before = ["FT.INFO posts", "FT.CREATE posts", "FT.DROPINDEX posts"];
    assert_eq!(*said.lock().unwrap(), before);

    let mut watched = Watched::start(at(&[INDEX])).unwrap();
    watched.wait_for_work("search");
    let (requests, _, undone) = watched.end();
    assert_eq!(requests["FT.CREATE"], 1);
    assert_eq!(undone, ["redyno: deleted the search index posts"]);
    assert_eq!(said.lock().unwrap()[3..], before);
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}
