//! `--latency` and `--latency-history` of redis-cli print the round trips of PINGs. This module also contains
//! `--intrinsic-latency SECONDS`, a mode that needs no server. The mode prints the longest gap in a busy loop on this
//! machine.

use std::{
    ops::ControlFlow,
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use anyhow::Context as _;

use super::{
    line::{line, window_end},
    pinging::{LatencyWindow, WindowChange, windows},
    plan::{FigureFormat, OneshotMode, OneshotPlan},
    run::Streams,
};
use crate::{
    clock::Clock,
    print::outlet::CLEAR,
    probe::{IntrinsicProbe, ProbeMessage},
    signals::Signal,
    stats::Latency,
};

/// The default duration of `--latency` without a terminal.
const ONE_LINE: Duration = Duration::from_secs(1);
/// The default length of a window of `--latency-history`.
const HISTORY: Duration = Duration::from_secs(15);
/// The length of the window of `--latency` on a terminal: a year. There, the mode runs until Ctrl-C.
const UNTIL_STOPPED: Duration = Duration::from_secs(365 * 86_400);

/// Runs `--latency` or `--latency-history`.
pub(super) fn run(plan: &OneshotPlan, stop: &Receiver<Signal>, streams: &mut Streams) -> anyhow::Result<()> {
    // A line in the standard format is redrawn at each report of the probe. A line in another format is
    // written when the window is full.
    let format =
        if streams.is_tty || plan.format != FigureFormat::Standard { plan.format } else { FigureFormat::Raw };
    let is_redrawn = format == FigureFormat::Standard;
    let history = plan.mode == OneshotMode::LatencyHistory;
    let length = plan.options.interval.unwrap_or(match (history, is_redrawn) {
        (true, _) => HISTORY,
        (false, false) => ONE_LINE,
        (false, true) => UNTIL_STOPPED,
    });
    windows(plan, length, stop, streams, |streams, window, moment| {
        let text =
            if is_redrawn { redrawn(plan, window, moment) } else { written(plan, window, moment, format) };
        streams.print(&text)?;
        // A redrawn line marks the waits itself.
        if !is_redrawn
            && moment != WindowChange::Grew
            && let Some(note) = window.note()
        {
            streams.warn(&note)?;
        }
        Ok(match moment {
            WindowChange::Full if !history => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
    })
}

fn redrawn(plan: &OneshotPlan, window: &LatencyWindow, moment: WindowChange) -> String {
    let history = plan.mode == OneshotMode::LatencyHistory;
    let end = match moment {
        WindowChange::Grew => String::new(),
        // A run that is stopped right after a full window has nothing more to print.
        WindowChange::Cut if history && window.is_empty() => return CLEAR.to_owned(),
        _ if history => window_end(window.length_ns),
        WindowChange::Full | WindowChange::Cut => "\n".to_owned(),
    };
    format!("{CLEAR}{}{end}", line(window, &plan.options.latency_percentiles, FigureFormat::Standard))
}

fn written(plan: &OneshotPlan, window: &LatencyWindow, moment: WindowChange, format: FigureFormat) -> String {
    match moment {
        WindowChange::Grew => String::new(),
        WindowChange::Cut if window.is_empty() => String::new(),
        WindowChange::Full | WindowChange::Cut => {
            line(window, &plan.options.latency_percentiles, format) + "\n"
        }
    }
}

/// The shortest time between two printed maxima. With this time, printing does not disturb the busy loop.
const TICK: Duration = Duration::from_millis(50);

/// Runs `--intrinsic-latency` for `length`.
///
/// # Errors
/// Fails if the stream cannot be written, or the system cannot start a thread.
pub(super) fn run_intrinsic(
    length: Duration,
    stop: &Receiver<Signal>,
    streams: &mut Streams,
) -> anyhow::Result<()> {
    let (messages, inbox) = channel();
    let probe = IntrinsicProbe::start(TICK, Clock::start(), messages)
        .context("cannot start the intrinsic latency thread")?;
    probe.run(length);
    let mut gaps = Latency::default();
    let mut printed_us = 0;
    // The probe sends a report every tick, so `recv` waits for a tick at most. The last report ends the loop.
    while let Ok(message) = inbox.recv() {
        let ProbeMessage::Intrinsic(report) = message else { continue };
        gaps.merge(&report.body.gaps);
        let longest_us = gaps.max_ns() / 1_000;
        if longest_us > printed_us {
            printed_us = longest_us;
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

/// Returns the last lines of the output. The average covers the real run time of the busy loop.
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
    use crate::{endpoint::Target, stats::fixture::latency_of};

    fn window() -> LatencyWindow {
        LatencyWindow { rtt: latency_of([104_000]), length_ns: 15_000_000_000, ..LatencyWindow::default() }
    }

    fn plan(mode: OneshotMode) -> OneshotPlan {
        OneshotPlan::new(Target::default(), mode)
    }

    #[test]
    fn on_a_terminal_the_line_is_drawn_again_in_place() {
        let latency = plan(OneshotMode::Latency);
        let drawn = "\x1b[0G\x1b[2Kmin: 0.104, max: 0.104, avg: 0.104 (1 samples)";
        assert_eq!(redrawn(&latency, &window(), WindowChange::Grew), drawn);
        assert_eq!(redrawn(&latency, &window(), WindowChange::Cut), format!("{drawn}\n"));
        let history = plan(OneshotMode::LatencyHistory);
        assert_eq!(
            redrawn(&history, &window(), WindowChange::Full),
            format!("{drawn} -- 15.00 seconds range\n")
        );
        assert_eq!(redrawn(&history, &LatencyWindow::default(), WindowChange::Cut), CLEAR);
    }

    #[test]
    fn without_a_terminal_there_is_one_line_per_window() {
        let history = plan(OneshotMode::LatencyHistory);
        assert_eq!(written(&history, &window(), WindowChange::Grew, FigureFormat::Csv), "");
        assert_eq!(
            written(&history, &window(), WindowChange::Full, FigureFormat::Csv),
            "0.104,0.104,0.104,1\n"
        );
        assert_eq!(
            written(&history, &window(), WindowChange::Cut, FigureFormat::Csv),
            "0.104,0.104,0.104,1\n"
        );
        assert_eq!(
            written(&history, &LatencyWindow::default(), WindowChange::Full, FigureFormat::Csv),
            ",,,0\n"
        );
        assert_eq!(written(&history, &LatencyWindow::default(), WindowChange::Cut, FigureFormat::Csv), "");
    }

    #[test]
    fn the_summary_is_that_of_redis_cli() {
        assert_eq!(
            summary(&latency_of([600, 600, 600, 738_200])),
            "\n4 total runs (avg latency: 185.0000 microseconds / 185000.00 nanoseconds per run).\n\
             Worst run took 4x longer than the average latency.\n"
        );
    }

    #[test]
    fn the_summary_of_a_run_without_samples_has_zeros() {
        assert!(summary(&Latency::default()).starts_with("\n0 total runs (avg latency: 0.0000 "));
    }
}
