//! Runs a comparison: two sessions, each with a peer of its own, that are handed to one experiment.

use std::{
    io::{self, Write},
    sync::mpsc::RecvTimeoutError,
    time::Duration,
};

use anyhow::Context as _;

use super::{VersusArgs, args::target, lines::Lines};
use crate::{
    cli::{
        Failure, UsageError,
        headless::Form,
        outlet::{CLEAR, Outlet},
        session::{self, Held},
        words::{Words, plain},
    },
    endpoint::reach,
    experiment::{Side, Versus},
    load::{Knobs, most_clients},
    print::Said,
    session::{
        Delivery, Notice, Order, Record,
        running::{Commission, check_clients},
    },
    workload::{KeyNames, RunId},
};

/// How long one session is waited for while the other may have told something.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long a target may take to answer before it is given up.
const REACH_LIMIT: Duration = Duration::from_secs(5);
/// Each session has the connections of all clients.
const TARGETS: u64 = 2;

/// Reads every argument that can be wrong.
///
/// # Errors
/// Names the first one.
pub fn check(args: &VersusArgs) -> Result<(), Failure> {
    let lines = args.lines()?;
    let knobs = lines[0].knobs(true)?;
    let names = args.load.users_names().unwrap_or_else(|| KeyNames::of_run(RunId::random()));
    for side in Side::ALL {
        let target = target(side, &lines[side as usize])?;
        // Before anything is asked of either.
        let spoken = knobs.workload.check_dialect(target.dialect, &names);
        spoken.map_err(|error| UsageError::Line(format!("{side:?}, {}: {error}", target.address)))?;
    }
    let most = most_clients(args.load.worker_threads(), TARGETS);
    Ok(check_clients(&knobs, most).map_err(UsageError::Line)?)
}

/// Runs one with arguments that have passed [`check`].
///
/// # Errors
/// When one of both sessions cannot be, when B is worse, and when it is not clear.
pub fn run(args: &VersusArgs) -> Result<(), Failure> {
    let lines = args.lines()?;
    let knobs = lines[0].knobs(true)?;
    let most = most_clients(args.load.worker_threads(), TARGETS);
    let mut names = [String::new(), String::new()];
    // Neither is asked for anything before both are there.
    for side in Side::ALL {
        let target = target(side, &lines[side as usize])?;
        names[side as usize] = format!("{side:?}, {}", target.address);
        let reached = reach(&target, REACH_LIMIT).map_err(anyhow::Error::from);
        reached.map_err(|error| named(&names[side as usize], Failure::Failed(error)))?;
    }
    let mut held = Vec::new();
    for side in Side::ALL {
        let line = &lines[side as usize];
        let name = &names[side as usize];
        let settle = |commission: &mut Commission| {
            commission.most_clients = most;
            Ok(())
        };
        match Held::begin(line, false, settle) {
            Ok(begun) => held.push(Some(begun)),
            Err(failure) => {
                let failure = named(name, failure);
                return held
                    .into_iter()
                    .flatten()
                    .try_for_each(|begun| give_up(begun, &names[0]))
                    .and(Err(failure));
            }
        }
    }
    let form = if args.json { Form::Json } else { Form::Lines };
    let mut comparison = Comparison {
        versus: Versus::new(&knobs, names.clone(), args.plan()),
        lines: Lines::new(form),
        knobs,
        said: names.each_ref().map(|name| Said::of(name)),
        progress: Progress::of(form),
        shown: String::new(),
        written: Ok(()),
    };
    comparison.run(&held.iter().flatten().collect::<Vec<_>>());
    let mut told = comparison.end();
    // Both are ended, whatever became of the first.
    for (begun, name) in held.into_iter().flatten().zip(&names) {
        let ended = begun.end(Ok(()));
        told = told.and(ended.map_err(|failure| named(name, failure)));
    }
    told?;
    session::outcome(comparison.versus.ending())
}

/// The failure of one of both targets, with its name.
fn named(name: &str, failure: Failure) -> Failure {
    match failure {
        Failure::Failed(error) => Failure::Failed(error.context(name.to_owned())),
        Failure::Usage(UsageError::NeedsYes(question)) => {
            UsageError::NeedsYes(format!("{name}: {question}")).into()
        }
        Failure::Usage(error) => UsageError::Line(format!("{name}: {error}")).into(),
        other => other,
    }
}

/// Ends a session that has begun for nothing, and tells what it undoes.
fn give_up(held: Held, name: &str) -> Result<(), Failure> {
    held.peer.order(Order::End);
    let mut said = Said::of(name);
    for delivery in held.peer.rest() {
        if let Delivery::Notice(notice) = delivery {
            said.tell_undone(&notice);
        }
    }
    held.end(Ok(()))
}

/// How it is told on stderr how far it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// In a line that the next takes away, before a person.
    Drawn,
    /// In a line each.
    Lines,
    /// Not at all: every pair is told on stdout, or it is over.
    None,
}

impl Progress {
    fn of(form: Form) -> Self {
        match form {
            Form::Json => Self::None,
            Form::Lines if Words::stderr().is_terminal() => Self::Drawn,
            Form::Lines => Self::Lines,
        }
    }
}

/// A comparison, and who is told of it.
struct Comparison {
    versus: Versus,
    lines: Lines,
    knobs: Knobs,
    said: [Said; 2],
    progress: Progress,
    /// How far it was when that was told last.
    shown: String,
    written: io::Result<()>,
}

impl Comparison {
    /// Hands both sessions to the experiment until they are over, which end with it.
    fn run(&mut self, held: &[&Held]) {
        let mut is_over = [false; 2];
        let mut was_told_to_end = false;
        while is_over.contains(&false) {
            for side in Side::ALL.into_iter().filter(|side| !is_over[*side as usize]).collect::<Vec<_>>() {
                let peer = &held[side as usize].peer;
                let first = match peer.next_within(LOOK_EVERY) {
                    Ok(delivery) => delivery,
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => {
                        is_over[side as usize] = true;
                        continue;
                    }
                };
                for delivery in std::iter::once(first).chain(peer.poll()) {
                    for (to, order) in self.take(side, &delivery) {
                        held[to as usize].peer.order(order);
                    }
                }
            }
            if !was_told_to_end && (self.versus.ending().is_some() || self.written.is_err()) {
                was_told_to_end = true;
                self.show("");
                self.progress = Progress::None;
                held.iter().for_each(|held| held.peer.order(Order::End));
            }
        }
    }

    /// What one of both delivered; what both are to do.
    fn take(&mut self, side: Side, delivery: &Delivery) -> Vec<(Side, Order)> {
        if let Delivery::Record(record) = delivery
            && let Record::Session(session) = &**record
        {
            let head = self.lines.begun(side as usize, session, &self.knobs);
            self.tell(head);
        }
        let orders = self.versus.take(side, delivery);
        let pairs = self.lines.new_pairs(&self.versus);
        self.tell(pairs);
        if matches!(delivery, Delivery::Notice(_)) {
            self.show("");
        } else if !orders.is_empty() {
            let progress = self.versus.progress();
            self.show(&progress);
        }
        match delivery {
            // What ends the comparison is told at its end.
            Delivery::Notice(Notice::LoadStaysOff(_)) => {}
            Delivery::Notice(notice) => self.said[side as usize].tell(notice),
            Delivery::Record(_) | Delivery::Refused(..) | Delivery::Stretch(_) => {}
        }
        orders
    }

    /// Tells on stderr how far it is; nothing takes away what is drawn there.
    fn show(&mut self, progress: &str) {
        let mut out = Words::stderr();
        // If stderr is gone, so is who would read this.
        match self.progress {
            Progress::Drawn => drop(write!(out, "{CLEAR}{progress}").and_then(|()| out.flush())),
            Progress::Lines if !progress.is_empty() && progress != self.shown => {
                progress.clone_into(&mut self.shown);
                drop(writeln!(out, "redyno: {progress}").and_then(|()| out.flush()));
            }
            Progress::Lines | Progress::None => {}
        }
    }

    fn tell(&mut self, text: String) {
        if self.written.is_ok() && !text.is_empty() {
            self.show("");
            self.written = Outlet::stdout().offer(plain(text.into_bytes()), |_| Vec::new());
        }
    }

    /// The last words, when both sessions are over.
    fn end(&mut self) -> Result<(), Failure> {
        Outlet::stdout().make_room_for_last();
        let last = self.lines.verdict(&self.versus);
        self.tell(last);
        match std::mem::replace(&mut self.written, Ok(())) {
            // Whoever read our lines has had enough, as `head` does.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => Ok(written.context("cannot write to stdout")?),
        }
    }
}
