//! What lies over a screen: the help, the palette, a question, something being asked for.

use ratatui::layout::Rect;

use super::{
    dialog::{self, Dialog},
    figures::clock,
    help, palette,
};
use crate::{
    app::{Mode, Model, Purpose, Question, Setting, Spot, Typing, value_words},
    tui::{Ink, Paint, row, wrapped},
};

/// Draws what lies over the screen, if anything does.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model) {
    if model.mode != Mode::Screen {
        // The mouse finds nothing of what lies below.
        paint.spot(area, Spot::Elsewhere);
    }
    match &model.mode {
        Mode::Screen => {}
        Mode::Asking(question) => ask(paint, area, question),
        Mode::CommandLine(text) => command_line(paint, area, text),
        Mode::Typing(typing) => type_in(paint, area, model, typing),
    }
}

fn ask(paint: &mut Paint, area: Rect, question: &Question) {
    let (title, text) = match question {
        Question::FirstWrite(question) => ("write to this server?", question.clone()),
        Question::Danger(question) => ("this may do harm", question.clone()),
        Question::Experiment { question, .. } => ("begin this experiment?", question.clone()),
        Question::SetConfig(setting) => ("change this server?", change(setting)),
    };
    let keys = "y yes    n, Enter: no (default)";
    dialog::draw(paint, area, &Dialog { title, text: &text, entry: None, keys });
}

fn change(Setting { parameter, from, to, harm }: &Setting) -> String {
    let harm = harm.as_ref().map(|harm| format!("{harm}. ")).unwrap_or_default();
    format!(
        "CONFIG SET {} {} ({}; now {}). {harm}A new segment begins. At the end of the session the old value comes \
         back.",
        parameter.name,
        value_words(to),
        parameter.about,
        value_words(from),
    )
}

/// What is typed on the screen itself is drawn there.
fn type_in(paint: &mut Paint, area: Rect, model: &Model, Typing { purpose, entry }: &Typing) {
    let (title, text, keys) = match purpose {
        Purpose::Knob | Purpose::Parameter | Purpose::Search => return,
        Purpose::Help { scroll } => return help::draw(paint, area, model, entry, *scroll),
        Purpose::Command { .. } => return palette::draw(paint, area, model),
        Purpose::Mark { t_s } => {
            let text = format!("A note on the time axis at {}:", clock(*t_s));
            ("mark", text, "Enter set the mark    Esc none")
        }
        Purpose::Intrinsic => {
            let text = "How many seconds? A busy loop takes one core of this machine for as long, so the load has \
                        less of it.";
            ("intrinsic latency", text.to_owned(), "Enter start    Esc not now")
        }
    };
    dialog::draw(paint, area, &Dialog { title, text: &text, entry: Some(entry), keys });
}

/// What continues a line.
const CONTINUED: &str = " \\";

/// Draws a command line for a person to take, where the terminal has no clipboard, over the rows above the last: without a frame,
/// from the first column on, so that what is selected is what a shell reads.
fn command_line(paint: &mut Paint, area: Rect, text: &str) {
    let lines = wrapped(text, usize::from(area.width).saturating_sub(CONTINUED.len()));
    let height = (lines.len() as u16 + 2).min(area.height.saturating_sub(1));
    let place = Rect { y: area.bottom().saturating_sub(height + 1), height, ..area };
    paint.clear(place);
    paint.rule(row(place, 0), "this segment again");
    for (n, line) in lines.iter().enumerate().take(usize::from(height.saturating_sub(2))) {
        let is_last = n + 1 == lines.len();
        let line = if is_last { line.clone() } else { format!("{line}{CONTINUED}") };
        paint.text(row(place, n as u16 + 1), &line, Ink::Text);
    }
    paint.rule(row(place, height.saturating_sub(1)), "drag with Shift to select it; Esc closes");
}
