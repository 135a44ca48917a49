//! What a client asked for between MULTI and EXEC.

use std::time::Duration;

use crate::demo::request::{Arguments, Span};

/// Requests that wait for EXEC.
#[derive(Debug, Clone, Default)]
pub struct Transaction {
    /// In the order in which they came.
    pub queued: Vec<Queued>,
    /// A request was refused: EXEC gives up all of them.
    pub broken: bool,
}

/// A request that waits, with its bytes.
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
        let (mut bytes, mut spans) = (Vec::new(), Vec::new());
        for argument in arguments.from(0) {
            let start = bytes.len();
            bytes.extend_from_slice(argument);
            spans.push(Span { start, end: bytes.len() });
        }
        self.queued.push(Queued { id, slow, bytes, spans });
    }
}

impl Queued {
    /// What was asked, the command's name first.
    pub fn arguments(&self) -> Arguments<'_> {
        Arguments::new(&self.bytes, &self.spans)
    }
}
