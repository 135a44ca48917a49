//! An order: an action on a server apart from the regular polls, and the channel for its answer.

use std::{collections::BTreeMap, pin::Pin};

use super::{Ledger, ServerError, answer::Reply, link, plane::Wire};
use crate::endpoint::Target;

/// The means to carry out an order.
pub(super) struct Means {
    pub(super) wire: Wire,
    pub(super) target: Target,
    /// Receives the commands that a setup sent to the server, with their counts.
    pub(super) asked: Box<dyn FnOnce(BTreeMap<String, u64>) + Send>,
}

impl Means {
    /// Returns the sender of commands to Redis.
    ///
    /// # Errors
    /// When the server is a memcached, which does not have what is `needed`.
    pub(super) fn redis(&self, needed: &'static str) -> Result<link::Wire, ServerError> {
        match &self.wire {
            Wire::Redis(wire) => Ok(wire.clone()),
            Wire::Memcached(_) => Err(ServerError::Missing(needed)),
        }
    }
}

type Answered = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An order. [`Control`](super::Control) defines the action of each.
pub(super) struct Order {
    act: Box<dyn FnOnce(Result<Means, ServerError>) -> Answered + Send>,
    /// The ledger with the changes to undo after the order.
    pub(super) ledger: Option<Ledger>,
    /// Whether a poll must precede the order.
    pub(super) needs_poll: bool,
}

impl Order {
    /// Returns an order with the result of `act` as its answer.
    pub(super) fn new<T, F>(reply: Reply<T>, act: impl FnOnce(Means) -> F + Send + 'static) -> Self
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ServerError>> + Send,
    {
        let answer = async move |means: Result<Means, ServerError>| {
            let answer = match means {
                Ok(means) => act(means).await,
                Err(error) => Err(error),
            };
            // The receiver of the answer may be gone.
            drop(reply.send(answer));
        };
        Self { act: Box::new(|means| Box::pin(answer(means))), ledger: None, needs_poll: false }
    }

    /// Returns the same order; the changes in `ledger` must be undone after it.
    pub(super) fn noting(self, ledger: &Ledger) -> Self {
        Self { ledger: Some(ledger.clone()), ..self }
    }

    /// Returns the same order; a poll precedes it.
    pub(super) fn after_poll(self) -> Self {
        Self { needs_poll: true, ..self }
    }

    /// Carries out the order and sends its answer; without a connection the answer is the reason for that.
    pub(super) fn carry_out(self, means: Result<Means, ServerError>) -> Answered {
        (self.act)(means)
    }
}
