//! A real server is made slow by what it is asked to do, and the session without load names the cause.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::support::{
    Server,
    program::{Running, redyno},
    wait_for,
};

/// A thread that makes a server slow until it is dropped.
pub struct Nuisance {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Nuisance {
    /// Starts a thread that calls `once` with the number of the call until it fails.
    pub fn start(mut once: impl FnMut(u64) -> std::io::Result<()> + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let body =
            move || drop((0..).take_while(|_| !stopped.load(Ordering::Relaxed)).try_for_each(&mut once));
        Self { stop, thread: Some(thread::spawn(body)) }
    }

    /// Starts a client that sends the next request as soon as it has the whole reply to the one before.
    pub fn client(port: u16, request: impl Fn(u64) -> String + Send + 'static) -> Self {
        let mut link = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let mut buffer = vec![0; 1 << 20];
        Self::start(move |n| {
            link.write_all(format!("{}\r\nECHO fin\r\n", request(n)).as_bytes())?;
            let mut end = Vec::new();
            while !end.ends_with(b"fin\r\n") {
                let read = link.read(&mut buffer)?;
                end.extend_from_slice(&buffer[..read]);
                end.drain(..end.len().saturating_sub(16));
            }
            Ok(())
        })
    }
}

impl Drop for Nuisance {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

/// Starts a session without load, and waits for `seconds` of it.
pub fn watch(port: u16, seconds: usize) -> Running {
    let running =
        Running::start(redyno(&["-p", &port.to_string(), "--no-load", "--headless", "--duration", "90"]));
    running.wait_for_lines(seconds, " | ");
    running
}

pub fn filled(args: &[&str], keys: &str, size: &str) -> Server {
    let server = Server::redis().with_args(&[&["--enable-debug-command", "yes"], args].concat()).start();
    server.cli(&["DEBUG", "POPULATE", keys, "key", size]);
    server
}

#[test]
#[ignore = "long: a server of 400 000 keys"]
fn keys_is_named_with_its_caller() {
    let server = filled(&[], "400000", "10");
    let running = watch(server.port(), 2);
    let _keys = Nuisance::client(server.port(), |_| "KEYS nothing:*".to_owned());
    running.wait_for_lines(1, "slow command: KEYS takes");
    running.wait_for_lines(1, "called by 127.0.0.1:");
}

#[test]
#[ignore = "long: a hash of 300 000 fields"]
fn a_big_hash_is_named_with_its_key() {
    let server = Server::redis().start();
    server.cli(&["EVAL", "for i=1,300000 do redis.call('HSET','cart:all',i,i) end", "0"]);
    let running = watch(server.port(), 2);
    let _all = Nuisance::client(server.port(), |_| "HGETALL cart:all".to_owned());
    let has_key = |line: &str| line.contains("slow command: HGETALL") && line.contains("HGETALL cart:all");
    running.wait_for("a finding with the key", |out| out.lines().any(has_key).then_some(()));
}

#[test]
#[ignore = "long: a server of 100 000 keys"]
fn many_large_mgets_are_named_though_none_is_slow() {
    let server = filled(&[], "100000", "100");
    let running = watch(server.port(), 2);
    let keys: String = (0..3000).map(|n| format!(" key:{}", n * 33)).collect();
    let _some: Vec<_> = (0..4)
        .map(|_| {
            let request = format!("MGET{keys}");
            Nuisance::client(server.port(), move |_| request.clone())
        })
        .collect();
    // On a fast machine, most of the time is spent on reading the requests and writing the replies.
    running.wait_for("MGET by its name", |out| {
        ["MGET takes", "MGET requests many keys at once"]
            .iter()
            .any(|words| out.contains(words))
            .then_some(())
    });
}

#[test]
#[ignore = "long: a snapshot of a gigabyte"]
fn a_fork_is_named_with_its_length() {
    let server = filled(&[], "3000000", "200");
    let running = watch(server.port(), 2);
    server.cli(&["BGSAVE"]);
    running.wait_for_lines(1, "fork: a fork paused the server for");
}

#[test]
#[ignore = "long: 600 000 keys that expire together"]
fn a_burst_of_expiring_keys_is_named() {
    let server = Server::redis().start();
    server.cli(&["EVAL", "for i=1,600000 do redis.call('SET','e:'..i,1,'PX',9000) end", "0"]);
    let running = watch(server.port(), 1);
    running.wait_for_lines(1, "expiry: removing");
}

#[test]
#[ignore = "long: evicts 300 000 keys"]
fn an_eviction_storm_is_named() {
    let server = filled(&["--maxmemory", "80mb", "--maxmemory-policy", "allkeys-lru"], "600000", "30");
    let running = watch(server.port(), 2);
    let value = "z".repeat(4000);
    let _writer = Nuisance::client(server.port(), move |n| format!("SET n:{n} {value}"));
    running.wait_for_lines(1, "eviction: writes make the server evict keys");
}

#[test]
#[ignore = "long: thousands of connections a second"]
fn a_client_that_connects_for_each_request_is_named() {
    let server = Server::redis().start();
    let port = server.port();
    let running = watch(port, 2);
    let connect = move |_| {
        let mut link = TcpStream::connect(("127.0.0.1", port))?;
        link.write_all(b"PING\r\n")?;
        link.read(&mut [0; 16]).map(drop)
    };
    let _two = [Nuisance::start(connect), Nuisance::start(connect)];
    running.wait_for_lines(1, "new connections a second");
}

#[test]
#[ignore = "long: replies of 200 MB"]
fn a_client_that_does_not_read_is_named() {
    let server = Server::redis().start();
    server.cli(&["SETRANGE", "big", "1000000", "x"]);
    let running = watch(server.port(), 2);
    let mut link = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    link.write_all("GET big\r\n".repeat(200).as_bytes()).unwrap();
    running.wait_for_lines(1, "output buffers: a client does not read its replies");
}

#[test]
#[ignore = "long: a server that is stopped for seconds"]
fn a_stopped_server_does_not_answer() {
    let server = Server::redis().start();
    let running = watch(server.port(), 2);
    server.pause();
    running.wait_for_lines(1, "stall: the server does not answer");
    server.resume();
    running.wait_for_lines(1, "stall: no reply to PING for");
}

/// Forwards what it reads, after `delay`.
#[test]
#[ignore = "long: writes some 100 MB to a replica that stands still"]
fn a_replica_that_is_behind_is_named_and_its_buffer_is_no_client() {
    let (server, replica) = (Server::redis().start(), Server::redis().start());
    replica.cli(&["REPLICAOF", "127.0.0.1", &server.port_text()]);
    wait_for("the replica", || {
        replica.cli(&["INFO", "replication"]).contains("link_status:up").then_some(())
    });
    let running = watch(server.port(), 2);
    // A replica whose offset is 0 may still be copying the data.
    server.cli(&["SET", "first", "value"]);
    wait_for("the replica's offset", || {
        let replication = server.cli(&["INFO", "replication"]);
        (replication.contains("offset=") && !replication.contains("offset=0,")).then_some(())
    });
    replica.pause();
    let value = "z".repeat(50_000);
    let _writer = Nuisance::client(server.port(), move |n| {
        thread::sleep(Duration::from_millis(1));
        format!("SET n:{} {value}", n % 100)
    });
    running.wait_for_lines(1, &format!("replication: the replica 127.0.0.1:{} is behind", replica.port()));
    assert!(!running.out().contains("output buffers: "), "{}", running.out());
    replica.resume();
}

#[test]
#[ignore = "long: reads some GB"]
fn a_big_key_that_many_read_is_named_by_its_replies() {
    let server = Server::redis().start();
    server.cli(&["SETRANGE", "big", "3000000", "x"]);
    let running = watch(server.port(), 2);
    let _readers = [0; 4].map(|_| Nuisance::client(server.port(), |_| "GET big".to_owned()));
    running.wait_for_lines(1, "big reply: clients read large keys: replies of ");
}

#[test]
#[ignore = "long: a busy main thread"]
fn a_hot_key_saturates_the_main_thread_which_is_named_with_its_command() {
    let server = Server::redis().start();
    let running = watch(server.port(), 2);
    let requests = "INCR hot\r\n".repeat(2000);
    let _four = [0; 4].map(|_| {
        let requests = requests.clone();
        Nuisance::client(server.port(), move |_| requests.clone())
    });
    let is_named = |line: &str| {
        line.contains("server cpu: the server's main thread has no idle time") && line.contains("INCR ")
    };
    running.wait_for("the saturated thread", |out| out.lines().any(is_named).then_some(()));
}
