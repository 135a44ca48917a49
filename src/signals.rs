//! Signals as messages: a thread waits for them and passes them on.

use std::{
    io,
    sync::mpsc::{self, Receiver},
    thread,
};

use signal_hook::{
    consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP},
    iterator::Signals,
    low_level,
};

/// A signal that asks for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C, or `kill -INT`.
    Interrupt,
    /// `kill`.
    Terminate,
    /// The terminal or the connection to it is gone.
    HangUp,
    /// `kill -TSTP`: give the terminal back and stop. The key Ctrl-Z comes as a key.
    Suspend,
    /// The process goes on after a stop.
    Continue,
}

impl Signal {
    /// The signals that ask a program without a screen to end.
    pub const ENDS: [Self; 3] = [Self::Interrupt, Self::Terminate, Self::HangUp];
    /// The signals that a screen takes: it has a terminal to give back before it stops.
    pub const ALL: [Self; 5] =
        [Self::Interrupt, Self::Terminate, Self::HangUp, Self::Suspend, Self::Continue];

    /// Its number.
    pub fn number(self) -> i32 {
        match self {
            Self::Interrupt => SIGINT,
            Self::Terminate => SIGTERM,
            Self::HangUp => SIGHUP,
            Self::Suspend => SIGTSTP,
            Self::Continue => SIGCONT,
        }
    }

    /// Stops this process as Ctrl-Z would without us; returns when it goes on.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn stop_here() -> io::Result<()> {
        low_level::emulate_default_handler(SIGTSTP)
    }
}

/// From now on `signals` come as messages instead of having their usual effect. The end of the receiver does not
/// bring that effect back.
///
/// # Errors
/// When the handlers or the thread cannot be set up.
pub fn listen(signals: &[Signal]) -> io::Result<Receiver<Signal>> {
    let wanted = signals.to_vec();
    let mut arriving = Signals::new(wanted.iter().map(|signal| signal.number()))?;
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for number in arriving.forever() {
            let Some(signal) = wanted.iter().find(|signal| signal.number() == number) else { continue };
            if sender.send(*signal).is_err() {
                return;
            }
        }
    })?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_signal_comes_as_a_message() {
        let receiver = listen(&[Signal::HangUp]).unwrap();
        low_level::raise(SIGHUP).unwrap();
        assert_eq!(receiver.recv_timeout(Duration::from_secs(20)), Ok(Signal::HangUp));
    }
}
