//! `redyno memtier`'s promise: its command line asks what memtier_benchmark would ask, to the request, and its table and JSON
//! tell that as memtier_benchmark tells it.

use std::{collections::BTreeMap, fs, os::unix::fs::symlink, process::Command};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{
    Server,
    certificates::TlsServer,
    free_port,
    nodes::Nodes,
    program::{Outcome, Running, redyno, run},
};

/// What it does with these words, and what its JSON says.
fn measured(words: &str) -> (Outcome, Value) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memtier.json");
    let mut command = redyno(&["memtier", "--hide-histogram", "--json-out-file"]);
    command.arg(&path).args(words.split_whitespace());
    let outcome = Running::start(command).end().expect_code(0);
    let json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    (outcome, json)
}

/// The same against a server whose counts begin anew, and how often it carried out each command.
fn asked(server: &Server, words: &str) -> (Outcome, Value, BTreeMap<String, u64>) {
    server.cli(&["CONFIG", "RESETSTAT"]);
    let (outcome, json) = measured(&format!("-p {} {words}", server.port()));
    let stats = server.cli(&["INFO", "commandstats"]);
    let calls = stats.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((name.to_owned(), rest.split(',').next()?.parse().unwrap()))
    });
    let calls = calls.filter(|(name, _)| name != "config|resetstat").collect();
    (outcome, json, calls)
}

fn calls(named: &[(&str, u64)]) -> BTreeMap<String, u64> {
    named.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()
}

fn figure(json: &Value, row: &str, name: &str) -> f64 {
    json["ALL STATS"][row][name].as_f64().unwrap_or_else(|| panic!("{row} has no {name}: {json}"))
}

/// The names of the server's keys without their prefix, in order.
fn numbers(server: &Server, prefix: &str) -> Vec<u64> {
    let keys = server.cli(&["KEYS", "*"]);
    let number = |key: &str| key.strip_prefix(prefix).unwrap().parse().unwrap();
    let mut numbers: Vec<_> = keys.lines().map(number).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn each_client_sends_its_requests_in_their_ratio_and_nothing_else() {
    let server = Server::redis().start();
    let words = "-n 100 -c 3 -t 2 --key-prefix k: --key-minimum 5 --key-maximum 9";
    let (outcome, json, asked_for) = asked(&server, words);
    // A hundred requests of one client are nine times a SET and ten GETs, and a SET.
    assert_eq!(asked_for, calls(&[("set", 6 * 10), ("get", 6 * 90)]));
    assert_eq!(numbers(&server, "k:"), [5, 6, 7, 8, 9]);
    assert_eq!(server.cli(&["GET", "k:7"]), "x".repeat(32));
    assert_eq!((figure(&json, "Sets", "Count"), figure(&json, "Gets", "Count")), (60.0, 540.0));
    assert_eq!(figure(&json, "Totals", "Count"), 600.0);
    assert_eq!(json["run information"]["Requests per client"], 100);
    let lines: Vec<_> = outcome.out.lines().collect();
    assert_eq!(
        lines[..3],
        ["2         Threads", "3         Connections per thread", "100       Requests per client"]
    );
    assert!(
        outcome.err.contains("[RUN #1 100%,   0 secs]  2 threads  3 conns:         600 ops, "),
        "{}",
        outcome.err
    );
    let (_, _, asked_for) = asked(&server, "-n 25 -c 2 -t 2 --pipeline 10 --ratio 3:1 -d 5");
    assert_eq!(asked_for, calls(&[("set", 4 * 19), ("get", 4 * 6)]));
}

#[test]
fn all_keys_are_each_key_once_where_clients_have_parts_and_each_key_of_each_client_else() {
    let server = Server::redis().start();
    let words = "-n allkeys --ratio 1:0 --key-minimum 3 --key-maximum 1005 -c 7 -t 2";
    let (outcome, _, asked_for) = asked(&server, &format!("{words} --key-pattern P:P"));
    assert_eq!(asked_for, calls(&[("set", 1003)]));
    assert!(numbers(&server, "memtier-").into_iter().eq(3..=1005));
    assert!(outcome.out.starts_with("setting requests to 72\n"), "{}", outcome.out);
    server.cli(&["FLUSHALL"]);
    let (_, _, asked_for) = asked(&server, &format!("{words} --key-pattern S:S --pipeline 4"));
    assert_eq!(asked_for, calls(&[("set", 14 * 1003)]));
    assert!(numbers(&server, "memtier-").into_iter().eq(3..=1005));
}

#[test]
fn hits_and_misses_are_those_of_the_replies() {
    let server = Server::redis().start();
    asked(&server, "-n allkeys --ratio 1:0 --key-pattern P:P --key-minimum 1 --key-maximum 10 -c 1 -t 1");
    let walk = "--ratio 0:1 --key-pattern S:S --key-minimum 1 --key-maximum 40 -n 40 -c 1 -t 1";
    let (outcome, json, _) = asked(&server, walk);
    let found = |json: &Value| ["Ops/sec", "Hits/sec", "Misses/sec"].map(|name| figure(json, "Gets", name));
    let [ops, hits, misses] = found(&json);
    assert!(
        (hits / ops - 0.25).abs() < 0.001 && (misses / ops - 0.75).abs() < 0.001,
        "{ops} {hits} {misses}"
    );
    assert_eq!(found(&json).map(|per_s| format!("{per_s:.2}")), found_in(&outcome.out, "Gets"));
    let (_, json, asked_for) =
        asked(&server, &walk.replace("0:1", "0:8").replace("-n 40", "-n 5 --multi-key-get 8"));
    let [ops, hits, misses] = found(&json);
    assert_eq!(asked_for, calls(&[("mget", 5)]));
    assert!((hits / ops - 2.0).abs() < 0.01 && (misses / ops - 6.0).abs() < 0.01, "{ops} {hits} {misses}");
}

/// The first three figures of a row of the table.
fn found_in(out: &str, row: &str) -> [String; 3] {
    let line = out.lines().find(|line| line.starts_with(row)).unwrap();
    let mut figures = line.split_whitespace().skip(1).map(str::to_owned);
    [(); 3].map(|()| figures.next().unwrap())
}

#[test]
fn several_keys_at_a_time_are_as_many_as_the_ratio_leaves() {
    let server = Server::redis().start();
    let (_, _, asked_for) =
        asked(&server, "--ratio 1:10 --multi-key-get 4 -n 40 -c 1 -t 1 --expiry-range 100-200");
    assert_eq!(asked_for, calls(&[("setex", 10), ("mget", 30)]));
    let first = server.cli(&["RANDOMKEY"]);
    let ttl: u64 = server.cli(&["TTL", &first]).parse().unwrap();
    assert!((90..=200).contains(&ttl), "{ttl}");
}

#[test]
fn objects_are_written_and_read_from_an_offset_on() {
    let server = Server::redis().start();
    let (outcome, _, asked_for) =
        asked(&server, "-n 11 -c 1 -t 1 -d 5 --data-offset 7 --key-minimum 3 --key-maximum 3");
    assert_eq!(asked_for, calls(&[("setrange", 1), ("getrange", 10)]));
    assert_eq!(server.cli(&["GETRANGE", "memtier-3", "7", "-1"]).trim_end(), "xxxxx");
    assert!(outcome.out.contains("\nSets "), "{}", outcome.out);
}

#[test]
fn bytes_are_counted_by_row_and_by_second() {
    let server = Server::redis().start();
    let words = "-n 110 -c 2 -t 1 --key-minimum 10 --key-maximum 99 -d 100 --key-pattern P:P";
    let (_, json, _) = asked(&server, words);
    let bytes = |row: &str, name: &str| -> u64 {
        let seconds = json["ALL STATS"][row]["Time-Serie"].as_object().unwrap();
        seconds.values().map(|second| second[name].as_u64().unwrap()).sum()
    };
    let set = "*3\r\n$3\r\nSET\r\n$10\r\nmemtier-10\r\n$100\r\n".len() as u64 + 100 + 2;
    let get = "*2\r\n$3\r\nGET\r\n$10\r\nmemtier-10\r\n".len() as u64;
    assert_eq!((bytes("Sets", "Bytes TX"), bytes("Gets", "Bytes TX")), (20 * set, 200 * get));
    assert_eq!(bytes("Sets", "Bytes RX"), 20 * "+OK\r\n".len() as u64);
    assert_eq!(bytes("Totals", "Bytes RX"), bytes("Sets", "Bytes RX") + bytes("Gets", "Bytes RX"));
    assert_eq!(bytes("Totals", "Count"), 220);
    let sum = figure(&json, "Sets", "KB/sec") + figure(&json, "Gets", "KB/sec");
    assert!((sum - figure(&json, "Totals", "KB/sec")).abs() < 0.05);
}

#[test]
fn commands_of_ones_own_are_sent_by_their_ratio_and_have_rows_of_their_own() {
    let server = Server::redis().start();
    let mut command = redyno(&["memtier", "-p", &server.port_text(), "-n", "8", "-c", "2", "-t", "1"]);
    command.args(["--hide-histogram", "--key-minimum", "1", "--key-maximum", "3", "-d", "4"]);
    command.args(["--command", "hset h:__key__:a 'a field' __data__", "--command-key-pattern", "S"]);
    command.args(["--command=hget h:__key__:a {x}", "--command-ratio=3"]);
    let outcome = Running::start(command).end().expect_code(0);
    let stats = server.cli(&["INFO", "commandstats"]);
    let count = |command: &str| crate::support::calls(&stats, command);
    assert_eq!((count("hset"), count("hget")), (4, 12));
    assert_eq!(server.cli(&["HGETALL", "h:memtier-1:a"]), "a field\nxxxx");
    assert_eq!(
        server.cli(&["EXISTS", "h:memtier-2:a", "h:memtier-3:a"]),
        "1",
        "each client begins at the first"
    );
    let rows: Vec<_> = outcome.out.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(rows[rows.len() - 3..], ["Hsets", "Hgets", "Totals"]);
}

#[test]
fn a_connection_is_made_and_greeted_as_it_is_asked_for() {
    let server = Server::redis().start();
    server.cli(&["ACL", "SETUSER", "ann", "on", ">pw", "~*", "+@all"]);
    let received = || {
        let stats = server.cli(&["INFO", "stats"]);
        let line = stats.lines().find_map(|line| line.strip_prefix("total_connections_received:")).unwrap();
        line.trim().parse::<u64>().unwrap()
    };
    server.cli(&["CONFIG", "RESETSTAT"]);
    let before = received();
    let words = "-a ann:pw --select-db 3 -P resp3 -n 100 -c 2 -t 1 --reconnect-interval 10 --wait-ratio 1:1 --ratio 1:3";
    measured(&format!("-S {} {words}", server.socket().display()));
    assert_eq!(received() - before, 2 * 10 + 1, "beside the one that asks");
    let stats = server.cli(&["INFO", "commandstats"]);
    let count = |command: &str| crate::support::calls(&stats, command);
    assert_eq!([count("auth"), count("select"), count("hello")], [20; 3]);
    assert_eq!([count("wait"), count("set"), count("get")], [24, 44, 132]);
    assert_eq!(server.cli(&["DBSIZE"]), "0");
    assert_ne!(server.cli(&["-n", "3", "DBSIZE"]), "0");
}

#[test]
fn memcached_is_asked_in_its_own_words() {
    let server = Server::memcached().start();
    let port = server.port();
    let words = "-P memcache_text -n 110 -c 2 -t 2 --key-maximum 50 --expiry-range 100-200";
    let (_, json) = measured(&format!("-p {port} {words}"));
    let stats = crate::support::memcached::stats(port);
    assert_eq!((stats["cmd_set"], stats["cmd_get"]), (40, 400));
    let share = figure(&json, "Gets", "Hits/sec") / figure(&json, "Gets", "Ops/sec");
    assert!((share - stats["get_hits"] as f64 / 400.0).abs() < 0.001, "{share}");
    assert!(stats["get_misses"] > 0);
    measured(&format!("-u memcached://127.0.0.1:{port} --ratio 0:4 --multi-key-get 4 -n 10 -c 1 -t 1"));
    assert_eq!(crate::support::memcached::stats(port)["cmd_get"], 400 + 40);
}

#[test]
fn on_a_cluster_all_primaries_get_what_one_server_would_get() {
    let nodes = Nodes::start(Server::redis, false);
    let words = |words: &str| format!("--cluster-mode -p {} {words}", nodes.0[1].port());
    let all =
        "-n allkeys --ratio 1:0 --key-pattern P:P --key-minimum 1 --key-maximum 1000 -c 3 -t 2 --pipeline 4";
    let (outcome, json) = measured(&words(all));
    assert_eq!((nodes.calls("set"), figure(&json, "Sets", "Count")), (1000, 1000.0));
    let keys: u64 = nodes.0.iter().map(|node| node.cli(&["DBSIZE"]).parse::<u64>().unwrap()).sum();
    assert_eq!(keys, 1000);
    let head = outcome.out.lines().find(|line| line.starts_with("Type")).unwrap();
    let columns = ["Type", "Ops/sec", "Hits/sec", "Misses/sec", "MOVED/sec", "ASK/sec"];
    assert_eq!(head.split_whitespace().take(6).collect::<Vec<_>>(), columns);
    assert!(json["ALL STATS"]["Sets"]["MOVED/sec"].is_null());
    assert_eq!(figure(&json, "Totals", "MOVED/sec") + figure(&json, "Totals", "ASK/sec"), 0.0);
    let (_, json) = measured(&words("-n 100 -c 3 -t 2 --command time"));
    assert_eq!(json["run information"]["Requests per client"], 100);
    assert_eq!(nodes.calls("time"), 600);
    assert!(nodes.0.iter().all(|node| node.calls(&[], "time") >= 150), "a command without a key goes to all");
    let alone = Server::redis().start();
    let refused = run(&["memtier", "--cluster-mode", "-p", &alone.port_text()]).expect_code(1);
    let line = "error: the server refused CLUSTER SLOTS: ERR This instance has cluster support disabled\n";
    assert_eq!((refused.out.as_str(), refused.err.as_str()), ("", line));
}

#[test]
fn a_run_by_time_and_several_runs_are_reported_as_such() {
    let server = Server::redis().start();
    let (outcome, json, _) =
        asked(&server, "--test-time 1 -c 1 -t 2 -R --data-size-range 10-20 --rate-limiting 100");
    assert!(
        outcome.out.starts_with("2         Threads\n1         Connections per thread\n1         Seconds\n")
    );
    assert_eq!(json["run information"]["Seconds"], 1);
    let per_s = figure(&json, "Totals", "Ops/sec");
    assert!(per_s > 100.0 && per_s < 210.0, "{per_s} a second of two connections");
    let length: u64 = server.cli(&["STRLEN", &server.cli(&["RANDOMKEY"])]).parse().unwrap();
    assert!((10..=20).contains(&length), "{length}");
    let (outcome, json, asked_for) =
        asked(&server, "-x 2 --print-all-runs -n 10 -c 1 -t 1 --print-percentiles 50,90");
    assert_eq!(asked_for, calls(&[("set", 2), ("get", 18)]));
    let titles = ["RUN #1 RESULTS", "RUN #2 RESULTS", "BEST RUN RESULTS", "WORST RUN RESULTS"];
    for title in titles.into_iter().chain(["AGGREGATED AVERAGE RESULTS (2 runs)"]) {
        assert!(outcome.out.contains(&format!("\n{title}\n=====")), "{}", outcome.out);
        assert!(json[title]["Totals"]["Percentile Latencies"]["p90.00"].is_number(), "{json}");
    }
}

#[test]
fn what_is_refused_is_a_line_and_exit_code_2() {
    for (words, expected) in [
        (&["--zz"][..], "redyno memtier: unrecognized option '--zz'\n"),
        (&["-n", "0"], "error: requests must be greater than zero.\n"),
        (
            &["-P", "memcache_binary"],
            "error: memcache_binary is not supported by redyno memtier: give -P memcache_text, memcached's text protocol.\n",
        ),
    ] {
        let outcome = run(&[&["memtier"], words].concat()).expect_code(2);
        assert_eq!((outcome.out.as_str(), outcome.err.as_str()), ("", expected));
    }
    let version = run(&["memtier", "--version"]).expect_code(0).out;
    assert_eq!(version, concat!("redyno memtier ", env!("CARGO_PKG_VERSION"), "\n"));
    assert!(run(&["memtier", "--help"]).expect_code(0).out.contains("Deliberate differences:"));
}

#[test]
fn a_server_that_is_not_there_or_lets_nobody_in_ends_it() {
    let server = Server::redis().with_args(&["--requirepass", "pw"]).start();
    let nobody = free_port();
    for (words, expected) in [
        (format!("-p {nobody}"), format!("127.0.0.1:{nobody}: connection error: ")),
        (format!("-p {} -a wrong", server.port()), "error: authentication failed [-WRONGPASS".to_owned()),
    ] {
        let words: Vec<_> = ["memtier"].into_iter().chain(words.split(' ')).collect();
        let outcome = run(&words).expect_code(1);
        let last = outcome.err.lines().last().unwrap();
        assert!(last.starts_with(&expected), "{last}");
        assert_eq!(outcome.out, "");
    }
}

#[test]
fn only_the_versions_of_tls_that_are_named_are_spoken() {
    let (authority, server) = TlsServer::usual(&["--tls-protocols", "TLSv1.2"]);
    for (protocols, code, expected) in [
        ("TLSv1.2", 0, ""),
        ("TLSv1.3,TLSv1.2", 0, ""),
        ("TLSv1.3", 1, "have no TLS version or cipher in common"),
        ("TLSv1.1,TLSv1.2", 2, "error: --tls-protocols must be TLSv1.2, TLSv1.3 or both: "),
    ] {
        let words =
            ["memtier", "-p", &server.port_text(), "--tls", "--cacert", &authority.path(), "--tls-protocols"];
        let outcome = run(&[&words[..], &[protocols, "-n", "5", "-c", "1", "-t", "1"]].concat());
        assert!(outcome.expect_code(code).err.contains(expected), "{protocols}");
    }
}

#[test]
fn an_error_of_the_server_is_reported_once_and_counted_apart() {
    let server = Server::redis().start();
    server.cli(&["SET", "memtier-1", "text"]);
    let mut command = redyno(&["memtier", "-p", &server.port_text(), "-n", "5", "-c", "1", "-t", "1"]);
    command.args([
        "--command",
        "lpush __key__ x",
        "--key-minimum",
        "1",
        "--key-maximum",
        "1",
        "--hide-histogram",
    ]);
    let outcome = Running::start(command).end().expect_code(1);
    assert_eq!(outcome.err.matches("handle error response: -WRONGTYPE ").count(), 1, "{}", outcome.err);
    let end = "5 requests failed: WRONGTYPE\nerror: no request succeeded\n";
    assert!(outcome.err.ends_with(end), "{}", outcome.err);
    assert!(outcome.out.contains("Totals          0.00 "), "{}", outcome.out);
}

#[test]
fn what_was_measured_is_reported_when_it_is_interrupted_or_the_server_goes() {
    let mut server = Server::redis().start();
    let begin = |server: &Server, more: &str| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("json");
        let mut command =
            redyno(&["memtier", "-p", &server.port_text(), "-c", "2", "-t", "1", "--test-time", "600"]);
        command.arg("--memtier-json").arg(&path).args(more.split_whitespace());
        server.cli(&["CONFIG", "RESETSTAT"]);
        let running = Running::start(command);
        crate::support::wait_for("a load", || (server.calls(&[], "get") > 1000).then_some(()));
        (running, directory, path)
    };
    let (running, _directory, path) = begin(&server, "");
    running.signal(Signal::INT);
    let outcome = running.end().expect_code(0);
    let json: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert_eq!(json["ALL STATS"]["Runtime"]["Interrupted"], "true");
    assert!(figure(&json, "Totals", "Count") > 1000.0);
    assert!(outcome.err.contains("Interrupted by user (Ctrl+C)") && outcome.out.contains("ALL STATS"));
    let (running, _directory, _) = begin(&server, "");
    let port = server.port();
    server.kill();
    let outcome = running.end().expect_code(1);
    assert!(outcome.out.contains("ALL STATS"));
    let last = outcome.err.lines().last().unwrap();
    assert!(last.starts_with(&format!("127.0.0.1:{port}: connection error: ")), "{last}");
    let mut server = Server::redis().start();
    let attempts = "--reconnect-on-error --max-reconnect-attempts 2 --reconnect-backoff-factor 1.5";
    let (running, _directory, _) = begin(&server, attempts);
    server.kill();
    let outcome = running.end().expect_code(1);
    assert!(outcome.err.contains(", attempting reconnection...\n"), "{}", outcome.err);
    assert!(outcome.err.ends_with("\nMaximum reconnection attempts (2) exceeded.\n"), "{}", outcome.err);
}

#[test]
fn through_a_link_it_is_memtier_benchmark() {
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("memtier_benchmark");
    symlink(env!("CARGO_BIN_EXE_redyno"), &link).unwrap();
    let server = Server::valkey().start();
    let mut command = Command::new(&link);
    command.args(["-p", &server.port_text(), "-n", "11", "-c", "1", "-t", "1", "--hide-histogram"]);
    let outcome = Running::start(command).end().expect_code(0);
    assert!(outcome.out.contains("\nALL STATS\n===="), "{}", outcome.out);
    let version = Command::new(&link).arg("--version").output().unwrap().stdout;
    assert!(version.starts_with(b"memtier_benchmark v=255.255.255 sha=2f74d611:0 (redyno "));
    let mut command = Command::new(&link);
    command.arg("--zz");
    let outcome = Running::start(command).end().expect_code(2);
    assert_eq!(outcome.err, "memtier_benchmark: unrecognized option '--zz'\n");
}
