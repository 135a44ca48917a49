//! `redyno clean` undoes the changes that a killed session left on a server. The command restores the server's
//! parameters, and removes the session's keys and the objects that its setups made.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal, Write},
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use anyhow::{anyhow, bail};
use clap::Args;

use super::{
    command::{Arguments, Invocation, PlanResult},
    config,
    nodes_args::OneNodeArgs,
    target_args::TargetArgs,
};
use crate::{
    clock::Clock,
    endpoint::{Target, cluster_of},
    print::words::{StreamText, ask},
    protocol::Dialect,
    runner::{Failure, OtherServers, UsageError},
    server::{
        CleaningProgress, CleaningResult, Control, InvalidField, Ledger, Marker, OWN_PERMISSIONS,
        ServerError, SetupObject, Survey, TunedParameter, clean_command, value_words,
    },
    session::{
        Numbering,
        running::{Holder, HolderReplies, Holders, delete, remove_keys, remove_markers, restore_parameter},
    },
    units::{count_with_noun, grouped},
    workload::{KeyNames, Settings, WorkloadChoice},
};

/// The largest number of sessions that are listed one by one.
const MOST_LISTED: usize = 50;
/// The time limit for finding the sessions that left changes behind. The search takes a connection and some twenty
/// commands.
const SURVEY_LIMIT: Duration = Duration::from_secs(30);
/// The time limit for connecting to a node of a cluster. The node's reply about the cluster has the same
/// limit.
const FIND_LIMIT: Duration = Duration::from_secs(5);
/// A poll interval that is so long that the control plane polls the server only once.
const NEVER: Duration = Duration::from_secs(24 * 3600);
/// The time between two lines of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

const AFTER: &str = "\
Examples:
  redyno clean -p 6379
  redyno clean @prod --yes";

/// For each node, by its number: the runs with a marker on this node. A marker is the record of a run's changes.
type RunsByNode = BTreeMap<u16, Vec<Ledger>>;

/// The arguments of `redyno clean`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct CleanArgs {
    /// Do not ask before redyno restores server parameters, or deletes objects that a workload created, such as
    /// indexes. Also do not ask if another redyno is connected to the server
    // This is the first field, because the target's heading applies to all fields after it.
    #[arg(long)]
    pub yes: bool,
    /// For an HTTP server: send the headers, such as Authorization, that this workload has in its table `http`
    #[arg(long, value_name = "FILE")]
    pub workload: Option<String>,
    /// The server.
    #[command(flatten)]
    pub target: TargetArgs,
    /// The option `--one-node`.
    #[command(flatten)]
    pub one_node: OneNodeArgs,
}

impl Arguments for CleanArgs {
    fn plan(mut self: Box<Self>, given: Invocation) -> PlanResult {
        config::resolve(&mut self.target, given, true)?;
        self.target.target()?;
        Ok(Box::new(move || run(&self, &mut StreamText::stdout())))
    }
}

/// Removes the changes of killed sessions, and prints to `out` what was found and removed. If the removal takes longer
/// than a second and stderr is a terminal, prints the progress to stderr.
///
/// # Errors
/// Fails if the server cannot be reached or refuses a command. Also fails if another session is running, if a change
/// could not be undone, or if `out` cannot be written.
pub fn run(args: &CleanArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let mut target = args.target.target()?;
    if let Some(file) = &args.workload {
        target.dialect =
            with_headers(target.dialect, file).map_err(|why| UsageError::of(format!("--workload: {why}")))?;
    }
    if target.dialect.has_keys() && !target.dialect.lists_keys() {
        return Err(anyhow!(
            "{} is a memcached, which cannot list its keys, so redyno cannot find the keys of a killed session: memcached \
             evicts them, or flush_all removes all keys",
            target.address
        )
        .into());
    }
    let mut holders = holders(&target, args.one_node)?;
    let surveys = wait_for_all(&target, &mut holders.ask(|holder| holder.control.survey()))?;
    if let Some(obstacle) = surveys.iter().find_map(|(_, survey)| survey.obstacle()) {
        return Err(anyhow!("{obstacle}").into());
    }
    let elsewhere = wait_for_all(&target, &mut holders.ask(|holder| holder.control.find_elsewhere()))?;
    let of_nodes: RunsByNode =
        surveys.iter().map(|(number, survey)| (*number, ledgers(&survey.runs))).collect();
    let primaries = surveys.len();
    let survey = surveys.into_iter().map(|(_, survey)| survey).reduce(Survey::with);
    let survey =
        survey.ok_or_else(|| anyhow!("no node of the cluster of {} is a primary", target.address))?;
    let all: Vec<_> = survey.runs.iter().chain(elsewhere.iter().flat_map(|(_, markers)| markers)).collect();
    refuse_in_use(&survey, &all, args.yes)?;
    let (listed, more) = all.split_at(all.len().min(MOST_LISTED));
    for marker in listed {
        writeln!(out, "{}: {} {}", place(&target, marker.db), marker.owner, left_behind_text(marker))?;
    }
    if !more.is_empty() {
        writeln!(out, "{}: and {}", target.address, count_with_noun(more.len() as u64, "more session"))?;
    }
    let may_undo = may_undo(&all, args.yes)?;
    let mut stays = Vec::new();
    undo_all(&holders, (&of_nodes, &elsewhere), may_undo, (out, &mut stays))?;
    if all.is_empty() {
        writeln!(
            out,
            "{}: nothing to undo, since no run of redyno is recorded there",
            place(&target, target.db)
        )?;
        return Ok(());
    }
    if !survey.runs.is_empty() {
        let cleaned = finish(&mut holders, &survey.runs)?;
        remove_markers(&mut holders, |holder| markers_on(holder, &of_nodes, &survey.runs))
            .map_err(anyhow::Error::from)?;
        let nodes = if primaries > 1 { format!(" ({primaries} primaries)") } else { String::new() };
        writeln!(out, "{} db {}{nodes}: {cleaned}", target.address, target.db)?;
    }
    if stays.is_empty() { Ok(()) } else { Err(anyhow!(stays.join("\n")).into()) }
}

/// Returns `dialect` with the header fields of a workload (`--workload`).
fn with_headers(dialect: Dialect, file: &str) -> Result<Dialect, String> {
    let choice = WorkloadChoice::find(file, &Settings::default()).map_err(|error| error.to_string())?;
    let fields = &choice.workload.http;
    if fields.headers.is_empty() {
        return Err("this workload has no [http] headers, so it has no effect here; leave it out".to_owned());
    }
    fields.check(dialect).map_err(|error| error.to_string())?;
    Ok(fields.of(dialect))
}

/// Calls [`undo`] for all runs on all servers: for the listed runs, and for runs in other databases.
fn undo_all(
    holders: &Holders,
    (of_nodes, elsewhere): (&RunsByNode, &[(u16, Vec<Marker>)]),
    may_undo: bool,
    (out, stays): (&mut dyn Write, &mut Vec<String>),
) -> Result<(), Failure> {
    for Holder { number, target, control, .. } in holders.iter() {
        for ledger in of_nodes.get(number).into_iter().flatten() {
            undo(ledger, control, target, may_undo, (out, stays))?;
        }
        let elsewhere = elsewhere.iter().filter(|(node, _)| node == number).flat_map(|(_, markers)| markers);
        for marker in elsewhere.cloned() {
            // `undo` changes the marker. This marker is in another database, so `undo` needs another
            // connection here.
            let there = Target { db: marker.db, ..target.clone() };
            let (ledger, control) = (Ledger::found(marker), start(&there)?);
            undo(&ledger, &control, &there, may_undo, (out, stays))?;
            if ledger.has_keys() {
                let (place, command) = (place(target, there.db), clean_command(target, there.db));
                writeln!(out, "{place}: the run's keys are kept; {command} removes them")?;
            }
        }
    }
    Ok(())
}

/// Returns the ledgers of all runs whose markers are on a server, or may have moved to this server in the meantime. A
/// ledger lists the changes of a run.
fn markers_on(holder: &Holder, of_nodes: &RunsByNode, runs: &[Marker]) -> Vec<Ledger> {
    let mut ledgers = of_nodes.get(&holder.number).cloned().unwrap_or_default();
    let is_other = |run: &&Marker| ledgers.iter().all(|ledger| ledger.marker().run != run.run);
    let others: Vec<_> = runs.iter().filter(is_other).collect();
    ledgers.extend(others.into_iter().map(|run| Ledger::new(run.run, run.owner.clone())));
    ledgers
}

fn ledgers(runs: &[Marker]) -> Vec<Ledger> {
    runs.iter().cloned().map(Ledger::found).collect()
}

/// Connects to the server, or to all primaries of its cluster.
fn holders(target: &Target, one_node: OneNodeArgs) -> anyhow::Result<Holders> {
    let nobody = Ledger::unmarked();
    let cluster = match one_node.company(OtherServers::Cluster) {
        OtherServers::TargetOnly => None,
        _ if !target.dialect.lists_keys() => None,
        _ => cluster_of(target, FIND_LIMIT)?,
    };
    match cluster {
        None => Ok(Holders::alone(0, target, Arc::new(start(target)?), nobody)),
        Some(cluster) => {
            let cluster = (Arc::new(cluster), Numbering::OF_CLUSTER);
            let holders = Holders::of_cluster(target, cluster, BTreeMap::new(), NEVER, nobody);
            holders.map_err(anyhow::Error::msg)
        }
    }
}

/// Returns the place of a marker: the server's address and, if the server has databases, the database.
fn place(target: &Target, db: u32) -> String {
    let db = if target.dialect.has_databases() { format!(" db {db}") } else { String::new() };
    format!("{}{db}", target.address)
}

/// Waits for the answers of all servers.
fn wait_for_all<T>(target: &Target, answers: &mut HolderReplies<T>) -> anyhow::Result<Vec<(u16, T)>> {
    let late = || Err(ServerError::Timeout { command: "the survey".to_owned(), after: SURVEY_LIMIT });
    answers
        .wait(SURVEY_LIMIT)
        .unwrap_or_else(late)
        .map_err(|error| anyhow!(error.with_permission(target, OWN_PERMISSIONS)))
}

/// If the user allows this, restores the parameters that a run set, and deletes the objects that its setups made. Adds
/// a line to `stays` for each change that is not undone. The line names the change, and the reason or the next step.
fn undo(
    ledger: &Ledger,
    control: &Control,
    target: &Target,
    may_undo: bool,
    (out, stays): (&mut dyn Write, &mut Vec<String>),
) -> Result<(), Failure> {
    let marker = ledger.marker();
    let place = place(target, marker.db);
    for InvalidField { of, field, note } in &marker.invalid {
        stays.push(format!(
            "{place}: redyno did not write this note about {of} and does not delete it: {note}; look at {of} yourself, \
             and then remove the field {field} of the key redyno:{}",
            marker.run
        ));
    }
    if !may_undo {
        let names = marker.tuned.iter().map(|tuned| tuned.name.clone());
        let names: Vec<_> = names.chain(marker.made.iter().map(SetupObject::to_string)).collect();
        stays.extend(
            (!names.is_empty()).then(|| format!("{place}: {} was kept, as you answered", names.join(", "))),
        );
        return Ok(());
    }
    let restored =
        marker.tuned.iter().map(|tuned| restore_parameter(tuned, ledger, control, &target.address));
    let deleted = marker.made.iter().rev().map(|made| delete(made, ledger, control, &target.address));
    for outcome in restored.chain(deleted) {
        match outcome {
            Ok(done) => writeln!(out, "{place}: {done}")?,
            Err(why) => stays.push(why),
        }
    }
    Ok(())
}

/// Returns a description of the changes that a run left: `left its keys behind`.
fn left_behind_text(marker: &Marker) -> String {
    let keys = if marker.kept { "kept its keys" } else { "left its keys behind" };
    let keys = format!("{keys} under {}", KeyNames::of_run(marker.run).prefix());
    let made = format!("made {}", names(&marker.made));
    let strange = names(&marker.invalid.iter().map(|strange| strange.of).collect::<Vec<_>>());
    let strange = format!("left an invalid note about {strange}");
    let parts = [
        (marker.has_keys(), keys.as_str()),
        (!marker.tuned.is_empty(), "set parameters of the server"),
        (!marker.made.is_empty(), &made),
        (!marker.invalid.is_empty(), &strange),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|(is_so, _)| *is_so).map(|(_, words)| words).collect();
    if parts.is_empty() { "left nothing to undo".to_owned() } else { parts.join(" and ") }
}

fn names<T: ToString>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns whether redyno may restore the parameters of `runs`, and delete the objects that setups made. Any client can
/// write a marker, so the user must confirm first. If the user refuses, the markers still list these parameters and
/// objects. The keys are removed in any case.
fn may_undo(runs: &[&Marker], yes: bool) -> Result<bool, Failure> {
    let line = |tuned: &TunedParameter| {
        let now = tuned.to.last().map_or("", |to| value_words(to));
        format!("{} would be restored from {now} to {}", tuned.name, value_words(&tuned.from))
    };
    let made = runs.iter().flat_map(|marker| &marker.made).map(|made| format!("{made} would be deleted"));
    let lines: Vec<_> = runs.iter().flat_map(|marker| &marker.tuned).map(line).chain(made).collect();
    if lines.is_empty() || yes {
        return Ok(true);
    }
    let what = lines.join("\n");
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let text = format!("{what}.\nGive --yes to do that and remove the keys.");
        return Err(UsageError::NeedsYes(text).into());
    }
    Ok(ask(&format!("{what}\nDo that?"))?)
}

/// Starts a control plane. The control plane polls the server once, and then only carries out orders. Nothing reads the
/// messages of this control plane.
fn start(target: &Target) -> io::Result<Control> {
    let (news, _) = mpsc::channel();
    Control::start(target.clone(), Clock::start(), NEVER, news)
}

fn refuse_in_use(survey: &Survey, runs: &[&Marker], yes: bool) -> anyhow::Result<()> {
    let (neighbours, address) = (&survey.neighbours, &survey.address);
    let tuned: Vec<_> =
        runs.iter().flat_map(|marker| &marker.tuned).map(|tuned| tuned.name.as_str()).collect();
    let made: Vec<_> = runs.iter().flat_map(|marker| &marker.made).collect();
    let set = (!tuned.is_empty()).then(|| format!("set {}", names(&tuned)));
    let made = (!made.is_empty()).then(|| format!("made {}", names(&made)));
    let deeds: Vec<_> = set.into_iter().chain(made).collect();
    match (neighbours.load, neighbours.sessions) {
        _ if yes || runs.is_empty() => Ok(()),
        (Some(n @ 1..), _) if !survey.runs.is_empty() => {
            let connections = count_with_noun(n, "connection");
            bail!(
                "another redyno puts load on {address} ({connections}), and this command would remove the keys of that \
                 load; stop that redyno first, or give --yes"
            )
        }
        (_, Some(1..)) if !deeds.is_empty() => {
            let deeds = deeds.join(" and ");
            bail!(
                "another redyno is connected to {address}, and may be the one that {deeds}; stop it first, or give --yes"
            )
        }
        _ => Ok(()),
    }
}

/// Removes the keys of runs.
fn finish(holders: &mut Holders, runs: &[Marker]) -> anyhow::Result<CleaningResult> {
    let mut err = StreamText::stderr();
    let (is_shown, mut last, mut removed) = (err.is_terminal, Instant::now(), 0);
    let mut look = |now: CleaningProgress| {
        removed = now.removed;
        if is_shown && last.elapsed() >= PROGRESS_EVERY {
            last = Instant::now();
            let keys = count_with_noun(now.total, "key");
            // Without a terminal, the line has no reader.
            let _ = writeln!(
                err,
                "looked at about {} of {keys}, removed {}",
                grouped(now.looked_at),
                grouped(now.removed)
            );
        }
        true
    };
    let ended = remove_keys(holders, runs, &mut look);
    match ended {
        Ok(cleaned) => Ok(cleaned),
        Err(cause) => {
            bail!(
                "{cause}; {} removed before that, and an unknown number of keys is left",
                count_with_noun(removed, "key")
            )
        }
    }
}
