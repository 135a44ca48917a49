//! A thousand agents, simulated: their reports come at their true rhythm, and all requests in them are counted.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use redyno::{
    session::{Client, Interval, Lean, OperationInterval, Record, Sink as _, WorkerCost},
    stats::Latency,
};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    fleet::{Fleet, intervals},
    support::wait_for,
};

const AGENTS: usize = 1000;
/// Good replies of an agent in an interval, by operation.
const OPS: [(&str, u64); 2] = [("GET", 800), ("SET", 200)];
const ROUNDS: u64 = 60;
const REPORTS: &str = "redyno:fleet:{redyno}:reports";
const ORDERS: &str = "redyno:fleet:{redyno}:orders";

/// A connection to the bus, on which many commands are sent at a time.
struct Pipe(BufReader<TcpStream>);

impl Pipe {
    fn send(&mut self, commands: &[Vec<&str>]) {
        let mut bytes = Vec::new();
        for words in commands {
            write!(bytes, "*{}\r\n", words.len()).unwrap();
            words.iter().for_each(|word| write!(bytes, "${}\r\n{word}\r\n", word.len()).unwrap());
        }
        self.0.get_mut().write_all(&bytes).unwrap();
        // The reply to XADD is an identifier: its length, and itself.
        for _ in commands {
            let mut length = String::new();
            self.0.read_line(&mut length).unwrap();
            let mut id = vec![0; length[1..].trim().parse::<usize>().expect("an identifier") + 2];
            self.0.read_exact(&mut id).unwrap();
        }
    }
}

/// The last order on the bus, if there is one.
fn order(fleet: &Fleet) -> Option<Value> {
    let last = fleet.bus.cli(&["XREVRANGE", ORDERS, "+", "-", "COUNT", "1"]);
    last.lines().find(|line| line.starts_with('{')).map(|text| serde_json::from_str(text).unwrap())
}

/// The report of an agent, with the further fields of `more`.
fn report(agent: usize, more: &Value) -> String {
    let mut report = json!({
        "version": env!("CARGO_PKG_VERSION"), "index": agent, "of": AGENTS, "host": format!("load-{agent}"),
        "process": agent + 1, "number": 0, "run": "", "most_clients": 100, "threads": 1, "nodes": [], "outages": [], "closed_tick": 0,
        "generation": 0, "is_done": false, "error_ns": 100_000, "refusal": "", "is_last": false,
    });
    more.as_object().unwrap().iter().for_each(|(name, value)| report[name] = value.clone());
    report.to_string()
}

/// Times around `usual_ns`, the longest of them ten times as long.
fn times(count: u64, usual_ns: u64) -> Latency {
    let time = |n: u64| usual_ns + usual_ns * 8 / (n % 1000 + 1) + n * 7919 % (usual_ns / 2);
    Latency::of(&(0..count).map(time).collect::<Vec<_>>())
}

/// An interval of an agent under an open loop, as a line. An agent sends lines like this one, of about 3 KB.
fn interval(tick: u64, segment: u32) -> String {
    let part = |(_, ops): (_, u64)| OperationInterval {
        ops,
        service: times(ops, 150_000),
        ..OperationInterval::default()
    };
    let commands = OPS.map(|of| (of.0.to_owned(), part(of)));
    let service = Latency::merged(commands.iter().map(|(_, part)| &part.service));
    let (t_s, ops) = (tick as f64 / 4.0, service.count());
    let cost = WorkerCost { cpu: 0.31, run_delay: Some(0.004), core: Some(3), ..WorkerCost::default() };
    let client = Client {
        readable_to_read: times(ops, 2000),
        receive_lag: times(ops, 20_000),
        late: Some(times(ops, 60_000)),
        ..Client::of(vec![cost])
    };
    let interval = Interval {
        t_s,
        length_s: 0.25,
        tick,
        segment,
        ops,
        due: ops,
        clients: 5,
        commands: commands.into(),
        response: Some(times(ops, 210_000)),
        service,
        client: Some(client),
        ..Interval::default()
    };
    Lean.push(&Record::Interval(Box::new(interval))).concat()
}

#[test]
#[ignore = "long: needs an optimised build, as tests/long makes it, to keep the rhythm of the reports"]
fn a_thousand_agents_are_joined_and_the_bus_stays_small() {
    let fleet = Fleet::start();
    let mut pipe = Pipe(BufReader::new(TcpStream::connect(("127.0.0.1", fleet.bus.port())).unwrap()));
    let agents = AGENTS.to_string();
    let session = fleet.session(AGENTS, &["--load", "--no-prefill", "--duration", "600", "-c", "5000"]);
    wait_for("the session on the bus", || session.said().contains("waiting for agents").then_some(()));
    let add = |texts: &'static str| vec!["XADD", REPORTS, "MAXLEN", "~", "20000", "*", texts];
    let first: Vec<_> = (0..AGENTS).map(|agent| report(agent, &json!({}))).collect();
    pipe.send(&first.iter().map(|text| [&add("report")[..], &[text]].concat()).collect::<Vec<_>>());
    let began = wait_for("an order", || order(&fleet));
    let (run, begun) = (began["run"].clone(), Instant::now());
    for number in 0..=ROUNDS {
        thread::sleep(
            (begun + Duration::from_millis(250 * number)).saturating_duration_since(Instant::now()),
        );
        let (now, is_last) = (order(&fleet).unwrap(), number == ROUNDS);
        if is_last {
            session.signal(Signal::TERM);
            wait_for("the last order", || order(&fleet).filter(|order| order["is_over"] == true));
        }
        let segment = now["turn"]["generation"].as_u64().unwrap();
        let more = json!({"run": run, "number": number, "closed_tick": number + 1, "generation": segment, "is_last": is_last});
        let record = interval(number + 1, segment as u32);
        let texts: Vec<_> = (0..AGENTS).map(|agent| report(agent, &more)).collect();
        let words = |text| [&add("report")[..], &[text, "record", &record]].concat();
        pipe.send(&texts.iter().map(|text| words(text.as_str())).collect::<Vec<_>>());
    }
    let memory = fleet.bus.cli(&["INFO", "memory"]);
    let used = memory.lines().find_map(|line| line.strip_prefix("used_memory_human:"));
    let of_process = |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", session.pid())).unwrap();
    let status = of_process("status");
    let most = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    eprintln!("{agents} agents: the bus uses {used:?}; the session {most}, and {}", of_process("stat"));
    let outcome = session.end().expect_code(130);
    let ops: u64 = intervals(&outcome).iter().map(|interval| interval.ops).sum();
    assert_eq!(ops, AGENTS as u64 * OPS.iter().map(|(_, ops)| ops).sum::<u64>() * (ROUNDS + 1));
    assert!(!outcome.out.contains("reports_lost"));
}
