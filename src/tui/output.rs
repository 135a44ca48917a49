//! Writes to the terminal without ever blocking for long.
//!
//! A terminal can stop reading, for example if an SSH connection hangs or a multiplexer is paused. A blocking write
//! would then block the thread that also handles keys and signals. redyno therefore opens the terminal a second time in
//! non-blocking mode. In non-blocking mode, a write sends only as much as fits at once. redyno does not change the mode
//! of standard output, because the shell uses standard output too.

use std::{
    fs::File,
    io::{self, Write},
    os::fd::{BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags, open},
    stdio::stdout,
    termios::{QueueSelector, tcflush, tcgetsid, ttyname},
};

/// The timeout for the last output at the end of the program.
const PATIENCE: Duration = Duration::from_millis(500);

/// A terminal to write to. A write sends as much as fits at once. If nothing fits, the write returns an error of the
/// kind [`WouldBlock`](io::ErrorKind::WouldBlock).
pub struct TerminalOutput(File);

impl TerminalOutput {
    /// Opens the terminal on standard output. If the terminal cannot be opened again, writes go to standard output
    /// itself and may block.
    ///
    /// # Errors
    /// Fails if there is no standard output.
    pub fn open() -> io::Result<Self> {
        Self::to(stdout())
    }

    fn to(output: BorrowedFd<'_>) -> io::Result<Self> {
        let descriptor = open_again(output).or_else(|_| output.try_clone_to_owned())?;
        Ok(Self(File::from(descriptor)))
    }

    /// Sends all `bytes`, and waits for the terminal for at most `limit` in total.
    ///
    /// # Errors
    /// Fails if the terminal is gone, or has not accepted all bytes in time ([`TimedOut`](io::ErrorKind::TimedOut)).
    pub fn send_within(&mut self, mut bytes: &[u8], limit: Duration) -> io::Result<()> {
        let deadline = Instant::now() + limit;
        while !bytes.is_empty() {
            match self.0.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(taken) => bytes = &bytes[taken..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait_until(deadline)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends the final output of a screen. If the terminal has stalled, older output that the terminal has not read is
    /// dropped to make room.
    ///
    /// # Errors
    /// Returns the errors of [`send_within`](Self::send_within).
    pub fn send_last(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.send_within(bytes, PATIENCE) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                tcflush(&self.0, QueueSelector::OFlush)?;
                self.send_within(bytes, PATIENCE)
            }
            sent => sent,
        }
    }

    fn wait_until(&self, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], Some(&left)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Write for TerminalOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn open_again(output: BorrowedFd<'_>) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // A program can open its controlling terminal by this name, even if the terminal belongs to another user, as
    // after su.
    match tcgetsid(output) {
        Ok(_) => open("/dev/tty", flags, Mode::empty()),
        Err(_) => open(ttyname(output, Vec::new())?, flags, Mode::empty()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// Returns a full pipe and its reading end, which is not read.
    fn stalled() -> (TerminalOutput, io::PipeReader) {
        let (reader, writer) = io::pipe().unwrap();
        rustix::fs::fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
        let mut wire = TerminalOutput(File::from(OwnedFd::from(writer)));
        while wire.write(&[b'x'; 4096]).is_ok() {}
        (wire, reader)
    }

    #[test]
    fn a_terminal_that_accepts_nothing_causes_a_timeout() {
        let (mut wire, _reader) = stalled();
        assert_eq!(wire.write(b"now").unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let error = wire.send_within(b"later", Duration::from_millis(20)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_terminal_that_reads_again_gets_all_bytes() {
        let (mut wire, mut reader) = stalled();
        let reading = std::thread::spawn(move || {
            let mut all = Vec::new();
            let mut bytes = [0; 4096];
            while !all.ends_with(b"end") {
                let n = reader.read(&mut bytes).unwrap();
                all.extend_from_slice(&bytes[..n]);
            }
        });
        wire.send_within(b"the end", Duration::from_secs(20)).unwrap();
        reading.join().unwrap();
    }
}
