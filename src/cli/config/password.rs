//! Passwords that are in no file. A command prints the password, or the user types it. The terminal does not show the
//! typed password.

use std::{
    io::{self, IsTerminal, Read as _, Write as _},
    process::{Command, Stdio},
    sync::mpsc::Receiver,
};

use anyhow::{Context as _, bail};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    stdio::stdin,
    termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr},
};

use crate::{
    endpoint::Password,
    print::words::StreamText,
    runner::{Failure, UsageError, end_signals},
    signals::{Signal, restore_default},
};

/// The largest number of bytes that are read from the output of a command.
const LONGEST: u64 = 64 * 1024;
/// The time between two checks for signals while the user types the password.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Runs a shell command, and returns the first line that it prints.
///
/// # Errors
/// Fails if the command fails, or prints no line.
pub fn password_of_command(command: &str) -> anyhow::Result<Password> {
    let sh = Command::new("sh").args(["-c", command]).stdout(Stdio::piped()).spawn();
    let mut sh = sh.context("password-command: cannot start sh")?;
    let mut printed = Vec::new();
    if let Some(pipe) = sh.stdout.take() {
        pipe.take(LONGEST).read_to_end(&mut printed).context("password-command")?;
    }
    let status = sh.wait().context("password-command")?;
    if !status.success() {
        bail!("password-command failed: {status}");
    }
    let text = io::read_to_string(&printed[..]).context("password-command prints no UTF-8 text")?;
    match text.lines().next().unwrap_or_default() {
        "" => bail!("password-command prints no password in its first line"),
        line => Ok(Password::new(line)),
    }
}

/// A terminal that does not show typed characters, and delivers each key, even Ctrl-C. Dropping the value restores the
/// terminal.
struct HiddenInput(Termios);

impl HiddenInput {
    fn begin() -> io::Result<Self> {
        let usual = tcgetattr(stdin())?;
        let mut unseen = usual.clone();
        unseen.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        unseen.special_codes[SpecialCodeIndex::VMIN] = 1;
        unseen.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(stdin(), OptionalActions::Flush, &unseen)?;
        Ok(Self(usual))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // A terminal that is gone need not be restored.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
        let _ = writeln!(StreamText::stderr());
    }
}

/// Waits for the next typed byte.
fn key(signals: &Receiver<Signal>) -> Result<u8, Failure> {
    let mut key = [0];
    loop {
        if signals.try_recv().is_ok() {
            return Err(Failure::Interrupted);
        }
        let input = stdin();
        let mut polled = [PollFd::new(&input, PollFlags::IN)];
        match poll(&mut polled, Some(&LOOK)) {
            Ok(0) | Err(Errno::INTR) => {}
            // A terminal that is gone has no more bytes, or returns an error.
            _ => match rustix::io::read(input, &mut key) {
                Ok(0) | Err(Errno::IO) => return Err(Failure::Interrupted),
                read => {
                    read.context("--askpass")?;
                    return Ok(key[0]);
                }
            },
        }
    }
}

/// Asks the user for a password at the terminal.
///
/// # Errors
/// Fails if standard input is not a terminal, Ctrl-C is typed, or a signal requests the end.
pub fn ask() -> Result<Password, Failure> {
    if !io::stdin().is_terminal() {
        let text = "--askpass needs a terminal, and standard input is none; give the password in the environment variable REDISCLI_AUTH";
        return Err(UsageError::of(text).into());
    }
    // Without a handler, a signal would end redyno before the terminal shows typed characters again.
    let signals = end_signals()?;
    let typed = typed(&signals);
    restore_default(&Signal::ENDS).context("--askpass")?;
    match signals.try_recv() {
        Ok(_) => Err(Failure::Interrupted),
        Err(_) => typed,
    }
}

fn typed(signals: &Receiver<Signal>) -> Result<Password, Failure> {
    let _unseen = HiddenInput::begin().context("--askpass: cannot hide the typed characters")?;
    let mut err = StreamText::stderr();
    write!(err, "Please input password: ").and_then(|()| err.flush()).context("--askpass")?;
    let mut typed = Vec::new();
    loop {
        match key(signals)? {
            b'\n' | b'\r' | 0x04 => break,
            0x03 => return Err(Failure::Interrupted),
            // Backspace removes all bytes of the last character.
            0x08 | 0x7f => while typed.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {},
            0x15 => typed.clear(),
            byte => typed.push(byte),
        }
    }
    let text = io::read_to_string(&typed[..]).context("--askpass: the password is no UTF-8 text")?;
    Ok(Password::new(text))
}
