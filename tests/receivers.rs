//! What the receivers of a workload miss is counted where it belongs.

use redyno::session::{Record, Segment};
use rustix::process::Signal;

use crate::{
    messages::{received, receivers, session, summary},
    support::{
        Server,
        program::{Running, redyno, run},
        sentinels::Sentinels,
        wait_for,
    },
};

#[test]
fn messages_that_another_client_takes_are_lost_and_not_left_in_the_server() {
    let server = Server::redis().start();
    let port = server.port_text();
    server.cli(&["ACL", "SETUSER", "w", "on", ">w", "~*", "&*", "+@all", "-blpop"]);
    let more = ["--user", "w", "-a", "w", "-n", "200", "--rate", "1000"];
    let running = Running::start(redyno(&session(&port, "queue queues=1", &more)));
    let mut taken = 0;
    wait_for("all messages", || {
        let queue = server.cli(&["KEYS", "redyno:*:queue:*"]);
        let popped = if queue.is_empty() { queue } else { server.cli(&["LPOP", &queue, "1000"]) };
        taken += popped.lines().filter(|line| !line.is_empty()).count();
        (taken >= 200).then_some(())
    });
    let records = running.end_of_writing().records();
    let (_, got) = received(summary(&records));
    assert_eq!((got.times.count(), got.lost, got.left), (0, Some(200), 0), "{got:?}");
}

#[test]
fn receivers_are_listed_only_in_the_segments_that_send_them_messages() {
    let (server, folder) = (Server::redis().start(), tempfile::tempdir().unwrap());
    let (port, script) = (server.port_text(), folder.path().join("turns.script"));
    let turns = "at 0s rate 500\nat 1s receivers 5\nat 2s load off\nat 4s load on\nat 5s end\n";
    std::fs::write(&script, turns).unwrap();
    let more = ["--script", script.to_str().unwrap()];
    let records = run(&session(&port, "pubsub receivers=2", &more)).expect_code(0).records();
    let mut segments: Vec<(Segment, Vec<u32>)> = Vec::new();
    for record in records {
        match record {
            Record::Segment(segment) => segments.push((segment, Vec::new())),
            Record::Interval(interval) => {
                let at = segments.iter_mut().find(|(segment, _)| segment.segment == interval.segment);
                let Some((segment, listed)) = at else { continue };
                let wanted = segment.knobs.workload.receiver_count().filter(|_| segment.knobs.load);
                for (_, got) in interval.arrivals.iter() {
                    let ordered = Some(got.ordered).filter(|ordered| *ordered > 0);
                    assert!(ordered.is_none() || ordered == wanted, "{segment:?}: {got:?}");
                    // The receivers of the next segment may get messages before it begins.
                    let own = got
                        .by_receiver
                        .iter()
                        .filter(|one| one.received == 0 || Some(one.receiver) <= wanted);
                    listed.extend(own.map(|one| one.receiver));
                }
            }
            _ => {}
        }
    }
    for (segment, mut listed) in segments {
        listed.sort_unstable();
        listed.dedup();
        let wanted = segment.knobs.workload.receiver_count().filter(|_| segment.knobs.load).unwrap_or(0);
        // The script changes the first segment at once.
        let is_skipped = segment.segment == 1 && listed.is_empty();
        assert!(is_skipped || listed == (1..=wanted).collect::<Vec<_>>(), "{listed:?} {segment:?}");
    }
}

/// Waits until `server` publishes notifications, and the session receives them. Then ends the session.
fn receives_from(server: &Server, running: Running) {
    let value = || {
        server.cli(&["CONFIG", "GET", "notify-keyspace-events"]).lines().nth(1).unwrap_or_default().to_owned()
    };
    wait_for("the letters", || (value() == "$K").then_some(()));
    let receipts = || {
        let lines = running.out();
        lines.split("\"invalidation\":{\"count\":").skip(1).filter(|rest| !rest.starts_with("0,")).count()
    };
    let before = receipts();
    wait_for("more receipts", || (receipts() > before).then_some(()));
    running.signal(Signal::INT);
    running.end_of_writing();
    assert_eq!((value().as_str(), server.cli(&["DBSIZE"]).as_str()), ("", "0"));
}

#[test]
fn a_restarted_server_publishes_its_notifications_again_and_loses_them_at_the_end() {
    let mut server = Server::redis().start();
    let port = server.port_text();
    let running = Running::start(redyno(&session(&port, "keyspace", &["--rate", "200", "-c", "2"])));
    receivers(&server, &running);
    server.kill();
    server.restart();
    receives_from(&server, running);
}

#[test]
fn the_new_primary_of_a_failover_publishes_notifications_too() {
    let ([mut old, new], sentinels) = Sentinels::of_pair(Server::redis);
    let uri = sentinels.uri();
    let mut args = session(&uri, "keyspace", &["--rate", "200", "-c", "2"]);
    args[0] = "-u";
    let running = Running::start(redyno(&args));
    receivers(&old, &running);
    old.kill();
    receives_from(&new, running);
}
