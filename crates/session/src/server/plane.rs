//! The control plane's connection to a server: one for Redis, one for memcached, and none for HTTP.

use super::{
    ServerError, Status, link, memcached,
    poll::{self, Polled},
};
use crate::{endpoint::Talk, protocol::Dialect};

/// A connection of the control plane. Dropping the link closes the socket.
pub(super) enum Link {
    Redis(link::RedisLink),
    Memcached(memcached::MemcachedLink),
    /// No connection: the server reports nothing about itself (HTTP).
    None,
}

/// The sender of commands. Clones share the connection.
pub(super) enum CommandSender {
    Redis(link::RedisSender),
    Memcached(memcached::MemcachedSender),
    None,
}

/// The values of earlier polls. These values are kept when the connection is lost.
pub(super) enum Poller {
    Redis(Box<poll::RedisPoller>),
    Memcached(Box<memcached::MemcachedPoller>),
    None,
}

impl Link {
    /// Opens a link on an open connection after its handshake.
    pub(super) async fn open(talk: Talk, dialect: Dialect) -> Result<Self, ServerError> {
        match dialect {
            Dialect::Resp2 | Dialect::Resp3 => link::RedisLink::open(talk).await.map(Self::Redis),
            Dialect::Memcached => memcached::MemcachedLink::open(talk).map(Self::Memcached),
            Dialect::Http(_) => Ok(Self::None),
        }
    }

    /// Returns the sender of commands.
    pub(super) fn wire(&self) -> CommandSender {
        match self {
            Self::Redis(link) => CommandSender::Redis(link.wire.clone()),
            Self::Memcached(link) => CommandSender::Memcached(link.wire.clone()),
            Self::None => CommandSender::None,
        }
    }

    /// Waits until the connection is lost. Returns the reason.
    pub(super) async fn lost(&mut self) -> String {
        match self {
            Self::Redis(link) => link.lost().await,
            Self::Memcached(link) => link.lost().await,
            Self::None => std::future::pending().await,
        }
    }
}

impl Poller {
    /// Returns the state before the first poll.
    pub(super) fn of(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Resp2 | Dialect::Resp3 => Self::Redis(Box::default()),
            Dialect::Memcached => Self::Memcached(Box::default()),
            Dialect::Http(_) => Self::None,
        }
    }

    /// Notes that the next poll goes to a server at another address. The values of earlier polls do not apply to this
    /// server.
    pub(super) fn change_server(&mut self) {
        match self {
            Self::Redis(poller) => poller.change_server(),
            Self::Memcached(poller) => poller.change_server(),
            Self::None => {}
        }
    }

    /// Polls the server. `now_ns` returns the time, and is called when the reply has arrived.
    ///
    /// # Errors
    /// Fails if the connection is lost, or the first request is refused.
    pub(super) async fn poll(
        &mut self,
        wire: &CommandSender,
        now_ns: impl Fn() -> u64,
    ) -> Result<(u64, Polled), ServerError> {
        match (self, wire) {
            (Self::Redis(poller), CommandSender::Redis(wire)) => poller.poll(wire, now_ns).await,
            (Self::Memcached(poller), CommandSender::Memcached(wire)) => poller.poll(wire, now_ns).await,
            (Self::None, CommandSender::None) => {
                let (name, version) = ("http".to_owned(), "1.1".to_owned());
                // The recall of vector searches is added to the status, as the mean over this time.
                let status = Status { name, version, poll_s: Some(1.0), ..Status::default() };
                Ok((now_ns(), Polled { status, pause: 1, ..Polled::default() }))
            }
            _ => unreachable!("poller and connection have the target's dialect"),
        }
    }
}
