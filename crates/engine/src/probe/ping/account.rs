//! Counts the ping probe's PINGs. Each PING that was due is counted exactly once, as a latency or as an error
//! of a certain kind.

use std::{collections::BTreeMap, sync::mpsc::Sender};

use super::{
    failure::PingFailure,
    line::PingEvent,
    parts::{PartsUnknown, RoundTripParts},
};
use crate::{
    endpoint::NodeOutages,
    probe::{Ping, ProbeMessage, TcpRtt, Timing},
    protocol::{ErrorKinds, add_count, error_code},
    stats::{Latency, Samples},
};

/// The reason why there is no connection. The reason determines the kind of error that is counted for each PING without
/// a connection.
#[derive(Debug, PartialEq, Eq)]
struct ConnectionLoss {
    kind: String,
    cause: String,
}

/// The node that a ping probe watches, and the list that gets the node's outages.
#[derive(Debug, Clone, Default)]
pub struct PingedNode {
    /// The outages of all nodes.
    pub outages: NodeOutages,
    /// The number of the node.
    pub node: usize,
}

/// The longest wait for the reply to a PING: 100 ms. If there is no reply by then, the node has an outage.
const UNANSWERED_NS: u64 = 100_000_000;

/// The state of the link at the end of a tick. The link is the probe's connection. A tick is the interval between two
/// reports.
pub(super) struct LinkState {
    /// How long each unanswered PING has been waiting.
    pub unanswered: Latency,
    /// Whether the kernel takes timestamps for the connection, and if not, why. The field is `None` without a
    /// connection.
    pub timing: Option<Timing>,
    /// The kernel's own round-trip figures.
    pub tcp: Option<TcpRtt>,
}

/// The parts (send, kernel, pickup) of the round trips of one tick. `left_out` counts the round trips with unknown
/// parts, for each reason.
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
            Err(left_out) => add_count(&mut self.left_out, left_out.kind(), 1),
        }
    }
}

/// The results of the PINGs of one tick.
struct PingBook {
    /// The time of the change of the load settings that ended the tick, in ns. `None` means the current settings.
    changed_ns: Option<u64>,
    rtt: Samples,
    parts: PartsBook,
    errors: BTreeMap<String, u64>,
}

impl PingBook {
    fn new() -> Self {
        let (rtt, parts, errors) = (Samples::default(), PartsBook::default(), BTreeMap::new());
        Self { changed_ns: None, rtt, parts, errors }
    }

    /// Returns the results, and resets the counts.
    fn close(&mut self, timing: Option<Timing>, link: LinkState) -> Ping {
        let part = |samples: &mut Samples| {
            let latency = samples.take();
            (timing == Some(Timing::Kernel) || !latency.is_empty()).then_some(latency)
        };
        Ping {
            rtt: self.rtt.take(),
            timing,
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

/// The counts of the current tick, and the state that lasts longer than a tick.
pub(super) struct PingAccount {
    messages: Sender<ProbeMessage>,
    /// The PINGs that were due since the last change of the load settings.
    book: PingBook,
    /// The PINGs that were due before the last change of the load settings, and that no report contains yet. There is
    /// one entry for each change with unanswered PINGs, and one for the last change. The oldest change comes first.
    ended: Vec<PingBook>,
    /// The time of the last change of the load settings, in ns. The time is 0 before the first change.
    pub(super) changed_ns: u64,
    /// Whether the kernel takes timestamps for the connection. Without a connection, the field says whether the kernel
    /// took timestamps for the last connection.
    timing: Option<Timing>,
    outage: Option<ConnectionLoss>,
    watched: PingedNode,
    /// Whether the last reported outage still continues.
    has_outage: bool,
    /// The time when the last PING with a good reply was due, in ns.
    good_due_ns: u64,
    reported_errors: ErrorKinds,
    /// Whether the first attempt to connect has ended, successfully or not. PINGs are due from this time on.
    pub(super) begun: bool,
    /// Whether the receiver of messages is gone.
    pub(super) is_receiver_gone: bool,
}

impl PingAccount {
    /// Creates an account without counts that reports to `messages`.
    pub(super) fn new(messages: Sender<ProbeMessage>, watched: PingedNode) -> Self {
        Self {
            messages,
            book: PingBook::new(),
            ended: Vec::new(),
            changed_ns: 0,
            timing: None,
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
                let book = self.book_of(due_ns);
                book.rtt.record(at_ns.saturating_sub(due_ns));
                if let Some(parts) = parts {
                    book.parts.book(parts);
                }
            }
            PingEvent::ErrorReply { due_ns, text } => self.book_error_reply(due_ns, text, at_ns),
            PingEvent::Lost { failure, unanswered } => {
                self.begun = true;
                unanswered.first().into_iter().for_each(|due_ns| self.report_outage(*due_ns));
                unanswered.into_iter().for_each(|due_ns| self.count(failure.kind(), due_ns));
                self.book_loss(&failure, at_ns);
            }
        }
    }

    /// Returns the counts to which a PING that was due at `due_ns` belongs.
    fn book_of(&mut self, due_ns: u64) -> &mut PingBook {
        let is_of = |book: &&mut PingBook| book.changed_ns.is_some_and(|changed_ns| due_ns < changed_ns);
        self.ended.iter_mut().find(is_of).unwrap_or(&mut self.book)
    }

    fn book_error_reply(&mut self, due_ns: u64, text: &str, at_ns: u64) {
        let kind = error_code(text.as_bytes());
        self.count(kind, due_ns);
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
            self.count(&kind, due_ns);
        }
    }

    /// Counts an error of a PING that was due at `due_ns`.
    pub(super) fn count(&mut self, kind: &str, due_ns: u64) {
        add_count(&mut self.book_of(due_ns).errors, kind, 1);
    }

    /// Returns the results of a tick, and resets the counts. `link` is the state of the link at the end of the tick.
    pub(super) fn close(&mut self, link: LinkState) -> Ping {
        self.timing = link.timing.or(self.timing);
        self.book.close(self.timing, link)
    }

    /// Returns results for each change of the load settings, and resets the counts. The results contain the PINGs that
    /// were due before the change. Each result comes with the time of its change. `link_at` returns the state of the
    /// link at this time.
    pub(super) fn close_ended(&mut self, link_at: impl Fn(u64) -> LinkState) -> Vec<(u64, Ping)> {
        let mut closed = Vec::new();
        for book in &mut self.ended {
            let Some(changed_ns) = book.changed_ns else { continue };
            let link = link_at(changed_ns);
            self.timing = link.timing.or(self.timing);
            closed.push((changed_ns, book.close(self.timing, link)));
        }
        let is_answered = |changed_ns: u64| {
            closed.iter().any(|(of_ns, ping)| *of_ns == changed_ns && ping.unanswered.is_empty())
        };
        let last_ns = self.changed_ns;
        self.ended
            .retain(|book| book.changed_ns.is_some_and(|of_ns| of_ns == last_ns || !is_answered(of_ns)));
        closed
    }

    /// From now on, counts separately for the load settings that were changed at `changed_ns`.
    pub(super) fn change(&mut self, changed_ns: u64) {
        let ended = std::mem::replace(&mut self.book, PingBook::new());
        self.ended.push(PingBook { changed_ns: Some(changed_ns), ..ended });
        self.changed_ns = changed_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ping_counts_for_the_settings_under_which_it_was_due() {
        let link = || LinkState { unanswered: Latency::default(), timing: None, tcp: None };
        let mut account = PingAccount::new(std::sync::mpsc::channel().0, PingedNode::default());
        let pong = |due_ns| PingEvent::Pong { due_ns, parts: None };
        account.book(pong(80), 85);
        account.change(100);
        account.book(pong(90), 105);
        account.book(PingEvent::ErrorReply { due_ns: 95, text: "LOADING" }, 106);
        account.book(pong(100), 107);
        let failure = PingFailure::Closed { after: None };
        account.book(PingEvent::Lost { failure, unanswered: vec![98, 110, 120] }, 130);
        let counts = |ping: Ping| (ping.rtt.count(), ping.errors.values().sum::<u64>());
        let mut ended = account.close_ended(|_| link());
        assert_eq!([ended.remove(0).1, account.close(link())].map(counts), [(2, 2), (1, 2)]);
        assert_eq!(counts(account.close_ended(|_| link()).remove(0).1), (0, 0));
    }

    #[test]
    fn pings_that_wait_through_two_changes_count_for_their_own_settings() {
        let link = |unanswered: &[u64]| LinkState {
            unanswered: crate::stats::fixture::latency_of(unanswered.iter().copied()),
            timing: None,
            tcp: None,
        };
        let mut account = PingAccount::new(std::sync::mpsc::channel().0, PingedNode::default());
        let ended = |account: &mut PingAccount, waiting: &[u64]| -> Vec<(u64, u64)> {
            let closed = account.close_ended(|_| link(waiting));
            closed.into_iter().map(|(at_ns, ping)| (at_ns, ping.rtt.count())).collect()
        };
        account.change(100);
        assert_eq!(ended(&mut account, &[9]), [(100, 0)]);
        account.change(200);
        for due_ns in [80, 90, 150, 210] {
            account.book(PingEvent::Pong { due_ns, parts: None }, 300);
        }
        assert_eq!(ended(&mut account, &[]), [(100, 2), (200, 1)]);
        assert_eq!(ended(&mut account, &[]), [(200, 0)]);
        assert_eq!(account.close(link(&[])).rtt.count(), 1);
    }
}
