//! Finding: writes wait until the disk has stored the append-only file.
//!
//! With `appendfsync always` the main thread waits for the disk after each event loop cycle with a write. With
//! `everysec`, the main thread waits only if the fsync in the background has not finished after two seconds
//! (`aof_delayed_fsync`).

use super::{Finding, Severity, now::RecentState, slow_calls::of_slow_log};
use crate::{events::EventKind, gauge::Gauge, units};

/// The time for which an event of the latency monitor counts as recent, in seconds.
const WINDOW_S: f64 = 10.0;
/// The shortest write to the append-only file that is reported, in milliseconds.
const SLOW_MS: u64 = 20;
/// A disk counts as busy if it works for at least this share of the time.
const BUSY: f64 = 0.5;
/// The rule looks at the state of the main thread over this period, in seconds. The state is sampled once per
/// second.
const STATES_S: f64 = 6.0;
/// The finding needs at least this many samples in which the main thread waits for the disk. A single sample
/// may be chance.
const WAITING: usize = 2;
/// The finding is a problem when the main thread waits for the disk in at least this share of the samples.
const LARGE_SHARE: f64 = 0.30;

/// Returns the current finding, if any.
pub(super) fn look(now: &RecentState, stands: bool) -> Option<Finding> {
    if now.gauge(Gauge::Aof).is_some_and(|on| on == 0.0) {
        return None;
    }
    let status = now.status()?;
    let is_always = status.config.get("appendfsync").is_some_and(|how| how == "always");
    let disk = now.gauge(Gauge::HostDisk).filter(|busy| *busy >= BUSY).map(|busy| {
        let wait = now
            .gauge(Gauge::HostDiskWait)
            .map(|us| format!(", {} per request", units::latency((us * 1e3) as u64)));
        format!("disk {} busy{}", units::percent(busy), wait.unwrap_or_default())
    });
    let slow = now.events(WINDOW_S).filter_map(|event| match event {
        EventKind::SlowEvent { of, last_ms, .. } if of.starts_with("aof-") && *last_ms >= SLOW_MS => {
            Some((*last_ms, of))
        }
        _ => None,
    });
    let slow = slow.max().map(|(ms, of)| format!("LATENCY: {of} {ms} ms"));
    let delayed = now.gauge(Gauge::AofDelayed).filter(|per_s| *per_s > 0.0);
    let delayed = delayed.map(|per_s| format!("{} writes delayed by an fsync", units::rate(per_s)));
    let slowed = now.pings.slowed();
    let (waiting, samples) = now.in_state('D', STATES_S);
    let share = waiting as f64 / samples.max(1) as f64;
    let is_seen = waiting >= WAITING || stands && waiting > 0;
    let seen = is_seen.then(|| format!("the main thread waited for I/O in {waiting} of {samples} samples"));
    // A busy disk is a sufficient reason, even if the server has no free CPU time. Otherwise, slow commands explain
    // slow PINGs.
    let is_busy = disk.is_some() || is_seen;
    let waits = is_always
        && (is_busy || now.has_time() && of_slow_log(now).is_empty())
        && writes(now)
        && (slowed.is_some() || stands && is_busy);
    if slow.is_none() && delayed.is_none() && !waits {
        return None;
    }
    let (long, next) = match is_always {
        true => (
            "appendfsync always: each write waits for the disk",
            "put the append-only file on its own disk, or run CONFIG SET appendfsync everysec (then a crash loses the writes of up to one second)",
        ),
        false => (
            "writes wait for an fsync of the append-only file",
            "pidstat -d 1 shows which processes use the disk; CONFIG SET no-appendfsync-on-rewrite yes helps during rewrites",
        ),
    };
    let explains = if is_seen { share } else { 0.0 };
    let severity = if explains >= LARGE_SHARE { Severity::Problem } else { Severity::Warning };
    let finding = Finding::of(severity, "writes wait for the disk", long);
    Some(Finding { explains, ..finding.with([slow, delayed, seen, slowed, disk], next) })
}

/// Returns whether clients have written since the earlier samples.
fn writes(now: &RecentState) -> bool {
    let unsaved = |stands| now.steady(Gauge::Unsaved, stands);
    unsaved(true).zip(unsaved(false)).is_some_and(|(most, least)| most > least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::fixture::{Second, first, found};

    fn always(second: &mut Second) {
        second.status.gauges.set(Gauge::Aof, Some(1.0));
        second.status.config = std::sync::Arc::new([("appendfsync".to_owned(), "always".to_owned())].into());
    }

    #[test]
    fn slow_pings_with_appendfsync_always_are_explained_by_the_disk() {
        let found = first(5, |second| {
            always(second);
            second.status.gauges.set(Gauge::Unsaved, Some(f64::from(second.n) * 900.0));
            second.host.gauges.set(Gauge::HostDisk, Some(0.97));
            second.host.gauges.set(Gauge::HostDiskWait, Some(2100.0));
            second.ping(&[(200_000, 80), (14_000_000, 20)]);
        });
        assert_eq!((found.rule, found.severity), ("disk", Severity::Warning));
        assert_eq!(found.long, "appendfsync always: each write waits for the disk");
        assert_eq!(found.evidence[1], "disk 97 % busy, 2.10 ms per request");
    }

    #[test]
    fn pings_that_wait_for_a_slow_command_are_not_explained_by_an_idle_disk() {
        let rules = |disk| {
            let found = found(9, move |second| {
                always(second);
                second.status.gauges.set(Gauge::Unsaved, Some(f64::from(second.n) * 50.0));
                second.host.gauges.set(Gauge::HostDisk, Some(disk));
                second.ping(&[(200_000, 90), (60_000_000, 10)]);
                let command = "EVAL return 1".to_owned();
                let slow =
                    EventKind::SlowCommand { us: 60_000, command, client: None, arguments: Vec::new() };
                second.events.push(slow);
            });
            found.iter().map(|found| found.rule).filter(|rule| *rule != "settings").collect::<Vec<_>>()
        };
        assert!(!rules(0.02).contains(&"disk"), "{:?}", rules(0.02));
        assert!(rules(0.97).contains(&"disk"), "{:?}", rules(0.97));
    }

    #[test]
    fn a_thread_that_waits_for_the_disk_is_evidence_beside_a_core_that_is_taken() {
        let rules = |delay| {
            let found = found(9, move |second| {
                always(second);
                second.status.gauges.set(Gauge::Unsaved, Some(f64::from(second.n) * 900.0));
                second.host.gauges.set(Gauge::ServerRunDelay, Some(delay));
                let state = if second.n % 2 == 0 { 'D' } else { 'S' };
                second.host.server.as_mut().unwrap().state = Some(state);
                second.ping(&[(200_000, 60), (14_000_000, 40)]);
            });
            found.iter().map(|found| found.rule).filter(|rule| *rule != "settings").collect::<Vec<_>>()
        };
        assert_eq!(rules(0.2), ["disk", "core taken"]);
        assert_eq!(rules(0.6), ["core taken", "disk"]);
    }

    #[test]
    fn a_fast_disk_makes_a_note_at_most() {
        let quick = found(5, |second| {
            always(second);
            second.status.gauges.set(Gauge::Unsaved, Some(f64::from(second.n) * 900.0));
        });
        assert!(quick.iter().all(|found| found.severity == Severity::Note));
    }

    #[test]
    fn delayed_fsyncs_that_the_server_reports_are_enough() {
        let delayed = first(5, |second| {
            second.status.gauges.set(Gauge::Aof, Some(1.0));
            second.status.gauges.set(Gauge::AofDelayed, Some(3.0));
        });
        assert_eq!(delayed.evidence, ["3/s writes delayed by an fsync"]);
    }
}
