//! The errors of a run with YCSB's command line: their messages on stderr, and the exit code.

use super::{Failure, Listener, listener::record};
use crate::{
    events::EventKind,
    print::words::warn,
    session::{Delivery, Event, Order, Record},
};

/// The kinds of errors that mean that the server did not answer an operation.
const LOST: [&str; 7] = ["reset", "timeout", "protocol", "refused", "unreachable", "no-port", "tls"];
/// The number of kinds at the end of [`LOST`] for which no new connection can be opened.
const UNREACHABLE: usize = 4;

/// Prints the first error of each kind. If no new connection to the server can be opened, the run ends, as in YCSB.
/// On a cluster, the run continues with the other nodes.
#[derive(Debug, Default)]
pub struct YcsbErrors {
    address: String,
    is_cluster: bool,
    /// The first error without an answer of the server.
    lost: Option<String>,
}

impl YcsbErrors {
    /// Creates the listener to a load on the server at `address`, or on the cluster of this server.
    pub fn new(address: String, is_cluster: bool) -> Self {
        Self { address, is_cluster, ..Self::default() }
    }
}

impl Listener for YcsbErrors {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if let Some(Record::Event(Event { what: what @ EventKind::FirstError { error, .. }, .. })) =
            record(delivery)
        {
            warn(&format!("{}: {what}", self.address));
            if let Some(kind) = LOST.iter().position(|kind| kind == error) {
                self.lost.get_or_insert_with(|| what.to_string());
                let ends = !self.is_cluster && kind >= LOST.len() - UNREACHABLE;
                return ends.then_some(Order::End).into_iter().collect();
            }
        }
        Vec::new()
    }

    fn verdict(&mut self) -> Result<(), Failure> {
        match &self.lost {
            Some(cause) => {
                let text = format!("{} did not answer all operations: {cause}", self.address);
                Err(anyhow::anyhow!(text).into())
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_server_that_is_lost_ends_the_run_and_fails_it_and_an_error_reply_does_not() {
        let deliver = |record| Delivery::Record(Arc::new(record));
        let error = |kind: &str| {
            let (error, message) = (kind.to_owned(), "the cause".to_owned());
            deliver(Record::Event(Event::new(1.0, EventKind::FirstError { error, message })))
        };
        let run = |kinds: &[&str], is_cluster| {
            let mut errors = YcsbErrors::new("h:1".to_owned(), is_cluster);
            let ends = kinds.iter().any(|kind| !errors.take(&error(kind)).is_empty());
            (ends, errors.verdict().map_err(|failure| (failure.exit_code(), failure.to_string())))
        };
        let failed = |text: &str| Err((1, text.to_owned()));
        let lost = "h:1 did not answer all operations: reset: the cause";
        assert_eq!(run(&[], false), (false, Ok(())));
        assert_eq!(run(&["OOM"], false), (false, Ok(())));
        assert_eq!(run(&["reset"], false), (false, failed(lost)));
        assert_eq!(run(&["reset", "refused"], false), (true, failed(lost)));
        assert_eq!(run(&["reset", "refused"], true), (false, failed(lost)));
    }
}
