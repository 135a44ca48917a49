//! Tests how a connection of the load reads: how much it reads at a time, and the timestamps of replies.

mod sequences;

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    os::unix::net::UnixStream,
};

use mio::Poll;

use super::{replies::READS, *};
use crate::{
    clock::Clock,
    endpoint::{Address, Greeting, Target, Topology},
    load::{IntervalBuffer, LatencyTo, core_waits::CoreWaits, ring, testing},
    workload::{Draws, KeyNames, Operation, OutgoingRequests, Program, Together, Values, Workload},
};

/// A reply of 32 bytes.
const REPLY: &[u8] = b"$25\r\n0123456789012345678901234\r\n";
const BUFFER: usize = 1024;
const IN_A_BUFFER: usize = BUFFER / REPLY.len();

struct Bench {
    connection: LoadConnection,
    server: UnixStream,
    io: Io,
    segments: WorkerSegments,
    end: ring::RingEnd,
    greeting: Greeting,
    clock: Clock,
    latency_to: LatencyTo,
    buffer: Vec<u8>,
}

impl Bench {
    fn new() -> Self {
        Self::of(&testing::program())
    }

    /// Creates a test bench for the operations of `program`.
    fn of(program: &Program) -> Self {
        let (ours, server) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let (ring, end) = ring::pair(2);
        let transport = Transport::Plain(ours.into());
        let mut connection = LoadConnection::new(transport, Dialect::Resp2, Token(0), 0);
        (connection.phase, connection.generation, connection.is_connected) = (ConnectionPhase::Idle, 1, true);
        Self {
            connection,
            server,
            io: Io::new(Poll::new().unwrap()),
            segments: WorkerSegments::new(1, program.operations(), 0, ring),
            end,
            greeting: Greeting::new(&Target::default(), "test"),
            clock: Clock::start(),
            latency_to: LatencyTo::LastByte,
            buffer: vec![0; BUFFER],
        }
    }

    /// Writes a batch of `requests` requests at time 0.
    fn ask(&mut self, requests: usize) {
        let program = testing::program();
        let get = program.operations().find("GET").unwrap();
        self.connection.next_batch().operations.extend((0..requests).map(|_| get));
        self.connection
            .send(
                &mut self.io,
                (&mut OutgoingRequests::whole(b"x".to_vec()), program.values()),
                0,
                &mut self.segments,
            )
            .unwrap();
    }

    /// Writes a batch of the operations with these names at time 0. In an open loop (`is_open`), each operation is due
    /// at time 0.
    fn ask_for(&mut self, program: &Program, names: &[&str], is_open: bool) {
        let (mut draws, mut out) = (Draws::new(1), OutgoingRequests::default());
        let batch = self.connection.next_batch();
        while batch.operations.len() < names.len() {
            let (mut next, before) = (OutgoingRequests::default(), draws.clone());
            let op = program.append(&mut draws, &mut next);
            if program.operations().of(op).label == names[batch.operations.len()] {
                batch.operations.push(program.append(&mut before.clone(), &mut out));
                batch.dues.extend(is_open.then_some(0));
            }
        }
        self.connection.send(&mut self.io, (&mut out, program.values()), 0, &mut self.segments).unwrap();
    }

    /// Returns the words of the requests that the connection wrote.
    fn written(&mut self) -> String {
        self.server.set_nonblocking(true).unwrap();
        let mut bytes = vec![0; BUFFER];
        let n = self.server.read(&mut bytes).unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes[..n]).into_owned();
        let is_word = |word: &&str| !word.is_empty() && !word.starts_with(['*', '$']);
        text.split("\r\n").filter(is_word).collect::<Vec<_>>().join(" ")
    }

    /// Delivers these replies at `now_ns`, and writes the next step of the batch.
    fn answer(&mut self, replies: &str, now_ns: u64) {
        self.server.write_all(replies.as_bytes()).unwrap();
        self.read(now_ns).unwrap();
        if self.connection.phase == ConnectionPhase::Between {
            self.connection.write_next_step(&mut self.io, &mut self.segments, now_ns).unwrap();
        }
    }

    /// Handles an event at `now_ns`. Returns the first error of each new kind.
    fn read(&mut self, now_ns: u64) -> Result<FirstErrors, ConnectionFailure> {
        let mut reading = ReadContext {
            now_ns,
            clock: self.clock,
            latency_to: self.latency_to,
            segments: &mut self.segments,
            greeting: &self.greeting,
            waits: &CoreWaits::new(),
            first_errors: Vec::new(),
        };
        self.connection.readable(&mut self.buffer, &mut reading).map(|()| reading.first_errors)
    }

    fn counted(&mut self) -> Box<IntervalBuffer> {
        self.segments.close_tick(1, 1, 1);
        self.end.intervals.pop().unwrap()
    }
}

#[test]
fn an_answer_of_a_node_is_counted_for_one_of_many_operations() {
    let operation = |n| Operation { name: format!("o{n}"), ..Operation::command("GET k", 1) };
    let operations = (0..70).map(operation).collect();
    let workload = Workload { operations, ..Workload::default() };
    let values = Values::new(&workload, 8, 7);
    let program = Program::new(&workload, Dialect::Resp2, 10, values, &KeyNames::given("k:"));
    let mut bench = Bench::of(&program);
    let node = Topology::default().find_or_add(&Address::Tcp { host: "h".to_owned(), port: 1 });
    bench.connection.node = node.ok();
    bench.ask_for(&program, &["o66"], false);
    bench.answer("$-1\r\n", 5);
    let counted = bench.counted();
    let answered: Vec<_> = counted.by_node.nodes().map(|node| node.answered).collect();
    assert_eq!(answered, [BTreeMap::from([(66, 1)])]);
}

/// redis-benchmark measures one latency for all requests of a batch.
#[test]
fn the_latency_of_a_batch_can_end_at_the_first_byte() {
    for (latency_to, expected) in [
        (LatencyTo::LastByte, vec![(60, 2), (90, 1), (130, 1)]),
        (LatencyTo::FirstByte, vec![(30, 1), (50, 3)]),
    ] {
        let mut bench = Bench { latency_to, ..Bench::new() };
        bench.ask(3);
        bench.server.write_all(&REPLY[..1]).unwrap();
        bench.read(50).unwrap();
        bench.server.write_all(&[&REPLY[1..], REPLY].concat()).unwrap();
        bench.read(60).unwrap();
        bench.server.write_all(REPLY).unwrap();
        bench.read(90).unwrap();
        bench.ask(1);
        bench.server.write_all(REPLY).unwrap();
        bench.read(if latency_to == LatencyTo::FirstByte { 30 } else { 130 }).unwrap();
        assert_eq!(bench.counted().counts[0].service.latency().cells().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn replies_after_the_first_read_have_the_timestamp_of_their_own_read() {
    let mut bench = Bench::new();
    bench.ask(2 * IN_A_BUFFER);
    bench.server.write_all(&REPLY.repeat(2 * IN_A_BUFFER)).unwrap();
    // The event is older than any reading of the clock.
    std::thread::sleep(std::time::Duration::from_millis(1));
    bench.read(1).unwrap();
    let service = bench.counted().counts[0].service.latency();
    assert_eq!(service.count(), 2 * IN_A_BUFFER as u64);
    assert_eq!(
        service.cells().next(),
        Some((1, IN_A_BUFFER as u64)),
        "the first read has the event's timestamp"
    );
    assert!(service.value_at_quantile(0.51) >= 1_000_000, "later reads have a timestamp of their own");
}

#[test]
fn a_server_that_sends_without_end_is_read_in_limited_turns() {
    for flood in [b">0\r\n".as_slice(), b"|0\r\n", b"*1\r\n", b"$999999999\r\nxxxxxxxx"] {
        let mut bench = Bench::new();
        bench.ask(1);
        bench.server.write_all(&flood.repeat((2 * READS + 1) * BUFFER / flood.len())).unwrap();
        for turn in 1..=2 {
            assert_eq!(bench.read(1).unwrap(), FirstErrors::new());
            assert!(
                bench.connection.has_more() && bench.connection.phase == ConnectionPhase::Busy,
                "turn {turn}"
            );
        }
        bench.read(1).unwrap();
        assert!(!bench.connection.has_more(), "the socket is empty");
        assert_eq!(bench.connection.deadline_ns(500), Some(500), "no whole reply has arrived");
    }
}

#[test]
fn unread_replies_are_read_in_the_next_turn() {
    let mut bench = Bench::new();
    let replies = (2 * READS + 1) * IN_A_BUFFER;
    bench.ask(replies);
    bench.server.write_all(&REPLY.repeat(replies)).unwrap();
    for turn in 1..=2 {
        bench.read(1).unwrap();
        assert!(bench.connection.has_more());
        assert_eq!(bench.connection.unanswered().len(), replies - turn * READS * IN_A_BUFFER);
    }
    bench.read(1).unwrap();
    assert_eq!(
        (bench.connection.phase, bench.counted().counts[0].hits),
        (ConnectionPhase::Idle, replies as u64)
    );
}

#[test]
fn replies_before_a_closed_connection_are_read() {
    let mut bench = Bench::new();
    bench.ask(2);
    bench.server.write_all(REPLY).unwrap();
    // Closing a socket with unread data resets the connection.
    bench.server.read_exact(&mut [0]).unwrap();
    drop(std::mem::replace(&mut bench.server, UnixStream::pair().unwrap().0));
    bench.connection.closes();
    assert!(matches!(bench.read(1), Err(ConnectionFailure::Closed)));
    assert_eq!(bench.connection.unanswered().len(), 1);
}

#[test]
fn pushes_are_counted_within_a_batch_and_between_two_batches() {
    let target = Target { dialect: Dialect::Resp3, ..Target::default() };
    let mut bench = Bench { greeting: Greeting::new(&target, "test"), ..Bench::new() };
    let push = b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n".as_slice();
    bench.ask(2);
    bench.server.write_all(&[push, REPLY, push, REPLY].concat()).unwrap();
    bench.read(50).unwrap();
    bench.server.write_all(push).unwrap();
    bench.read(60).unwrap();
    let counted = bench.counted();
    assert_eq!((counted.pushes, counted.counts[0].hits, bench.counted().pushes), (3, 2, 0));
}

#[test]
fn two_new_kinds_of_errors_in_one_read_are_both_reported() {
    let mut bench = Bench::new();
    bench.ask(3);
    bench.server.write_all(b"-OOM full\r\n-BUSY script\r\n-OOM again\r\n").unwrap();
    assert_eq!(bench.read(1).unwrap(), [b"OOM full".as_slice(), b"BUSY script"]);
}

#[test]
fn the_deadline_of_a_batch_moves_on_with_its_replies_and_not_with_their_bytes() {
    let mut bench = Bench::new();
    bench.ask(2);
    assert_eq!(bench.connection.deadline_ns(500), Some(500));
    let (begin, end) = REPLY.split_at(9);
    for (part, now_ns, deadline_ns) in
        [(begin, 100, Some(500)), (end, 400, Some(900)), (begin, 800, Some(900)), (end, 850, None)]
    {
        bench.server.write_all(part).unwrap();
        bench.read(now_ns).unwrap();
        assert_eq!(bench.connection.deadline_ns(500), deadline_ns);
    }
}
