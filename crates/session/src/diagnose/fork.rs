//! Finding: a fork (for a snapshot or a rewrite) blocked the server, or clients wait while the child process
//! saves.
//!
//! A fork copies the page tables, which takes about 10 ms per GiB of data, and more on virtual machines. While the
//! child process runs, the first write to a page copies that page (copy-on-write).

use super::{Finding, Severity, now::RecentState};
use crate::{events::EventKind, gauge::Gauge, units};

/// The time for which a fork counts as recent, in seconds.
const WINDOW_S: f64 = 12.0;
/// The shortest fork that is reported, in microseconds. A client could send ten requests of 1 ms in this time.
const HELD_US: u64 = 10_000;
/// The shortest fork that is a problem and not only a warning, in microseconds.
const HELD_LONG_US: u64 = 500_000;

/// Returns the current finding, if any.
pub(super) fn look(now: &RecentState, _: bool) -> Option<Finding> {
    let forks = now.events(WINDOW_S).filter_map(|event| match event {
        EventKind::Forked { held_us } => *held_us,
        _ => None,
    });
    let held_us = forks.max().filter(|us| *us >= HELD_US);
    let is_on = |gauge| now.gauge(gauge).is_some_and(|on| on > 0.0);
    let (saves, rewrites) = (is_on(Gauge::Saving), is_on(Gauge::Rewriting));
    let copied = now.gauge(Gauge::CopyOnWrite).filter(|bytes| *bytes > 0.0);
    let copied = copied.map(|bytes| {
        format!(
            "the kernel copied {} of memory because clients wrote to this memory",
            units::bytes(bytes as u64)
        )
    });
    if let Some(us) = held_us {
        let used = now.status().and_then(|status| status.text_of(Gauge::UsedMemory));
        let size = used.map(|used| format!("{used} of data"));
        let severity = if us >= HELD_LONG_US { Severity::Problem } else { Severity::Warning };
        let held = format!("a fork paused the server for {}", units::latency(us.saturating_mul(1000)));
        let long = match (saves, rewrites) {
            (true, _) => format!("{held}; the child process writes a snapshot"),
            (_, true) => format!("{held}; the child process rewrites the append-only file"),
            _ => held.clone(),
        };
        let next =
            "write snapshots at quiet hours or on a replica (CONFIG GET save); keep less data in one server";
        return Some(Finding::of(severity, held, long).with([size, copied, now.pings.slowed()], next));
    }
    // If no other reason for slow PINGs is known, the child process is the most probable cause.
    let child = if saves { "writes a snapshot" } else { "rewrites the append-only file" };
    let since_child = |gauge| now.pings.slowed_while(&now.rates, gauge, 1.0);
    let slowed = since_child(Gauge::Saving).or_else(|| since_child(Gauge::Rewriting));
    let slowed = slowed.filter(|_| now.run_delay() < 0.1)?;
    let short = format!("a child process {child}");
    let long = format!("clients wait while {short}");
    let disk = now.gauge(Gauge::HostDisk).map(|busy| format!("disk {} busy", units::percent(busy)));
    let next = "write snapshots at quiet hours or on a replica (CONFIG GET save)";
    Some(Finding::of(Severity::Warning, short, long).with([Some(slowed), copied, disk], next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::fixture::{first, found};

    #[test]
    fn a_long_fork_is_named_with_the_data_that_it_copied() {
        let found = first(3, |second| {
            second.status.gauges.set(Gauge::Saving, Some(1.0));
            second.status.gauges.set(Gauge::CopyOnWrite, Some(3e6));
            if second.n == 2 {
                second.events = vec![EventKind::Forked { held_us: Some(38_000) }];
            }
        });
        assert_eq!(found.long, "a fork paused the server for 38.0 ms; the child process writes a snapshot");
        assert_eq!(
            found.evidence[1],
            "the kernel copied 2.86 MiB of memory because clients wrote to this memory"
        );
    }

    #[test]
    fn a_child_process_without_effect_is_no_finding() {
        let quiet = found(9, |second| {
            second.status.gauges.set(Gauge::Saving, Some(1.0));
            second.events = vec![EventKind::Forked { held_us: Some(900) }];
        });
        assert_eq!(quiet, []);
    }
}
