//! Decides when a load worker sends requests, and which requests it sends.

use std::time::Duration;

use super::{LAST_REPLIES_NS, Worker, stopping::WorkerStage, waiting::SocketReadiness};
use crate::{
    knobs::Rhythm,
    load::{
        ErrorKind, OperationCounts, answered::BatchBuffers, broken::ConnectionFailure,
        clients::ClientConnection, quota::NumberedRequest,
    },
    untrusted,
    workload::OpId,
};

/// How often a worker checks whether the server's name is resolved: every 5 ms.
const LOOK_FOR_ENDPOINTS_NS: u64 = 5_000_000;

/// How often a worker checks whether a record of the dataset is available: every 1 ms.
const LOOK_FOR_RECORD_NS: u64 = 1_000_000;

/// The largest number of batches that a client of a closed loop generates until a batch has a valid request. With
/// several servers, this number counts requests instead of batches.
pub(super) const TRIES: u32 = 100;
/// How long a client waits after [`TRIES`] batches without a valid request: 1 ms.
const REFUSED_PAUSE_NS: u64 = 1_000_000;
/// The largest number of bytes of an invalid key that an error message shows.
const LONGEST_SHOWN: usize = 80;

impl Worker {
    /// Returns how long the poll may sleep from `now_ns` on. If the worker never sleeps, the function returns zero. The
    /// function also counts the time of rounds without reads and writes, if the worker never sleeps.
    ///
    /// # Errors
    /// Fails if the system refuses to set the timer.
    pub(super) fn sleep_or_spin(&mut self, now_ns: u64) -> std::io::Result<Duration> {
        if !self.setup.plan.workers.busy {
            return self.sleep(now_ns);
        }
        if !std::mem::take(&mut self.has_worked) {
            self.segments.counts().client.spun_ns += now_ns - self.round_ns;
        }
        self.round_ns = now_ns;
        Ok(Duration::ZERO)
    }

    fn sleep(&mut self, now_ns: u64) -> std::io::Result<Duration> {
        if self.clients.unread() > 0 {
            return Ok(Duration::ZERO);
        }
        // This is the end of the load or, after the load, the end of the wait for the last replies.
        let end_ns = match self.stage {
            WorkerStage::Sending | WorkerStage::Spent { .. } => self.until_ns,
            WorkerStage::Over { since_ns } => since_ns + LAST_REPLIES_NS,
        };
        let held_ns = self.spread.as_ref().and_then(|spread| spread.next_ns());
        let timers = [self.clients.next_retry_ns(), self.watches.next_ns(), self.sessions.next_ns(), held_ns];
        let mut until_ns = timers.into_iter().flatten().fold(self.next_tick_ns.min(end_ns), u64::min);
        if self.awaits_endpoints {
            until_ns = until_ns.min(now_ns + LOOK_FOR_ENDPOINTS_NS);
        }
        let may_write = self.may_send() && self.clients.any_ready();
        if may_write && self.pace.is_closed() {
            until_ns = until_ns.min(now_ns + REFUSED_PAUSE_NS);
        }
        let slack_ns = self.alarm.slack_ns();
        let due = may_write.then(|| self.pace.wake_window(now_ns, slack_ns)).flatten();
        if self.awaits_record {
            until_ns = until_ns.min(now_ns + LOOK_FOR_RECORD_NS);
        }
        let due = due.or_else(|| self.think_window(now_ns)).filter(|_| !self.awaits_record);
        let coming = self.coming_ns.map(|since_ns| since_ns..=since_ns);
        if let Some(window) = due.into_iter().chain(coming).min_by_key(|window| *window.start()) {
            if *window.start() <= now_ns {
                return Ok(Duration::ZERO);
            }
            if let Some(wait) = self.alarm.set(&window, now_ns)? {
                until_ns = until_ns.min(now_ns + wait.as_nanos() as u64);
            }
        }
        Ok(Duration::from_nanos(until_ns.saturating_sub(now_ns)))
    }

    /// Writes the next batch of the idle client `i`. In an open loop, the batch contains requests that are due by
    /// `now_ns`.
    #[inline]
    pub(super) fn send(&mut self, i: usize, now_ns: u64) {
        if self.spread.is_some() {
            return self.send_spread(i, now_ns);
        }
        let tries = if self.pace.is_closed() { TRIES } else { 1 };
        for _ in 0..tries {
            let Some((requests, left)) = self.put_together(i, now_ns) else {
                if self.awaits_record {
                    self.clients.queue(i);
                }
                return;
            };
            if self.pace.is_closed() {
                self.segments.counts().due += requests;
            }
            if left < requests {
                self.report_refused();
            }
            if left > 0 {
                return self.write(i, left, now_ns);
            }
        }
        self.clients.queue(i);
    }

    /// Writes the encoded batch of client `i`, with `requests` requests.
    #[inline]
    fn write(&mut self, i: usize, requests: u64, now_ns: u64) {
        if self.stop_if_failed(requests, now_ns) {
            return;
        }
        let now_ns = self.setup.clock.now_ns();
        (self.seen_ns, self.has_worked) = (now_ns, true);
        let first_due_ns = self.clients.connection(i).and_then(|connection| connection.first_due_ns());
        self.note_lateness(first_due_ns, now_ns);
        let Some(connection) = self.clients.connection(i) else {
            return;
        };
        let sent = connection.send(
            &mut self.io,
            (&mut self.out, self.setting.program.values()),
            now_ns,
            &mut self.segments,
        );
        self.watch_sent(i, sent, now_ns);
    }

    /// Begins to watch the timeout of connection `i` after a batch was written on the connection. If the write has
    /// failed, the connection is lost.
    #[inline]
    pub(super) fn watch_sent(&mut self, i: usize, sent: Result<(), ConnectionFailure>, now_ns: u64) {
        let check_ns = self.check_ns(now_ns.saturating_add(self.timeout_ns), now_ns);
        self.watches.watch(i, check_ns);
        if let Err(broken) = sent {
            // The server may have sent the reason.
            self.attend_ready(i, SocketReadiness::TO_READ, now_ns);
            if self.clients.connection(i).is_some() {
                self.lose(i, &broken, now_ns);
            }
        }
    }

    /// Stops the load if a dataset record for a batch of `requests` requests could not be read. Returns whether the
    /// load was stopped.
    #[inline]
    pub(super) fn stop_if_failed(&mut self, requests: u64, now_ns: u64) -> bool {
        let Some(failure) = self.out.failure() else { return false };
        // Nothing more is sent, and the worker waits for the replies in flight.
        self.failure = Some(std::io::Error::other(failure.to_string()));
        self.segments.counts().unsent += requests;
        self.until_ns = self.until_ns.min(now_ns);
        true
    }

    /// Counts how late the first request of a batch is if the batch is written at `now_ns`.
    #[inline]
    pub(super) fn note_lateness(&mut self, first_due_ns: Option<u64>, now_ns: u64) {
        if let Some(due_ns) = first_due_ns {
            self.segments.counts().late_by(now_ns.saturating_sub(due_ns));
            // The server caused the delay until a client was free, and the worker caused the rest.
            let late_ns = now_ns.saturating_sub(due_ns.max(self.free_since_ns));
            self.segments.counts().client.late_send(late_ns);
        }
    }

    /// Encodes the next batch of the idle client `i`. Returns the number of generated requests, and how many
    /// of these requests can be sent. Returns `None` if no request may be generated.
    #[inline]
    fn put_together(&mut self, i: usize, now_ns: u64) -> Option<(u64, u64)> {
        let client = self.clients.get_mut(i)?;
        let ClientConnection::Open(connection) = &mut client.lane.link else { return None };
        self.out.clear();
        let mut batch = connection.next_batch_of(&mut client.draws);
        let most = if self.is_filling { u64::MAX } else { client.left };
        let pipeline = u64::from(self.setting.pipeline()).min(most) as u32;
        client.numbers.clear();
        // The indices of invalid requests, which have no bytes.
        let (mut before, mut refused) = (0, Vec::new());
        let counts = &mut self.segments.counts().counts;
        let mut count = |place, op: OpId, upto| {
            refused.extend((upto == before).then_some(place));
            counts[op.index()].bytes_out += (upto - before) as u64;
            before = upto;
        };
        let program = &self.setting.program;
        if self.pace.is_closed() && !self.is_filling && !program.has_records() {
            let n = self.allowance.take_of(pipeline);
            match program.append_alike(n, &mut client.draws, &mut self.out) {
                Some(op) => {
                    counts[op.index()].bytes_out += self.out.length() as u64;
                    batch.operations.resize(n as usize, op);
                }
                None => batch.operations.extend((0..n).map(|place| {
                    let op = program.append(&mut client.draws, &mut self.out);
                    count(place as usize, op, self.out.length_in_all());
                    op
                })),
            }
        } else {
            while batch.operations.len() < pipeline as usize && self.pace.is_due(now_ns) {
                let drawn = program.has_records().then(|| client.draws.clone());
                let op = if self.is_filling {
                    let Some(request) = self.filling.next() else { break };
                    client.numbers.push(request);
                    program.append_nth(request.number, &mut client.draws, &mut self.out)
                } else if self.allowance.take() {
                    program.append(&mut client.draws, &mut self.out)
                } else {
                    break;
                };
                if self.out.awaits_record() {
                    // The batch is encoded again when the record is available.
                    drawn.into_iter().for_each(|drawn| client.draws = drawn);
                    let filled = client.numbers.pop().map(|request| self.filling.put_back(request));
                    filled.unwrap_or_else(|| self.allowance.put_back_one());
                    self.awaits_record = true;
                    break;
                }
                count(batch.operations.len(), op, self.out.length_in_all());
                batch.dues.extend(self.pace.take());
                batch.operations.push(op);
            }
        }
        let requests = batch.operations.len() as u64;
        client.left -= if self.is_filling { 0 } else { requests };
        // If a record could not be read, nothing is sent.
        if refused.is_empty() || self.out.failure().is_some() {
            return (requests > 0).then_some((requests, requests));
        }
        let numbers = self.is_filling.then_some(&mut client.numbers);
        Some((requests, take_out(&refused, &mut batch, numbers, counts)))
    }

    /// Reports an invalid key or path.
    #[cold]
    pub(super) fn report_refused(&mut self) {
        let key = self.out.take_refused().unwrap_or_default();
        let has_keys = self.setup.plan.target.dialect.has_keys();
        let what = match has_keys {
            true => "key of memcached: a key has 1 to 250 bytes and no blank or control character",
            false => "path for HTTP: a path has at most 8000 ASCII bytes and no blank or control character",
        };
        self.report_error(&ErrorKind::Key, || {
            format!(
                "'{}' is no {what}; such requests are counted as errors and not sent",
                untrusted::at_most(&key, LONGEST_SHOWN)
            )
        });
    }

    /// Writes requests for the clients that wait for their turn. In an open loop, only due requests are written.
    pub(super) fn send_due(&mut self) {
        self.awaits_record = false;
        if !self.pace.is_closed() && self.may_send() {
            self.seen_ns = self.setup.clock.now_ns();
            self.take_setting();
        }
        self.send_ready();
        self.note_record_wait(self.seen_ns);
    }

    fn send_ready(&mut self) {
        if !self.pace.is_closed() {
            if self.may_send() {
                self.send_round(self.seen_ns);
            }
            return;
        }
        // Each client has one turn: a client that cannot send waits again.
        for _ in 0..self.clients.how_many_ready() {
            if self.may_send()
                && !self.awaits_record
                && let Some(i) = self.clients.next_ready()
            {
                self.send(i, self.seen_ns);
            }
        }
    }

    /// If the rhythm is [`Rhythm::Spread`], writes the next requests of a client right after its replies were
    /// read.
    ///
    /// # Errors
    /// Fails if the system refuses a send of the io_uring ring.
    #[inline]
    pub(super) fn send_within_round(&mut self) -> std::io::Result<()> {
        if self.setting.knobs.rhythm == Rhythm::Grouped {
            return Ok(());
        }
        self.seen_ns = self.setup.clock.now_ns();
        self.send_ready();
        self.io.flush()
    }

    /// Writes the requests that were due before `end_ns`, as long as a client is free. `end_ns` is in the past.
    pub(super) fn send_before(&mut self, end_ns: u64) {
        if self.setting.knobs.load && self.stage == WorkerStage::Sending && !self.pace.is_closed() {
            self.send_round(end_ns.saturating_sub(1));
        }
    }

    fn send_round(&mut self, now_ns: u64) {
        self.skip_unsendable(now_ns);
        while self.pace.is_due(now_ns)
            && !self.awaits_record
            && let Some(i) = self.clients.next_ready()
        {
            self.send(i, now_ns);
        }
    }

    /// Begins the time under load if the load is on, because a connection is open or could not be opened. Requests are
    /// due from now on.
    pub(super) fn begin(&mut self, now_ns: u64) {
        if self.setting.knobs.load {
            self.pace.begin(now_ns);
            self.segments.begin(now_ns);
        }
    }

    /// Counts due requests that will not be sent. Without a connection, all due requests fail. With a connection, late
    /// requests may be shed.
    pub(super) fn skip_unsendable(&mut self, now_ns: u64) {
        if self.clients.connected() == 0 {
            let failed = self.pace.give_up(now_ns);
            let failed = self.lost_within_limit(failed);
            self.segments.counts().errors.count(&self.outage, failed);
        } else {
            let shed = self.pace.shed(now_ns);
            let shed = self.lost_within_limit(shed);
            self.segments.counts().shed += shed;
        }
    }

    /// Returns how many of `passed` skipped requests are within the limit on requests. Only these requests
    /// count as due.
    pub(super) fn lost_within_limit(&mut self, passed: u64) -> u64 {
        if passed == 0 || self.is_filling {
            return passed;
        }
        let due = self.allowance.take_lost(passed);
        self.pace.were_not_due(passed - due);
        due
    }
}

/// Removes the requests at these indices from a batch, and counts them as errors. In a prefill, also removes
/// the numbers of these requests. Returns the number of remaining requests.
#[cold]
fn take_out(
    places: &[usize],
    batch: &mut BatchBuffers,
    mut numbers: Option<&mut Vec<NumberedRequest>>,
    counts: &mut [OperationCounts],
) -> u64 {
    for place in places.iter().rev() {
        counts[batch.operations.remove(*place).index()].errors.count(&ErrorKind::Key, 1);
        // In a closed loop, there are no due times.
        if !batch.dues.is_empty() {
            batch.dues.remove(*place);
        }
        if let Some(numbers) = &mut numbers {
            numbers.remove(*place);
        }
    }
    batch.operations.len() as u64
}
