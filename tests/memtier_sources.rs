//! What `redyno memtier` sends where it comes from somewhere else: from replies to SCAN, and from files.

use rustix::process::Signal;

use crate::{
    memtier_files::run_in,
    support::{
        Server,
        memcached::{asked, memcached},
        program::{Running, redyno},
        wait_for,
    },
};

/// The cursors of the SCANs that the server's slow log has, in the order of their arrival.
fn cursors(server: &Server) -> Vec<String> {
    let log = server.cli(&["SLOWLOG", "GET", "1000"]);
    let lines: Vec<_> = log.lines().collect();
    let is_scan = |pair: &&[&str]| pair[0].eq_ignore_ascii_case("scan");
    lines.windows(2).filter(is_scan).map(|pair| pair[1].to_owned()).rev().collect()
}

#[test]
fn a_scan_follows_the_cursor_in_its_reply_to_the_end_or_so_many_times() {
    let (server, directory) = (Server::redis().start(), tempfile::tempdir().unwrap());
    // The server moves no keys between tables while a table of 32 is filled.
    server.cli(&["EVAL", "for i = 1, 31 do redis.call('SET', 'key:' .. i, i) end", "0"]);
    let mut expected = vec!["0".to_owned()];
    while expected.len() == 1 || expected.last().unwrap() != "0" {
        let reply = server.cli(&["SCAN", expected.last().unwrap(), "COUNT", "5", "MATCH", "key:*"]);
        expected.push(reply.lines().next().unwrap().to_owned());
    }
    expected.pop();
    assert!(expected.len() > 4, "{expected:?}");
    for (most, repeated) in [("0", expected.as_slice()), ("2", &expected[..3])] {
        server.cli(&["CONFIG", "SET", "slowlog-log-slower-than", "0"]);
        server.cli(&["CONFIG", "SET", "slowlog-max-len", "1000"]);
        server.cli(&["SLOWLOG", "RESET"]);
        let words = ["--command", "SCAN 0 COUNT 5 MATCH key:*", "--scan-incremental-iteration"];
        let requests = (3 * repeated.len()).to_string();
        let more = ["--scan-incremental-max-iterations", most, "-c", "1", "-t", "1", "-n", &requests];
        let (outcome, json) = run_in(directory.path(), &server, &[&words[..], &more].concat());
        assert_eq!(cursors(&server), [repeated; 3].concat());
        let count = |row: &str| json["ALL STATS"][row]["Count"].as_u64().unwrap() as usize;
        assert_eq!([count("Scan 0s"), count("Scan <cursor>s")], [3, 3 * (repeated.len() - 1)]);
        assert!(outcome.out.contains("\nScan <cursor>s "), "{}", outcome.out);
    }
}

/// The first line of a file of records.
const HEADING: &str = "dumpflags, time, exptime, nbytes, nsuffix, it_flags, clsid, nkey, key, data";

#[test]
fn records_of_a_file_are_set_in_their_order_by_each_client_and_read_back() {
    let (server, directory) = (Server::redis().start(), tempfile::tempdir().unwrap());
    let rows = "0, 0, 0, 5, 0, 0, 0, 1, a, one\n0, 0, 60, 5, 0, 0, 0, 3, \"b,c\", \"t \"\"2\"\"\"\n";
    std::fs::write(directory.path().join("in.csv"), format!("{HEADING}\n{rows}")).unwrap();
    let words = ["--data-import", "in.csv", "--data-verify", "-c", "3", "-t", "2", "--ratio"];
    let (outcome, json) = run_in(directory.path(), &server, &[&words[..], &["1:1", "-n", "10"]].concat());
    assert!(outcome.err.contains("Reading keys from in.csv... 2 keys read.\n"), "{}", outcome.err);
    let verified = "\n\nPerforming data verification...\nData verification completed:\n2          keys verified \
                    successfuly.\n0          keys failed.\n";
    assert!(outcome.out.ends_with(verified), "{}", outcome.out);
    assert_eq!(json["client verifications results"]["keys verified successfuly"], 2);
    let figure = |row: &str, name: &str| json["ALL STATS"][row][name].as_f64().unwrap();
    assert_eq!((figure("Sets", "Count"), figure("Gets", "Count")), (30.0, 30.0));
    assert!(figure("Gets", "Hits/sec") > figure("Gets", "Misses/sec"));
    assert_eq!(
        (server.cli(&["GET", "a"]).as_str(), server.cli(&["GET", "b,c"]).as_str()),
        ("one", "t \"2\"")
    );
    assert_eq!(server.cli(&["TTL", "a"]), "-1");
    assert!(server.cli(&["TTL", "b,c"]).parse::<u32>().unwrap() > 50);
    let names = ["key_prefix", "key_maximum", "data_size", "data_import", "data_verify"];
    let configuration = names.map(|name| json["configuration"][name].to_string());
    assert_eq!(configuration, ["null", "0", "0", "\"in.csv\"", "\"true\""]);
    server.cli(&["SET", "a", "other"]);
    let words = ["--data-import", "in.csv", "--verify-only", "--no-expiry"];
    let (outcome, _) = run_in(directory.path(), &server, &words);
    let verified = verified
        .replace("2          keys v", "1          keys v")
        .replace("0          keys f", "1          keys f");
    assert_eq!(outcome.out, verified);
    assert!(outcome.err.contains("error: key [a]: it is not as in the file\n"), "{}", outcome.err);
}

#[test]
fn the_results_of_the_load_are_written_even_if_the_data_cannot_be_verified() {
    let (server, directory) = (Server::redis().start(), tempfile::tempdir().unwrap());
    std::fs::write(directory.path().join("in.csv"), format!("{HEADING}\n0, 0, 0, 5, 0, 0, 0, 1, a, one\n"))
        .unwrap();
    let port = server.port_text();
    let words = "memtier --data-import in.csv --data-verify -c 1 -t 1 --ratio 1:1 --test-time 3 --hide-histogram \
                 --json-out-file out.json -p";
    let mut program = redyno(&[&words.split(' ').collect::<Vec<_>>()[..], &[&port]].concat());
    program.current_dir(directory.path());
    let running = Running::start(program);
    // The load goes on, but the server accepts no new connection for the verification.
    wait_for("the load", || server.cli(&["EXISTS", "a"]).starts_with('1').then_some(()));
    server.cli(&["CONFIG", "SET", "port", "0"]);
    let outcome = running.end().expect_code(1);
    let json = std::fs::read_to_string(directory.path().join("out.json")).unwrap();
    assert!(json.contains("\"ALL STATS\"") && outcome.err.contains("error: "), "{outcome:?}");
}

#[test]
fn records_with_keys_of_any_bytes_are_set_on_memcached_and_read_back() {
    let (server, directory) = (memcached(&[]), tempfile::tempdir().unwrap());
    let rows = b"\n0, 0, 0, 5, 0, 0, 0, 1, a, one\n0, 0, 0, 5, 0, 0, 0, 2, k\xff, two\n";
    std::fs::write(directory.path().join("in.csv"), [HEADING.as_bytes(), rows].concat()).unwrap();
    let words = "-P memcache_text --data-import in.csv --data-verify -c 2 -t 1 --ratio 1:1 -n 10";
    let (outcome, json) = run_in(directory.path(), &server, &words.split(' ').collect::<Vec<_>>());
    assert!(outcome.out.ends_with("2          keys verified successfuly.\n0          keys failed.\n"));
    let count = |row: &str| json["ALL STATS"][row]["Count"].as_u64();
    assert_eq!((count("Sets"), count("Gets")), (Some(10), Some(10)));
    assert_eq!(asked(server.port(), "get a", "END")[1], "one");
}

#[test]
fn the_records_of_an_interrupted_run_are_not_read_back() {
    let (server, directory) = (Server::redis().start(), tempfile::tempdir().unwrap());
    let file = directory.path().join("in.csv");
    std::fs::write(&file, format!("{HEADING}\n0, 0, 0, 5, 0, 0, 0, 1, a, one\n")).unwrap();
    let mut command = redyno(&["memtier", "-p", &server.port_text(), "--test-time", "600", "--data-verify"]);
    command.arg("--data-import").arg(&file);
    let running = Running::start(command);
    wait_for("a load", || (server.calls(&[], "get") > 0).then_some(()));
    running.signal(Signal::INT);
    let outcome = running.end().expect_code(0);
    let skipped = "The run was interrupted, so the data is not verified.\n";
    assert!(outcome.err.contains(skipped) && !outcome.out.contains("data verification"), "{outcome:?}");
}

#[test]
fn a_refused_request_is_sent_again_until_the_server_accepts_it() {
    let (server, directory) = (Server::redis().start(), tempfile::tempdir().unwrap());
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    let refused = || {
        let stats = server.cli(&["INFO", "commandstats"]);
        let set = stats.lines().find(|line| line.starts_with("cmdstat_set:"))?.to_owned();
        set.contains("rejected_calls=").then(|| !set.contains("rejected_calls=0,"))?.then_some(())
    };
    let (outcome, json) = std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_for("a refused SET", refused);
            server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
        });
        let words =
            "-n 50 -c 2 -t 2 --pipeline 3 --ratio 1:0 --retry-on-error --retry-backoff-ms 5 --retry-on OOM";
        run_in(directory.path(), &server, &words.split(' ').collect::<Vec<_>>())
    });
    assert_eq!(json["ALL STATS"]["Sets"]["Count"], 200);
    assert_eq!(server.calls(&[], "set"), 200, "accepted once each");
    let counts = outcome.err.rsplit("retries ").next().unwrap();
    assert!(counts.contains(" retried_ops ") && !counts.starts_with("0 "), "{}", outcome.err);
    assert!(!outcome.err.contains("requests failed"), "{}", outcome.err);
}

#[test]
fn requests_that_fail_in_the_end_are_in_the_file_of_failed_keys() {
    let (server, directory) = (Server::redis().start(), tempfile::tempdir().unwrap());
    server.cli(&["SET", "a \"key\"", "text"]);
    let file = directory.path().join("failed.csv");
    for lines in [4, 7] {
        let path = file.to_str().unwrap();
        let words = ["--retry-on-error", "--failed-keys-file", path, "-n", "3", "-c", "1", "-t", "1"];
        let command = ["--command", "LPUSH 'a \"key\"' x"];
        let (outcome, json) = run_in(directory.path(), &server, &[&command[..], &words].concat());
        let end = "3 requests failed: WRONGTYPE\nerror: no request succeeded\n";
        assert!(outcome.err.ends_with(end), "{}", outcome.err);
        assert_eq!(json["configuration"]["max_retries"], -1);
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text.lines().next(), Some("timestamp,command,key,status,retries"));
        assert_eq!(text.lines().count(), lines, "{text}");
        for line in text.lines().skip(1) {
            assert!(
                line.contains("Z,LPUSH,\"a \"\"key\"\"\",\"WRONGTYPE ") && line.ends_with("\",0"),
                "{line}"
            );
        }
    }
}
