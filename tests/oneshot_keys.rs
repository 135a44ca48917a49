//! The promise of `--stat`, `--bigkeys`, `--memkeys`, `--keystats` and `--hotkeys`: what redis-cli prints beside them,
//! numbers aside.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    Server,
    program::{Running, redyno, run},
};

/// The lines in order, with one `#` for each number and one blank for several, and without the quotes that redis-cli puts
/// around keys until Redis 7.
fn masked(text: &str) -> Vec<String> {
    let mask = |line: &str| {
        let plain = line.replace('\'', "").replace(|letter: char| letter.is_ascii_digit(), "#");
        let mut letters: Vec<_> = plain.chars().collect();
        letters.dedup_by(|a, b| a == b && "# ".contains(*a));
        letters.into_iter().collect()
    };
    let mut lines: Vec<String> = text.lines().map(mask).collect();
    lines.sort();
    lines
}

fn keys(server: &Server) {
    let script = "for i = 1, 150 do redis.call('SET', 's' .. i, string.rep('x', i)) redis.call('RPUSH', 'l' .. i, 1, 2) \
                  redis.call('HSET', 'h' .. i, 'a', 1) end redis.call('SADD', 'set', 1, 2) redis.call('ZADD', 'z', 1, 2) \
                  redis.call('XADD', 'st', '*', 'a', 'b') redis.call('SET', 'odd\\r\\n\"\\\\k\\255', string.rep('y', 900))";
    server.cli(&["EVAL", script, "0"]);
}

#[test]
fn the_biggest_and_the_hottest_keys_are_those_of_redis_cli_in_its_words() {
    let server = Server::redis().start();
    server.cli(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lfu"]);
    let modes =
        [&["--bigkeys"][..], &["--memkeys"], &["--memkeys", "--memkeys-samples", "0"], &["--hotkeys"]];
    for filled in [false, true] {
        if filled {
            keys(&server);
        }
        for words in modes {
            let theirs =
                Command::new("redis-cli").arg("-p").arg(server.port_text()).args(words).output().unwrap();
            let theirs = String::from_utf8(theirs.stdout).unwrap();
            let port = server.port_text();
            let command = redyno(&[&["-p", &port, "-i", "0.01"][..], words].concat());
            let ours = Running::start(command).end().expect_code(0).out;
            assert_eq!(masked(&ours), masked(&theirs), "{words:?}");
            assert!(!filled || theirs.contains("found"), "{theirs}");
        }
    }
    let found = Running::start(redyno(&["-p", &server.port_text(), "--bigkeys"])).end().expect_code(0).out;
    assert!(found.contains("Biggest string found '\"odd\\r\\n\\\"\\\\k\\xff\"' has 900 bytes\n"), "{found}");
    let other =
        Running::start(redyno(&["-p", &server.port_text(), "--bigkeys", "-n", "1"])).end().expect_code(0);
    assert!(other.out.contains("Sampled 0 keys in"), "{}", other.out);
    server.cli(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    let refused = Running::start(redyno(&["-p", &server.port_text(), "--hotkeys"])).end().expect_code(1);
    assert!(refused.err.contains("An LFU maxmemory policy is not selected"), "{}", refused.err);
}

/// What a walk over 60000 keys prints that ends early, after it has explained its pace.
fn cut(server: &Server, mode: &str) -> String {
    server.cli(&["EVAL", "for i = 1, 60000 do redis.call('SET', i, i) end", "0"]);
    let mut command = redyno(&["-p", &server.port_text(), mode]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut note = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut note).unwrap();
    assert!(note.starts_with("redyno: 60000 keys take a while") && note.contains("with -i 0.01, "), "{note}");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn a_long_walk_explains_its_pace_and_ends_early_with_a_summary() {
    let out = cut(&Server::redis().start(), "--bigkeys");
    let summary = out.split_once("-------- summary -------\n\n[").expect(&out).1;
    assert!(summary.contains("%] Sampled ") && !summary.contains(" 60000 strings"), "{out}");
}

#[test]
fn statistics_of_keys_are_those_of_redis_cli_8_in_its_words() {
    let server = Server::redis().start();
    keys(&server);
    server.cli(&["EVAL", "redis.call('RENAME', 'odd\\r\\n\"\\\\k\\255', 'odd')", "0"]);
    let port = server.port_text();
    let ours = Running::start(redyno(&["-p", &port, "--keystats"])).end().expect_code(0).out;
    let [mut ours, mut theirs] = [&ours, include_str!("fixtures/redis-cli-8.0-m01-keystats.txt")].map(masked);
    // The number of rows of the distribution follows the server's memory of each key.
    ours.dedup();
    theirs.dedup();
    assert_eq!(ours, theirs);
    let two = Running::start(redyno(&["-p", &port, "--keystats", "--top", "2"])).end().expect_code(0).out;
    let top = two.split_once("--- Top 2 key sizes ---\n  1 ").expect(&two).1.split_once("\n\n").unwrap().0;
    assert!(top.starts_with(" ") && top.lines().count() == 2 && top.contains(" string     \"odd\""), "{two}");
}

#[test]
fn interrupted_statistics_name_the_cursor_that_goes_on() {
    let server = Server::redis().start();
    let out = cut(&server, "--keystats");
    let end = out.split_once("\nScan interrupted:\nUse 'redyno --keystats --cursor ").expect(&out).1;
    let cursor = end.split_once("' to restart from the last cursor.\n").expect(&out).0;
    let command = redyno(&["-p", &server.port_text(), "-i", "0.01", "--keystats", "--cursor", cursor]);
    let rest = Running::start(command).end().expect_code(0).out;
    let sampled = [&out, &rest].map(|out| {
        let sampled = out.split_once("Keys sampled: ").expect(out).1.lines().next().unwrap();
        sampled.parse::<u64>().unwrap()
    });
    assert!(sampled[1] < 60_000 && sampled[0] + sampled[1] >= 60_000, "{sampled:?}");
}

#[test]
fn memory_of_keys_is_asked_with_all_elements_only_if_that_is_asked_for() {
    let server = Server::redis().start();
    server.cli(&["RPUSH", "l", "1"]);
    server.cli(&["CONFIG", "SET", "slowlog-log-slower-than", "0"]);
    for (words, expected) in [
        (&["--memkeys"][..], ""),
        (&["--memkeys", "--memkeys-samples", "0"], "SAMPLES\n0"),
        (&["--memkeys-samples", "7"], "SAMPLES\n7"),
        (&["--keystats"], ""),
        (&["--keystats-samples", "7"], "SAMPLES\n7"),
    ] {
        server.cli(&["SLOWLOG", "RESET"]);
        let port = server.port_text();
        let command = redyno(&[&["-p", &port][..], words].concat());
        Running::start(command).end().expect_code(0);
        let log = server.cli(&["SLOWLOG", "GET", "100"]);
        let asked = log.split_once("MEMORY\nUSAGE\nl\n").unwrap().1;
        assert!(asked.starts_with(expected) && asked.starts_with("SAMPLES") != expected.is_empty(), "{log}");
    }
}

#[test]
fn what_needs_info_ends_with_the_permission_that_the_user_lacks() {
    let server = Server::redis().with_args(&["--user", "ann", "on", ">pw", "~*", "+@all", "-info"]).start();
    let as_ann = ["-p", &server.port_text(), "--user", "ann", "-a", "pw"];
    for words in [&["--stat"][..], &["clean"], &["--headless", "--load", "--yes"]] {
        let outcome = run(&[words, &as_ann].concat()).expect_code(1);
        let others = if words == ["--stat"] { "permission: " } else { "permissions: " };
        let advice = format!("give this user the {others}ACL SETUSER ann +info");
        assert!(outcome.err.contains(&advice), "{outcome:?}");
        assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
    }
}

#[test]
fn the_figures_of_stat_are_redis_clis() {
    let server = Server::redis().start();
    keys(&server);
    let lines = |mut command: Command| {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().take(4);
        let lines: Vec<_> = lines.map(Result::unwrap).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        masked(&lines.join("\n"))
    };
    let port = server.port_text();
    let mut theirs = Command::new("stdbuf");
    theirs.args(["-oL", "redis-cli", "-p", &port, "-i", "0.05", "--stat"]);
    let ours = lines(redyno(&["-p", &port, "-i", "0.05", "--stat"]));
    assert_eq!(ours, lines(theirs));
    assert!(ours.iter().any(|line| line.starts_with("keys mem clients")), "{ours:?}");
}
