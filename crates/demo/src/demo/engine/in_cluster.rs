//! Answers a request on a node of the built-in cluster: checks whether the node has the keys, and counts the
//! cost of the request.

use std::time::Duration;

use super::{refuse, run_or_queue};
use crate::demo::{
    cluster::ClientFlags,
    commands::{AT_ONCE, COMMANDS, CommandId, READS},
    reply::ReplyError,
    request::RequestArguments,
    state::{ServerState, Transaction},
};

/// Runs or queues a request of a client, or redirects it. `slow` is the time by which a fault makes the command longer.
pub fn answer_in_cluster(
    state: &mut ServerState,
    (client, id): (usize, CommandId),
    arguments: RequestArguments<'_>,
    mut slow: Duration,
    out: &mut Vec<u8>,
) {
    let (begin_ns, before) = (state.now_ns, out.len());
    let queues = state.sessions[&client].transaction.is_some() && !COMMANDS[id].has(AT_ONCE);
    if !queues {
        // The delay is outside the lock, so that the replicas do not wait for a slow command of their
        // primary.
        state.delay_command(std::mem::take(&mut slow));
    }
    let slot = state.with_data(|state| {
        let (changes, copied) = (state.databases[0].changes, copied_bytes(state, client, arguments));
        let placed = place(state, (client, id), arguments);
        match &placed {
            Ok(_) => run_or_queue(state, (client, id), arguments, slow, out),
            Err(failure) => {
                state.stats.commands[id].rejected += 1;
                refuse(state, client, failure, out);
                state.sessions[&client].transaction.take_if(|_| !queues);
            }
        }
        if let Some(member) = state.member.as_ref().filter(|_| state.databases[0].changes > changes) {
            member.shared.replicate(member.shard, copied);
        }
        placed.ok().flatten()
    });
    if let Some(slot) = slot {
        let cost = state.slot_use.entry(slot).or_default();
        cost.ns += state.now_ns - begin_ns;
        cost.bytes_in += arguments.bytes.len() as u64;
        cost.bytes_out += (out.len() - before) as u64;
    }
    let session = &mut state.sessions[&client];
    if session.asking && session.transaction.is_none() {
        session.asking = COMMANDS[id].name == "asking";
    }
}

/// Returns true if this server may answer the request, or if this server is not in a cluster.
pub fn is_placed(
    state: &mut ServerState,
    client: (usize, CommandId),
    arguments: RequestArguments<'_>,
) -> bool {
    state.with_data(|state| place(state, client, arguments)).is_ok()
}

/// Returns the number of bytes that the replicas copy if the request changes data. For EXEC, the number includes the
/// requests of the transaction.
fn copied_bytes(state: &ServerState, client: usize, arguments: RequestArguments<'_>) -> usize {
    let queued = state.sessions[&client].transaction.iter().flat_map(|transaction| &transaction.queued);
    arguments.bytes.len() + queued.map(|queued| queued.arguments().bytes.len()).sum::<usize>()
}

/// Returns the slot of a request, if the node may answer the request.
fn place(
    state: &mut ServerState,
    (client, id): (usize, CommandId),
    arguments: RequestArguments<'_>,
) -> Result<Option<u16>, ReplyError> {
    let Some(member) = state.member.clone() else { return Ok(None) };
    let (session, data) = (&state.sessions[&client], &mut state.databases[0]);
    let declared = |reads: bool| ClientFlags { asking: session.asking, reading: session.readonly && reads };
    match &session.transaction {
        Some(Transaction { queued, .. }) if COMMANDS[id].name == "exec" => {
            let reads = queued.iter().all(|queued| COMMANDS[queued.id].has(READS));
            let keys = queued.iter().flat_map(|queued| COMMANDS[queued.id].keys(queued.arguments()));
            member.place(keys, declared(reads), data)
        }
        _ => member.place(COMMANDS[id].keys(arguments), declared(COMMANDS[id].has(READS)), data),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::demo::{
        cluster::{ClusterData, ClusterLayout, Member},
        commands::testing::TestServer,
    };

    /// Creates two primaries with a replica each, on the ports from 7000 on. The key `foo` has slot 12182, which the
    /// second primary owns. The key `bar` has slot 5061, which the first primary owns.
    fn nodes() -> (Arc<ClusterData>, [TestServer; 4]) {
        let mut layout = ClusterLayout::new(2, 1);
        (7000..).zip(&mut layout.nodes).for_each(|(port, node)| node.port = port);
        let shared = Arc::new(ClusterData::new(layout));
        let node = |node: usize| {
            let mut server = TestServer::new();
            let member = Member { shared: Arc::clone(&shared), node, shard: node % 2 };
            server.engine.state.member = Some(Arc::new(member));
            server
        };
        (Arc::clone(&shared), [0, 1, 2, 3].map(node))
    }

    const CROSSED: &str = "-CROSSSLOT Keys in request don't hash to the same slot";
    const UNSTABLE: &str = "-TRYAGAIN Multiple keys request during rehashing of slot";

    #[test]
    fn a_key_has_one_primary_and_is_read_from_its_replica() {
        let (_, [mut one, mut two, _, mut copy]) = nodes();
        one.expect(&[
            ("SET foo 1", "-MOVED 12182 127.0.0.1:7001"),
            ("MSET foo 1 bar 2", CROSSED),
            ("MGET {a}1 {a}2", "-MOVED 15495 127.0.0.1:7001"),
            ("DEL foo bar", CROSSED),
            ("PING", "+PONG"),
            ("DBSIZE", ":0"),
            ("SELECT 1", "-ERR SELECT is not allowed in cluster mode"),
        ]);
        two.expect(&[("SET foo 1 EX 100", "+OK"), ("MSET {foo}1 foo {foo}2 bar", "+OK"), ("DBSIZE", ":3")]);
        copy.expect(&[
            ("GET foo", "-MOVED 12182 127.0.0.1:7001"),
            ("READONLY", "+OK"),
            ("GET foo", "$1\n1"),
            ("SET foo 2", "-MOVED 12182 127.0.0.1:7001"),
            ("FLUSHALL", "-READONLY You can't write against a read only replica."),
            ("DBSIZE", ":3"),
            ("READWRITE", "+OK"),
            ("GET foo", "-MOVED 12182 127.0.0.1:7001"),
        ]);
        let info = copy.ask("INFO replication");
        assert!(
            info.contains("role:slave\nmaster_host:127.0.0.1\nmaster_port:7001\nmaster_link_status:up\n")
        );
        assert!(two.ask("INFO replication").contains("slave0:ip=127.0.0.1,port=7003,state=online,offset="));
        assert_eq!(copy.words("ROLE")[0..4], ["slave", "127.0.0.1", "7001", "connected"]);
        assert!(one.ask("INFO errorstats").contains("errorstat_MOVED:count=2\n"));
    }

    #[test]
    fn a_slot_on_the_move_answers_for_the_keys_that_it_has_and_asks_for_the_others() {
        let (shared, [mut one, mut two, ..]) = nodes();
        two.expect(&[("SET foo 1", "+OK"), ("EXPIRE foo 100", ":1")]);
        shared.begin_move(&[12182], 0);
        two.expect(&[
            ("GET foo", "$1\n1"),
            ("GET {foo}new", "-ASK 12182 127.0.0.1:7000"),
            ("MGET foo {foo}new", UNSTABLE),
        ]);
        one.expect(&[
            ("SET {foo}new 2", "-MOVED 12182 127.0.0.1:7001"),
            ("ASKING", "+OK"),
            ("SET {foo}new 2", "+OK"),
            ("GET {foo}new", "-MOVED 12182 127.0.0.1:7001"),
            ("ASKING", "+OK"),
            ("MGET {foo}new foo", UNSTABLE),
            ("ASKING", "+OK"),
            ("MULTI", "+OK"),
            ("INCR {foo}n", "+QUEUED"),
            ("INCR {foo}n", "+QUEUED"),
            ("EXEC", "*2\n:1\n:2"),
        ]);
        assert!(
            two.ask("CLUSTER NODES").contains(" [12182->-")
                && one.ask("CLUSTER NODES").contains(" [12182-<-")
        );
        shared.finish_move(&[12182], 1, 0);
        two.expect(&[("GET foo", "-MOVED 12182 127.0.0.1:7000"), ("DBSIZE", ":0")]);
        one.expect(&[("MGET foo {foo}new", "*2\n$1\n1\n$1\n2"), ("TTL foo", ":100"), ("DBSIZE", ":3")]);
        one.expect(&[
            ("CLUSTER COUNTKEYSINSLOT 12182", ":3"),
            ("CLUSTER GETKEYSINSLOT 12182 1", "*1\n$8\n{foo}new"),
        ]);
    }

    #[test]
    fn a_transaction_is_for_one_slot_and_is_gone_when_its_slot_has_moved() {
        let (shared, [mut one, mut two, ..]) = nodes();
        two.expect(&[
            ("MULTI", "+OK"),
            ("SET bar 1", "-MOVED 5061 127.0.0.1:7000"),
            ("EXEC", "-EXECABORT Transaction discarded because of previous errors."),
            ("MULTI", "+OK"),
            ("SET foo 1", "+QUEUED"),
            ("SET {a}1 1", "+QUEUED"),
            ("EXEC", CROSSED),
            ("MULTI", "+OK"),
            ("INCR foo", "+QUEUED"),
        ]);
        shared.begin_move(&[12182], 0);
        shared.finish_move(&[12182], 1, 0);
        two.expect(&[("EXEC", "-MOVED 12182 127.0.0.1:7000"), ("EXEC", "-ERR EXEC without MULTI")]);
        one.expect(&[("GET foo", "$-1")]);
    }

    #[test]
    fn blocking_commands_and_sharded_channels_belong_to_the_owner_of_their_slot() {
        let (shared, [mut one, mut two, ..]) = nodes();
        for request in [
            "BLPOP foo 0",
            "BLPOP foo {foo}2 0",
            "BLMOVE foo {foo}2 LEFT RIGHT 0",
            "XREAD COUNT 1 BLOCK 0 STREAMS foo {foo}2 $ $",
            "XREADGROUP GROUP g c BLOCK 0 STREAMS foo >",
            "XGROUP CREATE foo g $ MKSTREAM",
            "SSUBSCRIBE foo",
            "SPUBLISH foo x",
        ] {
            one.expect(&[(request, "-MOVED 12182 127.0.0.1:7001")]);
        }
        for request in ["BLPOP foo bar 1", "BLMOVE foo bar LEFT RIGHT 1", "XREAD STREAMS foo bar $ $"] {
            one.expect(&[(request, CROSSED)]);
        }
        assert!(two.fault("BLPOP foo 0").waits_until_ns.is_some(), "the owner has no element yet");
        two.expect(&[("SSUBSCRIBE foo", "*3\n$10\nssubscribe\n$3\nfoo\n:1")]);
        shared.begin_move(&[12182], 0);
        shared.finish_move(&[12182], 1, 0);
        two.engine.tick();
        assert_eq!(two.engine.state.waiting.woken.len(), 1);
        let (_, end) = two.engine.state.channels.posted.pop().unwrap();
        assert_eq!(end, b"*3\r\n$12\r\nsunsubscribe\r\n$3\r\nfoo\r\n:0\r\n");
        two.expect(&[("BLPOP foo 0", "-MOVED 12182 127.0.0.1:7000")]);
        assert_eq!(two.engine.state.sessions[&1].waits_until_ns, None, "the next wait has its own end");
        two.expect(&[("BLPOP", "-ERR wrong number of arguments for 'blpop' command")]);
    }

    #[test]
    fn statistics_of_slots_count_each_request() {
        let (_, [_, mut two, ..]) = nodes();
        two.expect(&[("SET foo 1", "+OK"), ("GET foo", "$1\n1"), ("SET {a}1 x", "+OK")]);
        let sent = "*3\r\n$3\r\nSET\r\n$3\r\nfoo\r\n$1\r\n1\r\n*2\r\n$3\r\nGET\r\n$3\r\nfoo\r\n".len();
        let got = "+OK\r\n$1\r\n1\r\n".len();
        let words = two.words("CLUSTER SLOT-STATS ORDERBY network-bytes-in LIMIT 1");
        assert_eq!((words[0].as_str(), words[2].as_str()), ("12182", "1"));
        assert_eq!((words[6].parse(), words[8].parse()), (Ok(sent), Ok(got)), "{words:?}");
        assert_eq!(two.words("CLUSTER SLOT-STATS SLOTSRANGE 8190 8200").len(), 9 * 9, "only the own slots");
        two.expect(&[
            ("CLUSTER SLOT-STATS ORDERBY nosuch", "-ERR Unrecognized sort metric for ORDERBY."),
            ("CLUSTER SLOT-STATS SLOTSRANGE 1 x", "-ERR value is not an integer or out of range"),
            ("CONFIG RESETSTAT", "+OK"),
        ]);
        assert_eq!(two.words("CLUSTER SLOT-STATS SLOTSRANGE 12182 12182")[8], "0");
    }

    #[test]
    fn a_replica_takes_over_and_a_cluster_without_a_primary_is_down() {
        let (shared, [mut one, mut two, _, mut copy]) = nodes();
        two.ok("SET foo 1");
        two.expect(&[("CLUSTER FAILOVER", "-ERR You should send CLUSTER FAILOVER to a replica")]);
        copy.expect(&[("CLUSTER FAILOVER", "+OK"), ("GET foo", "$1\n1")]);
        two.expect(&[("GET foo", "-MOVED 12182 127.0.0.1:7003")]);
        assert!(two.ask("INFO replication").contains("role:slave") && copy.ask("ROLE").contains("master"));
        assert!(one.ask("CLUSTER INFO").contains("cluster_state:ok\n"));
        assert!(one.ask("CLUSTER INFO").contains("cluster_current_epoch:3\n"));
        shared.change().nodes[3].has_failed = true;
        one.expect(&[("GET bar", "-CLUSTERDOWN The cluster is down")]);
        assert!(one.ask("CLUSTER INFO").contains("cluster_state:fail\n"));
    }

    #[test]
    fn the_layout_is_the_same_in_all_forms() {
        let (_, [mut one, ..]) = nodes();
        let id = one.words("CLUSTER MYID").remove(0);
        let slots = one.words("CLUSTER SLOTS");
        assert_eq!(slots[..5], ["0", "8191", "127.0.0.1", "7000", &id]);
        assert_eq!((slots[6].as_str(), slots[8].as_str(), slots[9].as_str()), ("7002", "8192", "16383"));
        let nodes = one.ask("CLUSTER NODES");
        assert!(
            nodes.contains(&format!("{id} 127.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-8191\n"))
        );
        assert!(nodes.contains(&format!("127.0.0.1:7002@17002 slave {id} 0 0 1 connected\n")), "{nodes}");
        let shards = one.words("CLUSTER SHARDS");
        assert_eq!(shards[..6], ["slots", "0", "8191", "nodes", "id", &id]);
        one.expect(&[("CLUSTER KEYSLOT a{foo}b", ":12182")]);
        assert!(
            one.ask("HELLO").contains("cluster") && one.ask("INFO cluster").contains("cluster_enabled:1\n")
        );
    }

    #[test]
    fn a_server_alone_has_no_cluster() {
        TestServer::new().expect(&[
            ("CLUSTER SLOTS", "-ERR This instance has cluster support disabled"),
            ("ASKING", "-ERR This instance has cluster support disabled"),
            ("ROLE", "*3\n$6\nmaster\n:0\n*0"),
        ]);
    }
}
