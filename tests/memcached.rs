//! memcached: the same load, the same gate and the same end, against the real one, in its own words.

use std::{net::TcpStream, sync::Arc};

use crate::support::memcached::{ask, asked, end, headless, memcached, stats, target, totals, uri};
use crate::support::{
    program::{Running, redyno, run},
    session::{Driven, events, intervals, plan},
    wait_for,
};
use redyno::{gauge::Gauge, knobs::Knobs, load::LoadPlan, session::Record, workload::Workload};

#[test]
fn the_load_counts_what_the_server_counts_and_leaves_nothing() {
    let server = memcached(&[]);
    for pipeline in ["1", "16"] {
        let before = stats(server.port());
        let more = ["--ratio", "1:1", "-P", pipeline, "--duration", "1", "-r", "500"];
        let outcome = headless(&uri(&server), &more).expect_code(0);
        let records = outcome.records();
        let Record::Session(session) = &records[0] else { panic!("{:?} comes first", records[0]) };
        assert!(session.target.server.starts_with("memcached 1."), "{}", session.target.server);
        let summary = &end(&records).summary;
        assert!(summary.ops > 0 && summary.errors.is_empty(), "{summary:?}");
        assert_eq!(summary.service.count(), summary.ops);
        let after = stats(server.port());
        let added = |name: &str| after[name] - before[name];
        let counted = totals(&records);
        let [hits, misses] = ["get_hits", "get_misses"].map(added);
        assert_eq!(counted["GET"], [added("cmd_get"), hits, misses]);
        assert_eq!(counted["SET"][0], added("cmd_set"));
        assert_eq!(after["curr_items"], 0, "its keys are gone");
        assert!(added("delete_hits") > 0 && outcome.err.contains("removed "), "{}", outcome.err);
        let server_record = records.iter().find_map(|record| match record {
            Record::Server(status) => Some(&status.body),
            _ => None,
        });
        let shown = server_record.expect("what stats says is in the records");
        assert_eq!(
            (shown.name.as_str(), shown.gauges.get(Gauge::MaxMemory)),
            ("memcached", Some(67_108_864.0))
        );
        assert!(
            records.iter().any(|record| matches!(record, Record::Ping(ping) if ping.body.rtt.count() > 0))
        );
    }
}

#[test]
fn its_own_commands_are_asked_and_answered_one_by_one() {
    let server = memcached(&[]);
    let commands = "SET {key} {value} EX 60 ; gets {key} ; gat 60 {key} ; add {key} {value} ; \
        replace {key} {value} ; append {key} x ; prepend {key} x ; cas {key} 1 {value} ; MGET {key} {key} ; \
        touch {key} 60 ; mg {key} v t ; ms {key} {value} T60 ; ma {key} ; md {key} ; DEL {key} ; mn ; version";
    let words: Vec<_> = commands.split(' ').collect();
    let outcome = headless(&uri(&server), &[&["-n", "5000", "--"], words.as_slice()].concat());
    let records = outcome.expect_code(0).records();
    let summary = &end(&records).summary;
    let counted = totals(&records);
    assert_eq!(counted.len(), 17, "{:?}", counted.keys());
    for (name, [ops, ..]) in &counted {
        assert!(*ops > 0 || name == "MA", "{name}");
    }
    // A value is no number: arithmetic on it is the only error.
    let errors: Vec<_> = summary.errors.keys().collect();
    assert_eq!(errors, ["CLIENT_ERROR"], "{errors:?}");
    let stats = stats(server.port());
    assert!(["cas_misses", "cas_badval", "touch_hits"].iter().any(|name| stats[*name] > 0));
    assert_eq!(stats["curr_items"], 0, "its keys are gone");
}

/// A file that reads an item and stores it with its number, over so many keys.
fn reads_and_stores(directory: &std::path::Path, steps: &str, keys: u32) -> String {
    let text = format!(
        "[keys.item]\nprefix = \"item:\"\ncount = {keys}\n[[operation]]\nname = \"both\"\ntogether = \"sequence\"\n\
         steps = {steps}\n[prefill]\nsteps = [\"set {{item}} {{value}}\"]\n"
    );
    let path = directory.join("both.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn cas_sends_the_number_that_its_own_gets_returned() {
    let directory = tempfile::tempdir().unwrap();
    for steps in [
        "[\"gets {item}\", \"cas {item.same} {cas} {value 10..90}\"]",
        "[\"mg {item} v c\", \"ms {item.same} {value} T60 C{cas}\"]",
    ] {
        for (keys, clients, pipeline) in [(7, "1", "1"), (3, "50", "4")] {
            let server = memcached(&[]);
            let file = reads_and_stores(directory.path(), steps, keys);
            let more = ["--workload", &file, "-c", clients, "-P", pipeline, "-n", "5000"];
            let records = headless(&uri(&server), &more).expect_code(0).records();
            let summary = &end(&records).summary;
            assert!(summary.ops == 5000 && summary.errors.is_empty(), "{:?}", summary.errors);
            let stats = stats(server.port());
            let [stored, changed, gone] = ["cas_hits", "cas_badval", "cas_misses"].map(|name| stats[name]);
            assert_eq!(stored + changed + gone, 5000, "{steps}");
            assert_eq!((summary.hits, summary.misses, summary.conflicts), (5000 + stored, gone, changed));
            assert_eq!((changed > 0, gone), (clients != "1", 0), "{steps}: {stored} stored");
        }
    }
}

#[test]
fn a_cas_of_what_is_not_there_or_changed_since_is_no_error() {
    let server = memcached(&[]);
    let commands = "cas {key} 18446744073709551615 {value}";
    let words: Vec<_> = commands.split(' ').collect();
    let more = [&["-r", "5", "-n", "500", "--"], words.as_slice()].concat();
    let records = headless(&uri(&server), &more).expect_code(0).records();
    let summary = &end(&records).summary;
    assert_eq!((summary.ops, summary.misses, summary.conflicts), (500, 500, 0));
    let more =
        [&["-r", "5", "--prefill", "-n", "500", "--", "0:", "set", "{key}", "x", ";"], words.as_slice()];
    let records = headless(&uri(&server), &more.concat()).expect_code(0).records();
    let summary = &end(&records).summary;
    assert!(summary.errors.is_empty(), "{:?}", summary.errors);
    assert_eq!((summary.ops, summary.hits, summary.misses, summary.conflicts), (500, 0, 0, 500));
}

#[test]
fn errors_are_counted_by_their_kind_and_a_key_that_is_not_there_is_a_miss() {
    let server = memcached(&[]);
    let more = [
        "--duration",
        "1",
        "-d",
        "1048576",
        "-c",
        "2",
        "--yes",
        "--",
        "SET",
        "{key}",
        "{value}",
        ";",
        "incr",
        "{key}",
    ];
    let records = headless(&uri(&server), &more).expect_code(0).records();
    let summary = &end(&records).summary;
    let errors: Vec<_> = summary.errors.keys().map(String::as_str).collect();
    assert_eq!(errors, ["SERVER_ERROR"], "an object too large for the cache");
    let counted = totals(&records);
    let [ops, hits, misses] = counted["INCR"];
    let stored = counted.get("SET").map_or(0, |[ops, ..]| *ops);
    assert_eq!((stored, hits), (0, 0));
    assert!(ops > 0 && misses == ops, "{misses} of {ops}");
}

#[test]
fn counters_are_made_by_redis_word_for_counting_and_not_by_its_own() {
    let server = memcached(&[]);
    for (workload, misses) in [(&["--workload", "incr"][..], 0), (&["--", "incr", "{key}"], 500)] {
        let more = [&["-r", "20", "-n", "500"], workload].concat();
        let records = headless(&uri(&server), &more).expect_code(0).records();
        let summary = &end(&records).summary;
        assert!(summary.errors.is_empty(), "{:?}", summary.errors);
        assert_eq!((summary.hits, summary.misses), (500 - misses, misses), "{workload:?}");
        assert_eq!(stats(server.port())["curr_items"], 0, "the counters are gone");
    }
    let counters = ["--key-prefix", "mine:", "-r", "3", "-n", "100", "--", "INCRBY", "{key}", "5"];
    headless(&uri(&server), &[&["--yes"], &counters[..]].concat()).expect_code(0);
    let counted =
        |key: u32| asked(server.port(), &format!("get mine:{key:012}"), "END")[1].parse::<u64>().unwrap();
    assert_eq!((0..3).map(counted).sum::<u64>(), 5 * (100 - 3), "each began at 0");
}

#[test]
fn keys_that_are_read_are_made_before_and_looked_for() {
    let server = memcached(&[]);
    for command in ["gets {key}", "mg {key} v", "touch {key} 60", "gat 60 {key}", "GET {key}"] {
        let words: Vec<_> = command.split(' ').collect();
        let more = [&["-r", "50", "-n", "300", "--prefill", "--"], words.as_slice()].concat();
        let outcome = headless(&uri(&server), &more).expect_code(0);
        let records = outcome.records();
        let summary = &end(&records).summary;
        assert_eq!((summary.ops, summary.hits), (300, 300), "{command}: {}", outcome.err);
        assert_eq!(
            events(&records.iter().cloned().map(Arc::new).collect::<Vec<_>>()),
            ["prefill"],
            "{command}"
        );
        assert_eq!(stats(server.port())["curr_items"], 0, "{command}");
    }
}

#[test]
#[ignore = "long: nine pairs of a real server"]
fn two_settings_are_compared_there_and_its_keys_are_gone_after() {
    let server = memcached(&["-t", "1"]);
    let uri = uri(&server);
    let parts = ["--from", "pipeline 1", "--to", "pipeline 32", "--part", "0.25", "-c", "4", "-r", "100"];
    let args = [&["ab", "-u", &uri], &parts[..]].concat();
    let outcome = Running::start(redyno(&args)).end_of_writing().expect_code(0);
    assert!(outcome.out.contains("\n\nB is better: "), "{}", outcome.out);
    assert_eq!(stats(server.port())["curr_items"], 0);
}

#[test]
fn what_it_does_not_have_is_one_line_before_anything_is_sent() {
    let server = memcached(&[]);
    for (command, expected) in [
        ("HSET {key} f {value}", "'HSET' is no command that redyno has for memcached"),
        ("mg {key} v q", "the quiet flag q"),
        ("DEL {key} {key}", "for memcached write DEL KEY"),
    ] {
        let words: Vec<_> = command.split(' ').collect();
        let outcome = headless(&uri(&server), &[&["--duration", "1", "--"], words.as_slice()].concat());
        let outcome = outcome.expect_code(2);
        assert!(
            outcome.err.contains(expected) && outcome.err.trim_end().lines().count() == 1,
            "{}",
            outcome.err
        );
    }
    let long = "k".repeat(240);
    let outcome = headless(&uri(&server), &["--duration", "1", "--key-prefix", &long]).expect_code(2);
    assert!(outcome.err.contains("a key of memcached has 1 to 250 bytes, not 252"), "{}", outcome.err);
    let stats = stats(server.port());
    assert_eq!([stats["cmd_get"], stats["cmd_set"], stats["cmd_meta"]], [0; 3]);
}

#[test]
fn items_and_other_clients_are_asked_about_and_are_not_touched() {
    let server = memcached(&[]);
    let other = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let asks = |more: &[&str]| headless(&uri(&server), &[&["--duration", "1"], more].concat());
    // It asks itself: a connection that only asks might not be closed yet. Sockets that listen have a state, too.
    let is_client = |line: &&String| line.contains(":state ") && !line.contains("conn_listening");
    wait_for("no client but this one", || {
        let lines = ask(&other, "stats conns", "END");
        (lines.iter().filter(is_client).count() == 1).then_some(())
    });
    let outcome = asks(&[]).expect_code(2);
    assert!(
        outcome.err.contains("serves 1 other client; the load writes keys under redyno:"),
        "{}",
        outcome.err
    );
    drop(other);
    assert_eq!(asked(server.port(), "set mine 0 0 2\r\nhi", "STORED"), ["STORED"]);
    let outcome = asks(&["-d", "64k"]).expect_code(2);
    assert!(
        outcome.err.contains("holds 1 key") && outcome.err.contains("64.0 MiB are left below maxmemory"),
        "{}",
        outcome.err
    );
    assert_eq!(stats(server.port())["cmd_set"], 1, "nothing was written");
    asks(&["--yes"]).expect_code(0);
    assert_eq!(asked(server.port(), "get mine", "END"), ["VALUE mine 0 2", "hi", "END"]);
    assert_eq!(stats(server.port())["curr_items"], 1);
}

#[test]
fn a_server_that_is_killed_and_started_again_is_an_outage_and_no_end() {
    let mut server = memcached(&[]);
    let knobs = Knobs { load: true, workload: Workload::ratio(1, 1), keyspace: 1000, ..Knobs::default() };
    let mut session = Driven::start(&LoadPlan { threads: 2, ..plan(target(&server)) }, knobs);
    session.wait_for_work(1, 50, 1000);
    server.pause();
    session.wait_for("a stall", |records| {
        records.iter().any(|record| matches!(&**record, Record::Interval(i) if i.ops == 0)).then_some(())
    });
    server.resume();
    server.kill();
    let happens = |session: &mut Driven, name: &'static str| {
        session.wait_for(name, |records: &[Arc<Record>]| events(records).contains(&name).then_some(()));
    };
    happens(&mut session, "load lost");
    happens(&mut session, "ping lost");
    server.restart();
    happens(&mut session, "load back");
    happens(&mut session, "ping back");
    session.wait_for("replies again", |records| {
        let is_back =
            |records: &[Arc<Record>]| intervals(records).last().is_some_and(|i| i.clients == 50 && i.ops > 0);
        is_back(records).then_some(())
    });
    let past = session.finish();
    let total: u64 = intervals(&past.records).map(|interval| interval.ops).sum();
    assert_eq!(past.end.summary.ops, total);
}

#[test]
fn latency_is_asked_by_mn() {
    let server = memcached(&[]);
    let outcome = run(&["-u", &uri(&server), "--latency"]).expect_code(0);
    let figures: Vec<f64> = outcome.out.split_whitespace().map(|figure| figure.parse().unwrap()).collect();
    assert!(figures.len() == 4 && figures[0] > 0.0 && figures[3] > 0.0, "{}", outcome.out);
    let before = stats(server.port());
    assert!(before["cmd_get"] == 0 && before["cmd_set"] == 0);
}
