//! The ping probe's accounting: each PING that was due is counted exactly once, either as a sample or as an error of a
//! certain kind.

use std::{collections::BTreeMap, sync::mpsc::Sender};

use super::{
    failure::PingFailure,
    line::PingEvent,
    parts::{PartsUnknown, RoundTripParts},
};
use crate::{
    endpoint::NodeOutages,
    probe::{Ping, ProbeMessage, TcpRtt, Timing},
    protocol::{ErrorKinds, error_code},
    stats::{Latency, Recorder, Samples},
};

/// The reason why there is no connection, and the kind of error under which PINGs without a connection are counted.
#[derive(Debug, PartialEq, Eq)]
struct ConnectionLoss {
    kind: String,
    cause: String,
}

/// The node that a ping probe watches, and the place to which it reports the node's outages.
#[derive(Debug, Clone, Default)]
pub struct PingedNode {
    /// The outages of all nodes.
    pub outages: NodeOutages,
    /// The number of the node.
    pub node: usize,
}

/// The longest wait for the reply to a PING: 100 ms. If there is no reply by then, the node has an outage.
const UNANSWERED_NS: u64 = 100_000_000;

/// The state of the link (the probe's connection) at the end of a tick (the interval between two reports).
#[derive(Debug)]
pub(super) struct LinkState {
    /// How long each unanswered PING has been waiting.
    pub unanswered: Latency,
    /// Whether the kernel takes timestamps for the connection, and if not, why. The field is `None` without a
    /// connection.
    pub timing: Option<Timing>,
    /// The kernel's own round-trip figures.
    pub tcp: Option<TcpRtt>,
}

/// The parts (send, kernel, pickup) of the round trips of one tick. `left_out` counts the round trips whose
/// parts are unknown, by the reason.
#[derive(Debug, Default)]
struct PartsBook {
    send: Samples,
    kernel: Samples,
    pickup: Samples,
    left_out: BTreeMap<String, u64>,
}

impl PartsBook {
    fn book(&mut self, parts: Result<RoundTripParts, PartsUnknown>) {
        match parts {
            Ok(parts) => {
                self.send.record(parts.send_ns);
                self.kernel.record(parts.kernel_ns);
                self.pickup.record(parts.pickup_ns);
            }
            Err(left_out) => add(&mut self.left_out, left_out.kind(), 1),
        }
    }
}

/// The counts of the current tick, and the state that lasts longer than a tick.
#[derive(Debug)]
pub(super) struct PingAccount {
    messages: Sender<ProbeMessage>,
    rtt: Recorder,
    parts: PartsBook,
    /// Whether the kernel takes timestamps for the connection. Without a connection, whether it took them for
    /// the last one.
    timing: Option<Timing>,
    errors: BTreeMap<String, u64>,
    outage: Option<ConnectionLoss>,
    watched: PingedNode,
    /// Whether the last reported outage still continues.
    has_outage: bool,
    /// The time at which the last PING with a good reply was due, in ns.
    good_due_ns: u64,
    reported_errors: ErrorKinds,
    /// Whether the first attempt to connect has ended, successfully or not. PINGs are due from then on.
    pub(super) begun: bool,
    /// Whether the receiver of messages is gone.
    pub(super) is_receiver_gone: bool,
}

impl PingAccount {
    /// Creates an account without counts that reports to `messages`.
    pub(super) fn new(messages: Sender<ProbeMessage>, watched: PingedNode) -> Self {
        Self {
            messages,
            rtt: Recorder::new(),
            parts: PartsBook::default(),
            timing: None,
            errors: BTreeMap::new(),
            outage: None,
            watched,
            has_outage: false,
            good_due_ns: 0,
            reported_errors: ErrorKinds::default(),
            begun: false,
            is_receiver_gone: false,
        }
    }

    /// Sends a message, and records whether the receiver is gone.
    pub(super) fn send(&mut self, message: ProbeMessage) {
        self.is_receiver_gone |= self.messages.send(message).is_err();
    }

    /// Counts an event that the link reported at `at_ns`.
    pub(super) fn book(&mut self, news: PingEvent, at_ns: u64) {
        match news {
            PingEvent::Up => {
                self.begun = true;
                if self.outage.take().is_some() {
                    self.send(ProbeMessage::Back { at_ns });
                }
            }
            PingEvent::Pong { due_ns, parts } => {
                self.good_due_ns = due_ns;
                if std::mem::take(&mut self.has_outage) {
                    self.watched.outages.answered(self.watched.node, at_ns);
                }
                self.rtt.record(at_ns.saturating_sub(due_ns));
                if let Some(parts) = parts {
                    self.parts.book(parts);
                }
            }
            PingEvent::ErrorReply(text) => self.book_error_reply(text, at_ns),
            PingEvent::Lost { failure, unanswered, first_due_ns } => {
                self.begun = true;
                first_due_ns.into_iter().for_each(|due_ns| self.report_outage(due_ns));
                self.count(failure.kind(), unanswered);
                self.book_loss(&failure, at_ns);
            }
        }
    }

    fn book_error_reply(&mut self, text: &str, at_ns: u64) {
        let kind = error_code(text.as_bytes());
        self.count(kind, 1);
        if self.reported_errors.is_new(kind) {
            self.send(ProbeMessage::ErrorReply { at_ns, kind: kind.to_owned(), text: text.to_owned() });
        }
    }

    fn book_loss(&mut self, failure: &PingFailure, at_ns: u64) {
        let outage = ConnectionLoss { kind: failure.kind().to_owned(), cause: failure.to_string() };
        if self.outage.as_ref() != Some(&outage) {
            self.send(ProbeMessage::Lost { at_ns, kind: outage.kind.clone(), cause: outage.cause.clone() });
            self.outage = Some(outage);
        }
    }

    /// Reports an outage that began with the PING due at `due_ns`, unless the outage is already reported.
    fn report_outage(&mut self, due_ns: u64) {
        if !std::mem::replace(&mut self.has_outage, true) {
            self.watched.outages.lost(self.watched.node, due_ns);
            self.watched.outages.last_before(self.watched.node, self.good_due_ns);
        }
    }

    /// Reports an outage if the oldest unanswered PING, due at `due_ns`, has waited for too long.
    pub(super) fn awaits(&mut self, due_ns: u64, now_ns: u64) {
        if now_ns.saturating_sub(due_ns) >= UNANSWERED_NS {
            self.report_outage(due_ns);
        }
    }

    /// Counts a PING that was due at `due_ns` while there was no connection.
    pub(super) fn book_unsendable(&mut self, due_ns: u64) {
        self.report_outage(due_ns);
        if let Some(ConnectionLoss { kind, .. }) = &self.outage {
            let kind = kind.clone();
            self.count(&kind, 1);
        }
    }

    /// Adds `n` errors of a kind.
    pub(super) fn count(&mut self, kind: &str, n: u64) {
        if n > 0 {
            add(&mut self.errors, kind, n);
        }
    }

    /// Returns the results of a tick, and resets the counts. `link` is the state of the link at the end of the tick.
    pub(super) fn close(&mut self, link: LinkState) -> Ping {
        let rtt = self.rtt.latency();
        self.rtt.reset();
        self.timing = link.timing.or(self.timing);
        let part = |samples: &mut Samples| {
            let latency = samples.take();
            (self.timing == Some(Timing::Kernel) || !latency.is_empty()).then_some(latency)
        };
        Ping {
            rtt,
            timing: self.timing,
            send: part(&mut self.parts.send),
            kernel: part(&mut self.parts.kernel),
            pickup: part(&mut self.parts.pickup),
            left_out: std::mem::take(&mut self.parts.left_out),
            tcp: link.tcp,
            errors: std::mem::take(&mut self.errors),
            waiting_us: link.unanswered.max_ns() / 1_000,
            unanswered: link.unanswered,
        }
    }
}

fn add(counts: &mut BTreeMap<String, u64>, kind: &str, n: u64) {
    match counts.get_mut(kind) {
        Some(count) => *count += n,
        None => drop(counts.insert(kind.to_owned(), n)),
    }
}
