//! A client, and its connection.

use crate::{
    endpoint::BackOff,
    load::{connection::Connection, quota::Numbered},
    workload::Draws,
};

/// One client.
pub(in crate::load) struct Client {
    pub(in crate::load) link: ClientConnection,
    /// What its requests are drawn from: two clients never ask the same.
    pub(in crate::load) draws: Draws,
    /// How many requests it may still send.
    pub(in crate::load) left: u64,
    /// The requests of its batch, where each has to be answered.
    pub(in crate::load) numbers: Vec<Numbered>,
    /// Whether it stands in the queue of those that may write.
    pub(super) queued: bool,
    /// Whether it stands in the queue of those whose sockets hold more.
    pub(super) unread: bool,
    /// Connections lost since the last batch that was answered.
    pub(super) back_off: BackOff,
    /// Whether it lost its connection, or could not get one, and has none since.
    pub(super) is_lost: bool,
    /// How many requests were answered on its connection, in whole batches.
    pub(super) served: u32,
    /// Whether its connection was closed on purpose, and the next is not there yet.
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
    /// None, and none wanted.
    Down,
    /// None yet: waits for its turn, or for its back-off to end.
    Scheduled,
    /// There is one.
    Open(Connection),
}
