//! `--intrinsic-latency SEC`: the longest gap in the life of a busy loop on this machine. It needs no server.

use std::{
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use anyhow::Context as _;

use super::run::Streams;
use crate::signals::Signal;
use crate::{
    clock::Clock,
    probe::{IntrinsicProbe, Message},
    stats::Latency,
};

/// How often a new maximum is told: often enough for a person, seldom enough not to disturb the loop.
const TICK: Duration = Duration::from_millis(50);

/// Runs the mode for `length`.
///
/// # Errors
/// When the stream cannot be written, or the system gives no thread.
pub(super) fn run(length: Duration, stop: &Receiver<Signal>, streams: &mut Streams) -> anyhow::Result<()> {
    let (messages, inbox) = channel();
    let probe = IntrinsicProbe::start(TICK, Clock::start(), messages)
        .context("cannot start the intrinsic latency thread")?;
    probe.run(length);
    let mut gaps = Latency::default();
    let mut told_us = 0;
    // It reports every tick, so this waits no longer than one; its last report ends the loop.
    while let Ok(message) = inbox.recv() {
        let Message::Intrinsic(report) = message else { continue };
        gaps.merge(&report.body.gaps);
        let longest_us = gaps.max_ns() / 1_000;
        if longest_us > told_us {
            told_us = longest_us;
            streams.print(&format!("Max latency so far: {longest_us} microseconds.\n"))?;
        }
        if report.body.remaining_s == Some(0.0) {
            break;
        }
        if stop.try_recv().is_ok() {
            probe.stop();
        }
    }
    Ok(streams.print(&summary(&gaps))?)
}

/// The end of the output. The average is over the time that the loop really ran.
fn summary(gaps: &Latency) -> String {
    let (runs, mean_ns) = (gaps.count(), gaps.mean_ns());
    let worst = if runs == 0 { 0.0 } else { gaps.max_ns() as f64 / mean_ns };
    format!(
        "\n{runs} total runs (avg latency: {:.4} microseconds / {mean_ns:.2} nanoseconds per run).\n\
         Worst run took {worst:.0}x longer than the average latency.\n",
        mean_ns / 1e3,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::latency_of;

    #[test]
    fn the_summary_is_that_of_redis_cli() {
        assert_eq!(
            summary(&latency_of([600, 600, 600, 738_200])),
            "\n4 total runs (avg latency: 185.0000 microseconds / 185000.00 nanoseconds per run).\n\
             Worst run took 4x longer than the average latency.\n"
        );
    }

    #[test]
    fn a_run_that_was_stopped_at_once_divides_by_nothing() {
        assert!(summary(&Latency::default()).starts_with("\n0 total runs (avg latency: 0.0000 "));
    }
}
