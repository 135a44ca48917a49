//! memcached, and what is asked of it.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use crate::support::{
    Server,
    program::{Outcome, run},
    session::at_port,
};
use redyno::{
    endpoint::Target,
    protocol::Dialect,
    session::{Record, SessionEnd},
};

pub const LIMIT: std::time::Duration = std::time::Duration::from_secs(20);

pub fn memcached(args: &[&str]) -> Server {
    Server::memcached().with_args(args).start()
}

pub fn uri(server: &Server) -> String {
    format!("memcached://127.0.0.1:{}", server.port())
}

pub fn target(server: &Server) -> Target {
    Target { dialect: Dialect::Memcached, ..at_port(server.port()) }
}

/// What it answers to a line, up to `end`.
pub fn asked(port: u16, line: &str, end: &str) -> Vec<String> {
    ask(&TcpStream::connect(("127.0.0.1", port)).expect("memcached listens"), line, end)
}

/// The same over a connection that stays.
pub fn ask(mut stream: &TcpStream, line: &str, end: &str) -> Vec<String> {
    write!(stream, "{line}\r\n").expect("it takes a line");
    let mut lines = Vec::new();
    for line in BufReader::new(stream).lines() {
        let line = line.expect("it answers");
        let is_last = line.starts_with(end);
        lines.push(line);
        if is_last {
            break;
        }
    }
    lines
}

/// Its own counts.
pub fn stats(port: u16) -> BTreeMap<String, u64> {
    let count = |line: &String| {
        let (name, value) = line.strip_prefix("STAT ")?.split_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    asked(port, "stats", "END").iter().filter_map(count).collect()
}

/// A memcached that ends with the test.
pub struct Spawned(Child);

impl Spawned {
    pub fn start(args: &[&str]) -> Self {
        // Files of the test are for its own user.
        let usual = ["-U", "0", "-u", "root"];
        let child = Command::new("memcached")
            .args(usual)
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.expect("apt-get install memcached"))
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn headless(uri: &str, more: &[&str]) -> Outcome {
    run(&[&["-u", uri, "--headless", "--json", "--load"], more].concat())
}

/// Operations, hits and misses of each command.
pub fn totals(records: &[Record]) -> BTreeMap<String, [u64; 3]> {
    let mut totals = BTreeMap::<String, [u64; 3]>::new();
    for record in records {
        let Record::Interval(interval) = record else { continue };
        for (name, counts) in &interval.commands {
            let total = totals.entry(name.clone()).or_default();
            *total = [total[0] + counts.ops, total[1] + counts.hits, total[2] + counts.misses];
        }
    }
    totals
}

pub fn end(records: &[Record]) -> &SessionEnd {
    match records.last() {
        Some(Record::End(end)) => end,
        other => panic!("the last record is {other:?}"),
    }
}
