//! The load engine's handle to the thread of the receivers (the connections that wait for messages).

use std::{
    io,
    sync::{Arc, atomic::Ordering::Relaxed, mpsc::Sender},
    thread::JoinHandle,
};

use arc_swap::ArcSwap;
use mio::{Poll, Waker};

use super::{
    order::{ReceiverOrder, ReceiverState},
    thread::{ReceiverSetup, ReceiverThread},
};
use crate::{
    clock::Clock,
    endpoint::Endpoints,
    load::{LoadEvent, LoadPlan, LoadSetting, RingEnd, phase::RECEIVERS_LIMIT_NS, ring, worker::WAKE},
    workload::Messages,
};

/// The handle to the running receivers.
pub(in crate::load) struct ReceiverHandle {
    state: Arc<ReceiverState>,
    waker: Waker,
    clock: Clock,
    thread: JoinHandle<()>,
}

impl ReceiverHandle {
    /// Starts the thread without receivers. Also returns the ring that carries the counts of the thread.
    ///
    /// # Errors
    /// Fails if the system refuses a thread or a poll loop.
    pub(in crate::load) fn start(
        plan: &Arc<LoadPlan>,
        endpoints: &Arc<Endpoints>,
        settings: &Arc<ArcSwap<LoadSetting>>,
        clock: Clock,
        events: &Sender<LoadEvent>,
    ) -> io::Result<(Self, RingEnd)> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        let (up, end) = ring::pair(0);
        let (state, events) = (Arc::new(ReceiverState::default()), events.clone());
        let (plan, endpoints, settings) = (Arc::clone(plan), Arc::clone(endpoints), Arc::clone(settings));
        let setup = ReceiverSetup {
            plan,
            endpoints,
            clock,
            settings,
            state: Arc::clone(&state),
            events: events.clone(),
        };
        let body = move || {
            if let Err(error) = ReceiverThread::new(setup, poll, up).run() {
                let died = LoadEvent::Died { at_ns: clock.now_ns(), cause: error.to_string() };
                // Sending fails only at the end of the session, when the receiving end of the channel is gone.
                drop(events.send(died));
            }
        };
        let thread = std::thread::Builder::new().name("receivers".to_owned()).spawn(body)?;
        Ok((Self { state, waker, clock, thread }, end))
    }

    /// Orders this many receivers to wait for these messages. With `None`, ends all receivers. Returns at
    /// once. The thread follows the order later.
    pub(in crate::load) fn order(&self, messages: Option<&Arc<Messages>>, receivers: usize) {
        let now = self.state.order.load_full();
        let is_same = match (&now.messages, messages) {
            (Some(now), Some(next)) => Arc::ptr_eq(now, next),
            (now, next) => now.is_none() && next.is_none(),
        };
        if is_same && now.receivers == receivers {
            return;
        }
        self.state.set_order(ReceiverOrder {
            messages: messages.cloned(),
            receivers,
            since_ns: self.clock.now_ns(),
        });
        self.wake();
    }

    /// Returns whether the load may begin. Each receiver must be ready or unable to connect, or the receivers must
    /// have had 10 s to become ready.
    pub(in crate::load) fn is_ready(&self) -> bool {
        let until_ns = self.state.order.load().since_ns + RECEIVERS_LIMIT_NS;
        self.state.are_ready() || self.thread.is_finished() || self.clock.now_ns() >= until_ns
    }

    /// Wakes the thread, so that it applies a new setting.
    pub(in crate::load) fn wake(&self) {
        // A thread that cannot be woken checks the setting at the next tick.
        drop(self.waker.wake());
    }

    /// Waits for the last messages, and ends the receivers.
    pub(in crate::load) fn end(self) {
        self.state.over_ns.store(self.clock.now_ns(), Relaxed);
        self.state.is_ending.store(true, Relaxed);
        self.wake();
        // If the thread has panicked, the panic hook has already printed the message.
        drop(self.thread.join());
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::{
        endpoint::{Address, Target},
        knobs::Knobs,
        load::Load,
        workload::WorkloadChoice,
    };

    #[test]
    fn a_load_waits_for_receivers_without_blocking_its_end() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address =
            Address::Tcp { host: "127.0.0.1".to_owned(), port: server.local_addr().unwrap().port() };
        let plan = LoadPlan { target: Target { address, ..Target::default() }, ..LoadPlan::fixture() };
        let workload = WorkloadChoice::of_preset("pubsub").unwrap().workload;
        let knobs = Knobs { clients: 1, load: true, workload, ..Knobs::default() };
        let clock = Clock::start();
        let (load, _output) = Load::start(&plan, knobs.clone(), None, clock).unwrap();
        assert!(!load.knobs().load);
        assert!(load.is_ready_for(&Knobs { load: false, ..knobs.clone() }), "no load needs no receivers");
        assert!(!load.is_ready_for(&knobs) && !load.is_ready_for(&knobs));
        assert_eq!(load.last_change().segment, 1);
        drop(load);
        assert!(clock.now_ns() < RECEIVERS_LIMIT_NS);
    }
}
