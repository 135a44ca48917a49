//! The way to a real server, its machine or redyno itself is made slow, and the session names this way.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::process::Signal;

use crate::{
    causes::{Nuisance, filled, watch},
    support::{
        Server,
        program::{Running, redyno},
    },
};

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
    running.wait_for_lines(1, "network: the network path became longer");
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

/// Returns the share of a part in the line about where the time of `request` goes, at the end of a session.
fn share(out: &str, request: &str, part: &str) -> f64 {
    let line = out
        .lines()
        .rfind(|line| line.contains("where the time goes, ") && line.contains(&format!(" s: {request} ")));
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
