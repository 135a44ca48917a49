//! Tests of sessions with the built-in server and without a screen.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};

use super::*;
use crate::{
    demo,
    endpoint::{Address, Cluster, Target},
    events::EventKind,
    knobs::Knobs,
    load::{LoadPlan, WorkerOptions},
    server::Parameter,
    session::Record,
    signals::Signal,
    workload::{KeyNames, RunId, Settings, WorkloadChoice, preset},
};

/// A time limit longer than any session in these tests. A test that reaches it fails.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn commission(server: &demo::Handle, keys: KeyOwner) -> Commission {
    let address = Address::Tcp { host: server.address.ip().to_string(), port: server.address.port() };
    let run = RunId::random();
    let plan = LoadPlan {
        target: Target { address, ..Target::default() },
        workers: WorkerOptions::of_tests(),
        threads: 1,
        seed: 1,
        names: KeyNames::of_run(run),
        timeout: Duration::from_secs(30),
        ..LoadPlan::default()
    };
    Commission {
        knobs: Knobs { load: true, clients: 1, ..Knobs::default() },
        is_allowed: true,
        most_clients: 100,
        ..Commission::new(plan, run, keys)
    }
}

fn start(commission: Commission, peers: usize) -> (Session, Vec<Peer>, Sender<Signal>) {
    let (signals, listening): (_, Receiver<Signal>) = channel();
    let (session, peers) = Session::start(commission, listening, peers).unwrap();
    (session, peers, signals)
}

/// Returns the number of clients in each segment with load. The peer receives these segments until the end of the
/// session.
fn clients_seen(peer: &Peer) -> Vec<u32> {
    let segment = |delivery| match delivery {
        Delivery::Record(record) => match &*record {
            Record::Segment(segment) if segment.knobs.load => Some(segment.knobs.clients),
            _ => None,
        },
        _ => None,
    };
    peer.rest().filter_map(segment).collect()
}

/// A peer that doubles the number of clients after every interval with replies, and ends the session above eight
/// clients.
fn double_the_clients(peer: &Peer) -> u32 {
    let (mut wanted, mut answered) = (1, 0);
    while answered < 4 {
        let Delivery::Record(record) = peer.next_within(PATIENCE).expect("the session goes on") else {
            continue;
        };
        let Record::Interval(interval) = &*record else { continue };
        // Measurements belong to the requested segment, not to an earlier one.
        if interval.ops > 0 && interval.segment == answered + 1 {
            answered += 1;
            wanted *= 2;
            if answered < 4 {
                peer.order(Order::SetKnobs(Knobs { load: true, clients: wanted, ..Knobs::default() }));
            }
        }
    }
    peer.order(Order::End);
    wanted
}

#[test]
fn an_experiment_changes_settings_like_a_screen_and_every_peer_sees_it() {
    let server = demo::start(demo::Options::default()).unwrap();
    let (session, peers, _signals) = start(commission(&server, KeyOwner::OwnServers), 2);
    assert_eq!(double_the_clients(&peers[0]), 16);
    assert_eq!(session.end().by, EndedBy::Itself);
    assert_eq!(clients_seen(&peers[1]), [1, 2, 4, 8]);
}

#[test]
fn a_stuck_peer_delays_neither_a_signal_nor_the_cleanup() {
    let server = demo::start(demo::Options::default()).unwrap();
    let (session, peers, signals) = start(commission(&server, KeyOwner::Runs { kept: false }), 2);
    let measured = |delivery| matches!(delivery, Delivery::Record(record) if matches!(&*record, Record::Interval(interval) if interval.ops > 0));
    while !measured(peers[1].next_within(PATIENCE).expect("the load runs")) {}
    signals.send(Signal::Terminate).unwrap();
    let rest: Vec<_> = peers[1].rest().collect();
    assert!(
        rest.iter().any(
            |delivery| matches!(delivery, Delivery::Record(record) if matches!(&**record, Record::End(_)))
        )
    );
    let undone = rest.iter().find_map(|delivery| match delivery {
        Delivery::Notice(0, Notice::Undone(line)) => Some(line.clone()),
        _ => None,
    });
    assert!(undone.is_some_and(|line| line.starts_with("removed ")), "{rest:?}");
    // The first peer has not taken a single delivery.
    assert_eq!(session.end().by, EndedBy::Signal);
    assert!(peers[0].poll().len() > rest.len());
}

#[test]
fn a_refused_order_is_returned_to_its_peer() {
    let server = demo::start(demo::Options::default()).unwrap();
    let (session, peers, _signals) = start(commission(&server, KeyOwner::OwnServers), 2);
    let much = Order::SetKnobs(Knobs { clients: 101, ..Knobs::default() });
    peers[1].order(much.clone());
    peers[1].order(Order::End);
    assert_eq!((refused(&peers[0]), refused(&peers[1])), (vec![], vec![much]));
    drop(peers);
    assert_eq!(session.end().by, EndedBy::Itself);
}

/// Returns the orders of a peer that are refused until the end of the session.
fn refused(peer: &Peer) -> Vec<Order> {
    let refused = |delivery| match delivery {
        Delivery::Refused(order, _) => Some(order),
        _ => None,
    };
    peer.rest().filter_map(refused).collect()
}

#[test]
fn a_parameter_that_the_server_refuses_is_returned_to_its_peer() {
    let server = demo::start(demo::Options::default()).unwrap();
    let (session, peers, _signals) = start(commission(&server, KeyOwner::OwnServers), 2);
    let set = |name, to: &str| {
        let order = Order::SetConfig { parameter: Parameter::named(name).unwrap(), to: to.to_owned() };
        peers[1].order(order.clone());
        order
    };
    let fixed = set("io-threads", "4");
    set("hz", "20");
    let is_set = |delivery| matches!(delivery, Delivery::Record(record) if matches!(&*record, Record::Segment(segment) if segment.config.is_some()));
    while !is_set(peers[0].next_within(PATIENCE).expect("the session goes on")) {}
    peers[1].order(Order::End);
    assert_eq!((refused(&peers[0]), refused(&peers[1])), (vec![], vec![fixed]));
    drop(peers);
    assert_eq!(session.end().by, EndedBy::Itself);
}

/// Returns a commission for the built-in server with a user who can be asked.
fn watched(server: &demo::Handle, knobs: Knobs) -> Commission {
    Commission { knobs, is_allowed: false, is_attended: true, ..commission(server, KeyOwner::OwnServers) }
}

/// Returns the next question about harm.
fn asked(peer: &Peer) -> String {
    loop {
        if let Delivery::Notice(_, Notice::Danger(question)) =
            peer.next_within(PATIENCE).expect("the session goes on")
        {
            return question;
        }
    }
}

fn begun(peer: &Peer) -> (bool, u64) {
    next(peer, |record| match record {
        Record::Segment(now) => Some((now.knobs.load, now.knobs.keyspace)),
        _ => None,
    })
}

pub(super) fn of_keys(keyspace: u64) -> Knobs {
    Knobs { load: true, clients: 1, value_size: 1024, keyspace, ..Knobs::default() }
}

#[test]
fn the_user_is_asked_before_the_first_harmful_setting() {
    let server = demo::start(demo::Options::default()).unwrap();
    let (session, peers, _signals) = start(watched(&server, of_keys(2 << 20)), 1);
    let question = asked(&peers[0]);
    assert!(question.starts_with("2.10 M keys of about") && question.ends_with(". Continue?"), "{question}");
    assert_eq!(begun(&peers[0]), (false, 2 << 20));
    peers[0].order(Order::AllowWrites(true));
    assert_eq!(begun(&peers[0]), (true, 2 << 20));
    peers[0].order(Order::End);
    assert_eq!(session.end().by, EndedBy::Itself);
}

#[test]
fn a_load_continues_during_a_question_and_allowed_settings_are_not_asked_again() {
    let server = demo::start(demo::Options::default()).unwrap();
    let (session, peers, _signals) = start(watched(&server, of_keys(1000)), 1);
    let turn = |keys| peers[0].order(Order::SetKnobs(of_keys(keys)));
    assert_eq!(begun(&peers[0]), (true, 1000));
    turn(2 << 20);
    asked(&peers[0]);
    peers[0].order(Order::AllowWrites(false));
    turn(2000);
    assert_eq!(begun(&peers[0]), (true, 2000), "nothing came between");
    turn(2 << 20);
    asked(&peers[0]);
    peers[0].order(Order::AllowWrites(true));
    assert_eq!(begun(&peers[0]), (true, 2 << 20));
    turn(1000);
    assert_eq!(begun(&peers[0]), (true, 1000));
    turn(2 << 20);
    assert_eq!(begun(&peers[0]), (true, 2 << 20));
    peers[0].order(Order::End);
    assert_eq!(session.end().by, EndedBy::Itself);
}

#[test]
fn without_a_screen_a_session_begins_only_if_all_settings_are_allowed() {
    let server = demo::start(demo::Options::default()).unwrap();
    let alone = || Commission { is_attended: false, ..watched(&server, of_keys(1000)) };
    let settings = vec![of_keys(1000), of_keys(2 << 20)];
    let begin = |commission| Session::start(commission, channel().1, 0);
    let Err(StartError::Asks(_, cause)) = begin(Commission { settings: settings.clone(), ..alone() }) else {
        panic!("it has begun")
    };
    assert!(cause.contains(" may fill 2.1"), "{cause}");
    begin(Commission { settings, is_allowed: true, ..alone() }).unwrap().0.end();
    begin(alone()).unwrap().0.end();
}

/// Returns the next record of a peer that `what` accepts.
fn next<T>(peer: &Peer, what: impl Fn(&Record) -> Option<T>) -> T {
    loop {
        let delivery = peer.next_within(PATIENCE).expect("the session goes on");
        if let Delivery::Record(record) = delivery
            && let Some(found) = what(&record)
        {
            return found;
        }
    }
}

#[test]
fn a_prefill_order_writes_the_keys_that_reads_find() {
    let server = demo::start(demo::Options::default()).unwrap();
    let get =
        Knobs { load: true, clients: 1, keyspace: 500, workload: preset("get").unwrap(), ..Knobs::default() };
    let filled = Knobs { workload: get.workload.with_prefill().unwrap().into(), ..get.clone() };
    let more = Knobs { keyspace: 2000, ..filled.clone() };
    let commission =
        Commission { knobs: get, is_attended: true, ..commission(&server, KeyOwner::Runs { kept: false }) };
    let (session, peers, _signals) = start(commission, 2);
    // The result: the start of a segment under load, the end of a prefill, and whether the reads of a segment miss. The
    // gate may switch the load off for a moment.
    let segment = || {
        next(&peers[0], |record| match record {
            Record::Segment(now) if now.knobs.load => Some((now.segment, (now.knobs.keyspace, now.aside()))),
            _ => None,
        })
    };
    let prefilled = || {
        next(&peers[0], |record| match record {
            Record::Event(event) => match &event.what {
                EventKind::Prefilled { prefilled } => Some((prefilled.requests, prefilled.is_whole())),
                _ => None,
            },
            _ => None,
        })
    };
    let misses_in = |keyspace: u64| {
        let (number, begun) = segment();
        assert_eq!(begun, (keyspace, None));
        next(&peers[0], |record| match record {
            Record::Interval(interval) if interval.segment == number && interval.ops > 0 => {
                Some(interval.misses > 0)
            }
            _ => None,
        })
    };
    assert!(misses_in(500));
    peers[1].order(Order::Prefill(filled));
    assert_eq!((segment().1, prefilled()), ((500, Some("prefill")), (500, true)));
    assert!(!misses_in(500));
    peers[1].order(Order::SetKnobs(more.clone()));
    assert!(misses_in(2000));
    peers[1].order(Order::Prefill(more));
    assert_eq!((segment().1, prefilled()), ((2000, Some("prefill")), (2000, true)));
    assert!(!misses_in(2000));
    peers[1].order(Order::End);
    assert_eq!(session.end().by, EndedBy::Itself);
}

#[test]
fn all_nodes_are_allowed_before_one_gets_load_and_carry_moves_the_load() {
    let servers = [(); 2].map(|()| demo::start(demo::Options::default()).unwrap());
    let others = vec![commission(&servers[1], KeyOwner::OwnServers).plan.target];
    let both = Commission { others, carrier: Some(0), ..watched(&servers[0], of_keys(2 << 20)) };
    let (session, peers, _signals) = start(both, 1);
    for asked in [0, 1] {
        let of = loop {
            match peers[0].next_within(PATIENCE).expect("the session goes on") {
                Delivery::Notice(node, Notice::Danger(_)) => break node,
                Delivery::Record(record) => {
                    assert!(!matches!(&*record, Record::Segment(segment) if segment.knobs.load));
                }
                _ => {}
            }
        };
        assert_eq!(of, asked);
        peers[0].order(Order::AllowWrites(true));
    }
    let loaded = || {
        next(&peers[0], |record| match record {
            Record::Segment(segment) if segment.knobs.load => Some(segment.node),
            _ => None,
        })
    };
    assert_eq!(loaded(), 0);
    peers[0].order(Order::Carry(1));
    assert_eq!(loaded(), 1);
    peers[0].order(Order::Carry(2));
    peers[0].order(Order::End);
    assert_eq!(refused(&peers[0]), [Order::Carry(2)]);
    assert_eq!(session.end().by, EndedBy::Itself);
}

#[test]
fn load_settings_that_several_servers_cannot_carry_out_are_refused() {
    let server = demo::start(demo::Options::default()).unwrap();
    let mut commission = commission(&server, KeyOwner::OwnServers);
    let settings = ["dataintegrity=true", "writeallfields=true"].map(|set| set.parse().unwrap());
    let compared = WorkloadChoice::find("ycsb-a", &Settings::from(settings.to_vec())).unwrap();
    let knobs = Knobs { clients: 6, ..Knobs::default() };
    let checks = Knobs { workload: compared.workload, ..knobs.clone() };
    commission.max_connections = Some(6);
    assert_eq!((commission.check_clients(&knobs), commission.check_clients(&checks)), (Ok(()), Ok(())));
    let other = Address::Tcp { host: "127.0.0.2".to_owned(), port: 7000 };
    let servers = [commission.plan.target.clone(), commission.plan.target.at(other).unwrap()];
    commission.clusters = BTreeMap::from([(0, Arc::new(Cluster::of_ring(&servers).unwrap()))]);
    let refused = commission.check_clients(&knobs).unwrap_err();
    assert!(refused.contains("--max-connections 6 is less than the 7 connections"), "{refused}");
    commission.max_connections = Some(7);
    assert_eq!(commission.check_clients(&knobs), Ok(()));
    let refused = commission.check_clients(&checks).unwrap_err();
    assert!(refused.contains("compares replies") && refused.contains("dataintegrity=false"), "{refused}");
}
