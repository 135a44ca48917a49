//! From a recording to the screen, or to lines.

use std::{
    io::{self, Write},
    path::Path,
    sync::{Arc, mpsc::Receiver},
    time::Duration,
};

use anyhow::Context as _;

use super::{
    args::ReplayArgs,
    picture::{animate, shoot},
    source::ReplaySource,
};
use crate::{
    app::{Playback, Program, summary},
    cli::{
        Failure,
        headless::{Form, Printer},
        outlet::{Outlet, is_broken_pipe},
        words::Words,
    },
    load::Knobs,
    session::{Reader, TimelineOptions},
    signals::{Signal, listen},
    tui,
};

/// How often signals are looked for while lines wait for their reader.
const LOOK_EVERY: Duration = Duration::from_millis(40);
const UNWRITTEN: &str = "cannot write to stdout";

/// Shows a recording; `has_terminal` is whether stdout is one.
///
/// # Errors
/// When it cannot be read or is none, when nothing can be drawn or written, or when a signal ends it.
pub fn run(args: &ReplayArgs, has_terminal: bool) -> Result<(), Failure> {
    let reader = Reader::open(&args.file).map_err(anyhow::Error::from)?;
    if let Some(picture) = &args.screenshot {
        return shoot(args, picture, reader, name(&args.file));
    }
    if let Some(out) = &args.animate {
        return animate(args, out, reader, name(&args.file));
    }
    if args.headless || !has_terminal {
        let signals = listen(&Signal::ENDS).context("cannot take signals")?;
        return headless(reader, name(&args.file), &signals);
    }
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
    };
    let finished = tui::run(&mut source, options, &signals)?;
    // The terminal may be gone, and with it who would read this.
    let _ = write!(Words::stdout(), "{}", summary(&finished.timeline, &finished.files));
    match finished.outcome {
        tui::Outcome::Signal(_) => Err(Failure::Interrupted),
        tui::Outcome::Quit | tui::Outcome::Ended => Ok(()),
    }
}

/// The name of a file without its folders.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The lines of the session, as fast as they are taken.
fn headless(reader: Reader, name: String, signals: &Receiver<Signal>) -> Result<(), Failure> {
    let out = Outlet::stdout();
    let printed = print(reader, name, &out, signals);
    match printed {
        Err(Failure::Failed(error)) if is_broken_pipe(&error) => Ok(()),
        Err(Failure::Interrupted) => {
            out.give_up();
            printed
        }
        _ => printed,
    }
}

/// Nothing is measured meanwhile, and nothing is lost: the reader of the lines may take all the time in the world.
fn print(mut reader: Reader, name: String, out: &Outlet, signals: &Receiver<Signal>) -> Result<(), Failure> {
    let mut printer = Printer::new(Form::Lines, out.clone(), vec![name]);
    while let Some(record) = reader.next_record().map_err(anyhow::Error::from)? {
        wait(signals, || out.has_room_within(LOOK_EVERY))?;
        printer.push(&Arc::new(record)).context(UNWRITTEN)?;
    }
    printer.finish().context(UNWRITTEN)?;
    wait(signals, || out.is_written_within(LOOK_EVERY))
}

fn wait(signals: &Receiver<Signal>, is_there: impl Fn() -> io::Result<bool>) -> Result<(), Failure> {
    loop {
        if signals.try_recv().is_ok() {
            return Err(Failure::Interrupted);
        }
        if is_there().context(UNWRITTEN)? {
            return Ok(());
        }
    }
}
