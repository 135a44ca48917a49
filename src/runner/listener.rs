//! The loop that passes a running session's records and notices to all listeners, such as the printed lines.
//!
//! ```text
//!                      ┌─► printed lines ─┐
//! session ──► listen ──┼─► experiment ────┼─► orders ─► the session
//!                      └─► thresholds ────┘
//! ```

use std::io::Write as _;

use super::Failure;
use crate::{
    print::{NoticePrinter, YcsbStatus, words::StreamText},
    session::{Delivery, Order, Record, Timeline, running::Peer},
};

/// A listener to a session.
pub trait Listener {
    /// Handles a delivery (a record or a notice). Returns orders for the session.
    fn take(&mut self, delivery: &Delivery) -> Vec<Order>;

    /// Finishes the output, after the last delivery.
    ///
    /// # Errors
    /// Fails if writing the output fails now or has failed earlier.
    fn finish(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Returns the result that decides the exit code. The caller uses this result after a session that ended without a
    /// failure.
    ///
    /// # Errors
    /// Fails if the result is not the required result.
    fn verdict(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// A timeline collects all measurements of the first node.
impl Listener for Timeline {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if let Delivery::Record(record) = delivery
            && record.is_of(0)
        {
            self.push(record);
        }
        Vec::new()
    }
}

/// Notices are printed on stderr.
impl Listener for NoticePrinter {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if let Delivery::Notice(node, notice) = delivery {
            self.print(*node, notice);
        }
        Vec::new()
    }
}

/// YCSB's status lines are printed on stderr, as YCSB does.
impl Listener for YcsbStatus {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if let Some(line) = record(delivery).and_then(|record| self.push(record)) {
            // The terminal may be gone, and the reader of this line with it.
            let _ = writeln!(StreamText::stderr(), "{line}");
        }
        Vec::new()
    }
}

/// The number of requests of the load that succeeded, and the number that failed, without those of the prefill.
#[derive(Default)]
pub(super) struct Outcome {
    is_prefill: bool,
    succeeded: u64,
    failed: u64,
}

impl Listener for Outcome {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        match record(delivery).filter(|record| record.is_of(0)) {
            Some(Record::Segment(segment)) => self.is_prefill = segment.prefill.is_some(),
            Some(Record::Interval(interval)) if !self.is_prefill => {
                self.succeeded += interval.ops;
                self.failed += interval.errors.values().sum::<u64>();
            }
            _ => {}
        }
        Vec::new()
    }

    fn verdict(&mut self) -> Result<(), Failure> {
        match self {
            Self { succeeded: 0, failed: 1.., .. } => Err(anyhow::anyhow!("no request succeeded").into()),
            _ => Ok(()),
        }
    }
}

/// Returns the record of a delivery. Returns `None` for any other delivery.
pub(super) fn record(delivery: &Delivery) -> Option<&Record> {
    match delivery {
        Delivery::Record(record) => Some(record),
        Delivery::Notice(..) | Delivery::Refused(..) | Delivery::Stretch(_) => None,
    }
}

/// Passes all deliveries that `peer` receives to the listeners, until the session is over.
pub(super) fn listen(peer: &Peer, listeners: &mut [&mut dyn Listener]) {
    for delivery in peer.rest() {
        let orders = listeners.iter_mut().flat_map(|listener| listener.take(&delivery));
        orders.for_each(|order| peer.order(order));
    }
}

/// Returns the first failing verdict of the listeners. A failure has precedence over an undecided condition.
pub(super) fn verdict(listeners: &mut [&mut dyn Listener]) -> Result<(), Failure> {
    let mut undecided = Ok(());
    for listener in listeners {
        match listener.verdict() {
            Err(Failure::Undecided(why)) => undecided = undecided.and(Err(Failure::Undecided(why))),
            verdict => verdict?,
        }
    }
    undecided
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        knobs::Knobs,
        load::Prefilling,
        session::{Interval, Segment},
    };

    /// A listener with this verdict.
    struct Judge(Option<Failure>);

    impl Listener for Judge {
        fn take(&mut self, _: &Delivery) -> Vec<Order> {
            Vec::new()
        }

        fn verdict(&mut self) -> Result<(), Failure> {
            self.0.take().map_or(Ok(()), Err)
        }
    }

    #[test]
    fn a_load_without_a_request_that_succeeded_has_failed() {
        let run = |parts: &[(bool, u64, u64)]| {
            let mut outcome = Outcome::default();
            for (is_prefill, ops, failed) in parts {
                let prefill = is_prefill.then_some(Prefilling { requests: 9, pipeline: 1 });
                let segment = Segment { prefill, ..Segment::new(0.0, 1, Knobs::default()) };
                let errors = [("OOM".to_owned(), *failed)].into();
                let interval = Interval { ops: *ops, errors, ..Interval::default() };
                for record in [Record::Segment(segment), Record::Interval(Box::new(interval))] {
                    outcome.take(&Delivery::Record(Arc::new(record)));
                }
            }
            outcome.verdict().map_or_else(|failure| failure.exit_code(), |()| 0)
        };
        assert_eq!(run(&[]), 0, "no load");
        assert_eq!(run(&[(true, 9, 0), (false, 0, 0)]), 0, "no reply yet");
        assert_eq!(run(&[(false, 1, 9)]), 0);
        assert_eq!(run(&[(true, 9, 0), (false, 0, 9)]), 1, "the prefill alone succeeded");
    }

    #[test]
    fn a_failure_is_more_important_than_an_undecided_condition() {
        let code = |failures: [Option<Failure>; 3]| {
            let [mut first, mut second, mut third] = failures.map(Judge);
            let verdict = verdict(&mut [&mut first, &mut second, &mut third]);
            verdict.map_or_else(|failure| failure.exit_code(), |()| 0)
        };
        let undecided = || Some(Failure::Undecided("few".to_owned()));
        assert_eq!(code([None, None, None]), 0);
        assert_eq!(code([undecided(), None, undecided()]), 4);
        assert_eq!(code([undecided(), Some(Failure::Crossed("slow".to_owned())), None]), 3);
    }
}
