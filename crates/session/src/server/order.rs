//! An order to the control plane (such as CONFIG SET, or removing keys), and the channel for its answer.

use std::{collections::BTreeMap, pin::Pin};

use super::{Ledger, ServerError, answer::AnswerSender, link, maker::Maker, plane::CommandSender};
use crate::endpoint::Target;

/// The context of an order: the connection, the target and the channel for reports.
pub(super) struct OrderContext {
    pub(super) wire: CommandSender,
    pub(super) target: Target,
    /// Receives the commands that a setup sent to the server, with the number of each command.
    pub(super) asked: Box<dyn FnOnce(BTreeMap<String, u64>) + Send>,
}

impl OrderContext {
    /// Returns the sender of commands to Redis.
    ///
    /// # Errors
    /// Fails if the server is memcached or an HTTP service, because such a server does not have the feature `needed`.
    pub(super) fn redis(&self, needed: &'static str) -> Result<link::RedisSender, ServerError> {
        match &self.wire {
            CommandSender::Redis(wire) => Ok(wire.clone()),
            CommandSender::Memcached(_) | CommandSender::None => {
                Err(ServerError::Missing(self.target.dialect.words().server, needed))
            }
        }
    }

    /// Returns the sender of a setup's commands.
    ///
    /// # Errors
    /// Fails if the server is memcached, because memcached does not have the feature `needed`.
    pub(super) fn maker(&self, needed: &'static str) -> Result<Maker, ServerError> {
        match &self.wire {
            CommandSender::None => Ok(Maker::Http(Box::new(self.target.clone()))),
            _ => self.redis(needed).map(Maker::Redis),
        }
    }
}

type OrderFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The step that precedes an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OrderStep {
    /// No step: the order is carried out at once, together with other orders and polls.
    AtOnce,
    /// A poll precedes the order.
    AfterPoll,
    /// The target's name is looked up before the order. If the name leads to another server now, redyno connects to
    /// this server after the order.
    FollowName,
}

/// An order. [`Control`](super::Control) defines the actions of all orders.
pub(super) struct ControlOrder {
    act: Box<dyn FnOnce(Result<OrderContext, ServerError>) -> OrderFuture + Send>,
    /// The ledger of the changes that the order makes. The session must undo these changes later.
    pub(super) ledger: Option<Ledger>,
    pub(super) step: OrderStep,
}

impl ControlOrder {
    /// Returns an order that runs `act` and answers with its result.
    pub(super) fn new<T, F>(
        reply: AnswerSender<T>,
        act: impl FnOnce(OrderContext) -> F + Send + 'static,
    ) -> Self
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ServerError>> + Send,
    {
        let answer = async move |means: Result<OrderContext, ServerError>| {
            let answer = match means {
                Ok(means) => act(means).await,
                Err(error) => Err(error),
            };
            // The receiver of the answer may be gone.
            drop(reply.send(answer));
        };
        Self { act: Box::new(|means| Box::pin(answer(means))), ledger: None, step: OrderStep::AtOnce }
    }

    /// Returns the same order with the `ledger` of its changes, which must be undone later.
    pub(super) fn noting(self, ledger: &Ledger) -> Self {
        Self { ledger: Some(ledger.clone()), ..self }
    }

    /// Returns the same order with another step before it.
    pub(super) fn with_step(self, step: OrderStep) -> Self {
        Self { step, ..self }
    }

    /// Carries out the order and sends its answer. If there is no connection, `means` is an error with the reason, and
    /// the answer is this error.
    pub(super) fn carry_out(self, means: Result<OrderContext, ServerError>) -> OrderFuture {
        (self.act)(means)
    }
}
