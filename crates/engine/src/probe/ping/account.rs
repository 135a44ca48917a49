//! The ping probe's accounting: each PING that was due is counted exactly once, as a sample or as an error of a
//! kind.

use std::{collections::BTreeMap, sync::mpsc::Sender};

use super::{
    failure::Failure,
    line::News,
    parts::{LeftOut, Parts},
};
use crate::{
    probe::{Message, Ping, TcpRtt, Timing},
    protocol::{Kinds, error_code},
    stats::{Latency, Recorder, Samples},
};

/// Why there is no connection, and the kind of error under which the PINGs of this time are counted.
#[derive(Debug, PartialEq, Eq)]
struct Outage {
    kind: String,
    cause: String,
}

/// The state of the link at the end of a tick.
#[derive(Debug)]
pub(super) struct LinkState {
    /// How long each unanswered PING has been waiting.
    pub unanswered: Latency,
    /// Whether the kernel timestamps the connection, or why not.
    pub timing: Option<Timing>,
    /// The kernel's own round-trip figures.
    pub tcp: Option<TcpRtt>,
}

/// The parts of a tick's round trips.
#[derive(Debug, Default)]
struct PartsBook {
    send: Samples,
    kernel: Samples,
    pickup: Samples,
    left_out: BTreeMap<String, u64>,
}

impl PartsBook {
    fn book(&mut self, parts: Result<Parts, LeftOut>) {
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
pub(super) struct Account {
    messages: Sender<Message>,
    rtt: Recorder,
    parts: PartsBook,
    /// Whether the kernel timestamps the connection, or the last connection if there is none now.
    timing: Option<Timing>,
    errors: BTreeMap<String, u64>,
    outage: Option<Outage>,
    reported_errors: Kinds,
    /// Whether the first attempt to connect has ended, successfully or not: PINGs are due from then on.
    begun: bool,
    /// Whether the receiver of messages is gone.
    unheard: bool,
}

impl Account {
    /// Creates empty accounts that report to `messages`.
    pub(super) fn new(messages: Sender<Message>) -> Self {
        Self {
            messages,
            rtt: Recorder::new(),
            parts: PartsBook::default(),
            timing: None,
            errors: BTreeMap::new(),
            outage: None,
            reported_errors: Kinds::default(),
            begun: false,
            unheard: false,
        }
    }

    /// Returns whether the first attempt to connect has ended. PINGs are due from then on.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Returns whether the receiver of messages is gone.
    pub(super) fn is_unheard(&self) -> bool {
        self.unheard
    }

    /// Sends a message, and notes if the receiver is gone.
    pub(super) fn say(&mut self, message: Message) {
        self.unheard |= self.messages.send(message).is_err();
    }

    /// Counts what the link reported at `at_ns`.
    pub(super) fn book(&mut self, news: News, at_ns: u64) {
        match news {
            News::Up => {
                self.begun = true;
                if self.outage.take().is_some() {
                    self.say(Message::Back { at_ns });
                }
            }
            News::Pong { due_ns, parts } => {
                self.rtt.record(at_ns.saturating_sub(due_ns));
                if let Some(parts) = parts {
                    self.parts.book(parts);
                }
            }
            News::ErrorReply(text) => self.book_error_reply(text, at_ns),
            News::Lost { failure, unanswered } => {
                self.begun = true;
                self.count(failure.kind(), unanswered);
                self.book_loss(&failure, at_ns);
            }
        }
    }

    fn book_error_reply(&mut self, text: &str, at_ns: u64) {
        let kind = error_code(text.as_bytes());
        self.count(kind, 1);
        if self.reported_errors.is_new(kind) {
            self.say(Message::ErrorReply { at_ns, kind: kind.to_owned(), text: text.to_owned() });
        }
    }

    fn book_loss(&mut self, failure: &Failure, at_ns: u64) {
        let outage = Outage { kind: failure.kind().to_owned(), cause: failure.to_string() };
        if self.outage.as_ref() != Some(&outage) {
            self.say(Message::Lost { at_ns, kind: outage.kind.clone(), cause: outage.cause.clone() });
            self.outage = Some(outage);
        }
    }

    /// Counts a PING that was due while there was no connection.
    pub(super) fn book_unsendable(&mut self) {
        if let Some(Outage { kind, .. }) = &self.outage {
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

    /// Returns the results of a tick and resets the counts; `link` is the state of the link at the end of the
    /// tick.
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
