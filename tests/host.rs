//! The host in records: the server's process and its sockets, seen from outside, and a replaced `/proc` and `/sys`.

use crate::support::{
    Server,
    program::{Running, records, redyno},
};
use redyno::{
    gauge::Gauge,
    host::HostSample,
    session::{Reader, Record},
};

fn sample(record: &Record) -> Option<HostSample> {
    if let Record::Host(moment) = record { Some(moment.body.clone()) } else { None }
}

/// Waits for a sample of a running session that `wanted` accepts.
fn wait_for_sample(running: &Running, what: &str, wanted: impl Fn(&HostSample) -> bool) -> HostSample {
    running.wait_for(what, |out| {
        let whole = &out[..out.rfind('\n')?];
        records(whole).iter().rev().filter_map(sample).find(|sample| wanted(sample))
    })
}

fn monitor(target: &str) -> Running {
    Running::start(redyno(&["-u", target, "--headless", "--json", "--no-load"]))
}

#[test]
fn a_server_that_does_not_answer_is_seen_from_outside() {
    let server = Server::redis().start();
    let info = server.cli(&["INFO", "server"]);
    let pid: u32 = info.lines().find_map(|line| line.strip_prefix("process_id:")).unwrap().parse().unwrap();
    let running = monitor(&format!("redis://127.0.0.1:{}", server.port()));
    let is_found = |sample: &HostSample| sample.server.as_ref().is_some_and(|server| server.pid == pid);
    let healthy = wait_for_sample(&running, "the server's process", |sample| {
        // On a busy machine a request may wait for a moment.
        is_found(sample)
            && sample.gauges.get(Gauge::ServerCpu).is_some()
            && sample.gauges.get(Gauge::Unread) == Some(0.0)
    });
    assert_eq!(healthy.server.unwrap().name, "redis-server");
    assert!(healthy.gauges.get(Gauge::AcceptLimit).is_some_and(|limit| limit > 0.0));
    server.pause();
    let stopped = wait_for_sample(&running, "requests that the stopped server has not read", |sample| {
        let is_stopped = sample.server.as_ref().is_some_and(|server| server.state == Some('T'));
        is_found(sample) && is_stopped && sample.gauges.get(Gauge::Unread).is_some_and(|bytes| bytes > 0.0)
    });
    server.resume();
    assert!(stopped.gauges.get(Gauge::UnreadConnections).is_some_and(|n| n >= 1.0));
}

#[test]
fn a_memcached_server_is_found_by_its_stats() {
    let server = Server::memcached().start();
    let running = monitor(&format!("memcached://127.0.0.1:{}", server.port()));
    let found = wait_for_sample(&running, "the server's process", |sample| sample.server.is_some());
    assert_eq!(found.server.unwrap().name, "memcached");
}

#[test]
fn the_hosts_files_may_be_in_another_folder_and_recordings_keep_what_was_read() {
    let server = Server::redis().start();
    let (root, file) = (tempfile::tempdir().unwrap(), "sys/kernel/mm/transparent_hugepage/enabled");
    let recording = root.path().join("session.jsonl");
    let port = server.port_text();
    let args = ["-p", &port, "--headless", "--no-load", "--duration", "1", "--redact"];
    let args = [&args[..], &["--record", recording.to_str().unwrap()]].concat();
    let command = || {
        let mut command = redyno(&args);
        command.env("REDYNO_HOST_ROOT", root.path());
        command
    };
    let refused = Running::start(command()).end().expect_code(2);
    assert!(
        refused.err.contains("which has no folder proc; mount the host's / there, or unset the variable"),
        "{refused:?}"
    );
    std::fs::create_dir(root.path().join("proc")).unwrap();
    std::fs::create_dir_all(root.path().join(file).parent().unwrap()).unwrap();
    std::fs::write(root.path().join(file), "[always] madvise never\n").unwrap();
    Running::start(command()).end().expect_code(0);
    let mut reader = Reader::open(&recording).unwrap();
    let read = std::iter::from_fn(|| reader.next_record().unwrap());
    let sample = read.filter_map(|record| sample(&record)).last().unwrap();
    assert_eq!(sample.gauges.flag(Gauge::HugePages), Some(true));
    assert_eq!(sample.missing["memory"], "this system has no /proc/meminfo");
    assert_eq!(sample.missing["server"], "left out (--redact)");
}
