//! The main loop of the control plane: connects to the server, polls the server, carries out the session's orders (such
//! as CONFIG SET), and reconnects after a loss.
//!
//! ```text
//! ┌► greet ─► open link ─► poll every second, carry out orders ─┐ lost
//! │    └ failed ┐                                                  │
//! └─────────────┴─ report, wait (orders are refused meanwhile) ◄───┘
//! ```

use std::{fmt::Display, net::SocketAddr, sync::mpsc::Sender, time::Duration};

use tokio::{
    sync::{mpsc::UnboundedReceiver, oneshot},
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep_until},
};

use super::{
    ControlMessage, Ledger, ServerError, notifications,
    order::{ControlOrder, OrderContext, OrderStep},
    parameter::NOTIFICATIONS,
    plane::{CommandSender, Link, Poller},
    poll::Polled,
    registry::{self, MarkerState},
};
use crate::{
    clock::Clock,
    endpoint::{Address, BackOff, Endpoint, Target, talk},
    events::EventKind,
    protocol::Dialect,
};

/// The time limit of one attempt to connect.
const GREETING_LIMIT: Duration = Duration::from_secs(2);
/// The time limit for the lookup of the target's name while the connection is open.
const LOOK_UP_LIMIT: Duration = Duration::from_secs(1);
/// The longest time until Sentinels name the new primary of a failover. The new primary is promoted before.
const FAILOVER_LIMIT: Duration = Duration::from_secs(5);

/// The last reported state of the connection, so that each change is reported once.
#[derive(Debug, PartialEq)]
enum ReportedState {
    Nothing,
    Fine,
    Mute(String),
    Unreachable(String),
}

/// The reason why redyno could not connect.
struct ConnectFailure {
    cause: String,
    /// Whether the server replied and refused the connection, for example because of a wrong password.
    was_answered: bool,
}

impl ConnectFailure {
    fn silent(cause: String) -> Self {
        Self { cause, was_answered: false }
    }
}

/// The end of a connection.
enum ConnectionEnd {
    /// The connection was lost. Only the next attempt to connect shows whether the server can still be reached.
    Broken(String),
    /// The server does not reply on this connection any more.
    Hung(String),
    /// The target's name leads to another server now.
    Moved,
}

/// The settings and channels of a control plane.
pub(super) struct ControlTask {
    pub(super) target: Target,
    pub(super) clock: Clock,
    pub(super) every: Duration,
    pub(super) news: Sender<ControlMessage>,
    pub(super) orders: UnboundedReceiver<ControlOrder>,
}

impl ControlTask {
    /// Runs until the returned future is dropped.
    pub(super) async fn run(self) {
        let Self { target, clock, every, news, orders } = self;
        let poller = Poller::of(target.dialect);
        let mut state = ControlState {
            target,
            clock,
            news,
            orders,
            under_way: JoinSet::new(),
            standing: ReportedState::Nothing,
            server: None,
            poller,
            ledger: None,
            marker_trouble: None,
            may_not_notify: false,
            back_off: BackOff::new(),
        };
        // The time and the cause of the last lost connection, until they are reported.
        let mut broken = None;
        loop {
            let cause = match connect(&state.target).await {
                Err(trouble) => {
                    let at_ns = broken.take().map_or_else(|| state.clock.now_ns(), |(at_ns, _)| at_ns);
                    state.report_unreachable(at_ns, &trouble);
                    trouble.cause
                }
                Ok((link, server)) => {
                    state.note_server(server);
                    if let Some((at_ns, cause)) = broken.take() {
                        state.report_unreachable(at_ns, &ConnectFailure::silent(cause));
                    }
                    match state.serve(link, every).await {
                        ConnectionEnd::Broken(cause) => {
                            broken = Some((state.clock.now_ns(), cause.clone()));
                            cause
                        }
                        ConnectionEnd::Hung(cause) => {
                            state.report_unreachable(
                                state.clock.now_ns(),
                                &ConnectFailure::silent(cause.clone()),
                            );
                            cause
                        }
                        ConnectionEnd::Moved => continue,
                    }
                }
            };
            let pause = state.back_off.next(&mut rand::rng());
            state.refuse_orders(&cause, Instant::now() + pause).await;
        }
    }
}

/// Connects to the server. Returns the link, and the address of the server after the lookup of its name.
async fn connect(target: &Target) -> Result<(Link, Option<SocketAddr>), ConnectFailure> {
    if !target.dialect.has_keys() {
        return Ok((Link::None, None));
    }
    // The control plane uses RESP2 even if the load uses RESP3, because every server supports RESP2.
    let dialect = if target.dialect == Dialect::Resp3 { Dialect::Resp2 } else { target.dialect };
    let asked = Target { dialect, ..target.clone() };
    // Redyno's own greeting finds the cause of a failure, unlike the greeting of fred. The greeting blocks, so it runs
    // on its own thread.
    let failed = |why: &dyn Display| ConnectFailure::silent(format!("the attempt to connect failed: {why}"));
    let (done, talked) = oneshot::channel();
    // Tokio's `spawn_blocking` would panic if the system refused a thread. If the receiver is gone, the connection is
    // dropped.
    let greet = move || drop(done.send(talk(&asked, None, GREETING_LIMIT)));
    std::thread::Builder::new().name("greeting".to_owned()).spawn(greet).map_err(|error| failed(&error))?;
    let talk = talked
        .await
        .map_err(|error| failed(&error))?
        .map_err(|error| ConnectFailure { was_answered: error.is_answer(), cause: error.to_string() })?;
    let server = talk.server();
    let link = Link::open(talk, dialect).await;
    Ok((link.map_err(|error| ConnectFailure::silent(error.to_string()))?, server))
}

struct ControlState {
    target: Target,
    clock: Clock,
    news: Sender<ControlMessage>,
    orders: UnboundedReceiver<ControlOrder>,
    /// The orders that are being carried out. These orders are cancelled when the control plane ends.
    under_way: JoinSet<()>,
    standing: ReportedState,
    /// The address of the server of the last connection; `None` before the first connection, and for a unix socket.
    server: Option<SocketAddr>,
    poller: Poller,
    /// The changes that the session has to undo. Each poll checks that the marker with these changes still exists on
    /// the server.
    ledger: Option<Ledger>,
    /// The last reported reason why the marker cannot be written.
    marker_trouble: Option<EventKind>,
    /// Whether the server may lack the notifications that the session needs, because the server was restarted or
    /// replaced, or another client changed them.
    may_not_notify: bool,
    back_off: BackOff,
}

/// Returns whether the server may lack keyspace notifications after this event.
fn may_end_notifications(event: &EventKind) -> bool {
    match event {
        EventKind::ConfigChanged { name, .. } => name == NOTIFICATIONS.name,
        event => *event == EventKind::Restarted,
    }
}

impl ControlState {
    /// Polls and carries out orders until the connection is lost. Returns the reason.
    async fn serve(&mut self, mut link: Link, every: Duration) -> ConnectionEnd {
        let mut polls = interval(every);
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let asked = tokio::select! {
                cause = link.lost() => return ConnectionEnd::Broken(cause),
                Some(order) = self.orders.recv() => {
                    self.ledger = order.ledger.clone().or(self.ledger.take());
                    match order.step {
                        OrderStep::AfterPoll => Some(order),
                        OrderStep::FollowName => {
                            let has_moved = self.has_moved().await;
                            order.carry_out(Ok(self.means(link.wire()))).await;
                            if has_moved {
                                return ConnectionEnd::Moved;
                            }
                            continue;
                        }
                        OrderStep::AtOnce => {
                            self.under_way.spawn(order.carry_out(Ok(self.means(link.wire()))));
                            continue;
                        }
                    }
                }
                Some(_) = self.under_way.join_next() => continue,
                _ = polls.tick() => None,
            };
            let begun = Instant::now();
            let polled = self.poll(&link.wire()).await;
            // The server was stopped or slow. The poll that became due meanwhile would cover only some milliseconds.
            if begun.elapsed() >= every {
                polls.reset();
            }
            if let Some(order) = asked {
                let failed = polled.as_ref().err().map(|error| ServerError::Unreachable(error.to_string()));
                order.carry_out(failed.map_or_else(|| Ok(self.means(link.wire())), Err)).await;
            }
            match polled {
                Ok(1) => {}
                Ok(pause) => polls.reset_after(every * pause),
                Err(error @ ServerError::Timeout { .. }) => return ConnectionEnd::Hung(error.to_string()),
                Err(error) => return ConnectionEnd::Broken(error.to_string()),
            }
        }
    }

    /// Notes the address of the server to which a new connection leads. After a failover, the target's name leads to
    /// another server.
    fn note_server(&mut self, server: Option<SocketAddr>) {
        if self.server.is_some() && self.server != server {
            self.poller.change_server();
            self.may_not_notify = true;
        }
        self.server = server;
    }

    /// Returns whether the target's name leads to another server than the present connection. Without a result of the
    /// lookup, redyno keeps the connection.
    async fn has_moved(&self) -> bool {
        let Some(server) = self.server.filter(|_| self.target.address.is_name()) else { return false };
        let (done, found) = oneshot::channel();
        let target = self.target.clone();
        let look_up = move || {
            let until = std::time::Instant::now() + FAILOVER_LIMIT;
            let has_moved = || {
                let found = target.resolve().and_then(|mut resolution| resolution.wait(LOOK_UP_LIMIT));
                matches!(found, Ok(Some(found)) if !found.contains(&Endpoint::Tcp(server)))
            };
            let is_elsewhere = loop {
                // This is asked first: a failover that has ended by now is one that the name follows.
                let is_led = target.is_failing_over(LOOK_UP_LIMIT);
                let is_elsewhere = has_moved();
                if is_elsewhere || !is_led || std::time::Instant::now() >= until {
                    break is_elsewhere;
                }
            };
            // The session may have ended meanwhile.
            let _ = done.send(is_elsewhere);
        };
        if std::thread::Builder::new().name("look-up".to_owned()).spawn(look_up).is_err() {
            return false;
        }
        found.await.unwrap_or(false)
    }

    fn means(&self, wire: CommandSender) -> OrderContext {
        let (news, clock) = (self.news.clone(), self.clock);
        let asked = move |requests| {
            drop(news.send(ControlMessage::SetupRequests { at_ns: clock.now_ns(), requests }));
        };
        OrderContext { wire, target: self.target.clone(), asked: Box::new(asked) }
    }

    /// Polls the server, and checks the marker. Returns the length of the pause until the next poll, as a multiple of
    /// the usual pause.
    ///
    /// # Errors
    /// Fails if the connection cannot be used any more.
    async fn poll(&mut self, wire: &CommandSender) -> Result<u32, ServerError> {
        let clock = self.clock;
        let mut pause = 1;
        match self.poller.poll(wire, || clock.now_ns()).await {
            Ok((at_ns, polled)) => {
                pause = polled.pause;
                self.may_not_notify |= polled.events.iter().any(may_end_notifications);
                self.report_poll(at_ns, polled);
            }
            Err(error) if error.ends_connection() => return Err(error),
            Err(error) => self.report_mute(error.to_string()),
        }
        let (Some(ledger), CommandSender::Redis(wire)) = (&self.ledger, wire) else { return Ok(pause) };
        if self.may_not_notify {
            match notifications::add_again(wire, &self.target, ledger).await {
                Err(error) if error.ends_connection() => return Err(error),
                // The session is ending, or the server refuses the letters, which the receivers then lack.
                _ => self.may_not_notify = false,
            }
        }
        let trouble = match registry::check_marker(wire, ledger).await? {
            MarkerState::Present => None,
            MarkerState::Renewed(renewed) => {
                self.report_now(renewed);
                None
            }
            MarkerState::Refused(refused) => Some(refused),
        };
        if self.marker_trouble != trouble {
            trouble.iter().for_each(|refused| self.report_now(refused.clone()));
            self.marker_trouble = trouble;
        }
        Ok(pause)
    }

    fn report_now(&self, what: EventKind) {
        self.report(ControlMessage::Event { at_ns: self.clock.now_ns(), what });
    }

    async fn refuse_orders(&mut self, cause: &str, until: Instant) {
        loop {
            tokio::select! {
                () = sleep_until(until) => return,
                Some(order) = self.orders.recv() => {
                    self.ledger = order.ledger.clone().or(self.ledger.take());
                    order.carry_out(Err(ServerError::Unreachable(cause.to_owned()))).await;
                }
            }
        }
    }

    fn report_poll(&mut self, at_ns: u64, mut polled: Polled) {
        polled.status.own_connections = self.target.side_calls.open(&self.target.address);
        let server = self.server.filter(|_| matches!(self.target.address, Address::Service(_)));
        polled.status.address = server.map(|server| server.to_string());
        self.back_off.reset();
        if let Some(cause) = polled.info_refused {
            self.report_mute(cause);
        } else {
            if matches!(self.standing, ReportedState::Mute(_) | ReportedState::Unreachable(_)) {
                self.report(ControlMessage::Event { at_ns, what: EventKind::Reachable });
            }
            self.standing = ReportedState::Fine;
            self.report(ControlMessage::Status { at_ns, status: Box::new(polled.status) });
        }
        for what in polled.events {
            self.report(ControlMessage::Event { at_ns, what });
        }
    }

    fn report_mute(&mut self, cause: String) {
        let news = ReportedState::Mute(cause.clone());
        if self.standing != news {
            self.standing = news;
            self.report_now(EventKind::InfoRefused { cause });
        }
    }

    /// Reports an outage once. During the outage, a further failure is reported only if the server replies, and refuses
    /// the connection for another reason.
    fn report_unreachable(&mut self, at_ns: u64, trouble: &ConnectFailure) {
        let news = ReportedState::Unreachable(trouble.cause.clone());
        let is_reported = matches!(self.standing, ReportedState::Unreachable(_));
        if self.standing == news || (is_reported && !trouble.was_answered) {
            return;
        }
        self.standing = news;
        self.report(ControlMessage::Event {
            at_ns,
            what: EventKind::Unreachable { cause: trouble.cause.clone() },
        });
    }

    fn report(&self, message: ControlMessage) {
        // At the end of a session there may be no receiver, while orders to clean up still arrive.
        drop(self.news.send(message));
    }
}
