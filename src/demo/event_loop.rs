//! The server's thread: one poll loop over listeners, connections and timers.
//!
//! ```text
//! poll ─► accept ─► read, answer, write ─► timers ─► poll, until it is told to stop
//! ```
//! Events are edge-triggered: each is worked off until the socket has no more, or the connection queues itself again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mio::event::Event;
use mio::net::{TcpListener, UnixListener};
use mio::{Events, Interest, Poll, Token};

use super::connection::{Connection, Next, Socket};
use super::engine::Engine;
use super::stop::Stop;
use crate::clock::SECOND_NS;

/// The token of the waker that ends the poll when the server is to stop.
pub const WAKER: Token = Token(0);
const TCP: Token = Token(1);
const UNIX: Token = Token(2);
/// Connections have the tokens from here on.
const FIRST: usize = 3;
/// Bytes of one read.
const READ_SIZE: usize = 64 << 10;

/// A poll that takes so long has waited: nobody had asked.
const IDLE_NS: u64 = 20_000;

/// The loop and all it serves.
pub struct EventLoop {
    poll: Poll,
    tcp: TcpListener,
    unix: Option<UnixListener>,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    serial: u64,
    engine: Engine,
    stop: Arc<Stop>,
    /// Time, slot and serial of connections with replies held back.
    timers: BinaryHeap<Reverse<(u64, usize, u64)>>,
    /// Connections that have more to read.
    again: Vec<usize>,
    /// What all connections read into.
    room: Vec<u8>,
    next_tick_ns: u64,
}

impl EventLoop {
    /// A loop that listens at these.
    ///
    /// # Errors
    /// When the listeners cannot be registered.
    pub fn new(
        poll: Poll,
        (mut tcp, mut unix): (TcpListener, Option<UnixListener>),
        engine: Engine,
        stop: Arc<Stop>,
    ) -> io::Result<Self> {
        poll.registry().register(&mut tcp, TCP, Interest::READABLE)?;
        if let Some(unix) = &mut unix {
            poll.registry().register(unix, UNIX, Interest::READABLE)?;
        }
        Ok(Self {
            poll,
            tcp,
            unix,
            connections: Vec::new(),
            free: Vec::new(),
            serial: 0,
            engine,
            stop,
            timers: BinaryHeap::new(),
            again: Vec::new(),
            room: vec![0; READ_SIZE],
            next_tick_ns: 0,
        })
    }

    /// Serves until it is told to stop.
    ///
    /// # Errors
    /// When the poll fails.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        loop {
            let timeout = self.poll_timeout();
            let begin_ns = self.engine.state.read_clock();
            match self.poll.poll(&mut events, Some(timeout)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                result => result?,
            }
            if self.engine.state.read_clock() - begin_ns >= IDLE_NS {
                self.engine.state.idled();
            }
            self.run_stalls();
            for event in &events {
                match event.token() {
                    WAKER => {}
                    TCP | UNIX => self.accept(),
                    Token(token) => self.on_event(token - FIRST, event),
                }
            }
            if self.stop.is_told() {
                return Ok(());
            }
            for slot in std::mem::take(&mut self.again) {
                self.with(slot, |connection, engine, room| connection.on_readable(false, engine, room));
            }
            self.run_timers();
        }
    }

    /// How long the poll may wait.
    fn poll_timeout(&self) -> Duration {
        if !self.again.is_empty() {
            return Duration::ZERO;
        }
        let hold = self.timers.peek().map_or(u64::MAX, |Reverse((at_ns, ..))| *at_ns);
        let stall = self.engine.next_stall_ns().unwrap_or(u64::MAX);
        let due_ns = self.next_tick_ns.min(hold).min(stall);
        Duration::from_nanos(due_ns.saturating_sub(self.engine.state.now_ns))
    }

    fn run_stalls(&mut self) {
        while let Some(length) = self.engine.take_stall() {
            let begin_ns = self.engine.state.read_clock();
            self.engine.state.sleep(length);
            let stood_ns = self.engine.state.read_clock() - begin_ns;
            self.engine.state.note_latency("stall", Duration::from_nanos(stood_ns));
        }
    }

    fn run_timers(&mut self) {
        let now_ns = self.engine.state.now_ns;
        while let Some(&Reverse((at_ns, slot, serial))) = self.timers.peek() {
            if at_ns > now_ns {
                break;
            }
            self.timers.pop();
            if self.connections[slot].as_ref().is_some_and(|connection| connection.serial == serial) {
                self.with(slot, |connection, engine, _| connection.on_writable(engine));
            }
        }
        if now_ns >= self.next_tick_ns {
            self.engine.state.tick();
            // Those that could not be taken because the process had no more descriptors are tried again.
            self.accept();
            self.next_tick_ns = now_ns + SECOND_NS / self.engine.state.config.hz;
        }
    }

    fn on_event(&mut self, slot: usize, event: &Event) {
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            let hung_up = event.is_read_closed() || event.is_error();
            self.with(slot, |connection, engine, room| connection.on_readable(hung_up, engine, room));
        }
        if event.is_writable() {
            self.with(slot, |connection, engine, _| connection.on_writable(engine));
        }
    }

    /// Lets a connection do something, and does what it then needs.
    fn with(&mut self, slot: usize, act: impl FnOnce(&mut Connection, &mut Engine, &mut [u8]) -> Next) {
        let Some(connection) = self.connections.get_mut(slot).and_then(Option::as_mut) else { return };
        match act(connection, &mut self.engine, &mut self.room) {
            Next::Wait => {}
            Next::Read => self.again.push(slot),
            Next::Close => return self.close(slot),
        }
        let held_until_ns = connection.held_until_ns();
        if connection.timer_ns != held_until_ns {
            connection.timer_ns = held_until_ns;
            if let Some(at_ns) = held_until_ns {
                self.timers.push(Reverse((at_ns, slot, connection.serial)));
            }
        }
    }

    fn close(&mut self, slot: usize) {
        // Dropping the socket closes it and takes it out of the poll.
        if self.connections[slot].take().is_some() {
            self.engine.disconnect(slot);
            self.free.push(slot);
        }
    }

    fn accept(&mut self) {
        while let Some((socket, address, local)) = self.next_client() {
            if self.connections.len() - self.free.len() >= self.engine.state.config.maxclients {
                self.turn_away(socket);
            } else if let Err(error) = self.admit(socket, address, local) {
                // The poll has no room for it: it is closed, which the client sees.
                debug_assert!(error.kind() != ErrorKind::AlreadyExists, "registered twice: {error}");
            }
        }
    }

    /// The next that wants to connect; `None` when there is none or it cannot be taken now.
    fn next_client(&self) -> Option<(Socket, String, String)> {
        loop {
            let error = match self.tcp.accept() {
                Ok((stream, peer)) => {
                    // Without it replies wait for the client's acknowledgements; a client gone already does not care.
                    let _ = stream.set_nodelay(true);
                    let local =
                        stream.local_addr().map_or_else(|_| String::new(), |address| address.to_string());
                    return Some((Socket::Tcp(stream), peer.to_string(), local));
                }
                Err(error) => error,
            };
            if !matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) {
                break;
            }
        }
        let (stream, _) = self.unix.as_ref()?.accept().ok()?;
        let path = self.unix.as_ref()?.local_addr().ok()?;
        let path = path.as_pathname().map(Path::display)?.to_string();
        Some((Socket::Unix(stream), format!("{path}:0"), format!("{path}:0")))
    }

    fn admit(&mut self, mut socket: Socket, address: String, local: String) -> io::Result<()> {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        if let Err(error) = socket.register(self.poll.registry(), Token(FIRST + slot)) {
            self.free.push(slot);
            return Err(error);
        }
        self.serial += 1;
        self.connections[slot] = Some(Connection::new(socket, slot, self.serial));
        self.engine.connect(slot, address, local);
        Ok(())
    }

    fn turn_away(&mut self, mut socket: Socket) {
        self.engine.state.stats.net.rejected_connections += 1;
        // A new socket has room for one line; if it has not, the close says enough.
        let _ = socket.write(b"-ERR max number of clients reached\r\n");
    }
}
