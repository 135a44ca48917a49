//! One client's connection: read, answer, write.

use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};

use super::buffer::ReadBuffer;
use super::engine::{Aftermath, Engine, Request};
use super::faults::Damage;
use super::outbox::Outbox;
use super::request::{Parser, Progress};
use super::state::Closing;

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

/// What is to become of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It waits for the next event.
    Waits,
    /// It has more to read, and lets the others have their turn first.
    Again,
    /// It is over.
    Over,
}

/// Whether requests are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
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
    input: ReadBuffer,
    outbox: Outbox,
    mood: Mood,
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
            input: ReadBuffer::default(),
            outbox: Outbox::default(),
            mood: Mood::Serving,
            choked: false,
            hung_up: false,
        }
    }

    /// When a reply that is held back may go.
    pub fn held_until_ns(&self) -> Option<u64> {
        self.outbox.held_until_ns()
    }

    /// Reads what there is, answers it, and writes the replies in one go.
    pub fn on_readable(&mut self, hung_up: bool, engine: &mut Engine, shared: &mut ReadBuffer) -> Fate {
        self.hung_up |= hung_up;
        let mut input = self.input.borrow(shared);
        let read = self.read(&mut input, engine);
        self.input.give_back(input, shared);
        match (self.send(engine), read) {
            (Fate::Over, _) | (_, Fate::Over) => Fate::Over,
            // What was sent may have made room for more.
            (_, Fate::Waits) if self.choked && self.outbox.unsent() <= MAX_UNSENT => Fate::Again,
            (_, read) => read,
        }
    }

    /// Goes on writing, when the socket takes more or a hold has ended.
    pub fn on_writable(&mut self, engine: &mut Engine) -> Fate {
        if self.outbox.unsent() == 0 && self.mood != Mood::Leaving {
            return Fate::Waits;
        }
        match self.send(engine) {
            Fate::Waits if self.choked && self.outbox.unsent() <= MAX_UNSENT => Fate::Again,
            fate => fate,
        }
    }

    /// Lets go of all replies that are held back.
    pub fn release(&mut self, engine: &mut Engine) -> Fate {
        self.outbox.release();
        self.on_writable(engine)
    }

    fn read(&mut self, input: &mut ReadBuffer, engine: &mut Engine) -> Fate {
        // Requests that were read before the client's replies choked it.
        let waited = std::mem::take(&mut self.choked);
        if waited {
            self.answer(input, engine);
        }
        for _ in 0..ROUNDS {
            if self.choked {
                return Fate::Waits;
            }
            let spare = input.spare();
            let room = spare.len();
            let n = match self.socket.read(spare) {
                Ok(0) => return Fate::Over,
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Fate::Waits,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return Fate::Over,
            };
            input.filled(n);
            self.count_read(n, engine);
            self.answer(input, engine);
            if input.unread().len() > MAX_UNREAD {
                return Fate::Over;
            }
            // A read that did not fill the buffer has drained the socket, and the next byte brings a new event.
            if n < room && !self.hung_up {
                return Fate::Waits;
            }
        }
        Fate::Again
    }

    fn count_read(&self, n: usize, engine: &mut Engine) {
        let net = &mut engine.state.stats.net;
        net.reads += 1;
        net.bytes_in += n as u64;
        if let Some(session) = engine.state.sessions[self.slot].as_mut() {
            session.bytes_in += n as u64;
        }
    }

    /// Answers all whole requests in `input`.
    fn answer(&mut self, input: &mut ReadBuffer, engine: &mut Engine) {
        engine.state.read_clock();
        let mut position = 0;
        while self.mood == Mood::Serving && !input.unread().is_empty() {
            if self.outbox.unsent() > MAX_UNSENT {
                self.choked = true;
                return;
            }
            let authenticated =
                engine.state.sessions[self.slot].as_ref().is_some_and(|session| session.authenticated);
            let length = match self.parser.parse(input.unread(), authenticated) {
                Ok(Progress::Complete(length)) => length,
                Ok(Progress::Incomplete(_)) => return,
                Err(error) => {
                    engine.refuse_bytes(self.slot, &error, self.outbox.bytes());
                    self.mood = Mood::Leaving;
                    break;
                }
            };
            let arguments = self.parser.arguments(input.unread());
            if !arguments.is_empty() {
                position += 1;
                let begin = self.outbox.length();
                let request = Request { slot: self.slot, position, arguments };
                let aftermath = engine.answer(request, self.outbox.bytes());
                self.suffer(aftermath, begin, engine);
            }
            input.consume(length);
        }
        if self.mood != Mood::Serving {
            input.clear();
        }
    }

    /// Does to the reply that begins at `begin` what the script of faults wants, and sees whether the client goes.
    fn suffer(&mut self, aftermath: Aftermath, begin: usize, engine: &Engine) {
        if !aftermath.delay.is_zero() {
            self.outbox.hold(begin, engine.state.now_ns, aftermath.delay);
        }
        match aftermath.damage {
            None => {}
            Some(Damage::Garbage) => {
                self.outbox.cut_to(begin);
                self.outbox.bytes().extend_from_slice(GARBAGE);
            }
            Some(Damage::Cut { close }) => {
                self.outbox.cut_to(begin + (self.outbox.length() - begin) / 2);
                self.mood = if close { Mood::Leaving } else { Mood::Silent };
            }
            Some(Damage::Reset) => {
                self.outbox.cut_to(begin);
                self.mood = Mood::Resetting;
            }
        }
        let closing =
            engine.state.sessions[self.slot].as_ref().map_or(Closing::Now, |session| session.closing);
        if closing != Closing::No && self.mood == Mood::Serving {
            self.mood = Mood::Leaving;
        }
    }

    fn send(&mut self, engine: &mut Engine) -> Fate {
        if self.outbox.unsent() > 0 {
            let Ok((went, writes)) = self.outbox.send(&mut self.socket, engine.state.now_ns) else {
                return Fate::Over;
            };
            let net = &mut engine.state.stats.net;
            net.writes += writes;
            net.bytes_out += went as u64;
            if let Some(session) = engine.state.sessions[self.slot].as_mut() {
                session.bytes_out += went as u64;
            }
        }
        match self.mood {
            Mood::Resetting => {
                // If the option cannot be set the client sees a close, which is the nearest thing left.
                let _ = self.socket.reset_on_close();
                Fate::Over
            }
            Mood::Leaving if self.outbox.unsent() == 0 => Fate::Over,
            _ => Fate::Waits,
        }
    }
}
