//! The handle of the control plane: its thread, the orders to the thread, and its end.

use std::{
    collections::BTreeSet,
    convert::identity,
    io,
    sync::{Arc, mpsc::Sender},
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::{
    runtime,
    sync::{mpsc, oneshot},
};

use super::{
    Answer, Cleaning, Counted, Ledger, Made, Marker, Message, Parameter, Restored, ServerError, SetUp,
    Survey, Tuned, Turned,
    clean::{self, StoredKeys},
    count,
    memcached::{self, Items},
    order::{Means, Order},
    plane::Wire,
    registry, set_up, survey,
    tune::{self, TuneStep},
    watch::Watch,
};
use crate::{
    clock::Clock,
    endpoint::Target,
    workload::{KeyNames, KeySpan, SetupCommand},
};

/// The answer to requests for CONFIG on memcached.
const CONFIG: &str = "CONFIG: its settings are those that it was started with";
const SETUPS: &str = "scripts, functions or indexes that a setup could make";

/// The control plane of one target. Dropping it ends its thread at once, even if the server hangs; orders that are not
/// carried out by then are answered with [`ServerError::Stopped`].
///
/// Orders never block. Their answers arrive within some seconds. An order while the server cannot be reached is refused
/// with the cause; an order during the first attempt to connect waits for the result of the attempt.
#[derive(Debug)]
pub struct Control {
    orders: mpsc::UnboundedSender<Order>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    redacts: bool,
}

impl Control {
    /// Begins to connect to `target`, and to poll INFO at the interval `every`; reports go to `news`. The thread
    /// reconnects with a [`BackOff`](crate::endpoint::BackOff) for as long as it lives.
    ///
    /// # Errors
    /// When the system cannot create a thread or an event queue.
    pub fn start(target: Target, clock: Clock, every: Duration, news: Sender<Message>) -> io::Result<Self> {
        let (orders, taken) = mpsc::unbounded_channel();
        let (stop, stopped) = oneshot::channel();
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let watch = Watch { target, clock, every, news, orders: taken };
        let thread = thread::Builder::new().name("control".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    () = watch.run() => {}
                }
            });
            // A plain drop would wait for a running attempt to connect.
            runtime.shutdown_background();
        })?;
        Ok(Self { orders, stop: Some(stop), thread: Some(thread), redacts: false })
    }

    /// Returns the same handle; if it `redacts`, the server's own texts are removed from answers.
    #[must_use]
    pub fn redacting(mut self, redacts: bool) -> Self {
        self.redacts = redacts;
        self
    }

    /// Sends an order, which `act` carries out; `also` adds properties to the order.
    fn order<T, F>(
        &self,
        act: impl FnOnce(Means) -> F + Send + 'static,
        also: impl FnOnce(Order) -> Order,
    ) -> Answer<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ServerError>> + Send,
    {
        let (reply, answer) = Answer::new();
        // If the thread has ended, the order and its reply channel are dropped, and the answer is Stopped.
        drop(self.orders.send(also(Order::new(reply, act))));
        answer.redacting(self.redacts)
    }

    /// Polls at once. Before this order is answered, the reports include the state of the server at that time.
    pub fn poll(&self) -> Answer<()> {
        self.order(async |_| Ok(()), Order::after_poll)
    }

    /// Runs the survey of the server: its keys, its clients and other runs. Writes nothing.
    pub fn survey(&self) -> Answer<Survey> {
        self.survey_for(BTreeSet::new())
    }

    /// Runs the survey, and checks whether the server has these commands.
    pub fn survey_for(&self, commands: BTreeSet<String>) -> Answer<Survey> {
        let act = async move |Means { wire, target, .. }: Means| match wire {
            Wire::Redis(wire) => survey::survey(&wire, &target, commands).await,
            Wire::Memcached(wire) => memcached::survey(&wire, &target).await,
        };
        self.order(act, identity)
    }

    /// Writes the content of `ledger` to its marker, and keeps the marker: each poll checks it, and writes it again if
    /// it was lost. Wait for the answer before the first write. A memcached has no marker.
    pub fn mark(&self, ledger: &Ledger) -> Answer<()> {
        let noted = ledger.clone();
        let act = async move |means: Means| match means.wire {
            Wire::Redis(wire) => registry::bring(&wire, &noted).await,
            Wire::Memcached(_) => Ok(()),
        };
        self.order(act, |order| order.noting(ledger))
    }

    /// Finds the markers of sessions that were killed before they could clean up, or kept their keys. Sessions that
    /// still load the server, or that changed its settings and are connected, are excluded. Writes nothing.
    pub fn find_leftovers(&self) -> Answer<Vec<Marker>> {
        let act = async |Means { wire, target, .. }: Means| match wire {
            Wire::Redis(wire) => survey::leftovers(&wire, &target).await,
            Wire::Memcached(_) => Ok(Vec::new()),
        };
        self.order(act, identity)
    }

    /// Finds the markers in other databases that concern the whole server: parameters, and objects that setups made.
    /// Writes nothing.
    pub fn find_elsewhere(&self) -> Answer<Vec<Marker>> {
        let act = async |Means { wire, target, .. }: Means| match wire {
            Wire::Redis(wire) => registry::elsewhere(&wire, &target).await,
            Wire::Memcached(_) => Ok(Vec::new()),
        };
        self.order(act, identity)
    }

    /// Begins to remove the keys of `runs` from the target's database, and then their entries in the markers. The load
    /// of these runs must be off.
    pub fn clean(&self, runs: Vec<Ledger>) -> Cleaning {
        let shared = Arc::new(clean::Shared::default());
        let seen = Arc::clone(&shared);
        let act = async move |means: Means| match means.wire {
            Wire::Redis(wire) => clean::clean(StoredKeys::of(&wire).await?, &runs, &seen).await,
            Wire::Memcached(wire) => clean::clean(Items(&wire), &runs, &seen).await,
        };
        Cleaning { shared, answer: self.order(act, identity) }
    }

    /// Counts how many keys of `span` exist; if there are too many, checks an evenly distributed part.
    pub fn count(&self, span: KeySpan, names: KeyNames) -> Answer<Counted> {
        let act = async move |means: Means| match means.wire {
            Wire::Redis(wire) => count::count(StoredKeys::of(&wire).await?, &span, &names).await,
            Wire::Memcached(wire) => count::count(Items(&wire), &span, &names).await,
        };
        self.order(act, identity)
    }

    /// Sets one of the [`PARAMETERS`](super::PARAMETERS). The value to restore is first written to `ledger` and its
    /// marker, and the marker is kept as by [`mark`](Self::mark).
    pub fn set_config(
        &self,
        parameter: &'static Parameter,
        value: String,
        ledger: &Ledger,
    ) -> Answer<Turned> {
        let turn = TuneStep { parameter, value, ledger: ledger.clone() };
        let act = async move |means: Means| tune::turn(&means.redis(CONFIG)?, &means.target, &turn).await;
        self.order(act, |order| order.noting(ledger))
    }

    /// Restores a parameter, unless another client has changed it since, and removes it from `ledger` and its marker. A
    /// marker without entries is deleted.
    pub fn restore_config(&self, tuned: Tuned, ledger: &Ledger) -> Answer<Restored> {
        let ledger = ledger.clone();
        let act = async move |means: Means| tune::restore(&means.redis(CONFIG)?, &tuned, &ledger).await;
        self.order(act, identity)
    }

    /// Runs the commands of a setup in order. What each command makes is first written to `ledger` and its marker, and
    /// the marker is kept as by [`mark`](Self::mark).
    pub fn set_up(&self, commands: Vec<SetupCommand>, ledger: &Ledger) -> Answer<SetUp> {
        let noted = ledger.clone();
        let act = async move |means: Means| {
            let outcome = set_up::set_up(&means.redis(SETUPS)?, &commands, &noted).await;
            (means.asked)(outcome.answered.clone());
            Ok(outcome)
        };
        self.order(act, |order| order.noting(ledger))
    }

    /// Undoes what a setup made, and removes it from `ledger` and its marker. The answer is whether it still existed.
    pub fn undo(&self, made: Made, ledger: &Ledger) -> Answer<bool> {
        let ledger = ledger.clone();
        let act = async move |means: Means| set_up::undo(&means.redis(SETUPS)?, &made, &ledger).await;
        self.order(act, identity)
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The thread may have ended by itself.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed already.
            let _ = thread.join();
        }
    }
}
