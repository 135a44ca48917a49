//! The life of the control plane: connect, poll, carry out orders, and begin again when the connection is lost.
//!
//! ```text
//! ┌► reach ─► open link ─► poll INFO every second, carry out orders ─┐ lost
//! │    └ failed ┐                                                    │
//! └─────────────┴── tell why, wait (orders are refused meanwhile) ◄──┘
//! ```

use std::{
    sync::{Arc, mpsc::Sender},
    time::Duration,
};

use tokio::{
    sync::mpsc::UnboundedReceiver,
    time::{Instant, MissedTickBehavior, interval, sleep_until},
};

use super::{
    Cleaned, Info, Marker, Message, ServerError, Survey, answer::Reply, clean, info::Counters, link::Link,
    link::Wire, marker, survey,
};
use crate::{
    clock::Clock,
    target::{BackOff, Target, reach},
};

/// How long one attempt to connect may take.
const REACH_LIMIT: Duration = Duration::from_secs(2);

/// Something to be done on the server, and where its answer goes.
pub(super) enum Order {
    Survey(Reply<Survey>),
    Mark(Marker, Reply<()>),
    FindLeftovers(Reply<Option<Marker>>),
    Clean(Arc<clean::Shared>, Reply<Cleaned>),
}

impl Order {
    /// Nobody may wait for the answer any more; then it is dropped.
    async fn carry_out(self, wire: Wire, target: Target) {
        match self {
            Self::Survey(reply) => drop(reply.send(survey::survey(&wire, &target).await)),
            Self::Mark(marker, reply) => drop(reply.send(marker::set(&wire, &marker).await)),
            Self::FindLeftovers(reply) => drop(reply.send(survey::leftovers(&wire).await)),
            Self::Clean(shared, reply) => drop(reply.send(clean::clean(&wire, &shared).await)),
        }
    }

    fn refuse(self, cause: &str) {
        let error = ServerError::Unreachable(cause.to_owned());
        match self {
            Self::Survey(reply) => drop(reply.send(Err(error))),
            Self::Mark(_, reply) => drop(reply.send(Err(error))),
            Self::FindLeftovers(reply) => drop(reply.send(Err(error))),
            Self::Clean(_, reply) => drop(reply.send(Err(error))),
        }
    }
}

/// What was told last, so that news is told once.
#[derive(Debug, PartialEq)]
enum Told {
    Nothing,
    Fine,
    Mute(String),
    Unreachable(String),
}

/// The control plane's state.
pub(super) struct Watch {
    pub(super) target: Target,
    pub(super) clock: Clock,
    pub(super) every: Duration,
    pub(super) news: Sender<Message>,
    pub(super) orders: UnboundedReceiver<Order>,
}

impl Watch {
    /// Runs until it is dropped.
    pub(super) async fn run(self) {
        let Self { target, clock, every, news, orders } = self;
        let mut desk = Desk {
            target,
            clock,
            news,
            orders,
            told: Told::Nothing,
            counters: None,
            back_off: BackOff::new(),
        };
        loop {
            let cause = match connect(&desk.target).await {
                Err(cause) => cause,
                Ok(link) => desk.serve(link, every).await,
            };
            desk.tell_unreachable(&cause);
            let pause = desk.back_off.next(&mut rand::rng());
            desk.refuse_orders(&cause, Instant::now() + pause).await;
        }
    }
}

async fn connect(target: &Target) -> Result<Link, String> {
    // By hand first: reach tells what is wrong, fred does not. It blocks, so it has a thread of its own.
    let asked = target.clone();
    let reached = tokio::task::spawn_blocking(move || reach(&asked, REACH_LIMIT))
        .await
        .map_err(|error| format!("the attempt to connect failed: {error}"))?
        .map_err(|error| error.to_string())?;
    Link::open(target, reached).await.map_err(|error| error.to_string())
}

struct Desk {
    target: Target,
    clock: Clock,
    news: Sender<Message>,
    orders: UnboundedReceiver<Order>,
    told: Told,
    counters: Option<Counters>,
    back_off: BackOff,
}

impl Desk {
    /// Polls and carries out orders until the connection is lost; says why.
    async fn serve(&mut self, mut link: Link, every: Duration) -> String {
        let mut polls = interval(every);
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                cause = link.lost() => return cause,
                Some(order) = self.orders.recv() => {
                    tokio::spawn(order.carry_out(link.wire().clone(), self.target.clone()));
                }
                _ = polls.tick() => match link.wire().info().await {
                    Ok(text) => self.tell_status(&text),
                    Err(error) if error.ends_connection() => return error.to_string(),
                    Err(error) => self.tell_mute(&error.to_string()),
                },
            }
        }
    }

    async fn refuse_orders(&mut self, cause: &str, until: Instant) {
        loop {
            tokio::select! {
                () = sleep_until(until) => return,
                Some(order) = self.orders.recv() => order.refuse(cause),
            }
        }
    }

    fn tell_status(&mut self, text: &str) {
        let at_ns = self.clock.now_ns();
        let (status, counters) = Info::parse(text).status(at_ns, self.counters.as_ref());
        self.counters = Some(counters);
        self.back_off.reset();
        if matches!(self.told, Told::Mute(_) | Told::Unreachable(_)) {
            self.tell(Message::Back { at_ns });
        }
        self.told = Told::Fine;
        self.tell(Message::Status { at_ns, status: Box::new(status) });
    }

    fn tell_mute(&mut self, cause: &str) {
        let news = Told::Mute(cause.to_owned());
        if self.told != news {
            self.told = news;
            self.tell(Message::Mute { at_ns: self.clock.now_ns(), cause: cause.to_owned() });
        }
    }

    fn tell_unreachable(&mut self, cause: &str) {
        let news = Told::Unreachable(cause.to_owned());
        if self.told != news {
            self.told = news;
            self.tell(Message::Unreachable { at_ns: self.clock.now_ns(), cause: cause.to_owned() });
        }
    }

    fn tell(&self, message: Message) {
        // Nobody listens any more when a session ends; orders (cleaning up) still come then.
        drop(self.news.send(message));
    }
}
