//! The intrinsic probe measures how long the host interrupts a thread that never waits.
//!
//! A busy loop repeats the same small piece of work, and measures the time of each repetition. A repetition is called a
//! turn. The work always takes the same time. If a turn takes longer, something else ran in between. This time is
//! called a *gap*. The kernel, another process on the same core, or the hypervisor can cause a gap.
//! `redis-cli --intrinsic-latency` measures the same gaps. Both programs read the clock once per turn.
//!
//! | form | the loop runs | ends |
//! |---|---|---|
//! | on demand | all the time, on a whole core | after its length |
//! | gentle | 5 ms out of every 50 ms | when it is turned off |
//!
//! In its gentle form, the loop runs in bursts of 5 ms. A burst is shorter than a scheduler's time slice, so a burst
//! hardly disturbs other threads. The probe reports every 250 ms, after five bursts. Each burst begins at a random time
//! within its period of 50 ms. With fixed times, a periodic disturbance, such as a timer or a CPU quota, could always
//! fall between two bursts. The probe measures a gap that begins in a burst to the end of the gap. The probe does not
//! measure a gap that begins between two bursts. About a tenth of all gaps begin in a burst.

mod turn;

use std::{
    io,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel},
    thread::{Builder, JoinHandle},
    time::Duration,
};

use rand::RngExt;

use self::turn::Shuffle;
use super::{Intrinsic, ProbeMessage, ticker::Ticker};
use crate::{
    clock::{Clock, seconds},
    stats::Recorder,
};

/// The length of a burst of the gentle form: 5 ms.
const BURST_NS: u64 = 5_000_000;
/// The period of the bursts: one burst begins in every 50 ms.
const BURST_EVERY_NS: u64 = 50_000_000;
/// How often the busy loop checks for commands: every 1 ms. A check costs some nanoseconds in one of many thousand
/// turns.
const LOOK_EVERY_NS: u64 = 1_000_000;

/// An intrinsic probe. The probe measures only after [`run`](Self::run) or [`gentle`](Self::gentle) was
/// called. Dropping the probe ends its thread.
pub struct IntrinsicProbe {
    /// The channel to the thread. When the probe is dropped, the field becomes `None`. The channel is then closed,
    /// which ends the thread.
    commands: Option<Sender<IntrinsicCommand>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Clone, Copy)]
enum IntrinsicCommand {
    Run(Duration),
    Stop,
    Gentle(bool),
}

impl IntrinsicProbe {
    /// Starts the thread `intrinsic`. The thread sleeps until a measurement begins, and then reports every `tick`
    /// (usually 250 ms).
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    pub fn start(tick: Duration, clock: Clock, reports: Sender<ProbeMessage>) -> io::Result<Self> {
        let (commands, inbox) = channel();
        let body = move || Loop::new(tick, clock, reports).live(&inbox);
        let thread = Builder::new().name("intrinsic".to_owned()).spawn(body)?;
        Ok(Self { commands: Some(commands), thread: Some(thread) })
    }

    /// Runs the busy loop for `length` from now on. If a run is in progress, the new run replaces it. In the last
    /// report of a run, `remaining_s` is 0, even if the run was stopped early.
    pub fn run(&self, length: Duration) {
        self.send(IntrinsicCommand::Run(length));
    }

    /// Ends a run that [`run`](Self::run) began before the time of the run is over.
    pub fn stop(&self) {
        self.send(IntrinsicCommand::Stop);
    }

    /// Turns the gentle form on or off. The gentle form measures for 5 ms in every 50 ms. If a run on demand is in
    /// progress, the change takes effect after the run.
    pub fn gentle(&self, on: bool) {
        self.send(IntrinsicCommand::Gentle(on));
    }

    fn send(&self, command: IntrinsicCommand) {
        if let Some(commands) = &self.commands {
            // The thread ends early only if the receiver of its reports is gone: then the command is not needed.
            let _ = commands.send(command);
        }
    }
}

impl Drop for IntrinsicProbe {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, the panic hook has printed the reason. A drop itself must not panic.
            let _ = thread.join();
        }
    }
}

/// The state of the loop.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Off,
    /// A run on demand, which lasts until this time in ns.
    Run(u64),
    Gentle,
}

/// The error that ends the thread: its handle was dropped, or the receiver of its reports is gone.
struct LoopEnded;

struct Loop {
    clock: Clock,
    reports: Sender<ProbeMessage>,
    ticker: Ticker,
    turn: Shuffle,
    gaps: Recorder,
    mode: Mode,
    /// Whether the loop measures in bursts (the gentle form) while there is no run on demand.
    gentle: bool,
}

impl Loop {
    fn new(tick: Duration, clock: Clock, reports: Sender<ProbeMessage>) -> Self {
        Self {
            clock,
            reports,
            ticker: Ticker::new(tick, clock.now_ns()),
            turn: Shuffle::new(),
            gaps: Recorder::new(),
            mode: Mode::Off,
            gentle: false,
        }
    }

    fn live(mut self, inbox: &Receiver<IntrinsicCommand>) {
        while self.step(inbox).is_ok() {}
        let now_ns = self.clock.now_ns();
        if self.mode != Mode::Off {
            // The handle is being dropped; a missing receiver does not matter.
            let _ = self.report_until(now_ns);
        }
    }

    /// Waits for a command, or runs the busy loop for a while, depending on the current mode.
    fn step(&mut self, inbox: &Receiver<IntrinsicCommand>) -> Result<(), LoopEnded> {
        match self.mode {
            Mode::Off => {
                let command = inbox.recv().map_err(|_| LoopEnded)?;
                self.execute(command)
            }
            Mode::Run(until_ns) => {
                match self.work(until_ns.min(self.ticker.end_ns), inbox)? {
                    Some(command) => self.execute(command),
                    // Only the last report of a run marks the end of the run.
                    None if self.clock.now_ns() >= until_ns => self.execute(IntrinsicCommand::Stop),
                    None => self.close_tick_if_over(),
                }
            }
            Mode::Gentle => {
                let slot_ns = self.clock.now_ns() / BURST_EVERY_NS * BURST_EVERY_NS;
                let begin_ns = slot_ns + rand::rng().random_range(0..=BURST_EVERY_NS - BURST_NS);
                let mut command = self.wait(begin_ns, inbox)?;
                if command.is_none() {
                    command = self.work(self.clock.now_ns() + BURST_NS, inbox)?;
                }
                if command.is_none() {
                    command = self.wait(slot_ns + BURST_EVERY_NS, inbox)?;
                }
                self.close_tick_if_over()?;
                command.map_or(Ok(()), |command| self.execute(command))
            }
        }
    }

    fn execute(&mut self, command: IntrinsicCommand) -> Result<(), LoopEnded> {
        let before = self.mode;
        let now_ns = self.clock.now_ns();
        if let IntrinsicCommand::Gentle(on) = command {
            self.gentle = on;
        }
        let resting = if self.gentle { Mode::Gentle } else { Mode::Off };
        let after = match (command, before) {
            (IntrinsicCommand::Run(length), _) => {
                Mode::Run(now_ns.saturating_add(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)))
            }
            (IntrinsicCommand::Gentle(_), Mode::Run(_)) => before,
            (IntrinsicCommand::Gentle(_) | IntrinsicCommand::Stop, _) => resting,
        };
        if after == before {
            return Ok(());
        }
        if before == Mode::Off {
            self.ticker.restart(now_ns);
        } else {
            if let Mode::Run(_) = before {
                self.mode = Mode::Run(now_ns);
            }
            self.report_until(now_ns)?;
        }
        self.mode = after;
        Ok(())
    }

    /// Runs the busy loop until `until_ns`, or until a command arrives.
    fn work(
        &mut self,
        until_ns: u64,
        inbox: &Receiver<IntrinsicCommand>,
    ) -> Result<Option<IntrinsicCommand>, LoopEnded> {
        let mut before_ns = self.clock.now_ns();
        let mut look_ns = before_ns;
        while before_ns < until_ns {
            if before_ns >= look_ns {
                match inbox.try_recv() {
                    Ok(command) => return Ok(Some(command)),
                    Err(TryRecvError::Disconnected) => return Err(LoopEnded),
                    Err(TryRecvError::Empty) => look_ns = before_ns + LOOK_EVERY_NS,
                }
            }
            self.turn.work();
            let now_ns = self.clock.now_ns();
            self.gaps.record(now_ns - before_ns);
            before_ns = now_ns;
        }
        Ok(None)
    }

    fn wait(
        &self,
        until_ns: u64,
        inbox: &Receiver<IntrinsicCommand>,
    ) -> Result<Option<IntrinsicCommand>, LoopEnded> {
        let rest = Duration::from_nanos(until_ns.saturating_sub(self.clock.now_ns()));
        match inbox.recv_timeout(rest) {
            Ok(command) => Ok(Some(command)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(LoopEnded),
        }
    }

    fn close_tick_if_over(&mut self) -> Result<(), LoopEnded> {
        let now_ns = self.clock.now_ns();
        let (mode, gaps) = (self.mode, &mut self.gaps);
        match self.ticker.close_if_over(now_ns, || drain(mode, gaps, now_ns)) {
            Some(report) => self.reports.send(ProbeMessage::Intrinsic(report)).map_err(|_| LoopEnded),
            None => Ok(()),
        }
    }

    fn report_until(&mut self, now_ns: u64) -> Result<(), LoopEnded> {
        let report = self.ticker.close(now_ns, drain(self.mode, &mut self.gaps, now_ns));
        self.reports.send(ProbeMessage::Intrinsic(report)).map_err(|_| LoopEnded)
    }
}

fn drain(mode: Mode, gaps: &mut Recorder, now_ns: u64) -> Intrinsic {
    let latency = gaps.latency();
    gaps.reset();
    Intrinsic {
        gentle: mode == Mode::Gentle,
        // The turns follow each other without a gap: their sum is the time in the loop.
        busy_ns: u64::try_from(latency.sum_ns()).unwrap_or(u64::MAX),
        runs: latency.count(),
        gaps: latency,
        remaining_s: match mode {
            Mode::Run(until_ns) => Some(seconds(until_ns.saturating_sub(now_ns))),
            Mode::Gentle | Mode::Off => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock::SECOND_NS, probe::ProbeReport};

    const TICK: Duration = Duration::from_millis(20);

    fn started() -> (IntrinsicProbe, Receiver<ProbeMessage>) {
        let (sender, receiver) = channel();
        (IntrinsicProbe::start(TICK, Clock::start(), sender).unwrap(), receiver)
    }

    fn next(receiver: &Receiver<ProbeMessage>) -> ProbeReport<Intrinsic> {
        intrinsic(receiver.recv().unwrap())
    }

    fn intrinsic(message: ProbeMessage) -> ProbeReport<Intrinsic> {
        match message {
            ProbeMessage::Intrinsic(report) => report,
            other => panic!("the intrinsic probe said {other:?}"),
        }
    }

    fn until_the_end(receiver: &Receiver<ProbeMessage>) -> Vec<ProbeReport<Intrinsic>> {
        let mut reports = Vec::new();
        while reports.last().is_none_or(|r: &ProbeReport<Intrinsic>| r.body.remaining_s != Some(0.0)) {
            reports.push(next(receiver));
        }
        reports
    }

    #[test]
    fn a_run_accounts_for_all_of_its_time_and_says_when_it_is_over() {
        let (probe, receiver) = started();
        // A multiple of the tick, so that the end of the run and the end of a tick coincide.
        probe.run(TICK * 2);
        let mut reports = until_the_end(&receiver);
        drop(probe);
        reports.extend(receiver.iter().map(intrinsic));
        let busy_ns: u64 = reports.iter().map(|report| report.body.busy_ns).sum();
        let runs: u64 = reports.iter().map(|report| report.body.runs).sum();
        let length_ns = reports.last().unwrap().end_ns - reports[0].start_ns;
        let ends = reports.iter().filter(|report| report.body.remaining_s == Some(0.0)).count();
        assert!(runs > 0 && ends == 1, "{runs} runs, {ends} ends");
        assert!(busy_ns <= length_ns, "{busy_ns} ns of work in {length_ns} ns");
        for report in &reports {
            assert!(!report.body.gentle);
            assert_eq!(report.body.runs, report.body.gaps.count());
        }
    }

    #[test]
    fn a_run_can_be_stopped_before_its_time() {
        let (probe, receiver) = started();
        probe.run(Duration::from_secs(3600));
        let first = next(&receiver);
        assert!(first.body.remaining_s.unwrap() > 3000.0);
        probe.stop();
        assert_eq!(until_the_end(&receiver).last().unwrap().body.remaining_s, Some(0.0));
    }

    #[test]
    fn the_gentle_form_works_a_small_part_of_the_time() {
        let (probe, receiver) = started();
        probe.gentle(true);
        let reports: Vec<_> = (0..4).map(|_| next(&receiver)).collect();
        let slots = (reports[3].end_ns - reports[0].start_ns).div_ceil(BURST_EVERY_NS) + 1;
        for report in &reports {
            assert!(report.body.gentle && report.body.remaining_s.is_none());
            // A turn that begins in a burst is measured to its end, so the last turn of a burst may be longer.
            let longest_ns = report.body.gaps.max_ns();
            assert!(report.body.busy_ns <= slots * (BURST_NS + longest_ns));
        }
    }

    #[test]
    fn the_gentle_form_comes_back_after_a_run() {
        let (probe, receiver) = started();
        probe.gentle(true);
        probe.run(Duration::from_millis(1));
        until_the_end(&receiver);
        assert!(next(&receiver).body.gentle);
        probe.gentle(false);
        drop(probe);
        assert!(
            receiver.iter().all(|message| matches!(message, ProbeMessage::Intrinsic(r) if r.body.gentle))
        );
    }

    #[test]
    fn dropping_the_probe_ends_a_run_and_reports_its_measurements() {
        let (probe, receiver) = started();
        probe.run(Duration::from_secs(3600));
        let started_ns = next(&receiver).start_ns;
        drop(probe);
        let mut end_ns = started_ns;
        for message in receiver {
            if let ProbeMessage::Intrinsic(report) = message {
                end_ns = report.end_ns;
            }
        }
        assert!(end_ns > started_ns && end_ns < 3600 * SECOND_NS);
    }
}
