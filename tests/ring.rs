//! One load on several servers by consistent hash: each key is on the server on which libmemcached has it, counts agree, and
//! no key is left.

use redyno::endpoint::{Address, HashRing};
use rustix::process::Signal;

use crate::support::{
    Server,
    memcached::{self, memcached},
    program::{Outcome, Running, redyno, run},
};

const LOAD: [&str; 9] = ["--hash", "ketama", "--headless", "--workload", "mixed", "-c", "6", "-r", "500"];

fn load(uris: &[String], args: &[&str]) -> Outcome {
    let uris: Vec<_> = uris.iter().map(String::as_str).collect();
    run(&[&uris[..], &LOAD, args].concat())
}

fn uris(servers: &[Server]) -> Vec<String> {
    servers.iter().map(|server| format!("redis://127.0.0.1:{}", server.port())).collect()
}

#[test]
fn each_key_is_on_its_server_and_none_is_left() {
    let servers = [Server::redis().start(), Server::valkey().start(), Server::redis().start()];
    let uris = uris(&servers);
    let calls = |command: &str| servers.each_ref().map(|server| server.calls(&[], command));
    let outcome = load(&uris, &["-n", "6000", "--prefill"]).expect_code(0);
    assert!(
        outcome.err.contains("500 of 500 requests answered") || outcome.out.contains("500 of 500"),
        "{outcome:?}"
    );
    assert!(outcome.out.contains("hits      100 %"), "{}", outcome.out);
    let [get, set] = [calls("get"), calls("set")].map(|calls| calls.iter().sum::<u64>());
    assert_eq!(get + set, 500 + 6000);
    for server in &servers {
        assert!(server.calls(&[], "get") > 500, "the load is spread");
        assert_eq!(server.cli(&["DBSIZE"]), "0");
    }
    let outcome = load(&uris, &["-n", "3000", "--keep"]).expect_code(0);
    assert!(outcome.err.contains("together remove them"), "{}", outcome.err);
    assert_placed(&servers, "redyno:*:0*");
    for server in &servers {
        run(&["clean", "-p", &server.port_text(), "--yes"]).expect_code(0);
        assert_eq!(server.cli(&["DBSIZE"]), "0");
    }
}

#[test]
fn memcacheds_keys_are_divided_too_and_all_found() {
    let servers = [(); 3].map(|()| memcached(&[]));
    let uris = servers.each_ref().map(memcached::uri);
    let outcome = load(&uris, &["-n", "6000", "--prefill"]).expect_code(0);
    assert!(outcome.out.contains("hits      100 %"), "{}", outcome.out);
    let stats = servers.each_ref().map(|server| memcached::stats(server.port()));
    assert!(stats.iter().all(|stats| stats["get_hits"] > 500), "the load is spread");
    assert_eq!(stats.iter().map(|stats| stats["curr_items"]).sum::<u64>(), 0, "no key and no marker");
}

/// Checks that every key `pattern` of a run is on its server.
fn assert_placed(servers: &[Server], pattern: &str) {
    let at = |server: &Server| Address::Tcp { host: "127.0.0.1".to_owned(), port: server.port() };
    let addresses: Vec<_> = servers.iter().map(at).collect();
    let (ring, owners) = HashRing::of(addresses.iter());
    for (place, server) in (0..).zip(servers) {
        let keys = server.cli(&["KEYS", pattern]);
        assert!(keys.lines().count() > 80, "{keys}");
        assert!(keys.lines().all(|key| owners[usize::from(ring.arc(key.as_bytes()))] == place), "{keys}");
    }
}

#[test]
fn the_drop_ins_divide_the_keys_too() {
    let servers = [(); 3].map(|()| Server::redis().start());
    let uris: [String; 3] = uris(&servers).try_into().unwrap();
    let [a, b, c] = uris.each_ref().map(String::as_str);
    let calls = |command: &str| servers.iter().map(|server| server.calls(&[], command)).sum::<u64>();
    let of_three = ["bench", "--hash", "ketama", "-u", a, "-u", b, "-u", c, "-r", "500", "-n", "3000"];
    let outcome = run(&[&of_three[..], &["-t", "set,get", "-P", "4"]].concat()).expect_code(0);
    assert!(
        outcome.out.starts_with("3 servers share the load by consistent hash:\n\nServer 0: 127"),
        "{outcome:?}"
    );
    assert!(outcome.out.contains("  hash: ketama (3 servers)\n"), "{outcome:?}");
    assert_eq!((calls("set"), calls("get")), (3000, 3000));
    assert_placed(&servers, "key:*");
    servers.iter().for_each(|server| drop(server.cli(&["FLUSHALL"])));
    let of_three = ["memtier", "--hash", "ketama", "-u", a, "-u", b, "-u", c, "--key-maximum", "500"];
    let size = ["-t", "2", "-c", "2", "-n", "500", "--hide-histogram", "--ratio", "1:1", "--pipeline", "4"];
    run(&[&of_three[..], &size].concat()).expect_code(0);
    assert_eq!((calls("set"), calls("get")), (4000, 4000));
    assert_placed(&servers, "memtier-*");
}

#[test]
fn imported_and_recorded_requests_go_to_the_server_of_their_key() {
    let servers = [(); 3].map(|()| Server::redis().start());
    let uris: [String; 3] = uris(&servers).try_into().unwrap();
    let [a, b, c] = uris.each_ref().map(String::as_str);
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let memtier = |text: &str, words: &[&str]| {
        std::fs::write(file.path(), text).unwrap();
        let of_three = ["memtier", "--hash", "ketama", "-u", a, "-u", b, "-u", c, "-c", "1", "-t", "1"];
        run(&[&of_three[..], &["-n", "500", "--hide-histogram"], words].concat())
    };
    let rows: String = (0..500).map(|n| format!("0, 0, 0, 1, 0, 0, 0, 1, i{n}, x\n")).collect();
    let heading = "dumpflags, time, exptime, nbytes, nsuffix, it_flags, clsid, nkey, key, data\n";
    memtier(&(heading.to_owned() + &rows), &["--data-import", path, "--ratio", "1:0"]).expect_code(0);
    assert_placed(&servers, "i*");
    let recorded = |command: &str| format!("1.000000 [0 127.0.0.1:1] {command}\n");
    let sets: String = (0..500).map(|n| recorded(&format!("\"SET\" \"m{n}\" \"x\""))).collect();
    let monitored = ["--monitor-input", path, "--command", "__monitor_line@__"];
    memtier(&sets, &monitored).expect_code(0);
    assert_placed(&servers, "m*");
    let several = sets + &recorded("\"DEL\" \"m1\" \"m2\"");
    let outcome = memtier(&several, &monitored).expect_code(1);
    assert!(outcome.err.contains("the command 'DEL m1 m2' has several keys, which --hash"), "{outcome:?}");
    let outcome = run(&[a, b, "--hash", "ketama", "--headless", "--load", "--trace", path]).expect_code(2);
    assert!(outcome.err.contains("line 501 of the trace, 'DEL m1 m2', has several keys"), "{outcome:?}");
    assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
}

#[test]
fn a_client_of_memtier_replaces_its_connections_to_all_servers_after_its_requests() {
    let servers = [(); 2].map(|()| Server::redis().start());
    let uris: [String; 2] = uris(&servers).try_into().unwrap();
    let connections = |server: &Server| {
        let stats = server.cli(&["INFO", "stats"]);
        let line = stats.lines().find_map(|line| line.strip_prefix("total_connections_received:")).unwrap();
        line.trim().parse::<u64>().unwrap()
    };
    // A client prefers full batches for its own server, so a short interval may pass without a batch for the other one.
    let words = "-t 1 -c 2 -n 2000 --pipeline 2 --reconnect-interval 200 --ratio 1:1 --hide-histogram";
    let words: Vec<_> = words.split_whitespace().collect();
    let before = servers.each_ref().map(connections);
    let of_two = ["memtier", "--hash", "ketama", "-u", &uris[0], "-u", &uris[1]];
    run(&[&of_two[..], &words].concat()).expect_code(0);
    for (server, before) in servers.iter().zip(before) {
        // Ten times for each of the two clients, once for this count, and once to find the server.
        let opened = connections(server) - before;
        assert!((15..=22).contains(&opened), "{opened}");
    }
    let calls = |command: &str| servers.iter().map(|server| server.calls(&[], command)).sum::<u64>();
    assert_eq!((calls("set"), calls("get")), (2000, 2000), "no request is lost or sent twice");
}

#[test]
fn comparisons_divide_the_keys_too() {
    let servers = [(); 3].map(|()| Server::redis().start());
    let uris: [String; 3] = uris(&servers).try_into().unwrap();
    let [a, b, c] = uris.each_ref().map(String::as_str);
    let short =
        ["--hash", "ketama", "--part", "0.25", "-c", "4", "--anyway", "-r", "500", "--workload", "mixed"];
    let pair = &format!("{a},{b}");
    for words in [&["ab", a, b, c, "--to", "clients 5"][..], &["versus", pair, c]] {
        let running = Running::start(redyno(&[words, &short, &["--json"]].concat()));
        running.wait_for_lines(2, "\"kind\":\"pair\"");
        running.signal(Signal::INT);
        let outcome = running.end_of_writing().expect_code(130);
        assert!(!outcome.out.contains("\"errors\":{\""), "{}", outcome.out);
        for server in &servers {
            assert!(server.calls(&[], "get") > 50, "the load is spread: {words:?}");
            assert_eq!(server.cli(&["DBSIZE"]), "0");
            server.cli(&["CONFIG", "RESETSTAT"]);
        }
    }
}

#[test]
fn what_cannot_be_divided_is_refused_in_one_line() {
    let servers = [Server::redis().start(), Server::redis().start()];
    let [a, b] = uris(&servers).try_into().unwrap();
    let other = format!("{b}/3");
    for (words, expected) in [
        (&[&*a, &*b, "-n", "9", "--", "MGET", "{key}", "{key}"][..], "the operation 'MGET' has several keys"),
        (&[&*a, &*a], "is named twice; leave one out"),
        (&[&*a, &*other], "differ in protocol, user, password, database or TLS"),
        (&[&*a, "unix:///tmp/x"], "--hash needs servers with a host and a port"),
        (&["-p", "1"], "name them as URIs: `redyno redis://a redis://b --hash ketama`"),
        (
            &[&*a, &*b, "--load", "-n", "9", "--read-from", "any"],
            "is neither a node of a cluster nor a primary with replicas",
        ),
    ] {
        let outcome =
            run(&[words_before(words), &["--hash", "ketama", "--headless"], words_after(words)].concat())
                .expect_code(2);
        assert!(outcome.err.contains(expected) && outcome.err.lines().count() == 1, "{outcome:?}");
    }
    let pair = format!("{a},{b}");
    let of_two = ["-u", &a, "-u", &b];
    for (words, expected) in [
        (&["bench", "-r", "9"][..], "MSET (10 keys) has several keys, which --hash may place"),
        (&["bench", "-t", "get", "--cluster"], "--cluster cannot be used with --hash; leave one out"),
        (&["memtier", "--cluster-mode"], "--cluster-mode cannot be used with --hash; leave one out"),
        (&["memtier", "--multi-key-get", "2"], "has several keys"),
        (&["bench", "-t", "get", "-u", "unix:///x"], "/x: --hash needs servers with a host"),
        (&["bench", "-t", "get", "-u", "rediss://h"], "--hash needs TLS for all servers or for none"),
    ] {
        let outcome = run(&[words, &of_two, &["--hash", "ketama"]].concat());
        assert!(outcome.err.contains(expected) && outcome.err.lines().count() == 1, "{outcome:?}");
    }
    for (sides, expected) in [
        ([&*a, &*b], "write the URIs of a target with commas between them"),
        ([&*a, &format!("{b},{b}")], "is named twice; leave one out"),
        ([&*pair, "redis://127.0.0.1:1,redis://127.0.0.1:2"], "B, 127.0.0.1:1 and 1 more server: "),
    ] {
        let outcome = run(&[&["versus"], &sides[..], &["--hash", "ketama"]].concat());
        assert!(outcome.err.contains(expected) && outcome.err.lines().count() == 1, "{outcome:?}");
    }
    servers[1].cli(&["SET", "theirs", "1"]);
    let outcome = load(&[a.clone(), b], &["-n", "9"]).expect_code(2);
    assert!(outcome.err.contains("with 1 other server holds 1 key; the load writes keys"), "{}", outcome.err);
    let outcome = load(&[a, "redis://127.0.0.1:1".to_owned()], &["-n", "9"]).expect_code(1);
    assert!(outcome.err.starts_with("redyno: 127.0.0.1:1: "), "{}", outcome.err);
    assert_eq!(servers[0].calls(&[], "set"), 0);
}

/// The words before and after `--`.
fn words_before<'a>(words: &'a [&'a str]) -> &'a [&'a str] {
    words.split(|word| *word == "--").next().unwrap()
}

fn words_after<'a>(words: &'a [&'a str]) -> &'a [&'a str] {
    &words[words_before(words).len()..]
}
