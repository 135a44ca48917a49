//! Tests of the estimates of where the time of a request goes.

use super::*;
use crate::{
    diagnose::{
        Findings,
        fixture::{Second, begun, seconds},
    },
    knobs::Knobs,
    probe::Ping,
    server::CommandStat,
    session::{Client, OperationInterval, Record, Segment, WorkerCost},
    stats::fixture::repeated,
};

fn spent(records: impl IntoIterator<Item = Record>) -> Vec<TimeSpent> {
    let mut findings = Findings::default();
    records.into_iter().for_each(|record| drop(findings.push(&record)));
    findings.spent()
}

/// Returns the share of a part.
fn share(spent: &TimeSpent, name: &str) -> f64 {
    let parts = spent.parts();
    parts.iter().find(|(part, _)| *part == name).unwrap().1 / spent.total_us()
}

fn stamped(send_ns: u64, kernel: &[(u64, u64)], pickup_ns: u64) -> Ping {
    let mut second = Second::healthy(0);
    second.ping(kernel);
    let n = kernel.iter().map(|(_, n)| n).sum();
    Ping { send: Some(repeated(send_ns, n)), pickup: Some(repeated(pickup_ns, n)), ..second.ping }
}

#[test]
fn five_milliseconds_are_found_where_they_were_spent() {
    let of = |ping: Ping| {
        let all = spent(seconds(4, move |second| {
            second.ping = ping.clone();
            time_pings(second);
        }));
        all.into_iter().next().unwrap()
    };
    let wire = of(stamped(30_000, &[(5_090_000, 60), (5_140_000, 40)], 20_000));
    assert!(share(&wire, "wire") > 0.9, "{wire}");
    let ours = of(stamped(5_000_000, &[(90_000, 60), (140_000, 40)], 20_000));
    assert!(share(&ours, "ours") > 0.9, "{ours}");
    let waits = of(stamped(30_000, &[(90_000, 1), (5_100_000, 99)], 20_000));
    assert!(share(&waits, "waits in the server") > 0.9, "{waits}");
    let unknown = spent(seconds(4, |second| second.ping = pings(20_000))).remove(0);
    assert_eq!(unknown.execution_us, None, "memcached and HTTP services report no times: {unknown}");
    assert_eq!([&wire, &unknown].map(TimeSpent::title), ["where the time goes, 4.0 s"; 2]);
    let long = spent(seconds(9, |second| second.ping = pings(20_000))).remove(0);
    assert_eq!(long.title(), "where the time goes, 5 s");
    assert_eq!(
        wire.to_string(),
        "PING 5.16 ms: ours 1.0 %, wire 99 %, waits in the server 0.4 %, execution 0.02 %; ± 1.33 µs"
    );
}

/// Makes the server report an execution time of 1 µs for PING.
fn time_pings(second: &mut Second) {
    let stat = CommandStat { calls: 100, usec: 100, ..CommandStat::default() };
    second.status.command_stats.insert("ping".to_owned(), stat);
}

/// Returns PINGs with replies that wait `pickup_ns` before redyno reads them.
fn pings(pickup_ns: u64) -> Ping {
    stamped(30_000, &[(90_000, 50), (140_000, 50)], pickup_ns)
}

/// Returns the estimates for a load. Each item of `operations` has a name, a rate per second, a time in nanoseconds and
/// an execution time in microseconds. `ping` has the PINGs of each second.
fn of_load(operations: &'static [(&str, u64, u64, u64)], ping: &Ping) -> Vec<TimeSpent> {
    of_changed(operations, ping, |_| {})
}

/// Returns the same estimates after a change of each interval.
fn of_changed(
    operations: &'static [(&str, u64, u64, u64)],
    ping: &Ping,
    change: impl Fn(&mut Interval),
) -> Vec<TimeSpent> {
    let mut records = begun();
    records.push(Record::Segment(Segment::new(0.0, 2, Knobs { load: true, ..Knobs::default() })));
    for n in 0..5 {
        let mut second = Second::healthy(n);
        second.ping = ping.clone();
        let ops: u64 = operations.iter().map(|(_, n, _, _)| n).sum();
        let client = Client {
            readable_to_read: repeated(9_000, ops),
            ..Client::of(vec![WorkerCost { cpu: 0.1, ..WorkerCost::default() }])
        };
        let mut interval = Interval {
            t_s: f64::from(n) + 1.0,
            length_s: 1.0,
            segment: 2,
            ops,
            ops_per_s: ops as f64,
            client: Some(client),
            ..Interval::default()
        };
        for &(name, calls, ns, us) in operations {
            let service = repeated(ns, calls);
            interval.service.merge(&service);
            let part = OperationInterval { ops: calls, service, ..OperationInterval::default() };
            interval.commands.insert(name.to_owned(), part);
            interval.requests.insert(name.to_uppercase(), calls);
            let stat = CommandStat { calls, usec: us * calls, ..CommandStat::default() };
            second.status.command_stats.insert(name.to_lowercase(), stat);
        }
        change(&mut interval);
        records.push(Record::Interval(Box::new(interval)));
        records.extend(second.records());
    }
    spent(records)
}

#[test]
fn a_request_that_waits_for_a_client_waits_where_the_requests_of_the_clients_are() {
    type Operations = &'static [(&'static str, u64, u64, u64)];
    const SLOW: Operations = &[("GET", 100, 20_000_000, 3)];
    const FAST: Operations = &[("GET", 100, 240_000, 3)];
    // Requests are sent 800 ms after they were due, and a client was free for `late_ns` of this time.
    let of = |operations: Operations, late_ns, receive_lag_ns| {
        let mut all = of_changed(operations, &pings(20_000), |interval| {
            interval.response = Some(repeated(operations[0].2 + 800_000_000, 100));
            interval.client.iter_mut().for_each(|client| {
                client.late = Some(repeated(late_ns, 100));
                client.receive_lag = repeated(receive_lag_ns, 100);
            });
        });
        let total_us = (operations[0].2 + 800_000_000) as f64 / 1e3;
        assert!((all[0].total_us() / total_us - 1.0).abs() < 0.01, "{}", all[0]);
        all.remove(0)
    };
    let stalled = of(SLOW, 50_000, 9_000);
    assert!(share(&stalled, "waits in the server") > 0.95, "{stalled}");
    let late = of(SLOW, 790_000_000, 9_000);
    assert!(share(&late, "ours") > 0.95, "{late}");
    let busy = of(FAST, 50_000, 230_000);
    assert!(share(&busy, "ours") > 0.9, "a worker that is busy makes its clients wait: {busy}");
}

#[test]
fn each_command_of_a_load_has_parts_of_its_own() {
    let all = of_load(&[("EVAL", 190, 5_250_000, 5000), ("GET", 400, 240_000, 3)], &pings(20_000));
    let names: Vec<_> = all.iter().map(|spent| spent.request.as_str()).collect();
    assert_eq!(names, ["load", "EVAL", "GET"]);
    assert!(share(&all[1], "execution") > 0.9, "{}", all[1]);
    assert!((share(&all[2], "execution") - 3.0 / 240.0).abs() < 0.001, "{}", all[2]);
    assert!(share(&all[0], "execution") > 0.85, "{}", all[0]);
    assert!(all[1].to_string().ends_with("; 1.0 in flight"), "{}", all[1]);
}

#[test]
fn the_setup_of_the_connections_takes_no_part_of_the_requests_of_a_load() {
    let all = of_changed(&[("GET", 1, 700_000, 4)], &pings(20_000), |interval| {
        interval.requests.insert("info".to_owned(), 50);
    });
    let [load, get] = [0, 1].map(|n| share(&all[n], "execution"));
    assert!((load - get).abs() < 1e-6 && get > 0.0, "{} {}", all[0], all[1]);
}

/// The prefill writes SETs of 1 ms, and the load sends GETs and a few SETs that take 0.2 ms.
#[test]
fn the_times_of_a_segment_contain_no_earlier_segment() {
    let mut records = begun();
    for (segment, us, sets) in [(1, 1000, 9000), (2, 200, 100)] {
        records.push(Record::Segment(Segment::new(
            f64::from(segment) - 1.0,
            segment,
            Knobs { load: true, ..Knobs::default() },
        )));
        let service = repeated(us * 1000, sets);
        let part = OperationInterval { ops: sets, service: service.clone(), ..OperationInterval::default() };
        records.push(Record::Interval(Box::new(Interval {
            t_s: f64::from(segment),
            length_s: 1.0,
            segment,
            ops: sets,
            ops_per_s: sets as f64,
            client: Some(Client::of(vec![WorkerCost { cpu: 0.1, ..WorkerCost::default() }])),
            commands: [("SET".to_owned(), part)].into(),
            service,
            ..Interval::default()
        })));
        let mut second = Second::healthy(segment - 1);
        second.ping = pings(20_000);
        records.extend(second.records());
    }
    let all = spent(records);
    assert!(all.iter().all(|spent| (199.0..201.0).contains(&spent.total_us())), "{all:?}");
    assert_eq!(all.iter().map(|spent| spent.request.as_str()).collect::<Vec<_>>(), ["load", "SET"]);
}

#[test]
fn a_reply_that_waits_for_redyno_is_ours_and_an_unknown_execution_is_no_zero() {
    let late = &of_load(&[("GET", 100, 5_240_000, 3)], &pings(5_000_000))[1];
    assert!(share(late, "ours") > 0.9, "{late}");
    let unknown = &of_load(&[("get", 100, 240_000, 0)], &pings(20_000))[1];
    assert!(unknown.to_string().contains(", in the server "), "{unknown}");
}

#[test]
fn a_request_takes_as_long_as_the_fastest_ping_however_late_pings_are_read() {
    let all = of_load(&[("GET", 100, 180_000, 3)], &pings(200_000));
    assert_eq!(
        all[1].to_string(),
        "GET 180 µs: ours 50 %, wire 48 %, waits in the server 0 %, execution 1.7 %; ± 46 ns; 0.0 in flight"
    );
}

#[test]
fn a_load_has_an_estimate_although_the_parts_of_most_pings_are_unknown() {
    let unknown = Ping { rtt: repeated(20_000_000, 100), ..pings(20_000) };
    assert_eq!(of_load(&[("GET", 100, 5_240_000, 3)], &unknown).len(), 2);
    assert!(spent(seconds(4, move |second| second.ping = unknown.clone())).is_empty());
}

#[test]
fn a_way_that_became_longer_is_wire_as_soon_as_all_recent_pings_take_it() {
    let ping = |n| stamped(30_000, &[(if n < 20 { 90_000 } else { 20_100_000 }, 100)], 20_000);
    let share_after = |seconds_of_it: u32| {
        let all = spent(seconds(20 + seconds_of_it, move |second| second.ping = ping(second.n)));
        share(&all[0], "wire")
    };
    assert!(share_after(3) < 0.1 && share_after(7) > 0.9, "{} {}", share_after(3), share_after(7));
}

#[test]
fn the_commands_of_other_clients_wait_as_long_as_ping() {
    let all = spent(seconds(4, |second| {
        second.ping = stamped(30_000, &[(90_000, 99), (140_000, 1)], 20_000);
        time_pings(second);
    }));
    assert_eq!(
        all[1].to_string(),
        "GET 92.5 µs: ours 0 %, wire 97 %, waits in the server 0 %, execution 3.2 %; ± 46 ns"
    );
}
