//! What the server knows of one client.

use std::time::Duration;

use crate::demo::reply::Protocol;
use crate::demo::request::{Arguments, Span};

/// One client.
#[derive(Debug, Clone, Default)]
pub struct Session {
    /// Its address, `127.0.0.1:50000` or the path of the socket.
    pub address: String,
    /// The name it gave itself.
    pub name: String,
    /// The database it selected.
    pub database: usize,
    /// The protocol it speaks.
    pub protocol: Protocol,
    /// Whether it may run commands.
    pub authenticated: bool,
    /// What it asked for since MULTI.
    pub transaction: Option<Transaction>,
    /// Whether it goes when what is written so far has been sent.
    pub leaving: bool,
}

/// Requests between MULTI and EXEC.
#[derive(Debug, Clone, Default)]
pub struct Transaction {
    /// In the order in which they came.
    pub queued: Vec<Queued>,
    /// A request was refused: EXEC gives up all of them.
    pub broken: bool,
}

/// A request that waits for EXEC, with its bytes.
#[derive(Debug, Clone)]
pub struct Queued {
    /// The command's place in the table.
    pub id: usize,
    /// How much longer it takes, by the script of faults.
    pub slow: Duration,
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl Transaction {
    /// Adds a request.
    pub fn queue(&mut self, id: usize, arguments: Arguments<'_>, slow: Duration) {
        let (bytes, spans) = (arguments.bytes.to_vec(), arguments.spans.to_vec());
        self.queued.push(Queued { id, slow, bytes, spans });
    }
}

impl Queued {
    /// What was asked, the command's name first.
    pub fn arguments(&self) -> Arguments<'_> {
        Arguments { bytes: &self.bytes, spans: &self.spans }
    }
}
