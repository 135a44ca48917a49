//! The real program in a pseudo-terminal: keys go in, the screen is read, signals and sizes come as from a terminal.

use std::{
    io::{Read, Write},
    num::NonZeroU16,
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Instant,
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags, open},
    process::{Pid, Signal, kill_process},
};

use super::{LIMIT, LOOK_EVERY, Server, program::redyno, threads, wait_for, wait_or};

pub const RIGHT: &str = "\x1b[C";
pub const LEFT: &str = "\x1b[D";
pub const DOWN: &str = "\x1b[B";

/// Lines that the terminal remembers above its screen.
const SCROLLBACK: usize = 200;

/// A terminal with the program in it, until this is dropped.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    shared: Arc<Mutex<Shown>>,
    /// Reads until the program has ended.
    reader: JoinHandle<()>,
    is_stalled: Arc<AtomicBool>,
    /// Whether the reader holds still: what it takes last is behind it.
    is_parked: Arc<AtomicBool>,
}

/// What came from the program.
struct Shown {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    /// How many of the bytes are on the screen.
    drawn: usize,
}

impl Shown {
    /// Draws what has come up to the last frame that is not whole yet, as terminals do between the two sequences of a
    /// synchronized update. Without this, a test sees the upper half of a new frame above the lower half of the old.
    fn draw(&mut self) {
        let last_of = |sequence: &[u8]| self.bytes.windows(sequence.len()).rposition(|part| part == sequence);
        let (begin, end) = (last_of(b"\x1b[?2026h"), last_of(b"\x1b[?2026l"));
        let whole = begin.filter(|begin| end.is_none_or(|end| end < *begin)).unwrap_or(self.bytes.len());
        self.draw_to(whole);
    }

    fn draw_to(&mut self, end: usize) {
        if end > self.drawn {
            self.parser.process(&self.bytes[self.drawn..end]);
            self.drawn = end;
        }
    }
}

impl Terminal {
    /// Starts `command` in a terminal of `columns` × `rows`.
    pub fn start(command: &Command, columns: u16, rows: u16) -> Self {
        let pair = native_pty_system().openpty(size(columns, rows)).expect("a pseudo-terminal");
        let mut reader = pair.master.try_clone_reader().expect("its output");
        let child = pair.slave.spawn_command(builder(command)).expect("the program starts");
        drop(pair.slave);
        let keys = pair.master.take_writer().expect("its input");
        let parser = vt100::Parser::new(nonzero(rows), nonzero(columns), SCROLLBACK);
        let shared = Arc::new(Mutex::new(Shown { parser, bytes: Vec::new(), drawn: 0 }));
        let shown = Arc::clone(&shared);
        let is_stalled = Arc::new(AtomicBool::new(false));
        let stalled = Arc::clone(&is_stalled);
        let is_parked = Arc::new(AtomicBool::new(false));
        let parked = Arc::clone(&is_parked);
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 16 * 1024];
            // The read fails when the program has ended, and all that it wrote was read.
            while let Ok(n @ 1..) = reader.read(&mut bytes) {
                while stalled.load(Ordering::SeqCst) {
                    parked.store(true, Ordering::SeqCst);
                    std::thread::sleep(LOOK_EVERY);
                }
                parked.store(false, Ordering::SeqCst);
                let mut shown = shown.lock().expect("no reader panics");
                shown.bytes.extend_from_slice(&bytes[..n]);
                shown.draw();
            }
            let mut shown = shown.lock().expect("no reader panics");
            let all = shown.bytes.len();
            shown.draw_to(all);
        });
        Self { child, master: pair.master, keys, shared, reader, is_stalled, is_parked }
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).and_then(|()| self.keys.flush()).expect("the terminal is there");
    }

    /// Makes the terminal another size.
    pub fn resize(&self, columns: u16, rows: u16) {
        let mut shown = self.shared.lock().expect("no reader panics");
        shown.parser.screen_mut().set_size(nonzero(rows), nonzero(columns));
        self.master.resize(size(columns, rows)).expect("the terminal is there");
    }

    /// Stops or goes on to read what the program sends, without being gone.
    pub fn stall(&self, stall: bool) {
        self.is_stalled.store(stall, Ordering::SeqCst);
    }

    /// Whether it reads no more and has no room left: what the program writes now must wait.
    pub fn is_full(&self) -> bool {
        if !self.is_parked.load(Ordering::SeqCst) {
            return false;
        }
        let name = format!("/proc/{}/fd/1", self.pid().as_raw_nonzero());
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let Ok(terminal) = open(name, flags, Mode::empty()) else { return false };
        let mut polled = [PollFd::new(&terminal, PollFlags::OUT)];
        poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready == 0)
    }

    /// Waits for the program's end; its exit code, none after a signal. Does not look at the screen.
    pub fn exit_code(&mut self) -> Option<i32> {
        let pid = self.pid();
        let what = || format!("the program's end; its threads:\n{}", threads(pid));
        let status = wait_or(what, || self.child.try_wait().expect("its state"));
        status.signal().is_none().then(|| status.exit_code().cast_signed())
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the program runs");
    }

    /// Whether the terminal shows the keys that are pressed.
    pub fn shows_keys(&self) -> bool {
        let modes = self.master.get_termios().expect("the modes of a terminal").local_flags;
        modes.iter_names().any(|(name, _)| name == "ECHO")
    }

    /// Its process.
    pub fn pid(&self) -> Pid {
        let pid = self.child.process_id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        pid.expect("a process has an id")
    }

    /// What the screen shows.
    pub fn text(&self) -> String {
        self.screen(vt100::Screen::contents)
    }

    /// Something of the screen.
    pub fn screen<T>(&self, read: impl FnOnce(&vt100::Screen) -> T) -> T {
        read(self.shared.lock().expect("no reader panics").parser.screen())
    }

    /// Everything that came so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.shared.lock().expect("no reader panics").bytes.clone()
    }

    /// Waits until `found` sees on the screen what it looks for.
    pub fn wait_for<T>(&self, what: &str, mut found: impl FnMut(&str) -> Option<T>) -> T {
        let deadline = Instant::now() + LIMIT;
        loop {
            let text = self.text();
            if let Some(found) = found(&text) {
                return found;
            }
            assert!(Instant::now() < deadline, "waited in vain for {what}; the screen:\n{text}");
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits until the screen shows `text`.
    pub fn wait_for_text(&self, text: &str) {
        self.wait_for(text, |screen| screen.contains(text).then_some(()));
    }

    /// Waits until the header's clock says `time` or later: a frame of its own may be skipped on a busy machine.
    pub fn wait_for_time(&self, time: &str) {
        self.wait_for(time, |screen| (clock(screen)? >= time).then_some(()));
    }

    /// Waits until the screen does not show `text` any more.
    pub fn wait_until_gone(&self, text: &str) {
        self.wait_for(&format!("the end of '{text}'"), |screen| (!screen.contains(text)).then_some(()));
    }

    /// Waits for the program's end: its exit code, none after a signal, and what is left on the terminal.
    pub fn end(mut self) -> (Option<i32>, String) {
        let pid = self.pid();
        let what = || format!("the program's end; its threads:\n{}", threads(pid));
        let status = wait_or(what, || self.child.try_wait().expect("its state"));
        super::wait_for("the last bytes", || self.reader.is_finished().then_some(()));
        let code = status.signal().is_none().then(|| status.exit_code().cast_signed());
        (code, self.text())
    }

    /// The screen, row by row.
    pub fn rows(&self) -> Vec<String> {
        self.screen(|screen| screen.rows(0, screen.size().1.get()).collect())
    }

    /// Whether the program is stopped, as after Ctrl-Z.
    pub fn is_stopped(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid().as_raw_nonzero()));
        // The state follows the name, which stands in brackets.
        stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')))
    }

    /// Whether the terminal is as the program found it: main screen, cursor shown, colours off.
    pub fn is_given_back(&self) -> bool {
        self.screen(|screen| {
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && screen.fgcolor() == vt100::Color::Default
                && screen.bgcolor() == vt100::Color::Default
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
                && !screen.bracketed_paste()
        })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = kill_process(self.pid(), Signal::KILL);
        let _ = self.child.wait();
    }
}

fn builder(command: &Command) -> CommandBuilder {
    let mut builder = CommandBuilder::new(command.get_program());
    builder.args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        builder.cwd(folder);
    }
    builder.env("TERM", "xterm-256color");
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => builder.env(name, value),
            None => builder.env_remove(name),
        }
    }
    builder
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

fn nonzero(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).expect("a terminal has rows and columns")
}

/// The time of the session in the header, `00:01:05`; the wall clock may follow it.
pub fn clock(screen: &str) -> Option<&str> {
    let is_time = |word: &&str| word.len() == 8 && word.bytes().filter(|byte| *byte == b':').count() == 2;
    screen.lines().next()?.split(' ').find(is_time)
}

/// The screen over `server`, with the load on.
pub fn loaded(server: &Server, more: &[&str]) -> Terminal {
    let port = server.port_text();
    let terminal = Terminal::start(&redyno(&[&["-p", &port, "--load"], more].concat()), 120, 36);
    terminal.wait_for_text("● LOAD");
    terminal
}

/// Waits until the server lists `n` connections that carry load.
pub fn wait_for_clients(server: &Server, n: usize) {
    wait_for(&format!("{n} connections"), || (server.load_ids().len() == n).then_some(()));
}

/// Leaves by `q`, and sees that all is as it was: the terminal, and the server without our keys.
pub fn quit(mut terminal: Terminal, server: &Server) -> String {
    terminal.press("q");
    let (code, text) = terminal.end();
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(server.cli(&["KEYS", "redyno:*"]), "");
    text
}
