//! The ping probe's promise: each PING that was due is a sample or an error, exactly once, whatever the server does.

use std::{
    collections::BTreeMap,
    net::TcpListener,
    num::NonZeroU32,
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use crate::scripted::{Peer, Scripted, end_of_script, target};
use redyno::{
    clock::Clock,
    endpoint::{Address, Credentials, Password, Target, parse_uri},
    probe::{PingPlan, PingProbe, ProbeMessage},
    protocol::Dialect,
    stats::Latency,
};

/// One PING a millisecond.
const PERIOD_NS: u64 = 1_000_000;

/// Everything that a probe has said so far.
#[derive(Default)]
struct Heard {
    rtt: Latency,
    errors: BTreeMap<String, u64>,
    longest_wait_us: u64,
    first_ns: Option<u64>,
    end_ns: u64,
    /// Everything that is no report, in words.
    reported: Vec<String>,
}

impl Heard {
    fn take(&mut self, message: ProbeMessage) {
        match message {
            ProbeMessage::Ping(report) => {
                assert!(
                    self.first_ns.is_none() || report.start_ns == self.end_ns,
                    "reports follow each other"
                );
                self.first_ns.get_or_insert(report.start_ns);
                self.end_ns = report.end_ns;
                self.rtt.merge(&report.body.rtt);
                self.longest_wait_us = self.longest_wait_us.max(report.body.waiting_us);
                for (kind, n) in report.body.errors {
                    *self.errors.entry(kind).or_default() += n;
                }
            }
            ProbeMessage::Lost { kind, cause, .. } => self.reported.push(format!("lost, {kind}: {cause}")),
            ProbeMessage::Back { .. } => self.reported.push("back".to_owned()),
            ProbeMessage::ErrorReply { kind, text, .. } => {
                self.reported.push(format!("error, {kind}: {text}"));
            }
            other => panic!("the ping probe said {other:?}"),
        }
    }

    fn errors_of(&self, kind: &str) -> u64 {
        self.errors.get(kind).copied().unwrap_or(0)
    }

    fn late_by(&self, at_least_ns: u64) -> u64 {
        // A cell's value is its upper end, so no sample in it is longer.
        self.rtt.cells().filter(|(value_ns, _)| *value_ns >= at_least_ns).map(|(_, n)| n).sum()
    }
}

struct Probed {
    probe: PingProbe,
    messages: Receiver<ProbeMessage>,
    heard: Heard,
}

fn probe(target: Target) -> Probed {
    probe_with_timeout(target, Duration::from_secs(30))
}

fn probe_with_timeout(target: Target, timeout: Duration) -> Probed {
    let plan = PingPlan {
        per_second: NonZeroU32::new(1000).unwrap(),
        tick: Duration::from_millis(10),
        timeout,
        ..PingPlan::new(target)
    };
    let (sender, messages) = channel();
    let probe = PingProbe::start(plan, Clock::start(), sender).unwrap();
    Probed { probe, messages, heard: Heard::default() }
}

impl Probed {
    /// Listens until `enough`; a probe that goes on without ever getting there fails the test after its bound.
    fn until(&mut self, what: &str, enough: impl Fn(&Heard) -> bool) -> &Heard {
        for _ in 0..3_000 {
            if enough(&self.heard) {
                return &self.heard;
            }
            self.heard.take(self.messages.recv_timeout(Duration::from_secs(30)).expect(what));
        }
        panic!(
            "no {what}: {:?}, {:?}, {} samples",
            self.heard.reported,
            self.heard.errors,
            self.heard.rtt.count()
        );
    }

    /// Ends the probe, and hears it out.
    fn end(self) -> Heard {
        let Self { probe, messages, mut heard } = self;
        drop(probe);
        messages.into_iter().for_each(|message| heard.take(message));
        // Not more than was due: one at the start and one a period since then.
        let answered = heard.rtt.count() + heard.errors.values().sum::<u64>();
        let length_ns = heard.end_ns - heard.first_ns.unwrap();
        assert!(answered <= length_ns / PERIOD_NS + 1, "{answered} in {length_ns} ns");
        heard
    }
}

#[test]
fn a_stall_is_as_many_late_samples_as_pings_were_due_in_it() {
    let server = Scripted::start(vec![Box::new(|peer| {
        peer.greet();
        // They come although none is answered: the probe does not wait for the server.
        peer.swallow_pings(100);
        peer.say(&"+PONG\r\n".repeat(100));
        peer.pong_on();
    })]);
    let mut probed = probe(server.target());
    probed.until("answers", |heard| heard.rtt.count() >= 150);
    let heard = probed.end();
    server.join();
    // PING j of the stall was answered no sooner than PING 99 was due, (99 - j) periods after its own time.
    for periods in [1, 50, 90, 99] {
        let late = heard.late_by(periods * PERIOD_NS);
        assert!(late >= 100 - periods, "{late} of 100 samples are later than {periods} periods");
    }
    assert!(heard.rtt.max_ns() >= 99 * PERIOD_NS);
    assert!(heard.longest_wait_us > 0, "the stall shows while it lasts");
    assert!(heard.errors.is_empty() && heard.reported.is_empty(), "{:?} {:?}", heard.errors, heard.reported);
}

#[test]
fn a_stall_of_a_server_that_closes_after_each_reply_is_as_many_late_samples() {
    const REPLY: &str = "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n";
    let requests = |peer: &mut Peer, n: usize| {
        (0..n).all(|_| {
            peer.line().is_some_and(|_| {
                while peer.line().is_some_and(|line| line != "\r\n") {}
                true
            })
        })
    };
    let server = Scripted::start(vec![
        Box::new(move |peer| {
            requests(peer, 100);
            peer.say(REPLY);
            while peer.line().is_some() {}
        }),
        Box::new(move |peer| {
            requests(peer, 1);
            peer.say(REPLY);
            while peer.line().is_some() {}
        }),
        Box::new(move |peer| {
            while requests(peer, 1) {
                peer.say(&REPLY.replace("1.0", "1.1"));
            }
        }),
    ]);
    let uri = format!("http://{}/", server.address);
    let mut probed = probe(parse_uri(&uri).unwrap().target);
    probed.until("answers", |heard| heard.rtt.count() >= 150);
    let heard = probed.end();
    server.join();
    for periods in [1, 50, 90, 99] {
        let late = heard.late_by(periods * PERIOD_NS);
        assert!(late >= 100 - periods, "{late} of 100 samples are later than {periods} periods");
    }
    assert!(heard.errors.is_empty() && heard.reported.is_empty(), "{:?} {:?}", heard.errors, heard.reported);
}

#[test]
fn error_replies_are_counted_by_kind_and_are_no_samples() {
    let server = Scripted::start(vec![Box::new(|peer| {
        peer.greet();
        peer.swallow_pings(5);
        peer.say(
            "-LOADING Redis is loading\r\n-LOADING Redis is loading\r\n-NOAUTH Authentication required.\r\n",
        );
        peer.say("+PONG\r\n-LOADING Redis is loading\r\n");
        while peer.command().is_some() {}
    })]);
    let mut probed = probe(server.target());
    probed.until("errors", |heard| heard.errors_of("LOADING") == 3);
    let heard = probed.end();
    server.join();
    assert_eq!(heard.rtt.count(), 1);
    assert_eq!(heard.errors, BTreeMap::from([("LOADING".to_owned(), 3), ("NOAUTH".to_owned(), 1)]));
    let reported =
        ["error, LOADING: LOADING Redis is loading", "error, NOAUTH: NOAUTH Authentication required."];
    assert_eq!(heard.reported, reported);
}

#[test]
fn a_reply_counts_when_its_last_byte_is_there() {
    let server = Scripted::start(vec![Box::new(|peer| {
        peer.greet();
        peer.swallow_pings(1);
        peer.say("+PO");
        peer.swallow_pings(40);
        peer.say("NG\r\n");
        while peer.command().is_some() {}
    })]);
    let mut probed = probe(server.target());
    let sample = probed.until("sample", |heard| heard.rtt.count() == 1).rtt.min_ns();
    assert!(sample >= 40 * PERIOD_NS, "{sample}");
    probed.end();
    server.join();
}

#[test]
fn an_outage_is_reported_counted_and_overcome() {
    let server = Scripted::start(vec![Box::new(|peer| {
        peer.greet();
        peer.swallow_pings(10);
    })]);
    let address = server.address;
    let mut probed = probe(server.target());
    server.join();
    // Nothing listens any more: what comes due is counted as refused.
    let heard = probed.until("refusals", |heard| heard.errors_of("refused") >= 20);
    assert!(heard.errors_of("reset") >= 10, "the PINGs that it had taken: {:?}", heard.errors);
    assert_eq!(heard.rtt.count(), 0);
    let server = Scripted::start_at(
        address,
        vec![Box::new(|peer| {
            peer.greet();
            peer.pong_on();
        })],
    );
    probed.until("answers", |heard| heard.rtt.count() >= 10);
    let heard = probed.end();
    server.join();
    assert!(heard.reported[0].starts_with("lost, reset: "), "{:?}", heard.reported);
    assert!(heard.reported[1].starts_with("lost, refused: "), "{:?}", heard.reported);
    assert_eq!(heard.reported[2..], ["back"]);
}

#[test]
fn a_server_that_is_not_there_is_tried_again_and_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut probed = probe(target(address));
    probed.until("refusals", |heard| heard.errors_of("refused") >= 50);
    let heard = probed.end();
    assert_eq!(heard.rtt.count(), 0);
    assert_eq!(heard.reported.len(), 1, "the same cause is reported once: {:?}", heard.reported);
}

#[test]
fn a_silent_server_costs_the_connection_after_the_timeout() {
    let server = Scripted::start(vec![
        Box::new(|peer| {
            peer.greet();
            while peer.command().is_some() {}
        }),
        Box::new(|peer| {
            peer.greet();
            peer.pong_on();
        }),
    ]);
    let mut probed = probe_with_timeout(server.target(), Duration::from_secs(1));
    probed.until("answers after the timeout", |heard| heard.rtt.count() >= 10);
    let heard = probed.end();
    server.join();
    // Those that were due before the oldest one's time was up were lost with it.
    assert!(heard.errors_of("timeout") >= 1, "{:?}", heard.errors);
    assert_eq!(heard.reported, ["lost, timeout: a ping was not answered within 1.00 s", "back"]);
}

#[test]
fn what_is_no_redis_is_a_protocol_error() {
    let server = Scripted::start(vec![Box::new(|peer| {
        peer.command().unwrap();
        peer.say("HTTP/1.1 400 Bad Request\r\n\r\n");
        while peer.command().is_some() {}
    })]);
    let mut probed = probe(server.target());
    let reported = probed.until("a loss", |heard| !heard.reported.is_empty()).reported[0].clone();
    assert!(
        reported.starts_with("lost, protocol: this is no Redis: ") && reported.contains("HTTP/1.1 400"),
        "{reported}"
    );
    assert_eq!(probed.end().rtt.count(), 0);
    server.join();
}

#[test]
fn a_reply_too_many_is_a_protocol_error_and_not_the_next_pings_sample() {
    let server = Scripted::start(vec![Box::new(|peer| {
        peer.say("+OK\r\n+PONG\r\n");
        while peer.command().is_some() {}
    })]);
    let mut probed = probe(server.target());
    let reported = probed.until("a loss", |heard| !heard.reported.is_empty()).reported[0].clone();
    assert_eq!(reported, "lost, protocol: the server sent a reply without a request");
    assert_eq!(probed.end().rtt.count(), 0);
    server.join();
}

#[test]
fn credentials_that_are_turned_down_are_the_cause_of_the_outage() {
    let server = Scripted::start(vec![Box::new(|peer| {
        assert_eq!(peer.command().unwrap(), "AUTH ann s3cret");
        peer.say("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
        while peer.command().is_some() {}
    })]);
    let credentials = Credentials { user: Some("ann".to_owned()), password: Password::new("s3cret") };
    let mut probed = probe(Target { credentials: Some(credentials), ..server.target() });
    let reported = probed.until("a loss", |heard| !heard.reported.is_empty()).reported[0].clone();
    let cause = "AUTH was refused: WRONGPASS invalid username-password pair or user is disabled.";
    assert_eq!(reported, format!("lost, WRONGPASS: {cause}"));
    probed.end();
    server.join();
}

#[test]
fn the_reason_that_a_server_gives_before_it_hangs_up_is_kept() {
    let server = Scripted::start(vec![Box::new(|peer| {
        peer.command().unwrap();
        peer.say("-ERR max number of clients reached\r\n");
        while peer.command().is_some() {}
    })]);
    let mut probed = probe(server.target());
    let reported = probed.until("a loss", |heard| !heard.reported.is_empty()).reported[0].clone();
    assert_eq!(reported, "lost, maxclients: the connection was refused: ERR max number of clients reached");
    probed.end();
    server.join();
}

#[test]
fn resp3_is_spoken_when_the_target_asks_for_it() {
    let server = Scripted::start(vec![Box::new(|peer| {
        assert_eq!(peer.command().unwrap(), "HELLO 3");
        peer.say("%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nmodules\r\n*1\r\n%1\r\n+name\r\n+vector\r\n");
        peer.greet();
        peer.say(">2\r\n+invalidate\r\n_\r\n");
        peer.pong_on();
    })]);
    let mut probed = probe(Target { dialect: Dialect::Resp3, ..server.target() });
    probed.until("answers", |heard| heard.rtt.count() >= 10);
    assert!(probed.end().reported.is_empty());
    server.join();
}

#[test]
fn a_unix_socket_is_pinged_like_any_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("server.sock");
    let server = Scripted::start_unix(
        &path,
        Box::new(|peer| {
            peer.greet();
            peer.pong_on();
        }),
    );
    let mut probed = probe(Target { address: Address::Unix(path), ..Target::default() });
    probed.until("answers", |heard| heard.rtt.count() >= 10);
    assert!(probed.end().reported.is_empty());
    end_of_script(server);
}
