//! `redyno memtier`'s files beside its table, its staircase, and its configuration, as memtier_benchmark has them.

use std::{
    fs,
    io::Read,
    net::{TcpListener, UdpSocket},
    path::Path,
};

use serde_json::{Value, json};

use crate::support::{
    Server,
    nodes::Nodes,
    program::{Outcome, Running, redyno, run},
};

/// Runs `redyno memtier` in this directory with these words; returns its outcome and its JSON.
pub(crate) fn run_in(directory: &Path, server: &Server, words: &[&str]) -> (Outcome, Value) {
    let mut command = redyno(&["memtier", "-p", &server.port_text(), "--json-out-file", "out.json"]);
    command.args(words).current_dir(directory);
    let outcome = Running::start(command).end();
    let has_failed = outcome.err.ends_with("error: no request succeeded\n");
    let outcome = outcome.expect_code(i32::from(has_failed));
    let json = serde_json::from_slice(&fs::read(directory.join("out.json")).unwrap()).unwrap();
    (outcome, json)
}

/// The column with this title, down to the first empty line.
fn column(text: &str, title: &str) -> Vec<u64> {
    let mut rows = text
        .lines()
        .skip(1)
        .take_while(|line| !line.is_empty())
        .map(|line| line.split(',').collect::<Vec<_>>());
    let place = rows.next().unwrap().iter().position(|column| *column == title).unwrap();
    rows.map(|row| row[place].parse().unwrap()).collect()
}

#[test]
fn each_client_has_a_file_and_their_sum_is_the_table() {
    let (server, directory) = (Server::redis().start(), tempfile::tempdir().unwrap());
    let path = directory.path();
    let (_, json) = run_in(
        path,
        &server,
        &["-n", "110", "-c", "3", "-t", "2", "--client-stats", "cs", "--hide-histogram"],
    );
    let mut sums = [0; 4];
    for (thread, client) in (0..2).flat_map(|thread| (0..3).map(move |client| (thread, client))) {
        let text = fs::read_to_string(path.join(format!("cs-1-{thread}-{client}.csv"))).unwrap();
        let of = |title| column(&text, title).iter().sum::<u64>();
        assert_eq!((of("SET Requests"), of("GET Requests")), (10, 100));
        assert_eq!(of("GET Misses") + of("GET Hits"), 100);
        assert_eq!(of("SET Total Bytes"), of("SET Total Bytes TX") + of("SET Total Bytes RX"));
        for (sum, title) in
            sums.iter_mut().zip(["SET Requests", "GET Requests", "SET Total Bytes TX", "GET Total Bytes RX"])
        {
            *sum += of(title);
        }
        for row in ["GET", "SET", "WAIT"] {
            assert!(
                text.contains(&format!("\nFull-Test {row} Latency\nLatency (<= msec),Percent\n")),
                "{text}"
            );
        }
    }
    let bytes = |row: &str, name: &str| -> u64 {
        let seconds = json["ALL STATS"][row]["Time-Serie"].as_object().unwrap();
        seconds.values().map(|second| second[name].as_u64().unwrap()).sum()
    };
    assert_eq!(sums, [60, 600, bytes("Sets", "Bytes TX"), bytes("Gets", "Bytes RX")]);
    let refused =
        run(&["memtier", "-p", &server.port_text(), "-c", "501", "-t", "2", "--client-stats", "cs"]);
    assert!(refused.expect_code(1).err.contains("and at most 1000 threads"));
}

#[test]
fn distributions_are_files_that_hdr_histograms_tools_read() {
    let (server, directory) = (Server::redis().start(), tempfile::tempdir().unwrap());
    let words =
        ["-n", "50", "-c", "2", "-t", "1", "--hdr-file-prefix", "hdr", "--hide-histogram", "--ratio", "0:1"];
    let (outcome, json) = run_in(directory.path(), &server, &words);
    assert!(
        outcome.err.contains("\nSaving JSON output file: out.json\nJson file closed.\n"),
        "{}",
        outcome.err
    );
    let read = |name: &str| fs::read_to_string(directory.path().join(name));
    for name in ["hdr_FULL_RUN_1", "hdr_GET_command_run_1"] {
        let text = read(&format!("{name}.txt")).unwrap();
        assert!(
            text.contains("Value     Percentile TotalCount")
                && text.contains("Total count    =          100]"),
            "{text}"
        );
        let rows: Vec<_> = text.lines().skip(2).take_while(|line| !line.starts_with('#')).collect();
        assert!(rows.iter().all(|row| row.split_whitespace().count() == 4), "{text}");
        let title = if name.contains("GET") { "GET command" } else { "Full Run command" };
        let line = format!("Writing {title} HDR latency histogram results to hdr_");
        assert!(outcome.err.contains(&line), "{}", outcome.err);
        let log = read(&format!("{name}.hgrm")).unwrap();
        let row = if name.contains("GET") { "Gets" } else { "Totals" };
        let packed =
            &json["ALL STATS"][row]["Percentile Latencies"]["Histogram log format"]["Compressed Histogram"];
        assert!(log.trim_end().ends_with(&format!(",{}", packed.as_str().unwrap())), "{log}");
    }
    assert!(read("hdr_SET_command_run_1.txt").is_err(), "a row without requests has no file");
}

#[test]
fn a_staircase_has_its_clients_second_by_second() {
    let (server, directory) = (Server::redis().start(), tempfile::tempdir().unwrap());
    let stairs =
        ["--clients-start", "1", "--clients-step", "2", "--step-duration", "1", "-c", "4", "-t", "2"];
    let words = [&stairs[..], &["--test-time", "3", "--hide-histogram"]].concat();
    let before: u64 = received(&server);
    let (_, json) = run_in(directory.path(), &server, &words);
    assert_eq!(received(&server) - before, 8 + 1, "eight connections in all, beside the one that asks");
    let all = &json["ALL STATS"];
    let clients = |second: &str| all["Active Clients"][second]["Total clients"].as_u64();
    assert_eq!(["0", "1", "2"].map(clients), [Some(2), Some(6), Some(8)]);
    assert!(
        ["0", "1", "2"].iter().all(|second| all["Totals"]["Time-Serie"][second]["Count"].as_u64() > Some(0))
    );
    assert_eq!(json["configuration"]["clients_step"], 2);
    let (_, json) = run_in(directory.path(), &server, &["-n", "1", "-c", "1", "-t", "1"]);
    assert!(
        json["ALL STATS"]["Active Clients"].is_null() && json["configuration"]["clients_start"].is_null()
    );
}

fn received(server: &Server) -> u64 {
    let stats = server.cli(&["INFO", "stats"]);
    let line = stats.lines().find_map(|line| line.strip_prefix("total_connections_received:")).unwrap();
    line.trim().parse().unwrap()
}

#[test]
fn rows_by_line_and_the_configuration_are_memtiers() {
    let (server, directory) = (Server::redis().start(), tempfile::tempdir().unwrap());
    let commands = ["--command", "SET a __data__", "--command", "GET a", "--command", "SET b __data__"];
    let words = [
        &["-n", "30", "-c", "1", "-t", "1", "--show-config", "--command-stats-breakdown=line"],
        &commands[..],
    ]
    .concat();
    let (outcome, _) = run_in(directory.path(), &server, &words);
    let rows = outcome.out.lines().filter_map(|line| line.split_whitespace().next());
    let rows: Vec<_> = rows.filter(|row| ["Sets", "Gets", "Totals"].contains(row)).collect();
    assert_eq!(rows, ["Sets", "Gets", "Sets", "Totals"]);
    assert!(
        outcome.out.starts_with(&format!("server = localhost\nport = {}\nuri = \n", server.port())),
        "{}",
        outcome.out
    );
    assert!(
        outcome.err.starts_with("============== Configuration values: ==============\n"),
        "{}",
        outcome.err
    );
}

#[test]
fn statsd_gets_the_figures_of_each_second_and_graphite_the_events_of_memtier() {
    let server = Server::redis().start();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let graphite = TcpListener::bind("127.0.0.1:0").unwrap();
    let [udp, tcp] = [socket.local_addr(), graphite.local_addr()].map(|it| it.unwrap().port().to_string());
    let mut command =
        redyno(&["memtier", "-p", &server.port_text(), "--hide-histogram", "-t", "2", "-c", "3"]);
    command.args(["--test-time", "2", "--print-percentiles", "50,99.9,99.999"]);
    command.args(["--statsd-host", "localhost", "--statsd-port", &udp, "--graphite-port", &tcp]);
    command.args(["--statsd-prefix", "a.b/c", "--statsd-run-label", "x.y"]);
    let outcome = Running::start(command).end().expect_code(0);
    let line = format!(
        "statsd: initialized, sending metrics to localhost:{udp} with prefix 'a.b/c' run_label 'x_y'\n"
    );
    assert!(outcome.err.contains(&line), "{}", outcome.err);
    for (what, tag, data) in
        [("Started", "start", "threads=2 connections=3 run=1"), ("Completed", "end", "run=1")]
    {
        let mut event = String::new();
        graphite.accept().unwrap().0.read_to_string(&mut event).unwrap();
        let (head, json) = event.split_once("\r\n\r\n").unwrap();
        let expected =
            format!(r#"{{"what":"Benchmark {what}","tags":"memtier,{tag},run:x_y","data":"{data}"}}"#);
        assert_eq!(json, expected);
        let lines = format!(
            "Host: localhost:{tcp}\r\nContent-Type: application/json\r\nContent-Length: {}",
            json.len()
        );
        assert_eq!(head, format!("POST /events/ HTTP/1.1\r\n{lines}\r\nConnection: close"));
    }
    socket.set_nonblocking(true).unwrap();
    let mut bytes = [0; 512];
    let mut received = std::iter::from_fn(|| {
        let n = socket.recv(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..n]).into_owned())
    });
    let masked = |metric: String| {
        let (name, rest) = metric.strip_prefix("a.b_c.x_y.").unwrap().split_once(':').unwrap();
        let (value, kind) = rest.split_once('|').unwrap();
        let decimals = value.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        (format!("{name} {decimals} {kind}"), value.parse::<f64>().unwrap())
    };
    let (names, values): (Vec<_>, Vec<_>) = received.by_ref().map(masked).unzip();
    let all = "ops_sec 0 g,ops_sec_avg 0 g,bytes_sec 0 g,bytes_sec_avg 0 g,latency_ms 3 ms,latency_avg_ms 3 ms,connections 0 g,\
               progress_pct 6 g";
    let running = format!("{all},latency_p50 6 g,latency_p99_9 6 g,latency_p99_999 6 g");
    let zeros = "ops_sec 0 g,ops_sec_avg 0 g,bytes_sec 0 g,bytes_sec_avg 0 g,progress_pct 0 g";
    let seconds = (names.len() - 13) / 11;
    let expected = [vec![&running[..]; seconds], vec![all, zeros]].concat().join(",");
    assert!((1..=2).contains(&seconds), "{names:?}");
    assert_eq!(names.join(","), expected);
    assert!(values[..8].iter().all(|value| *value > 0.0) && values[6] == 6.0, "{values:?}");
    assert!(values[11 * seconds + 6] == 0.0 && values[11 * seconds + 8..].iter().all(|value| *value == 0.0));
}

#[test]
fn keys_differ_by_run_if_asked() {
    let server = Server::redis().start();
    let sets = ["-t", "1", "-c", "1", "-n", "20", "--ratio", "1:0", "-x", "2", "--hide-histogram"];
    let port = server.port_text();
    let keys = |more: &[&str]| {
        server.cli(&["FLUSHALL"]);
        run(&[&["memtier", "-p", &port], &sets[..], more].concat()).expect_code(0);
        server.cli(&["DBSIZE"])
    };
    assert_eq!([keys(&[]), keys(&["--distinct-client-seed"])].map(|n| n.trim().to_owned()), ["20", "40"]);
}

#[test]
fn all_commands_of_a_transaction_have_one_key_and_go_to_its_node() {
    let watched = ["watch __key__", "get __key__", "multi", "set __key__ __data__", "incr n-__key__", "exec"];
    let unwatched = ["multi", "incr c-__key__", "exec"];
    let nodes = Nodes::start(Server::redis, false);
    let alone = Server::redis().start();
    let ran = |port: &str, more: &[&str], commands: &[&str]| {
        let file = tempfile::NamedTempFile::new().unwrap();
        let words = ["memtier", "-p", port, "-t", "2", "-c", "3", "-n", "60", "--transaction"];
        let commands = commands.iter().flat_map(|command| ["--command", *command]);
        let out = ["--json-out-file", file.path().to_str().unwrap(), "--hide-histogram"];
        let words: Vec<_> =
            words.into_iter().chain(out).chain(commands).chain(more.iter().copied()).collect();
        let outcome = run(&words).expect_code(0);
        let json: Value = serde_json::from_reader(file.reopen().unwrap()).unwrap();
        assert!(!outcome.err.contains("failed"), "{}", outcome.err);
        assert!(outcome.out.contains(" Aborts/sec "), "{}", outcome.out);
        json["ALL STATS"].clone()
    };
    let cluster = nodes.0[1].port_text();
    for pipeline in ["1", "4", "12"] {
        let more = ["--cluster-mode", "--pipeline", pipeline];
        let all = ran(&cluster, &more, &unwatched);
        assert_eq!((&all["Totals"]["Count"], &all["Totals"]["Errors"]), (&json!(360), &json!({})));
        // A key, and the same key after `n-`, have different slots.
        let all = ran(&cluster, &more, &[&watched[..4], &watched[5..]].concat());
        assert_eq!((&all["Totals"]["Count"], &all["Totals"]["Errors"]), (&json!(360), &json!({})));
        assert_eq!(all["Execs"]["Aborts/sec"], json!(0.0));
    }
    let calls = ["multi", "incr", "exec"].map(|command| nodes.calls(command));
    assert!(calls[0] == calls[2] && nodes.0.iter().all(|node| node.calls(&[], "exec") > 0), "{calls:?}");
    ran(&alone.port_text(), &["--pipeline", "6"], &watched);
    let keys = alone.cli(&["KEYS", "*"]);
    let (counted, plain): (Vec<_>, Vec<_>) = keys.lines().partition(|key| key.starts_with("n-"));
    assert!(counted.len() == plain.len() && plain.iter().all(|key| counted.contains(&&*format!("n-{key}"))));
}
