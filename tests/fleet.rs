//! A load that several agents carry out: the account is exact, what is lost is shown, and nothing runs on by itself.

use std::collections::BTreeMap;

use redyno::{
    session::{Interval, Record},
    stats::Latency,
};
use rustix::process::Signal;

use crate::support::{
    Server,
    nodes::Nodes,
    program::{Outcome, Running, redyno, run},
    wait_for,
};

/// A target and a bus.
pub struct Fleet {
    pub target: Server,
    pub bus: Server,
    pub uri: String,
}

impl Fleet {
    pub fn start() -> Self {
        let (target, bus) = (Server::redis().start(), Server::valkey().start());
        let uri = format!("redis://127.0.0.1:{}", bus.port());
        Self { target, bus, uri }
    }

    /// Starts the session of `agents` agents.
    pub fn session(&self, agents: usize, more: &[&str]) -> Running {
        self.session_of(&self.target, agents, more)
    }

    pub fn session_of(&self, target: &Server, agents: usize, more: &[&str]) -> Running {
        let (port, agents) = (target.port_text(), agents.to_string());
        let words = ["-p", &port, "--bus", &self.uri, "--agents", &agents, "--headless", "--json", "--yes"];
        Running::start(redyno(&[&words[..], more].concat()))
    }

    /// Starts an agent that may load the target.
    pub fn agent(&self, index: usize, of: usize, more: &[&str]) -> Running {
        self.agent_of(&self.target, index, of, more)
    }

    pub fn agent_of(&self, target: &Server, index: usize, of: usize, more: &[&str]) -> Running {
        let target = format!("127.0.0.1:{}", target.port());
        let (index, of) = (index.to_string(), of.to_string());
        let words = ["agent", "--bus", &self.uri, "--target", &target, "--index", &index, "--of", &of];
        Running::start(redyno(&[&words[..], more].concat()))
    }

    /// Starts two agents and a session at a rate, and waits until both report.
    pub fn under_load(&self) -> (Vec<Running>, Running) {
        let agents = (0..2).map(|index| self.agent(index, 2, &[])).collect();
        let session = self.session(2, &["--load", "--rate", "2000", "--duration", "600", "--no-prefill"]);
        session.wait_for_lines(2, r#""1":{"ops""#);
        (agents, session)
    }

    pub fn calls(&self) -> [u64; 2] {
        ["get", "set"].map(|command| self.target.calls(&[], command))
    }

    fn bus_keys(&self) -> String {
        self.bus.cli(&["KEYS", "*"])
    }
}

pub fn intervals(outcome: &Outcome) -> Vec<Interval> {
    let records = outcome.records().into_iter();
    records.filter_map(|record| if let Record::Interval(it) = record { Some(*it) } else { None }).collect()
}

/// The good replies by operation.
pub fn ops(intervals: &[Interval]) -> [u64; 2] {
    ["GET", "SET"]
        .map(|label| intervals.iter().filter_map(|interval| Some(interval.commands.get(label)?.ops)).sum())
}

#[test]
fn eight_agents_have_one_account_that_is_the_servers() {
    let fleet = Fleet::start();
    let session = fleet.session(8, &["--local", "--load", "--no-prefill", "-n", "40003", "-c", "20"]);
    let outcome = session.end().expect_code(0);
    let intervals = intervals(&outcome);
    assert_eq!(ops(&intervals), fleet.calls());
    assert_eq!(ops(&intervals).iter().sum::<u64>(), 40_003);
    let mut by_agent = BTreeMap::new();
    for interval in &intervals {
        assert_eq!(interval.agents.values().map(|agent| agent.ops).sum::<u64>(), interval.ops);
        let all = Latency::merged(interval.agents.values().map(|agent| &agent.service));
        assert!(all.cells().eq(interval.service.cells()), "histograms are merged");
        for (agent, part) in &interval.agents {
            *by_agent.entry(*agent).or_insert(0) += part.ops;
        }
    }
    // 40 003 is 8 × 5000 + 3: what is left over belongs to the lowest.
    assert_eq!(by_agent.into_values().collect::<Vec<_>>(), [[5001; 3].to_vec(), [5000; 5].to_vec()].concat());
    assert_eq!(fleet.bus_keys(), "", "the streams are removed");
    assert_eq!(fleet.target.cli(&["DBSIZE"]), "0", "no agent writes after the keys are removed");
}

#[test]
fn agents_speak_resp3_if_the_session_does() {
    let fleet = Fleet::start();
    for (more, has_resp3) in [(&["-3"][..], true), (&[], false)] {
        let load = ["--local", "--load", "--no-prefill", "--rate", "500", "--duration", "600", "-c", "4"];
        let session = fleet.session(2, &[&load[..], more].concat());
        session.wait_for_lines(1, r#""1":{"ops""#);
        let clients = fleet.target.cli(&["CLIENT", "LIST"]);
        let load: Vec<_> =
            clients.lines().filter(|it| it.contains("cmd=get") || it.contains("cmd=set")).collect();
        let spoken = if has_resp3 { "resp=3" } else { "resp=2" };
        assert!(!load.is_empty() && load.iter().all(|it| it.contains(spoken)), "{spoken}: {clients}");
        session.signal(Signal::TERM);
        session.end().expect_code(130);
    }
}

#[test]
fn the_built_in_server_is_a_bus() {
    let target = Server::redis().start();
    let port = target.port_text();
    let demo = Running::start(redyno(&["demo", "--bus", "-p", "0"]));
    let uri = demo.wait_for("its address", |out| {
        out.split_whitespace().find(|it| it.starts_with("redis://")).map(str::to_owned)
    });
    let session = [
        "-p",
        &port,
        "--agents",
        "2",
        "--local",
        "--load",
        "--no-prefill",
        "-n",
        "4001",
        "--headless",
        "--json",
    ];
    // With a bus of its own, too.
    for bus in [&["--bus", &uri][..], &[]] {
        let mut session = redyno(&[&session[..], bus].concat());
        // This password is not for the built-in server that the session itself starts.
        session.envs(bus.is_empty().then_some(("REDYNO_BUS_AUTH", "nightingale")));
        let outcome = Running::start(session).end().expect_code(0);
        let all = intervals(&outcome).iter().map(|it| it.ops).sum::<u64>();
        assert_eq!(all, 4001, "{}", outcome.err);
        assert_eq!(target.cli(&["DBSIZE"]), "0");
    }
    demo.signal(Signal::TERM);
    demo.end();
}

#[test]
fn a_prefill_and_sequential_keys_are_divided_without_overlap() {
    let fleet = Fleet::start();
    let more = ["--local", "--load", "-r", "3001", "--prefill", "--ratio", "0:1", "-n", "500"];
    let outcome = fleet.session(3, &more).end().expect_code(0);
    let intervals = intervals(&outcome);
    assert_eq!(fleet.calls(), [500, 3001]);
    assert_eq!(
        intervals.iter().map(|it| (it.hits, it.misses)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1)),
        (500, 0)
    );
    let sequential = ["--local", "--load", "-r", "999", "--distribution", "sequential", "--ratio", "1:0"];
    let keep = ["-n", "999", "--keep", "--no-prefill"];
    fleet.session(3, &[&sequential[..], &keep].concat()).end().expect_code(0);
    // Each key once, and the marker of the run with its index.
    assert_eq!(fleet.target.cli(&["DBSIZE"]), "1001");
}

/// The good replies by node.
pub fn by_node(intervals: &[Interval]) -> BTreeMap<u16, u64> {
    let mut ops = BTreeMap::new();
    for (node, part) in intervals.iter().flat_map(|interval| &interval.nodes) {
        *ops.entry(*node).or_default() += part.ops;
    }
    ops
}

/// The calls of GET and SET by node.
fn calls(nodes: &[Server]) -> BTreeMap<u16, u64> {
    let calls = |node: &Server| node.calls(&[], "get") + node.calls(&[], "set");
    (0..).zip(nodes.iter().map(calls)).collect()
}

#[test]
fn agents_load_all_nodes_of_a_cluster_and_each_node_has_its_own_account() {
    let (fleet, nodes) = (Fleet::start(), Nodes::start(Server::redis, false));
    let agents: Vec<_> = (0..2).map(|index| fleet.agent_of(&nodes.0[1], index, 2, &[])).collect();
    let more =
        ["--load", "--ratio", "1:1", "-r", "100000", "--no-prefill", "--rate", "2000", "--duration", "600"];
    let session = fleet.session_of(&nodes.0[0], 2, &more);
    session.wait_for_lines(2, r#""1":{"ops""#);
    (0..100).for_each(|slot| nodes.move_slot(slot, 0, 2));
    // Each agent follows a redirect at least once, since the keys are in most of the slots.
    session.wait_for("a redirect", |out| out.contains("MOVED").then_some(()));
    session.signal(Signal::TERM);
    let outcome = session.end().expect_code(130);
    let intervals = intervals(&outcome);
    assert!(!outcome.out.contains("reports_lost") && !outcome.out.contains("agent_refused"));
    let [gets, sets] = ops(&intervals);
    // A server counts a command that it answers with MOVED as rejected, and one with ASK as a call of ASKING.
    assert_eq!([gets, sets], ["get", "set"].map(|command| nodes.calls(command)));
    assert_eq!(by_node(&intervals), calls(&nodes.0));
    for node in &nodes.0 {
        assert_eq!(node.cli(&["DBSIZE"]), "0");
    }
    for agent in agents {
        agent.end().expect_code(0);
    }
}

#[test]
fn agents_load_several_servers_by_consistent_hash() {
    let (bus, servers) = (Server::redis().start(), [Server::redis().start(), Server::valkey().start()]);
    let uris = servers.each_ref().map(|server| format!("redis://127.0.0.1:{}", server.port()));
    let bus = format!("redis://127.0.0.1:{}", bus.port());
    let fleet = ["--hash", "ketama", "--bus", &bus, "--agents", "3", "--local"];
    let load = ["--headless", "--json", "--load", "--ratio", "1:1", "-r", "500", "--prefill", "-n", "6001"];
    let outcome = run(&[&[&*uris[0], &*uris[1]][..], &fleet, &load].concat()).expect_code(0);
    let intervals = intervals(&outcome);
    assert_eq!(by_node(&intervals), calls(&servers));
    assert_eq!(calls(&servers).values().sum::<u64>(), 500 + 6001);
    let misses: u64 = intervals.iter().map(|interval| interval.misses).sum();
    assert_eq!(
        (misses, servers.each_ref().map(|server| server.cli(&["DBSIZE"]))),
        (0, ["0"; 2].map(Into::into))
    );
}

#[test]
fn keys_of_the_user_need_permission_and_stay() {
    let fleet = Fleet::start();
    let load = ["--key-prefix", "own:", "--load", "--ratio", "1:0", "-r", "50", "-n", "500"];
    let agent = fleet.agent(0, 1, &[]);
    let outcome = fleet.session(1, &load).end().expect_code(1);
    assert!(outcome.err.contains("keys without the run's prefix need --allow"), "{outcome:?}");
    drop(agent);
    let _agent = fleet.agent(0, 1, &["--allow"]);
    fleet.session(1, &load).end().expect_code(0);
    assert_eq!(fleet.target.cli(&["KEYS", "*"]).lines().filter(|key| key.starts_with("own:")).count(), 50);
}

#[test]
fn a_lost_agent_is_shown_and_its_share_is_missing() {
    let fleet = Fleet::start();
    let agents: Vec<_> = (0..3).map(|index| fleet.agent(index, 3, &[])).collect();
    let session = fleet.session(3, &["--load", "--rate", "3000", "--duration", "600", "--no-prefill"]);
    session.wait_for_lines(1, r#""2":{"ops""#);
    agents[1].signal(Signal::KILL);
    session.wait_for_lines(1, r#""event":"agent_lost","agent":1"#);
    let is_of_others = |line: &str| line.contains(r#""2":{"ops""#) && !line.contains(r#""1":{"ops""#);
    session.wait_for("the others", |out| out.lines().any(is_of_others).then_some(()));
    // An agent with the same number takes its share again.
    let _again = fleet.agent(1, 3, &[]);
    session.wait_for_lines(1, r#""event":"agent_back","agent":1"#);
    let seen = session.out().lines().count();
    session.wait_for("its results", |out| {
        out.lines().skip(seen).any(|line| line.contains(r#""1":{"ops""#)).then_some(())
    });
    session.signal(Signal::TERM);
    session.end().expect_code(130);
    assert_eq!(fleet.target.cli(&["DBSIZE"]), "0", "no agent writes after the keys are removed");
    assert_eq!(agents.into_iter().nth(2).unwrap().end().code(), 0, "it ends with its session");
}

#[test]
fn agents_of_a_session_that_was_killed_end_their_load() {
    let fleet = Fleet::start();
    let agents: Vec<_> = (0..2).map(|index| fleet.agent(index, 2, &[])).collect();
    let session = fleet.session(2, &["--load", "--rate", "1000", "--duration", "600"]);
    session.wait_for_lines(3, r#""1":{"ops""#);
    session.signal(Signal::KILL);
    for agent in agents {
        let outcome = agent.end().expect_code(1);
        assert!(outcome.err.contains("the session was silent for 4 s"), "{}", outcome.err);
    }
    assert_ne!(fleet.target.cli(&["DBSIZE"]), "0");
    run(&["clean", "-p", &fleet.target.port_text(), "--yes"]).expect_code(0);
    assert_eq!(fleet.target.cli(&["DBSIZE"]), "0");
}

#[test]
fn an_agent_permits_what_its_own_command_line_permits() {
    let fleet = Fleet::start();
    let refused = |agent: &[&str], session: &[&str], part: &str| {
        let _agent = fleet.agent(0, 1, agent);
        let outcome = fleet.session(1, session).end().expect_code(1);
        assert!(outcome.err.contains(part), "{outcome:?}");
        assert_eq!(fleet.calls(), [0, 0]);
    };
    let load = ["--load", "--no-prefill", "-n", "100"];
    refused(&["--max-clients", "10"], &load, "agent 0: 50 clients are more than the 10 of --max-clients");
    refused(
        &["--max-rate", "10"],
        &load,
        "agent 0: the session has no --rate, but this agent has --max-rate 10; give the session a --rate",
    );
    let bursts = ["--rate", "500", "--arrivals", "bursty 10x 1s/10s"];
    refused(
        &["--max-rate", "1000"],
        &[&load[..], &bursts].concat(),
        "agent 0: 2632 operations a second within bursts is more than the 1000 of --max-rate",
    );
    let own = ["--load", "-n", "100", "--", "CONFIG", "GET", "maxmemory"];
    refused(&[], &own, "needs --allow on the agent's command line");
    let aimed = ["agent", "--bus", &fleet.uri, "--target", "10.0.0.*:6379"];
    let elsewhere = Running::start(redyno(&[&aimed[..], &["--index", "0", "--of", "1"]].concat()));
    let outcome = fleet.session(1, &load).end().expect_code(1);
    assert!(outcome.err.contains("is not permitted by --target"), "{outcome:?}");
    drop(elsewhere);
}

#[test]
fn a_bus_that_restarts_leaves_no_hole_in_the_account() {
    let mut fleet = Fleet::start();
    let (_agents, session) = fleet.under_load();
    fleet.bus.kill();
    session.wait_for_lines(1, r#""event":"bus_lost""#);
    fleet.bus.restart();
    session.wait_for_lines(1, r#""event":"bus_back""#);
    let seen = session.out().lines().count();
    session.wait_for("more results", |out| {
        let more = out.lines().skip(seen).filter(|line| line.contains(r#""1":{"ops""#)).count();
        (more > 2).then_some(())
    });
    session.signal(Signal::TERM);
    let outcome = session.end().expect_code(130);
    let lost = outcome.out.lines().filter(|line| line.contains("reports_lost")).count();
    let (counted, server) = (ops(&intervals(&outcome)), fleet.calls());
    assert!(lost > 0 || counted == server, "{counted:?} of {server:?}");
    wait_for("the agents' end", || (fleet.target.load_ids().is_empty()).then_some(()));
}

#[test]
fn a_bus_that_stalls_ends_the_load_and_every_request_is_counted_once() {
    let fleet = Fleet::start();
    let (agents, session) = fleet.under_load();
    fleet.bus.pause();
    for agent in &agents {
        wait_for("the silence", || {
            agent.said().contains("no message from the session for 4 s").then_some(())
        });
    }
    fleet.bus.resume();
    // Without an agent there is no load to go on with.
    let outcome = session.end().expect_code(1);
    assert!(outcome.err.contains("this one was the last that reported"), "{}", outcome.err);
    assert_eq!(ops(&intervals(&outcome)), fleet.calls());
    assert!(!outcome.out.contains("reports_lost"));
}

#[test]
fn two_agents_with_one_number_are_refused() {
    let fleet = Fleet::start();
    let _agents = [0, 0].map(|index| fleet.agent(index, 2, &[]));
    let outcome = fleet.session(2, &["--load", "-n", "100"]).end().expect_code(1);
    assert!(outcome.err.contains("two agents have the number 0"), "{}", outcome.err);
    assert_eq!(fleet.calls(), [0, 0]);
}

#[test]
fn what_cannot_be_a_fleet_is_refused_in_one_line() {
    let fleet = Fleet::start();
    let port = fleet.bus.port_text();
    // By another name it is the same server.
    for host in ["127.0.0.1", "localhost"] {
        let same =
            ["-h", host, "-p", &port, "--bus", &fleet.uri, "--agents", "2", "--load", "--headless", "--yes"];
        let outcome = run(&[&same[..], &["--local", "-n", "100"]].concat()).expect_code(2);
        assert!(outcome.err.starts_with("redyno: the bus is the target"), "{}", outcome.err);
    }
    for (words, part) in [
        (&["agent", "--bus", "redis://h", "--index", "0", "--of", "1"][..], "--target"),
        (&["agent", "--target", "a:1", "--index", "0", "--of", "1"], "--bus is missing"),
        (
            &["agent", "--bus", "redis://h", "--target", "a:1", "--index", "2", "--of", "2"],
            "2 agents have the numbers 0 to 1",
        ),
        (&["agent", "--bus", "redis://h", "--target", "a:1", "--index", "2"], "--of is missing"),
        (&["--bus", "memcached://h", "--agents", "2", "--load", "--headless"], "memcached has no streams"),
        (&["redis://a", "redis://b", "--bus", "redis://h", "--agents", "2"], "add --hash ketama"),
        (
            &["--bus", "redis://h", "--agents", "8", "-c", "4", "--load", "--headless"],
            "fewer clients than agents",
        ),
        (&["--local", "--load", "--headless"], "--local has no effect without --agents"),
        (&["--agents", "2", "--load", "--headless"], "--agents needs --bus"),
    ] {
        let outcome = run(words).expect_code(2);
        assert!(outcome.err.contains(part), "{words:?}: {}", outcome.err);
    }
}
