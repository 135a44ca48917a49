//! Tests of operations with several steps, and of replies that are split between two reads at any byte.

use super::*;

/// Creates a program in which the steps of `rmw` and `three` wait for replies. `get` sends one request, and `both`
/// sends two requests at once.
fn sequences() -> Program {
    let operation = |name: &str, together, steps: &[&str]| Operation {
        name: name.to_owned(),
        weight: 1,
        together,
        steps: steps.iter().map(|step| (*step).to_owned()).collect(),
        ..Operation::default()
    };
    let operations = vec![
        operation("rmw", Together::Sequence, &["GET a", "SET a b"]),
        operation("three", Together::Sequence, &["GET 1", "GET 2", "INCR 3"]),
        operation("get", Together::Sequence, &["GET c"]),
        operation("both", Together::Pipeline, &["GET d", "GET e"]),
    ];
    let workload = Workload { operations, ..Workload::default() };
    let values = Values::new(&workload, 32, 7);
    Program::new(&workload, crate::protocol::Dialect::Resp2, 1, values, &KeyNames::given("k:"))
}

/// Returns the errors of the operation at this index, by kind.
fn errors(counted: &IntervalBuffer, place: usize) -> String {
    let mut errors = std::collections::BTreeMap::new();
    counted.counts[place].errors.add_to(&mut errors);
    errors.iter().map(|(kind, n)| format!("{kind} {n}")).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_step_is_written_after_the_replies_to_all_earlier_steps() {
    let program = sequences();
    let mut bench = Bench::of(&program);
    bench.ask_for(&program, &["rmw", "get", "three", "both"], false);
    assert_eq!(bench.written(), "GET a GET c GET 1 GET d GET e");
    bench.answer("$-1\r\n$1\r\nx\r\n$1\r\nx\r\n$1\r\nx\r\n", 10);
    assert_eq!(bench.written(), "", "a reply is missing");
    bench.answer("$-1\r\n", 20);
    assert_eq!(bench.written(), "SET a b GET 2");
    assert_eq!(bench.connection.deadline_ns(500), Some(520), "it waits since the step was written");
    bench.answer("+OK\r\n", 30);
    bench.answer("$1\r\nx\r\n", 40);
    assert_eq!((bench.written().as_str(), bench.connection.phase), ("INCR 3", ConnectionPhase::Busy));
    bench.answer(":1\r\n", 50);
    assert_eq!((bench.connection.phase, bench.connection.batch()), (ConnectionPhase::Idle, 4));
    let counted = bench.counted();
    let of = |place: usize| {
        let counts = &counted.counts[place];
        (counts.service.latency().cells().collect::<Vec<_>>(), counts.hits, counts.misses)
    };
    assert_eq!(of(0), (vec![(30, 1)], 0, 1), "from the first write to the last reply");
    assert_eq!(of(1), (vec![(50, 1)], 2, 0));
    let parts = [0, 1].map(|place| {
        let steps = counted.counts[place].steps.as_ref().unwrap();
        [&steps.first, &steps.later].map(|part| part.latency().cells().collect::<Vec<_>>())
    });
    assert_eq!(parts, [[vec![(10, 1)], vec![(10, 1)]], [vec![(10, 1)], vec![(30, 1)]]]);
    assert_eq!(of(2), (vec![(10, 1)], 1, 0));
    assert_eq!(of(3), (vec![(20, 1)], 1, 1));
    let not_found = counted.counts.iter().map(|counts| counts.not_found);
    assert_eq!(not_found.collect::<Vec<_>>(), [1, 0, 0, 1], "once for each operation");
    assert_eq!(bench.segments.in_flight(), 0);
}

#[test]
fn a_step_sends_the_item_number_of_its_own_operation_or_0() {
    let operation = |name: &str, steps: &[&str]| Operation {
        name: name.to_owned(),
        weight: 1,
        together: Together::Sequence,
        steps: steps.iter().map(|step| (*step).to_owned()).collect(),
        ..Operation::default()
    };
    let operations = vec![operation("both", &["gets a", "cas a {cas} x"]), operation("plain", &["gets b"])];
    let workload = Workload { operations, ..Workload::default() };
    let values = Values::new(&workload, 32, 7);
    let program = Program::new(&workload, Dialect::Memcached, 1, values, &KeyNames::given("k:"));
    let mut bench = Bench::of(&program);
    bench.connection.skipper = Dialect::Memcached.skipper();
    bench.ask_for(&program, &["both", "plain", "both", "both"], false);
    assert_eq!(bench.written(), "gets a gets b gets a gets a");
    bench.answer("VALUE a 0 1 7\r\ny\r\nEND\r\nVALUE b 0 1 8\r\n", 10);
    bench.answer("y\r\nEND\r\nEND\r\nVALUE a 0 1 18446744073709551615\r\ny\r\nEND\r\n", 20);
    let sent = "cas a 0 0 1 7 x cas a 0 0 1 0 x cas a 0 0 1 18446744073709551615 x";
    assert_eq!(bench.written(), sent);
    bench.answer("STORED\r\nNOT_FOUND\r\nEXISTS\r\n", 30);
    let counted = bench.counted();
    let [both, plain] = [0, 1].map(|place| &counted.counts[place]);
    assert_eq!((both.ops, both.hits, both.misses, both.conflicts), (3, 3, 2, 1));
    assert_eq!((plain.ops, plain.hits, bench.segments.in_flight()), (1, 1, 0));
}

#[test]
fn after_an_error_in_a_step_the_other_steps_are_still_sent() {
    let program = sequences();
    let mut bench = Bench::of(&program);
    bench.ask_for(&program, &["rmw", "rmw", "three", "rmw"], true);
    bench.written();
    bench.answer("$-1\r\n-ERR a\r\n-ERR b\r\n$-1\r\n", 10);
    assert_eq!(bench.written(), "SET a b SET a b GET 2 SET a b");
    bench.answer("-OOM c\r\n-OOM d\r\n-ERR e\r\n+OK\r\n", 20);
    assert_eq!(bench.written(), "INCR 3");
    bench.answer(":1\r\n", 30);
    let counted = bench.counted();
    assert_eq!([0, 1].map(|place| errors(&counted, place)), ["ERR 1, OOM 1", "ERR 1"]);
    let [rmw, three] = [0, 1].map(|place| &counted.counts[place]);
    let missed = rmw.steps.as_ref().unwrap().missed;
    assert_eq!((rmw.misses, rmw.not_found, missed), (2, 1, 2), "an operation with an error is not counted");
    assert_eq!((rmw.ops, rmw.answered, three.ops, three.answered), (1, 3, 0, 1));
    assert_eq!(counted.counts[0].response.latency().cells().collect::<Vec<_>>(), [(20, 1)]);
    assert_eq!(bench.segments.in_flight(), 0);
}

#[test]
fn an_operation_that_is_lost_between_its_steps_is_one_error() {
    let program = sequences();
    for (first, second, lost, expected) in [
        ("-ERR a\r\n", "", 3, "ERR 1, reset 2"),
        ("-ERR a\r\n$-1\r\n-ERR b\r\n", "", 3, "ERR 2, reset 1"),
        ("-ERR a\r\n$-1\r\n-ERR b\r\n", "+OK\r\n+OK\r\n", 1, "ERR 2"),
    ] {
        let mut bench = Bench::of(&program);
        bench.ask_for(&program, &["rmw", "rmw", "rmw"], false);
        bench.answer(first, 10);
        bench.answer(second, 20);
        assert_eq!(bench.segments.in_flight(), lost);
        bench.connection.count_lost(&ErrorKind::Reset, 9, &mut bench.segments);
        let counted = bench.counted();
        assert_eq!((errors(&counted, 0).as_str(), bench.segments.in_flight()), (expected, 0));
    }
}

#[test]
fn a_reply_that_arrives_before_its_step_is_sent_is_an_error() {
    let program = sequences();
    let mut bench = Bench::of(&program);
    bench.ask_for(&program, &["rmw"], false);
    bench.server.write_all(b"$-1\r\n+OK\r\n").unwrap();
    assert!(matches!(bench.read(1), Err(ConnectionFailure::UnexpectedReply)));
    bench.connection.count_lost(&ErrorKind::Protocol, 9, &mut bench.segments);
    assert_eq!((bench.segments.in_flight(), bench.counted().counts[0].errors.is_empty()), (0, false));
}

/// Each received byte is counted for the operation that it answers, even if a read ends in the middle of a reply.
#[test]
fn bytes_are_counted_for_the_operation_that_they_answer() {
    let program = testing::program();
    for cut in [1, 5, 33, 100] {
        let mut bench = Bench::new();
        bench.ask_for(&program, &["GET", "SET", "SET", "GET"], false);
        let stream = [REPLY, b"+OK\r\n", b"-ERR no\r\n", b"$-1\r\n"].concat();
        for part in stream.chunks(cut) {
            bench.server.write_all(part).unwrap();
            bench.read(50).unwrap();
        }
        let counted = bench.counted();
        let bytes: Vec<_> = counted.counts.iter().map(|counts| counts.bytes_in).collect();
        assert_eq!((bytes, counted.bytes_in), (vec![37, 14], 51), "in pieces of {cut}");
    }
}
