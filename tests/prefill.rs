//! The keys that a workload reads are made before anything is measured: every one, whatever happens, and in no figure of
//! what is measured.

use std::io::Write as _;

use crate::support::{
    Server,
    program::{Running, redyno, run},
};
use redyno::session::{Interval, Record, Segment, SessionEnd};
use rustix::process::Signal;

/// All that a run seen.
struct Outline {
    segments: Vec<Segment>,
    intervals: Vec<Interval>,
    prefills: Vec<String>,
    end: SessionEnd,
}

impl Outline {
    fn of(records: Vec<Record>) -> Self {
        let (mut segments, mut intervals, mut prefills, mut end) = (Vec::new(), Vec::new(), Vec::new(), None);
        for record in records {
            match record {
                Record::Segment(segment) => segments.push(segment),
                Record::Interval(interval) => intervals.push(*interval),
                Record::Event(event) if event.what.name() == "prefill" => {
                    prefills.push(event.what.to_string());
                }
                Record::End(last) => end = Some(*last),
                _ => {}
            }
        }
        Self { segments, intervals, prefills, end: end.expect("an end record") }
    }

    /// Good replies of one segment.
    fn ops(&self, segment: u32) -> u64 {
        self.intervals
            .iter()
            .filter(|interval| interval.segment == segment)
            .map(|interval| interval.ops)
            .sum()
    }
}

/// Runs redyno against `server` and gives what it seen.
fn seen(server: &Server, args: &[&str]) -> Outline {
    let port = server.port_text();
    let usual = ["-p", &port, "--headless", "--json", "--yes"];
    Outline::of(run(&[&usual[..], args].concat()).expect_code(0).records())
}

#[test]
fn every_key_is_made_once_and_what_is_measured_begins_after_that() {
    let server = Server::redis().start();
    let args = ["--workload", "get", "--prefill", "-r", "20k", "-n", "5000", "-c", "20", "--threads", "2"];
    let seen = seen(&server, &args);
    let kinds: Vec<_> =
        seen.segments.iter().map(|segment| segment.prefill.map(|fill| fill.requests)).collect();
    assert_eq!(kinds, [Some(20_000), None]);
    assert_eq!((seen.ops(1), seen.ops(2)), (20_000, 5000));
    let summary = &seen.end.summary;
    assert_eq!((summary.ops, summary.hits, summary.misses), (5000, 5000, 0));
    assert_eq!((server.calls(&[], "set"), server.calls(&[], "get")), (20_000, 5000));
    assert_eq!(seen.prefills.len(), 1);
    assert!(seen.prefills[0].starts_with("20 000 requests answered in "), "{:?}", seen.prefills);
    assert!(seen.prefills[0].ends_with("; all 20 000 keys that were checked exist"), "{:?}", seen.prefills);
    assert_eq!(server.cli(&["DBSIZE"]), "0", "they are the run's own");
}

#[test]
fn the_time_and_the_warm_up_are_those_of_what_is_measured() {
    let server = Server::redis().start();
    let args = [
        "--workload",
        "get",
        "--prefill",
        "-r",
        "1000",
        "--rate",
        "2000",
        "--warmup",
        "0.3",
        "--duration",
        "0.5",
    ];
    let seen = seen(&server, &args);
    let asides: Vec<_> = seen.segments.iter().map(Segment::aside).collect();
    assert_eq!(asides, [Some("prefill"), Some("warm-up"), None]);
    let summary = &seen.end.summary;
    // By the schedule's count, nothing of it while the keys were made or looked for.
    assert!((990..=1010).contains(&summary.due), "{}", summary.due);
    assert_eq!((summary.misses, summary.errors.len()), (0, 0));
    let length_s: f64 = seen.intervals.iter().filter(|i| i.segment == 1).map(|i| i.length_s).sum();
    assert!(length_s > 0.45, "a thousand at that rate take half a second at the least, not {length_s}");
}

#[test]
fn a_table_of_steps_makes_each_set_and_no_prefill_leaves_it_out() {
    let server = Server::valkey().start();
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    let text = r#"
        name = "boards"
        [keys.board]
        prefix = "board:"
        count = 30
        [keys.post]
        prefix = "post:"
        first = 5
        count = 2000
        [[operation]]
        name = "look"
        steps = ["ZSCORE {board} x", "GET {post}"]
        [prefill]
        steps = ["SET {post} {value}", "ZADD {board} 1 x"]
    "#;
    file.write_all(text.as_bytes()).unwrap();
    let path = file.path().to_str().unwrap();
    let filled = seen(&server, &["--workload", path, "-n", "100"]);
    assert_eq!((filled.ops(1), filled.end.summary.ops, filled.end.summary.misses), (2030, 100, 0));
    assert_eq!((server.calls(&[], "set"), server.calls(&[], "zadd")), (2000, 30));
    let empty = seen(&server, &["--workload", path, "-n", "100", "--no-prefill"]);
    assert_eq!((empty.segments.len(), empty.end.summary.misses > 0), (1, true));
    assert_eq!(server.calls(&[], "set"), 2000);
}

#[test]
fn what_is_lost_with_its_connection_is_sent_again() {
    let server = Server::redis().start();
    let port = server.port_text();
    let args = ["-p", &port, "--headless", "--json", "--yes", "--workload", "get", "--prefill", "-r", "30k"];
    // The rate holds for the prefill, too, so that it is not over before the last round.
    let running = Running::start(redyno(&[&args[..], &["-c", "8", "-n", "1000", "--rate", "3k"]].concat()));
    for round in 1..=5 {
        crate::support::wait_for("some keys", || {
            let keys: u64 = server.cli(&["DBSIZE"]).parse().ok()?;
            (keys > round * 500).then_some(())
        });
        // A connection is closed while a write of its client waits: the server answers none meanwhile.
        server.cli(&["CLIENT", "PAUSE", "20000", "WRITE"]);
        crate::support::wait_for("a write that waits", || {
            server.cli(&["CLIENT", "LIST"]).contains(" flags=b ").then_some(())
        });
        server.cli(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
        server.cli(&["CLIENT", "UNPAUSE"]);
    }
    let seen = Outline::of(running.end().expect_code(0).records());
    assert_eq!(seen.ops(1), 30_000, "{:?}", seen.prefills);
    let lost: u64 = seen.intervals.iter().filter(|i| i.segment == 1).flat_map(|i| i.errors.values()).sum();
    assert!(lost > 0, "no request was in flight when its connection was closed");
    assert!(seen.prefills[0].contains("errors: reset "), "{:?}", seen.prefills);
    assert!(seen.prefills[0].ends_with("; all 30 000 keys that were checked exist"), "{:?}", seen.prefills);
    let summary = &seen.end.summary;
    assert_eq!((summary.hits, summary.misses, &summary.errors), (1000, 0, &[].into()));
}

#[test]
fn what_the_server_refuses_is_named_and_not_passed_over() {
    let server =
        Server::redis().with_args(&["--maxmemory", "8mb", "--maxmemory-policy", "noeviction"]).start();
    let seen = seen(&server, &["--workload", "get", "--prefill", "-r", "20k", "-d", "1000", "-n", "100"]);
    let made = seen.ops(1);
    assert!(made > 0 && made < 20_000, "{made}");
    let said = &seen.prefills[0];
    assert!(said.starts_with("only ") && said.contains(&format!("errors: OOM {}", 20_000 - made)), "{said}");
    assert!(said.contains("of 20 000 keys that were checked, only "), "{said}");
}

#[test]
fn a_prefill_that_is_stopped_says_how_far_it_came_and_leaves_nothing() {
    let server = Server::redis().start();
    let port = server.port_text();
    let args =
        ["-p", &port, "--headless", "--yes", "--workload", "get", "--prefill", "-r", "1M", "--rate", "2000"];
    let running = Running::start(redyno(&args));
    running.wait_for_lines(1, "keys/s");
    running.signal(Signal::INT);
    let outcome = running.end();
    assert!(
        outcome.out.contains("segment 1: prefill of 1 M requests, 16 in flight each, "),
        "{}",
        outcome.out
    );
    assert!(outcome.out.contains(" of 1 000 000 requests answered in "), "{}", outcome.out);
    assert!(outcome.out.contains(": not all keys were written\n"), "{}", outcome.out);
    assert!(outcome.err.contains("removed "), "{}", outcome.err);
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}

#[test]
fn a_workload_without_keys_has_none_to_make_and_a_plain_preset_makes_none_by_itself() {
    let server = Server::redis().start();
    let port = server.port_text();
    let refused = run(&["-p", &port, "--workload", "ping", "--prefill"]).expect_code(2).err;
    assert_eq!(refused, "redyno: the workload 'ping' has no keys for a prefill; leave --prefill out\n");
    let plain = seen(&server, &["--workload", "get", "-n", "100"]);
    assert_eq!((plain.segments.len(), plain.end.summary.misses), (1, 100));
}

#[test]
fn names_that_keys_are_only_parts_of_are_made_by_what_writes_them_and_not_looked_for() {
    let server = Server::redis().start();
    let load = ["--prefill", "-r", "500", "-n", "1000", "--", "GET", "app:{key}"];
    let seen = seen(&server, &[&load[..], &[";", "0:SET", "app:{key}", "x"]].concat());
    assert!(
        seen.prefills[0].ends_with(
            "; the keys were not checked: the workload uses their names only as parts of other names"
        ),
        "{:?}",
        seen.prefills
    );
    assert_eq!((seen.ops(1), seen.end.summary.hits, seen.end.summary.misses), (500, 1000, 0));
    let port = server.port_text();
    let refused = run(&[&["-p", &port, "--yes"], &load[..]].concat()).expect_code(2).err;
    assert!(refused.contains("reads its keys 'key' as parts of other names"), "{refused}");
}

#[test]
fn keys_that_are_kept_are_read_by_the_next_run_and_it_leaves_them() {
    let server = Server::redis().start();
    let port = server.port_text();
    let load = ["-p", &port, "--headless", "--yes", "--workload", "get", "-r", "3000", "-n", "2000"];
    let kept = run(&[&load[..], &["--prefill", "--keep"]].concat()).expect_code(0);
    let prefix = kept.err.split("--key-prefix ").nth(1).and_then(|rest| rest.split(' ').next());
    let prefix = prefix.unwrap_or_else(|| panic!("{}", kept.err));
    for _ in 0..2 {
        let seen = seen(&server, &["--workload", "get", "-r", "3000", "-n", "2000", "--key-prefix", prefix]);
        let summary = &seen.end.summary;
        assert_eq!((seen.segments.len(), summary.hits, summary.misses), (1, 2000, 0));
    }
    run(&["clean", "-p", &port, "--yes"]).expect_code(0);
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}

#[test]
fn keys_of_the_workloads_own_names_are_a_users_asked_about_and_never_removed() {
    let server = Server::redis().start();
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    let text = "name = \"users\"\nkeys.user = { prefix = \"user\", count = 20 }\n\
                [[operation]]\nname = \"read\"\nsteps = [\"GET {user}\"]\n[prefill]\nsteps = [\"SET {user} {value}\"]\n";
    file.write_all(text.as_bytes()).unwrap();
    let path = file.path().to_str().unwrap();
    let port = server.port_text();
    let args = ["-p", &port, "--headless", "--workload", path, "--own-names", "-n", "100"];
    let asked = run(&args).expect_code(2).err;
    assert!(asked.contains("writes keys named as the workload says, now up to user000000000019"), "{asked}");
    assert_eq!(server.cli(&["DBSIZE"]), "0");
    let seen = seen(&server, &args[3..]);
    assert_eq!((seen.end.summary.hits, seen.end.summary.misses), (100, 0));
    assert_eq!(server.cli(&["DBSIZE"]), "20");
    assert_eq!(server.cli(&["EXISTS", "user000000000000", "user000000000019"]), "2");
}

#[test]
fn a_load_that_reads_what_is_not_there_says_so_and_what_to_do() {
    let server = Server::redis().start();
    let port = server.port_text();
    let args =
        ["-p", &port, "--headless", "--yes", "--workload", "get", "--rate", "300", "--duration", "5.5"];
    let out = run(&args).expect_code(0).out;
    let seen = "hit rate 0 %: all other reads miss; a miss costs the server less than a hit; --prefill writes the keys before the load";
    assert_eq!(
        out.lines().filter(|line| line.contains(seen)).count(),
        2,
        "once while it runs, and in the summary: {out}"
    );
    let filled = run(&[&args[..], &["--prefill"]].concat()).expect_code(0).out;
    assert!(!filled.contains("hit rate"), "{filled}");
}
