//! The built-in server's thread: one poll loop handles listeners, connections and timers.
//!
//! ```text
//! poll ─► accept ─► read, answer, write ─► timers ─► poll, until it is asked to stop
//! ```
//! Events are edge-triggered, so the loop reads a socket until it is empty, or queues the connection for the
//! next round. Each client has a unique number, counted from 1.

use std::{
    collections::BTreeSet,
    io::{self, ErrorKind, Write},
    os::fd::AsRawFd,
    sync::Arc,
    time::Duration,
};

use mio::{Events, Interest, Poll, Token, event::Event, unix::SourceFd};
use socket2::Socket;

use super::{
    connection::{DemoConnection, NextAction, ReadBuffer},
    engine::Engine,
    state::StopSignal,
    store::Map,
};
use crate::clock::SECOND_NS;

/// The token of the waker that interrupts the poll when the server has to stop.
pub const WAKER: Token = Token(0);
/// The token of the listeners. Clients have higher tokens.
const LISTENER: Token = Token(1);
/// The shortest poll, in nanoseconds, that counts as idle time of the server.
const IDLE_NS: u64 = 20_000;

/// A listening socket.
pub struct ServerListener {
    /// The non-blocking socket.
    pub socket: Socket,
    /// The path of a unix socket. The clients of this socket have the path as their address.
    pub name: String,
}

/// The event loop, with its listeners, its connections and the engine.
pub struct EventLoop {
    poll: Poll,
    listeners: Vec<ServerListener>,
    connections: Map<usize, DemoConnection>,
    last_client: usize,
    engine: Engine,
    stop: Arc<StopSignal>,
    /// The timers of delayed replies. Each timer has the time when the reply may be sent, and the number of the client.
    timers: BTreeSet<(u64, usize)>,
    /// The clients whose connections may have more bytes to read.
    again: Vec<usize>,
    room: ReadBuffer,
    next_tick_ns: u64,
}

impl EventLoop {
    /// Creates an event loop for these listeners.
    ///
    /// # Errors
    /// Fails if the listeners cannot be registered.
    pub fn new(
        poll: Poll,
        listeners: Vec<ServerListener>,
        engine: Engine,
        stop: Arc<StopSignal>,
    ) -> io::Result<Self> {
        for listener in &listeners {
            let mut source = SourceFd(&listener.socket.as_raw_fd());
            poll.registry().register(&mut source, LISTENER, Interest::READABLE)?;
        }
        Ok(Self {
            poll,
            listeners,
            connections: Map::default(),
            last_client: 0,
            engine,
            stop,
            timers: BTreeSet::new(),
            again: Vec::new(),
            room: ReadBuffer::default(),
            next_tick_ns: 0,
        })
    }

    /// Handles all events until the server is requested to stop.
    ///
    /// # Errors
    /// Returns the system's error if the poll fails.
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
                    LISTENER => self.accept(),
                    Token(token) => self.on_event(token - LISTENER.0, event),
                }
            }
            if self.stop.is_requested() {
                return Ok(());
            }
            for client in std::mem::take(&mut self.again) {
                self.process(client, true);
            }
            self.run_timers();
            for (client, bytes) in std::mem::take(&mut self.engine.state.channels.posted) {
                match self.connections.get_mut(&client).is_some_and(|connection| connection.post(&bytes)) {
                    true => self.close(client),
                    false => self.process(client, false),
                }
            }
            self.again.extend(std::mem::take(&mut self.engine.state.waiting.woken));
        }
    }

    /// Returns the longest time that the poll may wait: the time until the next timer, stall or round of housekeeping.
    fn poll_timeout(&self) -> Duration {
        if !self.again.is_empty() {
            return Duration::ZERO;
        }
        let hold = self.timers.first().map_or(u64::MAX, |(at_ns, _)| *at_ns);
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
        while let Some(&(_, client)) = self.timers.first().filter(|(at_ns, _)| *at_ns <= now_ns) {
            self.timers.pop_first();
            self.process(client, false);
        }
        if now_ns >= self.next_tick_ns {
            self.engine.tick();
            // Connections that could not be accepted for lack of descriptors are tried again.
            self.accept();
            self.next_tick_ns = now_ns + SECOND_NS / self.engine.state.config.number("hz");
        }
    }

    fn on_event(&mut self, client: usize, event: &Event) {
        let hung_up = event.is_read_closed() || event.is_error();
        if hung_up && let Some(connection) = self.connections.get_mut(&client) {
            connection.hung_up = true;
        }
        self.process(client, hung_up || event.is_readable());
    }

    /// Reads and writes on a client's connection, then keeps, queues or closes it.
    fn process(&mut self, client: usize, reads: bool) {
        let Some(connection) = self.connections.get_mut(&client) else { return };
        match connection.process(reads, &mut self.engine, &mut self.room) {
            NextAction::Wait => {}
            NextAction::Read => self.again.push(client),
            NextAction::Close => return self.close(client),
        }
        let until_ns = connection.held_until_ns().filter(|at_ns| *at_ns < u64::MAX);
        self.timers.extend(until_ns.map(|at_ns| (at_ns, client)));
    }

    fn close(&mut self, client: usize) {
        // Dropping the socket closes it and removes it from the poll.
        self.connections.swap_remove(&client);
        self.engine.state.sessions.swap_remove(&client);
        self.engine.state.channels.leave(client);
        self.engine.state.waiting.leave(client);
        self.engine.state.tracking.leave(client);
    }

    fn accept(&mut self) {
        for n in 0..self.listeners.len() {
            while let Some((socket, address)) = self.listeners[n].next_client() {
                if (self.connections.len() as u64) < self.engine.state.config.number("maxclients") {
                    self.admit(socket, address);
                } else {
                    self.reject(&socket);
                }
            }
        }
    }

    fn admit(&mut self, socket: Socket, address: String) {
        let client = self.last_client + 1;
        let mut source = SourceFd(&socket.as_raw_fd());
        let both = Interest::READABLE | Interest::WRITABLE;
        // If the poll cannot register the socket, the connection is closed.
        if self.poll.registry().register(&mut source, Token(LISTENER.0 + client), both).is_ok() {
            self.last_client = client;
            self.connections.insert(client, DemoConnection::new(socket, client));
            self.engine.connect(client, address);
        }
    }

    fn reject(&mut self, mut socket: &Socket) {
        self.engine.state.stats.net.rejected_connections += 1;
        // If the socket does not accept the line, the close alone is enough.
        let _ = socket.write(b"-ERR max number of clients reached\r\n");
    }
}

impl ServerListener {
    /// Returns the next new connection and the client's address. Returns `None` if no connection waits, or if the
    /// connection cannot be accepted now.
    fn next_client(&self) -> Option<(Socket, String)> {
        let (socket, peer) = loop {
            match self.socket.accept() {
                Ok(accepted) => break accepted,
                Err(error)
                    if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(_) => return None,
            }
        };
        socket.set_nonblocking(true).ok()?;
        // Without TCP_NODELAY, replies would wait for the client's acknowledgements. Unix sockets do not have this
        // option.
        let _ = socket.set_tcp_nodelay(true);
        Some((socket, peer.as_socket().map_or_else(|| self.name.clone(), |peer| peer.to_string())))
    }
}
