//! The signals that end a series: to the session of the cell that runs, and to all that would follow.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use crate::signals::{Signal, listen};

/// Hands each session the signals that come while it is the last one.
pub(super) struct Ends(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    session: Option<Sender<Signal>>,
    came: Option<Signal>,
}

impl Ends {
    /// From now on the signals that end a program are taken.
    ///
    /// # Errors
    /// When the system gives no thread, or does not let them be taken.
    pub(super) fn listen() -> io::Result<Self> {
        let signals = listen(&Signal::ENDS)?;
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let hand_on = move || {
            for signal in signals {
                let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
                state.came = Some(signal);
                if let Some(session) = &state.session {
                    // It may be over.
                    let _ = session.send(signal);
                }
            }
        };
        thread::Builder::new().name("ends".to_owned()).spawn(hand_on)?;
        Ok(Self(state))
    }

    /// Those of the next session: one that came before is among them.
    pub(super) fn of_next(&self) -> Receiver<Signal> {
        let (sender, receiver) = channel();
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(signal) = state.came {
            // The receiver is here.
            let _ = sender.send(signal);
        }
        state.session = Some(sender);
        receiver
    }

    /// Whether one came.
    pub(super) fn came(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).came.is_some()
    }
}
