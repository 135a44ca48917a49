//! The queue between a session and one of its listeners. The queue contains a limited number of records that the
//! listener has not received yet.
//!
//! ```text
//! collector ─► Feed ─► queue ─► Queue ─► recording, export, screen, lines
//!               └── too many wait: measurements are left out, and their number is sent in their place
//! ```
//! The session never waits for a listener. If a listener hangs, for example on a slow disk, the memory for its queue
//! stays limited. Events and changes of load settings are never left out, because they are rare.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::Duration,
};

use super::{Event, Record};
use crate::events::EventKind;

/// The largest number of records in the queue. The queue has room for about a minute of one target's records.
pub const MOST_RECORDS: usize = 1024;

/// The state that both ends of the queue share.
#[derive(Debug, Default)]
struct Counts {
    waiting: AtomicUsize,
    lost: AtomicU64,
    is_gone: AtomicBool,
}

/// The sending end of a queue.
pub struct Feed<T> {
    to: Sender<T>,
    counts: Arc<Counts>,
    /// Whether measurements are left out at present. Measurements are left out from the time when the queue is full
    /// until the queue is half empty.
    is_full: bool,
    /// The number of left-out records about which the listener has not been informed yet.
    unreported: u64,
    /// Whether the listener gets the arguments of commands in the slow log.
    keeps_arguments: bool,
    /// Whether the queries of URL paths are removed from the listener's records.
    redacts: bool,
}

/// The receiving end of a queue.
#[derive(Debug)]
pub struct Queue<T> {
    from: Receiver<T>,
    counts: Arc<Counts>,
}

/// A counter of the records that were left out because a queue was full.
#[derive(Debug, Clone)]
pub struct RecordLosses(Arc<Counts>);

/// Creates a queue, and returns its sending and its receiving end.
pub fn queue<T>() -> (Feed<T>, Queue<T>) {
    let (to, from) = channel();
    let counts = Arc::<Counts>::default();
    let feed = Feed {
        to,
        counts: Arc::clone(&counts),
        is_full: false,
        unreported: 0,
        keeps_arguments: false,
        redacts: false,
    };
    (feed, Queue { from, counts })
}

impl<T: From<Arc<Record>>> Feed<T> {
    /// Sends a record. If the queue is full and the record is a measurement, the record is left out. Returns
    /// whether the listener still exists.
    pub fn record(&mut self, record: &Arc<Record>) -> bool {
        let waiting = self.counts.waiting.load(Ordering::Relaxed);
        self.is_full = waiting >= if self.is_full { MOST_RECORDS / 2 } else { MOST_RECORDS };
        if self.is_full && is_measurement(record) {
            self.unreported += 1;
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
            // A listener that no longer exists takes no records from the queue.
            return !self.counts.is_gone.load(Ordering::Relaxed);
        }
        let ends = matches!(**record, Record::End(_));
        if self.unreported > 0 && (ends || !self.is_full) {
            let records = std::mem::take(&mut self.unreported);
            let event = Event::new(record.t_s().unwrap_or_default(), EventKind::RecordsLost { records });
            self.send(Arc::new(Record::Event(event)).into());
        }
        let record = if self.keeps_arguments { Arc::clone(record) } else { without_arguments(record) };
        self.send(
            if self.redacts { Arc::new(Record::clone(&record).without_queries()) } else { record }.into(),
        )
    }
}

/// Returns the record without the full arguments of a slow-log command. The event's text still contains the first
/// arguments.
fn without_arguments(record: &Arc<Record>) -> Arc<Record> {
    match &**record {
        Record::Event(
            event @ Event { what: EventKind::SlowCommand { .. } | EventKind::LargeCommand { .. }, .. },
        ) => {
            let what = event.what.clone().without_arguments();
            Arc::new(Record::Event(Event { what, ..event.clone() }))
        }
        _ => Arc::clone(record),
    }
}

impl<T> Feed<T> {
    /// Sets whether the listener gets all arguments that the server's slow log contains. The arguments may be private.
    /// Without `--with-arguments`, only the screen shows all arguments.
    #[must_use]
    pub fn keeping_arguments(self, keeps: bool) -> Self {
        Self { keeps_arguments: keeps, ..self }
    }

    /// Sets whether the queries of URL paths are removed from the listener's records.
    #[must_use]
    pub fn redacting(self, redacts: bool) -> Self {
        Self { redacts, ..self }
    }

    /// Sends an item that is never left out. Returns whether the listener still exists.
    pub fn send(&self, what: T) -> bool {
        self.counts.waiting.fetch_add(1, Ordering::Relaxed);
        self.to.send(what).is_ok()
    }

    /// Returns the counter of left-out records.
    pub fn losses(&self) -> RecordLosses {
        RecordLosses(Arc::clone(&self.counts))
    }
}

impl<T> Queue<T> {
    /// Returns the next item, or `None` if the queue is empty.
    pub fn next(&self) -> Option<T> {
        self.from.try_recv().ok().inspect(|_| self.took_one())
    }

    /// Waits at most `limit` for the next item, and returns it.
    ///
    /// # Errors
    /// Returns [`RecvTimeoutError::Timeout`] if no item arrived in time. Returns [`RecvTimeoutError::Disconnected`] if
    /// no more items will come.
    pub fn next_within(&self, limit: Duration) -> Result<T, RecvTimeoutError> {
        self.from.recv_timeout(limit).inspect(|_| self.took_one())
    }

    /// Returns an iterator that waits for each item, and ends when the sender is dropped.
    pub fn rest(&self) -> impl Iterator<Item = T> {
        self.from.iter().inspect(|_| self.took_one())
    }

    fn took_one(&self) {
        self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<T> Drop for Queue<T> {
    fn drop(&mut self) {
        self.counts.is_gone.store(true, Ordering::Relaxed);
    }
}

impl RecordLosses {
    /// Returns the number of left-out records so far.
    pub fn count(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }
}

/// Returns whether this is a periodic measurement. A full queue leaves periodic measurements out.
fn is_measurement(record: &Record) -> bool {
    use Record::*;
    matches!(record, Interval(_) | Ping(_) | Wake(_) | Intrinsic(_) | Server(_) | Host(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Interval, Mark};

    fn interval(t_s: f64) -> Arc<Record> {
        Arc::new(Record::Interval(Box::new(Interval { t_s, ..Interval::default() })))
    }

    #[test]
    fn a_stuck_listener_uses_bounded_memory_and_is_informed_about_lost_records() {
        let (mut feed, queue) = queue::<Arc<Record>>();
        (0..5000).for_each(|n| assert!(feed.record(&interval(f64::from(n)))));
        let mark = Arc::new(Record::Mark(Mark { t_s: 1.0, text: "m".into() }));
        assert!(feed.record(&mark), "what a person says is never left out");
        let lost = feed.losses();
        assert_eq!(lost.count(), 5000 - MOST_RECORDS as u64);
        for _ in 0..600 {
            queue.next().unwrap();
        }
        assert!(feed.record(&interval(6000.0)) && feed.record(&interval(6001.0)));
        drop(feed);
        let rest: Vec<_> = queue.rest().collect();
        assert_eq!(rest.len(), MOST_RECORDS - 600 + 4);
        let event = format!("{:?}", rest[rest.len() - 3]);
        assert!(event.contains(&format!("RecordsLost {{ records: {} }}", lost.count())), "{event}");
        assert_eq!(*rest[rest.len() - 4], *mark);
    }

    #[test]
    fn arguments_reach_only_a_listener_that_keeps_them() {
        let slow = EventKind::SlowCommand {
            us: 1,
            command: "MGET k:1".into(),
            client: None,
            arguments: vec!["k:1".into(), "private".into()],
        };
        let record = Arc::new(Record::Event(Event::new(1.0, slow)));
        let taken = |keeps: bool| {
            let (feed, queue) = queue::<Arc<Record>>();
            feed.keeping_arguments(keeps).record(&record);
            queue.next().unwrap()
        };
        assert_eq!(taken(true), record);
        let text = crate::session::line(&taken(false)).unwrap();
        assert!(
            text.contains("MGET k:1") && !text.contains("private") && !text.contains("arguments"),
            "{text}"
        );
    }

    #[test]
    fn a_dropped_listener_is_noticed_even_with_a_full_queue() {
        let (mut feed, queue) = queue::<Arc<Record>>();
        (0..2000).for_each(|n| assert!(feed.record(&interval(f64::from(n)))));
        drop(queue);
        assert!(!feed.record(&interval(0.0)));
    }
}
