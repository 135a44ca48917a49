//! `--metrics`: what a scraper gets while a session runs is what was counted, and who asks holds up nobody.

use std::{
    io::{Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
};

use rustix::process::Signal;

use crate::support::{
    Server, free_port,
    program::{Running, redyno, run},
    wait_for,
};

pub fn ask(mut stream: impl Read + Write, request: &str) -> String {
    stream
        .write_all(format!("{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes())
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// The sum of all samples of this name.
fn counted(text: &str, name: &str) -> f64 {
    let samples = text.lines().filter(|line| line.starts_with(name));
    samples.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

#[test]
fn a_scraper_gets_counters_that_grow_and_the_server_counts_the_same() {
    let server = Server::redis().start();
    let (port, metrics) = (server.port_text(), free_port().to_string());
    let args =
        ["-p", &port, "--headless", "--yes", "--load", "-c", "2", "--rate", "500", "--metrics", &metrics];
    let running = Running::start(redyno(&args));
    let scrape = || {
        let stream = TcpStream::connect(("127.0.0.1", metrics.parse().unwrap())).ok()?;
        Some(ask(stream, "GET /metrics"))
    };
    let first =
        wait_for("some requests", || scrape().filter(|text| counted(text, "redyno_ops_total") > 100.0));
    assert!(first.starts_with("HTTP/1.1 200 OK\r\n"), "{first}");
    assert!(first.contains("application/openmetrics-text; version=1.0.0"), "{first}");
    assert!(first.ends_with("# EOF\n"), "{first}");
    assert_eq!(counted(&first, "redyno_target_rate"), 500.0);
    let before = counted(&first, "redyno_ops_total");
    wait_for("more requests", || scrape().filter(|text| counted(text, "redyno_ops_total") > before + 100.0));
    let stream = || TcpStream::connect(("127.0.0.1", metrics.parse().unwrap())).unwrap();
    assert!(ask(stream(), "GET /x").starts_with("HTTP/1.1 404"));
    assert!(ask(stream(), "POST /metrics").starts_with("HTTP/1.1 405"));
    // Who says nothing is given up on, and nobody waits for it.
    let _silent: Vec<_> = (0..8).map(|_| stream()).collect();
    assert!(scrape().unwrap().ends_with("# EOF\n"));
    running.signal(Signal::TERM);
    running.end().expect_code(130);
    assert!(TcpStream::connect(("127.0.0.1", metrics.parse().unwrap())).is_err(), "it ends with the session");
}

#[test]
fn memtier_serves_the_sums_of_all_its_runs_below_the_names_of_memtier_benchmark() {
    let server = Server::redis().start();
    let port = server.port_text();
    let words = ["-t", "1", "-c", "2", "--rate-limiting", "200", "-n", "400", "-x", "2", "--hide-histogram"];
    let prometheus = ["--prometheus-port=0", "--prometheus-run-label=note=a\"b\\c"];
    let buckets = "--prometheus-latency-buckets=0.001,0.5";
    let running = Running::start(redyno(
        &[&["memtier", "-p", &port], &words[..], &prometheus, &[buckets, "--key-prefix=secret"]].concat(),
    ));
    let address = running.wait_for("the address", |out| {
        let line = out.strip_prefix("Prometheus exporter listening on http://")?;
        Some(line.split_once("/metrics\n")?.0.to_owned())
    });
    let scrape = || Some(ask(TcpStream::connect(&*address).ok()?, "GET /metrics"));
    let value = |text: &str, name: &str| counted(text, &format!("memtier_{name}{{"));
    let text = wait_for("replies of the second run", || {
        scrape().filter(|text| value(text, "run") == 2.0 && value(text, "ops_total") > 810.0)
    });
    assert!(text.contains("text/plain; version=0.0.4; charset=utf-8"), "{text}");
    let ops = value(&text, "ops_total");
    assert_eq!(value(&text, "latency_seconds_count"), ops);
    let gets = value(&text, "hits_total") + value(&text, "misses_total");
    assert!(gets > ops * 0.8 && gets < ops, "{text}");
    assert_eq!(["connections", "threads", "configured_runs"].map(|name| value(&text, name)), [2.0, 1.0, 2.0]);
    assert_eq!(value(&text, "arbitrary_hits_total") + value(&text, "errors_total"), 0.0);
    let labels = r#"{note="a\"b\\c","#;
    let bounds: Vec<_> =
        text.lines().filter_map(|line| line.strip_prefix("memtier_latency_seconds_bucket")).collect();
    let bound = |le: &str| format!("{labels}le=\"{le}\"}} ");
    let of =
        |place: usize, le: &str| bounds[place].strip_prefix(&*bound(le)).unwrap().parse::<f64>().unwrap();
    assert_eq!(of(2, "+Inf"), ops);
    assert!(of(0, "0.001") <= of(1, "0.5") && of(1, "0.5") <= ops, "{text}");
    for absent in ["secret", &port] {
        assert!(!text.contains(&format!("\"{absent}\"")), "{absent} stands in {text}");
    }
    running.end().expect_code(0);
    let taken = format!("--prometheus-port={port}");
    let outcome = run(&["memtier", "-p", &port, "-n", "1", &taken]).expect_code(1);
    assert!(
        outcome.err.starts_with(&format!("error: prometheus exporter: failed to bind 127.0.0.1:{port}: "))
    );
}

#[test]
fn those_who_ask_nothing_and_those_who_read_nothing_keep_out_nobody() {
    let server = Server::redis().start();
    let (port, metrics) = (server.port_text(), free_port().to_string());
    let running = Running::start(redyno(&["-p", &port, "--headless", "--metrics", &metrics]));
    let address = ("127.0.0.1", metrics.parse().unwrap());
    let silent = wait_for("the first connection", || TcpStream::connect(address).ok());
    let mut held = vec![silent];
    let many = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".repeat(1000);
    for n in 0..100 {
        let mut stream = TcpStream::connect(address).unwrap();
        match n % 3 {
            // What it is sent in return is more than any system keeps for it.
            0 => drop(stream.set_nonblocking(true).and_then(|()| stream.write(&many))),
            1 => drop(stream.write(b"\x00\xff garbage\r\n\r\n")),
            _ => {}
        }
        held.push(stream);
    }
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    assert!(ask(stream, "GET /metrics").ends_with("# EOF\n"));
    running.signal(Signal::TERM);
    running.end().expect_code(130);
}

#[test]
fn a_socket_serves_as_well_and_goes_at_the_end() {
    let server = Server::redis().start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.sock");
    let (port, address) = (server.port_text(), format!("unix:{}", path.display()));
    let running = Running::start(redyno(&["-p", &port, "--headless", "--metrics", &address]));
    let text = wait_for("pings", || {
        let text = ask(UnixStream::connect(&path).ok()?, "GET /metrics");
        (counted(&text, "redyno_ping_seconds_count") > 0.0).then_some(text)
    });
    assert_eq!(counted(&text, "redyno_load"), 0.0);
    assert!(counted(&text, "redyno_server_used_memory_bytes") > 0.0, "{text}");
    assert!(counted(&text, "redyno_host_memory_available_bytes") > 0.0, "{text}");
    assert!(counted(&text, "redyno_process_accept_limit") > 0.0, "{text}");
    running.signal(Signal::TERM);
    running.end().expect_code(130);
    assert!(!path.exists());
}

#[test]
fn an_address_that_is_taken_is_reported_before_anything_is_measured() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let outcome = run(&["--headless", "--duration", "1", "--metrics", &port]).expect_code(1);
    let shown = format!("redyno: cannot serve metrics at 127.0.0.1:{port}: ");
    assert!(outcome.err.starts_with(&shown) && outcome.err.lines().count() == 1, "{}", outcome.err);
    assert_eq!(outcome.out, "");
    let wrong = run(&["--headless", "--metrics", "nowhere"]).expect_code(2);
    assert!(wrong.err.contains("127.0.0.1:9121"), "{}", wrong.err);
}
