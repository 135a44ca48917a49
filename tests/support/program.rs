//! The real program without a terminal: started, listened to, signalled, and ended whatever happens.

use std::{
    io::Read,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::Instant,
};

use redyno::session::Record;
use rustix::process::{Pid, Signal, kill_process};

use super::{LIMIT, LOOK_EVERY, wait_for};

/// A directory without a config file.
const NO_CONFIG: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/no-config");

/// The program with `args`, deaf to what the environment of the tests says.
pub fn redyno(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redyno"));
    command.args(args).stdin(Stdio::null()).env("LC_ALL", "C.UTF-8").env("XDG_CONFIG_HOME", NO_CONFIG);
    for variable in ["REDISCLI_AUTH", "NO_COLOR", "COLUMNS", "LINES", "GITHUB_ACTIONS", "XDG_STATE_HOME"] {
        command.env_remove(variable);
    }
    command
}

/// What a program wrote, and how it ended.
#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    pub out: String,
    pub err: String,
}

impl Outcome {
    /// Its exit code; a signal is none, and fails the test.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("ended by a signal: {self:?}"))
    }

    /// The records on stdout. Every line must be one.
    pub fn records(&self) -> Vec<Record> {
        records(&self.out)
    }

    /// Fails the test unless it ended with `code`.
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code(), code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// The lines on stderr, without the count of pings that were unanswered at the end: a busy machine has some.
    pub fn err_without_unanswered(&self) -> Vec<&str> {
        self.err.lines().filter(|line| !line.contains(" unanswered, the oldest for ")).collect()
    }
}

/// Every line of `text` as a record.
pub fn records(text: &str) -> Vec<Record> {
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(parse).collect()
}

/// Runs the program to its end.
pub fn run(args: &[&str]) -> Outcome {
    Running::start(redyno(args)).end()
}

/// A program that runs, until this is dropped.
pub struct Running {
    child: Child,
    out: Stream,
    err: Stream,
}

/// What came out of a pipe so far, and the thread that reads it.
struct Stream {
    text: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts it.
    pub fn start(mut command: Command) -> Self {
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let out = Stream::read(child.stdout.take().expect("a pipe"));
        let err = Stream::read(child.stderr.take().expect("a pipe"));
        Self { child, out, err }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the program runs");
    }

    /// What it wrote to stdout so far.
    pub fn out(&self) -> String {
        self.out.so_far()
    }

    /// What it wrote to stdout and to stderr so far.
    pub fn said(&self) -> String {
        self.out.so_far() + &self.err.so_far()
    }

    /// Whether it has closed its stdout, so that nothing more comes.
    pub fn has_closed(&self) -> bool {
        self.out.reader.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until `found` sees in what it wrote to stdout what it looks for. It is asked again after more was written.
    pub fn wait_for<T>(&self, what: &str, mut found: impl FnMut(&str) -> Option<T>) -> T {
        let deadline = Instant::now() + LIMIT;
        let mut seen = None;
        loop {
            let (is_over, length) = (self.has_closed(), self.out.length());
            if seen.replace(length) != Some(length)
                && let Some(found) = found(&self.out.so_far())
            {
                return found;
            }
            let output = || format!("stdout:\n{}\nstderr:\n{}", self.out(), self.err.so_far());
            assert!(!is_over && Instant::now() < deadline, "waited in vain for {what}; {}", output());
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits until `found` takes a record on stdout, from the first on.
    pub fn wait_for_record<T>(&self, what: &str, mut found: impl FnMut(Record) -> Option<T>) -> T {
        let mut seen = 0;
        self.wait_for(what, |out| {
            let new = &out[seen..=out.rfind('\n')?];
            seen += new.len();
            records(new).into_iter().find_map(&mut found)
        })
    }

    /// Waits until `n` lines of stdout have the text `part`.
    pub fn wait_for_lines(&self, n: usize, part: &str) {
        self.wait_for(&format!("{n} lines with {part}"), |out| {
            (out.lines().filter(|line| line.contains(part)).count() >= n).then_some(())
        });
    }

    /// Waits for its end for as long as it goes on writing to stdout.
    pub fn end_of_writing(mut self) -> Outcome {
        let mut written = 0;
        loop {
            let more = wait_for("its end, or more of its output", || {
                let is_over = self.child.try_wait().expect("its state").is_some();
                let now = self.out.so_far().len();
                (is_over || now > written).then_some((is_over, now))
            });
            written = more.1;
            if more.0 {
                return self.end();
            }
        }
    }

    /// Waits for its end.
    pub fn end(mut self) -> Outcome {
        let status = wait_for("the program's end", || self.child.try_wait().expect("its state"));
        Outcome { status, out: self.out.whole(), err: self.err.whole() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Stream {
    fn read(mut pipe: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let shared = Arc::clone(&text);
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 16 * 1024];
            let mut partial = Vec::new();
            while let Ok(n @ 1..) = pipe.read(&mut bytes) {
                partial.extend_from_slice(&bytes[..n]);
                // A character may lie across two reads.
                let whole = std::str::from_utf8(&partial).map_or_else(|e| e.valid_up_to(), str::len);
                let text = String::from_utf8_lossy(&partial[..whole]).into_owned();
                shared.lock().expect("no reader panics").push_str(&text);
                partial.drain(..whole);
            }
        });
        Self { text, reader: Some(reader) }
    }

    fn length(&self) -> usize {
        self.text.lock().expect("no reader panics").len()
    }

    fn so_far(&self) -> String {
        self.text.lock().expect("no reader panics").clone()
    }

    fn whole(&mut self) -> String {
        self.reader.take().map_or(Ok(()), JoinHandle::join).expect("no reader panics");
        self.so_far()
    }
}

/// Waits for the end of a child that the test started itself; one that does not end is killed.
pub fn end_of(child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(status) = child.try_wait().expect("its state") {
            return status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            panic!("waited in vain for the program's end");
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
