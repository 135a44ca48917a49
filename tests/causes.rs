//! A real server is made slow in one way, and the session without load names this way.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::process::Signal;

use crate::support::{
    Server,
    program::{Running, redyno},
    wait_for,
};

/// A thread that makes a server slow until it is dropped.
struct Nuisance {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Nuisance {
    /// Starts a thread that calls `once` with the number of the call until it fails.
    fn start(mut once: impl FnMut(u64) -> std::io::Result<()> + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let body =
            move || drop((0..).take_while(|_| !stopped.load(Ordering::Relaxed)).try_for_each(&mut once));
        Self { stop, thread: Some(thread::spawn(body)) }
    }

    /// Starts a client that sends the next request as soon as it has the whole reply to the one before.
    fn client(port: u16, request: impl Fn(u64) -> String + Send + 'static) -> Self {
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
fn watch(port: u16, seconds: usize) -> Running {
    let running =
        Running::start(redyno(&["-p", &port.to_string(), "--no-load", "--headless", "--duration", "90"]));
    running.wait_for_lines(seconds, " | ");
    running
}

fn filled(args: &[&str], keys: &str, size: &str) -> Server {
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
        ["MGET takes", "MGET asks for many keys at once"]
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
    running.wait_for_lines(1, "fork: a fork held the server for");
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
    running.wait_for_lines(1, "eviction: each write evicts keys");
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
fn forward(mut from: TcpStream, mut to: TcpStream, delay: impl Fn() + Send + 'static) {
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            delay();
            if to.write_all(&buffer[..n]).is_err() {
                break;
            }
        }
    });
}

/// Starts a proxy before a server; `delay` is called for each packet of both ways. Returns the proxy's port.
pub fn proxy(server: &Server, delay: impl Fn() + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, to) = (listener.local_addr().unwrap().port(), server.port());
    thread::spawn(move || {
        for link in listener.incoming().flatten() {
            let Ok(onward) = TcpStream::connect(("127.0.0.1", to)) else { break };
            [&link, &onward].map(|link| link.set_nodelay(true)).into_iter().for_each(drop);
            let (Ok(back), Ok(forth)) = (link.try_clone(), onward.try_clone()) else { break };
            forward(link, onward, delay.clone());
            forward(forth, back, delay.clone());
        }
    });
    port
}

#[test]
#[ignore = "long: what is usual takes some seconds"]
fn a_way_that_becomes_longer_is_the_network() {
    let (server, is_slow) = (Server::redis().start(), Arc::new(AtomicBool::new(false)));
    let slow = Arc::clone(&is_slow);
    let late = move || {
        if slow.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(10));
        }
    };
    let running = watch(proxy(&server, late), 14);
    is_slow.store(true, Ordering::Relaxed);
    running.wait_for_lines(1, "network: the way to the server became longer");
}

#[test]
#[ignore = "long: several lost packets"]
fn packets_that_are_sent_again_are_lost_ones() {
    let (server, n) = (Server::redis().start(), Arc::new(AtomicU64::new(0)));
    // TCP sends a lost packet again after 200 ms at least; the proxy does it once in 190 packets.
    let lose = move || {
        if n.fetch_add(1, Ordering::Relaxed) % 190 == 189 {
            thread::sleep(Duration::from_millis(210));
        }
    };
    let running = watch(proxy(&server, lose), 2);
    running.wait_for_lines(1, "lost packets: packets are lost on the way to the server");
}

#[test]
#[ignore = "long: needs a core for a loop"]
fn a_load_without_a_core_is_limited_by_redyno() {
    let server = Server::redis().start();
    let _loop =
        Ended(Command::new("taskset").args(["-c", "0", "sh", "-c", "while :; do :; done"]).spawn().unwrap());
    let port = server.port_text();
    let plain = redyno(&["-p", &port, "--headless", "--clients", "50", "--threads", "1", "--duration", "30"]);
    let mut pinned = Command::new("taskset");
    pinned
        .args(["-c", "0"])
        .arg(plain.get_program())
        .args(plain.get_args())
        .env("XDG_CONFIG_HOME", "/nowhere");
    let running = Running::start(pinned);
    running.wait_for_lines(1, "client limit: ");
}

/// A child process that ends when this is dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "long: three samples of a replaced /proc"]
fn memory_that_is_read_from_swap_is_named() {
    let (server, root) = (Server::redis().start(), tempfile::tempdir().unwrap());
    std::fs::create_dir(root.path().join("proc")).unwrap();
    let file = root.path().join("proc/vmstat");
    let _swap = Nuisance::start(move |n| {
        thread::sleep(Duration::from_millis(50));
        std::fs::write(&file, format!("pswpin {}\npswpout 0\n", n * 100))
    });
    let mut command = redyno(&["-p", &server.port_text(), "--no-load", "--headless", "--duration", "30"]);
    command.env("REDYNO_HOST_ROOT", root.path());
    Running::start(command).wait_for_lines(1, "this machine reads memory from swap");
}

#[test]
#[ignore = "long: three samples of a full queue"]
fn a_full_accept_queue_is_named_beside_the_server_that_does_not_accept() {
    let server = Server::redis().with_args(&["--tcp-backlog", "4"]).start();
    let port = server.port();
    let running = watch(port, 2);
    server.pause();
    let _waiting: Vec<_> = (0..12)
        .map(|_| {
            Nuisance::start(move |_| {
                let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
                let _link = TcpStream::connect_timeout(&address, Duration::from_millis(500));
                thread::sleep(Duration::from_millis(200));
                Ok(())
            })
        })
        .collect();
    running.wait_for_lines(1, "refused: the server's accept queue is full");
    running.wait_for_lines(1, "is stopped: no reply to PING");
    server.resume();
}

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
        line.contains("server cpu: the server's main thread has no time left") && line.contains("INCR ")
    };
    running.wait_for("the saturated thread", |out| out.lines().any(is_named).then_some(()));
}

/// Returns the share of a part in the line about where the time of `request` goes, at the end of a session.
fn share(out: &str, request: &str, part: &str) -> f64 {
    let line = out.lines().rfind(|line| line.contains(&format!("where the time goes: {request} ")));
    let line = line.unwrap_or_else(|| panic!("{out}"));
    let known = line
        .split([':', ',', ';'])
        .find_map(|known| known.trim().strip_prefix(part)?.trim().strip_suffix(" %"));
    known.unwrap_or_else(|| panic!("{line}")).parse().unwrap()
}

#[test]
#[ignore = "long: needs a core for a loop"]
fn a_process_on_the_core_of_the_server_is_named() {
    let server = filled(&[], "100000", "100");
    let pid = server
        .cli(&["INFO", "server"])
        .lines()
        .find_map(|line| line.strip_prefix("process_id:")?.parse().ok());
    let pid: u32 = pid.unwrap();
    assert!(Command::new("taskset").args(["-apc", "0", &pid.to_string()]).output().unwrap().status.success());
    let running = watch(server.port(), 2);
    let keys: String = (0..100).map(|n| format!(" key:{n}")).collect();
    let _client = Nuisance::client(server.port(), move |_| format!("MGET{keys}"));
    let _loop =
        Ended(Command::new("taskset").args(["-c", "0", "sh", "-c", "while :; do :; done"]).spawn().unwrap());
    running.wait_for_lines(1, "core taken: the server waits");
}

#[test]
#[ignore = "long: writes to a disk for some seconds"]
fn writes_that_wait_for_a_busy_disk_are_named() {
    let server = Server::redis().with_args(&["--appendonly", "yes", "--appendfsync", "always"]).start();
    let running = watch(server.port(), 2);
    let _disk = [0, 1].map(|number| {
        let file = server.directory.path().join(format!("busy{number}"));
        let block = vec![7; 16 << 20];
        Nuisance::start(move |_| {
            let mut file = std::fs::File::create(&file)?;
            file.write_all(&block)?;
            file.sync_all()
        })
    });
    let value = "z".repeat(50_000);
    let _writers = [0; 4].map(|_| {
        let value = value.clone();
        Nuisance::client(server.port(), move |n| format!("SET n:{} {value}", n % 100))
    });
    running.wait_for_lines(1, "disk: appendfsync always: each write waits for the disk");
}

#[test]
#[ignore = "long: three sessions of some seconds"]
fn five_milliseconds_are_on_the_part_that_spent_them() {
    let server = Server::redis().start();
    let port = server.port_text();
    let load = |port: &str, args: &[&str]| {
        let session = ["-p", port, "--headless", "--clients", "1", "--yes", "--duration", "8"];
        Running::start(redyno(&[&session, args].concat()))
    };
    let busy = "local function us() local t=redis.call('TIME') return t[1]*1000000+t[2] end \
                local till=us()+5000 repeat until us()>till return 1";
    let executed = load(&port, &["--", "EVAL", busy, "0"]).end().out;
    assert!(share(&executed, "EVAL", "execution") >= 90.0, "{executed}");
    let way = proxy(&server, || thread::sleep(Duration::from_micros(2500))).to_string();
    let sent = load(&way, &["--", "GET", "a"]).end().out;
    assert!(share(&sent, "GET", "wire") >= 90.0, "{sent}");
    // Each stop makes requests late that were due meanwhile.
    let stopped = load(&port, &["--rate", "100", "--", "GET", "a"]);
    stopped.wait_for_lines(2, " | ");
    for _ in 0..400 {
        stopped.signal(Signal::STOP);
        thread::sleep(Duration::from_millis(10));
        stopped.signal(Signal::CONT);
        thread::sleep(Duration::from_millis(1));
    }
    let stopped = stopped.end().out;
    assert!(share(&stopped, "GET", "ours") >= 90.0, "{stopped}");
}
