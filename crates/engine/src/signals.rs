//! Turns signals of the operating system, such as SIGINT, into messages. A thread waits for signals and sends each
//! signal to the receivers in this process.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use parking_lot::Mutex;
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

/// A signal that this process handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C, or `kill -INT`.
    Interrupt,
    /// Any other signal that ends a program by default, for instance SIGTERM (`kill`) or SIGQUIT (Ctrl-\). Before
    /// redyno ends, it restores the terminal and removes its keys from the server.
    Terminate,
    /// The terminal, or the connection to the terminal, was closed.
    HangUp,
    /// The signal of `kill -TSTP`. The process must restore the terminal and stop. On the screen, Ctrl-Z arrives as a
    /// key and not as this signal.
    Suspend,
    /// The process continues after a stop.
    Continue,
}

impl Signal {
    /// The signals that end redyno when it runs without a screen.
    pub const ENDS: [Self; 3] = [Self::Interrupt, Self::Terminate, Self::HangUp];
    /// The stop and continue signals. A program with a screen handles these signals, and restores the terminal before
    /// the process stops.
    pub const STOPS: [Self; 2] = [Self::Suspend, Self::Continue];
    /// All signals. A program with a screen handles these signals, and restores the terminal before the process ends or
    /// stops.
    pub const ALL: [Self; 5] =
        [Self::Interrupt, Self::Terminate, Self::HangUp, Self::Suspend, Self::Continue];

    /// Returns the system's signal numbers for this signal.
    fn numbers(self) -> &'static [i32] {
        match self {
            Self::Interrupt => &[SIGINT],
            Self::Terminate => DEADLY,
            Self::HangUp => &[SIGHUP],
            Self::Suspend => &[SIGTSTP],
            Self::Continue => &[SIGCONT],
        }
    }

    /// Stops this process as Ctrl-Z does by default. Returns when the process continues.
    ///
    /// # Errors
    /// Fails if the system refuses to stop the process.
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

/// Returns a receiver of `signals`. From now on, these signals do not have their default effect. Dropping the receiver
/// does not restore the default effect. If SIGXFSZ is one of these signals, a write beyond the file size limit fails
/// instead of ending the process.
///
/// # Errors
/// Fails if the handlers or the thread cannot be set up.
pub fn listen(signals: &[Signal]) -> io::Result<Receiver<Signal>> {
    let (sender, receiver) = mpsc::channel();
    let mut listeners = LISTENERS.lock();
    let handle = match listeners.handle.take() {
        Some(handle) => handle,
        None => {
            let arriving = Signals::new([SIGXFSZ])?;
            let handle = arriving.handle();
            thread::Builder::new().name("signals".to_owned()).spawn(move || hand_on(arriving))?;
            handle
        }
    };
    let numbers: Vec<_> = signals.iter().flat_map(|signal| signal.numbers()).collect();
    let added = numbers.iter().try_for_each(|n| handle.add_signal(**n));
    let defaults = listeners.defaults.extract_if(.., |(number, _)| numbers.contains(&&*number));
    for (_, id) in defaults {
        low_level::unregister(id);
    }
    listeners.handle = Some(handle);
    listeners.senders.push((signals.to_vec(), sender));
    added.map(|()| receiver)
}

/// Gives `signals` their default effect again, until the next call of [`listen`] for these signals.
///
/// # Errors
/// Fails if the handlers cannot be set up.
pub fn restore_default(signals: &[Signal]) -> io::Result<()> {
    let mut listeners = LISTENERS.lock();
    // A few signals, such as SIGPWR, have no known default effect.
    let known = signals.iter().flat_map(|signal| signal.numbers());
    for number in known.filter(|number| low_level::signal_name(**number).is_some()) {
        let id = flag::register_conditional_default(*number, Arc::new(AtomicBool::new(true)))?;
        listeners.defaults.push((*number, id));
    }
    Ok(())
}

/// The receivers of signals in this process.
struct Listeners {
    /// The handle that adds signals to the waiting thread, or `None` before the thread runs.
    handle: Option<Handle>,
    senders: Vec<(Vec<Signal>, Sender<Signal>)>,
    /// The numbers of the signals that have their default effect again, each with the handler for this
    /// effect.
    defaults: Vec<(i32, SigId)>,
}

static LISTENERS: Mutex<Listeners> =
    Mutex::new(Listeners { handle: None, senders: Vec::new(), defaults: Vec::new() });

/// Runs the thread. Sends each signal to all receivers that have requested the signal and still exist.
fn hand_on(mut arriving: Signals) {
    for number in arriving.forever() {
        let mut listeners = LISTENERS.lock();
        listeners.senders.retain(|(wanted, sender)| {
            let signal = wanted.iter().find(|signal| signal.numbers().contains(&number));
            signal.is_none_or(|signal| sender.send(*signal).is_ok())
        });
    }
}

/// The assumed maximum delay between the continuation of the process and the signal's handler. Any thread may run the
/// handler.
const MAX_HANDLER_DELAY: Duration = Duration::from_millis(20);

/// Detects whether the process was stopped and continued.
pub struct ContinueWatch {
    was_continued: Arc<AtomicBool>,
    handler: Option<SigId>,
}

impl ContinueWatch {
    /// Starts to watch for the continue signal. If the system refuses the handler of this signal, no stop of the
    /// process is detected.
    pub fn watch() -> Self {
        let was_continued = Arc::new(AtomicBool::new(false));
        let handler = flag::register(SIGCONT, Arc::clone(&was_continued)).ok();
        Self { was_continued, handler }
    }

    /// Returns whether the process was continued since the last call. Must be called only after a gap in the
    /// measurement, because the call may take 20 ms.
    pub fn take(&self) -> bool {
        let continued = || self.was_continued.swap(false, Ordering::Relaxed);
        continued() || {
            thread::sleep(MAX_HANDLER_DELAY);
            continued()
        }
    }
}

impl Drop for ContinueWatch {
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
