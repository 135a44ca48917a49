//! Tests of redirects, with two simulated nodes of a cluster.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, mpsc::sync_channel},
    time::{Duration, Instant},
};

use crate::{
    clock::Clock,
    endpoint::{Address, Cluster, NodeOutage, ReadFrom, Target},
    knobs::Knobs,
    load::{ClusterPlan, FirstCommands, Load, LoadPlan, RequestLimit, Retries},
    protocol::{Dialect, RespValue},
    workload::Workload,
};

/// A GET or SET that a simulated node received.
struct ReceivedRequest<'a> {
    /// The number of the node, from 0.
    node: usize,
    key: &'a str,
    is_set: bool,
    /// Whether the previous command on the same connection was ASKING.
    asking: bool,
    /// The number of requests with this command and key so far, summed over all nodes.
    times: usize,
}

/// Two simulated nodes. In the topology, node 0 owns all slots, and node 1 is its replica.
struct SimulatedNodes {
    ports: Arc<Vec<u16>>,
    /// The number of times that each command was received.
    received: Arc<Mutex<BTreeMap<String, u64>>>,
}

type Script = dyn Fn(ReceivedRequest, &[u16]) -> String + Send + Sync;

impl SimulatedNodes {
    fn start(script: impl Fn(ReceivedRequest, &[u16]) -> String + Send + Sync + 'static) -> Self {
        let script: Arc<Script> = Arc::new(script);
        let listeners = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        let ports: Vec<_> = listeners.iter().map(|socket| socket.local_addr().unwrap().port()).collect();
        let played = Self { ports: Arc::new(ports), received: Arc::default() };
        let times = Arc::new(Mutex::new(BTreeMap::new()));
        for (node, listener) in listeners.into_iter().enumerate() {
            let (ports, received) = (Arc::clone(&played.ports), Arc::clone(&played.received));
            let (script, times) = (Arc::clone(&script), Arc::clone(&times));
            std::thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    let (ports, received) = (Arc::clone(&ports), Arc::clone(&received));
                    let (script, times) = (Arc::clone(&script), Arc::clone(&times));
                    let serve = move || {
                        let mut asking = false;
                        answer_all(stream, |words| {
                            *received.lock().unwrap().entry(words[0].clone()).or_default() += 1;
                            let was_asking = std::mem::replace(&mut asking, words[0] == "ASKING");
                            match words {
                                [name, key, ..] if name == "GET" || name == "SET" => {
                                    let (is_set, asking) = (name == "SET", was_asking);
                                    let mut times = times.lock().unwrap();
                                    let times: &mut usize = times.entry((is_set, key.clone())).or_default();
                                    *times += 1;
                                    script(
                                        ReceivedRequest { node, key, is_set, asking, times: *times },
                                        &ports,
                                    )
                                }
                                [name, _] if name == "CLUSTER" => {
                                    let node = |port| format!("*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n");
                                    let nodes: String = ports.iter().map(node).collect();
                                    format!("*1\r\n*4\r\n:0\r\n:16383\r\n{nodes}")
                                }
                                _ => "+PONG\r\n".to_owned(),
                            }
                        });
                    };
                    std::thread::spawn(serve);
                }
            });
        }
        played
    }

    fn received(&self, command: &str) -> u64 {
        self.received.lock().unwrap().get(command).copied().unwrap_or_default()
    }

    /// Sends `requests` GETs of different keys in one batch, and returns their counts.
    fn load(&self, requests: u64, timeout: Duration) -> Outcome {
        let requests = Some(RequestLimit::Shared(requests));
        self.run(&LoadPlan { requests, timeout, ..self.plan() })
    }

    fn plan(&self) -> LoadPlan {
        let address = Address::Tcp { host: "127.0.0.1".to_owned(), port: self.ports[0] };
        let target = Target { address, ..Target::default() };
        let cluster = Arc::new(Cluster::find(&target, Duration::from_secs(5)).unwrap());
        LoadPlan {
            target,
            first_words: FirstCommands::Bare { tracks: false },
            cluster: Some(ClusterPlan::new(cluster, 100)),
            ..LoadPlan::fixture()
        }
    }

    fn run(&self, plan: &LoadPlan) -> Outcome {
        let pipeline = plan.requests.map_or(1, |requests| match requests {
            RequestLimit::Shared(requests) | RequestLimit::PerClient(requests) => requests as u32,
        });
        self.run_workload(plan, &Workload::ratio(0, 1), pipeline)
    }

    fn run_workload(&self, plan: &LoadPlan, workload: &Workload, pipeline: u32) -> Outcome {
        let workload = workload.with_distribution(crate::workload::Distribution::Sequential);
        let knobs = Knobs { load: true, clients: 1, pipeline, workload, ..Knobs::default() };
        let began = Instant::now();
        let (mut load, mut output) = Load::start(plan, knobs, None, Clock::start()).unwrap();
        while !load.is_over() {
            assert!(began.elapsed() < Duration::from_secs(60), "no end");
            std::thread::sleep(Duration::from_millis(2));
        }
        let outage = load.outages().of(0);
        load.end();
        let (mut outcome, mut by_node) = (Outcome { outage, ..Outcome::default() }, (0, 0, 0));
        let mut bytes = (0, 0);
        while let Ok(buffer) = output.rings[0].intervals.pop() {
            outcome.due += buffer.due;
            buffer.redirects.add_to(&mut outcome.redirects);
            for counts in &buffer.counts {
                outcome.ops += counts.ops;
                outcome.slowest_ns = outcome.slowest_ns.max(counts.service.latency().max_ns());
                counts.errors.add_to(&mut outcome.errors);
            }
            for node in buffer.by_node.nodes() {
                by_node.0 += node.service.count();
                by_node.1 += node.bytes_in;
                by_node.2 += node.bytes_out;
            }
            bytes = (bytes.0 + buffer.bytes_in, bytes.1 + buffer.bytes_out);
        }
        assert_eq!(by_node, (outcome.ops, bytes.0, bytes.1), "the sum of all nodes is the whole");
        assert_eq!(outcome.due, outcome.ops + outcome.errors.values().sum::<u64>());
        outcome
    }
}

#[derive(Debug, Default)]
struct Outcome {
    due: u64,
    ops: u64,
    errors: BTreeMap<String, u64>,
    redirects: BTreeMap<String, u64>,
    slowest_ns: u64,
    /// The outage of node 0.
    outage: Option<NodeOutage>,
}

/// Answers every command on a connection.
fn answer_all(mut stream: TcpStream, mut answer: impl FnMut(&[String]) -> String) {
    let (mut received, mut buffer) = (Vec::new(), [0; 16 * 1024]);
    while let Ok(n @ 1..) = stream.read(&mut buffer) {
        received.extend_from_slice(&buffer[..n]);
        let mut replies = String::new();
        loop {
            // A command has the same encoding as a reply, so the parser for replies can find the end of a
            // command.
            let mut rest = &received[..];
            let Ok(Some(_)) = Dialect::Resp2.skipper().next(&mut rest) else { break };
            let length = received.len() - rest.len();
            let command: Vec<u8> = received.drain(..length).collect();
            let words = RespValue::read(&command).unwrap();
            let text = |word: &RespValue| String::from_utf8(word.text().unwrap().to_vec()).unwrap();
            let reply = answer(&words.list().unwrap().iter().map(text).collect::<Vec<_>>());
            if reply == CLOSE {
                drop(stream.write_all(replies.as_bytes()));
                return;
            }
            replies += &reply;
        }
        if stream.write_all(replies.as_bytes()).is_err() {
            return;
        }
    }
}

fn one(kind: &str, n: u64) -> BTreeMap<String, u64> {
    [(kind.to_owned(), n)].into()
}

/// A server that closes its connection in place of a reply.
const CLOSE: &str = "";
const GOOD: &str = "$1\r\nx\r\n";
const SECONDS: Duration = Duration::from_secs(20);

fn is_odd(key: &str) -> bool {
    key.ends_with(['1', '3', '5', '7', '9'])
}

#[test]
fn a_moved_request_is_sent_once_more_to_the_named_node() {
    let played = SimulatedNodes::start(|asked, ports| match asked.node == usize::from(is_odd(asked.key)) {
        true => GOOD.to_owned(),
        false => format!("-MOVED 1 127.0.0.1:{}\r\n", ports[1 - asked.node]),
    });
    let outcome = played.load(40, SECONDS);
    assert_eq!((outcome.ops, outcome.redirects), (40, one("MOVED", 20)));
    assert_eq!((played.received("GET"), played.received("ASKING")), (60, 0));
}

#[test]
fn ask_is_followed_by_asking_and_the_command_on_the_named_node_once() {
    let played = SimulatedNodes::start(|asked, ports| match (asked.node, is_odd(asked.key)) {
        (0, true) => format!("-ASK 1 :{}\r\n", ports[1]),
        (1, true) if !asked.asking => "-ERR without ASKING\r\n".to_owned(),
        (1, false) => "-ERR an even key\r\n".to_owned(),
        _ => GOOD.to_owned(),
    });
    let outcome = played.load(40, SECONDS);
    assert_eq!((outcome.ops, outcome.redirects), (40, one("ASK", 20)), "{:?}", outcome.errors);
    assert_eq!((played.received("GET"), played.received("ASKING")), (60, 20));
}

#[test]
fn a_refused_request_is_sent_again_later_and_its_latency_begins_at_the_first_write() {
    for code in ["TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY"] {
        let played = SimulatedNodes::start(move |asked, _| match asked.times {
            1 | 2 if is_odd(asked.key) => format!("-{code} later\r\n"),
            _ => GOOD.to_owned(),
        });
        let outcome = played.load(10, SECONDS);
        assert_eq!((outcome.ops, outcome.redirects), (10, one(code, 10)));
        // The two pauses are 2 ms and 4 ms.
        assert!(outcome.slowest_ns >= 6_000_000, "{}", outcome.slowest_ns);
    }
}

#[test]
fn a_replica_that_refuses_a_write_still_gets_reads() {
    let played = SimulatedNodes::start(|asked, ports| match (asked.is_set, asked.node) {
        (true, 0) if asked.times == 1 => format!("-MOVED 1 127.0.0.1:{}\r\n", ports[1]),
        (true, 1) => "-READONLY You can't write against a read only replica.\r\n".to_owned(),
        _ => GOOD.to_owned(),
    });
    let plan = played.plan();
    let cluster = plan.cluster.map(|cluster| ClusterPlan { read_from: ReadFrom::Replica, ..cluster });
    let plan = LoadPlan { cluster, requests: Some(RequestLimit::Shared(100)), ..plan };
    let outcome = played.run_workload(&plan, &Workload::ratio(1, 1), 1);
    let kinds: Vec<_> = outcome.redirects.keys().map(String::as_str).collect();
    assert_eq!((kinds, outcome.errors), (vec!["MOVED", "READONLY"], BTreeMap::new()));
}

#[test]
fn reads_that_a_replica_answers_do_not_end_the_outage_of_the_primary() {
    let played = SimulatedNodes::start(|asked, _| match asked.node {
        0 => "-LOADING the dataset\r\n".to_owned(),
        _ if asked.is_set => "-READONLY You can't write against a read only replica.\r\n".to_owned(),
        _ => GOOD.to_owned(),
    });
    let plan = played.plan();
    let cluster = plan.cluster.map(|cluster| ClusterPlan { read_from: ReadFrom::Any, ..cluster });
    let (requests, timeout) = (Some(RequestLimit::Shared(20)), Duration::from_millis(50));
    let plan = LoadPlan { cluster, requests, timeout, ..plan };
    let outcome = played.run_workload(&plan, &Workload::ratio(1, 1), 1);
    assert!(outcome.ops > 0 && outcome.errors["LOADING"] > 0, "{outcome:?}");
    assert_eq!(outcome.outage.unwrap().back_ns, None);
}

#[test]
fn an_endless_redirect_is_given_up_after_six_hops() {
    let played =
        SimulatedNodes::start(|asked, ports| format!("-MOVED 1 127.0.0.1:{}\r\n", ports[1 - asked.node]));
    let outcome = played.load(5, SECONDS);
    assert_eq!((outcome.ops, outcome.errors), (0, one("MOVED", 5)));
    assert_eq!((outcome.redirects, played.received("GET")), (one("MOVED", 35), 35));
}

#[test]
fn endless_redirects_do_not_delay_the_end_of_the_load() {
    let played =
        SimulatedNodes::start(|asked, ports| format!("-MOVED 1 127.0.0.1:{}\r\n", ports[1 - asked.node]));
    let outcome = played.run(&LoadPlan { length: Some(Duration::from_millis(300)), ..played.plan() });
    assert!(outcome.errors["MOVED"] > 0 && outcome.ops == 0, "{outcome:?}");
}

#[test]
fn a_redirect_after_the_end_of_the_load_is_followed_to_a_new_node() {
    let length = Duration::from_millis(100);
    let played = SimulatedNodes::start(move |asked, ports| match asked.node {
        0 => {
            std::thread::sleep(2 * length);
            format!("-MOVED 1 127.0.0.1:{}\r\n", ports[1])
        }
        _ => GOOD.to_owned(),
    });
    let outcome = played.run(&LoadPlan { length: Some(length), ..played.plan() });
    assert_eq!((outcome.ops, outcome.errors, outcome.redirects), (1, BTreeMap::new(), one("MOVED", 1)));
}

#[test]
fn redirects_to_the_same_node_or_to_ever_new_addresses_are_given_up() {
    let itself = SimulatedNodes::start(|_, ports| format!("-MOVED 1 127.0.0.1:{}\r\n", ports[0]));
    assert_eq!(itself.load(5, SECONDS).errors, one("MOVED", 5));
    // Nothing answers at these addresses.
    let nowhere = SimulatedNodes::start(|asked, _| format!("-MOVED 1 127.1.1.{}:1\r\n", asked.times));
    let outcome = nowhere.load(3, Duration::from_millis(400));
    assert_eq!((outcome.ops, outcome.errors.values().sum::<u64>()), (0, 3), "{outcome:?}");
}

#[test]
fn a_request_that_is_refused_until_the_timeout_is_an_error_of_this_kind() {
    let played = SimulatedNodes::start(|_, _| "-CLUSTERDOWN Hash slot not served\r\n".to_owned());
    let outcome = played.load(5, Duration::from_millis(300));
    assert_eq!((outcome.ops, outcome.errors), (0, one("CLUSTERDOWN", 5)));
    // The pauses are at least 2 + 4 + 8 + 16 + 32 + 64 + 100 ms.
    assert!(played.received("GET") <= 5 * 8, "{}", played.received("GET"));
    assert_eq!(outcome.redirects, one("CLUSTERDOWN", played.received("GET")));
}

#[test]
fn other_errors_are_not_sent_again() {
    let played = SimulatedNodes::start(|asked, _| match is_odd(asked.key) {
        true => "-OOM command not allowed\r\n".to_owned(),
        false => GOOD.to_owned(),
    });
    let outcome = played.load(10, SECONDS);
    assert_eq!((outcome.ops, outcome.errors), (5, one("OOM", 5)));
    assert_eq!((played.received("GET"), outcome.redirects), (10, BTreeMap::new()));
}

/// Sends `n` GETs to one server, and sends failed GETs again.
fn retried(played: &SimulatedNodes, n: u64, retries: Retries) -> (Outcome, u64) {
    let (plan, retries) = (played.plan(), Arc::new(retries));
    let cluster = Arc::new(Cluster::of_one(&plan.target));
    let cluster = ClusterPlan { retries: Some(Arc::clone(&retries)), ..ClusterPlan::new(cluster, 100) };
    let outcome =
        played.run(&LoadPlan { cluster: Some(cluster), requests: Some(RequestLimit::Shared(n)), ..plan });
    (outcome, retries.requests())
}

#[test]
fn with_retries_a_request_is_sent_again_until_its_reply_is_good() {
    for refusal in ["-OOM later\r\n", "-LOADING later\r\n", "-MOVED 1 127.0.0.1:1\r\n"] {
        let played = SimulatedNodes::start(move |asked, _| match asked.times {
            1 | 2 if is_odd(asked.key) => refusal.to_owned(),
            _ => GOOD.to_owned(),
        });
        let pause = Duration::from_millis(3);
        let (outcome, requests) = retried(&played, 10, Retries { pause, factor: 2.0, ..Retries::default() });
        let kind = refusal[1..].split(' ').next().unwrap();
        assert_eq!((outcome.ops, outcome.redirects, requests), (10, one(kind, 10), 5), "{refusal}");
        assert_eq!((played.received("GET"), outcome.errors), (20, BTreeMap::new()));
        assert!(outcome.slowest_ns >= 9_000_000, "{}", outcome.slowest_ns);
    }
}

#[test]
fn a_request_that_fails_in_the_end_is_an_error_and_is_reported_with_its_key() {
    let played = SimulatedNodes::start(|asked, _| match is_odd(asked.key) {
        true => "-BUSY wait\r\n".to_owned(),
        false => "-WRONGTYPE no\r\n".to_owned(),
    });
    let (sender, failed) = sync_channel(100);
    let retries = Retries { most: Some(2), failed: Some(sender), ..Retries::default() };
    let (outcome, _) = retried(&played, 10, retries);
    let errors = [one("BUSY", 5), one("WRONGTYPE", 5)].into_iter().flatten().collect();
    assert_eq!((outcome.ops, outcome.errors, outcome.redirects), (0, errors, one("BUSY", 10)));
    let failed: Vec<_> = failed.try_iter().collect();
    assert_eq!((failed.len(), played.received("GET")), (10, 20));
    for request in failed {
        let is_busy = is_odd(std::str::from_utf8(&request.key).unwrap());
        let (error, retries) = if is_busy { ("BUSY wait", 2) } else { ("WRONGTYPE no", 0) };
        assert_eq!((request.error.as_str(), request.retries), (error, retries));
    }
}

#[test]
fn with_retries_requests_of_a_lost_connection_are_sent_again_on_the_next_one() {
    let played = SimulatedNodes::start(|asked, _| match asked.times {
        1 if is_odd(asked.key) => CLOSE.to_owned(),
        _ => GOOD.to_owned(),
    });
    let (outcome, _) = retried(&played, 10, Retries::default());
    assert_eq!((outcome.ops, outcome.errors), (10, BTreeMap::new()), "{:?}", outcome.redirects);
    let never = SimulatedNodes::start(|_, _| CLOSE.to_owned());
    let (outcome, _) = retried(&never, 3, Retries { most: Some(4), ..Retries::default() });
    assert_eq!((outcome.ops, outcome.errors, never.received("GET")), (0, one("reset", 3), 5));
}
