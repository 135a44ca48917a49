//! Safe on somebody's server: nothing is written without load and without leave, only keys under redyno's own prefix
//! are, and they are gone at the end whatever the end.

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::TcpStream,
};

use crate::support::{
    Server,
    program::{Running, redyno, run},
};
use rustix::process::Signal;

/// What may reach a server that is only looked at. PING is the probe, SMEMBERS looks for runs of sessions that were killed
/// (and SELECT for those in other databases), INFO to CONFIG GET, CLIENT LIST and COMMANDLOG are the poll; the others
/// introduce a connection.
const READ_ONLY: &str = "ping smembers select info slowlog|get latency|latest latency|histogram config|get client|setname \
    client|id client|list commandlog|get hello";

/// Keys of somebody else, of each kind, some of them under our prefix and as close to our names as can be.
const FOREIGN: [&[&str]; 10] = [
    &["SET", "theirs", "1"],
    &["SET", "redyno", "1"],
    &["SET", "xredyno:1", "1"],
    &["HSET", "redyn:session", "a", "1"],
    &["RPUSH", "list", "a", "b"],
    &["SET", "redyno:foo", "1"],
    &["RPUSH", "redyno:list", "a", "b"],
    &["SADD", "redyno:000000000007", "a"],
    &["SET", "redyno:zzzzzzzz:000000000007", "of a run that is not listed"],
    &["SET", "redyno:zzzzzzzz", "1"],
];

fn with_foreign_keys(server: &Server) {
    for command in FOREIGN {
        server.cli(command);
    }
    server.cli(&["-n", "1", "SET", "redyno:000000000001", "somebody's in another database"]);
}

/// The keys of database 0 and whose they are: our runs are those that are listed.
fn keys(server: &Server) -> (BTreeSet<String>, BTreeSet<String>) {
    let lines =
        |text: String| text.lines().map(str::to_owned).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    let runs = lines(server.cli(&["SMEMBERS", "redyno:runs"]));
    let is_own = |key: &String| {
        key == "redyno:runs"
            || runs
                .iter()
                .any(|run| *key == format!("redyno:{run}") || key.starts_with(&format!("redyno:{run}:")))
    };
    lines(server.cli(&["KEYS", "*"])).into_iter().partition(is_own)
}

fn foreign_keys(server: &Server) -> BTreeSet<String> {
    keys(server).1
}

fn own_keys(server: &Server) -> usize {
    keys(server).0.len()
}

/// What the foreign keys hold, byte by byte.
fn foreign_values(server: &Server) -> Vec<String> {
    let dump = |key: &String| server.cli(&["DUMP", key]);
    foreign_keys(server)
        .iter()
        .map(dump)
        .chain([server.cli(&["-n", "1", "GET", "redyno:000000000001"])])
        .collect()
}

/// The commands that reached the server, by its own statistics.
fn commands(server: &Server) -> BTreeSet<String> {
    let stats = server.cli(&["INFO", "commandstats"]);
    let name = |line: &str| line.strip_prefix("cmdstat_")?.split(':').next().map(str::to_owned);
    stats.lines().filter_map(name).collect()
}

/// A session under load that has written something.
fn loaded(server: &Server, more: &[&str]) -> Running {
    let port = server.port_text();
    let args =
        [&["-p", &port, "--headless", "--json", "--ratio", "1:1", "-c", "10", "-r", "500"], more].concat();
    let running = Running::start(redyno(&args));
    running.wait_for_lines(1, r#""kind":"interval""#);
    assert!(own_keys(server) > 100, "the load has written");
    running
}

#[test]
fn only_keys_under_the_prefix_are_written_and_none_of_them_expires() {
    let server = Server::redis().start();
    for workload in ["cache", "mixed", "set", "incr"] {
        let port = server.port_text();
        let args = ["-p", &port, "--headless", "--json", "--workload", workload, "-r", "500"];
        let running = Running::start(redyno(&args));
        running.wait_for_lines(1, r#""kind":"interval""#);
        assert!(own_keys(&server) > 1, "{workload}");
        assert_eq!(foreign_keys(&server), [].into(), "{workload}");
        let expiring = "local n=0 for _,k in ipairs(redis.call('KEYS','*')) do \
                        if redis.call('PTTL',k) ~= -1 then n=n+1 end end return n";
        assert_eq!(server.cli(&["EVAL", expiring, "0"]), "0", "{workload}");
        running.signal(Signal::INT);
        running.end().expect_code(130);
        assert_eq!(server.cli(&["DBSIZE"]), "0", "{workload}");
    }
}

#[test]
fn the_keys_are_gone_after_every_end_that_leaves_time_for_it() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        with_foreign_keys(&server);
        let before = foreign_values(&server);
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            let running = loaded(&server, &["--yes"]);
            running.signal(signal);
            let outcome = running.end().expect_code(130);
            assert!(outcome.err.contains("removed ") && outcome.err.contains(" keys in "), "{}", outcome.err);
            assert!(!outcome.err.contains(" in 0 "), "{}", outcome.err);
            assert_eq!(own_keys(&server), 0, "after {signal:?}");
        }
        let port = server.port_text();
        run(&["-p", &port, "--headless", "--rate", "1k", "--yes", "--duration", "0.5"]).expect_code(0);
        assert_eq!(own_keys(&server), 0, "after the duration");
        assert_eq!(foreign_values(&server), before);
        assert_eq!(foreign_values(&server).len(), FOREIGN.len() + 1);
    }
}

#[test]
fn what_a_killed_session_left_is_shown_at_the_next_start_and_removed_by_clean() {
    let server = Server::redis().start();
    with_foreign_keys(&server);
    let before = foreign_values(&server);
    let running = loaded(&server, &["--yes"]);
    let pid = running.pid();
    running.signal(Signal::KILL);
    running.end();
    assert!(own_keys(&server) > 100, "nobody was there to remove them");

    let port = server.port_text();
    let looking = run(&["-p", &port, "--headless", "--duration", "0.5"]).expect_code(0);
    let shown =
        format!("process {pid} left its keys here; `redyno clean -h 127.0.0.1 -p {port}` removes them");
    assert!(looking.err.contains(&shown), "{}", looking.err);
    assert!(own_keys(&server) > 100, "looking removes nothing");

    let cleaned = run(&["clean", "-p", &port]).expect_code(0);
    assert!(cleaned.out.contains(&format!("process {pid} left its keys behind")), "{}", cleaned.out);
    assert_eq!((own_keys(&server), foreign_values(&server)), (0, before));
    let looking = run(&["-p", &port, "--headless", "--duration", "0.5"]).expect_code(0);
    assert_eq!(looking.err, "");
}

/// A session that asks for load without `--yes`: it asks, ends with 2, and has written nothing.
fn assert_question(server: &Server, about: &str) {
    let port = server.port_text();
    server.cli(&["CONFIG", "RESETSTAT"]);
    let outcome = run(&["-p", &port, "--headless", "--json", "--load", "--duration", "0.5"]).expect_code(2);
    assert!(outcome.err.contains(about) && outcome.err.contains("Give --yes to go on."), "{}", outcome.err);
    assert_eq!(outcome.out, "");
    let reached = commands(server);
    for write in ["set", "hset", "sadd", "incr", "unlink", "del", "expire"] {
        assert!(!reached.contains(write), "{write} in {reached:?}");
    }
    assert_eq!(own_keys(server), 0);
}

#[test]
fn more_data_than_a_server_may_hold_is_asked_for_before_a_byte_of_it_is_sent() {
    let server = Server::redis().start();
    let port = server.port_text();
    let with = |more: &[&str]| {
        let usual =
            ["-p", &port, "--headless", "--load", "--duration", "0.5", "-c", "1", "--ratio", "1:1000"];
        run(&[&usual[..], more].concat())
    };
    let huge = ["-d", "64k", "-r", "1M"];
    let refused = with(&huge).expect_code(2);
    let shown = "1 M keys of about 64.0 KiB and 64 B of overhead each may fill 61.1 GiB of the server's memory; a server with less memory may";
    assert!(refused.err.contains(shown) && refused.err.contains("Give --yes to go on."), "{}", refused.err);
    assert_eq!((refused.out, server.calls(&[], "set"), own_keys(&server)), (String::new(), 0, 0));
    for fine in [["--yes", ""], ["-n", "5"], ["--rate", "100"]] {
        let fine: Vec<_> = fine.into_iter().filter(|word| !word.is_empty()).collect();
        with(&[&huge[..], &fine].concat()).expect_code(0);
    }
    server.cli(&["CONFIG", "SET", "maxmemory", "16mb"]);
    let refused = with(&["-d", "4k", "-r", "100k"]).expect_code(2);
    assert!(refused.err.contains("are left below maxmemory"), "{}", refused.err);
    let swept = with(&["--sweep", "value size 32,64k"]).expect_code(2);
    assert!(
        swept.err.contains("10 k keys of about 64.0 KiB and 64 B of overhead each may fill 626 MiB"),
        "{}",
        swept.err
    );
}

#[test]
fn a_first_write_beside_somebody_else_is_asked_for() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        server.cli(&["-n", "5", "SET", "theirs", "1"]);
        assert_question(&server, "holds 1 key;");
        server.cli(&["-n", "5", "DEL", "theirs"]);

        let mut other = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        other.write_all(b"PING\r\n").and_then(|()| other.read_exact(&mut [0; 7])).unwrap();
        assert_question(&server, "serves 1 other client;");

        // Leave was given: on it goes, and theirs stays.
        server.cli(&["SET", "theirs", "1"]);
        let port = server.port_text();
        run(&["-p", &port, "--headless", "--rate", "1k", "--duration", "0.5", "--yes"]).expect_code(0);
        assert!(server.calls(&[], "set") > 1);
        assert_eq!(
            (server.cli(&["DBSIZE"]), server.cli(&["GET", "theirs"])),
            ("1".to_owned(), "1".to_owned())
        );
        drop(other);
    }
}

#[test]
fn nobody_is_asked_on_a_server_of_ones_own_or_when_nothing_is_written() {
    let server = Server::redis().start();
    let port = server.port_text();
    run(&["-p", &port, "--headless", "--load", "--duration", "0.3"]).expect_code(0);
    server.cli(&["SET", "theirs", "1"]);
    server.cli(&["CONFIG", "RESETSTAT"]);
    run(&["-p", &port, "--headless", "--workload", "get", "-n", "100"]).expect_code(0);
    let reached = commands(&server);
    assert!(reached.contains("get") && !reached.contains("set") && !reached.contains("hset"), "{reached:?}");
}

#[test]
fn looking_without_load_sends_read_only_commands_and_ping_only() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        with_foreign_keys(&server);
        server.cli(&["CONFIG", "RESETSTAT"]);
        let port = server.port_text();
        run(&["-p", &port, "--headless", "--json", "--duration", "1.5"]).expect_code(0);
        run(&["-p", &port, "--headless", "-3", "--duration", "0.5"]).expect_code(0);
        run(&["-p", &port, "--latency", "-i", "0.2"]).expect_code(0);
        let mut terminal =
            crate::support::terminal::Terminal::start(&redyno(&["-p", &port, "--no-load"]), 100, 30);
        terminal.wait_for_text("load off: redyno sends only PING and read-only commands");
        terminal.press("q");
        assert_eq!(terminal.end().0, Some(0));
        let mut reached = commands(&server);
        // Ours, of this test.
        reached.remove("config|resetstat");
        let allowed: BTreeSet<_> = READ_ONLY.split_whitespace().map(str::to_owned).collect();
        assert!(reached.is_subset(&allowed), "{:?}", reached.difference(&allowed));
        assert!(reached.contains("ping") && reached.contains("info"));
    }
}

#[test]
fn a_session_that_loses_its_server_says_that_keys_may_be_left() {
    let mut server = Server::redis().start();
    let running = loaded(&server, &[]);
    server.kill();
    running.wait_for_lines(1, r#""name":"load lost""#);
    running.signal(Signal::INT);
    let outcome = running.end().expect_code(130);
    assert!(outcome.err.contains("may be left on the server"), "{}", outcome.err);
    let command = format!("`redyno clean -h 127.0.0.1 -p {}` removes them", server.port());
    assert!(outcome.err.contains(&command), "{}", outcome.err);
}

#[test]
fn of_two_sessions_each_removes_its_own_keys() {
    let server = Server::redis().start();
    let port = server.port_text();
    let first = Running::start(redyno(&["-p", &port, "--headless", "--json", "--load", "--rate", "1000"]));
    first.wait_for_lines(1, r#""kind":"interval""#);
    let second =
        run(&["-p", &port, "--headless", "--rate", "1k", "--yes", "--duration", "0.5"]).expect_code(0);
    assert!(second.err.contains("removed "), "{}", second.err);
    assert!(!second.err.contains("left its keys"), "the first one is still at work: {}", second.err);
    assert_eq!(server.cli(&["SCARD", "redyno:runs"]), "1");
    assert!(own_keys(&server) > 2);
    first.signal(Signal::TERM);
    let first = first.end().expect_code(130);
    assert!(first.err.contains("removed"), "{}", first.err);
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}

#[test]
fn keys_that_are_kept_are_listed_and_can_be_used_and_removed() {
    let server = Server::redis().start();
    let port = server.port_text();
    let args = ["-p", &port, "--headless", "--ratio", "1:0", "-r", "50", "-n", "5000", "--seed", "1"];
    let kept = run(&[&args[..], &["--keep"]].concat()).expect_code(0);
    let run_id = server.cli(&["SMEMBERS", "redyno:runs"]);
    let prefix = format!("redyno:{run_id}:");
    let shown = format!(
        "the keys stay under {prefix}; --key-prefix {prefix} uses them again, `redyno clean -h 127.0.0.1 -p {port}` removes"
    );
    assert!(kept.err.contains(&shown), "{}", kept.err);
    assert_eq!(server.cli(&["DBSIZE"]), "52");
    // More of them than the marker knows of.
    let reads =
        ["-p", &port, "--headless", "--key-prefix", &prefix, "--ratio", "1:1", "-r", "200", "-n", "20000"];
    let asked = run(&reads).expect_code(2);
    assert!(asked.err.contains(&format!("keys named {prefix} and a number")), "{}", asked.err);
    let used = run(&[&reads[..], &["--yes"]].concat()).expect_code(0);
    let shown = format!("kept its keys here; `redyno clean -h 127.0.0.1 -p {port}` removes them");
    assert!(used.err.contains(&shown), "{}", used.err);
    assert_eq!(server.cli(&["DBSIZE"]), "202");
    let cleaned = run(&["clean", "-p", &port]).expect_code(0);
    assert!(cleaned.out.contains(&format!("kept its keys under {prefix}")), "{}", cleaned.out);
    assert_eq!(server.cli(&["DBSIZE"]), "0", "{}", cleaned.out);
}

#[test]
fn names_of_a_user_are_asked_about_and_never_removed() {
    let server = Server::valkey().start();
    let port = server.port_text();
    let args =
        ["-p", &port, "--headless", "--key-prefix", "app:", "--ratio", "1:1", "-r", "20", "-n", "1000"];
    let asked = run(&args).expect_code(2);
    assert!(asked.err.contains("overwrites existing values, and does not remove the keys"), "{}", asked.err);
    assert_eq!(server.cli(&["DBSIZE"]), "0");
    run(&[&args[..], &["--yes"]].concat()).expect_code(0);
    let (own, theirs) = keys(&server);
    assert_eq!((own.len(), theirs.len()), (0, 20));
    assert!(theirs.contains("app:000000000019"), "{theirs:?}");
    assert!(run(&["clean", "-p", &port]).expect_code(0).out.contains("nothing to undo"));
    assert_eq!(server.cli(&["DBSIZE"]), "20");
    for (bad, why) in [
        (&["--key-prefix", ""][..], "1 to 512 bytes"),
        (&["--key-prefix", "a", "--keep"], "cannot be used with"),
    ] {
        let outcome = run(&[&["-p", &port, "--headless", "--load"], bad].concat()).expect_code(2);
        assert!(outcome.err.contains(why), "{}", outcome.err);
    }
}

#[test]
fn names_that_stand_in_commands_are_asked_about_and_never_removed() {
    let server = Server::redis().start();
    let port = server.port_text();
    let args = ["-p", &port, "--headless", "-n", "1000"];
    let commands = ["--", "9:", "GET", "foo", ";", "INCR", "my counter"];
    let asked = run(&[&args[..], &commands].concat()).expect_code(2);
    assert!(
        asked.err.contains("runs INCR my counter, which may write to keys that are not its own"),
        "{}",
        asked.err
    );
    assert_eq!(server.cli(&["DBSIZE"]), "0");
    let ended = run(&[&args[..], &["--yes"], &commands].concat()).expect_code(0);
    let line = "redyno removes only keys of this run; INCR my counter may have written other keys\n";
    assert!(ended.err.ends_with(line), "{}", ended.err);
    let times: u32 = server.cli(&["GET", "my counter"]).parse().unwrap();
    assert!((50..150).contains(&times), "{times} of 1000 at a weight of 1 to 9");
    assert_eq!(server.cli(&["DBSIZE"]), "1");
    run(&[&args[..], &["--", "GET", "foo"]].concat()).expect_code(0);
}

#[test]
fn a_marker_lost_under_load_is_renewed_so_that_a_kill_leaves_nothing_unknown() {
    let server = Server::redis().start();
    let running = loaded(&server, &[]);
    server.cli(&["FLUSHALL"]);
    crate::support::wait_for("the marker", || (server.cli(&["SCARD", "redyno:runs"]) == "1").then_some(()));
    running.signal(Signal::KILL);
    running.end();
    crate::support::wait_for("its connections to be gone", || server.load_ids().is_empty().then_some(()));
    assert!(own_keys(&server) > 100);
    run(&["clean", "-p", &server.port_text()]).expect_code(0);
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}

#[test]
fn more_keys_asked_for_under_load_are_in_the_marker_before_they_are_written() {
    let server = Server::redis().start();
    let port = server.port_text();
    let command = redyno(&["-p", &port, "--ratio", "1:0", "-r", "500", "-c", "5"]);
    let mut terminal = crate::support::terminal::Terminal::start(&command, 120, 36);
    terminal.wait_for_text("● LOAD");
    terminal.press(":keys 3000\r");
    crate::support::wait_for("keys beyond the first", || (own_keys(&server) > 1000).then_some(()));
    let run_id = server.cli(&["SMEMBERS", "redyno:runs"]);
    let keys = server.cli(&["HGET", &format!("redyno:{run_id}"), "keys"]);
    assert_eq!(keys, r#"[{"prefix":"","first":0,"count":3000}]"#);
    terminal.press("q");
    assert_eq!(terminal.end().0, Some(0));
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}
