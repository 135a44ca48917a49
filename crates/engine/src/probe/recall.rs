//! Measures the recall of a workload's searches for nearest vectors: which share of the exact neighbours the server finds.

use std::{
    io,
    sync::{Arc, mpsc::Sender},
    time::{Duration, Instant},
};

use super::{
    Message,
    thread::{ProbeThread, Stop},
};
use crate::{
    clock::Clock,
    endpoint::{Talk, Target, talk},
    events::EventKind,
    protocol::Reply,
    untrusted,
    workload::{Draws, VectorQuery, VectorSearch, Workload},
};

/// The shortest time between two searches.
const EVERY: Duration = Duration::from_millis(250);
/// The pause after a search is this many times the time that its exact neighbours took, so that the probe uses at most 5 %
/// of a core.
const PAUSES: u32 = 20;
/// How long the server may take to connect, and again to answer: the end of the probe waits as long.
const LIMIT: Duration = Duration::from_secs(1);
/// The longest accepted reply.
const LONGEST: usize = 16 << 20;
/// The pause after a search that failed.
const AGAIN: Duration = Duration::from_secs(1);

/// A running probe; dropping it ends its thread.
#[derive(Debug)]
pub struct RecallProbe {
    _thread: ProbeThread,
}

impl RecallProbe {
    /// Starts the thread `recall`, which sends searches of its own to the `target` and reports their recall to
    /// `messages`. The searches are those `of` a workload with so many keys. At its end the thread reports an event with
    /// the mean.
    ///
    /// # Errors
    /// When the system cannot start a thread.
    pub fn start(
        target: Target,
        (search, of): (VectorSearch, (Arc<Workload>, u64)),
        clock: Clock,
        messages: Sender<Message>,
    ) -> io::Result<Self> {
        let body = move |stop: Stop| {
            let send = |message| drop(messages.send(message)); // the receiver is gone only while the session ends
            let stored = search.stored(|| stop.is_asked());
            let (mut talk, mut draws, mut sums) = (None, Draws::new(1), Sums::default());
            let mut trouble = None;
            while !stop.is_asked() {
                let began = Instant::now();
                let Some(query) = search.draw(&mut draws) else { break };
                match ask(&target, &mut talk, &query) {
                    Ok(reply) => {
                        let begun = Instant::now();
                        let recall = search.recall(&query, &stored, &reply);
                        trouble = None;
                        sums.push(recall, query.neighbours);
                        send(Message::Recall { recall, of: of.clone() });
                        stop.pause_until((began + EVERY).max(begun + PAUSES * begun.elapsed()));
                    }
                    Err(cause) => {
                        if trouble.as_ref() != Some(&cause) {
                            let what = EventKind::RecallUnmeasured { cause: cause.clone() };
                            send(Message::Event { at_ns: clock.now_ns(), node: 0, what });
                        }
                        trouble = Some(cause);
                        stop.pause_until(began + AGAIN);
                    }
                }
            }
            if let Some(what) = sums.summary() {
                send(Message::Event { at_ns: clock.now_ns(), node: 0, what });
            }
        };
        Ok(Self { _thread: ProbeThread::start("recall", body)? })
    }
}

/// Sends a search, and connects before if that is needed. Returns the reply.
///
/// # Errors
/// When the server cannot be reached, does not answer, or answers with an error.
fn ask(target: &Target, line: &mut Option<Talk>, query: &VectorQuery) -> Result<Vec<u8>, String> {
    let mut talk = match line.take() {
        Some(talk) => talk,
        None => talk(target, LIMIT).map_err(|error| error.to_string())?.bounded(LONGEST),
    };
    let mut answer = Ok(Vec::new());
    let read = |bytes: &[u8], reply: Reply| {
        let is_error = matches!(reply, Reply::Error(_));
        answer = if is_error { Err(untrusted::bytes(bytes.trim_ascii())) } else { Ok(bytes.to_vec()) };
    };
    talk.ask(&query.request, 1, LIMIT, read).map_err(|error| error.to_string())?;
    *line = Some(talk);
    answer
}

/// The recalls so far.
#[derive(Default)]
struct Sums {
    searches: u64,
    sum: f64,
    least: Option<f64>,
    neighbours: usize,
}

impl Sums {
    fn push(&mut self, recall: f64, neighbours: usize) {
        self.searches += 1;
        self.sum += recall;
        self.least = Some(self.least.map_or(recall, |least| least.min(recall)));
        self.neighbours = neighbours;
    }

    fn summary(&self) -> Option<EventKind> {
        let mean = self.sum / self.searches as f64;
        let (searches, neighbours) = (self.searches, self.neighbours as u64);
        self.least.map(|least| EventKind::RecallMeasured { searches, neighbours, mean, least })
    }
}
