//! `redyno replay FILE...` shows a recording on the screen, or prints its lines without a screen.

mod picture;
mod source;

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::Args;
use ratatui::layout::Rect;

use self::{
    picture::{animate, take_screenshot},
    source::ReplaySource,
};
use super::{
    command::{Arguments, Invocation, PlanResult},
    config,
    reading::{end_on_signals, print_all, records},
    session_args::LookArgs,
};
use crate::{
    app::{Picture, Playback, Screen},
    print::{
        outlet::Outlet,
        printer::{OutputForm, Printer},
        summary,
        words::StreamText,
    },
    runner::{Failure, print_errors},
    session::{GivenMoment, JoinedReader, SessionRecords},
    signals::{Signal, listen},
    tui, untrusted,
};

/// The largest side of a picture, in columns or rows.
const LARGEST: u16 = 1000;

const AFTER: &str = "\
Examples:
  redyno replay tuning.jsonl
  redyno replay tuning.jsonl --headless
  redyno replay night-*.jsonl
  redyno replay tuning.jsonl --screenshot tuning.svg --screen latency --at 30";

/// The arguments of `redyno replay`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct ReplayArgs {
    /// A file that --record made, or - for standard input. redyno shows several recordings of one server as one session
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Print all lines of the session at once, without the screen. This is the default if stdout is not a terminal
    #[arg(long, conflicts_with_all = ["theme", "no_mouse"])]
    pub headless: bool,
    /// Write a picture of the screen to a new file: SVG if its name ends in .svg, text if it ends in .txt
    #[arg(long, value_name = "OUT", value_parser = picture, group = "drawn", conflicts_with_all = ["headless", "no_mouse"])]
    pub screenshot: Option<(PathBuf, Picture)>,
    /// Write an animation of the recording, at most half a minute long, to a new SVG file
    #[arg(long, value_name = "OUT.svg", value_parser = animation, group = "drawn", conflicts_with_all = ["headless", "no_mouse"])]
    pub animate: Option<PathBuf>,
    /// The size of the picture, in columns and rows
    #[arg(long, value_name = "WxH", default_value = "120x36", value_parser = area, requires = "drawn")]
    pub size: Rect,
    /// The screen to draw: overview, latency, server, segments, log, curve or nodes
    #[arg(long, value_name = "NAME", default_value = "overview", value_parser = screen, requires = "drawn")]
    pub screen: Screen,
    /// The time to draw, in seconds since the start of the session. A clock time of the recording host, such as 14:05
    /// or 14:05:30, is also possible [default: the end]
    #[arg(long, value_name = "TIME", requires = "screenshot")]
    pub at: Option<GivenMoment>,
    /// How the screen looks.
    #[command(flatten)]
    pub look: LookArgs,
}

fn picture(path: &str) -> Result<(PathBuf, Picture), &'static str> {
    match Path::new(path).extension().and_then(|extension| extension.to_str()) {
        Some("txt") => Ok((path.into(), Picture::Text)),
        Some("svg") => Ok((path.into(), Picture::Svg)),
        _ => Err("the name must end in .svg or .txt"),
    }
}

fn animation(path: &str) -> Result<PathBuf, &'static str> {
    match picture(path) {
        Ok((path, Picture::Svg)) => Ok(path),
        _ => Err("the name must end in .svg"),
    }
}

fn area(size: &str) -> Result<Rect, String> {
    let side = |text: &str| text.parse().ok().filter(|n| (1..=LARGEST).contains(n));
    let sides = size.split_once('x').and_then(|(width, height)| Some((side(width)?, side(height)?)));
    let (width, height) =
        sides.ok_or_else(|| format!("it must be columns x rows up to {LARGEST}, such as 120x36"))?;
    Ok(Rect::new(0, 0, width, height))
}

fn screen(name: &str) -> Result<Screen, String> {
    Screen::ALL.into_iter().find(|screen| screen.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
        let names = Screen::ALL.map(|screen| screen.name().to_lowercase()).join(", ");
        format!("there are {names}")
    })
}

impl Arguments for ReplayArgs {
    fn is_ascii(&self) -> bool {
        self.look.ascii
    }

    fn plan(mut self: Box<Self>, given: Invocation) -> PlanResult {
        self.look.follow(&config::defaults(given)?.look);
        Ok(Box::new(move || run(&self, given.has_terminal)))
    }
}

/// Shows a recording. `has_terminal` is true if stdout is a terminal.
///
/// # Errors
/// Fails if the recording cannot be read, or if the screen or the output cannot be written. Also fails if a signal ends
/// the replay.
fn run(args: &ReplayArgs, has_terminal: bool) -> Result<(), Failure> {
    let reader = || JoinedReader::open(&args.files).map_err(anyhow::Error::from);
    let name = name(&args.files);
    if let Some(picture) = &args.screenshot {
        return take_screenshot(args, picture, reader()?, name);
    }
    if let Some(out) = &args.animate {
        return animate(args, out, reader()?, name);
    }
    if args.headless || !has_terminal {
        end_on_signals()?;
        let printer = Printer::new(OutputForm::Lines, Outlet::stdout(), vec![name]);
        return print_all(printer, records(&args.files, false)?);
    }
    let reader = reader()?;
    let signals = listen(&Signal::ALL).context("cannot take signals")?;
    let mut source = ReplaySource::start(reader).context("cannot start reading")?;
    let options = tui::ScreenSetup {
        playback: Some(Playback::new(name)),
        kept: Some(SessionRecords::recording(args.files.clone())),
        ..tui::ScreenSetup::new(args.look.theme(), args.look.mouse())
    };
    let finished = tui::run(&mut source, options, &signals)?;
    print_errors(&finished.file_errors);
    // The terminal may be gone, and the reader of this message with it.
    let _ = write!(StreamText::stdout(), "{}", summary(&finished.timeline, &finished.nodes, &finished.files));
    match finished.outcome {
        tui::ScreenOutcome::Signal(_) => Err(Failure::Interrupted),
        tui::ScreenOutcome::Quit | tui::ScreenOutcome::Ended => Ok(()),
    }
}

/// Returns the name of the first file without its folders, and the number of further files.
fn name(paths: &[PathBuf]) -> String {
    let name = untrusted::path(Path::new(paths[0].file_name().unwrap_or(paths[0].as_os_str())));
    if paths.len() == 1 { name } else { format!("{name} and {} more", paths.len() - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_sizes_screens_and_moments_are_refused_with_the_valid_ones() {
        assert_eq!(area("80x24").unwrap(), Rect::new(0, 0, 80, 24));
        for bad in ["80", "0x5", "x", "5000x2", "-1x3"] {
            assert!(area(bad).unwrap_err().contains("such as 120x36"), "{bad}");
        }
        assert!(animation("a.svg").is_ok() && animation("a.txt").unwrap_err().contains(".svg"));
        assert_eq!(screen("latency").unwrap(), Screen::Latency);
        assert!(screen("x").unwrap_err().contains("overview, latency"));
        let moment = |text: &str| text.parse::<GivenMoment>();
        assert_eq!(moment("1.5"), Ok(GivenMoment::Seconds(1.5)));
        assert!(moment("-1").is_err() && moment("inf").is_err());
    }
}
