//! The main loop of the screen: reads keys and records, carries out the effects that `app::update` requests,
//! and sends frames to the terminal.

#[cfg(test)]
mod tests;

use std::{
    io::Write,
    path::Path,
    sync::mpsc::Receiver,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use ratatui::layout::Rect;

use super::{
    background,
    canvas::Canvas,
    events::{EventSource, TerminalEvent, TerminalEvents},
    output::TerminalOutput,
    pace::FramePace,
    paint::Spots,
    screens,
    setup::ScreenSetup,
    share::{self, Files},
    terminal::{self, Guard},
    theme::Theme,
};
use crate::{
    app::{Delivery, Effect, Model, Mouse, Msg, Notice, SessionPhase, Source, Tone, update},
    diagnose::NodeState,
    experiment::Experiment,
    session::Timeline,
    signals::Signal,
};

/// The time between two polls of the source. Each poll also sends pending output. New records arrive four times a
/// second.
const POLL: Duration = Duration::from_millis(40);

/// The reason why the screen ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenOutcome {
    /// The user quit.
    Quit,
    /// The session ended by itself.
    Ended,
    /// A signal ended the program.
    Signal(Signal),
}

/// The results that remain after the screen is closed.
#[derive(Debug)]
pub struct ScreenResult {
    /// The reason why the screen ended.
    pub outcome: ScreenOutcome,
    /// The result of the experiment, if there was one. If the experiment still runs, this is the result so far.
    pub answer: Option<String>,
    /// All measurements of the session, for the summary.
    pub timeline: Timeline,
    /// The nodes of the session, with their findings.
    pub nodes: Vec<NodeState>,
    /// The files of the session: its recording, exports and reports.
    pub files: Vec<String>,
    /// The error messages for files that could not be written.
    pub file_errors: Vec<String>,
}

impl ScreenResult {
    fn of(model: Model, outcome: ScreenOutcome) -> Self {
        let (files, nodes) = (model.files.to_vec(), model.node_states());
        let so_far = |it: &dyn Experiment| if it.is_over() { it.answer() } else { it.report() };
        let answer = model.experiment().map(|it| (it.title(), so_far(it)));
        let answer =
            answer.filter(|(_, text)| !text.is_empty()).map(|(title, text)| format!("{title}: {text}"));
        Self { outcome, answer, nodes, files, timeline: model.into_timeline(), file_errors: Vec::new() }
    }

    /// Waits until all files that are being written are complete, and adds their paths and errors to this
    /// value.
    fn with(mut self, files: Files) -> Self {
        for made in files.rest() {
            match made {
                Ok(written) => self.files.push(written.path),
                Err(why) => self.file_errors.push(why),
            }
        }
        self
    }
}

/// Shows `source` on the terminal until the user quits, the session ends or a signal arrives. Then restores the
/// terminal.
///
/// # Errors
/// Fails if the terminal cannot be set to raw mode, read or written, or if another thread has panicked.
pub fn run(
    source: &mut dyn Source,
    mut options: ScreenSetup,
    signals: &Receiver<Signal>,
) -> anyhow::Result<ScreenResult> {
    let guard = Guard::take().context("cannot take the terminal")?;
    let mut wire = TerminalOutput::open().context("cannot write to the terminal")?;
    let background = background::query_terminal(&mut wire, options.theme.must_query_background());
    if let Some(is_light) = background.is_light {
        options.theme = options.theme.on_background(is_light);
    }
    // Events are received before the size is read, so that no change of the size is missed.
    let events = TerminalEvents::begin(&background).context("cannot read the terminal")?;
    let mut canvas = Canvas::new(wire, terminal::size());
    canvas.mouse = options.mouse;
    canvas.enter().context("cannot write to the terminal")?;
    let files = Files::of(options.kept.take());
    let mut screen = ScreenLoop {
        canvas,
        events,
        size: terminal::size,
        options,
        spots: Spots::default(),
        files,
        is_quick: background.is_quick,
    };
    let finished = screen.run(source, signals);
    drop(guard);
    finished.map(|finished| finished.with(screen.files))
}

/// The main loop. The main loop never blocks on output. Tests replace the output, the events and the source.
struct ScreenLoop<W, E> {
    canvas: Canvas<W>,
    events: E,
    size: fn() -> Rect,
    options: ScreenSetup,
    /// The last frame's map for the mouse.
    spots: Spots,
    /// The files that are being made from the records.
    files: Files,
    /// Whether the terminal is known to answer quickly.
    is_quick: bool,
}

/// Whether a frame must be drawn, and how soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Nothing,
    Data,
    Now,
}

impl<W: Write, E: EventSource> ScreenLoop<W, E> {
    fn run(&mut self, source: &mut dyn Source, signals: &Receiver<Signal>) -> anyhow::Result<ScreenResult> {
        let mut model = self.options.model();
        let mut due = Due::Now;
        let mut pace = FramePace::new(Instant::now(), self.is_quick);
        let mut is_behind = false;
        loop {
            if let Some(outcome) = self.take_records(&mut model, source, &mut due)? {
                return Ok(ScreenResult::of(model, outcome));
            }
            due = due.max(self.take_files(&mut model));
            if model.course == SessionPhase::Over {
                return Ok(ScreenResult::of(model, ScreenOutcome::Ended));
            }
            if let Some(outcome) = self.on_signals(signals)? {
                return Ok(ScreenResult::of(model, outcome));
            }
            if let Some(report) = terminal::panicked() {
                anyhow::bail!("a part of redyno has failed; please report this error: {report}");
            }
            if is_behind {
                is_behind = !self.canvas.push()?;
                pace.sent(Instant::now(), self.canvas.sent, is_behind);
            }
            // A key press causes a frame at once. New data causes a frame when the pace allows, and on a slow
            // connection in parts. No frame begins before the terminal has accepted the last frame.
            let now = Instant::now();
            let most = match due {
                Due::Now => Some(usize::MAX),
                _ if self.canvas.is_part => pace.allows_part(now).then(|| pace.part()),
                Due::Data => pace.allows(now).then(|| pace.part()),
                Due::Nothing => None,
            };
            if let Some(most) = most.filter(|_| !is_behind) {
                let theme = self.options.theme;
                if !self.canvas.is_part {
                    pace.begin(now);
                }
                let plan = screens::plan(self.canvas.area(), &model);
                let effects = update(&mut model, Msg::Columns(plan.chart_columns()));
                // For the next frame, a part of a recording may have to be read again.
                self.carry_out(effects, &mut model, source)?;
                if let Some(last) = screens::last_help_scroll(&plan, theme, &model) {
                    update(&mut model, Msg::HelpEnd(last));
                }
                let spots = &mut self.spots;
                let draw = |buffer: &mut _| *spots = screens::draw(buffer, theme, &model, &plan);
                is_behind = !self.canvas.frame(most, draw)?;
                pace.sent(Instant::now(), self.canvas.sent, is_behind);
                due = Due::Nothing;
            }
            // All queued input is handled before the next frame, so a key that is held down causes no delay.
            let mut wait = POLL;
            while let Some(event) = self.events.next(wait).context("the terminal is gone")? {
                due = Due::Now;
                wait = Duration::ZERO;
                if let Some(outcome) = self.on_event(event, &mut model, source)? {
                    return Ok(ScreenResult::of(model, outcome));
                }
            }
        }
    }

    fn on_event(
        &mut self,
        event: TerminalEvent,
        model: &mut Model,
        source: &mut dyn Source,
    ) -> anyhow::Result<Option<ScreenOutcome>> {
        let effects = match event {
            TerminalEvent::Resize => {
                self.canvas.resize((self.size)());
                Vec::new()
            }
            TerminalEvent::Key(key) => update(model, Msg::Key(key)),
            TerminalEvent::Paste(text) => update(model, Msg::Paste(text)),
            TerminalEvent::Mouse(gesture, x, y) => {
                update(model, Msg::Mouse(Mouse { gesture, spot: self.spots.at(x, y) }))
            }
        };
        self.carry_out(effects, model, source)
    }

    fn carry_out(
        &mut self,
        effects: Vec<Effect>,
        model: &mut Model,
        source: &mut dyn Source,
    ) -> anyhow::Result<Option<ScreenOutcome>> {
        for effect in effects {
            match effect {
                Effect::Quit => return Ok(Some(ScreenOutcome::Quit)),
                Effect::Suspend => self.suspend()?,
                Effect::Save(form) => {
                    let picture = share::picture(form, model, self.options.theme, (self.size)());
                    let saved = share::save(Path::new("."), form, &picture);
                    report(model, saved);
                }
                Effect::Write(outgoing) => {
                    let begun = format!("writing {outgoing}");
                    report(model, self.files.begin(outgoing).map(|()| begun));
                }
                Effect::Copy { what, text } => self.copy(model, what, &text),
                Effect::Read(path) => {
                    let (name, text) = share::read(Path::new(&path));
                    let effects = update(model, Msg::Script { name, text });
                    // These effects are orders to the session.
                    self.carry_out(effects, model, source)?;
                }
                Effect::ReadWorkload(path) => {
                    let effects = update(model, Msg::Workload(share::workload(&path)));
                    self.carry_out(effects, model, source)?;
                }
                Effect::Theme(name) => self.wear(model, name),
                Effect::Order(order) => source.order(order),
            }
        }
        Ok(None)
    }

    fn take_records(
        &mut self,
        model: &mut Model,
        source: &mut dyn Source,
        due: &mut Due,
    ) -> anyhow::Result<Option<ScreenOutcome>> {
        for delivery in source.poll() {
            let asks = matches!(
                delivery,
                Delivery::Refused(..)
                    | Delivery::Notice(
                        _,
                        Notice::FirstWrite(_)
                            | Notice::Danger(_)
                            | Notice::Warning(_)
                            | Notice::LoadStopped(_)
                    )
            );
            *due = (*due).max(if asks { Due::Now } else { Due::Data });
            let effects = update(model, Msg::Delivery(delivery));
            // A tour may press the key that quits.
            if let Some(outcome) = self.carry_out(effects, model, source)? {
                return Ok(Some(outcome));
            }
        }
        Ok(None)
    }

    /// Reports the files that have been completed since the last call. Copies their paths to the clipboard.
    fn take_files(&mut self, model: &mut Model) -> Due {
        let mut due = Due::Nothing;
        while let Some(mut made) = self.files.next_result() {
            if let Ok(written) = &mut made
                && let Ok(bytes) = share::copying("its path", &written.path)
            {
                self.canvas.attach(&bytes);
                written.message += "; path copied (OSC 52)";
            }
            update(model, Msg::Written(made));
            due = Due::Now;
        }
        due
    }

    fn copy(&mut self, model: &mut Model, what: &str, text: &str) {
        let copied = share::copying(what, text).map(|bytes| {
            self.canvas.attach(&bytes);
            format!("sent {what} to the clipboard (by OSC 52, which some terminals ignore)")
        });
        report(model, copied);
    }

    fn wear(&mut self, model: &mut Model, name: &str) {
        let theme = name.parse().map(|choice| Theme::from_env(choice, !self.options.theme.has_braille()));
        if let Ok(theme) = theme {
            self.options.theme = theme;
            self.canvas.resize((self.size)());
        }
        report(model, theme.map(|_| format!("theme {name}")).map_err(|error| error.to_string()));
    }

    fn on_signals(&mut self, signals: &Receiver<Signal>) -> anyhow::Result<Option<ScreenOutcome>> {
        for signal in signals.try_iter() {
            match signal {
                Signal::Suspend => self.suspend()?,
                Signal::Continue => self.resume()?,
                end => return Ok(Some(ScreenOutcome::Signal(end))),
            }
        }
        Ok(None)
    }

    /// Restores the terminal and stops this process, as Ctrl-Z does. After `fg`, the screen continues.
    fn suspend(&mut self) -> anyhow::Result<()> {
        terminal::restore();
        Signal::stop_here().context("cannot stop this process")?;
        self.resume()
    }

    fn resume(&mut self) -> anyhow::Result<()> {
        terminal::restore();
        terminal::take().context("cannot take the terminal again")?;
        self.canvas.enter().context("cannot write to the terminal")?;
        self.canvas.resize((self.size)());
        Ok(())
    }
}

fn report(model: &mut Model, outcome: Result<String, String>) {
    let (tone, text) = match outcome {
        Ok(text) => (Tone::Info, text),
        Err(text) => (Tone::Warning, text),
    };
    update(model, Msg::Say(tone, text));
}
