//! `redyno doctor`: one page about a server, without load and without a write, and an exit code for scripts.

use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::{
    support::{
        Server, free_port,
        program::{Running, redyno, run},
        wait_for,
    },
    watched_nodes::pair,
};

/// The page of a short examination, as JSON.
fn examined(server: &Server, args: &[&str]) -> Value {
    let port = server.port_text();
    let outcome = run(&[&["doctor", "-p", &port, "--json"], args].concat());
    assert!([0, 3].contains(&outcome.code()), "{outcome:?}");
    serde_json::from_str(&outcome.out).unwrap()
}

/// Returns the words of each command that MONITOR printed: `... [0 127.0.0.1:5000] "info" "server"`.
fn commands(monitored: &str) -> Vec<Vec<String>> {
    let words = |line: &str| line.split('"').skip(1).step_by(2).map(str::to_lowercase).collect::<Vec<_>>();
    monitored.lines().map(words).filter(|words| !words.is_empty()).collect()
}

#[test]
fn nothing_is_written_to_the_server() {
    let server = Server::redis().start();
    let mut monitor = Command::new("redis-cli");
    monitor.arg("-s").arg(server.socket()).arg("MONITOR").stdin(Stdio::null()).env_remove("REDISCLI_AUTH");
    let monitor = Running::start(monitor);
    monitor.wait_for_lines(1, "OK");
    let page = examined(&server, &["--duration", "2"]);
    monitor.wait_for_lines(1, "\"PING\"");
    let sent = commands(&monitor.out());
    assert!(sent.iter().any(|words| words[0] == "info"), "{sent:?}");
    for words in &sent {
        let flags = server.cli(&["COMMAND", "INFO", &words[0]]);
        let sets = words[0] == "config" && words[1] != "get";
        assert!(!flags.lines().any(|flag| flag.trim() == "write") && !sets, "{words:?}: {flags}");
    }
    assert_eq!(server.cli(&["DBSIZE"]), "0");
    assert!(page["probes"][0]["samples"].as_u64().unwrap() > 50, "{page}");
    assert!(page["commands"].is_array() && page["findings"].is_array(), "{page}");
}

#[test]
fn a_server_that_stood_still_is_a_finding_and_ends_with_code_3() {
    let server = Server::redis().start();
    let port = server.port_text();
    let doctor = Running::start(redyno(&["doctor", "-p", &port, "--duration", "5", "--markdown"]));
    wait_for("the doctor's PINGs", || (server.calls(&[], "ping") > 20).then_some(()));
    server.pause();
    std::thread::sleep(std::time::Duration::from_millis(2200));
    server.resume();
    let outcome = doctor.end().expect_code(3);
    let is_named = ["PING waited", "no reply to PING"].iter().any(|words| outcome.out.contains(words));
    assert!(outcome.out.contains("### Findings over time") && is_named, "{}", outcome.out);
    assert!(outcome.err.starts_with("redyno: found "), "{}", outcome.err);
}

#[test]
fn every_form_is_one_page_and_an_early_end_gives_the_page_so_far() {
    let server = Server::redis().start();
    let port = server.port_text();
    for (form, part) in
        [("--html", "<!DOCTYPE html>"), ("--markdown", "### PING"), ("--ascii", "PING\nsegment")]
    {
        let outcome = run(&["doctor", "-p", &port, "--duration", "1", form]);
        assert!(outcome.out.contains(part) && [0, 3].contains(&outcome.code()), "{form}: {outcome:?}");
        assert!(form != "--ascii" || outcome.out.is_ascii());
    }
    let long = Running::start(redyno(&["doctor", "-p", &port, "--duration", "600"]));
    let before = server.calls(&[], "ping");
    wait_for("the doctor's PINGs", || (server.calls(&[], "ping") > before + 100).then_some(()));
    long.signal(Signal::INT);
    let outcome = long.end().expect_code(130);
    assert!(outcome.out.contains("Worst seconds of PING"), "{}", outcome.out);
}

#[test]
fn a_condition_on_ping_ends_the_doctor_or_is_checked_at_the_end() {
    let server = Server::redis().start();
    let port = server.port_text();
    let doctor = ["doctor", "-p", &port];
    let ended = run(&[&doctor[..], &["--duration", "600", "--abort-if", "ping_p50 > 1ns"]].concat());
    let reason = "redyno: --abort-if 'ping_p50 > 1ns' was met for 5 s: ping p50 ";
    assert!(ended.code() == 3 && ended.err.contains(reason), "{ended:?}");
    assert!(ended.out.contains("On redyno's machine, a busy loop") || cores() < 2, "{}", ended.out);
    let session = ["-p", &port, "--headless", "--duration", "1"];
    let checked = run(&[&session[..], &["--fail-if", "ping_max > 1ns"]].concat()).expect_code(3);
    assert!(checked.err.contains("ping_max > 1ns: ping max "), "{}", checked.err);
    for (line, expected) in [
        (
            [&doctor[..], &["--fail-if", "p99 > 1ms"]].concat(),
            "no load, and no recording to compare with; give a",
        ),
        (
            [&doctor[..], &["--abort-if", "ping_p99 > +5%"]].concat(),
            "no load, and no recording to compare with",
        ),
        (
            [&session[..], &["--abort-if", "p99 > 1ms"]].concat(),
            "give a condition on PING, such as 'ping_p99",
        ),
        ([&session[..], &["--abort-if", "ping_p99.9 > 1s"]].concat(), "give ping_p99 or ping_max"),
    ] {
        let refused = run(&line).expect_code(2);
        assert!(refused.err.contains(expected), "{line:?}: {}", refused.err);
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().unwrap().get()
}

#[test]
fn arguments_of_slow_commands_are_in_the_page_only_on_request() {
    let server = Server::redis().start();
    let port = server.port_text();
    let pages = [&["--with-arguments"][..], &[]].map(|more| {
        let args = [&["doctor", "-p", &port, "--duration", "5", "--markdown"], more].concat();
        Running::start(redyno(&args))
    });
    wait_for("the PINGs of both", || (server.calls(&[], "ping") > 60).then_some(()));
    server.cli(&["CONFIG", "SET", "slowlog-log-slower-than", "0"]);
    server.cli(&["MSET", "key:1", "one", "key:2", "the last argument"]);
    server.cli(&["CONFIG", "SET", "slowlog-log-slower-than", "1000000"]);
    let [all, few] = pages.map(|page| page.end().out);
    assert!(all.contains("the last argument") && few.contains("MSET key:1"), "{all}\n{few}");
    assert!(!few.contains("the last argument"), "{few}");
}

#[test]
fn a_target_that_is_not_there_or_named_twice_is_an_error() {
    let nobody = format!("redis://127.0.0.1:{}", free_port());
    let outcome = run(&["doctor", &nobody, "--duration", "1"]).expect_code(1);
    assert!(outcome.out.is_empty() && outcome.err.starts_with("redyno: "), "{outcome:?}");
    let twice = run(&["doctor", &nobody, "-p", "1"]).expect_code(2);
    assert!(twice.err.contains("cannot be used with"), "{}", twice.err);
}

#[test]
fn what_a_user_may_not_ask_is_named_and_the_rest_is_shown() {
    let server = Server::redis().with_args(&["--enable-debug-command", "yes"]).start();
    let port = server.port_text();
    let all = ["info", "slowlog", "latency", "client", "config"];
    let one = all.map(|command| (command, vec![command]));
    let pages = one.into_iter().chain([("all", all.to_vec())]).map(|(user, forbidden)| {
        let rules: Vec<_> = forbidden.iter().map(|command| format!("-{command}")).collect();
        let rules = rules.iter().map(String::as_str);
        let words: Vec<_> =
            ["ACL", "SETUSER", user, "on", ">pw", "~*", "&*", "+@all"].into_iter().chain(rules).collect();
        assert_eq!(server.cli(&words), "OK");
        let args = ["doctor", "-p", &port, "--user", user, "-a", "pw", "--duration", "6", "--json"];
        (forbidden, Running::start(redyno(&args)))
    });
    let pages: Vec<_> = pages.collect();
    // All have read the slow log by then, and read it again before they end.
    wait_for("PINGs of all", || (server.calls(&[], "ping") > 1500).then_some(()));
    server.cli(&["DEBUG", "SLEEP", "0.15"]);
    for (forbidden, page) in pages {
        let page = page.end();
        let page: Value = serde_json::from_str(&page.out).unwrap_or_else(|_| panic!("{page:?}"));
        let unread = page["unread"].to_string().to_lowercase();
        for command in all {
            let is_named = unread.contains(&format!("refused {command}"));
            assert_eq!(is_named, forbidden.contains(&command), "{command} of {forbidden:?}: {unread}");
        }
        assert!(page["probes"][0]["samples"].as_u64().unwrap() > 100, "{forbidden:?}: {page}");
        let has_slow_call = page["findings"].to_string().contains("slow log: DEBUG SLEEP");
        assert_eq!(has_slow_call, !forbidden.contains(&"slowlog"), "{forbidden:?}: {page}");
    }
}

#[test]
fn huge_pages_a_nearly_full_memory_and_a_slow_log_of_keys_are_named() {
    let server = Server::redis().start();
    for value in ["0", "10000"] {
        server.cli(&["CONFIG", "SET", "slowlog-log-slower-than", value]);
        (0..12).for_each(|_| drop(server.cli(&["KEYS", "*"])));
    }
    let info = server.cli(&["INFO", "memory"]);
    let used: u64 =
        info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap().trim().parse().unwrap();
    // Each connection takes some memory; above the limit, the server refuses writes, and this is what is asked for.
    server.cli(&["CONFIG", "SET", "maxmemory", &(used * 101 / 100).to_string()]);
    let (root, file) = (tempfile::tempdir().unwrap(), "sys/kernel/mm/transparent_hugepage/enabled");
    std::os::unix::fs::symlink("/proc", root.path().join("proc")).unwrap();
    std::fs::create_dir_all(root.path().join(file).parent().unwrap()).unwrap();
    std::fs::write(root.path().join(file), "[always] madvise never\n").unwrap();
    let mut doctor = redyno(&["doctor", "-p", &server.port_text(), "--duration", "4", "--markdown"]);
    doctor.env("REDYNO_HOST_ROOT", root.path());
    let page = Running::start(doctor).end().expect_code(3).out;
    for words in [
        "transparent huge pages are always on",
        "at the limit, the server refuses writes",
        "entries are KEYS",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

#[test]
fn each_node_has_its_own_part_of_the_page_with_its_name_and_its_findings() {
    let [primary, mut replica] = pair();
    let addresses = [&primary, &replica].map(|server| format!("127.0.0.1:{}", server.port()));
    let port = primary.port_text();
    let alone = examined(&primary, &["--duration", "1", "--one-node"]);
    assert_eq!(alone.get("by_node"), None, "{alone}");
    for form in ["--markdown", "--html", "--ascii"] {
        let outcome = run(&["doctor", "-p", &port, "--duration", "1", form]);
        assert!(addresses.iter().all(|address| outcome.out.contains(address)), "{form}: {outcome:?}");
        assert!(!outcome.out.contains("Not compared"), "{}", outcome.out);
    }
    let before = replica.calls(&[], "ping");
    let doctor = Running::start(redyno(&["doctor", "-p", &port, "--duration", "5", "--json"]));
    wait_for("PINGs", || (replica.calls(&[], "ping") > before + 150).then_some(()));
    replica.kill();
    let page: Value = serde_json::from_str(&doctor.end().expect_code(3).out).unwrap();
    let nodes = page["by_node"].as_array().unwrap();
    let named: Vec<_> = nodes.iter().map(|node| node["node"].as_str().unwrap()).collect();
    assert_eq!(named, addresses);
    assert_eq!((&nodes[0]["findings"], &nodes[0]["probes"]), (&page["findings"], &page["probes"]));
    assert!(nodes[1]["findings"].to_string().contains("nothing listens on"), "{page}");
    assert!(nodes.iter().all(|node| node["server"]["used_memory"].is_number()), "{page}");
}
