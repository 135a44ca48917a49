//! Tests that each cause leads to its finding. The cause begins in a recording of a healthy server. The finding must be
//! the only warning, and must begin within 10 s of recorded time.

use crate::{
    diagnose::{
        Findings, Severity,
        fixture::{Second, seconds},
    },
    events::EventKind,
    gauge::{Gauge, GaugeSource},
    host::Process,
    probe::Ping,
    server::CommandStat,
};

/// The second in which a cause begins. redyno knows the usual values before this second.
const BEGINS: u32 = 20;
/// The longest time from a cause to its finding, in seconds.
const WITHIN_S: f64 = 10.0;

/// Returns the warnings at the end of a recording, and the time from the cause to the first of them.
fn found(change: impl Fn(&mut Second)) -> (Vec<&'static str>, Option<f64>) {
    let mut findings = Findings::default();
    let mut first_s = None;
    let warnings = |findings: &Findings| {
        let warnings = findings.now().into_iter().filter(|finding| finding.severity > Severity::Note);
        warnings.map(|finding| finding.rule).collect::<Vec<_>>()
    };
    for record in seconds(BEGINS + 12, |second| {
        if second.n >= BEGINS {
            change(second);
        }
    }) {
        findings.push(&record);
        if first_s.is_none() && !warnings(&findings).is_empty() {
            first_s = record.t_s().map(|t_s| t_s - f64::from(BEGINS));
        }
    }
    (warnings(&findings), first_s)
}

fn set(second: &mut Second, gauges: &[(Gauge, f64)]) {
    for (gauge, value) in gauges {
        match gauge.about().source {
            GaugeSource::Host => second.host.gauges.set(*gauge, Some(*value)),
            _ => second.status.gauges.set(*gauge, Some(*value)),
        }
    }
}

fn calls(second: &mut Second, command: &str, calls: u64, usec: u64) {
    let stat = CommandStat { calls, usec, ..CommandStat::default() };
    second.status.command_stats.insert(command.to_owned(), stat);
}

fn slow(us: u64, command: &str) -> Vec<EventKind> {
    let (command, client) = (command.to_owned(), Some("10.0.0.7:51234".to_owned()));
    vec![EventKind::SlowCommand { us, command, client, arguments: Vec::new() }]
}

fn config(second: &mut Second, parameter: &str, value: &str) {
    second.status.config = std::sync::Arc::new([(parameter.to_owned(), value.to_owned())].into());
}

/// The PINGs of a second in which the server is busy with other requests most of the time.
const LATE: [(u64, u64); 2] = [(120_000, 40), (24_000_000, 60)];

type Cause = (&'static str, fn(&mut Second));

const CAUSES: [Cause; 22] = [
    ("slow command", |second| {
        calls(second, "keys", 4, 920_000);
        second.events = slow(230_000, "KEYS user:*");
        second.ping(&LATE);
    }),
    ("slow command", |second| {
        calls(second, "hgetall", 3, 610_000);
        second.events = slow(204_000, "HGETALL cart:all");
        second.ping(&LATE);
    }),
    ("fork", |second| {
        set(second, &[(Gauge::Saving, 1.0), (Gauge::CopyOnWrite, 3e7)]);
        second.events =
            (second.n == BEGINS).then_some(EventKind::Forked { held_us: Some(38_000) }).into_iter().collect();
        second.ping(&[(120_000, 90), (14_000_000, 10)]);
    }),
    ("core taken", |second| {
        set(second, &[(Gauge::ServerRunDelay, 0.61), (Gauge::HostCpu, 0.45)]);
        let (name, core) = ("ffmpeg".to_owned(), Some(3));
        second.host.busy = vec![Process { pid: 4211, name, cpu: 0.97, core, ..Process::default() }];
        second.ping(&[(120_000, 55), (8_000_000, 45)]);
    }),
    ("costly calls", |second| {
        calls(second, "mget", 195, 780_000);
        set(second, &[(Gauge::BytesOut, 58e6)]);
        second.ping(&[(120_000, 55), (4_000_000, 45)]);
    }),
    ("disk", |second| {
        config(second, "appendfsync", "always");
        set(second, &[(Gauge::Aof, 1.0), (Gauge::Unsaved, f64::from(second.n) * 900.0)]);
        set(second, &[(Gauge::HostDisk, 0.97), (Gauge::HostDiskWait, 2100.0)]);
        second.ping(&[(200_000, 80), (14_000_000, 20)]);
    }),
    ("network", |second| second.ping(&[(20_100_000, 60), (20_700_000, 40)])),
    ("expiry", |second| {
        set(second, &[(Gauge::ExpiredKeys, 240_000.0), (Gauge::ExpireCpu, 0.24)]);
        second.ping(&[(120_000, 70), (9_000_000, 30)]);
    }),
    ("eviction", |second| {
        set(second, &[(Gauge::EvictedKeys, 12_000.0), (Gauge::OpsPerS, 20_000.0)]);
        set(second, &[(Gauge::UsedMemory, 512e6), (Gauge::MaxMemory, 512e6)]);
        second.ping(&[(200_000, 90), (12_000_000, 10)]);
    }),
    ("connections", |second| {
        set(second, &[(Gauge::NewConnections, 4800.0), (Gauge::OpsPerS, 9600.0), (Gauge::Cpu, 0.7)]);
    }),
    ("stall", |second| {
        second.status.poll_s = None;
        second.ping = Ping::default();
    }),
    ("lost packets", |second| second.ping(&[(200_000, 98), (205_000_000, 2)])),
    ("swap", |second| set(second, &[(Gauge::ServerFaults, 340.0)])),
    ("refused", |second| set(second, &[(Gauge::AcceptQueue, 511.0)])),
    ("output buffers", |second| set(second, &[(Gauge::OutputBuffer, 64e6)])),
    ("replication", |second| set(second, &[(Gauge::ReplicaLag, 64e6)])),
    ("big reply", |second| {
        set(second, &[(Gauge::BytesOut, 1.2e9), (Gauge::OpsPerS, 400.0)]);
        second.ping(&[(120_000, 70), (6_000_000, 30)]);
    }),
    ("server cpu", |second| {
        calls(second, "incr", 90_000, 640_000);
        set(second, &[(Gauge::Cpu, 0.99)]);
    }),
    ("io threads", |second| {
        config(second, "io-threads", "4");
        set(second, &[(Gauge::IoBusy, 2.97)]);
    }),
    ("misses", |second| {
        set(second, &[(Gauge::Hits, 900.0), (Gauge::Misses, 2100.0), (Gauge::HitRate, 0.3)]);
    }),
    ("network full", |second| set(second, &[(Gauge::HostNetShare, 0.97), (Gauge::HostNetOut, 121e6)])),
    ("cpu limit", |second| {
        set(second, &[(Gauge::ServerThrottled, 0.4), (Gauge::ServerRunDelay, 0.42)]);
        second.ping(&[(120_000, 60), (60_000_000, 40)]);
    }),
];

#[test]
fn each_cause_is_the_only_finding_within_ten_seconds() {
    for (number, (rule, change)) in CAUSES.into_iter().enumerate() {
        let (warnings, first_s) = found(change);
        assert_eq!(warnings, [rule], "cause {number}");
        assert!(first_s.is_some_and(|s| (0.0..=WITHIN_S).contains(&s)), "{rule} after {first_s:?} s");
    }
}
