//! Runs a series: a session for each cell, one after the other.

use std::{
    collections::BTreeSet,
    io::{self, Write},
    sync::mpsc::channel,
    time::Duration,
};

use anyhow::Context as _;

use super::{
    args::{Asked, SeriesArgs},
    ends::Ends,
    lines, plan,
};
use crate::{
    cli::{
        Failure,
        args::CommandLine,
        lines::session_line,
        outlet::Outlet,
        session::Held,
        words::{Words, plain},
    },
    clock::Clock,
    experiment::series::{Gathered, Outcome, Table},
    foreign,
    print::Said,
    server::Control,
    session::{Delivery, Record},
};

/// How long a server may take to say which commands it has.
const ASK_LIMIT: Duration = Duration::from_secs(5);

/// Reads every argument that can be wrong.
///
/// # Errors
/// Names the first one.
pub fn check(args: &SeriesArgs) -> Result<(), Failure> {
    Ok(args.asked().map(drop)?)
}

/// Runs one with arguments that have passed [`check`].
///
/// # Errors
/// When its first session may not be, when a cell failed, and when a signal ended it.
pub fn run(args: &SeriesArgs) -> Result<(), Failure> {
    let asked = args.asked()?;
    if args.plan {
        let text = plan::text(args, &asked)?;
        return Ok(Words::stdout().write_all(text.as_bytes()).context("cannot write to stdout")?);
    }
    if let Some(directory) = &args.record {
        let made = std::fs::create_dir_all(directory);
        made.with_context(|| format!("cannot make the directory {}", directory.display()))?;
    }
    if let Some(obstacle) = lacks_all(&asked) {
        return Err(anyhow::anyhow!(obstacle).into());
    }
    let ends = Ends::listen().context("cannot take signals")?;
    let cells = asked.cells();
    let mut table = Table::new(&asked.series, &cells, args.published);
    let mut server = None;
    let ended = all(args, &asked, &ends, &mut table, &mut server);
    if let Err(failure @ Failure::Usage(_)) = ended {
        return Err(failure);
    }
    Outlet::stdout().make_room_for_last();
    if !args.json {
        tell(lines::head(args, &asked, server.as_deref()) + &lines::table(&table, args, &asked.series))?;
    }
    ended?;
    match table.failed() {
        0 => Ok(()),
        failed => Err(anyhow::anyhow!("{failed} of {} cells failed", cells.len()).into()),
    }
}

/// What is to be said of a server that has none of the commands of modules which every cell asks for. One that does not
/// answer is told by the first cell.
fn lacks_all(asked: &Asked) -> Option<String> {
    let modules: Vec<_> = asked.cells().iter().map(|cell| cell.workload.commands_of_modules()).collect();
    if !asked.target.dialect.is_resp() || modules.iter().any(BTreeSet::is_empty) {
        return None;
    }
    let commands: BTreeSet<_> = modules.into_iter().flatten().collect();
    let control = Control::start(asked.target.clone(), Clock::start(), ASK_LIMIT, channel().0).ok()?;
    let survey = control.survey_for(commands.clone()).wait(ASK_LIMIT)?.ok()?;
    (survey.missing.len() == commands.len())
        .then(|| survey.obstacle().map(|obstacle| obstacle.to_string()))?
}

/// Runs the cells of `table`, and tells each.
fn all(
    args: &SeriesArgs,
    asked: &Asked,
    ends: &Ends,
    table: &mut Table,
    server: &mut Option<String>,
) -> Result<(), Failure> {
    for (n, (place, line)) in asked.lines.iter().enumerate() {
        let cell = &asked.series.cells[*place];
        let title = foreign::text(&cell.title());
        // If stderr is gone, so is who would read this.
        let _ = writeln!(Words::stderr(), "{} of {}: {title}", n + 1, asked.lines.len());
        let outcome = match one(line, &title, ends, server) {
            // What the first may not, none may.
            Err(Failure::Usage(error)) if n == 0 => return Err(error.into()),
            Err(Failure::Interrupted) => {
                table.put(&Err("interrupted".to_owned()));
                return Err(Failure::Interrupted);
            }
            Err(failure) => Err(failure.to_string()),
            Ok(outcome) => outcome,
        };
        if args.json {
            tell(lines::json(args, &asked.series, cell, &outcome))?;
        }
        table.put(&outcome);
        if ends.came() {
            return Err(Failure::Interrupted);
        }
    }
    Ok(())
}

/// Runs a cell: what it measured, or why it did not.
fn one(
    line: &CommandLine,
    title: &str,
    ends: &Ends,
    server: &mut Option<String>,
) -> Result<Outcome, Failure> {
    let held = Held::begin_until(ends.of_next(), line, false, |_| Ok(()))?;
    let (mut gathered, mut said) = (Gathered::default(), Said::of(title));
    for delivery in held.peer.rest() {
        match delivery {
            Delivery::Record(record) => {
                if let Record::Session(session) = &*record {
                    server.get_or_insert_with(|| session_line(session));
                }
                gathered.push(&record);
            }
            Delivery::Notice(notice) => said.tell(&notice),
            Delivery::Refused(..) | Delivery::Stretch(_) => {}
        }
    }
    held.end(Ok(()))?;
    Ok(gathered.measured().ok_or_else(|| "nothing was measured".to_owned()))
}

fn tell(text: String) -> Result<(), Failure> {
    match Outlet::stdout().offer(plain(text.into_bytes()), |_| Vec::new()) {
        // Whoever read our lines has had enough, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written.context("cannot write to stdout")?),
    }
}
