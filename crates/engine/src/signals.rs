//! Signals as messages: a thread waits for them and passes them on.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use signal_hook::{
    SigId,
    consts::{
        SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGVTALRM,
        SIGXCPU, SIGXFSZ,
    },
    flag,
    iterator::{Handle, Signals},
    low_level,
};

/// A signal that asks for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C, or `kill -INT`.
    Interrupt,
    /// `kill`, Ctrl-\, and all others that would kill a program which does not expect them: the terminal is to be given
    /// back and keys are to be removed, whatever asks for the end.
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
    /// The signals that stop a process and let it go on, which a screen takes: it has a terminal to give back before.
    pub const STOPS: [Self; 2] = [Self::Suspend, Self::Continue];
    /// The signals that a screen takes: it has a terminal to give back before it stops.
    pub const ALL: [Self; 5] =
        [Self::Interrupt, Self::Terminate, Self::HangUp, Self::Suspend, Self::Continue];

    /// The numbers that mean it.
    fn numbers(self) -> &'static [i32] {
        match self {
            Self::Interrupt => &[SIGINT],
            Self::Terminate => DEADLY,
            Self::HangUp => &[SIGHUP],
            Self::Suspend => &[SIGTSTP],
            Self::Continue => &[SIGCONT],
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

#[cfg(target_os = "linux")]
const DEADLY: &[i32] = &[
    SIGTERM,
    SIGQUIT,
    SIGUSR1,
    SIGUSR2,
    SIGALRM,
    SIGVTALRM,
    SIGPROF,
    SIGXCPU,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSTKFLT,
];
#[cfg(not(target_os = "linux"))]
const DEADLY: &[i32] = &[SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU];

/// From now on `signals` come as messages instead of having their usual effect. The end of the receiver does not
/// bring that effect back. A file that grows beyond the limit of its size (SIGXFSZ) is an error of the write to it from now
/// on, and kills nobody.
///
/// # Errors
/// When the handlers or the thread cannot be set up.
pub fn listen(signals: &[Signal]) -> io::Result<Receiver<Signal>> {
    let (sender, receiver) = mpsc::channel();
    let mut listeners = LISTENERS.lock().unwrap_or_else(PoisonError::into_inner);
    let handle = match listeners.handle.take() {
        Some(handle) => handle,
        None => {
            let arriving = Signals::new([SIGXFSZ])?;
            let handle = arriving.handle();
            thread::Builder::new().name("signals".to_owned()).spawn(move || hand_on(arriving))?;
            handle
        }
    };
    let added = signals.iter().flat_map(|signal| signal.numbers()).try_for_each(|n| handle.add_signal(*n));
    listeners.handle = Some(handle);
    listeners.senders.push((signals.to_vec(), sender));
    added.map(|()| receiver)
}

/// Who listens in this process.
struct Listeners {
    /// What adds to the signals that come, once a thread waits for some.
    handle: Option<Handle>,
    senders: Vec<(Vec<Signal>, Sender<Signal>)>,
}

static LISTENERS: Mutex<Listeners> = Mutex::new(Listeners { handle: None, senders: Vec::new() });

/// The thread: each signal goes to all who want it and are still there.
fn hand_on(mut arriving: Signals) {
    for number in arriving.forever() {
        let mut listeners = LISTENERS.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.senders.retain(|(wanted, sender)| {
            let signal = wanted.iter().find(|signal| signal.numbers().contains(&number));
            signal.is_none_or(|signal| sender.send(*signal).is_ok())
        });
    }
}

/// How long a signal may take from the moment at which the process goes on to its handler, which any thread runs.
const HANDLED_WITHIN: Duration = Duration::from_millis(20);

/// Whether the process was stopped and continued.
pub struct Continued {
    was_continued: Arc<AtomicBool>,
    handler: Option<SigId>,
}

impl Continued {
    /// Looks out from now on. Where the system does not allow that, nothing will be seen.
    pub fn watch() -> Self {
        let was_continued = Arc::new(AtomicBool::new(false));
        let handler = flag::register(SIGCONT, Arc::clone(&was_continued)).ok();
        Self { was_continued, handler }
    }

    /// Whether it was continued since the last call; to be asked when it seems so, for it may wait a moment.
    pub fn take(&self) -> bool {
        let continued = || self.was_continued.swap(false, Ordering::Relaxed);
        continued() || {
            thread::sleep(HANDLED_WITHIN);
            continued()
        }
    }
}

impl Drop for Continued {
    fn drop(&mut self) {
        self.handler.take().map(low_level::unregister);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_comes_as_a_message() {
        let receiver = listen(&[Signal::HangUp]).unwrap();
        low_level::raise(SIGHUP).unwrap();
        assert_eq!(receiver.recv_timeout(Duration::from_secs(20)), Ok(Signal::HangUp));
    }
}
