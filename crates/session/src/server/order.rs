//! Something to be done on a server besides the polls that come by themselves, and where its answer goes.

use std::{collections::BTreeMap, pin::Pin};

use super::{Ledger, ServerError, answer::Reply, link, plane::Wire};
use crate::endpoint::Target;

/// What an order is carried out with.
pub(super) struct Means {
    pub(super) wire: Wire,
    pub(super) target: Target,
    /// Takes what a setup asked the server for, by command.
    pub(super) asked: Box<dyn FnOnce(BTreeMap<String, u64>) + Send>,
}

impl Means {
    /// What commands are sent to a Redis by.
    ///
    /// # Errors
    /// A memcached does not have what is `needed`.
    pub(super) fn redis(&self, needed: &'static str) -> Result<link::Wire, ServerError> {
        match &self.wire {
            Wire::Redis(wire) => Ok(wire.clone()),
            Wire::Memcached(_) => Err(ServerError::Missing(needed)),
        }
    }
}

type Answered = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An order. What it does stands where it is given, in [`Control`](super::Control).
pub(super) struct Order {
    act: Box<dyn FnOnce(Result<Means, ServerError>) -> Answered + Send>,
    /// What has to be undone once it is carried out.
    pub(super) ledger: Option<Ledger>,
    /// Whether a poll comes before it.
    pub(super) needs_poll: bool,
}

impl Order {
    /// One whose answer is what `act` brings.
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
            // Nobody may wait for it any more.
            drop(reply.send(answer));
        };
        Self { act: Box::new(|means| Box::pin(answer(means))), ledger: None, needs_poll: false }
    }

    /// The same, after which what `ledger` holds has to be undone.
    pub(super) fn noting(self, ledger: &Ledger) -> Self {
        Self { ledger: Some(ledger.clone()), ..self }
    }

    /// The same, behind a poll.
    pub(super) fn after_poll(self) -> Self {
        Self { needs_poll: true, ..self }
    }

    /// Carries it out and answers it; without means the answer is why there are none.
    pub(super) fn carry_out(self, means: Result<Means, ServerError>) -> Answered {
        (self.act)(means)
    }
}
