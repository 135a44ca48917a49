//! Runs a session from the arguments to the summary.

use std::io::Write;

use anyhow::Context as _;

use super::{
    consent::check_settings,
    driver::Driver,
    held::Held,
    plan::{form, timeline},
};
use crate::{
    cli::{Failure, args::CommandLine, compare::after_session},
    experiment::Experiment,
    print::{
        Said,
        outlet::Outlet,
        printer::{Form, Printer},
        summary,
        words::{Words, plain},
        ycsb_summary,
    },
    session::{
        Delivery, Order, Timeline,
        running::{Commission, Peer},
    },
    signals::{Signal, listen},
    tui,
};

/// Runs a session with arguments that have passed [`check`](super::check); `has_terminal` is whether stdout is one.
///
/// # Errors
/// When the arguments are wrong, the server cannot be reached, nothing can be drawn or written, or a signal ends it.
pub fn run(line: &CommandLine, has_terminal: bool) -> Result<(), Failure> {
    let form = form(line, has_terminal)?;
    let settle = |commission: &mut Commission| {
        check_settings(&line.experiment.settings(&commission.knobs)?, commission)?;
        commission.knobs = line.experiment.first_knobs(&commission.knobs, form.is_none())?;
        Ok(())
    };
    let mut held = Held::begin(line, form.is_none(), settle)?;
    let experiment = line.experiment.experiment(&held.knobs)?;
    let Some(form) = form else {
        let shown = on_screen(line, experiment, &mut held);
        return held.end(shown);
    };
    let ends = line.experiment.ends_session(line.session.duration);
    let driver = Driver::start(experiment, held.beside.take(), ends)?;
    let mut judged = (!line.session.fail_if.is_empty()).then(Timeline::with_all_segments);
    let shown = in_lines(line, &held, form, &mut judged);
    held.end(shown)?;
    driver.tell(form)?;
    let (conditions, base) = (&line.session.fail_if, line.session.base.as_deref());
    judged.map_or(Ok(()), |timeline| after_session(conditions, base, &timeline))
}

/// The screen until it or the session ends, and then the summary.
fn on_screen(
    line: &CommandLine,
    experiment: Option<Box<dyn Experiment>>,
    Held { peer, knobs, program, kept, .. }: &mut Held,
) -> Result<(), Failure> {
    let options = tui::Options {
        theme: line.session.look.theme(),
        knobs: knobs.clone(),
        timeline: timeline(line),
        playback: None,
        program: program.clone(),
        mouse: line.session.look.mouse(),
        experiment,
        kept: kept.take(),
    };
    let stops = listen(&Signal::STOPS).context("cannot take signals")?;
    let shown = tui::run(peer, options, &stops);
    // The session ends with the screen, whatever ended that: its keys must go.
    peer.order(Order::End);
    let (mut timeline, files, failure) = match shown {
        Ok(finished) => {
            complain(&finished.complaints);
            (finished.timeline, finished.files, None)
        }
        Err(error) => (Timeline::default(), Vec::new(), Some(error)),
    };
    farewell(peer, &mut timeline);
    if let Some(error) = failure {
        return Err(error.into());
    }
    // The terminal may be gone, and with it who would read this.
    let _ = write!(Words::stdout(), "{}", summary(&timeline, &files));
    if line.session.ycsb_summary {
        let _ = write!(Words::stdout(), "\n{}", ycsb_summary(&timeline));
    }
    Ok(())
}

/// The last records of a session, whose screen is gone, and what was undone at its end.
fn farewell(peer: &Peer, timeline: &mut Timeline) {
    let mut said = Said::default();
    for delivery in peer.rest() {
        match delivery {
            Delivery::Record(record) => timeline.push(&record),
            Delivery::Notice(notice) => said.tell_undone(&notice),
            Delivery::Refused(..) | Delivery::Stretch(_) => {}
        }
    }
}

/// Says why what should have been made of the session was not.
pub fn complain(complaints: &[String]) {
    // The terminal may be gone, and with it who would read this.
    complaints.iter().for_each(|why| drop(writeln!(Words::stderr(), "{why}")));
}

/// Lines or JSON until the session is over; `judged` takes what they are made of, if anybody will judge it.
fn in_lines(
    line: &CommandLine,
    Held { peer, files, .. }: &Held,
    form: Form,
    judged: &mut Option<Timeline>,
) -> Result<(), Failure> {
    let mut said = Said::default();
    let mut printer = Printer::new(form, Outlet::stdout(), files.clone());
    let mut ycsb = line.session.ycsb_summary.then(Timeline::default);
    let mut written = Ok(());
    for delivery in peer.rest() {
        match delivery {
            Delivery::Record(record) if written.is_ok() => {
                written = printer.push(&record);
                ycsb.iter_mut().chain(&mut *judged).for_each(|timeline| timeline.push(&record));
                if written.is_err() {
                    peer.order(Order::End);
                }
            }
            Delivery::Notice(notice) => said.tell(&notice),
            Delivery::Record(_) | Delivery::Refused(..) | Delivery::Stretch(_) => {}
        }
    }
    let tell_ycsb = |timeline| {
        let text = format!("\n{}", ycsb_summary(&timeline));
        Outlet::stdout().offer(plain(text.into_bytes()), |_| Vec::new())
    };
    match written.and_then(|()| printer.finish()).and_then(|()| ycsb.map_or(Ok(()), tell_ycsb)) {
        // Whoever read our lines has had enough, as `head` does.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written.context("cannot write to stdout")?),
    }
}
