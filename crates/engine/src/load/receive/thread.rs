//! The thread on which receivers wait for the load's messages. All receivers share one poll loop.
//!
//! ```text
//! poll ─► stamp ─► for each ready socket: read, count, write ─► another order? ─► tick over? ─► connect ─► poll
//! ```

mod ending;
mod placing;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::{Arc, atomic::Ordering::Relaxed, mpsc::Sender},
    time::Duration,
};

use arc_swap::ArcSwap;
use mio::{Events, Poll, Token, event::Event};

use super::{
    dialog::{Channel, MessageContext, ReceiverDialog},
    earlier::EarlierSegments,
    line::{ConnectionContext, ReceiverConnection},
    numbers::MessageNumbers,
    order::{ReceiverOrder, ReceiverState},
};
use crate::{
    clock::{Clock, SECOND_NS, next_tick_ns},
    endpoint::{BackOff, Endpoints, Greeting, NodeNumber, Topology},
    host::OwnThread,
    load::{
        LoadEvent, LoadPlan, LoadSetting, ReceivedCounts, WorkerRing, arrived::ReceiverCounts,
        broken::ConnectionFailure, spread::WorkerCluster, worker::WAKE,
    },
    protocol::ErrorKinds,
    stats::Recorder,
};

/// How long the thread waits at the end of the load for the next missing message: 1 s.
const LAST_MESSAGES_NS: u64 = 1_000_000_000;
/// How long the thread waits at the end of the load for all missing messages together: 5 s. If the server
/// stores the messages (queues and streams), the limit is 1 s.
const MOST_LAST_NS: u64 = 5_000_000_000;
/// How often the thread checks whether a host name is resolved or the topology of the cluster is renewed: 10 ms.
const LOOK_EVERY_NS: u64 = 10_000_000;

/// The inputs of the thread.
pub(super) struct ReceiverSetup {
    pub(super) plan: Arc<LoadPlan>,
    pub(super) endpoints: Arc<Endpoints>,
    pub(super) clock: Clock,
    pub(super) settings: Arc<ArcSwap<LoadSetting>>,
    pub(super) state: Arc<ReceiverState>,
    pub(super) events: Sender<LoadEvent>,
}

/// A receiver and its connection to a server. In a cluster, a receiver may have a connection to each of several nodes.
#[derive(Default)]
struct MessageReceiver {
    dialog: ReceiverDialog,
    line: Option<ReceiverConnection>,
    /// The cluster node of the connection.
    node: Option<NodeNumber>,
    back_off: BackOff,
    opens_at_ns: u64,
    /// Whether the load no longer waits for this receiver.
    is_settled: bool,
}

/// The state of the thread.
pub(super) struct ReceiverThread {
    setup: ReceiverSetup,
    poll: Poll,
    ring: WorkerRing,
    order: Arc<ReceiverOrder>,
    greeting: Greeting,
    /// The receivers. The key is `receiver + lane * receivers`. `receiver` is the number of the receiver, and
    /// `receivers` is the number of all receivers. `lane` is the number of the connection.
    receivers: BTreeMap<usize, MessageReceiver>,
    /// The counts of each receiver.
    own_counts: Vec<ReceiverCounts>,
    /// The state of a cluster, or `None` without a cluster.
    spread: Option<WorkerCluster>,
    /// The topology at the time when a node refused a channel. The receivers react when the topology has
    /// changed.
    outdated: Option<Arc<Topology>>,
    /// Whether the next connection must wait until a host name is resolved, or until another connection is open.
    must_wait: bool,
    shared: Vec<MessageNumbers>,
    /// The receivers that must connect. The first number of an entry is the earliest time for the connection.
    to_open: BTreeSet<(u64, usize)>,
    unread: Vec<usize>,
    /// For each channel, the sequence number of the first message that these receivers must get.
    first: Vec<u64>,
    /// The number of the segment in which messages are counted.
    segment: u32,
    /// The time when this segment began, in ns.
    since_ns: u64,
    /// Whether the load of this segment sends messages to these receivers. The receivers of the next segment connect
    /// before the segment begins.
    is_own: bool,
    is_over: bool,
    current: Option<Box<ReceivedCounts>>,
    earlier: EarlierSegments,
    last_ns: u64,
    next_tick_ns: u64,
    endpoint: usize,
    seen: ErrorKinds,
    own: OwnThread,
    /// How long each readable socket waited until it was read.
    read_wait: Recorder,
    /// The end of the last tick in this segment, or `None` in the first tick of the segment.
    closed_ns: Option<u64>,
    buffer: Box<[u8]>,
    words: Vec<Range<usize>>,
}

impl ReceiverThread {
    /// Creates the state of the thread. Must be called on the thread of the receivers.
    pub(super) fn new(setup: ReceiverSetup, poll: Poll, ring: WorkerRing) -> Self {
        let now_ns = setup.clock.now_ns();
        let setting = setup.settings.load();
        let (segment, since_ns) = (setting.generation, setting.since_ns);
        drop(setting);
        Self {
            greeting: setup.plan.greeting_of_receivers(None),
            order: Arc::default(),
            receivers: BTreeMap::new(),
            own_counts: Vec::new(),
            spread: WorkerCluster::of(&setup.plan),
            outdated: None,
            must_wait: false,
            shared: Vec::new(),
            to_open: BTreeSet::new(),
            unread: Vec::new(),
            first: Vec::new(),
            segment,
            since_ns,
            is_own: false,
            is_over: false,
            current: None,
            earlier: EarlierSegments::before(segment),
            last_ns: now_ns,
            next_tick_ns: next_tick_ns(now_ns),
            endpoint: 0,
            seen: ErrorKinds::default(),
            own: OwnThread::current(),
            read_wait: Recorder::new(),
            closed_ns: None,
            buffer: vec![0; 64 * 1024].into(),
            words: Vec::new(),
            setup,
            poll,
            ring,
        }
    }

    /// Runs until the load is over and the last messages have arrived.
    ///
    /// # Errors
    /// Fails if the system refuses to poll.
    pub(super) fn run(mut self) -> std::io::Result<()> {
        let mut events = Events::with_capacity(1024);
        loop {
            let sleep = self.sleep(self.setup.clock.now_ns());
            match self.poll.poll(&mut events, Some(sleep)) {
                Err(error) if error.kind() != std::io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            let now_ns = self.setup.clock.now_ns();
            let unread = std::mem::take(&mut self.unread);
            let ready = events.iter().map(Event::token).filter(|token| *token != WAKE);
            for i in ready.map(|Token(i)| i).chain(unread) {
                let came_ns = self.setup.clock.now_ns();
                self.read_wait.record(came_ns - now_ns);
                self.attend(i, came_ns);
            }
            self.follow(now_ns);
            if now_ns >= self.next_tick_ns {
                self.close_tick(now_ns);
            }
            self.follow_topology(now_ns);
            self.connect(now_ns);
            if self.setup.state.is_ending.load(Relaxed) && self.is_finished(now_ns) {
                self.finish(now_ns);
                return Ok(());
            }
        }
    }

    fn sleep(&self, now_ns: u64) -> Duration {
        let looks_ns = now_ns + LOOK_EVERY_NS;
        let opens_ns = match self.to_open.first() {
            Some(_) if self.must_wait => looks_ns,
            next => next.map_or(u64::MAX, |(at_ns, _)| *at_ns),
        };
        let opens_ns = if self.outdated.is_some() { opens_ns.min(looks_ns) } else { opens_ns };
        let is_ending = self.setup.state.is_ending.load(Relaxed);
        let until_ns = if is_ending { now_ns + 1_000_000 } else { self.next_tick_ns.min(opens_ns) };
        let wait_ns = if self.unread.is_empty() { until_ns.saturating_sub(now_ns) } else { 0 };
        Duration::from_nanos(wait_ns)
    }

    /// Applies a new order and a new setting.
    fn follow(&mut self, now_ns: u64) {
        let order = self.setup.state.order.load_full();
        // After the load is switched off, the receivers still get the last messages.
        let is_due = order.messages.is_some() || self.is_quiet(now_ns, order.since_ns);
        if is_due && !Arc::ptr_eq(&order, &self.order) {
            self.take_order(order, now_ns);
        }
        let setting = self.setup.settings.load_full();
        let is_own = self.are_receivers_of(&setting);
        let is_current = is_own || self.order.messages.is_none();
        let segment = if is_current { setting.generation } else { self.segment };
        let is_over = now_ns >= setting.phase.load_ends_ns() || segment != setting.generation;
        if (segment, is_over) != (self.segment, self.is_over) {
            // Messages so far belong to the old segment. Messages of the old segment that arrive later belong
            // to its drain.
            self.close_segment(now_ns, true);
            self.closed_ns = None;
            if segment != self.segment {
                self.earlier.end(self.segment, self.since_ns);
                self.since_ns = setting.since_ns;
            }
            (self.segment, self.is_over) = (segment, is_over);
        }
        self.is_own |= is_own;
    }

    /// Returns whether the load of this setting sends messages to the current receivers.
    fn are_receivers_of(&self, setting: &LoadSetting) -> bool {
        let messages = setting.program.messages().filter(|_| setting.knobs.load);
        let is_same =
            messages.zip(self.order.messages.as_ref()).is_some_and(|(one, other)| Arc::ptr_eq(one, other));
        is_same && setting.knobs.workload.receiver_count().unwrap_or(0) as usize == self.order.receivers
    }

    /// Replaces all receivers, and divides the channels among the new receivers. Messages that are on their way to the
    /// old receivers count as unclear.
    fn take_order(&mut self, order: Arc<ReceiverOrder>, now_ns: u64) {
        self.end_dialogs(now_ns, order.messages.is_none());
        self.receivers.clear();
        self.own_counts.clear();
        self.to_open.clear();
        (self.order, self.is_own) = (order, false);
        let Some(messages) = self.order.messages.clone() else { return self.setup.state.await_receivers(0) };
        let is_later = messages.begin_to_receive();
        let first = |channel| if is_later { messages.issued(channel) } else { 0 };
        self.first = (0..messages.names.len()).map(first).collect();
        let shared = if messages.kind.is_shared() { self.first.len() } else { 0 };
        self.shared = vec![MessageNumbers::default(); shared];
        self.shared.iter_mut().filter(|_| !is_later).for_each(|numbers| numbers.begin(0));
        self.greeting = self.setup.plan.greeting_of_receivers(Some(messages.kind));
        let receivers = self.order.receivers;
        self.own_counts.resize_with(receivers, ReceiverCounts::default);
        for number in 0..receivers {
            let channels: Vec<_> =
                Channel::of_receiver(number, receivers, messages.kind, &self.first).collect();
            channels.into_iter().for_each(|channel| self.place(number, channel, now_ns));
        }
        self.setup.state.await_receivers(self.receivers.len());
    }

    /// Handles the ready socket of a receiver.
    fn attend(&mut self, i: usize, now_ns: u64) {
        let Some(messages) = self.order.messages.clone() else { return };
        let Some(receiver) = self.receivers.get_mut(&i) else { return };
        let Some(line) = &mut receiver.line else { return };
        let number = receiver.dialog.number;
        let before = self.own_counts[number].received;
        let mut desk = MessageContext {
            messages: &messages,
            now_ns,
            first: &self.first,
            since_ns: self.since_ns,
            current: self.current.get_or_insert_with(|| Box::new(ReceivedCounts::new(messages.kind))),
            earlier: &mut self.earlier,
            shared: &mut self.shared,
            own: &mut self.own_counts[number],
            in_cluster: self.spread.is_some(),
        };
        let mut around = ConnectionContext {
            greeting: &self.greeting,
            desk: &mut desk,
            clock: self.setup.clock,
            buffer: &mut self.buffer,
            words: &mut self.words,
        };
        let result = line.attend(&mut receiver.dialog, &mut around);
        if line.has_more {
            self.unread.push(i);
        }
        if self.own_counts[number].received > before {
            self.last_ns = now_ns;
        }
        let is_moved = receiver.dialog.is_moved;
        if receiver.dialog.is_ready {
            self.settle(i);
        }
        if is_moved {
            self.await_topology();
        }
        if let Err(broken) = result {
            self.lose(i, &broken, now_ns);
        }
    }

    /// Notes that the load no longer waits for a receiver, because the receiver is ready or cannot connect.
    fn settle(&mut self, i: usize) {
        let receiver = self.receivers.get_mut(&i);
        if receiver.is_some_and(|receiver| !std::mem::replace(&mut receiver.is_settled, true)) {
            self.setup.state.ready();
        }
    }

    /// Ends the connection of a receiver, and schedules the next attempt to connect.
    #[cold]
    fn lose(&mut self, i: usize, broken: &ConnectionFailure, now_ns: u64) {
        self.settle(i);
        let Some(receiver) = self.receivers.get_mut(&i) else { return };
        receiver.line = None;
        if receiver.dialog.disconnect() {
            self.own_counts[receiver.dialog.number].reconnects += 1;
            self.current.iter_mut().for_each(|current| current.reconnects += 1);
        } else {
            self.endpoint = self.endpoint.wrapping_add(1);
        }
        if now_ns.saturating_sub(receiver.opens_at_ns) > SECOND_NS {
            receiver.back_off.reset();
        }
        let pause = receiver.back_off.next(&mut rand::rng());
        receiver.opens_at_ns = now_ns + pause.as_nanos() as u64;
        self.to_open.insert((receiver.opens_at_ns, i));
        match (&self.spread, receiver.node) {
            (Some(spread), Some(node)) => spread.look_up_again(node, now_ns),
            (Some(spread), None) => spread.cluster.mark_stale(),
            (None, _) => self.setup.endpoints.mark_stale(now_ns),
        }
        let kind = broken.kind().to_string();
        if self.seen.is_new(&kind) {
            // Sending fails only at the end of the session, when the receiving end of the channel is gone.
            let message = format!("a receiver: {broken}");
            drop(self.setup.events.send(LoadEvent::FirstError { kind, message }));
        }
    }
}
