//! Runs a session on the screen or with printed lines, from its plan to the summary.

use std::io::Write;

use anyhow::Context as _;

use super::{
    Abort, Failure, Gate, Listener, Plan, SessionPlan,
    experiment::Driver,
    listener::{Outcome, listen},
    machine::{self, Machine},
    printed::Printed,
    running::RunningSession,
};
use crate::{
    app::Tour,
    compare::LatencyBound,
    experiment::Experiment,
    print::{
        NoticeFilter, NoticePrinter, YcsbForm, printer::OutputForm, summary, words::StreamText, ycsb_summary,
    },
    session::{Order, Sink, Timeline},
    signals::{Signal, listen as signals},
    tui,
};

/// A planned session with its listeners.
pub struct SessionRun {
    /// The plan of the session.
    pub plan: SessionPlan,
    /// The output of the session.
    pub shows: Shows,
    /// The experiment to run in the session; `None` without an experiment.
    pub experiment: Option<Box<dyn Experiment>>,
    /// The latency limit of the experiment, if there is a limit.
    pub limit: Option<LatencyBound>,
    /// Whether a session without a screen ends with the experiment.
    pub ends_with_experiment: bool,
    /// The conditions that are checked at the end of the session.
    pub gate: Option<Gate>,
    /// The conditions that end the session.
    pub abort: Option<Abort>,
    /// Whether YCSB's text follows the summary.
    pub has_ycsb: bool,
    /// Other listeners: YCSB's status lines and errors, or the verdict of the doctor.
    pub more: Vec<Box<dyn Listener>>,
}

impl SessionRun {
    /// Creates the run of a session without an experiment.
    pub fn new(plan: SessionPlan, shows: Shows) -> Self {
        Self {
            plan,
            shows,
            experiment: None,
            limit: None,
            ends_with_experiment: false,
            gate: None,
            abort: None,
            has_ycsb: false,
            more: Vec::new(),
        }
    }
}

/// The output of a session: the screen or lines.
pub enum Shows {
    /// The screen. The running session completes its setup.
    Screen(Box<tui::ScreenSetup>),
    /// Printed lines.
    Lines(OutputForm),
    /// The text of a sink.
    Text {
        /// The sink.
        sink: Box<dyn Sink>,
        /// Whether the text is for people. A text for people follows the choice of characters.
        is_for_people: bool,
    },
}

impl Plan for SessionRun {
    fn run(self: Box<Self>) -> Result<(), Failure> {
        let Self { plan, shows, experiment, limit, mut abort, mut gate, has_ycsb, mut more, .. } = *self;
        let machine = Machine::of(plan.fleet.as_ref());
        if !matches!(shows, Shows::Screen(_)) {
            let of_gate = gate.as_ref().map(Gate::bounds).unwrap_or_default();
            let bounds = limit.iter().cloned().chain(of_gate).filter(|bound| machine.measures(bound));
            machine::check_before(&bounds.collect::<Vec<_>>());
        }
        gate.iter_mut().for_each(|gate| gate.machine = Machine::of(plan.fleet.as_ref()));
        let redacts = plan.commission.redacts;
        let has_more = plan.outputs.has_more_than_stdout() || gate.is_some();
        let mut session = RunningSession::begin(plan)?;
        let (form, mut printed) = match shows {
            Shows::Lines(form) => (form, Printed::new(form, session.files.clone(), has_ycsb)),
            Shows::Text { sink, is_for_people } => (OutputForm::Lines, Printed::page(sink, is_for_people)),
            Shows::Screen(screen) => {
                let shown = on_screen(screen, experiment, has_ycsb, &mut session);
                return session.end(shown, || Ok(()));
            }
        };
        (printed.redacts, printed.ends_session) = (redacts, !has_more);
        let mut said = NoticePrinter::default();
        let mut driver = experiment.map(|experiment| Driver {
            experiment,
            ends: self.ends_with_experiment,
            form,
            limit,
            machine,
            has_ended: false,
        });
        let mut outcome = Outcome::default();
        let mut listeners: Vec<&mut dyn Listener> = vec![&mut printed, &mut said];
        // The first of the worst verdicts is reported, so the listener that can end the run comes first.
        listeners.extend(abort.as_mut().map(|abort| abort as &mut dyn Listener));
        listeners.extend(more.iter_mut().map(|more| &mut **more as &mut dyn Listener));
        listeners.extend(driver.as_mut().map(|driver| driver as &mut dyn Listener));
        listeners.extend(gate.as_mut().map(|gate| gate as &mut dyn Listener));
        listeners.push(&mut outcome);
        session.run(&mut listeners)
    }
}

/// Runs the screen until the screen or the session ends, and then prints the summary.
fn on_screen(
    mut screen: Box<tui::ScreenSetup>,
    experiment: Option<Box<dyn Experiment>>,
    has_ycsb: bool,
    session: &mut RunningSession,
) -> Result<(), Failure> {
    if screen.tour.is_none() && experiment.is_none() && session.is_built_in() {
        screen.tour = Some(Tour::default());
    }
    screen.experiment = experiment;
    screen.knobs = session.knobs.clone();
    screen.program = session.program.clone();
    screen.kept = session.kept.take();
    let stops = signals(&Signal::STOPS).context("cannot take signals")?;
    let shown = tui::run(&mut session.peer, *screen, &stops);
    // The session always ends with the screen, because the keys of the session must be removed.
    session.peer.order(Order::End);
    let (mut timeline, nodes, files, answer, failure) = match shown {
        Ok(finished) => {
            print_errors(&finished.file_errors);
            (finished.timeline, finished.nodes, finished.files, finished.answer, None)
        }
        Err(error) => (Timeline::default(), Vec::new(), Vec::new(), None, Some(error)),
    };
    // The remaining deliveries are the last records, and notices about undone changes.
    listen(&session.peer, &mut [&mut timeline, &mut NoticePrinter::of(Vec::new(), NoticeFilter::Undone)]);
    if let Some(error) = failure {
        return Err(error.into());
    }
    // The result of an experiment comes first.
    let answer = answer.map_or_else(String::new, |answer| format!("{}\n\n", answer.trim_end()));
    // The terminal may be gone, and the reader of this message with it.
    let _ = write!(StreamText::stdout(), "{answer}{}", summary(&timeline, &nodes, &files));
    if has_ycsb {
        let _ = write!(StreamText::stdout(), "\n{}", ycsb_summary(&timeline, &YcsbForm::default()));
    }
    Ok(())
}

/// Prints the errors of exports on stderr.
pub fn print_errors(complaints: &[String]) {
    // The terminal may be gone, and the reader of this message with it.
    complaints.iter().for_each(|why| drop(writeln!(StreamText::stderr(), "{why}")));
}
