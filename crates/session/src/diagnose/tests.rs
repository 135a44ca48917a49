mod causes;

use super::{
    Findings, Severity,
    fixture::{Second, begun, found, found_on, seconds},
};
use crate::{
    events::EventKind,
    gauge::Gauge,
    knobs::Knobs,
    server::CommandStat,
    session::{Interval, Record, Segment},
    stats::fixture::repeated,
};

/// Returns every line of the findings about these records.
fn lines(records: impl IntoIterator<Item = Record>) -> Vec<String> {
    let mut findings = Findings::default();
    records.into_iter().flat_map(|record| findings.push(&record)).collect()
}

#[test]
fn a_healthy_server_has_no_finding_in_ten_minutes() {
    assert_eq!(lines(seconds(600, |_| {})), Vec::<String>::new());
    assert_eq!(found(600, |_| {}), []);
}

#[test]
fn neither_a_busy_server_nor_a_doubled_load_has_a_finding() {
    let busy = |second: &mut Second| {
        let load = 1.0 + f64::from(second.n) / 600.0;
        let get = CommandStat {
            calls: (40_000.0 * load) as u64,
            usec: (120_000.0 * load) as u64,
            ..CommandStat::default()
        };
        second.status.command_stats.insert("get".to_owned(), get);
        for (gauge, value) in [
            (Gauge::Cpu, 0.42 * load),
            (Gauge::OpsPerS, 40_000.0 * load),
            (Gauge::NewConnections, 20.0 * load),
            (Gauge::ExpiredKeys, 900.0 * load),
            (Gauge::ExpireCpu, 0.01 * load),
            (Gauge::BytesOut, 4e6 * load),
        ] {
            second.status.gauges.set(gauge, Some(value));
        }
        second.host.gauges.set(Gauge::ServerRunDelay, Some(0.03 * load));
        let ns = |us: f64| (us * 1e3 * load * load) as u64;
        second.ping(&[(ns(90.0), 30), (ns(160.0), 60), (ns(700.0), 10)]);
        // One entry of the slow log now and then is not worth a warning.
        if second.n.is_multiple_of(50) {
            let command = "ZRANGE top".to_owned();
            second.events =
                vec![EventKind::SlowCommand { us: 14_000, command, client: None, arguments: Vec::new() }];
        }
    };
    assert_eq!(lines(seconds(600, busy)), Vec::<String>::new());
}

#[test]
fn redynos_own_load_at_full_speed_is_no_warning() {
    let mut records = begun();
    records.push(Record::Segment(Segment::new(0.0, 2, Knobs { load: true, ..Knobs::default() })));
    for n in 0..30 {
        let mut second = Second::healthy(n);
        let get = CommandStat { calls: 120_000, usec: 400_000, ..CommandStat::default() };
        second.status.command_stats.insert("get".to_owned(), get);
        second.status.gauges.set(Gauge::Cpu, Some(0.99));
        records.push(Record::Interval(Box::new(Interval {
            t_s: f64::from(n) + 1.0,
            length_s: 1.0,
            segment: 2,
            ops: 120_000,
            ops_per_s: 120_000.0,
            service: repeated(400_000, 120_000),
            requests: [("GET".to_owned(), 120_000)].into(),
            ..Interval::default()
        })));
        records.extend(second.records());
    }
    assert_eq!(lines(records), Vec::<String>::new());
}

#[test]
fn a_cause_replaces_its_symptom_and_takes_its_evidence() {
    let all = found(6, |second| {
        let keys = CommandStat { calls: 2, usec: 940_000, ..CommandStat::default() };
        second.status.command_stats.insert("keys".to_owned(), keys);
        second.status.gauges.set(Gauge::Cpu, Some(1.0));
        let (command, client) = ("KEYS *".to_owned(), Some("10.0.0.7:51234".to_owned()));
        second.events = vec![EventKind::SlowCommand { us: 470_000, command, client, arguments: Vec::new() }];
        second.ping(&[(90_000, 20), (300_000_000, 80)]);
    });
    assert_eq!(all.iter().map(|found| found.rule).collect::<Vec<_>>(), ["slow command"]);
    assert_eq!(all[0].severity, Severity::Problem);
    assert!(all[0].evidence.iter().any(|known| known.starts_with("PING waited 300 ms")), "{all:?}");
}

#[test]
fn a_finding_is_over_when_its_server_reports_nothing_more() {
    let (mut findings, mut said) = (Findings::default(), Vec::new());
    let busy = seconds(6, |second| second.host.gauges.set(Gauge::ServerRunDelay, Some(0.5)));
    let silent = seconds(20, |_| {}).into_iter().filter(|record| {
        !matches!(record, Record::Server(_) | Record::Host(_)) && record.t_s().is_some_and(|t_s| t_s > 7.0)
    });
    busy.into_iter().chain(silent).for_each(|record| said.extend(findings.push(&record)));
    assert!(said[0].starts_with("core taken: the server waits 50 % of the time for a core"), "{said:?}");
    assert_eq!(said[1..], ["core taken: no longer"]);
}

#[test]
fn every_finding_has_its_place_in_the_documentation() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/diagnosing.md")).unwrap();
    for (rule, _) in Findings::default().by_rule() {
        assert!(page.contains(&format!("\n### {rule}\n")), "docs/diagnosing.md has no heading for {rule}");
    }
}

#[test]
fn no_finding_about_memcached_names_an_option_or_a_command_of_redis() {
    let large = [(Gauge::BytesOut, 1.2e9), (Gauge::OpsPerS, 400.0)];
    for (rule, gauges) in [
        ("refused", &[(Gauge::RejectedClients, 59.0)][..]),
        ("refused", &[(Gauge::ListenDisabled, 1.0)]),
        ("eviction", &[(Gauge::EvictedKeys, 5000.0)]),
        ("memory", &[(Gauge::UsedMemory, 99e6), (Gauge::MaxMemory, 100e6)]),
        ("connections", &[(Gauge::NewConnections, 5000.0)]),
        ("server cpu", &[(Gauge::Cpu, 0.99)]),
        ("misses", &[(Gauge::Hits, 600.0), (Gauge::Misses, 2400.0), (Gauge::HitRate, 0.2)]),
        ("big reply", &large),
        ("big reply", &[large[0], large[1], (Gauge::BytesIn, 4e6)]),
    ] {
        // The hit rate falls after 20 s.
        let earlier = [(Gauge::Hits, 2850.0), (Gauge::Misses, 150.0), (Gauge::HitRate, 0.95)];
        let found = found_on("memcached 1.6.18", 24, |second| {
            let gauges = if rule == "misses" && second.n < 20 { &earlier } else { gauges };
            gauges.iter().for_each(|(gauge, value)| second.status.gauges.set(*gauge, Some(*value)));
        });
        assert!(found.iter().any(|found| found.rule == rule), "{rule}: {found:?}");
        for found in found {
            let text = format!("{} {:?}", found.line(), found.next_at_screen);
            let foreign = ["CONFIG", "CLIENT", "redis", "INFO ", "GETRANGE", "maxclients", "press d"];
            assert!(!foreign.iter().any(|word| text.contains(word)), "{text}");
        }
    }
}
