//! The ping probe's line to a server, once it is connected: the greeting, then PINGs, and whose each answer is.
//!
//! How a line comes about, and what follows its loss, is the [`PingLink`](super::link::PingLink)'s.

use std::{collections::VecDeque, io};

use super::{
    failure::Failure,
    parts::{LeftOut, Parts, Stamps, Wall},
    stamped_socket::StampedSocket,
};
use crate::{
    clock::Clock,
    endpoint::{BackOff, Greeter, Greeting, GreetingStep},
    probe::Timing,
    protocol::{Reply, Skipper},
    untrusted,
};

/// The link's news; while a line holds, the line reports them.
#[derive(Debug)]
pub(super) enum News<'a> {
    /// PINGs can be sent from now on.
    Up,
    /// The PING that was due at this moment was answered well; the parts of its round trip, where there are stamps.
    Pong { due_ns: u64, parts: Option<Result<Parts, LeftOut>> },
    /// The oldest outstanding PING was answered with an error.
    ErrorReply(&'a str),
    /// There is no connection, and this many PINGs will never be answered.
    Lost { failure: Failure, unanswered: u64 },
}

/// A PING that was written and not answered yet.
#[derive(Debug, Clone, Copy)]
struct Sent {
    due_ns: u64,
    sent_ns: u64,
    /// Where there are stamps.
    departure: Option<Departing>,
}

/// What is known of a PING's departure.
#[derive(Debug, Clone, Copy)]
struct Departing {
    key: u32,
    wall: Wall,
    left_wall_ns: Option<i64>,
}

/// When a wait returned, on both clocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct WakeUp {
    pub at_ns: u64,
    pub wall: Wall,
}

/// Connected, up to and with the PINGs.
#[derive(Debug)]
pub(super) struct PingLine {
    socket: StampedSocket,
    ping: &'static [u8],
    skipper: Skipper,
    /// While the greeting is not answered; PINGs follow when it is.
    greeter: Option<Greeter>,
    outstanding: VecDeque<Sent>,
    /// The last error reply that no good one has followed.
    last_error: Option<String>,
    greeted_by_ns: u64,
}

impl Sent {
    /// The parts of the round trip that ends with this wake-up; `None` where there are no stamps.
    fn parts(
        &self,
        arrived_wall_ns: Result<i64, LeftOut>,
        wake_up: WakeUp,
    ) -> Option<Result<Parts, LeftOut>> {
        let departure = self.departure?;
        let stamps = Stamps {
            due_ns: self.due_ns,
            before_write_ns: self.sent_ns,
            wall_then: departure.wall,
            left_wall_ns: departure.left_wall_ns,
            arrived_wall_ns,
            at_ns: wake_up.at_ns,
            wall_now: wake_up.wall,
        };
        Some(stamps.parts())
    }
}

impl PingLine {
    /// Greets over a connection that is open; the greeting must be answered by `greeted_by_ns`.
    pub(super) fn begin(mut socket: StampedSocket, greeting: &Greeting, greeted_by_ns: u64) -> Self {
        socket.begin_stamps();
        let (greeter, words) = greeting.begin();
        socket.queue(words);
        Self {
            socket,
            ping: greeting.dialect().ping(),
            skipper: greeting.dialect().skipper(),
            greeter: Some(greeter),
            outstanding: VecDeque::new(),
            last_error: None,
            greeted_by_ns,
        }
    }

    /// The socket below.
    pub(super) fn socket(&self) -> &StampedSocket {
        &self.socket
    }

    /// Whether PINGs may follow.
    pub(super) fn is_greeted(&self) -> bool {
        self.greeter.is_none()
    }

    /// Whether PINGs can be sent, and none is unanswered.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_greeted() && self.outstanding.is_empty()
    }

    /// When each outstanding PING was due, the oldest first.
    pub(super) fn due_ns(&self) -> impl Iterator<Item = u64> {
        self.outstanding.iter().map(|sent| sent.due_ns)
    }

    /// When time is up for the greeting, or for the oldest outstanding PING; `u64::MAX` while nothing is awaited.
    pub(super) fn deadline_ns(&self, timeout_ns: u64) -> u64 {
        if !self.is_greeted() {
            return self.greeted_by_ns;
        }
        self.outstanding.front().map_or(u64::MAX, |oldest| oldest.sent_ns.saturating_add(timeout_ns))
    }

    /// Puts a PING on its way that was due at `due_ns`.
    pub(super) fn queue_ping(&mut self, due_ns: u64, now_ns: u64, clock: &Clock) {
        let stamped = self.socket.timing() == Some(Timing::Kernel);
        let wall = stamped.then(|| Wall::read(clock));
        let key = self.socket.queue(self.ping);
        let departure = wall.map(|wall| Departing { key, wall, left_wall_ns: None });
        self.outstanding.push_back(Sent { due_ns, sent_ns: now_ns, departure });
    }

    /// Writes what is queued.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()?;
        // Mostly there at once; those that are not would end the wait.
        while self.awaits_departure() && self.take_departure() {}
        Ok(())
    }

    /// Whether the departure of the last PING is not known yet. They come in order.
    fn awaits_departure(&self) -> bool {
        let last = self.outstanding.back().and_then(|sent| sent.departure);
        last.is_some_and(|departure| departure.left_wall_ns.is_none())
    }

    /// Takes one departure from the kernel; whether there was one.
    fn take_departure(&mut self) -> bool {
        let Some(departed) = self.socket.next_departure() else { return false };
        let mut known = self.outstanding.iter_mut().filter_map(|sent| sent.departure.as_mut());
        // The greeting's is nobody's; of a segment that was sent again the first departure counts.
        if let Some(departure) = known.find(|departure| departure.key == departed.key) {
            departure.left_wall_ns.get_or_insert(departed.wall_ns);
        }
        true
    }

    /// Takes all of them: how many there were.
    pub(super) fn take_departures(&mut self) -> usize {
        std::iter::from_fn(|| self.take_departure().then_some(())).count()
    }

    /// Reads once and reports each reply.
    pub(super) fn hear(
        &mut self,
        greeting: &Greeting,
        back_off: &mut BackOff,
        wake_up: WakeUp,
        emit: &mut dyn FnMut(News),
    ) -> Result<(), Failure> {
        let Some(read) = self.socket.read()? else {
            return Ok(());
        };
        if read.bytes.is_empty() {
            return Err(Failure::Closed { after: self.last_error.take() });
        }
        let (mut input, arrived_wall_ns) = (read.bytes, read.arrived_wall_ns);
        let server = greeting.dialect().words().server;
        let broken = |cause| Failure::Protocol { server, cause };
        while let Some(reply) = self.skipper.next(&mut input).map_err(broken)? {
            let error = match reply {
                Reply::Error(line) => Some(untrusted::bytes(line)),
                _ => None,
            };
            if let Some(greeter) = &mut self.greeter {
                // All that there is to say was said at the beginning.
                if greeter.hear(reply, greeting)? == GreetingStep::Done {
                    self.greeter = None;
                    emit(News::Up);
                }
            } else if let Some(sent) = self.outstanding.pop_front() {
                back_off.reset();
                let arrived = if input.is_empty() {
                    arrived_wall_ns.ok_or(LeftOut::NoStamp)
                } else {
                    Err(LeftOut::SharedRead)
                };
                let pong = || News::Pong { due_ns: sent.due_ns, parts: sent.parts(arrived, wake_up) };
                emit(error.as_deref().map_or_else(pong, News::ErrorReply));
            } else if let Some(text) = error {
                // Said unasked before a server hangs up: the end of the stream will report it.
                self.last_error = Some(text);
                continue;
            } else {
                return Err(Failure::Unasked);
            }
            self.last_error = error;
        }
        Ok(())
    }

    /// What is left of a line that is lost: the last error reply that no good one has followed, and how many PINGs
    /// will never be answered.
    pub(super) fn end(self) -> (Option<String>, u64) {
        (self.last_error, self.outstanding.len() as u64)
    }
}
