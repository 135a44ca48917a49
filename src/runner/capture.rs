//! Carries out `redyno capture`: reads the lines of MONITOR, and writes these lines to a file. A second
//! thread writes the file, so reading never waits for the file.
//!
//! ```text
//!  MONITOR ─► this thread ─► at most 16 MB of lines ─► writer: leaves out commands and values ─► file
//! ```

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{self, BufWriter, IsTerminal, Write},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context, anyhow, bail};

use super::{Failure, Plan, UsageError, end_signals};
use crate::{
    endpoint::{ReachError, Talk, Target, talk},
    print::words::{StreamText, ask},
    protocol::RespValue,
    server::{Info, MOST_COMMANDS_PER_S},
    signals::Signal,
    units::count_with_noun,
    untrusted,
    workload::{LENGTHS, MonitorLine, command_of, left_out_words, moved_keys, not_sent, quoted},
};

/// The timeout for connecting, and for each reply.
const LIMIT: Duration = Duration::from_secs(5);
/// The time between two checks whether the time of the capture is over or a signal has arrived.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The largest number of bytes that were read but not written. If there are more, the capture ends.
const MOST_BEHIND: usize = 16 << 20;
/// The maximum length of a line, in bytes.
const LONGEST: usize = 16 << 20;
/// The size of the parts that are passed to the writer, in bytes.
const PART: usize = 64 << 10;
/// The maximum number of names that are counted separately. Further names are counted together.
const MOST_NAMES: usize = 1000;

/// The plan of a capture.
pub struct CaptureRun {
    /// The server. The protocol is RESP2.
    pub target: Target,
    /// The length of the capture.
    pub duration: Duration,
    /// The path of the new file.
    pub file: PathBuf,
    /// Whether values are written. If not, the capture writes only the lengths of values.
    pub keeps_values: bool,
    /// Whether the user allows the capture in advance.
    pub is_allowed: bool,
}

impl Plan for CaptureRun {
    fn run(self: Box<Self>) -> Result<(), Failure> {
        let mut talk = talk(&self.target, None, LIMIT).map_err(anyhow::Error::from)?.bounded(LONGEST);
        let ops_per_s = ops_per_s(&mut talk)?;
        let has_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
        if !self.may_begin(ops_per_s, has_terminal)? {
            return Ok(());
        }
        let shown = untrusted::path(&self.file);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.file);
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => anyhow!("-o {shown}: there is already a file; give another name"),
            _ => anyhow!("-o {shown}: {error}"),
        })?;
        let signals = end_signals()?;
        self.begin(&mut talk).inspect_err(|_| drop(std::fs::remove_file(&self.file)))?;
        let (behind, (lines, to_write)) = (Arc::new(AtomicUsize::new(0)), mpsc::channel());
        let writer = self.writer(file, to_write, Arc::clone(&behind))?;
        let mut reading = CaptureBuffer { part: Vec::new(), lines, behind, is_over: false };
        let (began, read) = (Instant::now(), self.read(&mut talk, &mut reading, &signals));
        // The writer now writes the rest and ends.
        reading.pass_on();
        drop((talk, reading));
        let written = writer.join().map_err(|_| anyhow!("the writer of {shown} panicked"))?;
        let written = written.with_context(|| format!("cannot write {shown}"))?;
        let took_s = began.elapsed().as_secs_f64();
        writeln!(
            StreamText::stdout(),
            "{shown}: {} in {took_s:.1} s{}",
            count_with_noun(written.lines, "command"),
            written.rest()
        )
        .context("cannot write to stdout")?;
        read
    }
}

/// Returns the server's commands per second.
fn ops_per_s(talk: &mut Talk) -> Result<u64, Failure> {
    let reply = talk.reply(&[b"INFO", b"stats"], LIMIT).map_err(anyhow::Error::from)?;
    Ok(Info::parse(&untrusted::lines(&reply)).number("instantaneous_ops_per_sec").unwrap_or(0))
}

impl CaptureRun {
    /// Returns whether the capture may begin. Asks the user if necessary.
    fn may_begin(&self, ops_per_s: u64, has_terminal: bool) -> Result<bool, Failure> {
        let address = &self.target.address;
        let cost = format!(
            "{address} runs {} a second; for {} s, MONITOR makes the server format a copy of each command; a \
             busy server may lose half its throughput",
            count_with_noun(ops_per_s, "command"),
            self.duration.as_secs_f64()
        );
        let is_busy = ops_per_s > MOST_COMMANDS_PER_S;
        if self.is_allowed {
            return Ok(true);
        }
        if is_busy || !has_terminal {
            return Err(UsageError::asks(cost + ".").into());
        }
        Ok(ask(&format!("{cost}\nCapture?"))?)
    }

    /// Sends MONITOR.
    fn begin(&self, talk: &mut Talk) -> Result<(), Failure> {
        let reply = talk.reply(&[b"MONITOR"], LIMIT).map_err(anyhow::Error::from)?;
        match RespValue::read(&reply) {
            Some(RespValue::Error(line)) => {
                let message = untrusted::bytes(line);
                Err(anyhow!("{} refuses MONITOR: {message}", self.target.address).into())
            }
            _ => Ok(()),
        }
    }

    /// Reads lines until the duration is over, a signal arrives, or the writer is too far behind.
    fn read(
        &self,
        talk: &mut Talk,
        reading: &mut CaptureBuffer,
        signals: &Receiver<Signal>,
    ) -> Result<(), Failure> {
        let until = Instant::now() + self.duration;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            match talk.ask(b"", usize::MAX, left.min(LOOK_EVERY), |line, _| reading.take(line)) {
                Err(ReachError::Io { cause, .. }) if cause.kind() == io::ErrorKind::TimedOut => {}
                other => other.map_err(|error| anyhow!("the capture ended early: {error}"))?,
            }
            reading.pass_on();
            // What clients sent before the signal has been read now.
            if signals.try_recv().is_ok() {
                return Err(Failure::Interrupted);
            }
            reading.check()?;
            if reading.is_over {
                // The writer has failed, and reports why.
                return Ok(());
            }
        }
    }

    /// Starts the writer. The writer ends when the sender of `parts` is dropped.
    fn writer(
        &self,
        file: File,
        parts: Receiver<Vec<u8>>,
        behind: Arc<AtomicUsize>,
    ) -> Result<JoinHandle<io::Result<CaptureCounts>>, Failure> {
        let mut writing = CaptureWriter {
            to: BufWriter::new(file),
            keeps_values: self.keeps_values,
            written: CaptureCounts::default(),
        };
        let about = format!("# redyno capture of {}\n", self.target.address);
        let write = move || {
            let lengths = if writing.keeps_values { "" } else { LENGTHS };
            writeln!(writing.to, "{about}{lengths}")?;
            for part in parts {
                part.split(|byte| *byte == b'\n').try_for_each(|line| writing.line(line.trim_ascii()))?;
                behind.fetch_sub(part.len(), Ordering::Relaxed);
            }
            writing.to.flush()?;
            Ok(writing.written)
        };
        Ok(thread::Builder::new().name("capture".to_owned()).spawn(write).context("cannot start a thread")?)
    }
}

/// The lines that were read, but that the writer has not received yet.
struct CaptureBuffer {
    part: Vec<u8>,
    lines: mpsc::Sender<Vec<u8>>,
    /// The number of bytes that the writer has not written yet.
    behind: Arc<AtomicUsize>,
    /// Whether the writer has ended.
    is_over: bool,
}

impl CaptureBuffer {
    fn take(&mut self, line: &[u8]) {
        self.part.extend_from_slice(line);
        if self.part.len() >= PART {
            self.pass_on();
        }
    }

    /// Checks that the writer is not too far behind.
    fn check(&self) -> anyhow::Result<()> {
        match self.behind.load(Ordering::Relaxed) {
            0..=MOST_BEHIND => Ok(()),
            _ => {
                bail!("the capture ended early: the file was 16 MB behind the server; write to a faster disk")
            }
        }
    }

    fn pass_on(&mut self) {
        let part = std::mem::take(&mut self.part);
        self.behind.fetch_add(part.len(), Ordering::Relaxed);
        self.is_over |= self.lines.send(part).is_err();
    }
}

/// The counts of the writer.
#[derive(Default)]
struct CaptureCounts {
    lines: u64,
    /// The number of commands that were not written, by name.
    not_written: BTreeMap<String, u64>,
}

impl CaptureCounts {
    /// Counts a command as not written.
    fn leave_out(&mut self, name: String) {
        let names = &mut self.not_written;
        let is_full = names.len() >= MOST_NAMES && !names.contains_key(&name);
        *names.entry(if is_full { "others".to_owned() } else { name }).or_default() += 1;
    }

    /// Returns a text about the commands that were not written.
    fn rest(&self) -> String {
        let mut all: Vec<_> = self.not_written.iter().map(|(name, count)| (name.clone(), *count)).collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        not_sent(&all, "written")
    }
}

/// The writer of a capture's file.
struct CaptureWriter<W: Write> {
    to: W,
    keeps_values: bool,
    written: CaptureCounts,
}

impl<W: Write> CaptureWriter<W> {
    /// Writes a line of MONITOR, or counts its command as not written.
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let line = line.strip_prefix(b"+").unwrap_or(line);
        if line.is_empty() || line == b"OK" {
            return Ok(());
        }
        let Ok(MonitorLine { words, .. }) = MonitorLine::read(line) else {
            self.written.leave_out("unreadable lines".to_owned());
            return Ok(());
        };
        let left_out = if self.keeps_values { Some(Vec::new()) } else { left_out_words(&words) };
        let Some(left_out) = left_out.filter(|_| moved_keys(&words).is_some()) else {
            self.written.leave_out(command_of(&words));
            return Ok(());
        };
        self.written.lines += 1;
        if self.keeps_values {
            return self.to.write_all(line).and_then(|()| self.to.write_all(b"\n"));
        }
        let mut text = line[..memchr::memmem::find(line, b"] \"").map_or(0, |end| end + 1)].to_vec();
        for (place, word) in words.iter().enumerate() {
            text.push(b' ');
            let length = format!("({} bytes)", word.len());
            quoted(if left_out.contains(&place) { length.as_bytes() } else { word }, &mut text);
        }
        text.push(b'\n');
        self.to.write_all(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(keeps_values: bool, lines: &[&str]) -> (String, String) {
        let mut writing = CaptureWriter { to: Vec::new(), keeps_values, written: CaptureCounts::default() };
        lines.iter().for_each(|line| writing.line(line.as_bytes()).unwrap());
        (String::from_utf8(writing.to).unwrap(), writing.written.rest())
    }

    #[test]
    fn a_capture_of_a_busy_server_needs_consent_in_advance() {
        let run = |is_allowed| CaptureRun {
            target: Target::default(),
            duration: Duration::from_secs(60),
            file: PathBuf::new(),
            keeps_values: false,
            is_allowed,
        };
        assert!(run(true).may_begin(MOST_COMMANDS_PER_S + 1, false).unwrap());
        for (ops_per_s, has_terminal) in [(MOST_COMMANDS_PER_S + 1, true), (5, false)] {
            let error = run(false).may_begin(ops_per_s, has_terminal).unwrap_err();
            assert!(error.exit_code() == 2 && error.to_string().ends_with("Give --yes to go on."), "{error}");
        }
    }

    #[test]
    fn a_writer_that_is_too_far_behind_ends_the_capture() {
        let (lines, parts) = mpsc::channel();
        let behind = Arc::new(AtomicUsize::new(0));
        let mut reading = CaptureBuffer { part: Vec::new(), lines, behind, is_over: false };
        let line = vec![b'x'; 1 << 20];
        (0..16).for_each(|_| reading.take(&line));
        assert!(reading.check().is_ok() && !reading.is_over);
        reading.take(&line);
        assert!(reading.check().unwrap_err().to_string().contains("16 MB behind"));
        drop(parts);
        reading.take(&line);
        assert!(reading.is_over);
    }

    #[test]
    fn values_and_commands_that_are_never_replayed_are_left_out() {
        let lines = [
            "OK",
            r#"+1700000000.000001 [0 127.0.0.1:1] "SET" "k\x00" "a secret" "EX" "60""#,
            r#"+1700000000.000002 [0 lua] "GET" "k""#,
            r#"+1700000000.000003 [0 127.0.0.1:1] "AUTH" "ann" "hunter2""#,
            r#"+1700000000.000004 [0 127.0.0.1:1] "CONFIG" "GET" "requirepass""#,
            r#"+1700000000.000005 [0 127.0.0.1:1] "AUTH" "hunter2""#,
            r#"+1700000000.000006 [0 127.0.0.1:1] "GET" "\q""#,
        ];
        let set = r#"1700000000.000001 [0 127.0.0.1:1] "SET" "k\x00" "(8 bytes)" "EX" "60""#;
        let get = r#"1700000000.000002 [0 lua] "GET" "k""#;
        let (text, rest) = written(false, &lines);
        assert_eq!(text, format!("{set}\n{get}\n"));
        assert_eq!(rest, "; 4 commands not written: AUTH 2, CONFIG GET 1, unreadable lines 1");
        let (text, _) = written(true, &lines);
        assert_eq!(text, format!("{}\n{get}\n", set.replace("(8 bytes)", "a secret")));
    }
}
