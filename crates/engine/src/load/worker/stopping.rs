//! Decides when a load worker stops sending, and when its thread ends. No other module decides whether a load stops.

use std::{any::Any, io, sync::Arc};

use super::{Allowance, ConnectionFailure, ConnectionPhase, LAST_REPLIES_NS, LoadConnection, Worker};
use crate::load::{ErrorKind, phase, spread::MOST_HOPS};

/// The worker's progress in the current phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerStage {
    /// The worker sends while the load is on.
    Sending,
    /// The worker has sent all its requests. The worker waits for the last replies, and then for the next phase.
    Spent {
        /// Whether the last replies have arrived.
        is_answered: bool,
    },
    /// The load is over. The worker waits for the last replies, for a limited time, and then ends.
    Over {
        /// The time when the worker noticed the end, in ns.
        since_ns: u64,
    },
}

impl Worker {
    /// Switches to `phase`. If the worker had sent all requests of the old phase, the worker resumes sending, and the
    /// function returns true.
    pub(super) fn follow_phase(&mut self, phase: &phase::Phase) -> bool {
        self.until_ns = phase.load_ends_ns();
        self.is_filling = phase.prefill().is_some();
        let is_refilled = self.filling.follow(phase.prefill().map(|filling| &filling.quota));
        let is_ended = matches!(phase, phase::Phase::Ended { .. });
        // What was due before the end still counts against the limit.
        let is_another_quota = !is_ended && self.allowance.follow(phase.quota());
        if is_another_quota {
            self.part_requests();
        }
        let is_another = is_another_quota || is_refilled;
        if is_refilled {
            self.clients.forget_numbers();
            let generation = self.segments.generation();
            self.spread.iter_mut().for_each(|spread| spread.gives_back_after = generation);
        }
        is_another && !is_ended && self.send_again()
    }

    /// Sets how many requests each client may send, if the requests are divided among the clients.
    pub(super) fn part_requests(&mut self) {
        let Some(quota) = self.allowance.quota().map(Arc::clone) else { return };
        let (share, clients) = (self.setup.share(), u64::from(self.setting.knobs.clients));
        let sum = self.clients.part(|i| quota.part(share.nth(i as u64), clients));
        if quota.is_parted {
            self.allowance.grant(sum);
        }
    }

    /// Returns the requests that this worker may send in the current phase.
    fn may_be_sent(&self) -> &Allowance {
        if self.is_filling { &self.filling } else { &self.allowance }
    }

    /// Resumes sending if the worker had sent all its requests. Returns whether the worker has resumed sending.
    fn send_again(&mut self) -> bool {
        let was_spent = matches!(self.stage, WorkerStage::Spent { .. });
        if was_spent {
            self.stage = WorkerStage::Sending;
            self.clients.queue_idle();
        }
        was_spent
    }

    /// If every request must get a reply, returns the lost requests of client `i` to the allowance. The allowance is
    /// the number of requests that the worker may still send.
    pub(super) fn take_back(&mut self, i: usize) {
        if self.clients.give_back(i, &mut self.filling) {
            self.resume_prefill();
        }
    }

    /// Continues a prefill after requests were given back to the allowance.
    pub(super) fn resume_prefill(&mut self) {
        if !self.filling.is_spent() && self.send_again() {
            self.segments.resume();
        }
    }

    /// Returns whether requests are sent now. Requests are sent if the load is on, and the load was not over at the
    /// last reading of the clock.
    #[inline]
    pub(super) fn may_send(&self) -> bool {
        self.setting.knobs.load && self.stage == WorkerStage::Sending && self.seen_ns < self.until_ns
    }

    /// Stops the worker if the time of the load is over, or if all requests are sent.
    ///
    /// When the time of the load ends, the worker still sends requests that were due earlier if a client is free. If an
    /// open loop has a number of requests, the load ends when all requests have been sent. In a closed loop, each
    /// client waits for replies before it sends. The load of a closed loop therefore ends with the last reply.
    pub(super) fn stop_if_done(&mut self, now_ns: u64) {
        if matches!(self.stage, WorkerStage::Over { .. }) {
            return;
        }
        if now_ns >= self.until_ns {
            if self.stage == WorkerStage::Sending {
                self.send_before(self.until_ns);
                let unsent = self.pace.give_up(self.until_ns);
                let unsent = self.lost_within_limit(unsent);
                self.segments.counts().unsent += unsent;
            }
            self.stage = WorkerStage::Over { since_ns: now_ns };
            self.end_load(self.until_ns);
            return;
        }
        if self.stage == WorkerStage::Sending
            && self.may_be_sent().is_spent()
            && self.spread.as_ref().is_none_or(|spread| spread.gathered.is_empty())
        {
            self.stage = WorkerStage::Spent { is_answered: false };
            if !self.pace.is_closed() {
                self.end_load(now_ns);
            }
        }
        if self.stage == (WorkerStage::Spent { is_answered: false }) && self.segments.in_flight() == 0 {
            self.stage = WorkerStage::Spent { is_answered: true };
            self.end_load(now_ns);
            self.may_be_sent().finish();
        }
    }

    /// Ends the time under load at `at_ns`. Later replies belong to the drain.
    pub(super) fn end_load(&mut self, at_ns: u64) {
        self.count_lap();
        self.segments.counts().due += self.pace.take_due();
        self.segments.end(at_ns, self.clients.connected() as u32);
        // The tick is sent to the collector at once.
        self.next_tick_ns = self.next_tick_ns.min(at_ns);
    }

    /// Returns whether the load is over and the wait for replies has ended. If the load is over and the wait has ended,
    /// sends the worker's last counts to the collector.
    pub(super) fn is_finished(&mut self, now_ns: u64) -> bool {
        let WorkerStage::Over { since_ns } = self.stage else {
            return false;
        };
        if self.segments.in_flight() > 0 {
            // If data is still unread, for example after a pause of this process, the worker waits twice as
            // long to read the data. After this time, the worker ends even if the server never stops sending.
            let patience_ns = if self.clients.unread() > 0 { 2 * LAST_REPLIES_NS } else { LAST_REPLIES_NS };
            if now_ns < since_ns + patience_ns {
                return false;
            }
            self.give_up_replies(now_ns);
        }
        let connected = self.clients.connected() as u32;
        self.count_lap();
        self.segments.finish(now_ns, connected);
        true
    }

    /// Closes the connections that wait for a reply.
    fn give_up_replies(&mut self, now_ns: u64) {
        // A node may refuse requests at this moment, and these requests are then written to other nodes.
        for _ in 0..=MOST_HOPS + 1 {
            self.lose_those(
                |connection| connection.phase == ConnectionPhase::Busy,
                &ConnectionFailure::Unanswered,
                now_ns,
            );
            self.give_up_parcels(&ErrorKind::Unanswered, now_ns);
        }
    }

    /// Ends all connections of this worker after a fatal error, and sends its last counts to the collector.
    #[cold]
    pub(super) fn die(&mut self, why: &io::Error) {
        let now_ns = self.setup.clock.now_ns();
        self.lose_those(|_| true, &ConnectionFailure::Died(why.to_string()), now_ns);
        self.give_up_parcels(&ErrorKind::Unanswered, now_ns);
        self.report_losses();
        self.until_ns = self.until_ns.min(now_ns);
        self.stop_if_done(now_ns);
        self.segments.finish(now_ns, 0);
    }

    fn lose_those(&mut self, is_one: impl Fn(&LoadConnection) -> bool, why: &ConnectionFailure, now_ns: u64) {
        let those: Vec<_> = self.clients.connections().filter(|(_, c)| is_one(c)).map(|(i, _)| i).collect();
        for i in those {
            self.lose(i, why, now_ns);
        }
    }
}

/// Returns an error with the message of a thread's panic.
pub(super) fn panicked(panic: &(dyn Any + Send)) -> io::Error {
    let words = panic.downcast_ref::<String>().map(String::as_str);
    let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    io::Error::other(format!("a thread of the load panicked: {words}"))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpListener,
        sync::atomic::{AtomicBool, AtomicU64, Ordering},
        time::Duration,
    };

    use super::*;
    use crate::{
        clock::Clock,
        endpoint::parse_uri,
        knobs::Knobs,
        load::{FirstCommands, Load, LoadPlan, RequestLimit},
        workload::{Operation, Steps, Workload},
    };

    /// Counts the requests of one connection. Every reply says that the server closes the connection.
    fn serve(mut stream: std::net::TcpStream, all: &AtomicU64, late: &AtomicU64) {
        let (mut bytes, mut text, mut of_this) = ([0; 4096], Vec::new(), 0);
        while let Ok(n @ 1..) = stream.read(&mut bytes) {
            text.extend_from_slice(&bytes[..n]);
            let requests = text.windows(4).filter(|end| end == b"\r\n\r\n").count();
            while of_this < requests {
                all.fetch_add(1, Ordering::Relaxed);
                late.fetch_add(u64::from(of_this > 0), Ordering::Relaxed);
                of_this += 1;
                let reply = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
                if stream.write_all(reply).is_err() {
                    return;
                }
            }
        }
    }

    #[test]
    fn no_request_follows_the_last_reply_of_an_http_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let [all, late] = [(); 2].map(|()| AtomicU64::new(0));
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for stream in listener.incoming().map_while(Result::ok) {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    scope.spawn(|| serve(stream, &all, &late));
                }
            });
            let target = parse_uri(&format!("http://127.0.0.1:{port}/")).unwrap().target;
            let operations = vec![Operation::command("GET /{key}", 1)];
            let prefill = Steps { steps: vec!["PUT /{key}".to_owned()] };
            let workload =
                Arc::new(Workload { operations, prefill, ..Workload::clone(&Workload::ratio(1, 1)) });
            let (requests, first_words) =
                (Some(RequestLimit::Shared(10)), FirstCommands::Bare { tracks: false });
            let plan = LoadPlan { target, requests, first_words, ..LoadPlan::fixture() };
            let knobs = Knobs { load: true, clients: 2, keyspace: 20, workload, ..Knobs::default() };
            let (load, _output) = Load::start(&plan, knobs.clone(), None, Clock::start()).unwrap();
            let wait = |is_done: &dyn Fn() -> bool| {
                while !is_done() {
                    std::thread::sleep(Duration::from_millis(1));
                }
            };
            wait(&|| load.is_prefill_done());
            load.set(&knobs);
            wait(&|| load.is_over());
            drop(load);
            is_over.store(true, Ordering::Relaxed);
            drop(std::net::TcpStream::connect(("127.0.0.1", port)));
        });
        let [all, late] = [all, late].map(AtomicU64::into_inner);
        assert_eq!((all, late), (30, 0), "20 of the prefill and 10 of the load");
    }

    #[test]
    fn a_load_that_is_ended_by_hand_has_no_more_due_requests_than_its_limit() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("redis://127.0.0.1:{}", server.local_addr().unwrap().port());
        let (target, first_words) = (parse_uri(&uri).unwrap().target, FirstCommands::Bare { tracks: false });
        let requests = Some(RequestLimit::Shared(100));
        let plan = LoadPlan { target, requests, first_words, ..LoadPlan::fixture() };
        let workload = Workload::ratio(0, 1);
        let knobs = Knobs { load: true, clients: 1, rate: Some(100_000), workload, ..Knobs::default() };
        let (mut load, mut output) = Load::start(&plan, knobs, None, Clock::start()).unwrap();
        let (mut stream, _) = server.accept().unwrap();
        assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
        // More than 100 requests come due, and the server never replies.
        std::thread::sleep(Duration::from_millis(20));
        load.end();
        let buffers = std::iter::from_fn(|| output.rings[0].intervals.pop().ok());
        let counts = buffers.map(|buffer| (buffer.due, buffer.unsent));
        let sums = counts.fold((0, 0), |sums, counts| (sums.0 + counts.0, sums.1 + counts.1));
        assert_eq!(sums, (100, 99), "one request was sent");
    }
}
