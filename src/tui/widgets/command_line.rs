//! The box with a command line to copy, for terminals without OSC 52.
//!
//! ```text
//! ── command line for this segment ─────────────────────
//! redyno -p 6380 -c 200 -P 16 --workload cache -d 32 \
//! -r 10000
//! ── hold Shift and drag to select the text; Esc closes
//! # after CONFIG SET hz 100
//! ```

use ratatui::layout::Rect;

use crate::tui::{Ink, Paint, row};

/// The end of a line that continues in the next line.
const CONTINUED: &str = " \\";
/// The beginning of a line of the note.
const NOTE: &str = "# ";

/// Draws a command line that the user can select and copy. The lines have no frame and begin in the first column. A
/// shell can therefore read the selected text. The note is below these lines, because not every shell ignores a
/// comment.
pub(super) fn draw(paint: &mut Paint, area: Rect, text: &str, note: &str) {
    let lines = shell_lines(text, usize::from(area.width).saturating_sub(CONTINUED.len()));
    let beside = usize::from(area.width).saturating_sub(NOTE.len() + CONTINUED.len());
    let notes = if note.is_empty() { Vec::new() } else { shell_lines(note, beside) };
    let height = ((lines.len() + notes.len()) as u16 + 2).min(area.height.saturating_sub(1));
    let place = Rect { y: area.bottom().saturating_sub(height + 1), height, ..area };
    paint.clear(place);
    let closing = "hold Shift and drag to select the text; Esc closes".to_owned();
    let notes = notes.iter().map(|line| (format!("{NOTE}{}", line.trim_end_matches(CONTINUED)), false));
    let body = lines.into_iter().map(|line| (line, false)).chain([(closing, true)]).chain(notes);
    let all = [("command line for this segment".to_owned(), true)].into_iter().chain(body);
    for (n, (line, is_rule)) in all.enumerate().take(height.into()) {
        let place = row(place, n as u16);
        if is_rule {
            paint.rule(place, &line);
        } else {
            paint.text(place, &line, Ink::Text);
        }
    }
}

/// The quotes of a shell, up to a character: the single quotes and backslashes that [`quoted`](crate::endpoint::quoted)
/// writes.
#[derive(Default)]
struct Quotes {
    is_open: bool,
    is_escaped: bool,
}

impl Quotes {
    fn take(&mut self, next: char) {
        match next {
            _ if self.is_escaped => self.is_escaped = false,
            '\\' if !self.is_open => self.is_escaped = true,
            '\'' => self.is_open = !self.is_open,
            _ => {}
        }
    }
}

/// Returns a command line in lines of at most `room` characters and the mark of a continued line. A shell reads these
/// lines as the same words. A line ends between two words. A word that is longer than a line is divided, with closed
/// quotes on both sides.
fn shell_lines(text: &str, room: usize) -> Vec<String> {
    let mut quotes = Quotes::default();
    let words = text.split(|c: char| {
        let is_end = c == ' ' && !quotes.is_open && !quotes.is_escaped;
        quotes.take(c);
        is_end
    });
    let (mut lines, mut line, mut used) = (Vec::new(), String::new(), 0);
    for word in words {
        if used > 0 && used + 1 + word.chars().count() > room {
            lines.push(std::mem::take(&mut line) + CONTINUED);
            used = 0;
        } else if used > 0 {
            line.push(' ');
            used += 1;
        }
        let mut quotes = Quotes::default();
        for c in word.chars() {
            // A line has at least four characters of a word, whatever its width.
            if used >= room.max(4) && !quotes.is_escaped {
                let quote = if quotes.is_open { "'" } else { "" };
                lines.push(std::mem::replace(&mut line, quote.to_owned()) + quote + "\\");
                used = quote.len();
            }
            quotes.take(c);
            line.push(c);
            used += 1;
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::endpoint::quoted;

    #[test]
    fn a_shell_reads_the_lines_as_the_words_of_the_command_line() {
        let long = format!("it's {} a long word; echo 'stray'  # $x `date` \\", "x".repeat(40));
        let words =
            ["-s", "/run/my redis.sock", "", "it's", "a\\", "'", &long, "# after x; echo stray", "-r", "10"];
        let line = words.map(quoted).join(" ");
        for room in 0..line.len() + 2 {
            let lines = shell_lines(&line, room);
            assert!(lines.iter().all(|line| line.chars().count() <= room.max(5) + 2), "{room}: {lines:?}");
            if room % 7 == 0 || lines.len() == 1 {
                let script = format!("printf '<%s>' {}", lines.join("\n"));
                let shown = Command::new("sh").args(["-c", &script]).output().unwrap().stdout;
                assert_eq!(
                    String::from_utf8(shown).unwrap(),
                    words.map(|w| format!("<{w}>")).concat(),
                    "{script}"
                );
            }
        }
        assert_eq!(shell_lines("redyno -p 6380 -c 50", 14), ["redyno -p 6380 \\", "-c 50"]);
    }
}
