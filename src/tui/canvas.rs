//! Draws the screen. Each frame is drawn into a buffer, and its changes are sent to the terminal in one write.
//!
//! A frame contains the changes since the previous frame, inside a synchronized update. redyno draws the next frame
//! only after the terminal has accepted the last one, so the changes always apply to the content of the terminal.
//! redyno does not use ratatui's own `Terminal`, because `Terminal` flushes in several writes. The function `clear` of
//! `Terminal` also queries the position of the cursor, and the terminal may never answer.

use std::{
    io::{self, Write},
    ops::Range,
};

use crossterm::{
    cursor, queue,
    style::Print,
    terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen},
};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    encode::encode,
    terminal::{MOUSE_ON, PASTE_ON},
};

/// A screen to draw on. The canvas keeps its content and sends only changes. A write to `W` may accept only a part of
/// the bytes, as with [`TerminalOutput`](super::output::TerminalOutput).
pub struct Canvas<W> {
    out: W,
    shown: Buffer,
    next: Buffer,
    repaint: bool,
    /// The bytes of the last frame, and the number of these bytes that the terminal has accepted.
    bytes: Vec<u8>,
    accepted: usize,
    /// The number of bytes that the terminal has accepted since the start.
    pub sent: u64,
    /// Whether the terminal reports the mouse.
    pub mouse: bool,
    /// Output that draws nothing. The output is sent with the next frame.
    aside: Vec<u8>,
    /// The first row of the next frame. Rows that did not fit into the last frame come first.
    from: u16,
    /// Whether some rows of the last frame have not been sent yet.
    pub is_part: bool,
}

impl<W: Write> Canvas<W> {
    /// Creates an empty screen with the size of `area`. The screen sends each frame to `out` in one write.
    pub fn new(out: W, area: Rect) -> Self {
        Self {
            out,
            shown: Buffer::empty(area),
            next: Buffer::empty(area),
            repaint: true,
            bytes: Vec::new(),
            accepted: 0,
            sent: 0,
            mouse: false,
            aside: Vec::new(),
            from: 0,
            is_part: false,
        }
    }

    /// Sends `bytes` with the next frame. The bytes must not draw anything.
    pub fn attach(&mut self, bytes: &[u8]) {
        self.aside.extend_from_slice(bytes);
    }

    /// Returns the size of the screen.
    pub fn area(&self) -> Rect {
        self.next.area
    }

    /// Sets a new size. The next frame draws everything.
    pub fn resize(&mut self, area: Rect) {
        self.shown = Buffer::empty(area);
        self.next = Buffer::empty(area);
        self.repaint = true;
    }

    /// Switches to the alternate screen and hides the cursor. Drops earlier output that has not been sent yet.
    ///
    /// # Errors
    /// Fails if the terminal cannot be written to.
    pub fn enter(&mut self) -> io::Result<()> {
        self.bytes.clear();
        queue!(self.bytes, EnterAlternateScreen, cursor::Hide, Print(PASTE_ON), Clear(ClearType::All))?;
        if self.mouse {
            queue!(self.bytes, Print(MOUSE_ON))?;
        }
        self.accepted = 0;
        self.repaint = true;
        self.push().map(drop)
    }

    /// Continues to send pending output. Returns whether the terminal has accepted all output.
    ///
    /// # Errors
    /// Fails if the terminal cannot be written to.
    pub fn push(&mut self) -> io::Result<bool> {
        while self.accepted < self.bytes.len() {
            match self.out.write(&self.bytes[self.accepted..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(taken) => {
                    self.accepted += taken;
                    self.sent += taken as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.out.flush()?;
        Ok(true)
    }

    /// Draws a frame and sends the changes. If the last frame is still being sent, draws nothing. After
    /// `most` bytes, the frame begins no further row, and the next frame sends the rest. Returns whether the
    /// terminal has accepted all output.
    ///
    /// # Errors
    /// Fails if the terminal cannot be written to.
    pub fn frame(&mut self, most: usize, paint: impl FnOnce(&mut Buffer)) -> io::Result<bool> {
        if !self.push()? {
            return Ok(false);
        }
        self.next.reset();
        paint(&mut self.next);
        self.bytes.clear();
        self.accepted = 0;
        let aside = std::mem::take(&mut self.aside);
        let is_aside = !aside.is_empty();
        self.bytes.extend(aside);
        queue!(self.bytes, BeginSynchronizedUpdate)?;
        if self.repaint {
            queue!(self.bytes, Clear(ClearType::All))?;
            self.shown.reset();
        }
        let changes = self.shown.diff(&self.next);
        if changes.is_empty() && !self.repaint && !is_aside {
            self.bytes.clear();
            self.is_part = false;
            return Ok(true);
        }
        let (before, after) = changes.split_at(changes.partition_point(|(_, y, _)| *y < self.from));
        let cells: Vec<_> = [after, before].concat();
        let sent = encode(&mut self.bytes, &cells, most);
        let mut left: Vec<_> = cells[sent..].iter().map(|(_, y, _)| *y).collect();
        left.dedup();
        queue!(self.bytes, EndSynchronizedUpdate)?;
        self.repaint = false;
        self.is_part = !left.is_empty();
        self.from = left.first().copied().unwrap_or_default();
        for row in left {
            let cells = self.row(row);
            self.next.content[cells.clone()].clone_from_slice(&self.shown.content[cells]);
        }
        std::mem::swap(&mut self.shown, &mut self.next);
        self.push()
    }

    /// Returns the range of the cells of a row in the buffer.
    fn row(&self, y: u16) -> Range<usize> {
        let width = usize::from(self.next.area.width);
        let begin = usize::from(y) * width;
        begin..begin + width
    }
}

#[cfg(test)]
mod tests {
    use ratatui::{buffer::Cell, style::Style};

    use super::*;

    /// A terminal that keeps each write separately.
    #[derive(Default)]
    struct WriteLog(Vec<Vec<u8>>);

    impl Write for WriteLog {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn say(canvas: &mut Canvas<WriteLog>, text: &str) {
        canvas
            .frame(usize::MAX, |buffer| {
                buffer.set_string(0, 0, text, Style::new());
            })
            .unwrap();
    }

    #[test]
    fn a_frame_is_one_write_inside_a_synchronized_update() {
        let mut canvas = Canvas::new(WriteLog::default(), Rect::new(0, 0, 10, 2));
        say(&mut canvas, "one");
        say(&mut canvas, "two");
        assert_eq!(canvas.out.0.len(), 2);
        for write in &canvas.out.0 {
            let text = String::from_utf8_lossy(write);
            assert!(text.starts_with("\x1b[?2026h") && text.ends_with("\x1b[?2026l"), "{text:?}");
            assert!(!text.contains("\x1b[6n"), "the cursor was asked for");
        }
    }

    #[test]
    fn without_changes_nothing_is_sent_and_a_resize_sends_everything() {
        let mut canvas = Canvas::new(WriteLog::default(), Rect::new(0, 0, 10, 2));
        say(&mut canvas, "same");
        say(&mut canvas, "same");
        assert_eq!(canvas.out.0.len(), 1);
        canvas.resize(Rect::new(0, 0, 20, 2));
        say(&mut canvas, "same");
        let last = String::from_utf8_lossy(&canvas.out.0[1]).into_owned();
        assert!(last.contains("\x1b[2J") && last.contains("same"), "{last:?}");
    }

    /// A terminal that accepts `room` bytes. The terminal accepts more only after the test gives it more room.
    #[derive(Default)]
    struct SlowTerminal {
        room: usize,
        seen: Vec<u8>,
    }

    impl Write for SlowTerminal {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = self.room.min(bytes.len());
            self.room -= taken;
            self.seen.extend_from_slice(&bytes[..taken]);
            if taken == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(taken) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_frame_is_drawn_only_after_the_terminal_has_accepted_the_previous_frame() {
        let mut canvas = Canvas::new(SlowTerminal::default(), Rect::new(0, 0, 10, 2));
        canvas.out.room = 7;
        let mut painted = Vec::new();
        let mut draw = |canvas: &mut Canvas<SlowTerminal>, text: &str| {
            let taken = canvas.frame(usize::MAX, |buffer| {
                painted.push(text.to_owned());
                buffer.set_string(0, 0, text, Style::new());
            });
            taken.unwrap()
        };
        assert!(!draw(&mut canvas, "one"));
        assert!(!draw(&mut canvas, "two"));
        canvas.resize(Rect::new(0, 0, 12, 2));
        assert!(!canvas.push().unwrap());
        canvas.out.room = 1000;
        assert!(canvas.push().unwrap() && draw(&mut canvas, "three"));
        assert_eq!(painted, ["one", "three"]);
        let text = String::from_utf8(canvas.out.seen).unwrap();
        let frames: Vec<&str> = text.split_inclusive("\x1b[?2026l").collect();
        assert!(frames.len() == 2 && frames[0].contains("one") && frames[1].contains("three"), "{text:?}");
        assert!(frames.iter().all(|frame| frame.starts_with("\x1b[?2026h")), "{text:?}");
    }

    #[test]
    fn a_long_frame_is_sent_in_parts_and_every_row_is_sent_in_the_end() {
        let mut canvas = Canvas::new(WriteLog::default(), Rect::new(0, 0, 1, 5));
        let mut rows = Vec::new();
        for text in ["a", "b", "c", "d", "e", "f"] {
            canvas
                .frame(1, |buffer| (0..5).for_each(|y| buffer.set_string(0, y, text, Style::new())))
                .unwrap();
            assert!(canvas.is_part, "each frame changes each row");
            let sent = String::from_utf8_lossy(canvas.out.0.last().unwrap()).into_owned();
            rows.extend((0..5).filter(|y| sent.contains(&format!("\x1b[{};1H{text}", y + 1))));
        }
        assert_eq!(rows, [0, 1, 2, 3, 4, 0], "a row a frame");
        for _ in 0..5 {
            canvas.frame(1, |buffer| buffer.set_string(0, 0, "f", Style::new())).unwrap();
        }
        assert!(!canvas.is_part);
        let shown: String = canvas.shown.content.iter().map(Cell::symbol).collect();
        assert_eq!(shown, "f    ");
    }
}
