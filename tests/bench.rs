//! `redyno bench`'s promise: neither a script that reads redis-benchmark's output nor the server notices the difference.

use std::{
    collections::BTreeMap,
    os::unix::{
        fs::symlink,
        process::{CommandExt as _, ExitStatusExt as _},
    },
    process::Command,
};

use rustix::process::Signal;

use crate::support::{
    Server,
    certificates::TlsServer,
    free_port,
    nodes::Nodes,
    program::{Outcome, Running, redyno, run},
};

/// What `program` does with these words against `server`, and how often the server carried out each command.
fn asked(program: Command, server: &Server, words: &str) -> (Outcome, BTreeMap<String, u64>) {
    let mut program = program;
    server.cli(&["CONFIG", "RESETSTAT"]);
    let outcome = Running::start({
        program.args(["-p", &server.port_text()]).args(words.split(' '));
        program
    })
    .end()
    .expect_code(0);
    let stats = server.cli(&["INFO", "commandstats"]);
    let calls = stats.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((name.to_owned(), rest.split(',').next()?.parse().expect("a count of calls")))
    });
    (outcome, calls.collect())
}

fn theirs() -> Command {
    Command::new("redis-benchmark")
}

fn ours() -> Command {
    redyno(&["bench"])
}

/// The lines as they are left on a terminal, a `#` for each row of digits and for each decimal; lines of one form that
/// follow each other are one.
fn forms(out: &str) -> Vec<String> {
    let mut forms: Vec<String> =
        out.split('\n').map(|line| form(line.rsplit('\r').next().unwrap_or(line))).collect();
    forms.dedup();
    forms
}

fn form(line: &str) -> String {
    let (mut form, mut is_decimal) = (String::new(), false);
    for next in line.chars() {
        match next {
            '0'..='9' if !is_decimal && form.ends_with('#') => {}
            '0'..='9' => form.push('#'),
            // Columns are filled up on their left.
            ' ' if form.ends_with(' ') => {}
            other => form.push(other),
        }
        is_decimal = next == '.' || is_decimal && next.is_ascii_digit();
    }
    form
}

#[test]
fn every_default_test_is_run_and_printed_as_redis_benchmark_does() {
    let servers = [Server::redis().start(), Server::redis().start()];
    let (their, their_calls) = asked(theirs(), &servers[0], "-n 1000 -q");
    let (our, mut our_calls) = asked(ours(), &servers[1], "-n 1000 -q");
    assert_eq!(our.out.matches(" requests per second, p50=").count(), 21);
    // Redis 8's suite ends with a test that the one of Redis 7 does not have.
    let (without_last, _) = our.out.split_once("XADD: ").unwrap();
    assert_eq!(forms(&format!("{without_last}\n")), forms(&their.out));
    assert_eq!(our_calls.remove("xadd"), Some(1000));
    assert_eq!(our_calls, their_calls);
    assert_eq!((our_calls["ping"], our_calls["lpush"], our_calls["config|get"]), (2000, 2000, 2));
    assert_eq!(our.err, their.err);
}

#[test]
fn keys_and_values_are_those_of_redis_benchmark() {
    let servers = [Server::redis().start(), Server::redis().start()];
    let words = "-n 3000 -P 5 -r 20 -d 20 -q -t set,incr,sadd,hset,zadd,mset,lpush";
    let left = [(theirs(), &servers[0]), (ours(), &servers[1])].map(|(program, server)| {
        asked(program, server, words);
        let cli = |words: &str| {
            let words: Vec<_> = words.split(' ').collect();
            let mut lines: Vec<_> = server.cli(&words).lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let score = cli("ZRANGE myzset 0 0 WITHSCORES").len();
        [cli("KEYS *"), cli("GET key:000000000007"), cli("SMEMBERS myset"), cli("HGETALL myhash")]
            .map(|lines| lines.join("\n") + &format!(" {score}"))
    });
    assert_eq!(left[1], left[0]);
}

#[test]
fn pages_and_rows_have_the_form_of_redis_benchmarks() {
    let server = Server::redis().with_args(&["--save", "3600 1"]).start();
    for words in [
        "-n 2000 -t get,lrange_300",
        "-n 2000 --threads 2 -t set -d 100",
        "-n 2000 --csv -t get,set",
        "-n 300 -k 0 -q -t get",
    ] {
        let [their, our] = [theirs(), ours()].map(|program| asked(program, &server, words).0);
        assert_eq!(forms(&our.out), forms(&their.out), "{words}");
        assert_eq!(our.err, their.err, "{words}");
    }
}

#[test]
fn a_connection_says_first_what_redis_benchmarks_says_and_nothing_else() {
    let server = Server::redis().start();
    server.cli(&["ACL", "SETUSER", "ann", "on", ">pw", "~*", "+@all"]);
    let words = "--user ann -a pw --dbnum 3 --enable-tracking -c 3 -n 20000 -q -t get";
    let calls = [theirs(), ours()].map(|program| asked(program, &server, words).1);
    let names = calls.clone().map(|calls| calls.into_keys().collect::<Vec<_>>());
    assert_eq!(names[1], names[0]);
    assert_eq!(names[1], ["auth", "client|tracking", "config|get", "config|resetstat", "get", "select"]);
    assert_eq!((calls[1]["get"], calls[1]["config|get"]), (20_000, 2));
    let (_, calls) = asked(ours(), &server, "-3 -n 100 -q -t get");
    assert!(calls.contains_key("hello") && !calls.contains_key("client|setname"), "{calls:?}");
}

#[test]
fn commands_of_ones_own_are_sent_as_redis_benchmark_sends_them() {
    let servers = [Server::redis().start(), Server::redis().start()];
    let words = "-n 2000 -r 50 -P 4 -q zadd set:{tag} __rand_int__ e:__rand_int__";
    let left = [(theirs(), &servers[0]), (ours(), &servers[1])].map(|(program, server)| {
        let (outcome, calls) = asked(program, server, words);
        (forms(&outcome.out), calls, server.cli(&["ZCARD", "set:{tag}"]))
    });
    assert_eq!(left[1], left[0]);
    assert_eq!((left[1].1["zadd"], left[1].2.as_str()), (2000, "50"));
}

#[test]
fn a_sequence_is_counted_by_its_commands() {
    let server = Server::valkey().start();
    let words = "-n 1000 -P 2 --csv -- multi ; 2 set k __data__ ; exec";
    let (outcome, calls) = asked(ours(), &server, words);
    assert_eq!((calls["multi"], calls["set"], calls["exec"]), (250, 500, 250));
    assert!(outcome.out.contains("\n\"multi ; 2 set k __data__ ; exec\",\""), "{}", outcome.out);
    assert_eq!(server.cli(&["GET", "k"]), "VXK");
}

#[test]
fn numbers_may_come_one_after_the_other() {
    let server = Server::redis().start();
    asked(ours(), &server, "-n 300 -r 300 --sequential -q zadd z __rand_int__ e:__rand_1st__");
    assert_eq!(server.cli(&["ZCARD", "z"]), "300");
    assert_eq!(server.cli(&["ZRANGE", "z", "299", "299"]).len(), "e:".len() + 12);
}

#[test]
fn the_last_argument_may_come_from_standard_input() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("value");
    std::fs::write(&path, b"a\0b\n").unwrap();
    let mut program = ours();
    program.stdin(std::fs::File::open(path).unwrap());
    let (outcome, calls) = asked(program, &server, "-n 5 -x -q set k");
    assert!(outcome.out.contains("set k: ") && calls["set"] == 5, "{outcome:?}");
    assert_eq!(server.cli(&["STRLEN", "k"]), "4");
}

#[test]
fn a_test_may_last_for_a_time_at_a_rate_behind_a_warm_up() {
    let server = Server::redis().start();
    let words = "--duration 2 --warmup 1 --rps 400 -c 5 -t get";
    let (outcome, calls) = asked(ours(), &server, words);
    let number = |from: &str, to: &str| -> f64 {
        let (_, rest) = outcome.out.split_once(from).unwrap_or_else(|| panic!("no {from}: {outcome:?}"));
        rest.split_once(to).unwrap().0.trim().parse().unwrap()
    };
    let shown = number("====== GET ======\n", " requests completed");
    // The warm-up is asked for too, and shown by nothing but the line that is drawn.
    assert!((calls["get"] as f64) > shown && shown > 0.0, "{calls:?} {outcome:?}");
    assert_eq!(number("  target RPS: ", "\n"), 400.0);
    assert!(
        outcome.out.contains("Warming up GET: rps=") && outcome.out.contains(" seconds\r"),
        "{outcome:?}"
    );
}

#[test]
fn idle_connections_say_nothing() {
    let server = Server::redis().start();
    let running = Running::start(redyno(&["bench", "-p", &server.port_text(), "-I", "-c", "7", "-a", "x"]));
    let refused = running.end().expect_code(1);
    assert!(refused.err.starts_with("Node 127.0.0.1:"), "{refused:?}");
    server.cli(&["CONFIG", "RESETSTAT"]);
    let running = Running::start(redyno(&["bench", "-p", &server.port_text(), "-I", "-c", "7"]));
    running.wait_for("clients", |out| out.contains("clients: 7\r").then_some(()));
    let idle = server.cli(&["CLIENT", "LIST"]).lines().filter(|line| line.contains(" cmd=NULL ")).count();
    assert_eq!(idle, 7);
}

#[test]
fn exactly_as_many_requests_are_sent_as_are_asked_for() {
    let server = Server::redis().start();
    let (outcome, calls) = asked(ours(), &server, "-n 10 -P 8 -t ping_mbulk --json");
    assert_eq!(calls["ping"], 10);
    let shown: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!((&shown["test"], &shown["requests"]), (&"PING_MBULK".into(), &10.into()));
}

#[test]
fn what_fails_is_said_in_the_words_of_redis_benchmark() {
    let server = Server::redis().start();
    let port = server.port_text();
    let nobody = free_port().to_string();
    let refused = format!("Could not connect to Redis at 127.0.0.1:{nobody}: Connection refused\n");
    let wrong = "Error from server: ERR wrong number of arguments for 'lpush' command\n";
    for (words, expected) in [
        (vec!["-p", &port, "-q", "lpush", "x"], wrong),
        (vec!["-p", &port, "--dbnum", "99", "-q"], "Error from server: ERR DB index is out of range\n"),
        (vec!["-p", &port, "--dbnum", "-1", "-q"], "Error from server: ERR DB index is out of range\n"),
        (vec!["-p", &nobody], &refused),
        (vec!["-p", "65536"], "Invalid server port.\n"),
    ] {
        let outcome = run(&[vec!["bench"], words].concat()).expect_code(1);
        assert_eq!(outcome.err, expected);
    }
    server.cli(&["ACL", "SETUSER", "default", "-config"]);
    let outcome = run(&["bench", "-p", &port, "-n", "10", "-q", "-t", "get", "-e"]).expect_code(0);
    assert!(
        outcome.err.ends_with("avoid false results.\nWARNING: Could not fetch server CONFIG\n"),
        "{outcome:?}"
    );
}

#[test]
fn through_a_link_it_is_the_one_that_the_link_is_named_for() {
    let directory = tempfile::tempdir().unwrap();
    let link = |name: &str| {
        let path = directory.path().join(name);
        symlink(env!("CARGO_BIN_EXE_redyno"), &path).unwrap();
        Command::new(path)
    };
    let server = Server::valkey().start();
    let (outcome, calls) = asked(link("valkey-benchmark"), &server, "-n 200 -q");
    assert_eq!(outcome.out.matches(" requests per second, p50=").count(), 24, "{}", outcome.out);
    assert_eq!((calls["fcall"], calls["function|load"], calls["mget"]), (200, 201, 200));
    let (outcome, _) = asked(link("redis-benchmark"), &server, "-n 200 --csv -t get,mget,fcall");
    assert_eq!(outcome.out.lines().count(), 2, "{}", outcome.out);
}

#[test]
fn over_tls_only_the_ciphers_that_are_named_are_offered() {
    let (authority, server) = TlsServer::usual(&["--tls-protocols", "TLSv1.2"]);
    let (port, path) = (server.port_text(), authority.path());
    let bench = |options: &[&str]| {
        let usual = ["bench", "-p", &port, "--tls", "--cacert", &path, "-n", "100", "-c", "2", "--csv"];
        run(&[&usual[..], options, &["-t", "get"]].concat())
    };
    for options in [&[][..], &["--tls-ciphers", "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES256-GCM-SHA384"]]
    {
        let outcome = bench(options).expect_code(0);
        assert!(outcome.out.contains("\n\"GET\",\"") && outcome.err.is_empty(), "{outcome:?}");
    }
    let unknown = bench(&["--tls-ciphersuites", "TLS_AES_128_GCM_SHA256:HIGH"]).expect_code(1);
    let shown = "--tls-ciphersuites: 'HIGH' is not a supported cipher; give one of TLS_AES_256_GCM_SHA384, \
                TLS_AES_128_GCM_SHA256, TLS_CHACHA20_POLY1305_SHA256\n";
    assert_eq!((unknown.out.as_str(), unknown.err.as_str()), ("", shown));
}

#[test]
fn it_goes_through_a_unix_socket() {
    let server = Server::redis().start();
    let socket = server.socket().display().to_string();
    let outcome = run(&["bench", "-s", &socket, "-n", "200", "-q", "-t", "incr"]).expect_code(0);
    assert!(outcome.out.contains("INCR: "), "{}", outcome.out);
    assert_eq!(server.cli(&["GET", "counter:__rand_int__"]), "200");
}

#[test]
fn a_loop_goes_on_until_it_is_interrupted() {
    let server = Server::redis().start();
    // Tests that run in the background of a shell inherit that SIGINT is ignored, and so would the program, as theirs does.
    let mut command = std::process::Command::new("env");
    command.arg("--default-signal=INT").arg(redyno(&[]).get_program());
    command.args(["bench", "-p", &server.port_text(), "-n", "50", "-t", "get", "--csv", "-l"]);
    let running = Running::start(command);
    running.wait_for_lines(3, "\"GET\",\"");
    running.signal(Signal::INT);
    let outcome = running.end();
    assert_eq!(outcome.status.signal(), Some(Signal::INT.as_raw()), "as theirs: {outcome:?}");
    let rows = outcome.out.lines().skip(1).filter(|line| !line.starts_with("\"GET\",\"")).count();
    assert!(outcome.out.starts_with("\"test\",\"rps\"") && rows == 0, "{}", outcome.out);
}

#[test]
fn a_command_may_be_of_the_records_of_a_file() {
    let server = Server::valkey().start();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("docs.csv");
    std::fs::write(&file, "id,title\n1,a\n2,b c\n3,x\n").unwrap();
    let (port, path) = (server.port_text(), file.display().to_string());
    let bench = |options: &[&str], command: &[&str]| {
        run(&[&["bench", "-p", &port, "-n", "4", "--csv"][..], options, &["--"], command].concat())
    };
    let command = ["hset", "doc:__field:id__", "t", "<__field:title__>", ";", "incr", "n:__field:id__"];
    bench(&["--dataset", &path, "--maxdocs", "2", "-n", "6"], &command).expect_code(0);
    assert_eq!(server.cli(&["HGET", "doc:2", "t"]), "<b c>");
    assert_eq!(server.cli(&["MGET", "n:1", "n:2", "n:3"]), "2\n1");
    for (options, command, expected) in [
        (&["-l"][..], &[";", ";"][..], "the sequence has no command; give one"),
        (
            &["--dataset", &path],
            &["get", "__field:no__"],
            "Error: Field placeholder '__field:no__' not found in dataset fields\nAvailable fields: id, title\n\
             Failed to initialize dataset\n",
        ),
        (
            &["--dataset", &path],
            &["get", "x"],
            "Error: Dataset mode requires at least one field placeholder\nExample: SET doc:__rand_int__ ",
        ),
        (&["--dataset", "/none"], &["get", "__field:x__"], "Cannot open dataset file: /none: No such file"),
        (
            &["--dataset", &path],
            &[],
            "Error: Dataset mode requires a command with field placeholders\nExample: SET doc:__rand_int__ ",
        ),
    ] {
        let outcome = bench(options, command).expect_code(1);
        assert!(outcome.err.starts_with(expected) && outcome.out.is_empty(), "{outcome:?}");
    }
    std::fs::write(&file, "v\nYQBi\n").unwrap();
    bench(&["--dataset", &path], &["set", "decoded", "<__field:v:base64__>"]).expect_code(0);
    assert_eq!(server.cli(&["STRLEN", "decoded"]), "5");
    bench(&[], &["set", "x", "__field:id__ __record__"]).expect_code(0);
    assert_eq!(server.cli(&["GET", "x"]), "__field:id__ __record__");
}

#[test]
fn on_a_cluster_the_masters_are_listed_and_all_of_them_get_the_tests_alone() {
    let nodes = Nodes::start(Server::redis, false);
    let port = nodes.0[1].port_text();
    let bench =
        |words: &[&str]| run(&[&["bench", "-p", &port, "--cluster", "-n", "600"][..], words].concat());
    let outcome = bench(&["-t", "set,mset,lpush", "-r", "50"]).expect_code(0);
    let head =
        format!("Cluster has 3 master nodes:\n\nMaster 0: {} 127.0.0.1:{port}\nMaster 1: ", nodes.id(1));
    assert!(outcome.out.starts_with(&head), "{}", outcome.out);
    let settings =
        "  cluster mode: yes (3 masters)\n  node [0] configuration:\n    save: NONE\n    appendonly: no\n";
    assert!(outcome.out.contains(settings), "{}", outcome.out);
    let json = bench(&["-t", "incr", "--json"]).expect_code(0).out;
    json.lines().for_each(|line| drop(serde_json::from_str::<serde_json::Value>(line).unwrap()));
    let mut valkey = redyno(&[]);
    valkey.arg0("valkey-benchmark").args(["-p", &port, "--cluster", "-n", "10", "-t", "incr"]);
    let out = Running::start(valkey).end().expect_code(0).out;
    assert!(out.starts_with("Cluster has 3 primary nodes:\n\nNode 0(Primary): "), "{out}");
    assert!(out.contains("  cluster mode: yes (3 primary)\n"), "{out}");
    bench(&["-r", "50", "get", "own:{tag}:__rand_int__"]).expect_code(0);
    for command in ["set", "mset", "lpush", "get"] {
        assert_eq!(nodes.calls(command), 600, "{command}");
        assert!(nodes.0.iter().all(|node| node.calls(&[], command) > 100), "{command}");
    }
    assert_eq!(nodes.calls("sadd") + nodes.calls("hset") + nodes.calls("unlink"), 0);
    let alone = Server::redis().start();
    let refused = run(&["bench", "-p", &alone.port_text(), "--cluster", "-n", "1"]).expect_code(1);
    assert!(
        refused.err.starts_with("Failed to fetch cluster configuration from 127.0.0.1:"),
        "{}",
        refused.err
    );
}
