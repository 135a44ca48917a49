//! Cleaning up removes the keys of listed runs and nothing else.

use std::{
    sync::{Arc, mpsc::channel},
    time::Duration,
};

use crate::support::{
    Server,
    session::{Driven, at_port, plan},
    wait_for,
};
use clap::Parser;
use redyno::{
    cli::clean::{CleanArgs, run},
    clock::Clock,
    endpoint::{Address, Target},
    knobs::Knobs,
    load::LoadPlan,
    runner::Failure,
    server::{CleaningResult, Control, Ledger, Marker, Owner},
    workload::{KeyNames, KeyNaming, KeySpan, Keyset, Operation, RunId, Workload},
};

const LIMIT: Duration = Duration::from_secs(30);
const RUN: &str = "4g7k2m9q";

/// 4000 keys and 1 counter of a listed run, and 4003 that only look like it.
fn fill(server: &Server) {
    let script = "for i=0,3999 do redis.call('SET',string.format('redyno:4g7k2m9q:%012d',i),1) \
                  redis.call('SET',string.format('redyno:%012d',i),1) end";
    server.cli(&["EVAL", script, "0"]);
    server.cli(&["SET", "redyno:4g7k2m9q:counter:000000000000", "1"]);
    server.cli(&["SADD", "redyno:runs", RUN, "4g7k*", "nonsense"]);
    let owner = ["started", "2026-11-21T07:08:00Z", "host", "box", "pid", "4711"];
    let keys = r#"[{"prefix":"","first":0,"count":4000},{"prefix":"counter:","first":0,"count":1}]"#;
    server.cli(&[&["HSET", "redyno:4g7k2m9q"], &owner[..], &["keys", keys]].concat());
    server.cli(&["RPUSH", "redyno:list", "a", "b"]);
    server.cli(&["SET", "redyno:zzzzzzzz:000000000000", "of a run that is not listed"]);
    server.cli(&["SET", "redyno:4g7k2m9q:mine", "a name of another form"]);
    assert_eq!(dbsize(server), 8006);
}

/// What is left of that when the run is cleaned up: the list has entries that are none of redyno's.
const LEFT: u64 = 4004;

fn dbsize(server: &Server) -> u64 {
    server.cli(&["DBSIZE"]).parse().unwrap()
}

fn control(server: &Server) -> Control {
    let address = Address::Tcp { host: "127.0.0.1".into(), port: server.port() };
    let (news, _) = channel();
    let target = Target { address, ..Target::default() };
    Control::start(target, Clock::start(), Duration::from_secs(1), news).unwrap()
}

/// The runs that are listed, to be cleaned up.
fn listed(control: &Control) -> Vec<Marker> {
    control.survey().wait(LIMIT).unwrap().unwrap().runs
}

#[derive(Parser)]
#[command(disable_help_flag = true)]
struct Line {
    #[command(flatten)]
    clean: CleanArgs,
}

fn run_clean(args: &[&str]) -> (Result<(), Failure>, String) {
    let args = Line::parse_from([&["redyno"], args].concat()).clean;
    let mut out = Vec::new();
    let result = run(&args, &mut out);
    (result, String::from_utf8(out).unwrap())
}

#[test]
fn exactly_the_keys_of_listed_runs_are_removed_on_redis_and_valkey() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        fill(&server);
        server.cli(&["-n", "1", "SET", "redyno:4g7k2m9q:000000000001", "in another database"]);
        assert_eq!(control(&server).clean_up(), (4001, true));
        assert_eq!(dbsize(&server), LEFT);
        assert_eq!(server.cli(&["EXISTS", "redyno:4g7k2m9q"]), "0");
        assert_eq!(server.cli(&["SISMEMBER", "redyno:runs", RUN]), "0");
        assert_eq!(server.cli(&["-n", "1", "DBSIZE"]), "1");
        assert_eq!(server.cli(&["GET", "redyno:000000000017"]), "1");
        assert_eq!(server.cli(&["LLEN", "redyno:list"]), "2");
    }
}

/// Waits for a whole clean-up.
trait CleanUp {
    fn clean_up(&self) -> (u64, bool);
}

impl CleanUp for Control {
    fn clean_up(&self) -> (u64, bool) {
        let runs = listed(self);
        let cleaning = self.clean(runs.clone());
        let CleaningResult { removed, complete, .. } = cleaning.wait(LIMIT).unwrap().unwrap();
        self.forget_key_names(runs.into_iter().map(Ledger::found).collect()).wait(LIMIT).unwrap().unwrap();
        let progress = cleaning.progress();
        assert_eq!(progress.removed, removed);
        assert!(progress.looked_at <= progress.total.next_multiple_of(1000), "{progress:?}");
        (removed, complete)
    }
}

#[test]
fn a_server_without_unlink_is_cleaned_by_del() {
    let server = Server::redis().with_args(&["--rename-command", "UNLINK", ""]).start();
    fill(&server);
    assert_eq!(control(&server).clean_up(), (4001, true));
    assert!(server.calls(&[], "del") > 0);
    assert_eq!(dbsize(&server), LEFT);
}

#[test]
fn few_keys_on_a_large_server_are_removed_by_their_names_without_a_scan() {
    let server = Server::redis().start();
    server.cli(&["EVAL", "for i=1,200000 do redis.call('SET','user:'..i,1) end", "0"]);
    server.cli(&[
        "EVAL",
        "for i=0,367 do redis.call('SET',string.format('redyno:4g7k2m9q:%012d',i),1) end",
        "0",
    ]);
    server.cli(&["SADD", "redyno:runs", RUN]);
    server.cli(&["HSET", "redyno:4g7k2m9q", "keys", r#"[{"prefix":"","first":0,"count":1000}]"#]);
    let port = server.port_text();
    server.cli(&["CONFIG", "RESETSTAT"]);
    run_clean(&["-p", &port]).0.unwrap();
    assert_eq!((server.calls(&[], "scan"), server.calls(&[], "unlink")), (0, 2));
    assert_eq!(dbsize(&server), 200_000);
}

#[test]
fn more_names_than_keys_are_found_by_a_scan() {
    let server = Server::redis().start();
    fill(&server);
    // Its names are not known any more: the marker was evicted.
    server.cli(&["DEL", "redyno:4g7k2m9q"]);
    server.cli(&["CONFIG", "RESETSTAT"]);
    assert_eq!(control(&server).clean_up(), (4001, true));
    let scans = server.calls(&[], "scan");
    assert!((7..=13).contains(&scans), "{scans}");
    assert_eq!(dbsize(&server), LEFT);
}

#[test]
fn a_stopped_cleaning_says_that_it_is_not_complete_and_leaves_the_marker() {
    let server = Server::redis().start();
    fill(&server);
    let control = control(&server);
    let runs = listed(&control);
    server.pause();
    let cleaning = control.clean(runs);
    cleaning.stop();
    server.resume();
    let cleaned = cleaning.wait(LIMIT).unwrap().unwrap();
    assert!(!cleaned.complete, "{cleaned:?}");
    assert_eq!(server.cli(&["EXISTS", "redyno:4g7k2m9q"]), "1");
    assert_eq!(control.clean_up(), (4001 - cleaned.removed, true));
}

#[test]
fn the_command_says_whose_keys_it_removed_and_later_that_there_is_nothing() {
    let server = Server::valkey().start();
    fill(&server);
    let port = server.port_text();
    let (result, said) = run_clean(&["-p", &port]);
    result.unwrap();
    let place = format!("127.0.0.1:{port} db 0: ");
    let expected = format!(
        "{place}a session begun 2026-11-21T07:08:00Z on host box, process 4711 left its keys behind under \
         redyno:4g7k2m9q:\n{place}removed 4 001 keys in "
    );
    assert!(said.starts_with(&expected), "{said}");
    assert!(!said.contains(" in 0 "), "{said}");
    let (result, said) = run_clean(&["-p", &port]);
    result.unwrap();
    assert_eq!(said, format!("{place}nothing to undo, since no run of redyno is recorded there\n"));
}

#[test]
fn a_session_at_work_is_not_robbed_without_yes() {
    let server = Server::redis().start();
    fill(&server);
    let mut load = std::net::TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    std::io::Write::write_all(&mut load, b"CLIENT SETNAME redyno-load\r\n").unwrap();
    wait_for("the load's name", || server.cli(&["CLIENT", "LIST"]).contains("redyno-load").then_some(()));
    let port = server.port_text();
    let (result, _) = run_clean(&["-p", &port]);
    let error = result.unwrap_err();
    assert!(error.to_string().contains("(1 connection)"), "{error}");
    assert_eq!((error.exit_code(), dbsize(&server)), (1, 8006));
    run_clean(&["-p", &port, "--yes"]).0.unwrap();
    assert_eq!(dbsize(&server), LEFT);
}

#[test]
fn bad_usage_and_an_absent_server_have_their_exit_codes() {
    // Whoever parses here would end this process.
    crate::support::program::run(&["clean", "-p", "0"]).expect_code(2);
    let absent = run_clean(&["-p", &crate::support::free_port().to_string()]).0.unwrap_err();
    assert!(absent.to_string().contains("nothing listens"), "{absent}");
    assert_eq!(absent.exit_code(), 1);
}

#[test]
fn a_marker_alone_is_removed_too() {
    let server = Server::redis().start();
    let control = control(&server);
    let ledger = Ledger::new(RunId::random(), Owner::default());
    ledger.add_keys(KeySpan::from_iter([(String::new(), 0..10)]), false);
    control.mark(&ledger).wait(LIMIT).unwrap().unwrap();
    assert_eq!(dbsize(&server), 2);
    assert!(control.clean(vec![ledger.marker()]).wait(LIMIT).unwrap().unwrap().complete);
    control.forget_key_names(vec![ledger]).wait(LIMIT).unwrap().unwrap();
    assert_eq!(dbsize(&server), 0);
}

/// Posts from 100 on, as many as the knob says, and one board.
fn sets_of_keys() -> Arc<Workload> {
    let keys =
        |prefix: &str, first, count| Keyset { prefix: prefix.to_owned(), first, count, ..Keyset::default() };
    let sets = [("post", keys("post:", 100, None)), ("board", keys("{b} of 7", 0, Some(1)))];
    let operations = vec![
        Operation::command("SET {post} {value}", 2),
        Operation {
            name: "rank".to_owned(),
            weight: 1,
            steps: vec!["APPEND {post} x".to_owned(), "ZADD {board} 1 {post.same}".to_owned()],
            ..Operation::default()
        },
    ];
    let keys = sets.map(|(name, keys)| (name.to_owned(), keys)).into();
    Arc::new(Workload { name: "posts".to_owned(), keys, operations, ..Workload::default() })
}

/// A session of these knobs as kill -9 leaves it: its marker stands, its keys too.
fn leave(server: &Server, knobs: &Knobs, least: u64) -> String {
    let run = RunId::random();
    let (control, ledger) = (control(server), Ledger::new(run, Owner::default()));
    ledger.add_keys(KeySpan::written_by(&knobs.workload, knobs.keyspace), false);
    control.mark(&ledger).wait(LIMIT).unwrap().unwrap();
    let plan = LoadPlan { names: KeyNames::of_run(run), ..plan(at_port(server.port())) };
    let mut session = Driven::start(&plan, knobs.clone());
    session.wait_for_work(1, 50, least);
    assert!(session.finish().errors().is_empty());
    run.to_string()
}

#[test]
fn a_users_sets_of_keys_are_cleaned_exactly_by_their_names_and_by_a_scan() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        server.cli(&["EVAL", "for i=1,20000 do redis.call('SET','user:'..i,1) end", "0"]);
        for (keyspace, by_names) in [(200, true), (1_000_000, false)] {
            let knobs = Knobs { load: true, workload: sets_of_keys(), keyspace, ..Knobs::default() };
            let run = leave(&server, &knobs, 2000);
            let own = |key: &str| format!("redyno:{run}:{key}");
            assert_eq!(server.cli(&["EXISTS", &own("{b} of 7000000000000")]), "1");
            let last = format!("post:{:012}", 100 + keyspace);
            let theirs = [&last, "post:000000000099", "{b} of 7000000000001", "000000000100"].map(own);
            theirs.iter().for_each(|key| drop(server.cli(&["SET", key, "theirs"])));
            server.cli(&["CONFIG", "RESETSTAT"]);
            run_clean(&["-p", &server.port_text()]).0.unwrap();
            assert_eq!(server.calls(&[], "scan") == 0, by_names);
            assert_eq!(dbsize(&server), 20_004);
            let deleted = [&["DEL"], &theirs.each_ref().map(String::as_str)[..]].concat();
            assert_eq!(server.cli(&deleted), "4");
        }
    }
}

#[test]
fn a_key_of_another_type_at_the_name_of_the_list_or_a_marker_is_somebodys() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        server.cli(&["SET", "redyno:runs", "mine"]);
        let control = control(&server);
        let ledger = Ledger::found(Marker::new(RUN.parse().unwrap(), Owner::default()));
        ledger.add_keys(KeySpan::from_iter([(String::new(), 0..10)]), false);
        let refused = control.mark(&ledger).wait(LIMIT).unwrap().unwrap_err();
        assert!(refused.to_string().contains("redyno:runs on this server has another type"), "{refused}");
        assert_eq!((server.cli(&["GET", "redyno:runs"]), dbsize(&server)), ("mine".to_owned(), 1));
        let port = server.port_text();
        let (result, _) = run_clean(&["-p", &port]);
        assert!(result.unwrap_err().to_string().contains("redyno did not change this key"));

        server.cli(&["DEL", "redyno:runs"]);
        server.cli(&["SADD", "redyno:runs", RUN]);
        server.cli(&["SET", "redyno:4g7k2m9q", "mine"]);
        run_clean(&["-p", &port]).0.unwrap();
        assert_eq!((server.cli(&["GET", "redyno:4g7k2m9q"]), dbsize(&server)), ("mine".to_owned(), 1));
    }
}

/// A workload whose set of users grows, by names that are hashes, as YCSB inserts records.
fn users_that_grow() -> Arc<Workload> {
    let keys = Keyset { prefix: "user".to_owned(), digits: 1, naming: KeyNaming::Ycsb, ..Keyset::default() };
    let keys = [("user".to_owned(), keys)].into();
    let operations = vec![
        Operation::command("SET {user} {value}", 1),
        Operation { name: "insert".to_owned(), ..Operation::command("SET {user.new} {value}", 1) },
    ];
    Arc::new(Workload { name: "users".to_owned(), keys, operations, ..Workload::default() })
}

#[test]
fn a_set_that_grew_is_cleaned_as_far_as_it_grew() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        server.cli(&["SET", "user1", "mine"]);
        let knobs = Knobs { load: true, workload: users_that_grow(), keyspace: 10, ..Knobs::default() };
        let run = leave(&server, &knobs, 100);
        assert!(dbsize(&server) > 50, "it grew: {}", dbsize(&server));
        let theirs = format!("redyno:{run}:user01");
        server.cli(&["SET", &theirs, "theirs"]);
        run_clean(&["-p", &server.port_text()]).0.unwrap();
        assert_eq!(dbsize(&server), 2, "what has not the form of a hash is somebody's");
        assert_eq!(server.cli(&["DEL", "user1", &theirs]), "2");
    }
}
