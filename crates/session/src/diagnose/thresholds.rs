//! Findings: a figure of the server or host stays above a threshold. Tables list the figures, thresholds and
//! texts.

use super::{Finding, Severity, callers, now::RecentState};
use crate::{
    gauge::{Gauge, GaugeGroup, GaugeKind},
    protocol::DialectWords,
};

/// A finding about one gauge.
#[derive(Debug)]
pub(super) struct Threshold {
    pub(super) gauge: Gauge,
    /// The value of the gauge at which the finding begins. The finding ends at half of this value.
    pub(super) from: f64,
    pub(super) severity: Severity,
    /// The text of the cause. The evidence contains the value of the gauge.
    pub(super) cause: &'static str,
    /// A second gauge that is shown as evidence.
    pub(super) beside: Gauge,
    /// The advice, in the words of the server's dialect.
    pub(super) next: fn(&DialectWords) -> &'static str,
}

/// Returns the first finding of a table.
pub(super) fn of(table: &[Threshold], now: &RecentState, stands: bool) -> Option<Finding> {
    table.iter().find_map(|row| row.look(now, stands))
}

impl Threshold {
    fn look(&self, now: &RecentState, stands: bool) -> Option<Finding> {
        // A counter that never rises on a healthy server is reported at once.
        let is_rare = self.gauge.about().kind == GaugeKind::Added;
        let value = if is_rare { now.gauge(self.gauge) } else { now.steady(self.gauge, stands) };
        let value = value.filter(|value| *value >= if stands { self.from / 2.0 } else { self.from })?;
        let text = |gauge: Gauge, value| {
            let about = gauge.about();
            let rate = if about.kind == GaugeKind::Added { "/s" } else { "" };
            let place = if about.group == GaugeGroup::Host { "this machine: " } else { "" };
            format!("{place}{} {}{rate}", gauge.alone(), gauge.written(value))
        };
        let beside = (self.beside != self.gauge).then(|| now.gauge(self.beside)).flatten();
        let slowed = match is_rare {
            true => now.pings.slowed_while(&now.rates, self.gauge, f64::MIN_POSITIVE),
            false => now.pings.slowed(),
        };
        let evidence = [Some(text(self.gauge, value)), beside.map(|value| text(self.beside, value)), slowed];
        // If the server runs on another machine, only redyno is affected. The accept queues of this machine's programs
        // do not slow redyno down.
        let is_of_host =
            self.gauge.about().group == GaugeGroup::Host && self.gauge != Gauge::HostListenOverflows;
        let is_remote = now.host().is_some_and(|host| host.server.is_none());
        let is_ours = self.gauge == Gauge::HostThrottled || is_of_host && is_remote;
        let finding = Finding::of(self.severity, self.cause, self.cause)
            .with(evidence, (self.next)(now.dialect().words()));
        Some(Finding { is_ours, ..finding })
    }
}

/// Findings about steal time: the hypervisor gives the cores to other machines. A share of 5 % or more is visible in
/// the p99.
pub(super) static STEAL: [Threshold; 1] = [Threshold {
    gauge: Gauge::HostSteal,
    from: 0.05,
    severity: Severity::Warning,
    cause: "the hypervisor gives this machine's cores to other machines",
    beside: Gauge::HostCpu,
    next: |_| "vmstat 1 shows the stolen time (column st); move to a machine with its own cores",
}];

/// Findings about CPU limits: the CPU limit of a cgroup throttles the server or redyno. A limit that acts in 5 % of the
/// periods is visible in the p99.
pub(super) static THROTTLED: [Threshold; 2] = [
    Threshold {
        gauge: Gauge::ServerThrottled,
        from: 0.05,
        severity: Severity::Problem,
        cause: "the CPU limit of the server's cgroup throttles the server",
        beside: Gauge::ServerRunDelay,
        next: |_| "raise the server's limit: cpu.max of its cgroup, or docker update --cpus",
    },
    Threshold {
        gauge: Gauge::HostThrottled,
        from: 0.05,
        severity: Severity::Warning,
        cause: "the CPU limit of redyno's cgroup throttles redyno",
        beside: Gauge::HostCpu,
        next: |_| "raise the limit (cpu.max), or run redyno on another machine",
    },
];

/// Findings about swapped memory. Reading a page from a disk takes 0.1 to 10 ms, and the server waits meanwhile.
pub(super) static SWAP: [Threshold; 2] = [
    Threshold {
        gauge: Gauge::ServerFaults,
        from: 10.0,
        severity: Severity::Problem,
        cause: "the server waits for memory that is on disk (swap)",
        beside: Gauge::HostSwapIn,
        next: |_| "free memory on the server's host, or lower maxmemory; vmstat 1 shows swapping (si and so)",
    },
    Threshold {
        gauge: Gauge::HostSwapIn,
        from: 1_048_576.0,
        severity: Severity::Warning,
        cause: "this machine reads memory from swap",
        beside: Gauge::HostFreeMemory,
        next: |_| "free memory on this machine; vmstat 1 shows swapping (si and so)",
    },
];

/// Findings about connections that the server or the kernel refuses or closes.
static REFUSED: [Threshold; 4] = [
    Threshold {
        gauge: Gauge::RejectedClients,
        from: f64::MIN_POSITIVE,
        severity: Severity::Problem,
        cause: "the server rejects connections: its limit of clients is reached",
        beside: Gauge::Clients,
        next: |words| words.more_clients,
    },
    Threshold {
        gauge: Gauge::ListenDisabled,
        from: f64::MIN_POSITIVE,
        severity: Severity::Problem,
        cause: "memcached accepts no more connections: its limit -c is reached",
        beside: Gauge::Clients,
        next: |words| words.more_clients,
    },
    Threshold {
        gauge: Gauge::EvictedClients,
        from: f64::MIN_POSITIVE,
        severity: Severity::Warning,
        cause: "the server closes connections that use too much memory",
        beside: Gauge::ClientMemory,
        next: |_| "CLIENT LIST shows the memory of each client (tot-mem); CONFIG SET maxmemory-clients raises the limit",
    },
    Threshold {
        gauge: Gauge::HostListenOverflows,
        from: 1.0,
        severity: Severity::Warning,
        cause: "an accept queue on this machine is full: connections are refused",
        beside: Gauge::AcceptQueue,
        next: |_| "ss -ltn shows the full queue (Recv-Q above Send-Q); raise tcp-backlog and net.core.somaxconn",
    },
];

/// Findings about replies that clients do not read.
static OUTPUT: [Threshold; 2] = [
    Threshold {
        gauge: Gauge::OutputLimit,
        from: f64::MIN_POSITIVE,
        severity: Severity::Warning,
        cause: "the server closes connections that do not read their replies",
        beside: Gauge::ClientMemory,
        next: |_| "read replies faster, or raise client-output-buffer-limit; CLIENT LIST shows the buffers (omem)",
    },
    // A normal client has no limit, so its buffer grows until the server's memory is full.
    Threshold {
        gauge: Gauge::OutputBuffer,
        from: 16_777_216.0,
        severity: Severity::Warning,
        cause: "a client does not read its replies, which pile up in the server",
        beside: Gauge::ClientMemory,
        next: |_| "CLIENT LIST shows the size of the unread replies (omem); CLIENT KILL ID closes the connection",
    },
];

/// Findings about the state of the server's data.
static DATA: [Threshold; 1] = [Threshold {
    gauge: Gauge::Loading,
    from: 1.0,
    severity: Severity::Problem,
    cause: "the server loads its data from disk and refuses requests",
    beside: Gauge::UsedMemory,
    next: |_| "INFO persistence shows loading_eta_seconds",
}];

/// Findings about active defragmentation. Active defragmentation uses a share of the main thread, and is visible in the
/// p99 from 10 % on.
pub(super) static DEFRAG: [Threshold; 1] = [Threshold {
    gauge: Gauge::Defrag,
    from: 10.0,
    severity: Severity::Note,
    cause: "active defragmentation uses a part of the main thread's time",
    beside: Gauge::Fragmentation,
    next: |_| "CONFIG SET active-defrag-cycle-max limits this part",
}];

/// Findings about a full network interface: packets wait at 90 % of its speed or more. Packet headers need the
/// remaining capacity, and the counted bytes contain only a part of these headers.
pub(super) static FULL: [Threshold; 1] = [Threshold {
    gauge: Gauge::HostNetShare,
    from: 0.9,
    severity: Severity::Warning,
    cause: "a network interface of this machine is full",
    beside: Gauge::HostNetOut,
    next: |_| "send fewer bytes, or use a faster network; sar -n DEV 1 shows the use of each interface (%ifutil)",
}];

/// Returns the finding about refused connections or about a nearly full accept queue.
pub(super) fn refused(now: &RecentState, stands: bool) -> Option<Finding> {
    let queue = || {
        let (queue, limit) = (now.gauge(Gauge::AcceptQueue)?, now.gauge(Gauge::AcceptLimit)?);
        // If the queue is full, the kernel drops the client's packets, and the client waits a second.
        let is_short = limit > 0.0 && queue >= limit * if stands { 0.5 } else { 0.8 };
        let known_by = format!("{queue:.0} connections wait; the queue has room for {limit:.0}");
        let next = "raise tcp-backlog and net.core.somaxconn; ss -ltn shows the queue";
        let cause = match queue >= limit {
            true => "the server's accept queue is full",
            false => "the server's accept queue is filling up",
        };
        is_short.then(|| {
            Finding::of(Severity::Warning, cause, cause).with([Some(known_by), now.pings.slowed()], next)
        })
    };
    of(&REFUSED[..3], now, stands).or_else(queue).or_else(|| of(&REFUSED[3..], now, stands))
}

/// Returns the finding about replies that are not read.
pub(super) fn output(now: &RecentState, stands: bool) -> Option<Finding> {
    // If a replica is behind, the longest buffer is that of the replica, which has its own finding.
    let behind = now.gauge(Gauge::ReplicaLag).unwrap_or_default();
    let is_replica = now.gauge(Gauge::OutputBuffer).is_some_and(|bytes| behind >= bytes / 2.0);
    // The server reports the longest buffer of the last seconds. Its client may have gone.
    let is_gone = now.gauge(Gauge::ClientMemory).is_some_and(|bytes| bytes < OUTPUT[1].from / 2.0);
    let is_left_out = is_replica && behind > 0.0 || is_gone;
    let mut finding = of(if is_left_out { &OUTPUT[..1] } else { &OUTPUT }, now, stands)?;
    let least = now.gauge(Gauge::OutputBuffer).unwrap_or_default() / 2.0;
    let client = callers::with_output(now, least);
    // If the server has closed the connection already, another client may have the largest buffer now.
    let largest = client.as_ref().filter(|_| finding.long == OUTPUT[0].cause);
    finding.evidence.extend(largest.map(|client| format!("client {client} has the largest buffer")));
    Some(finding.naming("client", client.as_deref()))
}

/// Returns the finding about files that could not be written, or are being loaded.
pub(super) fn data(now: &RecentState, stands: bool) -> Option<Finding> {
    let failed = |gauge, cause: &'static str, next| {
        let is_failed = now.gauge(gauge).is_some_and(|is_good| is_good == 0.0);
        is_failed.then(|| Finding::of(Severity::Warning, cause, cause).with([], next))
    };
    let space = "run df -h on the server's host; the server's log shows the reason";
    of(&DATA, now, stands)
        .or_else(|| failed(Gauge::AofOk, "the last write to the append-only file failed", space))
        .or_else(|| failed(Gauge::SavedOk, "the last snapshot failed: the server may refuse writes", space))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::{
            fixture::{Second, first, found},
            replicas::REPLICAS,
        },
        gauge::GaugeSource,
        protocol::Dialect,
    };

    fn set(second: &mut Second, gauge: Gauge, value: f64) {
        let gauges = match gauge.about().source {
            GaugeSource::Host => &mut second.host.gauges,
            _ => &mut second.status.gauges,
        };
        gauges.set(gauge, Some(value));
    }

    #[test]
    fn each_row_has_a_finding_above_its_threshold_and_none_below() {
        let tables: [&[Threshold]; 9] =
            [&STEAL, &THROTTLED, &SWAP, &REFUSED, &OUTPUT, &DATA, &REPLICAS, &DEFRAG, &FULL];
        let words = Dialect::default().words();
        for row in tables.into_iter().flatten() {
            let found_at = |value| found(5, move |second| set(second, row.gauge, value));
            let above = found_at(row.from * 1.2);
            assert_eq!(above.first().map(|found| found.long.as_str()), Some(row.cause), "{row:?}");
            assert_eq!(
                (above.len(), above[0].severity, above[0].next.as_str()),
                (1, row.severity, (row.next)(words))
            );
            assert_eq!(found_at(row.from * 0.4), [], "{row:?}");
        }
    }

    #[test]
    fn the_evidence_has_the_figures_with_their_units() {
        let swap = first(4, |second| {
            set(second, Gauge::ServerFaults, 340.0);
            set(second, Gauge::HostSwapIn, 1_400_000.0);
        });
        assert_eq!(swap.evidence, ["major faults 340/s", "this machine: swapped in 1.34 MiB"]);
        let queue = first(4, |second| {
            set(second, Gauge::AcceptQueue, 128.0);
            set(second, Gauge::AcceptLimit, 128.0);
        });
        assert_eq!((queue.rule, queue.long.as_str()), ("refused", "the server's accept queue is full"));
        assert_eq!(queue.evidence, ["128 connections wait; the queue has room for 128"]);
        let nearly = first(4, |second| {
            set(second, Gauge::AcceptQueue, 4.0);
            set(second, Gauge::AcceptLimit, 5.0);
        });
        assert_eq!(nearly.long, "the server's accept queue is filling up");
    }

    #[test]
    fn a_file_that_could_not_be_written_and_a_link_that_is_down_are_warnings() {
        for (gauge, rule) in
            [(Gauge::AofOk, "data"), (Gauge::SavedOk, "data"), (Gauge::LinkUp, "replication")]
        {
            assert_eq!(first(2, |second| set(second, gauge, 0.0)).rule, rule);
        }
    }

    #[test]
    fn an_interface_at_its_speed_is_a_warning_and_one_burst_is_not() {
        let full = |is_full: fn(u32) -> bool, is_near: bool| {
            let found = found(6, move |second| {
                second.host.server.take_if(|_| !is_near);
                second.host.gauges.set(Gauge::HostNetShare, Some(if is_full(second.n) { 0.96 } else { 0.3 }));
                second.host.gauges.set(Gauge::HostNetOut, Some(118e6));
            });
            found
                .into_iter()
                .map(|found| (found.rule, found.is_ours, found.evidence[0].clone()))
                .collect::<Vec<_>>()
        };
        let evidence = "this machine: network 96 %".to_owned();
        assert_eq!(full(|_| true, true), [("network full", false, evidence.clone())]);
        assert_eq!(full(|_| true, false), [("network full", true, evidence)]);
        assert_eq!(full(|n| n == 4, true), []);
    }

    #[test]
    fn the_longest_buffer_of_the_last_seconds_is_no_finding_after_its_client_has_gone() {
        let rules = |memory| {
            let found = found(9, move |second| {
                set(second, Gauge::OutputBuffer, 60e6);
                set(second, Gauge::ClientMemory, if second.n < 5 { 58e6 } else { memory });
            });
            found.iter().map(|found| found.rule).collect::<Vec<_>>()
        };
        assert_eq!((rules(58e6), rules(1e5)), (vec!["output buffers"], Vec::new()));
    }
}
