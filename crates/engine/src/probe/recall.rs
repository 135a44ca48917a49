//! Measures the recall of vector searches. The recall is the share of the exact nearest neighbours that the server
//! finds.

use std::{
    io::{self, ErrorKind::TimedOut},
    sync::{Arc, mpsc::Sender},
    time::{Duration, Instant},
};

use super::{
    ProbeMessage,
    thread::{ProbeThread, StopFlag},
};
use crate::{
    clock::Clock,
    endpoint::{ReachError, Talk, Target, talk},
    events::EventKind,
    protocol::{Dialect, HttpReply, Reply},
    untrusted,
    workload::{Draws, VectorQuery, VectorSearch, Workload},
};

/// The shortest time between two searches: 250 ms.
const EVERY: Duration = Duration::from_millis(250);
/// After each search, the probe pauses. The pause is the time in which the probe computed the exact neighbours,
/// multiplied by this number. The probe therefore uses at most 5 % of a core.
const PAUSES: u32 = 20;
/// The timeout of the connection, and of each reply: 1 s. Stopping the probe may take this long.
const LIMIT: Duration = Duration::from_secs(1);
/// The longest accepted reply: 16 MiB.
const LONGEST: usize = 16 << 20;
/// The largest number of bytes of an HTTP server's error that are shown.
const LONGEST_SHOWN: usize = 200;
/// The pause after a failed search: 1 s.
const AGAIN: Duration = Duration::from_secs(1);

/// A running recall probe. Dropping the probe ends its thread.
pub struct RecallProbe {
    _thread: ProbeThread,
}

impl RecallProbe {
    /// Starts the thread `recall`, which sends its own searches to `target` and reports their recall to `messages`.
    /// `of` contains the workload of the searches, and the number of keys of this workload. When the thread ends, it
    /// reports an event with the mean recall.
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    pub fn start(
        target: Target,
        (search, of): (VectorSearch, (Arc<Workload>, u64)),
        clock: Clock,
        messages: Sender<ProbeMessage>,
    ) -> io::Result<Self> {
        // In RESP3, FT.SEARCH answers a map, in which the names of the found vectors are nested.
        let dialect = if target.dialect == Dialect::Resp3 { Dialect::Resp2 } else { target.dialect };
        let target = Target { dialect, ..target };
        let body = move |stop: StopFlag| {
            let send = |message| drop(messages.send(message)); // the receiver is gone only while the session ends
            let stored = search.stored(|| stop.is_asked());
            let (mut talk, mut draws, mut sums) = (None, Draws::new(1), RecallSums::default());
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
                        send(ProbeMessage::Recall { recall, of: of.clone() });
                        stop.pause_until((began + EVERY).max(begun + PAUSES * begun.elapsed()));
                    }
                    Err(cause) => {
                        if trouble.as_ref() != Some(&cause) {
                            let what = EventKind::RecallUnmeasured { cause: cause.clone() };
                            send(ProbeMessage::Event { at_ns: clock.now_ns(), node: 0, what });
                        }
                        trouble = Some(cause);
                        stop.pause_until(began + AGAIN);
                    }
                }
            }
            if let Some(what) = sums.summary() {
                send(ProbeMessage::Event { at_ns: clock.now_ns(), node: 0, what });
            }
        };
        Ok(Self { _thread: ProbeThread::start("recall", body)? })
    }
}

/// Sends a search and returns the reply. If there is no connection, or the server has closed it since the last search,
/// opens a new connection first.
///
/// # Errors
/// Fails if the server cannot be reached, does not answer, or answers with an error.
fn ask(target: &Target, line: &mut Option<Talk>, query: &VectorQuery) -> Result<Vec<u8>, String> {
    let is_closed =
        |error: &ReachError| matches!(error, ReachError::Io { cause, .. } if cause.kind() != TimedOut);
    let talk = match line.take().map(|talk| ask_on(talk, line, query)) {
        Some(Err(error)) if !is_closed(&error) => return Err(error.to_string()),
        Some(Ok(answer)) => return answer,
        Some(Err(_)) | None => talk(target, Some("redyno-recall"), LIMIT),
    };
    talk.and_then(|talk| ask_on(talk.bounded(LONGEST).with_bodies(), line, query))
        .unwrap_or_else(|error| Err(error.to_string()))
}

/// Sends a search on a connection, and keeps the connection in `line` after a reply.
fn ask_on(
    mut talk: Talk,
    line: &mut Option<Talk>,
    query: &VectorQuery,
) -> Result<Result<Vec<u8>, String>, ReachError> {
    let has_keys = talk.target().dialect.has_keys();
    let mut answer = Ok(Vec::new());
    let read = |bytes: &[u8], reply: Reply| {
        answer = match reply {
            Reply::Error(line) if !has_keys => {
                Err(untrusted::at_most(&[line, b": ", &HttpReply::read(bytes).body].concat(), LONGEST_SHOWN))
            }
            Reply::Error(_) => Err(untrusted::bytes(bytes.trim_ascii())),
            _ => Ok(bytes.to_vec()),
        };
    };
    talk.count(&[&query.command]);
    talk.ask(&query.request, 1, LIMIT, read)?;
    *line = Some(talk);
    Ok(answer)
}

/// The sums over all searches so far.
#[derive(Default)]
struct RecallSums {
    searches: u64,
    sum: f64,
    least: Option<f64>,
    neighbours: usize,
}

impl RecallSums {
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

#[cfg(test)]
mod tests {
    use std::{io::Read, net::TcpListener, sync::mpsc::channel};

    use super::*;
    use crate::{
        endpoint::Address,
        untrusted,
        workload::{KeyNames, preset},
    };

    #[test]
    fn the_probe_of_a_resp3_target_searches_in_resp2() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address =
            Address::Tcp { host: "127.0.0.1".to_owned(), port: listener.local_addr().unwrap().port() };
        let target = Target { address, dialect: Dialect::Resp3, ..Target::default() };
        let workload = preset("vector-set").unwrap();
        let search = workload.vector_search(target.dialect, 10, &KeyNames::given("k:")).unwrap().unwrap();
        let (messages, _received) = channel();
        let probe = RecallProbe::start(target, (search, (workload, 10)), Clock::start(), messages).unwrap();
        let (mut first, mut stream) = ([0; 64], listener.accept().unwrap().0);
        let n = stream.read(&mut first).unwrap();
        assert!(
            n > 0 && !first[..n].windows(5).any(|word| word == b"HELLO"),
            "{}",
            untrusted::bytes(&first[..n])
        );
        drop((stream, probe));
    }
}
