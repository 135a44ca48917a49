//! Tests of the Nodes screen with 3, 12 and 100 nodes of a cluster.

use super::*;
use crate::{
    app::Screen,
    events::EventKind,
    gauge::{Gauge, Gauges},
    probe::Ping,
    server::{SlotUse, Status},
    session::{AgentState, Event, Moment, OperationInterval, Segment, ServerIdentity, SessionStart, Span},
    stats::{Latency, fixture::repeated},
};

/// Returns the latencies of `n` requests around `us` microseconds.
fn around(us: u64, n: u64) -> Latency {
    let mut all = repeated(us * 1000, n);
    all.merge(&repeated(us * 3000, n / 20 + 1));
    all
}

/// Returns whether the node is a replica. Every fourth node is a replica.
fn is_replica(node: u16) -> bool {
    node % 4 == 3
}

/// Returns the role of the node.
fn role(node: u16) -> String {
    if is_replica(node) { "slave" } else { "master" }.to_owned()
}

/// Returns the records of one node in second `n`. Node 2 takes 5 ms longer from
/// second 10 on.
fn second_of(node: u16, n: u32) -> Vec<Record> {
    let t_s = f64::from(n) + 1.0;
    let is_slow = node == 2 && n >= 10;
    let is_replica = is_replica(node);
    let rtt = around(if is_slow { 5_090 } else { 80 + u64::from(node % 7) }, 100);
    let gauges = Gauges::from([
        (Gauge::Cpu, 0.21 + f64::from(node % 5) / 10.0),
        (Gauge::OpsPerS, 9_000.0 + f64::from(node) * 11.0),
        (Gauge::UsedMemory, 1.2e9 + f64::from(node) * 1e6),
        (Gauge::Clients, 120.0),
        (Gauge::Slots, if is_replica { 0.0 } else { 4096.0 }),
    ]);
    let status = Status {
        name: "valkey".to_owned(),
        version: "9.1.0".to_owned(),
        mode: "cluster".to_owned(),
        role: role(node),
        gauges,
        slots: (node == 1).then(|| {
            let slot = |slot, cpu| SlotUse { slot, cpu, ..SlotUse::default() };
            vec![slot(9001, 0.41), slot(12, 0.02)]
        }),
        ..Status::default()
    };
    let mut records = vec![
        Record::Ping(Box::new(Span::new(t_s, 1.0, Ping { rtt, ..Ping::default() }))).at_node(node),
        Record::Server(Box::new(Moment::new(t_s, status))).at_node(node),
    ];
    if n == 12 && node % 3 == 1 {
        let fork = EventKind::SlowCommand {
            us: 14_000 + u64::from(node),
            command: "ZRANGE top".to_owned(),
            client: None,
            arguments: Vec::new(),
        };
        records.push(Record::Event(Event::new(t_s, fork)).at_node(node));
    }
    records
}

/// Returns the model of a cluster with this many nodes after 20 s. If there is load, node 1 gets the most requests.
fn model_of(nodes: u16, has_load: bool) -> Model {
    let at = |node: u16| ServerIdentity {
        address: format!("10.0.{}.{}:6379", node / 50, node % 50 + 5),
        server: "valkey 9.1.0".to_owned(),
        mode: "cluster".to_owned(),
        role: role(node),
        ..ServerIdentity::default()
    };
    let knobs = Knobs { load: has_load, ..Knobs::default() };
    let (_, begun) = GeneratedSession::new(knobs.clone());
    let mut model = Model::new(knobs, TimelineOptions::default());
    deliver(
        &mut model,
        begun
            .into_iter()
            .map(|record| match record {
                Record::Session(session) => Record::Session(SessionStart {
                    target: at(0),
                    nodes: std::sync::Arc::new((1..nodes).map(at).collect()),
                    ..session
                }),
                record => record,
            })
            .collect(),
    );
    let own = |node| Record::Segment(Segment::new(0.0, 1, Knobs::default())).at_node(node);
    deliver(&mut model, (1..nodes).map(own).collect());
    for n in 0..20 {
        for node in (0..nodes).rev() {
            deliver(&mut model, second_of(node, n));
        }
        if !has_load {
            continue;
        }
        let part = |node: u16| {
            let ops = if node == 1 { 900 * u64::from(nodes) } else { 900 };
            let us = if node == 2 && n >= 10 { 5_300 } else { 290 + u64::from(node % 9) };
            OperationInterval { ops, service: around(us, ops), ..OperationInterval::default() }
        };
        let parts: BTreeMap<_, _> =
            (0..nodes).filter(|node| node % 4 != 3).map(|node| (node, part(node))).collect();
        let ops = parts.values().map(|part| part.service.count()).sum();
        let service = Latency::merged(parts.values().map(|part| &part.service));
        let slots = [(9001, ops * 2 / 5)].into();
        let (t_s, length_s, ops_per_s) = (f64::from(n) + 1.0, 1.0, ops as f64);
        let interval = Interval {
            t_s,
            length_s,
            segment: 1,
            ops,
            ops_per_s,
            service,
            nodes: parts,
            slots,
            clients: 50,
            ..Interval::default()
        };
        deliver(&mut model, vec![Record::Interval(Box::new(interval))]);
    }
    press(&mut model, KeyCode::Char('7'));
    model
}

#[test]
fn nodes_match_their_snapshots() {
    for (nodes, sizes) in
        [(3, [(80, 24), (120, 36)]), (12, [(80, 24), (200, 60)]), (100, [(120, 36), (200, 60)])]
    {
        let mut model = model_of(nodes, true);
        for size in sizes {
            snapshot(&format!("nodes_{nodes}"), &model, size);
        }
        press(&mut model, KeyCode::End);
        snapshot(&format!("nodes_{nodes}_last"), &model, (80, 24));
    }
    let model = model_of(3, false);
    snapshot("nodes_idle", &model, (120, 36));
    let mut model = model_of(12, true);
    for node in (0..12).filter(|node| node % 4 == 3) {
        let gauges = Gauges::from([
            (Gauge::MeasuredLag, 350.0 * f64::from(node)),
            (Gauge::Behind, 14_000.0 * f64::from(node)),
            (Gauge::LastAck, f64::from(node / 4)),
            (Gauge::Slots, 0.0),
        ]);
        let status = Status { role: "slave".to_owned(), gauges, ..Status::default() };
        deliver(&mut model, vec![Record::Server(Box::new(Moment::new(20.5, status))).at_node(node)]);
    }
    snapshot("nodes_lag", &model, (80, 24));
    snapshot("nodes_lag", &model, (200, 60));
    let at_80x24 = |colours, glyphs| without_tabs(&model_of(12, true), Theme::new(colours, glyphs), (80, 24));
    keep("nodes_12_80x24_ascii", &text_of(&at_80x24(Colours::Ansi16, GlyphSet::Ascii)));
    keep("nodes_12_80x24_mono", &picture(&at_80x24(Colours::Mono, GlyphSet::Unicode)));
}

#[test]
fn agents_of_a_fleet_have_a_table_below_their_target() {
    let mut model = model_of(1, true);
    let part = |us, ops| OperationInterval { ops, service: around(us, ops), ..OperationInterval::default() };
    let joined = |agent, host: &str| EventKind::AgentJoined { agent, host: host.to_owned(), error_us: 57.0 };
    let what = [
        joined(0, "load-a"),
        joined(1, "load-b.region-1.example"),
        joined(2, "redyno-agents-2-xk2lp"),
        EventKind::AgentLost { agent: 2, host: "redyno-agents-2-xk2lp".to_owned() },
    ];
    deliver(&mut model, what.map(|what| Record::Event(Event::new(20.5, what))).to_vec());
    for n in 21..26 {
        let state = |cpu| {
            let (late_us, offset_us, error_us) = (Some(310.0), -3_001_240.0, 57.0);
            AgentState { clients: 25, cpu: Some(cpu), late_us, offset_us, error_us, ..AgentState::default() }
        };
        let agent_states = [(0, state(0.12)), (1, AgentState { late_us: None, ..state(0.97) })].into();
        let agents: BTreeMap<_, _> = [(0, part(290, 900)), (1, part(5_300, 300))].into();
        let service = Latency::merged(agents.values().map(|part| &part.service));
        let (t_s, ops) = (f64::from(n), service.count());
        let ops_per_s = ops as f64;
        let interval = Interval {
            t_s,
            length_s: 1.0,
            segment: 1,
            ops,
            ops_per_s,
            service,
            agents,
            agent_states,
            clients: 50,
            ..Interval::default()
        };
        deliver(&mut model, vec![Record::Interval(Box::new(interval))]);
    }
    press(&mut model, KeyCode::Char('7'));
    snapshot("nodes_agents", &model, (80, 24));
    snapshot("nodes_agents", &model, (120, 36));
}

#[test]
fn the_nodes_of_a_frozen_view_do_not_change() {
    let mut model = model_of(4, true);
    press(&mut model, KeyCode::Char('7'));
    press(&mut model, KeyCode::Char(' '));
    press(&mut model, KeyCode::Left);
    let shown = |model: &Model| {
        let theme = Theme::new(Colours::Mono, GlyphSet::Ascii);
        let mut lines = lines(&drawn(model, theme, 120, 36));
        lines.retain(|line| !line.contains("frozen"));
        lines
    };
    let frozen = shown(&model);
    for node in 0..4 {
        let ping = Ping { rtt: repeated(90_000_000, 10), ..Ping::default() };
        let ping = Record::Ping(Box::new(Span::new(99_000.0, 1.0, ping))).at_node(node);
        deliver(&mut model, vec![ping]);
    }
    assert_eq!(shown(&model), frozen);
}

#[test]
fn the_screens_of_a_selected_node_show_its_part_of_the_load() {
    let mut model = model_of(4, true);
    press(&mut model, KeyCode::Down);
    press(&mut model, KeyCode::Enter);
    for (key, name) in [('1', "node_overview"), ('2', "node_latency"), ('4', "node_segments")] {
        press(&mut model, KeyCode::Char(key));
        snapshot(name, &model, (80, 24));
        snapshot(name, &model, (120, 36));
    }
    let shown = model.shown();
    let segment = shown.segment().unwrap();
    assert_eq!((segment.start.segment, segment.total.ops, shown.ops_per_s()), (1, 72_000, Some(3600.0)));
    drop(shown);
    let text_of_node = |model: &mut Model, node| {
        (model.node, model.screen) = (node, Screen::Overview);
        text_of(&drawn(model, Theme::new(Colours::Mono, GlyphSet::Ascii), 80, 24))
    };
    assert!(text_of_node(&mut model, 0).contains("throughput of all nodes"));
    let replica = text_of_node(&mut model, 3);
    assert!(replica.contains("commands on the server") && !replica.contains("starts the load"), "{replica}");
}

#[test]
fn the_cause_of_a_slow_request_is_an_event_of_the_node_that_answered_the_request() {
    let mut model = model_of(3, true);
    let slow = |node, command: &str| {
        let (command, arguments) = (command.to_owned(), Vec::new());
        let slow = EventKind::SlowCommand { us: 900_000, command, client: None, arguments };
        Record::Event(Event::new(20.9, slow)).at_node(node)
    };
    let part = |us: u64| OperationInterval {
        ops: 1,
        service: repeated(us * 1000, 1),
        ..OperationInterval::default()
    };
    let nodes: BTreeMap<_, _> = [(0, part(300)), (1, part(910_000))].into();
    let service = Latency::merged(nodes.values().map(|part| &part.service));
    let interval =
        Interval { t_s: 21.0, length_s: 1.0, segment: 1, ops: 2, service, nodes, ..Interval::default() };
    deliver(&mut model, vec![slow(0, "KEYS *"), slow(1, "EVAL"), Record::Interval(Box::new(interval))]);
    press(&mut model, KeyCode::Char('1'));
    press(&mut model, KeyCode::Char(' '));
    let text = text_of(&drawn(&model, Theme::new(Colours::Mono, GlyphSet::Ascii), 200, 60));
    let cause = "EVAL 900 ms on 10.0.0.6:6379";
    assert!(text.contains(cause) && !text.contains("<- KEYS") && !text.contains("← KEYS"), "{text}");
}

#[test]
fn the_selected_node_is_always_visible_in_any_order_and_at_any_size() {
    let mut model = model_of(100, true);
    for key in
        [KeyCode::End, KeyCode::Right, KeyCode::Right, KeyCode::Home, KeyCode::PageDown, KeyCode::Char('R')]
    {
        press(&mut model, key);
        let address = model.tracks[model.selected_node()].timeline.session().unwrap().target.address.clone();
        for (width, height) in [(80, 24), (120, 36), (200, 60), (60, 12)] {
            let text = text_of(&drawn(&model, Theme::new(Colours::Mono, GlyphSet::Ascii), width, height));
            let is_marked =
                text.lines().any(|line| line.contains(&address) && line.trim_start().starts_with('>'));
            assert!(is_marked, "{key:?} at {width}x{height}:\n{text}");
        }
    }
}

#[test]
fn lost_and_slow_agents_are_listed_first_if_not_all_agents_fit() {
    let mut model = model_of(1, true);
    let host = || "load".to_owned();
    let joined = (0..40).map(|agent| EventKind::AgentJoined { agent, host: host(), error_us: 57.0 });
    let lost = EventKind::AgentLost { agent: 31, host: host() };
    deliver(&mut model, joined.chain([lost]).map(|what| Record::Event(Event::new(20.5, what))).collect());
    let part = |agent: u16| {
        let service = around(if agent == 17 { 9_000 } else { 290 }, 300);
        (agent, OperationInterval { ops: service.count(), service, ..OperationInterval::default() })
    };
    let agents: BTreeMap<_, _> = (0..40).filter(|agent| *agent != 31).map(part).collect();
    let service = Latency::merged(agents.values().map(|part| &part.service));
    let (t_s, ops) = (21.0, service.count());
    let interval =
        Interval { t_s, length_s: 1.0, segment: 1, ops, service, agents, clients: 50, ..Interval::default() };
    deliver(&mut model, vec![Record::Interval(Box::new(interval))]);
    press(&mut model, KeyCode::Char('7'));
    let text = text_of(&drawn(&model, Theme::new(Colours::Mono, GlyphSet::Ascii), 80, 24));
    let table: Vec<_> = text.lines().skip_while(|line| !line.contains("40 agents, 1 lost")).collect();
    let number = |line: &str| line.split_whitespace().next().map(str::to_owned);
    assert_eq!([table[2], table[3]].map(number), ["31", "17"].map(|n| Some(n.to_owned())), "{text}");
    let listed = table.iter().skip(2).take_while(|line| !line.contains("then the slowest")).count();
    assert!(
        text.contains(&format!("lost agents first, then the slowest agents; {} not shown", 40 - listed)),
        "{text}"
    );
    assert_eq!(table[1].split_whitespace().next(), Some("agent"));
}
