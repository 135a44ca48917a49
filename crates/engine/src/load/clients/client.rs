//! One client of the load, and its connection to the server.

use super::Lane;
use crate::{
    endpoint::{BackOff, NodeNumber},
    load::{connection::LoadConnection, quota::NumberedRequest},
    workload::Draws,
};

/// One client.
pub(in crate::load) struct Client {
    pub(in crate::load) lane: Lane,
    /// The client's lanes to other nodes of a cluster.
    pub(super) others: Vec<(NodeNumber, usize)>,
    /// The number of the client's requests that are not answered yet. This field is used only with a cluster.
    pub(super) unanswered: u32,
    /// The number of requests in the client's batch. This field is used only with a cluster.
    pub(super) batch: u32,
    /// The source of random numbers for the client's requests. No two clients send the same sequence.
    pub(in crate::load) draws: Draws,
    /// How many requests the client may still send.
    pub(in crate::load) left: u64,
    /// The key that determines the cluster node for the client's current sequence of operations. `None` if the
    /// sequence may go to several nodes.
    pub(in crate::load) key_of_turn: Option<Vec<u8>>,
    /// The numbers of the requests in the client's batch. redyno needs these numbers to send lost requests again. The
    /// list is empty if not every request must get a reply. In a prefill, every request must get a reply.
    pub(in crate::load) numbers: Vec<NumberedRequest>,
    /// Whether the client is in the queue of clients that may write.
    pub(super) queued: bool,
    /// The pause before the next attempt to connect. The pause grows until a batch is answered.
    pub(super) back_off: BackOff,
    /// Whether the client lost its connection or failed to connect, and is not connected again yet.
    pub(super) is_lost: bool,
    /// The number of requests that were answered on the current connection, counted in whole batches.
    pub(super) served: u32,
    /// Whether the client's session (see `session_length`) on the current connection is over.
    pub(super) has_ended: bool,
    /// Whether the connection was closed on purpose and the next connection is not open yet.
    pub(super) is_between: bool,
}

impl Client {
    pub(super) fn new(i: usize, draws: Draws) -> Self {
        Self {
            lane: Lane::new(i),
            others: Vec::new(),
            unanswered: 0,
            batch: 0,
            draws,
            left: u64::MAX,
            key_of_turn: None,
            numbers: Vec::new(),
            queued: false,
            back_off: BackOff::new(),
            is_lost: false,
            served: 0,
            has_ended: false,
            is_between: false,
        }
    }
}

/// A client's connection.
#[allow(clippy::large_enum_variant, reason = "nearly all of these values hold a connection")]
pub(in crate::load) enum ClientConnection {
    /// The client has no connection and needs none.
    Down,
    /// The client has no connection yet, and waits for its turn to connect or for the end of its back-off.
    Scheduled,
    /// The client has a connection.
    Open(LoadConnection),
}
