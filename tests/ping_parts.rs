//! The ping's parts: what the kernel stamps, what it cannot, and that every round trip is in one of the two.

use std::{
    num::NonZeroU32,
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use crate::scripted::{Scripted, target};
use crate::support::Server;
use redyno::{
    clock::Clock,
    endpoint::{Address, Target},
    probe::{Ping, PingPlan, PingProbe, ProbeMessage, Timing},
    session::{Record, Span},
    stats::Latency,
};

/// One PING a millisecond.
const PERIOD_NS: u128 = 1_000_000;
/// What the readings of two clocks, at the start and the end of a round trip, can be wrong by.
const DOUBT_NS: u128 = 5_000;

struct Probed {
    _probe: PingProbe,
    messages: Receiver<ProbeMessage>,
    reports: Vec<Ping>,
    reported: Vec<ProbeMessage>,
}

fn probe(target: Target) -> Probed {
    let plan = PingPlan {
        per_second: NonZeroU32::new(1000).unwrap(),
        tick: Duration::from_millis(10),
        timeout: Duration::from_secs(30),
        ..PingPlan::new(target)
    };
    let (sender, messages) = channel();
    let probe = PingProbe::start(plan, Clock::start(), sender).unwrap();
    Probed { _probe: probe, messages, reports: Vec::new(), reported: Vec::new() }
}

impl Probed {
    fn until(&mut self, what: &str, enough: impl Fn(&[Ping]) -> bool) -> &[Ping] {
        for _ in 0..3_000 {
            if enough(&self.reports) {
                return &self.reports;
            }
            match self.messages.recv_timeout(Duration::from_secs(30)).expect(what) {
                ProbeMessage::Ping(report) => self.reports.push(report.body),
                other => self.reported.push(other),
            }
        }
        panic!("no {what}: {:?}", self.reported);
    }
}

fn answered(reports: &[Ping]) -> u64 {
    reports.iter().map(|ping| ping.rtt.count()).sum()
}

fn left_out(ping: &Ping) -> u64 {
    ping.left_out.values().sum()
}

fn left_out_as(reports: &[Ping], kind: &str) -> u64 {
    reports.iter().filter_map(|ping| ping.left_out.get(kind)).sum()
}

fn sum_ns(part: &Option<Latency>) -> u128 {
    part.as_ref().map_or(0, Latency::sum_ns)
}

/// What must hold of any stretch on a stamped connection.
fn check(ping: &Ping) {
    let (Some(send), Some(kernel), Some(pickup)) = (&ping.send, &ping.kernel, &ping.pickup) else {
        assert!(ping.timing.is_none() && ping.rtt.is_empty(), "{ping:?}");
        return;
    };
    let n = kernel.count();
    assert_eq!((send.count(), pickup.count()), (n, n));
    assert_eq!(n + left_out(ping), ping.rtt.count(), "each round trip once: {:?}", ping.left_out);
    let doubt_ns = u128::from(n) * DOUBT_NS;
    let parts_ns = send.sum_ns() + kernel.sum_ns() + pickup.sum_ns();
    assert!(parts_ns <= ping.rtt.sum_ns() + doubt_ns, "{ping:?}");
    if left_out(ping) == 0 {
        assert!(parts_ns + doubt_ns >= ping.rtt.sum_ns(), "the parts are the whole: {ping:?}");
    }
    assert!(u128::from(kernel.max_ns()) <= u128::from(ping.rtt.max_ns()) + DOUBT_NS, "{ping:?}");
}

#[test]
fn the_parts_of_pings_to_a_real_server_add_up_to_their_round_trips() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let address = Address::Tcp { host: "127.0.0.1".into(), port: server.port() };
        let mut probed = probe(Target { address, ..Target::default() });
        let kernel_times =
            |reports: &[Ping]| reports.iter().flat_map(|p| &p.kernel).map(Latency::count).sum::<u64>();
        let reports = probed.until("kernel times", |reports| kernel_times(reports) >= 300);
        reports.iter().for_each(check);
        let tcp = reports.last().unwrap().tcp.unwrap();
        assert!(tcp.rtt_us > 0 && tcp.rtt_min_us.is_some_and(|min_us| min_us > 0), "{tcp:?}");
        assert!(probed.reported.is_empty(), "stamps in the error queue are no loss: {:?}", probed.reported);
    }
}

#[test]
fn a_unix_socket_has_no_kernel_time_and_says_so() {
    let server = Server::redis().start();
    let mut probed = probe(Target { address: Address::Unix(server.socket()), ..Target::default() });
    let reports = probed.until("answers", |reports| answered(reports) >= 100);
    for ping in reports.iter().filter(|ping| !ping.rtt.is_empty()) {
        assert_eq!((ping.timing, ping.tcp), (Some(Timing::UnixSocket), None));
        assert_eq!((&ping.send, &ping.kernel, &ping.pickup), (&None, &None, &None));
        assert_eq!(left_out(ping), 0);
    }
    let record = Record::Ping(Box::new(Span::new(1.0, 0.01, reports.last().unwrap().clone())));
    let value = serde_json::to_value(record).unwrap();
    assert_eq!((&value["timing"], &value["kernel"]), (&"unix socket".into(), &serde_json::Value::Null));
}

#[test]
fn of_answers_that_come_together_only_the_last_has_a_known_arrival() {
    let server = Scripted::start(vec![Box::new(|peer| {
        peer.greet();
        peer.swallow_pings(100);
        // One write, and so one segment.
        peer.say(&"+PONG\r\n".repeat(100));
        peer.pong_on();
    })]);
    let mut probed = probe(target(server.address));
    let reports = probed.until("answers", |reports| answered(reports) >= 150);
    reports.iter().for_each(check);
    assert!(
        left_out_as(reports, "shared read") >= 99,
        "{:?}",
        reports.iter().map(left_out).collect::<Vec<_>>()
    );
    drop(probed);
    server.join();
}

#[test]
fn an_answer_has_the_departure_of_its_own_ping_with_others_outstanding() {
    let server = Scripted::start(vec![Box::new(|peer| {
        peer.greet();
        peer.swallow_pings(41);
        peer.say("+PONG\r\n");
        while peer.command().is_some() {}
    })]);
    let mut probed = probe(target(server.address));
    let reports = probed.until("an answer", |reports| answered(reports) == 1);
    let ping = reports.iter().find(|ping| !ping.rtt.is_empty()).unwrap();
    check(ping);
    // The kernel begins to stamp what arrives a moment after it is asked to.
    if left_out(ping) == 0 {
        // It left the server after PING 40 had come, which was due 40 periods after PING 0.
        assert!(sum_ns(&ping.send) + sum_ns(&ping.kernel) + DOUBT_NS >= 40 * PERIOD_NS, "{ping:?}");
    }
    drop(probed);
    server.join();
}

#[test]
fn a_server_that_stalls_and_goes_on_leaves_no_round_trip_unaccounted() {
    let server = Server::redis().start();
    let address = Address::Tcp { host: "127.0.0.1".into(), port: server.port() };
    let mut probed = probe(Target { address, ..Target::default() });
    let before = answered(probed.until("answers", |reports| answered(reports) >= 50));
    server.pause();
    probed.until("a stall", |reports| reports.last().is_some_and(|ping| ping.waiting_us >= 50_000));
    server.resume();
    let reports = probed.until("answers again", |reports| answered(reports) >= before + 150);
    reports.iter().for_each(check);
    assert!(left_out_as(reports, "shared read") > 0, "it answers what has come in together");
    assert!(probed.reported.is_empty(), "{:?}", probed.reported);
}

#[test]
fn a_new_connection_is_stamped_anew() {
    let server = Scripted::start(vec![
        Box::new(|peer| {
            peer.greet();
            peer.swallow_pings(30);
        }),
        Box::new(|peer| {
            peer.greet();
            peer.pong_on();
        }),
    ]);
    let mut probed = probe(target(server.address));
    let reports = probed.until("kernel times of the second connection", |reports| {
        reports.iter().flat_map(|ping| &ping.kernel).map(Latency::count).sum::<u64>() >= 50
    });
    reports.iter().for_each(check);
    drop(probed);
    server.join();
}
