//! The wake probe. A thread sleeps for 10 ms, and the probe measures how late the thread wakes up.
//!
//! The scheduler, the hypervisor and other threads of this machine delay any waiting thread, including redyno's own
//! threads. The probe shows this delay. Each sleep begins when the previous sleep has ended. If the machine freezes for
//! a second, there is therefore only one sample, of one second. The probe causes about 100 wake-ups a second. The ping
//! probe causes equally many.

use std::{io, sync::mpsc::Sender, time::Duration};

use crate::{
    clock::Clock,
    stats::{Latency, Samples},
};

use super::{
    ProbeMessage, Wake,
    thread::{ProbeThread, StopFlag, sharpen_timers},
    ticker::Ticker,
};

/// The planned length of a sleep. Each sleep costs some 15 µs of CPU time, so the probe uses less than 0.2 % of
/// a core.
const SLEEP: Duration = Duration::from_millis(10);

/// A running wake probe. Dropping the probe ends its thread.
pub struct WakeProbe {
    _thread: ProbeThread,
}

impl WakeProbe {
    /// Starts the thread `wake`. The thread sends a report every `tick` (usually 250 ms), and a last report when the
    /// probe is dropped.
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    pub fn start(tick: Duration, clock: Clock, reports: Sender<ProbeMessage>) -> io::Result<Self> {
        let body = move |stop: StopFlag| watch(&stop, tick, &clock, &reports);
        Ok(Self { _thread: ProbeThread::start("wake", body)? })
    }
}

/// The planned length of a sleep of [`wake_delays`]. The sleep is so short that measuring for a few hundred
/// milliseconds is enough for a p99.
const SHORT_SLEEP: Duration = Duration::from_micros(250);

/// Measures how late sleeps of a quarter of a millisecond end. The measurement takes `length`, on a separate
/// thread.
///
/// # Errors
/// Fails if the system cannot start a thread.
pub fn wake_delays(length: Duration) -> io::Result<Latency> {
    let body = move || {
        sharpen_timers();
        let clock = Clock::start();
        let mut late = Samples::default();
        let end_ns = clock.now_ns() + length.as_nanos() as u64;
        let mut now_ns = clock.now_ns();
        while now_ns < end_ns {
            now_ns = sleep(SHORT_SLEEP, now_ns, &clock, &mut late);
        }
        late.take()
    };
    let thread = std::thread::Builder::new().name("wake".to_owned()).spawn(body)?;
    // If the thread panicked, the panic hook has printed the reason.
    Ok(thread.join().unwrap_or_default())
}

fn watch(stop: &StopFlag, tick: Duration, clock: &Clock, reports: &Sender<ProbeMessage>) {
    sharpen_timers();
    let mut late = Samples::default();
    let mut now_ns = clock.now_ns();
    let mut ticker = Ticker::new(tick, now_ns);
    while !stop.is_asked() {
        now_ns = sleep(SLEEP, now_ns, clock, &mut late);
        if let Some(report) = ticker.close_if_over(now_ns, || Wake { late: late.take() }) {
            if reports.send(ProbeMessage::Wake(report)).is_err() {
                return;
            }
            // The time needed for the report is not the scheduler's delay.
            now_ns = clock.now_ns();
        }
    }
    // The receiver may be gone, which is no failure at the end.
    let _ = reports.send(ProbeMessage::Wake(ticker.close(now_ns, Wake { late: late.take() })));
}

/// Sleeps until `length` after `now_ns`, records how late the thread woke up, and returns the current time.
fn sleep(length: Duration, now_ns: u64, clock: &Clock, late: &mut Samples) -> u64 {
    std::thread::sleep(length);
    let woke_ns = clock.now_ns();
    late.record(woke_ns.saturating_sub(now_ns + length.as_nanos() as u64));
    woke_ns
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::probe::ProbeReport;

    fn wake(message: ProbeMessage) -> ProbeReport<Wake> {
        match message {
            ProbeMessage::Wake(report) => report,
            other => panic!("the wake probe said {other:?}"),
        }
    }

    #[test]
    fn every_sleep_is_a_sample_and_ticks_follow_each_other() {
        let (sender, receiver) = channel();
        let probe = WakeProbe::start(Duration::from_millis(20), Clock::start(), sender).unwrap();
        let mut reports: Vec<_> = (0..3).map(|_| wake(receiver.recv().unwrap())).collect();
        drop(probe);
        reports.extend(receiver.iter().map(wake));
        for pair in reports.windows(2) {
            assert_eq!(pair[0].end_ns, pair[1].start_ns);
        }
        let (first, last) = (reports.first().unwrap(), reports.last().unwrap());
        let sleeps: u64 = reports.iter().map(|report| report.body.late.count()).sum();
        let late_ns: u128 = reports.iter().map(|report| report.body.late.sum_ns()).sum();
        assert!(sleeps > 0);
        // The sleeps and their delays fit into the length of all reports together.
        let length_ns = u128::from(last.end_ns - first.start_ns);
        let sleep_ns = SLEEP.as_nanos();
        assert!(u128::from(sleeps) * sleep_ns + late_ns <= length_ns + sleep_ns);
    }

    #[test]
    fn a_short_measurement_has_enough_sleeps_and_ends() {
        let late = wake_delays(Duration::from_millis(50)).unwrap();
        assert!((1..=200).contains(&late.count()), "{}", late.count());
    }

    #[test]
    fn the_thread_ends_when_the_receiver_is_gone() {
        let (sender, receiver) = channel();
        drop(receiver);
        drop(WakeProbe::start(Duration::from_millis(1), Clock::start(), sender).unwrap());
    }
}
