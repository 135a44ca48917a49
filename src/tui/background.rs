//! Queries the background colour of the terminal (OSC 11), before the screen begins.
//!
//! ```text
//!   redyno   ESC ] 11 ; ? ESC \   ESC [ c
//!   terminal ESC ] 11 ; rgb:1818/1b1b/2121 ESC \   ESC [ ? 6 2 c
//! ```
//! redyno sends two queries. Nearly every terminal answers the second query. If only this answer arrives, the terminal
//! does not support the first query. Before the second query, redyno sends 1 kB of text without effect. A slow
//! connection cannot transfer this text within the timeout. If no answer arrives in time, redyno therefore treats the
//! connection as slow. Keys that the user types during the wait are kept. [`LateAnswerFilter`] drops an answer that
//! arrives after the timeout.

use std::{
    io,
    time::{Duration, Instant},
};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    stdio::stdin,
};

use super::output::TerminalOutput;

/// The timeout for the answer. After a timeout, redyno uses the colours for a dark background.
const PATIENCE: Duration = Duration::from_millis(100);

/// The queries for the background colour and for the kind of terminal.
const QUESTIONS: [&str; 2] = ["\x1b]11;?\x1b\\", "\x1b[c"];
/// A text without effect. Its escape sequence sets the default colours, which are already set. At 4 kB/s, a slow
/// connection needs 0.25 s for 1 kB of this text.
const BALLAST: &str = "\x1b[m";
const BALLASTS: usize = 340;

/// The answer of the terminal.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Background {
    /// Whether the background is light. `None` if the terminal did not answer in time.
    pub is_light: Option<bool>,
    /// The keys typed during the wait, without escape sequences.
    pub typed: Vec<u8>,
    /// Whether an answer was incomplete at the timeout. The end of this answer may still arrive.
    pub is_incomplete: bool,
    /// Whether the terminal answered the second query in time. If true, the connection is not slow.
    pub is_quick: bool,
}

/// Queries the terminal, which must be in raw mode. The background colour is queried only if `for_colour` is set.
pub fn query_terminal(wire: &mut TerminalOutput, for_colour: bool) -> Background {
    let first = if for_colour { QUESTIONS[0] } else { "" };
    let question = format!("{first}{}{}", BALLAST.repeat(BALLASTS), QUESTIONS[1]);
    let mut answer = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    if wire.send_within(question.as_bytes(), PATIENCE).is_ok() {
        while !is_whole(&answer) && read_until(deadline, &mut answer).is_ok_and(|n| n > 0) {}
    }
    split_input(&answer)
}

/// Reads the available input. Waits for input until `deadline`. Returns the number of bytes, or 0 at the deadline.
fn read_until(deadline: Instant, into: &mut Vec<u8>) -> io::Result<usize> {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).map_err(io::Error::other)?;
    if poll(&mut [PollFd::new(&stdin(), PollFlags::IN)], Some(&left))? == 0 {
        return Ok(0);
    }
    let mut bytes = [0; 256];
    let n = rustix::io::read(stdin(), &mut bytes)?;
    into.extend_from_slice(&bytes[..n]);
    Ok(n)
}

/// Returns the range of bytes of the answer that begins with `head` and ends with one of `ends`.
fn found(bytes: &[u8], head: &[u8], ends: &[&[u8]]) -> Option<std::ops::Range<usize>> {
    let from = bytes.windows(head.len()).position(|window| window == head)?;
    let after = from + head.len();
    let end =
        |end: &&[u8]| Some(after + bytes[after..].windows(end.len()).position(|w| w == *end)? + end.len());
    Some(from..ends.iter().filter_map(end).min()?)
}

/// Returns whether the input contains a complete answer to the second query.
fn is_whole(bytes: &[u8]) -> bool {
    found(bytes, b"\x1b[?", &[b"c"]).is_some()
}

/// Divides the input into the background colour and the typed keys.
fn split_input(bytes: &[u8]) -> Background {
    let mut typed = bytes.to_vec();
    if let Some(place) = found(&typed, b"\x1b[?", &[b"c"]) {
        typed.drain(place);
    }
    let place = found(&typed, b"\x1b]11;", &[b"\x1b\\", b"\x07"]);
    let colour: Option<Vec<u8>> = place.map(|place| typed.drain(place).collect());
    let is_light = colour.and_then(|colour| is_light(&String::from_utf8_lossy(&colour)));
    let escape = typed.iter().position(|byte| *byte == 0x1b);
    // Bytes after the start of an incomplete escape sequence belong to this sequence and are not keys.
    let is_cut = escape.is_some();
    typed.truncate(escape.unwrap_or(typed.len()));
    Background { is_light, typed, is_incomplete: is_cut, is_quick: is_whole(bytes) }
}

/// Returns whether a colour such as `rgb:ffff/ffff/ffff` is light. Returns `None` for another form.
fn is_light(answer: &str) -> Option<bool> {
    let (_, colour) = answer.split_once("rgb:")?;
    let colour = colour.trim_end_matches(|c: char| !c.is_ascii_hexdigit());
    let share = |part: &str| {
        let most = 16_f64.powi(part.len().try_into().ok()?) - 1.0;
        Some(f64::from(u32::from_str_radix(part, 16).ok()?) / most)
    };
    let parts: Vec<f64> = colour.split('/').map(share).collect::<Option<_>>()?;
    let [red, green, blue] = parts[..] else { return None };
    // The weights of ITU-R BT.709.
    Some(0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5)
}

/// The longest pause between two bytes of an answer.
const PAUSE: Duration = Duration::from_millis(500);

/// Drops an answer that arrives after the timeout. crossterm does not recognize OSC sequences. crossterm reports such
/// an answer as the key Alt-] and further characters.
#[derive(Debug, Default)]
pub struct LateAnswerFilter {
    /// The time of the last key of an incomplete answer.
    within: Option<Instant>,
}

impl LateAnswerFilter {
    /// Creates a filter. If `background` has an incomplete answer, the filter also drops the rest of this answer.
    pub fn of(background: &Background) -> Self {
        Self { within: background.is_incomplete.then(Instant::now) }
    }

    /// Returns whether `key`, pressed at `now`, is part of an answer.
    pub fn takes(&mut self, key: &KeyEvent, now: Instant) -> bool {
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let is_within = self.within.is_some_and(|last| now.saturating_duration_since(last) < PAUSE);
        let goes_on = match key.code {
            KeyCode::Char(']') if alt => true,
            KeyCode::Char(c) if is_within && !alt && key.modifiers.is_empty() => {
                c.is_ascii_hexdigit() || "[]?;:/rgb".contains(c)
            }
            _ => false,
        };
        // The answer ends with Alt-\\ or Ctrl-G.
        let ends = is_within && matches!(key.code, KeyCode::Char('\\' | 'g')) && !key.modifiers.is_empty();
        self.within = goes_on.then_some(now);
        goes_on || ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_background_is_read_and_typed_keys_are_kept() {
        let of = |text: &str| split_input(text.as_bytes());
        let all = |is_light, typed: &str, is_quick| Background {
            is_light,
            typed: typed.into(),
            is_incomplete: false,
            is_quick,
        };
        assert_eq!(of("\x1b]11;rgb:ffff/ffff/f0f0\x1b\\\x1b[?62;4c"), all(Some(true), "", true));
        assert_eq!(of("q\x1b]11;rgb:18/1b/21\x07l\x1b[?6c?"), all(Some(false), "ql?", true));
        assert_eq!(of("\x1b[?62c"), all(None, "", true));
        assert_eq!(of("\x1b]11;#ffffff\x1b\\"), all(None, "", false));
        let cut = of("q\x1b]11;rgb:18/");
        assert_eq!(cut, Background { is_incomplete: true, ..all(None, "q", false) });
        for cut in ["q\x1b", "q\x1b]", "q\x1b[?6", "q\x1b[A"] {
            assert_eq!(of(cut), Background { is_incomplete: true, ..all(None, "q", false) });
        }
        assert!(is_whole(b"\x1b]11;rgb:0/0/0\x1b\\\x1b[?62c") && !is_whole(b"\x1b]11;rgb:0/0/0\x1b\\"));
    }

    #[test]
    fn a_late_answer_is_dropped_and_the_next_key_is_not() {
        let now = Instant::now();
        let key = |c, modifiers| KeyEvent::new(KeyCode::Char(c), modifiers);
        let plain = |c| key(c, KeyModifiers::NONE);
        let mut late = LateAnswerFilter::default();
        assert!(!late.takes(&plain('r'), now));
        assert!(late.takes(&key(']', KeyModifiers::ALT), now));
        assert!("11;rgb:18/1b/21".chars().all(|c| late.takes(&plain(c), now)));
        assert!(late.takes(&key('\\', KeyModifiers::ALT), now));
        assert!(!late.takes(&plain('r'), now) && !late.takes(&plain('1'), now));
        assert!(late.takes(&key(']', KeyModifiers::ALT), now));
        assert!(!late.takes(&plain('1'), now + PAUSE), "after a pause, redyno reads the character as a key");
        for rest in ["]11;rgb:18/1b/21", "[?62;4c", "11;rgb:1"] {
            let mut late = LateAnswerFilter { within: Some(now) };
            assert!(rest.chars().all(|c| late.takes(&plain(c), now)), "{rest}");
            assert!(!late.takes(&plain('q'), now));
        }
    }
}
