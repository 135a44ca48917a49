//! A client, and its connection.

use crate::{
    endpoint::BackOff,
    load::{connection::Connection, quota::Numbered},
    workload::Draws,
};

/// One client.
pub(in crate::load) struct Client {
    pub(in crate::load) link: ClientConnection,
    /// The random source of the client's requests: two clients never send the same sequence.
    pub(in crate::load) draws: Draws,
    /// How many requests the client may still send.
    pub(in crate::load) left: u64,
    /// The numbered requests of its batch, if each has to be answered.
    pub(in crate::load) numbers: Vec<Numbered>,
    /// Whether the client is in the queue of those that may write.
    pub(super) queued: bool,
    /// Whether the client is in the queue of those with unread data in the socket.
    pub(super) unread: bool,
    /// Connections lost since the last answered batch.
    pub(super) back_off: BackOff,
    /// Whether the client lost its connection, or failed to get one, and has no new one yet.
    pub(super) is_lost: bool,
    /// How many requests were answered on the current connection, in whole batches.
    pub(super) served: u32,
    /// Whether the connection was closed on purpose and the next one is not open yet.
    pub(super) is_between: bool,
}

impl Client {
    pub(super) fn new(draws: Draws) -> Self {
        Self {
            link: ClientConnection::Down,
            draws,
            left: u64::MAX,
            numbers: Vec::new(),
            queued: false,
            unread: false,
            back_off: BackOff::new(),
            is_lost: false,
            served: 0,
            is_between: false,
        }
    }
}

/// A client's connection.
#[allow(clippy::large_enum_variant, reason = "nearly all of them are connections")]
pub(in crate::load) enum ClientConnection {
    /// No connection, and none wanted.
    Down,
    /// No connection yet: the client waits for its turn, or for its back-off to end.
    Scheduled,
    /// The client has a connection.
    Open(Connection),
}
