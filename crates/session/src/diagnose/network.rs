//! Findings: the network path to the server is slow, or loses packets.
//!
//! ```text
//!  PING    ├──────── every one takes at least 20 ms ────────┤      a busy server answers some PINGs quickly
//!  server  ├┤ 4 % of a core, no slow command                       so the time passes on the way
//! ```

use super::{
    Finding, Severity,
    now::{BUSY, RecentState},
};
use crate::{events::EventKind, gauge::Gauge, units};

/// The path counts as slower if the fastest PING takes at least this many times its usual time.
const TIMES: u64 = 2;
/// The smallest rise of the fastest PING that is reported, in nanoseconds.
const RISE_NS: u64 = 500_000;
/// Without a baseline, the path counts as long if the fastest PING takes at least this many nanoseconds. PINGs within a
/// data centre are faster.
const FAR_NS: u64 = 2_000_000;
/// The shortest PING that may have waited for a TCP retransmission, in nanoseconds. Linux waits at least 200 ms before
/// it sends a packet again.
const RESENT_NS: u64 = 180_000_000;
/// If the median PING takes more than this many times as long as the fastest one, the PINGs waited for a pause of the
/// server. A longer path delays all PINGs alike, and a pause delays the first PINGs more than the last.
const UNEVEN: u64 = 10;
/// Lost packets are counted over this period, in seconds.
const LOSS_S: f64 = 10.0;
/// If at least this many reports have a late PING, packets count as lost. A single pause of the server or of
/// this machine causes one or two such reports.
const LATE: usize = 3;
/// If the server waits for a core for at least this share of the time, the wait explains a late PING in the same
/// sample.
const WAITED: f64 = 0.1;
/// From this number of retransmitted TCP segments per second on, packets count as lost.
const RESENT: f64 = 1.0;

/// Returns the current finding about a slow network path, if any.
pub(super) fn slower(now: &RecentState, _: bool) -> Option<Finding> {
    let times = now.pings.now?;
    let usual = now.pings.usual.filter(|usual| {
        let is_pause = times.p50_ns > times.min_ns.saturating_mul(UNEVEN);
        times.min_ns >= usual.min_ns.saturating_mul(TIMES)
            && times.min_ns - usual.min_ns >= RISE_NS
            && !is_pause
    });
    // A server that is busy answers some PINGs at once, and others late.
    let is_even = times.p50_ns <= times.min_ns + times.min_ns / 2;
    if !now.has_time() || usual.is_none() && !(is_even && times.min_ns >= FAR_NS) {
        return None;
    }
    let least = units::latency(times.min_ns);
    let cpu = now.gauge(Gauge::Cpu).map(|cpu| format!("the server uses {} of a core", units::percent(cpu)));
    let rtt_ns = now.gauge(Gauge::WireRtt).map(|us| (us * 1e3) as u64);
    let rtt = rtt_ns.map(|ns| format!("tcp rtt {}", units::latency(ns)));
    let next = match rtt_ns.is_some_and(|ns| ns < times.min_ns / TIMES) {
        true => "the TCP round trip is short: look for a proxy in the path, or for waits in the server",
        false => "check the network path to the server's host with ping and mtr; look for a proxy too",
    };
    let (severity, short, long) = match usual {
        Some(usual) => {
            let before = units::latency(usual.min_ns);
            let long = format!(
                "the network path became longer: every PING takes at least {least} (before: {before})"
            );
            let short = format!("the path became longer: PING at least {least} (before: {before})");
            (Severity::Warning, short, long)
        }
        None => {
            let long = format!(
                "the network path is long: every PING takes at least {least}, although the server is not busy"
            );
            // Between two machines, this time may be the distance.
            let is_near = now.host().is_some_and(|sample| sample.server.is_some());
            let severity = if is_near { Severity::Warning } else { Severity::Note };
            (severity, format!("the network path is long: PING at least {least}"), long)
        }
    };
    Some(Finding::of(severity, short, long).with([cpu, rtt], next))
}

/// Returns the current finding about lost packets, if any.
pub(super) fn lossy(now: &RecentState, stands: bool) -> Option<Finding> {
    let resent = now.steady(Gauge::WireRetransmits, stands).filter(|per_s| *per_s >= RESENT);
    // Both kinds of loss have a late PING.
    let reports = now.pings.late_reports(LOSS_S, RESENT_NS);
    if reports == 0 {
        return None;
    }
    let all = now.pings.all(LOSS_S);
    let late = all.count_from(RESENT_NS);
    let is_slow = |event: &EventKind| matches!(event, EventKind::SlowCommand { us, .. } if us.saturating_mul(1000) >= RESENT_NS / 2);
    // Segments to a client that reads a large reply slowly are sent again as well.
    if now.in_commands() >= BUSY || now.events(LOSS_S + 2.0).any(is_slow) {
        return None;
    }
    let held_long = |event: &EventKind| match event {
        EventKind::Forked { held_us } => held_us.is_none_or(|us| us.saturating_mul(1000) >= RESENT_NS / 2),
        EventKind::SlowEvent { last_ms, .. } => *last_ms >= 50,
        EventKind::PingLost { .. } | EventKind::Unreachable { .. } | EventKind::Paused { .. } => true,
        _ => false,
    };
    let median_ns = now.pings.now.map(|times| times.p50_ns)?;
    // A stopped server delays many PINGs at once; a lost packet delays one.
    let are_single = reports >= LATE && late * 10 <= all.count() && median_ns < RESENT_NS / 4;
    // A single wait of 180 ms for a core exceeds this share of a sample, but it is too short for the finding
    // `core taken`.
    let waited = now.highest(Gauge::ServerRunDelay, LOSS_S + 2.0).is_some_and(|share| share >= WAITED);
    let on_disk = now.in_state('D', LOSS_S + 2.0).0 > 0;
    let is_server = !now.has_time() || waited || on_disk || now.events(LOSS_S + 2.0).any(held_long);
    // TCP segments are also sent again to a client that reads slowly. In this case, no PING is late, or the server is
    // busy and most PINGs are late.
    let resent = resent.filter(|_| late > 0 && (now.has_time() || median_ns < RESENT_NS / 4));
    if resent.is_none() && (!are_single || is_server) {
        return None;
    }
    let short = "packets are lost on the way to the server";
    let long = if resent.is_some() { short.to_owned() } else { format!("{short}, or late") };
    let resent = resent.map(|per_s| format!("{} segments sent again", units::rate(per_s)));
    let late = (late > 0).then(|| {
        let (late, all) = (units::grouped(late), units::grouped(all.count()));
        format!(
            "{late} of {all} PINGs took 180 ms or longer; the median of all PINGs is {}",
            units::latency(median_ns)
        )
    });
    let next = "ss -ti and mtr show where packets are lost; ip -s link counts dropped packets";
    Some(Finding::of(Severity::Warning, short, long).with([late, resent], next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::fixture::{Second, first, found},
        server::CommandStat,
    };

    #[test]
    fn a_path_that_became_slower_is_a_warning_and_a_slow_path_is_a_note() {
        let slower = |from| {
            first(40, move |second| {
                second.host.server.take_if(|_| from == 1);
                if second.n >= from {
                    second.host.gauges.set(Gauge::WireRtt, Some(if from == 30 { 20_000.0 } else { 149.0 }));
                    second.ping(&[(20_100_000, 60), (20_700_000, 40)]);
                }
            })
        };
        let found = slower(30);
        assert_eq!((found.rule, found.severity), ("network", Severity::Warning));
        assert!(
            found.long.ends_with("every PING takes at least 20.1 ms (before: 90.0 µs)"),
            "{}",
            found.long
        );
        assert!(found.next.contains("mtr") && slower(0).next.starts_with("the TCP round trip is short"));
        assert_eq!(slower(1).severity, Severity::Note, "a long path to another machine can be normal");
        assert_eq!(slower(0).severity, Severity::Warning, "the path to a server on this machine is short");
    }

    #[test]
    fn a_server_that_paused_is_no_longer_path() {
        let paused = found(40, |second| {
            if second.n >= 30 {
                second.ping(&[(2_490_000, 10), (872_000_000, 50), (2_000_000_000, 40)]);
            }
        });
        assert!(paused.iter().all(|found| found.rule != "network"), "{paused:?}");
    }

    /// Adds calls of a command to a second. The calls take `ms` milliseconds in total.
    fn spend(second: &mut Second, command: &str, calls: u64, ms: u64) {
        let stat = CommandStat { calls, usec: ms * 1000, ..CommandStat::default() };
        second.status.command_stats.insert(command.to_owned(), stat);
    }

    #[test]
    fn a_server_that_is_in_commands_all_the_time_is_no_long_way_though_it_uses_no_cpu() {
        let sleeps = found(40, |second| {
            if second.n >= 30 {
                spend(second, "get", 90, 480);
                spend(second, "ping", 90, 460);
                second.status.gauges.set(Gauge::Cpu, Some(0.01));
                second.host.gauges.set(Gauge::WireRtt, Some(149.0));
                second.ping(&[(35_600_000, 60), (36_100_000, 40)]);
            }
        });
        assert!(sleeps.iter().all(|found| found.rule != "network"), "{sleeps:?}");
    }

    #[test]
    fn segments_of_large_replies_of_slow_commands_are_no_lost_packets() {
        let keys = |us| {
            found(12, move |second| {
                second.host.gauges.set(Gauge::WireRetransmits, Some(3.0));
                second.ping(&[(200_000, 65), (320_000_000, 35)]);
                spend(second, "keys", 1, us / 1000);
                let (command, client) = ("KEYS *name*".to_owned(), None);
                second.events = vec![EventKind::SlowCommand { us, command, client, arguments: Vec::new() }];
            })
        };
        let is_lossy = |us| keys(us).iter().any(|found| found.rule == "lost packets");
        assert_eq!([335_000, 20_000].map(is_lossy), [false, true]);
    }

    #[test]
    fn late_pings_of_a_saturated_server_are_no_lost_packets() {
        let is_lossy = |cpu, median_ns| {
            let found = found(12, move |second| {
                second.host.gauges.set(Gauge::WireRetransmits, Some(2.0));
                second.status.gauges.set(Gauge::Cpu, Some(cpu));
                second.ping(&[(median_ns, 60), (600_000_000, 40)]);
            });
            found.iter().any(|found| found.rule == "lost packets")
        };
        let (busy, free) = (0.99, 0.1);
        assert_eq!(
            [(busy, 543_000_000), (busy, 200_000), (free, 543_000_000)].map(|(c, m)| is_lossy(c, m)),
            [false, true, true]
        );
    }

    #[test]
    fn single_late_pings_of_a_free_server_are_lost_packets() {
        let lossy = first(9, |second| second.ping(&[(200_000, 98), (205_000_000, 2)]));
        assert_eq!((lossy.rule, lossy.severity), ("lost packets", Severity::Warning));
        let stopped = found(9, |second| {
            second.ping(&[(200_000, 98), (205_000_000, 2)]);
            let held_us = Some(240_000);
            second.events = vec![EventKind::Forked { held_us }];
        });
        assert_eq!(stopped[0].rule, "fork");
        let no_core = found(9, |second| {
            second.ping(&[(200_000, 98), (205_000_000, 2)]);
            let delay = if second.n == 2 { 0.2 } else { 0.01 };
            second.host.gauges.set(Gauge::ServerRunDelay, Some(delay));
        });
        assert!(no_core.iter().all(|found| found.rule != "lost packets"), "{no_core:?}");
        let on_disk = found(9, |second| {
            second.ping(&[(200_000, 98), (205_000_000, 2)]);
            if let Some(server) = second.host.server.as_mut().filter(|_| second.n == 2) {
                server.state = Some('D');
            }
        });
        assert!(on_disk.iter().all(|found| found.rule != "lost packets"), "{on_disk:?}");
        assert!(stopped.iter().all(|found| found.rule != "lost packets"));
    }
}
