//! What the server knows of one client.

use super::Transaction;
use crate::demo::reply::Protocol;

/// The most connections that `maxclients` can allow.
pub const MAX_CLIENTS: usize = 100_000;

/// Whether a connection is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Closing {
    /// It is not.
    #[default]
    No,
    /// When what is written so far has been sent.
    AfterReplies,
    /// At once.
    Now,
}

/// One client.
#[derive(Debug, Clone, Default)]
pub struct Session {
    /// Counts up from 1, never given twice.
    pub id: u64,
    /// Its address, `127.0.0.1:50000` or the path of the socket.
    pub address: String,
    /// Ours.
    pub local_address: String,
    /// The name it gave itself.
    pub name: String,
    /// The library it says that it uses, and its version.
    pub library: [String; 2],
    /// The database it selected.
    pub database: usize,
    /// The protocol it speaks.
    pub protocol: Protocol,
    /// Whether it may run commands.
    pub authenticated: bool,
    /// Whether it asked not to be evicted, and not to touch keys.
    pub no_evict: bool,
    /// Likewise; the built-in server keeps no record of use that could be touched.
    pub no_touch: bool,
    /// When it connected.
    pub connected_ns: u64,
    /// When it last asked for something.
    pub active_ns: u64,
    /// The command that it ran last, by its place in the table.
    pub last_command: Option<usize>,
    /// Bytes read from it.
    pub bytes_in: u64,
    /// Bytes written to it.
    pub bytes_out: u64,
    /// Commands that it ran.
    pub commands: u64,
    /// What it asked for since MULTI.
    pub transaction: Option<Transaction>,
    /// Whether it is to go.
    pub closing: Closing,
}
