//! The answer of the control plane to an order (such as CONFIG SET). The control thread sends the answer when the order
//! is done.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    time::Duration,
};

use super::ServerError;

/// The answer to an order, which arrives later. A screen polls with [`wait`](Self::wait) and a time limit of zero. A
/// session without a screen waits.
#[derive(Debug)]
pub struct Answer<T> {
    answer: Receiver<Result<T, ServerError>>,
    redacts: bool,
}

/// The sender of the result that an [`Answer`] receives.
pub(super) type AnswerSender<T> = Sender<Result<T, ServerError>>;

impl<T> Answer<T> {
    pub(super) fn new() -> (AnswerSender<T>, Self) {
        let (reply, answer) = channel();
        (reply, Self { answer, redacts: false })
    }

    /// Returns the same answer. If `redacts` is true, errors do not contain texts of the server.
    pub(super) fn redacting(self, redacts: bool) -> Self {
        Self { redacts, ..self }
    }

    /// Returns the answer if it arrives within `limit`, otherwise `None`. The answer is returned only once.
    pub fn wait(&self, limit: Duration) -> Option<Result<T, ServerError>> {
        match self.answer.recv_timeout(limit) {
            Ok(Err(error)) if self.redacts => Some(Err(error.redacted())),
            Ok(answer) => Some(answer),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(ServerError::Stopped)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_cannot_arrive_is_an_error_at_once() {
        let (reply, answer) = Answer::<u64>::new();
        assert_eq!(answer.wait(Duration::ZERO), None);
        reply.send(Ok(7)).unwrap();
        assert_eq!(answer.wait(Duration::ZERO), Some(Ok(7)));
        drop(reply);
        assert_eq!(answer.wait(Duration::from_secs(3600)), Some(Err(ServerError::Stopped)));
    }
}
