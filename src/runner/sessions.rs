//! The sessions of a plan from their beginning to what became of them, whoever listens to them meanwhile.

use std::sync::mpsc::Receiver;

use anyhow::Context as _;

use super::{
    Failure, SessionPlan, UsageError,
    destination::{Destination, destination},
    listener::{Listener, listen},
    metrics::Serving,
};
use crate::{
    app::Program,
    endpoint::UNVERIFIED,
    knobs::{Knobs, MAX_CLIENTS},
    load::most_clients,
    print::Said,
    server::value_words,
    session::{
        Kept, Notice, Order, Writer,
        running::{Commission, EndedBy, Keys, Peer, Session, StartError},
    },
    signals::{Signal, listen as signals},
    units, untrusted,
};

/// What is said last where a session could not undo everything.
const STAYS_BEHIND: &str = "the server is not as it was before, as said above";

/// The signals that end a program without a screen, from now on.
///
/// # Errors
/// When the system does not let them be taken.
pub fn ends() -> Result<Receiver<Signal>, Failure> {
    Ok(signals(&Signal::ENDS).context("cannot take signals")?)
}

/// A session whose outputs are open and whose target was reached.
struct Arrived {
    plan: SessionPlan,
    destination: Destination,
    files: Vec<String>,
    metrics: Option<Serving>,
}

/// A session that runs.
pub(super) struct Running {
    /// Who listens to it.
    pub(super) peer: Peer,
    /// The knobs that it began with.
    pub(super) knobs: Knobs,
    /// What it was begun by.
    pub(super) program: Program,
    /// What it is recorded to.
    pub(super) files: Vec<String>,
    /// What is kept of it for exports from a screen.
    pub(super) kept: Option<Kept>,
    /// What its target is called, where it is one of several.
    name: Option<String>,
    session: Session,
    destination: Destination,
    /// Its figures as they are served, to its end.
    metrics: Option<Serving>,
}

/// Sessions that run beside each other.
pub(super) struct Sessions(pub(super) Vec<Running>);

impl Sessions {
    /// Starts those of `plans`. None is asked for anything before the targets of all are reached.
    ///
    /// # Errors
    /// When outputs cannot be opened, a server cannot be reached, or a load may not be. What had begun is ended.
    pub(super) fn begin(plans: Vec<SessionPlan>) -> Result<Self, Failure> {
        let names: Vec<_> = plans.iter().map(|plan| plan.name.clone()).collect();
        let named = |n: usize, failure: Failure| match &names[n] {
            Some(name) => failure.of_target(name),
            None => failure,
        };
        // Each session takes those that end it, whatever a screen is doing.
        let ends = plans.iter().map(|_| ends()).collect::<Result<Vec<_>, _>>()?;
        let arrived = plans.into_iter().enumerate();
        let arrived = arrived.map(|(n, plan)| Arrived::at(plan).map_err(|failure| named(n, failure)));
        let arrived = arrived.collect::<Result<Vec<_>, _>>()?;
        let mut begun = Self(Vec::new());
        for (n, (arrived, ends)) in arrived.into_iter().zip(ends).enumerate() {
            match arrived.begin(ends) {
                Ok(running) => begun.0.push(running),
                Err(failure) => return begun.give_up().and(Err(named(n, failure))),
            }
        }
        Ok(begun)
    }

    /// Ends those that have begun for nothing, and tells what they undo.
    fn give_up(self) -> Result<(), Failure> {
        let names: Vec<_> = self.0.iter().filter_map(|running| running.name.clone()).collect();
        self.0.iter().for_each(|running| running.peer.order(Order::End));
        self.listened(&mut [&mut Said::of(names).of_what_is_undone()])
    }

    /// Hands what they deliver to `listeners` until they are over, and waits for their end.
    ///
    /// # Errors
    /// When a listener fails, when a signal ended a session or its server refused the load, when one was not recorded to its
    /// end, when something of it stays behind on the server, and then when what came of it is not what was asked for.
    pub(super) fn run(self, listeners: &mut [&mut dyn Listener]) -> Result<(), Failure> {
        self.listened(listeners)?;
        listeners.iter_mut().try_for_each(|listener| listener.verdict())
    }

    fn listened(self, listeners: &mut [&mut dyn Listener]) -> Result<(), Failure> {
        let peers: Vec<_> = self.0.iter().map(|running| &running.peer).collect();
        listen(&peers, listeners);
        let mut said = Ok(());
        for listener in listeners {
            said = said.and(listener.finish());
        }
        self.end(said)
    }

    /// Waits for their end; `shown` is what became of whoever listened.
    ///
    /// # Errors
    /// As [`run`](Self::run), but for what came of it.
    pub(super) fn end(self, shown: Result<(), Failure>) -> Result<(), Failure> {
        // All are ended, whatever became of the first.
        self.0.into_iter().fold(shown, |shown, running| running.end(shown))
    }
}

impl Arrived {
    fn at(mut plan: SessionPlan) -> Result<Self, Failure> {
        // Before anything else: what cannot be created is told at once.
        let named = plan.outputs.record.iter().flatten().next();
        let mut recording =
            named.map(|file| Writer::create(file)).transpose().map_err(anyhow::Error::from)?;
        let exports = plan.outputs.exports.iter().map(super::Export::create);
        plan.commission.exports = exports.collect::<Result<_, _>>()?;
        let metrics = plan.outputs.metrics.as_ref().map(Serving::start).transpose()?;
        let destination = destination(&plan)?;
        if plan.outputs.record.is_some() && recording.is_none() {
            let target = destination.target.address.to_string();
            let fresh = Writer::fresh(&plan.commission.recordings_in, &target);
            recording = Some(fresh.map_err(anyhow::Error::from)?);
        }
        let mut files: Vec<_> = recording.iter().map(|writer| untrusted::path(writer.path())).collect();
        if let Some(every) = plan.outputs.rotate {
            recording = recording.map(|writer| writer.rotated(every));
            let each = units::latency(every.as_nanos() as u64);
            files.iter_mut().for_each(|file| *file += &format!(", and a new one for each {each}"));
        }
        plan.commission.recording = recording;
        Ok(Self { plan, destination, files, metrics })
    }

    fn begin(self, ends: Receiver<Signal>) -> Result<Running, Failure> {
        let Self { mut plan, destination, files, metrics } = self;
        plan.settle(&destination)?;
        let SessionPlan { commission, words, name, .. } = plan;
        let (knobs, is_attended) = (commission.knobs.clone(), commission.is_attended);
        let recordings = commission.recordings_in.clone();
        let count = 1 + usize::from(metrics.is_some()) + usize::from(is_attended);
        let (session, mut peers) = Session::start(commission, ends, count).map_err(refused)?;
        let kept = peers.pop_if(|_| is_attended).map(|peer| Kept::start(&recordings, peer));
        if let Some((metrics, peer)) = metrics.as_ref().zip(peers.pop_if(|_| metrics.is_some())) {
            metrics.count(peer)?;
        }
        let program = words.program(destination.built_in.is_some());
        Ok(Running {
            peer: peers.remove(0),
            knobs,
            program,
            files,
            kept,
            name,
            session,
            destination,
            metrics,
        })
    }
}

impl SessionPlan {
    /// Settles what depends on where the session goes, and looks at it.
    fn settle(&mut self, destination: &Destination) -> Result<(), UsageError> {
        let commission = &mut self.commission;
        commission.plan.target = destination.target.clone();
        if destination.built_in.is_some() {
            if matches!(commission.keys, Keys::Runs { kept: true }) {
                let text = "--keep: the built-in server goes at the end, and its keys with it; name a server";
                return Err(UsageError::of(text));
            }
            commission.keys = Keys::OwnServers;
            commission.knobs.load |= self.loads_own;
            // Both ends of a connection to it are files of this process.
            commission.most_clients = most_clients(commission.plan.threads, 2);
        }
        self.check_clients()?;
        let commission = &mut self.commission;
        let needs_consent = commission.keys != Keys::OwnServers && !commission.is_allowed;
        let mut changes = self.settings.iter().filter_map(|setting| setting.config.first());
        if let Some((parameter, to)) = changes.next().filter(|_| needs_consent) {
            return Err(UsageError::asks(format!(
                "{} of {} would be set to {} and back for everybody who uses it.",
                parameter.name,
                commission.plan.target.address,
                value_words(to)
            )));
        }
        commission.settings = self.settings.iter().map(|setting| setting.knobs.clone()).collect();
        commission.unreachable = destination.unreachable.as_ref().map(ToString::to_string);
        commission.notices = notices(commission);
        Ok(())
    }
}

/// What a person must know from the start.
fn notices(commission: &Commission) -> Vec<Notice> {
    let is_unverified = commission.plan.target.tls.as_ref().is_some_and(|tls| !tls.is_verified());
    let unverified = is_unverified.then(|| Notice::Warning(UNVERIFIED.to_owned()));
    let most = commission.most_clients;
    // Whoever tries it with the built-in server is told when it matters.
    let matters = commission.is_attended && commission.keys != Keys::OwnServers && most < MAX_CLIENTS;
    let limit = matters.then(|| {
        Notice::Info(format!("the limit of open files (ulimit -Hn) allows {most} clients at the most"))
    });
    unverified.into_iter().chain(limit).collect()
}

impl Running {
    fn end(self, shown: Result<(), Failure>) -> Result<(), Failure> {
        let ended = self.session.end();
        drop((self.destination, self.metrics));
        let end = match ended.by {
            // A terminal that goes is an error of the screen as well: the signal says more.
            EndedBy::Signal => return Err(Failure::Interrupted),
            EndedBy::Refusal(cause) => Err(Failure::Failed(anyhow::anyhow!(cause))),
            EndedBy::Itself => match ended.recorded {
                Err(error) => Err(Failure::Failed(error.into())),
                Ok(_) if ended.is_undone => Ok(()),
                Ok(_) => Err(Failure::Failed(anyhow::anyhow!(STAYS_BEHIND))),
            },
        };
        let named = |failure: Failure| match &self.name {
            Some(name) => failure.of_target(name),
            None => failure,
        };
        shown.and(end.map_err(named))
    }
}

fn refused(error: StartError) -> Failure {
    match error {
        StartError::Asks(question) => UsageError::asks(question).into(),
        StartError::Interrupted => Failure::Interrupted,
        error => Failure::Failed(error.into()),
    }
}
