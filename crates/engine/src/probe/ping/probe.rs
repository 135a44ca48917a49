//! The thread of the ping probe runs a loop that sends due PINGs, waits for replies, and reports every tick (250 ms).

use std::{
    io,
    num::NonZeroU32,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
        mpsc::Sender,
    },
    time::Duration,
};

use super::{
    account::{LinkState, PingAccount, PingedNode},
    lead::Lead,
    link::PingLink,
    schedule::Schedule,
    stamped_socket::Readiness,
};
use crate::{
    clock::{Clock, TICK_NS},
    endpoint::Target,
    probe::{
        ProbeMessage, ProbeReport,
        thread::{ProbeThread, StopFlag, sharpen_timers},
        ticker::Ticker,
    },
    stats::Samples,
};

/// The default number of PINGs a second. redis-cli sends at most as many.
const PER_SECOND: NonZeroU32 = NonZeroU32::new(100).expect("100 is not 0");
/// The default timeout of a reply: 5 s.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The longest wait for an event. Dropping the probe takes at most this time.
const LONGEST_WAIT_NS: u64 = 100_000_000;

/// The settings of a ping probe.
#[derive(Debug, Clone)]
pub struct PingPlan {
    /// The server to measure. The probe does not select the database of the target.
    pub target: Target,
    /// The number of PINGs a second.
    pub per_second: NonZeroU32,
    /// How long a PING may wait for its reply before the connection is closed.
    pub timeout: Duration,
    /// The time between two reports.
    pub tick: Duration,
    /// The node that the probe watches for outages.
    pub watched: PingedNode,
    /// The time of the last change of the load settings, in ns. A report never contains PINGs from both before and
    /// after a change.
    pub changed_ns: Arc<AtomicU64>,
}

impl PingPlan {
    /// Creates the default plan: 100 PINGs a second, a timeout of 5 s, and a report every 250 ms.
    pub fn new(target: Target) -> Self {
        let (tick, watched) = (Duration::from_nanos(TICK_NS), PingedNode::default());
        let changed_ns = Arc::default();
        Self { target, per_second: PER_SECOND, timeout: TIMEOUT, tick, watched, changed_ns }
    }
}

/// A running ping probe. Dropping the probe ends its thread.
pub struct PingProbe {
    per_second: Arc<AtomicU32>,
    thread: ProbeThread,
}

impl PingProbe {
    /// Starts the thread `ping`. The thread connects, sends a report every tick, and sends a last report when the probe
    /// is dropped. If the server is unreachable, this function does not fail. The thread reports the failure and tries
    /// again.
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    pub fn start(plan: PingPlan, clock: Clock, messages: Sender<ProbeMessage>) -> io::Result<Self> {
        let per_second = Arc::new(AtomicU32::new(plan.per_second.get()));
        let pace = Arc::clone(&per_second);
        let reports = messages.clone();
        let body = move |stop: StopFlag| {
            let live = || PingLoop::new(&plan, pace, clock, messages).live(&stop);
            report_panic(live, clock, &reports);
        };
        Ok(Self { per_second, thread: ProbeThread::start("ping", body)? })
    }

    /// Requests the end of the thread, and does not wait until the thread has ended. A session can then end the probes
    /// of all nodes at the same time.
    pub fn stop(&self) {
        self.thread.stop();
    }

    /// Changes the number of PINGs a second, from the next PING on.
    pub fn pace(&self, per_second: NonZeroU32) {
        self.per_second.store(per_second.get(), Ordering::Relaxed);
    }
}

/// The state of the ping loop.
struct PingLoop {
    clock: Clock,
    /// The requested number of PINGs a second. The next field contains the number of PINGs in the present schedule.
    pace: Arc<AtomicU32>,
    per_second: NonZeroU32,
    missed_after_ns: u64,
    changed_ns: Arc<AtomicU64>,
    ticker: Ticker,
    /// The schedule of PINGs, or `None` until the first attempt to connect has ended.
    schedule: Option<Schedule>,
    lead: Lead,
    link: PingLink,
    account: PingAccount,
}

impl PingLoop {
    fn new(plan: &PingPlan, pace: Arc<AtomicU32>, clock: Clock, messages: Sender<ProbeMessage>) -> Self {
        Self {
            clock,
            pace,
            per_second: plan.per_second,
            missed_after_ns: u64::try_from(plan.timeout.as_nanos()).unwrap_or(u64::MAX),
            changed_ns: Arc::clone(&plan.changed_ns),
            ticker: Ticker::new(plan.tick, clock.now_ns()),
            schedule: None,
            lead: Lead::new(plan.per_second),
            link: PingLink::new(&plan.target, plan.timeout, clock),
            account: PingAccount::new(messages, plan.watched.clone()),
        }
    }

    fn live(mut self, stop: &StopFlag) {
        sharpen_timers();
        while !stop.is_asked() && !self.account.is_receiver_gone {
            self.turn();
        }
        self.close_at(self.clock.now_ns());
    }

    /// Writes due PINGs, waits, and handles events.
    fn turn(&mut self) {
        let now_ns = self.clock.now_ns();
        self.close_tick_if_over(now_ns);
        self.take_due(now_ns);
        self.link.awaited_ns().into_iter().for_each(|due_ns| self.account.awaits(due_ns, now_ns));
        self.link.advance(now_ns, &mut |news| self.account.book(news, now_ns));
        let before_ns = self.clock.now_ns();
        if self.is_nearly_due(before_ns) {
            return std::hint::spin_loop();
        }
        let until_ns = self.next_event_ns(now_ns);
        let ready = self.link.wait(before_ns, until_ns);
        // The clock is read before the data, because the reply was there when the wait returned.
        let at_ns = self.clock.now_ns();
        if (before_ns + 1..=at_ns).contains(&until_ns) && ready == Readiness::default() {
            self.lead.learn(at_ns - until_ns);
        }
        self.link.react(ready, at_ns, &mut |news| self.account.book(news, at_ns));
        if self.schedule.is_none() && self.account.begun {
            self.schedule = Some(Schedule::new(at_ns, self.per_second));
        }
    }

    /// Reports the tick if it is over. A change of the load settings also ends a tick. The report of this tick is sent
    /// when the PINGs that were due before the change are answered.
    fn close_tick_if_over(&mut self, now_ns: u64) {
        let changed_ns = self.changed_ns.load(Ordering::Relaxed);
        // Agents of a fleet change their settings at a time in the future.
        if changed_ns > self.ticker.start_ns.max(self.account.changed_ns) && changed_ns <= now_ns {
            self.report_ended();
            self.account.change(changed_ns);
        }
        let is_answered = self.link.due_ns().next().is_none_or(|due_ns| due_ns >= self.account.changed_ns);
        if is_answered && self.account.changed_ns > self.ticker.start_ns {
            self.report_ended();
        }
        if let Some(end_ns) = self.ticker.over(now_ns) {
            self.close_at(end_ns);
        }
    }

    fn close_at(&mut self, end_ns: u64) {
        self.report_ended();
        // If this thread has slept, the settings may have changed after the end of the tick.
        let end_ns = end_ns.max(self.ticker.start_ns);
        let body = self.account.close(state(&self.link, end_ns));
        self.account.send(ProbeMessage::Ping(Box::new(self.ticker.close(end_ns, body))));
    }

    /// Reports the PINGs that were due before a change of the load settings, and that no report contains yet. If the
    /// change did not end a tick, the report has the length 0.
    fn report_ended(&mut self) {
        let Self { ticker, link, account, .. } = self;
        for (changed_ns, body) in account.close_ended(|changed_ns| state(link, changed_ns)) {
            let report = match changed_ns > ticker.start_ns {
                true => ticker.close(changed_ns, body),
                false if body.rtt.is_empty() && body.errors.is_empty() => continue,
                false => ProbeReport { start_ns: changed_ns, end_ns: changed_ns, body },
            };
            account.send(ProbeMessage::Ping(Box::new(report)));
        }
    }

    fn take_due(&mut self, now_ns: u64) {
        let Some(schedule) = &mut self.schedule else { return };
        if let Some(pace) = NonZeroU32::new(self.pace.load(Ordering::Relaxed))
            && pace != self.per_second
        {
            (self.per_second, self.lead) = (pace, Lead::new(pace));
            *schedule = Schedule::new(schedule.next_due_ns(), pace);
        }
        while let Some(due_ns) = schedule.take_due(now_ns) {
            if now_ns - due_ns > self.missed_after_ns {
                // After a suspension of hours, sending all missed PINGs at once would be a load, not a measurement.
                self.account.count("missed", due_ns);
            } else if !self.link.queue_ping(due_ns, now_ns) {
                self.account.book_unsendable(due_ns);
            }
        }
    }

    /// Returns the time when the thread must be awake for the next PING.
    fn nearly_due_ns(&self) -> u64 {
        self.schedule.as_ref().map_or(u64::MAX, |s| s.next_due_ns().saturating_sub(self.lead.ns))
    }

    /// Returns whether the next PING is due so soon that a sleep would delay it. Returns false if a reply is awaited.
    fn is_nearly_due(&self, now_ns: u64) -> bool {
        now_ns >= self.nearly_due_ns() && self.link.is_quiet()
    }

    fn next_event_ns(&self, now_ns: u64) -> u64 {
        self.nearly_due_ns().min(self.ticker.end_ns).min(now_ns + LONGEST_WAIT_NS)
    }
}

/// Runs `live`. If `live` panics, reports that the probe has stopped. The panic hook has already printed the reason.
fn report_panic(live: impl FnOnce(), clock: Clock, messages: &Sender<ProbeMessage>) {
    if catch_unwind(AssertUnwindSafe(live)).is_err() {
        let cause = "the ping probe has stopped for the rest of the session, because its thread panicked; please \
            report this defect of redyno";
        let lost =
            ProbeMessage::Lost { at_ns: clock.now_ns(), kind: "panic".to_owned(), cause: cause.to_owned() };
        // Sending fails only at the end of the session, when the receiving end of the channel is gone.
        drop(messages.send(lost));
    }
}

/// Returns the state of the connection for a report.
fn state(link: &PingLink, now_ns: u64) -> LinkState {
    let mut waits = Samples::default();
    link.due_ns().filter_map(|due_ns| now_ns.checked_sub(due_ns)).for_each(|wait_ns| waits.record(wait_ns));
    LinkState { unanswered: waits.take(), timing: link.timing(), tcp: link.tcp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_thread_is_reported() {
        let (messages, heard) = std::sync::mpsc::channel();
        report_panic(|| panic!("a defect"), Clock::start(), &messages);
        let Ok(ProbeMessage::Lost { cause, .. }) = heard.try_recv() else { panic!("no report") };
        assert!(cause.contains("the ping probe has stopped"), "{cause}");
        report_panic(|| (), Clock::start(), &messages);
        assert_eq!(heard.try_recv().ok(), None);
    }
}
