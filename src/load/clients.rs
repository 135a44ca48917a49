//! The clients of one worker: connections that are wanted, and what becomes of them.
//!
//! ```text
//!         ┌──────────── knob asks for fewer ───────────┐
//!         ▼                                            │
//!       Down ──► Scheduled ──► Open ── connection lost ┤
//!                    ▲                                 │
//!                    └──────── back-off ◄──────────────┘
//! ```

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::connection::{Connection, Phase};
use crate::target::BackOff;

/// Connections that one worker has in the making at a time: a storm of them would make the server drop some.
const MAX_OPENING: usize = 64;

/// One client.
pub(super) struct Client {
    pub(super) link: Link,
    /// Its own random numbers: two clients never ask the same.
    pub(super) random: Pcg64Mcg,
    /// Whether it stands in the queue of those that may write.
    queued: bool,
    /// Connections lost since the last batch that was answered.
    back_off: BackOff,
}

/// A client's connection.
pub(super) enum Link {
    /// None, and none wanted.
    Down,
    /// None yet: waits for its turn, or for its back-off to end.
    Scheduled,
    /// There is one.
    Open(Connection),
}

/// All clients of a worker.
pub(super) struct Clients {
    all: Vec<Client>,
    /// How many are wanted: those with a lower index.
    wanted: usize,
    /// How many connections there are.
    open: usize,
    /// How many of them are not greeted yet.
    opening: usize,
    /// How many clients lost their connection and have no batch answered since.
    lost: usize,
    to_open: VecDeque<usize>,
    retries: BinaryHeap<Reverse<(u64, usize)>>,
    ready: VecDeque<usize>,
    jitter: Pcg64Mcg,
}

impl Clients {
    /// None yet.
    pub(super) fn new(seed: u64) -> Self {
        Self {
            all: Vec::new(),
            wanted: 0,
            open: 0,
            opening: 0,
            lost: 0,
            to_open: VecDeque::new(),
            retries: BinaryHeap::new(),
            ready: VecDeque::new(),
            jitter: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    /// Client `i`, if there ever was one.
    #[inline]
    pub(super) fn get_mut(&mut self, i: usize) -> Option<&mut Client> {
        self.all.get_mut(i)
    }

    /// The connection of client `i`, if it has one.
    #[inline]
    pub(super) fn connection(&mut self, i: usize) -> Option<&mut Connection> {
        match self.all.get_mut(i) {
            Some(Client { link: Link::Open(connection), .. }) => Some(connection),
            _ => None,
        }
    }

    /// All connections, with the index of their client.
    pub(super) fn connections(&mut self) -> impl Iterator<Item = (usize, &mut Connection)> {
        self.all.iter_mut().enumerate().filter_map(|(i, client)| match &mut client.link {
            Link::Open(connection) => Some((i, connection)),
            _ => None,
        })
    }

    /// How many connections are greeted.
    #[inline]
    pub(super) fn connected(&self) -> usize {
        self.open - self.opening
    }

    /// Wants the first `n` clients and no others; `seed_of` gives a new client's random numbers. Surplus
    /// connections with nothing in flight are closed, the others when their batch is answered.
    pub(super) fn want(&mut self, n: usize, seed_of: impl Fn(usize) -> u64) {
        self.wanted = n;
        for i in n..self.all.len() {
            if self.connection(i).is_some_and(|c| c.phase != Phase::Busy) {
                self.close(i);
            }
        }
        while self.all.len() < n {
            let random = Pcg64Mcg::seed_from_u64(seed_of(self.all.len()));
            self.all.push(Client { link: Link::Down, random, queued: false, back_off: BackOff::new() });
        }
        for i in 0..n {
            if matches!(self.all[i].link, Link::Down) {
                self.all[i].link = Link::Scheduled;
                self.to_open.push_back(i);
            }
        }
    }

    /// Whether any client is wanted.
    pub(super) fn any_wanted(&self) -> bool {
        self.wanted > 0
    }

    /// Whether client `i` is one too many.
    #[inline]
    pub(super) fn is_surplus(&self, i: usize) -> bool {
        i >= self.wanted
    }

    /// The next client to connect, if another may be in the making.
    pub(super) fn next_to_open(&mut self) -> Option<usize> {
        while self.opening < MAX_OPENING {
            let i = self.to_open.pop_front()?;
            if self.is_surplus(i) {
                self.all[i].link = Link::Down;
                self.forget_losses(i);
            } else {
                return Some(i);
            }
        }
        None
    }

    /// Client `i` has a new connection in the making.
    pub(super) fn opened(&mut self, i: usize, connection: Connection) {
        self.open += 1;
        self.opening += 1;
        self.all[i].link = Link::Open(connection);
    }

    /// The connection of a client is greeted.
    pub(super) fn greeted(&mut self) {
        self.opening -= 1;
    }

    /// Closes the connection of client `i`, which is not wanted any more.
    pub(super) fn close(&mut self, i: usize) {
        self.take_connection(i);
        self.all[i].link = Link::Down;
        self.forget_losses(i);
    }

    /// Takes the connection of client `i` away.
    fn take_connection(&mut self, i: usize) -> Option<Connection> {
        match std::mem::replace(&mut self.all[i].link, Link::Down) {
            Link::Open(connection) => {
                self.open -= 1;
                self.opening -= usize::from(is_opening(&connection));
                Some(connection)
            }
            other => {
                self.all[i].link = other;
                None
            }
        }
    }

    /// Client `i` lost its connection, or could not get one. It is tried again later, if it is wanted. Whether
    /// it is the first that is lost.
    pub(super) fn lost(&mut self, i: usize, now_ns: u64) -> bool {
        self.take_connection(i);
        if self.is_surplus(i) {
            self.close(i);
            return false;
        }
        let client = &mut self.all[i];
        client.link = Link::Scheduled;
        let newly_lost = !client.back_off.is_failing();
        let pause = client.back_off.next(&mut self.jitter);
        self.retries.push(Reverse((now_ns + pause.as_nanos() as u64, i)));
        self.lost += usize::from(newly_lost);
        newly_lost && self.lost == 1
    }

    /// When the next back-off ends.
    pub(super) fn next_retry_ns(&self) -> Option<u64> {
        self.retries.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Schedules the clients whose back-off has ended.
    pub(super) fn retry(&mut self, now_ns: u64) {
        while let Some(Reverse((at_ns, i))) = self.retries.peek().copied()
            && at_ns <= now_ns
        {
            self.retries.pop();
            self.to_open.push_back(i);
        }
    }

    /// A batch of client `i` was answered. Whether it was the last of those that had lost their connection.
    #[inline]
    pub(super) fn answered(&mut self, i: usize) -> bool {
        self.all[i].back_off.is_failing() && self.forget_losses(i)
    }

    fn forget_losses(&mut self, i: usize) -> bool {
        let had_any = self.all[i].back_off.reset();
        self.lost -= usize::from(had_any);
        had_any && self.lost == 0
    }

    /// Client `i` may write when its turn comes.
    pub(super) fn queue(&mut self, i: usize) {
        if !std::mem::replace(&mut self.all[i].queued, true) {
            self.ready.push_back(i);
        }
    }

    /// Whether a client waits for its turn to write.
    pub(super) fn any_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The client whose turn it is to write.
    pub(super) fn next_ready(&mut self) -> Option<usize> {
        while let Some(i) = self.ready.pop_front() {
            self.all[i].queued = false;
            if self.connection(i).is_some_and(|c| c.phase == Phase::Idle) {
                return Some(i);
            }
        }
        None
    }
}

/// Whether a connection is not greeted yet.
pub(super) fn is_opening(connection: &Connection) -> bool {
    matches!(connection.phase, Phase::Connecting | Phase::Greeting { .. })
}
