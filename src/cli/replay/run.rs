//! From a recording to the screen, or to lines.

use std::{io::Write, path::Path};

use anyhow::Context as _;

use super::{
    args::ReplayArgs,
    picture::{animate, shoot},
    source::ReplaySource,
};
use crate::{
    app::{Playback, Program, summary},
    cli::{Failure, headless::print_all, lines::Lines, outlet::Outlet, session::complain, words::Words},
    load::Knobs,
    session::{Kept, Reader, Record, TimelineOptions},
    signals::{Signal, listen},
    tui,
};

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
        let lines = Lines::of(vec![name(&args.file)]);
        return print_all(Box::new(lines), records(reader, false), &Outlet::stdout(), &signals);
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
        kept: Some(Kept::recording(args.file.clone())),
    };
    let finished = tui::run(&mut source, options, &signals)?;
    complain(&finished.complaints);
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

/// The records of a recording, one after the other; without what is private in the server's text where that is left out.
pub(in crate::cli) fn records(
    mut reader: Reader,
    redacts: bool,
) -> impl Iterator<Item = Result<Record, Failure>> {
    std::iter::from_fn(move || {
        let record = reader.next_record().map_err(|error| anyhow::Error::from(error).into()).transpose()?;
        Some(record.map(|record| if redacts { record.redacted() } else { record }))
    })
}
