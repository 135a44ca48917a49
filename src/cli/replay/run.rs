//! From a recording to the screen, or to lines.

use std::{io::Write, path::Path};

use anyhow::Context as _;

use super::{
    args::ReplayArgs,
    picture::{animate, shoot},
    source::ReplaySource,
};
use crate::{
    app::{Playback, Program},
    cli::{
        command::{Arguments, Invocation, Planned},
        reading::{print_all, records},
    },
    knobs::Knobs,
    print::{
        outlet::Outlet,
        printer::{Form, Printer},
        summary,
        words::StreamText,
    },
    runner::{Failure, complain, ends},
    session::{Kept, Reader, TimelineOptions},
    signals::{Signal, listen},
    tui, untrusted,
};

impl Arguments for ReplayArgs {
    fn is_ascii(&self) -> bool {
        self.look.ascii
    }

    fn plan(self: Box<Self>, given: Invocation) -> Planned {
        Ok(Box::new(move || run(&self, given.has_terminal)))
    }
}

/// Shows a recording; `has_terminal` is whether stdout is one.
///
/// # Errors
/// When it cannot be read or is none, when nothing can be drawn or written, or when a signal ends it.
fn run(args: &ReplayArgs, has_terminal: bool) -> Result<(), Failure> {
    let reader = || Reader::open(&args.file).map_err(anyhow::Error::from);
    if let Some(picture) = &args.screenshot {
        return shoot(args, picture, reader()?, name(&args.file));
    }
    if let Some(out) = &args.animate {
        return animate(args, out, reader()?, name(&args.file));
    }
    if args.headless || !has_terminal {
        let signals = ends()?;
        let printer = Printer::new(Form::Lines, Outlet::stdout(), vec![name(&args.file)]);
        return print_all(printer, records(&args.file, false, &signals)?, &signals);
    }
    let reader = reader()?;
    let signals = listen(&Signal::ALL).context("cannot take signals")?;
    let mut source = ReplaySource::start(reader).context("cannot start reading")?;
    let options = tui::Options {
        experiment: None,
        theme: args.look.theme(),
        knobs: Knobs::default(),
        timeline: TimelineOptions::default(),
        playback: Some(Playback::new(name(&args.file))),
        program: Program::default(),
        mouse: args.look.mouse(),
        kept: Some(Kept::recording(args.file.clone())),
    };
    let finished = tui::run(&mut source, options, &signals)?;
    complain(&finished.complaints);
    // The terminal may be gone, and with it who would read this.
    let _ = write!(StreamText::stdout(), "{}", summary(&finished.timeline, &finished.files));
    match finished.outcome {
        tui::Outcome::Signal(_) => Err(Failure::Interrupted),
        tui::Outcome::Quit | tui::Outcome::Ended => Ok(()),
    }
}

/// The name of a file without its folders.
fn name(path: &Path) -> String {
    untrusted::path(Path::new(path.file_name().unwrap_or(path.as_os_str())))
}
