//! What `redyno memtier` sends where it comes from somewhere else: from replies to SCAN.

use crate::{memtier_files::run_in, support::Server};

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
    server.cli(&["EVAL", "for i = 1, 40 do redis.call('SET', 'key:' .. i, i) end", "0"]);
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
