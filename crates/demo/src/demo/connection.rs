//! The connection of one client to the built-in server. The connection reads requests, answers them and writes the
//! replies.
//!
//! The outbox contains the replies that are not sent yet, including replies that a fault delays:
//!
//! ```text
//! bytes: [ sent │ to be sent now │ delayed until t1 … │ delayed until t2 … ]
//! ```
//! A delayed reply also delays all later replies on its connection. Replies on other connections are not delayed.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Read, Write},
    time::Duration,
};

use socket2::Socket;

use super::{
    engine::Engine,
    faults::{Damage, RequestFaults},
    request::{ArgumentSpan, RequestArguments, parse},
};

/// The largest number of unsent bytes of replies to a client. With more unsent bytes, the requests of the
/// client wait until the client has read replies.
const MAX_UNSENT: usize = 1 << 20;
/// The largest number of unsent bytes of messages to a subscriber. The server disconnects a subscriber with more unsent
/// bytes, as Redis does at its output buffer limit.
const MAX_POSTED: usize = 32 << 20;
/// The largest size of an incomplete request, 1 GiB as in Redis. The server disconnects a client that sends more.
const MAX_UNREAD: usize = 1 << 30;
/// The largest number of bytes of one read.
const READ_SIZE: usize = 64 << 10;
/// The bytes that the fault `garbage` sends. No client accepts these bytes as a reply.
const GARBAGE: &[u8] = b"\x16\x03\x01\x00garbage\xff\xfe\r\n";

/// The read buffer. All connections use this buffer, one after the other.
pub struct ReadBuffer {
    bytes: Box<[u8]>,
    spans: Vec<ArgumentSpan>,
}

impl Default for ReadBuffer {
    fn default() -> Self {
        Self { bytes: vec![0; READ_SIZE].into(), spans: Vec::new() }
    }
}

/// The next action of the event loop for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextAction {
    /// The connection waits for an event.
    Wait,
    /// The connection may have more bytes to read; the event loop handles other connections first.
    Read,
    /// The connection is closed.
    Close,
}

/// The phase of a connection. A connection answers requests until a fault or an error occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServingPhase {
    /// The server answers requests.
    Serving,
    /// Requests are read and ignored.
    Silent,
    /// The server reads and ignores requests, and closes the connection when all replies are sent.
    Leaving,
    /// The server sends the replies that are not delayed, and then resets the connection.
    Resetting,
}

/// One client's connection.
pub struct DemoConnection {
    client: usize,
    socket: Socket,
    /// The bytes of requests that are incomplete, or that wait until replies have been sent.
    input: Vec<u8>,
    outbox: Outbox,
    phase: ServingPhase,
    /// Whether requests wait, either until the client has read replies, or until a stream or a list has a new
    /// entry.
    is_paused: bool,
    /// The end of the first request's wait for an entry of a stream or a list, or `None` if the request does
    /// not wait.
    waits_until_ns: Option<u64>,
    /// Whether the client has closed its side of the connection. Even after a short read, such a connection may have
    /// more bytes to read.
    pub hung_up: bool,
}

impl DemoConnection {
    /// Returns a connection for this client on `socket`.
    pub fn new(socket: Socket, client: usize) -> Self {
        let (input, outbox) = (Vec::new(), Outbox::default());
        let (phase, waits_until_ns) = (ServingPhase::Serving, None);
        Self { client, socket, input, outbox, phase, is_paused: false, waits_until_ns, hung_up: false }
    }

    /// Returns the end of the next reply's delay, or the end of the client's wait for an entry if this time is earlier.
    /// Returns `None` if no reply is delayed and the client does not wait.
    pub fn held_until_ns(&self) -> Option<u64> {
        [self.outbox.held_until_ns(), self.waits_until_ns].into_iter().flatten().min()
    }

    /// Returns whether the client waits for an entry of a stream or a list.
    fn waits(&self) -> bool {
        self.waits_until_ns.is_some()
    }

    /// Adds a message that is not a reply. Returns whether the client reads so slowly that it must be disconnected.
    pub fn post(&mut self, message: &[u8]) -> bool {
        if self.phase == ServingPhase::Serving {
            self.outbox.bytes.extend_from_slice(message);
        }
        self.outbox.unsent() > MAX_POSTED
    }

    /// Sends the replies that are not delayed. If `reads` is true, first reads from the socket once and answers the
    /// requests.
    pub fn process(&mut self, reads: bool, engine: &mut Engine, room: &mut ReadBuffer) -> NextAction {
        let read = if reads || self.waits() { self.read(engine, room) } else { NextAction::Wait };
        match (self.send(engine), read) {
            (NextAction::Close, _) | (_, NextAction::Close) => NextAction::Close,
            // Sending may have made room for more replies.
            (_, NextAction::Wait)
                if self.is_paused && !self.waits() && self.outbox.unsent() <= MAX_UNSENT =>
            {
                NextAction::Read
            }
            (_, read) => read,
        }
    }

    fn read(&mut self, engine: &mut Engine, room: &mut ReadBuffer) -> NextAction {
        // First answers the requests that wait because too many replies were unsent.
        if std::mem::take(&mut self.is_paused) {
            self.take_in(&[], engine, &mut room.spans);
            if self.is_paused {
                return self.pause();
            }
        }
        let n = match self.socket.read(&mut room.bytes) {
            Ok(0) => return NextAction::Close,
            Ok(n) => n,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return NextAction::Wait,
            Err(error) if error.kind() == ErrorKind::Interrupted => return NextAction::Read,
            Err(_) => return NextAction::Close,
        };
        let net = &mut engine.state.stats.net;
        net.reads += 1;
        net.bytes_in += n as u64;
        self.take_in(&room.bytes[..n], engine, &mut room.spans);
        match self.input.len() {
            MAX_UNREAD.. => NextAction::Close,
            _ if self.is_paused => self.pause(),
            // A read that did not fill the buffer has emptied the socket; the next byte causes a new event.
            _ if n < room.bytes.len() && !self.hung_up => NextAction::Wait,
            _ => NextAction::Read,
        }
    }

    /// Returns the next action of a connection whose requests wait. The connection is closed if its client
    /// waits for an entry but has disconnected.
    fn pause(&self) -> NextAction {
        if self.waits() && self.hung_up { NextAction::Close } else { NextAction::Wait }
    }

    /// Answers the complete requests in the kept bytes and the `new` bytes, and keeps an incomplete request. Usually no
    /// bytes are copied.
    fn take_in(&mut self, new: &[u8], engine: &mut Engine, spans: &mut Vec<ArgumentSpan>) {
        let mut input = std::mem::take(&mut self.input);
        if input.is_empty() {
            let used = self.answer(new, engine, spans);
            self.input = new[used..].to_vec();
        } else {
            input.extend_from_slice(new);
            let used = self.answer(&input, engine, spans);
            input.drain(..used);
            self.input = if input.is_empty() { Vec::new() } else { input };
        }
    }

    /// Answers the complete requests in `input`, and returns the number of bytes of these requests.
    fn answer(&mut self, input: &[u8], engine: &mut Engine, spans: &mut Vec<ArgumentSpan>) -> usize {
        engine.state.read_clock();
        let (mut used, mut position) = (0, 0);
        while self.phase == ServingPhase::Serving && used < input.len() {
            if self.outbox.unsent() > MAX_UNSENT {
                self.is_paused = true;
                return used;
            }
            let bytes = match parse(&input[used..], spans) {
                Ok(Some(length)) => &input[used..used + length],
                Ok(None) => return used,
                Err(error) => {
                    engine.refuse(self.client, &error, &mut self.outbox.bytes);
                    self.phase = ServingPhase::Leaving;
                    break;
                }
            };
            if !spans.is_empty() {
                position += 1;
                let begin = self.outbox.bytes.len();
                let arguments = RequestArguments { bytes, spans };
                let fault = engine.answer((self.client, position), arguments, &mut self.outbox.bytes);
                self.waits_until_ns = fault.waits_until_ns;
                if self.waits() {
                    self.is_paused = true;
                    return used;
                }
                self.apply(&fault, begin, engine);
            }
            used += bytes.len();
        }
        if self.phase == ServingPhase::Serving { used } else { input.len() }
    }

    /// Applies faults to the reply that begins at byte `begin` of the outbox, and records whether the client must be
    /// disconnected.
    fn apply(&mut self, fault: &RequestFaults, begin: usize, engine: &Engine) {
        if !fault.delay.is_zero() {
            self.outbox.hold(begin, engine.state.now_ns, fault.delay);
        }
        let bytes = &mut self.outbox.bytes;
        match fault.damage {
            None => {}
            Some(Damage::Garbage) => {
                bytes.truncate(begin);
                bytes.extend_from_slice(GARBAGE);
            }
            Some(Damage::Cut { close }) => {
                bytes.truncate(begin.midpoint(bytes.len()));
                self.phase = if close { ServingPhase::Leaving } else { ServingPhase::Silent };
            }
            Some(Damage::Reset) => {
                bytes.truncate(begin);
                self.phase = ServingPhase::Resetting;
            }
        }
        if self.phase == ServingPhase::Serving && engine.state.sessions[&self.client].leaving {
            self.phase = ServingPhase::Leaving;
        }
    }

    fn send(&mut self, engine: &mut Engine) -> NextAction {
        if self.outbox.unsent() > 0 {
            let Ok((went, writes)) = self.outbox.send(&mut self.socket, engine.state.now_ns) else {
                return NextAction::Close;
            };
            let net = &mut engine.state.stats.net;
            net.writes += writes;
            net.bytes_out += went as u64;
        }
        match self.phase {
            ServingPhase::Resetting => {
                // A unix socket does not support this, so its client sees a normal close.
                let _ = self.socket.set_linger(Some(Duration::ZERO));
                NextAction::Close
            }
            ServingPhase::Leaving if self.outbox.unsent() == 0 => NextAction::Close,
            _ => NextAction::Wait,
        }
    }
}

/// A size in bytes. Sent bytes are removed from the buffer when they reach this size and fill at least half of the
/// buffer. An empty buffer keeps at most this much memory.
const KEPT: usize = 64 << 10;

/// The output to one client.
#[derive(Debug, Default)]
pub struct Outbox {
    /// The buffer of replies. Replies are appended at the end. Unsent bytes at the end may be removed again.
    pub bytes: Vec<u8>,
    sent: usize,
    /// The delays in order. Each delay has a position in `bytes` and a time. Bytes from this position on are not sent
    /// before this time.
    holds: VecDeque<(usize, u64)>,
}

impl Outbox {
    /// Delays all bytes from position `from` on until `delay` after `now_ns`.
    pub fn hold(&mut self, from: usize, now_ns: u64, delay: Duration) {
        let until_ns = now_ns.saturating_add(delay.as_nanos() as u64);
        // A delay that ends before the previous one changes nothing.
        if self.holds.back().is_none_or(|(_, earlier_ns)| *earlier_ns < until_ns) {
            self.holds.push_back((from, until_ns));
        }
    }

    /// Returns the time when the first delay ends.
    pub fn held_until_ns(&self) -> Option<u64> {
        self.holds.front().map(|(_, until_ns)| *until_ns)
    }

    /// Returns the number of bytes that have not been sent.
    pub fn unsent(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Sends the bytes that are not delayed, until the socket accepts no more. Returns the number of sent
    /// bytes and of writes.
    ///
    /// # Errors
    /// Returns the error of the socket if a write fails.
    pub fn send(&mut self, socket: &mut impl Write, now_ns: u64) -> io::Result<(usize, u64)> {
        while self.holds.front().is_some_and(|(_, until_ns)| *until_ns <= now_ns) {
            self.holds.pop_front();
        }
        let limit = self.holds.front().map_or(self.bytes.len(), |(from, _)| *from);
        let (before, mut writes) = (self.sent, 0);
        while self.sent < limit {
            writes += 1;
            match socket.write(&self.bytes[self.sent..limit]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => self.sent += n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let went = self.sent - before;
        self.tidy();
        Ok((went, writes))
    }

    fn tidy(&mut self) {
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.bytes.shrink_to(KEPT);
            self.sent = 0;
        } else if self.sent >= KEPT && self.sent >= self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            for (from, _) in &mut self.holds {
                *from -= self.sent;
            }
            self.sent = 0;
        }
    }
}

#[cfg(test)]
mod tests;
