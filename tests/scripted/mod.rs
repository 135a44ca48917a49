//! A server on loopback that does what a test's script says: answers, stalls, breaks off.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use redyno::endpoint::{Address, Target};

/// One end of an accepted connection.
pub struct Peer {
    reader: BufReader<Box<dyn Read + Send>>,
    writer: Box<dyn Write + Send>,
}

/// What the server does with one connection. It hangs up when the script returns.
pub type Script = Box<dyn FnOnce(&mut Peer) + Send>;

impl Peer {
    fn tcp(stream: TcpStream) -> Self {
        let reader: Box<dyn Read + Send> = Box::new(stream.try_clone().unwrap());
        Self { reader: BufReader::new(reader), writer: Box::new(stream) }
    }

    fn unix(stream: UnixStream) -> Self {
        let reader: Box<dyn Read + Send> = Box::new(stream.try_clone().unwrap());
        Self { reader: BufReader::new(reader), writer: Box::new(stream) }
    }

    /// The next command, its arguments joined by spaces; `None` when the client has hung up.
    pub fn command(&mut self) -> Option<String> {
        self.words().map(|words| words.join(" "))
    }

    /// The arguments of the next command.
    pub fn words(&mut self) -> Option<Vec<String>> {
        let arguments = self.header(b'*')?;
        let mut words = Vec::new();
        for _ in 0..arguments {
            let mut word = vec![0; self.header(b'$')? + 2];
            self.reader.read_exact(&mut word).ok()?;
            word.truncate(word.len() - 2);
            words.push(String::from_utf8(word).unwrap());
        }
        Some(words)
    }

    /// The next line, of any protocol; `None` when the client has hung up.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        (self.reader.read_line(&mut line).ok()? > 0).then_some(line)
    }

    fn header(&mut self, kind: u8) -> Option<usize> {
        let line = self.line()?;
        assert_eq!(line.as_bytes()[0], kind, "{line:?}");
        Some(line[1..].trim_end().parse().unwrap())
    }

    /// The next `n` bytes as text; `None` when the client has hung up.
    pub fn text(&mut self, n: usize) -> Option<String> {
        let mut bytes = vec![0; n];
        self.reader.read_exact(&mut bytes).ok()?;
        Some(String::from_utf8(bytes).unwrap())
    }

    /// Sends bytes. A client that has hung up is the script's end elsewhere.
    pub fn say(&mut self, text: &str) {
        self.say_bytes(text.as_bytes());
    }

    /// The same of bytes that are no text.
    pub fn say_bytes(&mut self, bytes: &[u8]) {
        let _ = self.writer.write_all(bytes);
    }

    /// Sends `head`, then `flood` again and again until the client hangs up.
    pub fn pour_after(&mut self, head: &[u8], flood: &[u8]) {
        let chunk = flood.repeat((64 * 1024 / flood.len()).max(1));
        let _ = self.writer.write_all(head);
        while self.writer.write_all(&chunk).is_ok() {}
    }

    /// Sends bytes. Whether the client takes them.
    pub fn has_said(&mut self, bytes: &str) -> bool {
        self.writer.write_all(bytes.as_bytes()).is_ok()
    }

    /// Takes the name that a connection gives itself.
    pub fn greet(&mut self) {
        assert_eq!(self.command().unwrap(), "CLIENT SETNAME redyno-ping");
        self.say("+OK\r\n");
    }

    /// Reads so many PINGs without an answer.
    pub fn swallow_pings(&mut self, n: usize) {
        for _ in 0..n {
            assert_eq!(self.command().unwrap(), "PING");
        }
    }

    /// Answers PINGs as a healthy server does until the client hangs up.
    pub fn pong_on(&mut self) {
        while let Some(command) = self.command() {
            assert_eq!(command, "PING");
            self.say("+PONG\r\n");
        }
    }
}

/// A running scripted server. It listens until its last connection was accepted.
pub struct Scripted {
    pub address: SocketAddr,
    thread: JoinHandle<()>,
}

impl Scripted {
    /// Serves one connection after the other, each by its script, on a free port.
    pub fn start(scripts: Vec<Script>) -> Self {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), scripts)
    }

    /// The same at a given address.
    pub fn start_at(address: SocketAddr, scripts: Vec<Script>) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let thread = thread::spawn(move || {
            let mut listener = Some(listener);
            let last = scripts.len() - 1;
            for (i, script) in scripts.into_iter().enumerate() {
                let (stream, _) = listener.as_ref().unwrap().accept().unwrap();
                if i == last {
                    listener = None;
                }
                script(&mut Peer::tcp(stream));
            }
        });
        Self { address, thread }
    }

    /// Serves one connection on a unix socket.
    pub fn start_unix(path: &Path, script: Script) -> JoinHandle<()> {
        let listener = UnixListener::bind(path).unwrap();
        thread::spawn(move || script(&mut Peer::unix(listener.accept().unwrap().0)))
    }

    /// The server as a target.
    pub fn target(&self) -> Target {
        target(self.address)
    }

    /// Waits for the end of all scripts; a script's failed assertion fails here.
    pub fn join(self) {
        end_of_script(self.thread);
    }
}

/// Waits for the end of a script. One that does not come to it fails the test after half a minute.
pub fn end_of_script(thread: JoinHandle<()>) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !thread.is_finished() {
        assert!(Instant::now() < deadline, "a script does not come to its end");
        thread::sleep(Duration::from_millis(5));
    }
    thread.join().unwrap();
}

/// An address as a target.
pub fn target(address: SocketAddr) -> Target {
    let address = Address::Tcp { host: address.ip().to_string(), port: address.port() };
    Target { address, ..Target::default() }
}

/// A server that serves any number of connections at a time, all by one script, until this is dropped.
pub struct Crowd {
    address: SocketAddr,
    closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Crowd {
    /// Serves each connection on a thread of its own; the script gets its number, from 0.
    pub fn start(script: impl Fn(&mut Peer, usize) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let closing = Arc::new(AtomicBool::new(false));
        let (script, ends) = (Arc::new(script), Arc::clone(&closing));
        let thread = thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                // A client may be gone before it was accepted.
                let Ok(stream) = stream else { continue };
                let script = Arc::clone(&script);
                thread::spawn(move || script(&mut Peer::tcp(stream), number));
            }
        });
        Self { address, closing, thread: Some(thread) }
    }

    /// The server as a target.
    pub fn target(&self) -> Target {
        target(self.address)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        // Wakes the listener; the connections end when their clients go.
        drop(TcpStream::connect(self.address));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
