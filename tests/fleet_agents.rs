//! Agents on their own: what they get from their session, that they wait, and that a pause of one is seen.

use std::sync::mpsc::{self, RecvTimeoutError};

use redyno::{
    endpoint::parse_uri,
    events::EventKind,
    fleet::{FleetName, Terms, gather},
    session::{Host, Interval, Record},
};
use rustix::process::Signal;

use crate::{
    cluster_reads::copies,
    failovers,
    fleet::{Fleet, by_node, intervals, ops},
    support::{
        LIMIT, Server,
        certificates::{Authority, HERE, TlsServer, Valid},
        nodes::Nodes,
        program::{Running, redyno, run},
        wait_for,
    },
};

/// The command lines of all processes that have this word in theirs.
fn command_lines(word: &str) -> Vec<String> {
    let listed = std::process::Command::new("ps").args(["-ww", "-eo", "args"]).output().unwrap();
    let lines = String::from_utf8_lossy(&listed.stdout).into_owned();
    lines.lines().filter(|line| line.contains(word)).map(str::to_owned).collect()
}

#[test]
fn local_agents_get_tls_and_credentials_and_no_password_is_on_a_command_line() {
    let authority = Authority::new();
    let pair = authority.issue(&HERE, Valid::Now);
    let user = ["--user", "ann", "on", ">nightingale", "~*", "&*", "+@all"];
    let target = TlsServer::start(&authority, &pair, &user);
    let bus = TlsServer::start(&authority, &pair, &user);
    let (port, ca, name) = (target.port_text(), authority.path(), format!("tls-{}", bus.port));
    let target_words = ["-p", &port, "--tls", "--cacert", &ca, "--user", "ann"];
    let fleet_words =
        ["--agents", "2", "--local", "--session", &name, "--load", "--no-prefill", "--rate", "2000"];
    let mut session = redyno(&[&target_words[..], &fleet_words, &["--headless", "--json", "--yes"]].concat());
    session.args(["--bus", &format!("rediss://ann:nightingale@127.0.0.1:{}/3", bus.port)]);
    session.env("REDISCLI_AUTH", "nightingale");
    let session = Running::start(session);
    session.wait_for_lines(1, r#""1":{"ops""#);
    let agents: Vec<_> = command_lines(&name).into_iter().filter(|line| line.contains(" agent ")).collect();
    assert_eq!(agents.len(), 2, "{agents:?}");
    assert!(agents.iter().all(|line| !line.contains("nightingale")), "{agents:?}");
    let clients = bus.server.cli(&["CLIENT", "LIST"]);
    assert!(
        clients.lines().filter(|line| line.contains(" db=3 ") && line.contains(" user=ann ")).count() >= 4,
        "{clients}"
    );
    session.signal(Signal::TERM);
    let outcome = session.end().expect_code(130);
    let counted = ops(&intervals(&outcome));
    assert_eq!(counted, ["get", "set"].map(|command| target.server.calls(&[], command)));
}

#[test]
fn the_options_of_tls_are_for_the_bus_if_the_target_has_no_tls() {
    let authority = Authority::new();
    let bus = TlsServer::start(&authority, &authority.issue(&HERE, Valid::Now), &[]);
    let target = Server::redis().start();
    let (port, ca, uri) = (target.port_text(), authority.path(), format!("rediss://127.0.0.1:{}", bus.port));
    let agent = |index: &str| {
        let place = format!("127.0.0.1:{port}");
        let words = ["agent", "--bus", &uri, "--cacert", &ca, "--target", &place, "--index", index, "--of"];
        Running::start(redyno(&[&words[..], &["2"]].concat()))
    };
    let load = ["--agents", "2", "--load", "--no-prefill", "-n", "3000", "--headless", "--yes"];
    let session = |more: &[&str]| {
        run(&[&["-p", &port, "--bus", &uri, "--cacert", &ca], &load[..], more].concat()).expect_code(0)
    };
    let agents = ["0", "1"].map(agent);
    session(&[]);
    agents.into_iter().for_each(|agent| drop(agent.end().expect_code(0)));
    session(&["--local"]);
    let fleet = ["--bus", &uri, "--cacert", &ca, "--agents", "2"];
    run(&[&["series", "tair-threads", "-p", &port, "--plan"], &fleet[..]].concat()).expect_code(0);
    assert_eq!(["get", "set"].map(|command| target.calls(&[], command)).iter().sum::<u64>(), 6000);
}

#[test]
fn an_agent_that_was_stopped_goes_on_and_its_pause_is_an_event() {
    let fleet = Fleet::start();
    let (agents, session) = fleet.under_load();
    agents[1].signal(Signal::STOP);
    session.wait_for_lines(1, r#""event":"agent_lost","agent":1"#);
    // Longer than the silence after which an agent ends its load.
    let seen = session.out().lines().filter(|line| line.contains(r#""0":{"ops""#)).count();
    session.wait_for_lines(seen + 3, r#""0":{"ops""#);
    agents[1].signal(Signal::CONT);
    session.wait_for_lines(1, r#""event":"agent_paused","agent":1"#);
    let seen = session.out().lines().filter(|line| line.contains(r#""1":{"ops""#)).count();
    session.wait_for_lines(seen + 2, r#""1":{"ops""#);
    session.signal(Signal::TERM);
    let outcome = session.end().expect_code(130);
    let paused = outcome.records().into_iter().find_map(|record| match record {
        Record::Event(event) => match event.what {
            EventKind::AgentPaused { length_s, .. } => Some((event.t_s, length_s)),
            _ => None,
        },
        _ => None,
    });
    let (t_s, length_s) = paused.unwrap();
    assert!((4.0..t_s).contains(&length_s), "{length_s} s until {t_s} s");
    assert_eq!(ops(&intervals(&outcome)), fleet.calls(), "no request is lost");
    // The other agent had load all the time: its time counts.
    let (first, last) = (intervals(&outcome).remove(0), intervals(&outcome).pop().unwrap());
    let counted_s: f64 = intervals(&outcome).iter().map(Interval::load_s).sum();
    let begin_s = first.t_s - first.load_s();
    assert!(
        (counted_s - (last.t_s - begin_s)).abs() < 0.3,
        "{counted_s} s from {begin_s} s to {} s",
        last.t_s
    );
    assert!(intervals(&outcome).iter().map(|interval| interval.paused_s).sum::<f64>() < 0.3);
}

#[test]
fn a_session_that_ends_without_one_of_its_agents_fails() {
    let fleet = Fleet::start();
    let agents = [0, 1].map(|index| fleet.agent(index, 2, &[]));
    let session = fleet.session(2, &["--load", "--rate", "2000", "-n", "16000", "--no-prefill"]);
    session.wait_for_lines(2, r#""1":{"ops""#);
    agents[1].signal(Signal::KILL);
    let outcome = session.end().expect_code(1);
    assert!(outcome.err.contains("redyno: agent 1 on "), "{}", outcome.err);
    assert!(outcome.err.contains("its share of the load is missing"), "{}", outcome.err);
}

#[test]
fn an_agent_without_the_password_of_the_bus_is_shown_where_to_give_it() {
    let fleet = Fleet::start();
    fleet.bus.cli(&["CONFIG", "SET", "requirepass", "nightingale"]);
    let outcome = fleet.agent(0, 1, &[]).end().expect_code(1);
    let is_right = outcome.err.contains("REDYNO_BUS_AUTH") && !outcome.err.contains("REDISCLI_AUTH");
    assert!(is_right, "{}", outcome.err);
}

#[test]
fn an_agent_without_the_password_of_the_target_is_named_with_its_machine() {
    let fleet = Fleet::start();
    fleet.target.cli(&["CONFIG", "SET", "requirepass", "nightingale"]);
    let place = format!("127.0.0.1:{}", fleet.target.port());
    let agents = [(0, "nightingale"), (1, ""), (0, "nightingale"), (1, "lark")].map(|(index, password)| {
        let index = index.to_string();
        let words = ["agent", "--bus", &fleet.uri, "--target", &place, "--index", &index, "--of", "2"];
        let mut agent = redyno(&words);
        agent.envs((!password.is_empty()).then_some(("REDISCLI_AUTH", password)));
        agent
    });
    let host = Host::this().name;
    let mut agents = agents.into_iter();
    for advice in ["wants a password: give it with -a, or in the environment as REDISCLI_AUTH", "check -a or"]
    {
        let _both: Vec<_> = agents.by_ref().take(2).map(Running::start).collect();
        let more = ["--load", "--no-prefill", "-n", "100", "-a", "nightingale"];
        let outcome = fleet.session(2, &more).end().expect_code(1);
        let line = outcome.err.lines().find(|line| line.contains("agent 1: ")).unwrap_or(&outcome.err);
        assert!(line.contains(advice) && line.contains(&format!("the agent on {host}")), "{outcome:?}");
    }
}

#[test]
fn an_agent_that_waits_says_so_and_ends_at_a_signal_whatever_the_bus_does() {
    let fleet = Fleet::start();
    let agent = fleet.agent(0, 2, &[]);
    wait_for("that it still waits", || agent.said().contains("still waits for session redyno").then_some(()));
    fleet.bus.pause();
    agent.signal(Signal::TERM);
    agent.end().expect_code(130);
    fleet.bus.resume();
}

#[test]
fn a_recording_of_a_fleet_replays_exports_and_compares() {
    let (fleet, folder) = (Fleet::start(), tempfile::tempdir().unwrap());
    let recording = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let files = ["a.jsonl", "b.jsonl"].map(recording);
    for file in &files {
        let load = ["--local", "--load", "--no-prefill", "-n", "3000", "--record", file];
        fleet.session(2, &load).end().expect_code(0);
    }
    let exported = run(&["export", &files[0], "--format", "json"]).expect_code(0).out;
    let exported: serde_json::Value = serde_json::from_str(&exported).unwrap();
    let agents: Vec<_> = exported["agents"].as_array().unwrap().iter().map(|row| &row["ops"]).collect();
    assert_eq!(agents, [1500, 1500]);
    let rows = run(&["export", &files[0], "--format", "csv", "--rows", "agents"]).expect_code(0).out;
    assert!(
        rows.lines().skip(1).all(|line| line.starts_with("agent,")) && rows.lines().count() > 2,
        "{rows}"
    );
    let report = recording("report.md");
    run(&["report", &files[0], "-o", &report]).expect_code(0);
    let report = std::fs::read_to_string(report).unwrap();
    assert!(report.contains("Agents") && report.contains("1 on "), "{report}");
    let screen = recording("nodes.txt");
    run(&["replay", &files[0], "--screenshot", &screen, "--screen", "nodes"]).expect_code(0);
    let screen = std::fs::read_to_string(screen).unwrap();
    assert!(screen.contains("2 agents: their parts of the load"), "{screen}");
    run(&["compare", &files[0], &files[1]]).expect_code(0);
}

#[test]
fn agents_read_from_the_replicas_of_a_primary_without_a_cluster() {
    let servers = copies();
    let [primary, replicas @ ..] = &servers;
    let bus = Server::redis().start();
    let (port, bus) = (primary.port_text(), format!("redis://127.0.0.1:{}", bus.port()));
    let fleet = ["-p", &port, "--bus", &bus, "--agents", "2", "--local", "--read-from", "replica"];
    let load = ["--headless", "--json", "--yes", "--load", "--no-prefill", "--ratio", "1:4", "-n", "5000"];
    let outcome = run(&[&fleet[..], &load].concat()).expect_code(0);
    let [gets, sets] = ops(&intervals(&outcome));
    assert_eq!((primary.calls(&[], "get"), primary.calls(&[], "set")), (0, sets));
    let read: Vec<_> = replicas.iter().map(|replica| replica.calls(&[], "get")).collect();
    assert_eq!(read.iter().sum::<u64>(), gets);
    assert!(read.iter().all(|read| *read > 0), "{read:?}");
    let by_node = by_node(&intervals(&outcome));
    assert_eq!((by_node[&0], by_node.values().sum::<u64>()), (sets, gets + sets));
}

#[test]
fn a_setting_that_an_agent_refuses_ends_the_load_and_the_session() {
    let fleet = Fleet::start();
    let agent = fleet.agent(0, 1, &["--max-rate", "1000"]);
    let load = ["--load", "--no-prefill", "-c", "5", "--sweep", "rate 900..4000"];
    let outcome = fleet.session(1, &load).end().expect_code(1);
    assert!(outcome.err.contains("more than the 1000 of --max-rate"), "{}", outcome.err);
    assert_eq!(agent.end().code(), 0, "it ends with its session");
    assert_eq!(ops(&intervals(&outcome)), fleet.calls());
    assert_eq!(fleet.target.cli(&["DBSIZE"]), "0");
}

#[test]
fn an_agent_that_goes_on_after_the_end_of_its_session_ends_too() {
    let fleet = Fleet::start();
    let (agents, session) = fleet.under_load();
    agents[1].signal(Signal::STOP);
    session.wait_for_lines(1, r#""event":"agent_lost","agent":1"#);
    session.signal(Signal::TERM);
    session.end().expect_code(130);
    agents[1].signal(Signal::CONT);
    for agent in agents {
        assert_eq!(agent.end().code(), 0);
    }
}

#[test]
fn a_session_that_fails_before_its_load_leaves_no_threads_of_a_fleet() {
    let bus = Server::redis().start();
    let target = parse_uri(&format!("redis://127.0.0.1:{}", bus.port())).unwrap().target;
    let (name, (_signals, received)) = (FleetName::default(), mpsc::channel());
    let gathered = gather((&target, &name), 0, &received, |_| (), || Ok(())).unwrap().unwrap();
    let (agents, records) = gathered.lead(Terms::default(), None).unwrap();
    drop(agents);
    let end = std::iter::from_fn(|| Some(records.recv_timeout(LIMIT))).find_map(Result::err);
    assert_eq!(end, Some(RecvTimeoutError::Disconnected));
}

/// No PING of the session is lost. The agents' requests for the slots that move are redirected.
#[test]
fn the_length_of_a_failover_is_what_the_agents_measured() {
    let (fleet, nodes) = (Fleet::start(), Nodes::start(Server::redis, true));
    let agents: Vec<_> = (0..2).map(|index| fleet.agent_of(&nodes.0[0], index, 2, &[])).collect();
    let more = ["--load", "--no-prefill", "--rate", "2000", "--duration", "600"];
    let session = fleet.session_of(&nodes.0[0], 2, &more);
    session.wait_for_lines(2, r#""1":{"ops""#);
    nodes.hand_over_to(4);
    session.wait_for_lines(1, r#""event":"failover""#);
    session.signal(Signal::TERM);
    let outcome = session.end().expect_code(130);
    let seen = failovers::one(&outcome, [nodes.0[1].port(), nodes.0[4].port()]);
    assert!(seen.length_s > 0.0, "{seen:?}");
    for agent in agents {
        agent.end().expect_code(0);
    }
}
