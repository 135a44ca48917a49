//! One client's connection: read, answer, write.

use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};

use super::engine::{Engine, Request};
use super::faults::{Damage, ReplyFault};
use super::outbox::Outbox;
use super::request::Parser;

/// Unsent bytes beyond which a client's requests wait until it reads its replies.
const MAX_UNSENT: usize = 1 << 20;
/// Unread bytes of one request beyond which a client is thrown out, 1 GiB as in Redis.
const MAX_UNREAD: usize = 1 << 30;
/// Reads for one client before the others have their turn.
const ROUNDS: usize = 16;
/// What no client can take for a reply.
const GARBAGE: &[u8] = b"\x16\x03\x01\x00garbage\xff\xfe\r\n";

/// A stream socket.
#[derive(Debug)]
pub enum Socket {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over a unix socket.
    Unix(UnixStream),
}

impl Socket {
    /// Registers with a poll for both directions.
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let both = Interest::READABLE | Interest::WRITABLE;
        match self {
            Self::Tcp(stream) => stream.register(registry, token, both),
            Self::Unix(stream) => stream.register(registry, token, both),
        }
    }

    /// Makes the close that follows a reset, where the transport has such a thing.
    fn reset_on_close(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO)),
            Self::Unix(_) => Ok(()),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(bytes),
            Self::Unix(stream) => stream.read(bytes),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a connection does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It waits for an event.
    Wait,
    /// It has more to read, and lets the others have their turn first.
    Read,
    /// It is closed.
    Close,
}

/// Whether requests are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// They are.
    Serving,
    /// They are read and thrown away.
    Silent,
    /// As silent; and when all is sent, the connection is closed.
    Leaving,
    /// The connection is reset once what may be sent has been.
    Resetting,
}

/// One client's connection.
#[derive(Debug)]
pub struct Connection {
    /// Tells this connection from earlier ones at its slot.
    pub serial: u64,
    /// For which moment the event loop has a timer for it.
    pub timer_ns: Option<u64>,
    slot: usize,
    socket: Socket,
    parser: Parser,
    /// Bytes of requests that are not whole or have to wait.
    input: Vec<u8>,
    outbox: Outbox,
    phase: Phase,
    /// Requests wait until replies have gone.
    choked: bool,
    /// Whether the other side has closed: then a short read does not mean that there is no more to come.
    hung_up: bool,
}

impl Connection {
    /// A connection at `slot`.
    pub fn new(socket: Socket, slot: usize, serial: u64) -> Self {
        Self {
            serial,
            timer_ns: None,
            slot,
            socket,
            parser: Parser::default(),
            input: Vec::new(),
            outbox: Outbox::default(),
            phase: Phase::Serving,
            choked: false,
            hung_up: false,
        }
    }

    /// When a reply that is held back may go.
    pub fn held_until_ns(&self) -> Option<u64> {
        self.outbox.held_until_ns()
    }

    /// Reads what there is, answers it, and writes the replies in one go. `room` is what reads go into.
    pub fn on_readable(&mut self, hung_up: bool, engine: &mut Engine, room: &mut [u8]) -> Next {
        self.hung_up |= hung_up;
        let read = self.read(engine, room);
        match (self.send(engine), read) {
            (Next::Close, _) | (_, Next::Close) => Next::Close,
            // What was sent may have made room for more.
            (_, Next::Wait) if self.choked && self.outbox.unsent() <= MAX_UNSENT => Next::Read,
            (_, read) => read,
        }
    }

    /// Goes on writing, when the socket takes more or a hold has ended.
    pub fn on_writable(&mut self, engine: &mut Engine) -> Next {
        if self.outbox.unsent() == 0 && self.phase != Phase::Leaving {
            return Next::Wait;
        }
        match self.send(engine) {
            Next::Wait if self.choked && self.outbox.unsent() <= MAX_UNSENT => Next::Read,
            next => next,
        }
    }

    fn read(&mut self, engine: &mut Engine, room: &mut [u8]) -> Next {
        // Requests that were read before the client's replies choked it.
        if std::mem::take(&mut self.choked) {
            self.take_in(&[], engine);
        }
        for _ in 0..ROUNDS {
            if self.choked {
                return Next::Wait;
            }
            let n = match self.socket.read(room) {
                Ok(0) => return Next::Close,
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Next::Wait,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return Next::Close,
            };
            self.count_read(n, engine);
            self.take_in(&room[..n], engine);
            if self.input.len() > MAX_UNREAD {
                return Next::Close;
            }
            // A read that did not fill the buffer has drained the socket, and the next byte brings a new event.
            if n < room.len() && !self.hung_up {
                return Next::Wait;
            }
        }
        Next::Read
    }

    /// Answers what is whole of the bytes left over and of `new` ones, and keeps the rest. The usual case copies nothing.
    fn take_in(&mut self, new: &[u8], engine: &mut Engine) {
        let mut input = std::mem::take(&mut self.input);
        if input.is_empty() {
            let used = self.answer(new, engine);
            self.input = new[used..].to_vec();
        } else {
            input.extend_from_slice(new);
            let used = self.answer(&input, engine);
            input.drain(..used);
            self.input = if input.is_empty() { Vec::new() } else { input };
        }
    }

    fn count_read(&self, n: usize, engine: &mut Engine) {
        let net = &mut engine.state.stats.net;
        net.reads += 1;
        net.bytes_in += n as u64;
        if let Some(session) = engine.state.sessions[self.slot].as_mut() {
            session.bytes_in += n as u64;
        }
    }

    /// Answers all whole requests in `input`; how many bytes need not be kept.
    fn answer(&mut self, input: &[u8], engine: &mut Engine) -> usize {
        engine.state.read_clock();
        let (mut used, mut position) = (0, 0);
        while self.phase == Phase::Serving && used < input.len() {
            if self.outbox.unsent() > MAX_UNSENT {
                self.choked = true;
                return used;
            }
            let unread = &input[used..];
            let length = match self.parser.parse(unread) {
                Ok(Some(length)) => length,
                Ok(None) => return used,
                Err(error) => {
                    engine.refuse_bytes(self.slot, &error, self.outbox.bytes());
                    self.phase = Phase::Leaving;
                    break;
                }
            };
            let arguments = self.parser.arguments(unread);
            if !arguments.is_empty() {
                position += 1;
                let begin = self.outbox.length();
                let request = Request { slot: self.slot, position, arguments };
                let fault = engine.answer(request, self.outbox.bytes());
                self.apply(fault, begin, engine);
            }
            used += length;
        }
        if self.phase == Phase::Serving { used } else { input.len() }
    }

    /// Does to the reply that begins at `begin` what the script of faults wants, and sees whether the client goes.
    fn apply(&mut self, fault: ReplyFault, begin: usize, engine: &Engine) {
        if !fault.delay.is_zero() {
            self.outbox.hold(begin, engine.state.now_ns, fault.delay);
        }
        match fault.damage {
            None => {}
            Some(Damage::Garbage) => {
                self.outbox.cut_to(begin);
                self.outbox.bytes().extend_from_slice(GARBAGE);
            }
            Some(Damage::Cut { close }) => {
                self.outbox.cut_to(begin + (self.outbox.length() - begin) / 2);
                self.phase = if close { Phase::Leaving } else { Phase::Silent };
            }
            Some(Damage::Reset) => {
                self.outbox.cut_to(begin);
                self.phase = Phase::Resetting;
            }
        }
        let leaving = engine.state.sessions[self.slot].as_ref().is_none_or(|session| session.leaving);
        if leaving && self.phase == Phase::Serving {
            self.phase = Phase::Leaving;
        }
    }

    fn send(&mut self, engine: &mut Engine) -> Next {
        if self.outbox.unsent() > 0 {
            let Ok((went, writes)) = self.outbox.send(&mut self.socket, engine.state.now_ns) else {
                return Next::Close;
            };
            let net = &mut engine.state.stats.net;
            net.writes += writes;
            net.bytes_out += went as u64;
            if let Some(session) = engine.state.sessions[self.slot].as_mut() {
                session.bytes_out += went as u64;
            }
        }
        match self.phase {
            Phase::Resetting => {
                // If the option cannot be set the client sees a close, which is the nearest thing left.
                let _ = self.socket.reset_on_close();
                Next::Close
            }
            Phase::Leaving if self.outbox.unsent() == 0 => Next::Close,
            _ => Next::Wait,
        }
    }
}
