//! A client that sends bytes and reads whole replies. Every read is bounded; a reply that does not come is a failure.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use redyno::demo::{self, Handle, Options};

/// Long enough for any machine; a test that reaches it has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server with these faults.
pub fn server_with(faults: &[&str]) -> Handle {
    let faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
    demo::start(Options { faults, ..Options::default() }).unwrap()
}

pub trait Stream: Read + Write {
    fn nonblocking(&self, on: bool);
}

impl Stream for TcpStream {
    fn nonblocking(&self, on: bool) {
        self.set_nonblocking(on).unwrap();
    }
}

impl Stream for UnixStream {
    fn nonblocking(&self, on: bool) {
        self.set_nonblocking(on).unwrap();
    }
}

pub struct Client {
    pub stream: Box<dyn Stream>,
    bytes: Vec<u8>,
}

impl Client {
    pub fn connect(server: &Handle) -> Self {
        Self::at(server.address)
    }

    pub fn at(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream: Box::new(stream), bytes: Vec::new() }
    }

    pub fn connect_unix(path: &Path) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream: Box::new(stream), bytes: Vec::new() }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    /// Sends one inline command and returns its reply.
    pub fn ask(&mut self, line: &str) -> String {
        self.send(format!("{line}\r\n"));
        self.reply()
    }

    /// The next whole reply, as its bytes.
    pub fn reply(&mut self) -> String {
        loop {
            if let Some(length) = whole(&self.bytes, 0) {
                let reply = self.bytes.drain(..length).collect();
                return String::from_utf8(reply).unwrap();
            }
            assert!(self.read_more() > 0, "the connection was closed instead of a reply: {:?}", self.bytes);
        }
    }

    /// Everything up to the end of the connection.
    pub fn rest(&mut self) -> Vec<u8> {
        while self.read_more() > 0 {}
        std::mem::take(&mut self.bytes)
    }

    /// What has arrived, whole or not, without waiting for more than one byte of it.
    pub fn some_bytes(&mut self) -> Vec<u8> {
        if self.bytes.is_empty() {
            self.read_more();
        }
        std::mem::take(&mut self.bytes)
    }

    /// Asserts that nothing has arrived. To say something, another client must have been answered since the server
    /// worked on this one: it is one thread.
    pub fn assert_silent(&mut self) {
        assert!(self.bytes.is_empty(), "{:?}", String::from_utf8_lossy(&self.bytes));
        self.stream.nonblocking(true);
        let read = self.stream.read(&mut [0; 16]);
        self.stream.nonblocking(false);
        assert_eq!(read.err().map(|error| error.kind()), Some(ErrorKind::WouldBlock));
    }

    /// Reads once; 0 at the end of the connection.
    fn read_more(&mut self) -> usize {
        let mut piece = [0; 1 << 16];
        let n = self.stream.read(&mut piece).expect("the server answers");
        self.bytes.extend_from_slice(&piece[..n]);
        n
    }
}

/// The end of the reply that begins at `start`, if it is whole. RESP2 and the RESP3 types that these tests meet.
fn whole(bytes: &[u8], start: usize) -> Option<usize> {
    let line_end = bytes[start..].iter().position(|byte| *byte == b'\n')? + start + 1;
    let length = || std::str::from_utf8(&bytes[start + 1..line_end - 2]).unwrap().parse::<i64>().unwrap();
    match bytes[start] {
        b'+' | b'-' | b':' | b'_' | b',' => Some(line_end),
        b'$' | b'=' if length() < 0 => Some(line_end),
        b'$' | b'=' => {
            let end = line_end + length() as usize + 2;
            (end <= bytes.len()).then_some(end)
        }
        kind @ (b'*' | b'%' | b'~') => {
            let members = if kind == b'%' { 2 * length() } else { length() };
            (0..members).try_fold(line_end, |at, _| if at < bytes.len() { whole(bytes, at) } else { None })
        }
        other => panic!("no reply starts with {:?}", char::from(other)),
    }
}

/// A request as an array of bulk strings.
pub fn request(words: &[&str]) -> String {
    let mut text = format!("*{}\r\n", words.len());
    for word in words {
        text.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    text
}
