//! The handle of a server's control plane. The handle starts and ends the task that polls the server, and sends orders
//! to this task. The tasks of a session share a thread.

use std::{
    collections::BTreeSet,
    convert::{Infallible, identity},
    io,
    sync::{Arc, mpsc::Sender},
    thread,
    time::Duration,
};

use tokio::{
    runtime,
    sync::{mpsc, oneshot},
    task::JoinSet,
};

use super::{
    Answer, Cleaning, ControlMessage, CountResult, Foreign, KeyExamination, KeyMethod, Ledger, Marker,
    Parameter, Restored, ServerError, SetUp, SetupObject, Slots, Survey, TuneResult, TunedParameter, clean,
    count, keys,
    maker::left_by_http,
    memcached::{self, Items},
    order::{ControlOrder, OrderContext, OrderStep},
    plane::CommandSender,
    registry, set_up,
    stored_keys::StoredKeys,
    survey,
    tune::{self, TuneStep},
    watch::ControlTask,
};
use crate::{
    clock::Clock,
    endpoint::Target,
    workload::{KeyNames, KeySpan, SetupCommand},
};

/// The ending of the error message `memcached has no …` for orders that need CONFIG. The next constants are the endings
/// for other orders.
const CONFIG: &str = "CONFIG: its settings cannot be changed from here";
const KEYS: &str = "SCAN, MEMORY USAGE or MONITOR, which redyno needs to examine keys";
const CLUSTERS: &str = "cluster";
const SETUPS: &str = "scripts, functions or indexes that a setup could make";

/// The control plane of one target. Dropping this handle ends the control plane at once, even if the server
/// hangs. Waiting orders then fail with [`ServerError::Stopped`].
///
/// Orders never block. The answer to an order arrives within some seconds. A removal of keys may take longer. While the
/// server cannot be reached, orders are refused with the cause. During the first attempt to connect, orders wait until
/// this attempt ends.
pub struct Control {
    orders: mpsc::UnboundedSender<ControlOrder>,
    /// The task, which ends when this set is dropped.
    _watch: JoinSet<()>,
    thread: Arc<ControlThread>,
    redacts: bool,
}

/// The thread that runs control planes. The thread ends when this value is dropped.
struct ControlThread {
    runtime: runtime::Handle,
    _stop: oneshot::Sender<Infallible>,
}

impl ControlThread {
    fn start() -> io::Result<Self> {
        let (_stop, stopped) = oneshot::channel();
        let thread = runtime::Builder::new_current_thread().enable_all().build()?;
        let runtime = thread.handle().clone();
        thread::Builder::new().name("control".to_owned()).spawn(move || {
            // The channel carries no message; the thread ends when the channel is closed.
            let _ = thread.block_on(stopped);
            // Dropping the runtime would wait for an examination of keys.
            thread.shutdown_background();
        })?;
        Ok(Self { runtime, _stop })
    }
}

impl Control {
    /// Starts a thread with a task that connects to `target`, polls the server at the interval `every`, and sends
    /// reports to `news`. When the connection is lost, the task reconnects with the pauses of a
    /// [`BackOff`](crate::endpoint::BackOff).
    ///
    /// # Errors
    /// Fails if the system cannot create a thread or an event queue.
    pub fn start(
        target: Target,
        clock: Clock,
        every: Duration,
        news: Sender<ControlMessage>,
    ) -> io::Result<Self> {
        Self::beside(None, target, clock, every, news)
    }

    /// Works like [`start`](Self::start). The new control plane shares the thread of the control plane `other`, if
    /// there is one.
    ///
    /// # Errors
    /// The errors are the same as for [`start`](Self::start).
    pub fn beside(
        other: Option<&Self>,
        target: Target,
        clock: Clock,
        every: Duration,
        news: Sender<ControlMessage>,
    ) -> io::Result<Self> {
        let (orders, taken) = mpsc::unbounded_channel();
        let thread = match other {
            Some(other) => Arc::clone(&other.thread),
            None => Arc::new(ControlThread::start()?),
        };
        let watch = ControlTask { target, clock, every, news, orders: taken };
        let mut _watch = JoinSet::new();
        _watch.spawn_on(watch.run(), &thread.runtime);
        Ok(Self { orders, _watch, thread, redacts: false })
    }

    /// Returns the same handle. If `redacts` is true, errors in answers do not contain texts of the server.
    #[must_use]
    pub fn redacting(mut self, redacts: bool) -> Self {
        self.redacts = redacts;
        self
    }

    /// Sends an order with the action `act`. `also` sets further properties of the order.
    fn order<T, F>(
        &self,
        act: impl FnOnce(OrderContext) -> F + Send + 'static,
        also: impl FnOnce(ControlOrder) -> ControlOrder,
    ) -> Answer<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ServerError>> + Send,
    {
        let (reply, answer) = Answer::new();
        // If the task has ended, the order and its reply channel are dropped, and the answer is Stopped.
        drop(self.orders.send(also(ControlOrder::new(reply, act))));
        answer.redacting(self.redacts)
    }

    /// Polls at once. The result of the poll is reported before this order is answered.
    pub fn poll(&self) -> Answer<()> {
        self.order(async |_| Ok(()), |order| order.with_step(OrderStep::AfterPoll))
    }

    /// Looks up the target's name again, and answers when the address is known. If the name leads to another server
    /// now, further orders go to this server. After a planned failover, a connection to the former primary stays open
    /// for some seconds.
    pub fn follow_name(&self) -> Answer<()> {
        self.order(async |_| Ok(()), |order| order.with_step(OrderStep::FollowName))
    }

    /// Surveys the server: its keys, its clients and other runs of redyno. Writes nothing.
    pub fn survey(&self) -> Answer<Survey> {
        self.survey_for(BTreeSet::new(), false, None)
    }

    /// Surveys the server, and checks whether the server has the `commands`. If `notifies` is true, also checks which
    /// keyspace notifications the server publishes. `loaded` has the names of keys that an earlier load wrote. If all
    /// of these keys exist, the survey counts no keys as foreign.
    pub fn survey_for(
        &self,
        commands: BTreeSet<String>,
        notifies: bool,
        loaded: Option<(KeySpan, KeyNames)>,
    ) -> Answer<Survey> {
        let act = async move |OrderContext { wire, target, .. }: OrderContext| {
            let mut survey = match &wire {
                CommandSender::Redis(wire) => survey::survey(wire, &target, (commands, notifies)).await?,
                CommandSender::Memcached(wire) => memcached::survey(wire, &target).await?,
                CommandSender::None => Survey::unknown(target.address),
            };
            if let Some((span, names)) = loaded.filter(|_| !survey.loading) {
                let there = count_keys(&wire, &span, &names).await?;
                if there.is_some_and(|counted| counted.there > 0 && counted.there == counted.looked_for) {
                    survey.foreign = Foreign::Exactly(0);
                }
            }
            Ok(survey)
        };
        self.order(act, identity)
    }

    /// Writes the changes in `ledger` to the run's marker (a key on the server). The session must undo these changes.
    /// From now on, each poll checks the marker, and writes a lost marker again. The caller must wait for the answer
    /// before the load writes its first key. memcached gets no marker.
    pub fn mark(&self, ledger: &Ledger) -> Answer<()> {
        let noted = ledger.clone();
        let act = async move |means: OrderContext| match means.wire {
            CommandSender::Redis(wire) => registry::update_marker(&wire, &noted).await,
            CommandSender::Memcached(_) | CommandSender::None => Ok(()),
        };
        self.order(act, |order| order.noting(ledger))
    }

    /// Finds the markers of sessions that kept their keys, or were killed before they could clean up. While a
    /// load of redyno is connected, returns no markers. While another session is connected, leaves out the
    /// markers of sessions that changed the server. Writes nothing.
    pub fn find_leftovers(&self) -> Answer<Vec<Marker>> {
        let act = async |OrderContext { wire, target, .. }: OrderContext| match wire {
            CommandSender::Redis(wire) => survey::leftovers(&wire, &target).await,
            CommandSender::Memcached(_) | CommandSender::None => Ok(Vec::new()),
        };
        self.order(act, identity)
    }

    /// Finds the markers in all other databases if their changes concern the whole server. Parameters that a session
    /// has set, and objects that a setup has created, concern the whole server. For HTTP, finds the Elasticsearch
    /// indices with the names of runs. Writes nothing.
    pub fn find_elsewhere(&self) -> Answer<Vec<Marker>> {
        let act = async |OrderContext { wire, target, .. }: OrderContext| match wire {
            CommandSender::Redis(wire) => registry::elsewhere(&wire, &target).await,
            CommandSender::Memcached(_) => Ok(Vec::new()),
            CommandSender::None => left_by_http(&target).await,
        };
        self.order(act, identity)
    }

    /// Starts to remove the keys of `runs` from the target's database. The load of these runs must be off.
    pub fn clean(&self, runs: Vec<Marker>) -> Cleaning {
        let shared = Arc::new(clean::CleaningState::default());
        let seen = Arc::clone(&shared);
        let act = async move |means: OrderContext| match means.wire {
            CommandSender::Redis(wire) => clean::clean(StoredKeys::of(&wire).await?, runs, &seen).await,
            CommandSender::Memcached(wire) => clean::clean(Items(&wire), runs, &seen).await,
            CommandSender::None => Err(ServerError::Missing(means.target.dialect.words().server, KEYS)),
        };
        Cleaning { shared, answer: self.order(act, identity) }
    }

    /// Removes the key names of `runs` from each ledger and from its marker on the server. Call this after the keys of
    /// the runs are removed. On a cluster node, this order also deletes markers that have moved to this node from other
    /// nodes. The answer is the number of markers on the node.
    pub fn forget_key_names(&self, runs: Vec<Ledger>) -> Answer<u64> {
        let act = async move |means: OrderContext| match means.wire {
            CommandSender::Redis(wire) => registry::remove_key_names(&wire, &runs).await,
            CommandSender::Memcached(_) | CommandSender::None => {
                runs.iter().for_each(Ledger::drop_keys);
                Ok(0)
            }
        };
        self.order(act, identity)
    }

    /// Requests the slots of a cluster node. The answer is empty without a cluster.
    pub fn slots(&self) -> Answer<Slots> {
        let act = async |means: OrderContext| {
            let slots = Slots::of(&means.redis(CLUSTERS)?).await?;
            Ok(slots.map(Arc::unwrap_or_clone).unwrap_or_default())
        };
        self.order(act, identity)
    }

    /// Counts how many keys of `span` exist. If `span` has more than 100 000 keys, checks only an evenly distributed
    /// sample.
    pub fn count(&self, span: KeySpan, names: KeyNames) -> Answer<CountResult> {
        let act = async move |means: OrderContext| {
            let missing = || ServerError::Missing(means.target.dialect.words().server, KEYS);
            count_keys(&means.wire, &span, &names).await?.ok_or_else(missing)
        };
        self.order(act, identity)
    }

    /// Starts to examine the keys of the target's database: the keys by prefix, the largest keys and the hottest keys.
    pub fn examine_keys(&self, way: KeyMethod) -> KeyExamination {
        let shared = Arc::new(keys::ExaminationState::new(way));
        let (seen, redacts) = (Arc::clone(&shared), self.redacts);
        let act = async move |means: OrderContext| match means.redis(KEYS)? {
            _ if redacts => Err(ServerError::Unfit("--redact leaves out the names of keys".to_owned())),
            wire => keys::examine(wire, means.target, way, seen).await,
        };
        KeyExamination { shared, answer: self.order(act, identity) }
    }

    /// Sets one of the [`PARAMETERS`](super::PARAMETERS). Before the change, the present value is recorded in `ledger`
    /// and in its marker. redyno can therefore restore the value. Polls then check the marker as after
    /// [`mark`](Self::mark).
    pub fn set_config(
        &self,
        parameter: &'static Parameter,
        value: String,
        ledger: &Ledger,
    ) -> Answer<TuneResult> {
        let turn = TuneStep { parameter, value, ledger: ledger.clone() };
        let act = async move |means: OrderContext| {
            tune::set_parameter(&means.redis(CONFIG)?, &means.target, &turn).await
        };
        self.order(act, |order| order.noting(ledger))
    }

    /// Restores a parameter, and removes its entry from `ledger` and from the marker. If another client has
    /// changed the parameter in the meantime, only the entry is removed. A marker without entries is deleted.
    pub fn restore_config(&self, tuned: TunedParameter, ledger: &Ledger) -> Answer<Restored> {
        let ledger = ledger.clone();
        let act =
            async move |means: OrderContext| tune::restore(&means.redis(CONFIG)?, &tuned, &ledger).await;
        self.order(act, identity)
    }

    /// Runs the commands of a setup in order. Before a command runs, the object that it will make is recorded in
    /// `ledger` and in the marker. Polls then check the marker as after [`mark`](Self::mark). If `in_cluster` is true,
    /// the other primaries of the cluster run the commands as well. A refusal is then ignored if the key of the command
    /// is on another node.
    pub fn set_up(&self, commands: Vec<SetupCommand>, ledger: &Ledger, in_cluster: bool) -> Answer<SetUp> {
        let noted = ledger.clone();
        let act = async move |means: OrderContext| {
            let maker = (&means.maker(SETUPS)?, &means.target);
            let outcome = set_up::set_up(maker, &commands, &noted, in_cluster).await;
            (means.asked)(outcome.answered.clone());
            Ok(outcome)
        };
        self.order(act, |order| order.noting(ledger))
    }

    /// Removes an object of a setup from the server, from `ledger` and from the marker. The answer is whether the
    /// object still existed.
    pub fn undo(&self, made: SetupObject, ledger: &Ledger) -> Answer<bool> {
        let ledger = ledger.clone();
        let act = async move |means: OrderContext| set_up::undo(&means.maker(SETUPS)?, &made, &ledger).await;
        self.order(act, identity)
    }
}

/// Returns how many keys of `span` exist. Returns `None` for a server without keys.
async fn count_keys(
    wire: &CommandSender,
    span: &KeySpan,
    names: &KeyNames,
) -> Result<Option<CountResult>, ServerError> {
    match wire {
        CommandSender::Redis(wire) => count::count(StoredKeys::of(wire).await?, span, names).await.map(Some),
        CommandSender::Memcached(wire) => count::count(Items(wire), span, names).await.map(Some),
        CommandSender::None => Ok(None),
    }
}
