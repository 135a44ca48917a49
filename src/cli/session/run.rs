//! Runs a session from the arguments to the summary.

use std::io::Write;

use anyhow::Context as _;

use super::{
    launch::destination,
    plan::{commission, form, timeline},
};
use crate::{
    app::summary,
    cli::{
        Failure, UsageError,
        args::CommandLine,
        headless::{self, Form},
        outlet::Outlet,
        words::Words,
    },
    load::Knobs,
    server::Progress,
    session::{
        Delivery, Notice, Order, Timeline, Writer,
        running::{EndedBy, Peer, Session, StartError},
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
    let writer =
        line.session.record.as_deref().map(Writer::create).transpose().map_err(anyhow::Error::from)?;
    // The session takes those that end it, whatever the screen is doing.
    let ends = listen(&Signal::ENDS).context("cannot take signals")?;

    let destination = destination(&line.target, form.is_none())?;
    let commission = commission(line, &destination, writer, form.is_none())?;
    let knobs = commission.knobs.clone();
    let (session, mut peers) = Session::start(commission, ends, 1).map_err(refused)?;
    let peer = peers.remove(0);
    let shown = match form {
        Some(form) => in_lines(&peer, form),
        None => on_screen(line, knobs, peer),
    };
    let ended = session.end();
    drop(destination);
    match ended.by {
        // A terminal that goes is an error of the screen as well: the signal says more.
        EndedBy::Signal => Err(Failure::Interrupted),
        EndedBy::Refusal(cause) => shown.and(Err(Failure::Failed(anyhow::anyhow!(cause)))),
        EndedBy::Itself => {
            shown?;
            Ok(ended.recorded.map_err(anyhow::Error::from)?)
        }
    }
}

fn refused(error: StartError) -> Failure {
    match error {
        StartError::Asks(question) => UsageError::NeedsYes(question).into(),
        StartError::Interrupted => Failure::Interrupted,
        error => Failure::Failed(error.into()),
    }
}

/// The screen until it or the session ends, and then the summary.
fn on_screen(line: &CommandLine, knobs: Knobs, mut peer: Peer) -> Result<(), Failure> {
    let options = tui::Options {
        theme: line.session.look.theme(),
        knobs,
        timeline: timeline(line),
        playback: None,
        mouse: line.session.look.mouse(),
    };
    let stops = listen(&Signal::STOPS).context("cannot take signals")?;
    let shown = tui::run(&mut peer, options, &stops);
    // The session ends with the screen, whatever ended that: its keys must go.
    peer.order(Order::End);
    let (mut timeline, failure) = match shown {
        Ok(finished) => (finished.timeline, None),
        Err(error) => (Timeline::default(), Some(error)),
    };
    farewell(&peer, &mut timeline);
    if let Some(error) = failure {
        return Err(error.into());
    }
    // The terminal may be gone, and with it who would read this.
    let _ = write!(Words::stdout(), "{}", summary(&timeline));
    Ok(())
}

/// The last records of a session, whose screen is gone, and what was undone at its end.
fn farewell(peer: &Peer, timeline: &mut Timeline) {
    let mut said = Undoing::default();
    for delivery in peer.rest() {
        match delivery {
            Delivery::Record(record) => timeline.push(&record),
            Delivery::Notice(notice) => said.tell(&notice),
            Delivery::Refused(..) => {}
        }
    }
}

/// What is told on stderr while a session undoes what it did.
#[derive(Default)]
struct Undoing {
    /// Whether a line of progress stands on the terminal.
    has_progress: bool,
}

impl Undoing {
    /// If stderr is gone, so is who would read this.
    fn tell(&mut self, notice: &Notice) {
        let mut out = Words::stderr();
        match notice {
            Notice::Cleaning(Progress { looked_at, total, .. }) if out.is_terminal() => {
                self.has_progress = true;
                let _ = write!(out, "\rremoving redyno's keys: {looked_at} of {total} looked at");
            }
            Notice::Undone(told) => {
                if std::mem::take(&mut self.has_progress) {
                    let _ = write!(out, "\r\x1b[K");
                }
                let _ = writeln!(out, "{told}");
            }
            _ => {}
        }
    }
}

/// Lines or JSON until the session is over.
fn in_lines(peer: &Peer, form: Form) -> Result<(), Failure> {
    let mut said = Undoing::default();
    let mut printer = headless::Printer::new(form, Outlet::stdout());
    let mut written = Ok(());
    for delivery in peer.rest() {
        match delivery {
            Delivery::Record(record) if written.is_ok() => {
                written = printer.push(&record);
                if written.is_err() {
                    peer.order(Order::End);
                }
            }
            Delivery::Notice(Notice::Info(text) | Notice::Warning(text) | Notice::LoadStaysOff(text)) => {
                // Nobody reads it any more when stderr is gone.
                let _ = writeln!(Words::stderr(), "redyno: {text}");
            }
            // The others are records as well, or belong to a screen.
            Delivery::Notice(notice) => said.tell(&notice),
            Delivery::Record(_) | Delivery::Refused(..) => {}
        }
    }
    match written.and_then(|()| printer.finish()) {
        // Whoever read our lines has had enough, as `head` does.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written.context("cannot write to stdout")?),
    }
}
