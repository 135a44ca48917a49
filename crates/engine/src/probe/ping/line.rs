//! An open connection of the ping probe. The connection sends the greeting (the first commands, such as AUTH) and then
//! PINGs. The connection assigns each reply to its PING.
//!
//! The [`PingLink`](super::link::PingLink) opens the connection, and reconnects after a loss.

use std::{collections::VecDeque, io};

use super::{
    failure::PingFailure,
    parts::{PartsUnknown, RoundTripParts, Stamps, Wall},
    stamped_socket::StampedSocket,
};
use crate::{
    clock::Clock,
    endpoint::{BackOff, Greeter, Greeting, GreetingStep, OpenConnection},
    probe::Timing,
    protocol::{Reply, Skipper},
    untrusted,
};

/// An event on the connection of the ping probe.
pub(super) enum PingEvent<'a> {
    /// The connection is ready for PINGs.
    Up,
    /// The PING that was due at `due_ns` got a good reply. `parts` are the parts of the PING's round trip, or `None`
    /// without timestamps.
    Pong { due_ns: u64, parts: Option<Result<RoundTripParts, PartsUnknown>> },
    /// The PING that was due at `due_ns` got an error reply.
    ErrorReply { due_ns: u64, text: &'a str },
    /// The connection was lost or could not be opened. `unanswered` contains the due times of the PINGs that will never
    /// be answered, the oldest first.
    Lost { failure: PingFailure, unanswered: Vec<u64> },
}

/// A PING that was sent and is not answered yet.
#[derive(Debug, Clone, Copy)]
struct SentPing {
    due_ns: u64,
    /// Whether the reply to the next PING also answers this PING, because one request was sent for both PINGs.
    is_joined: bool,
    sent_ns: u64,
    /// When the PING left this host. `None` if the kernel gives no timestamps.
    departure: Option<Departing>,
}

/// Information about the time when a PING left this host.
#[derive(Debug, Clone, Copy)]
struct Departing {
    key: u32,
    wall: Wall,
    left_wall_ns: Option<i64>,
}

/// The time when a wait returned, on the session's clock and on the wall clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct WakeUp {
    pub at_ns: u64,
    pub wall: Wall,
}

/// An open connection. The connection sends the greeting (the first commands) and then PINGs.
pub(super) struct PingLine {
    /// The underlying socket.
    pub(super) socket: StampedSocket,
    ping: &'static [u8],
    skipper: Skipper,
    /// The greeting in progress, or `None` when PINGs can be sent.
    greeter: Option<Greeter>,
    outstanding: VecDeque<SentPing>,
    /// The last reply if it was an error.
    last_error: Option<String>,
    greeted_by_ns: u64,
    /// Whether the server closes or has closed the connection after a reply. An HTTP server may do this.
    is_spent: bool,
    _open: OpenConnection,
}

impl SentPing {
    /// Returns the parts of the round trip that ends with this wake-up, or `None` without timestamps.
    fn parts(
        &self,
        arrived_wall_ns: Result<i64, PartsUnknown>,
        wake_up: WakeUp,
    ) -> Option<Result<RoundTripParts, PartsUnknown>> {
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

/// Removes the PINGs that the next reply answers. Returns `None` if no reply is awaited.
fn take_answered(outstanding: &mut VecDeque<SentPing>) -> Option<Vec<SentPing>> {
    let place = outstanding.iter().position(|sent| !sent.is_joined)?;
    let departure = outstanding[place].departure;
    Some(outstanding.drain(..=place).map(|sent| SentPing { departure, ..sent }).collect())
}

impl PingLine {
    /// Starts the greeting over an open connection. The replies to the greeting must arrive by `greeted_by_ns`.
    pub(super) fn begin(
        (mut socket, _open): (StampedSocket, OpenConnection),
        greeting: &Greeting,
        greeted_by_ns: u64,
    ) -> Self {
        socket.begin_stamps();
        let greeter = (!greeting.is_empty()).then(|| {
            let (greeter, words) = greeting.begin();
            socket.queue(words);
            greeter
        });
        Self {
            socket,
            ping: greeting.dialect().ping(),
            skipper: greeting.dialect().skipper(),
            greeter,
            outstanding: VecDeque::new(),
            last_error: None,
            greeted_by_ns,
            is_spent: false,
            _open,
        }
    }

    /// Returns whether the greeting is done, so that PINGs may follow.
    pub(super) fn is_greeted(&self) -> bool {
        self.greeter.is_none()
    }

    /// Returns whether the next PING needs a new connection.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// Returns whether PINGs can be sent and all PINGs are answered.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_greeted() && self.outstanding.is_empty()
    }

    /// Returns the due times of the unanswered PINGs, the oldest first.
    pub(super) fn due_ns(&self) -> impl Iterator<Item = u64> {
        self.outstanding.iter().map(|sent| sent.due_ns)
    }

    /// Returns the due time of the oldest unanswered PING, without PINGs that had to wait for this connection.
    pub(super) fn awaited_ns(&self) -> Option<u64> {
        self.outstanding.iter().find(|sent| !sent.is_joined).map(|sent| sent.due_ns)
    }

    /// Returns the deadline for the next reply, which answers the greeting or the oldest unanswered PING. Returns
    /// `u64::MAX` if no reply is awaited.
    pub(super) fn deadline_ns(&self, timeout_ns: u64) -> u64 {
        if !self.is_greeted() {
            return self.greeted_by_ns;
        }
        self.outstanding.front().map_or(u64::MAX, |oldest| oldest.sent_ns.saturating_add(timeout_ns))
    }

    /// Queues one request for all PINGs that were due before the connection was open. The reply to this request answers
    /// each of these PINGs.
    pub(super) fn queue_joined(&mut self, mut due_ns: VecDeque<u64>, now_ns: u64, clock: &Clock) {
        let Some(last_ns) = due_ns.pop_back() else { return };
        let joined = |due_ns| SentPing { due_ns, is_joined: true, sent_ns: now_ns, departure: None };
        self.outstanding.extend(due_ns.into_iter().map(joined));
        self.queue_ping(last_ns, now_ns, clock);
    }

    /// Queues a PING that was due at `due_ns`.
    pub(super) fn queue_ping(&mut self, due_ns: u64, now_ns: u64, clock: &Clock) {
        let stamped = self.socket.timing() == Some(Timing::Kernel);
        let wall = stamped.then(|| Wall::read(clock));
        let key = self.socket.queue(self.ping);
        let departure = wall.map(|wall| Departing { key, wall, left_wall_ns: None });
        self.outstanding.push_back(SentPing { due_ns, is_joined: false, sent_ns: now_ns, departure });
    }

    /// Writes the queued bytes to the socket.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()?;
        // Departures are usually available at once; a departure that comes later would end the wait early.
        while self.awaits_departure() && self.take_departure() {}
        Ok(())
    }

    /// Returns whether the kernel still has to report the departure of the last PING. Departures are reported in order.
    fn awaits_departure(&self) -> bool {
        let last = self.outstanding.back().and_then(|sent| sent.departure);
        last.is_some_and(|departure| departure.left_wall_ns.is_none())
    }

    /// Reads one departure timestamp from the kernel. Returns whether there was a timestamp.
    fn take_departure(&mut self) -> bool {
        let Some(departed) = self.socket.next_departure() else { return false };
        let mut known = self.outstanding.iter_mut().filter_map(|sent| sent.departure.as_mut());
        // The departure of the greeting belongs to no PING. If a segment was retransmitted, its first departure counts.
        if let Some(departure) = known.find(|departure| departure.key == departed.key) {
            departure.left_wall_ns.get_or_insert(departed.wall_ns);
        }
        true
    }

    /// Reads all departure timestamps from the kernel. Returns the number of timestamps.
    pub(super) fn take_departures(&mut self) -> usize {
        std::iter::from_fn(|| self.take_departure().then_some(())).count()
    }

    /// Reads once and reports each reply.
    pub(super) fn read_replies(
        &mut self,
        greeting: &Greeting,
        back_off: &mut BackOff,
        wake_up: WakeUp,
        emit: &mut dyn FnMut(PingEvent),
    ) -> Result<(), PingFailure> {
        let Some(read) = self.socket.read()? else {
            return Ok(());
        };
        if read.bytes.is_empty() {
            self.is_spent = self.skipper.end() && self.outstanding.is_empty();
            if self.is_spent {
                return Ok(());
            }
            return Err(PingFailure::Closed { after: self.last_error.take() });
        }
        let (mut input, arrived_wall_ns) = (read.bytes, read.arrived_wall_ns);
        let server = greeting.dialect().words().server;
        let broken = |cause| PingFailure::Protocol { server, cause };
        while let Some(reply) = self.skipper.next(&mut input).map_err(broken)? {
            let error = match reply {
                Reply::Error(line) => Some(untrusted::bytes(line)),
                _ => None,
            };
            if let Some(greeter) = &mut self.greeter {
                // All commands of the greeting were sent at once.
                if greeter.process_reply(reply, greeting)? == GreetingStep::Done {
                    self.greeter = None;
                    emit(PingEvent::Up);
                }
            } else if let Some(answered) = take_answered(&mut self.outstanding) {
                back_off.reset();
                let arrived = if input.is_empty() {
                    arrived_wall_ns.ok_or(PartsUnknown::NoStamp)
                } else {
                    Err(PartsUnknown::SharedRead)
                };
                for sent in answered {
                    let arrived = if sent.is_joined { Err(PartsUnknown::SharedRead) } else { arrived };
                    let due_ns = sent.due_ns;
                    emit(match &error {
                        None => PingEvent::Pong { due_ns, parts: sent.parts(arrived, wake_up) },
                        Some(text) => PingEvent::ErrorReply { due_ns, text },
                    });
                }
            } else if let Some(text) = error {
                // The server sends such an error before it disconnects: the end of the stream will report it.
                self.last_error = Some(text);
                continue;
            } else {
                return Err(PingFailure::UnrequestedReply);
            }
            self.last_error = error;
            if self.skipper.is_last() {
                // The server does not read the PINGs after this one: the next connection takes them over.
                self.is_spent = true;
                break;
            }
        }
        Ok(())
    }

    /// Ends a lost connection. Returns the last reply if it was an error.
    pub(super) fn end(self) -> Option<String> {
        self.last_error
    }
}
