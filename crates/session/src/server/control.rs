//! The handle of the control plane: a thread of its own, orders to it, and its end.

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

/// What a memcached does not have, where it is asked for.
const CONFIG: &str = "CONFIG: its settings are those that it was started with";
const SETUPS: &str = "scripts, functions or indexes that a setup could make";

/// The control plane of one target. Dropping it ends its thread at once, even when the server hangs; what was ordered
/// and not done then is answered with [`ServerError::Stopped`].
///
/// Orders never block. Their answers come within some seconds: an order given while the server cannot be reached is
/// refused with the cause, one given before the first attempt to connect is decided waits for that.
#[derive(Debug)]
pub struct Control {
    orders: mpsc::UnboundedSender<Order>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    redacts: bool,
}

impl Control {
    /// Begins to connect to `target`, and to poll its INFO `every` so long; the news goes to `news`. It connects
    /// again, with a [`BackOff`](crate::endpoint::BackOff), for as long as it lives.
    ///
    /// # Errors
    /// When the system gives no thread or no event queue.
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
            // Not a plain drop, which would wait for an attempt to connect that is under way.
            runtime.shutdown_background();
        })?;
        Ok(Self { orders, stop: Some(stop), thread: Some(thread), redacts: false })
    }

    /// The same, whose answers leave out what the server says in words of its own if it `redacts`.
    #[must_use]
    pub fn redacting(mut self, redacts: bool) -> Self {
        self.redacts = redacts;
        self
    }

    /// Gives an order, which `act` carries out; `also` says what else it is.
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
        // When the thread is gone, the order is dropped with its reply, and the answer is Stopped.
        drop(self.orders.send(also(Order::new(reply, act))));
        answer.redacting(self.redacts)
    }

    /// Polls once more, now: the news contain what the server reported by the time this is answered.
    pub fn poll(&self) -> Answer<()> {
        self.order(async |_| Ok(()), Order::after_poll)
    }

    /// Asks what already lives on the server. Writes nothing.
    pub fn survey(&self) -> Answer<Survey> {
        self.survey_for(BTreeSet::new())
    }

    /// The same, and whether the server has these commands.
    pub fn survey_for(&self, commands: BTreeSet<String>) -> Answer<Survey> {
        let act = async move |Means { wire, target, .. }: Means| match wire {
            Wire::Redis(wire) => survey::survey(&wire, &target, commands).await,
            Wire::Memcached(wire) => memcached::survey(&wire, &target).await,
        };
        self.order(act, identity)
    }

    /// Brings the marker of `ledger` up to what that says, and keeps it so: it is looked at with every poll, and set again
    /// if it was lost. To be answered before the first write. A memcached holds nothing but the workload's keys.
    pub fn mark(&self, ledger: &Ledger) -> Answer<()> {
        let noted = ledger.clone();
        let act = async move |means: Means| match means.wire {
            Wire::Redis(wire) => registry::bring(&wire, &noted).await,
            Wire::Memcached(_) => Ok(()),
        };
        self.order(act, |order| order.noting(ledger))
    }

    /// Looks for the markers of sessions that were killed before they could clean up, or kept their keys; one that still
    /// puts load on the server, or changed its settings and is connected, is no such. Writes nothing.
    pub fn find_leftovers(&self) -> Answer<Vec<Marker>> {
        let act = async |Means { wire, target, .. }: Means| match wire {
            Wire::Redis(wire) => survey::leftovers(&wire, &target).await,
            Wire::Memcached(_) => Ok(Vec::new()),
        };
        self.order(act, identity)
    }

    /// Looks in the other databases for the markers that name what belongs to the server: parameters, and what setups
    /// made. Writes nothing.
    pub fn find_elsewhere(&self) -> Answer<Vec<Marker>> {
        let act = async |Means { wire, target, .. }: Means| match wire {
            Wire::Redis(wire) => registry::elsewhere(&wire, &target).await,
            Wire::Memcached(_) => Ok(Vec::new()),
        };
        self.order(act, identity)
    }

    /// Begins to remove the keys of `runs` from the target's database, and then what their markers say of them. Their
    /// load has to be off.
    pub fn clean(&self, runs: Vec<Ledger>) -> Cleaning {
        let shared = Arc::new(clean::Shared::default());
        let seen = Arc::clone(&shared);
        let act = async move |means: Means| match means.wire {
            Wire::Redis(wire) => clean::clean(StoredKeys::of(&wire).await?, &runs, &seen).await,
            Wire::Memcached(wire) => clean::clean(Items(&wire), &runs, &seen).await,
        };
        Cleaning { shared, answer: self.order(act, identity) }
    }

    /// Looks for the keys of `span` that are called so; of very many for a part that is spread evenly.
    pub fn count(&self, span: KeySpan, names: KeyNames) -> Answer<Counted> {
        let act = async move |means: Means| match means.wire {
            Wire::Redis(wire) => count::count(StoredKeys::of(&wire).await?, &span, &names).await,
            Wire::Memcached(wire) => count::count(Items(&wire), &span, &names).await,
        };
        self.order(act, identity)
    }

    /// Sets one of the [`PARAMETERS`](super::PARAMETERS). What is to be set back stands in `ledger` and its marker before;
    /// the marker is kept as [`mark`](Self::mark) keeps it.
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

    /// Sets a parameter back to what it was, unless somebody else set it meanwhile, and takes it out of `ledger` and its
    /// marker, which goes with the last of what it holds.
    pub fn restore_config(&self, tuned: Tuned, ledger: &Ledger) -> Answer<Restored> {
        let ledger = ledger.clone();
        let act = async move |means: Means| tune::restore(&means.redis(CONFIG)?, &tuned, &ledger).await;
        self.order(act, identity)
    }

    /// Runs the commands of a setup in their order. What is to be undone of each stands in `ledger` and its marker before;
    /// the marker is kept as [`mark`](Self::mark) keeps it.
    pub fn set_up(&self, commands: Vec<SetupCommand>, ledger: &Ledger) -> Answer<SetUp> {
        let noted = ledger.clone();
        let act = async move |means: Means| {
            let outcome = set_up::set_up(&means.redis(SETUPS)?, &commands, &noted).await;
            (means.asked)(outcome.answered.clone());
            Ok(outcome)
        };
        self.order(act, |order| order.noting(ledger))
    }

    /// Undoes what a setup made, and takes it out of `ledger` and its marker. The answer is whether it was still there.
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
            // A panic there was printed there.
            let _ = thread.join();
        }
    }
}
