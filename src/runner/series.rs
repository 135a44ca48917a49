//! Carries out `redyno series`: a session for each cell, one after the other, and a table of all cells.

use std::{
    collections::BTreeSet,
    io::Write as _,
    path::PathBuf,
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use anyhow::Context as _;

use super::{
    Failure, Listener, Plan, SessionPlan,
    listener::record,
    running::{RunningSession, end_signals},
};
use crate::{
    clock::Clock,
    endpoint::Target,
    experiment::series::{CellOutcome, CellSums, Series, SeriesCell, SeriesTable},
    print::{
        NoticeFilter, NoticePrinter,
        lines::session_line,
        series::SeriesLines,
        words::{StreamText, stdout_result},
    },
    server::Control,
    session::{Delivery, Order, Record},
    signals::Signal,
    untrusted,
};

/// The timeout for a server to report its commands.
const ASK_LIMIT: Duration = Duration::from_secs(5);

/// A cell (a run of the series): its index in the series, and its session or the reason why this machine cannot run the
/// cell.
pub type PlannedCell = (usize, Result<SessionPlan, String>);

/// A series to run.
pub struct SeriesRun {
    /// The series.
    pub series: Series,
    /// The cells (runs of the series) that apply to this kind of target.
    pub cells: Vec<PlannedCell>,
    /// The target.
    pub target: Target,
    /// The form of the output.
    pub lines: SeriesLines,
    /// The directory of the recordings.
    pub record: Option<PathBuf>,
}

impl Plan for SeriesRun {
    fn run(self: Box<Self>) -> Result<(), Failure> {
        let Self { series, cells: planned, target, lines, record } = *self;
        if let Some(directory) = &record {
            let made = std::fs::create_dir_all(directory);
            made.with_context(|| format!("cannot make the directory {}", directory.display()))?;
        }
        let cells: Vec<_> = planned.iter().map(|(place, _)| &series.cells[*place]).collect();
        if let Some(obstacle) = lacks_all(&cells, &target) {
            return Err(anyhow::anyhow!(obstacle).into());
        }
        let mut running = RunningSeries {
            table: SeriesTable::new(&series, &cells, lines.is_published),
            stop: end_signals()?,
            count: cells.len(),
            server: None,
            lines,
            series: &series,
        };
        let ended = running.all(planned);
        if let Err(failure @ Failure::Usage(_)) = ended {
            return Err(failure);
        }
        StreamText::stdout().make_room_for_last();
        let RunningSeries { table, server, lines, .. } = running;
        if !lines.is_json {
            print(&(lines.head(&series, server.as_deref()) + &lines.table(&table, &series)))?;
        }
        ended?;
        match table.failed() {
            0 => Ok(()),
            failed => Err(anyhow::anyhow!("{failed} of {} cells failed", cells.len()).into()),
        }
    }
}

/// Returns the error for a server without the module commands that the cells need. Returns `None` if at least one cell
/// needs no module commands. Also returns `None` if the server does not answer. The first cell will report this.
fn lacks_all(cells: &[&SeriesCell], target: &Target) -> Option<String> {
    let modules: Vec<_> = cells.iter().map(|cell| cell.workload.commands_of_modules()).collect();
    if !target.dialect.lists_commands() || modules.iter().any(BTreeSet::is_empty) {
        return None;
    }
    let commands: BTreeSet<_> = modules.into_iter().flatten().collect();
    let control = Control::start(target.clone(), Clock::start(), ASK_LIMIT, channel().0).ok()?;
    let survey = control.survey_for(commands.clone(), false, None).wait(ASK_LIMIT)?.ok()?;
    (survey.missing.len() == commands.len())
        .then(|| survey.obstacle().map(|obstacle| obstacle.to_string()))?
}

/// The cells, and the results so far.
struct RunningSeries<'a> {
    series: &'a Series,
    lines: SeriesLines,
    table: SeriesTable<'a>,
    /// The signals that end the series. The session of each cell receives the same signals.
    stop: Receiver<Signal>,
    count: usize,
    /// The line about the server. `None` until the server is known.
    server: Option<String>,
}

impl RunningSeries<'_> {
    /// Runs all cells, one after the other.
    fn all(&mut self, planned: Vec<PlannedCell>) -> Result<(), Failure> {
        for (n, (place, plan)) in planned.into_iter().enumerate() {
            let cell = &self.series.cells[place];
            let title = untrusted::text(&cell.title());
            // If stderr is gone, the progress has no reader.
            let _ = writeln!(StreamText::stderr(), "{} of {}: {title}", n + 1, self.count);
            if let Some(pause_s) = cell.pause_s.filter(|_| n > 0) {
                let _ = writeln!(StreamText::stderr(), "a pause of {pause_s} s");
                if self.stop.recv_timeout(Duration::from_secs(pause_s.into())).is_ok() {
                    return Err(Failure::Interrupted);
                }
            }
            let one = plan.map_or_else(|limit| Ok(Err(limit)), |plan| self.one(plan, title));
            let outcome = match one {
                // If the first cell is refused, all cells would be refused.
                Err(Failure::Usage(error)) if n == 0 => return Err(error.into()),
                Err(Failure::Interrupted) => {
                    self.table.put(&Err("interrupted".to_owned()));
                    return Err(Failure::Interrupted);
                }
                Err(failure) => Err(failure.to_string()),
                Ok(outcome) => outcome,
            };
            if self.lines.is_json {
                print(&self.lines.json(self.series, cell, &outcome))?;
            }
            self.table.put(&outcome);
            if self.stop.try_recv().is_ok() {
                return Err(Failure::Interrupted);
            }
        }
        Ok(())
    }

    /// Runs one cell. Returns the measurements of the cell, or the reason for missing measurements.
    fn one(&mut self, plan: SessionPlan, title: String) -> Result<CellOutcome, Failure> {
        let session = RunningSession::begin(plan)?;
        // A signal may have arrived before the session listened for signals.
        let is_stopped = self.stop.try_recv().is_ok();
        if is_stopped {
            session.peer.order(Order::End);
        }
        let mut gathering =
            CellListener { gathered: CellSums::new(&self.series.layout), server: &mut self.server };
        session.run(&mut [&mut gathering, &mut NoticePrinter::of(vec![title], NoticeFilter::All)])?;
        if is_stopped {
            return Err(Failure::Interrupted);
        }
        Ok(gathering.gathered.measured().ok_or_else(|| "nothing was measured".to_owned()))
    }
}

/// A listener that collects the measurements of a cell.
struct CellListener<'a> {
    gathered: CellSums,
    server: &'a mut Option<String>,
}

impl Listener for CellListener<'_> {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if let Some(record) = record(delivery) {
            if let Record::Session(session) = record {
                self.server.get_or_insert_with(|| session_line(session));
            }
            self.gathered.push(record);
        }
        Vec::new()
    }
}

fn print(text: &str) -> Result<(), Failure> {
    Ok(stdout_result(StreamText::stdout().write_all(text.as_bytes()))?)
}
