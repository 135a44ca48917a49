//! What the receivers of a workload miss is counted where it belongs.

use crate::{
    messages::{received, session, summary},
    support::{
        Server,
        program::{Running, redyno},
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
    assert_eq!((got.times.count(), got.lost, got.left), (0, 200, 0), "{got:?}");
}
