//! A knob at one value after the other: a step each, a table, the best in the end record, and everything set back.

use redyno::{
    demo,
    events::{EventKind, SweptStep},
    session::Record,
};
use rustix::process::Signal;

use crate::support::{
    Server,
    program::{Outcome, Running, redyno, run},
};

/// A server that does a batch in a millisecond, and a thousand of them a second.
fn a_thousand() -> demo::Handle {
    let faults = vec!["slow load 1ms".parse().unwrap()];
    demo::start(demo::Options { faults, ..demo::Options::default() }).unwrap()
}

fn sweep(port: &str, words: &str, form: &[&str]) -> Outcome {
    let args = [&["-p", port, "--yes", "--headless", "--sweep", words], form].concat();
    Running::start(redyno(&args)).end_of_writing()
}

fn steps(records: &[Record]) -> Vec<&SweptStep> {
    fn step(record: &Record) -> Option<&SweptStep> {
        let Record::Event(event) = record else { return None };
        let EventKind::Stepped { step } = &event.what else { return None };
        Some(step)
    }
    records.iter().filter_map(step).collect()
}

#[test]
#[ignore = "long: a second real sweep; simulated ones are in the suite"]
fn each_step_is_a_segment_and_the_best_is_in_the_end_record() {
    let server = a_thousand();
    let outcome = sweep(&server.address.port().to_string(), "rate 100,400", &["--json"]).expect_code(0);
    let records = outcome.records();
    let segments = records.iter().filter_map(|record| match record {
        Record::Segment(segment) if segment.knobs.load => Some(segment.knobs.rate),
        _ => None,
    });
    assert_eq!(segments.collect::<Vec<_>>(), [100, 400].map(Some), "no other load before or after");
    let steps = steps(&records);
    let shown: Vec<_> = steps.iter().map(|step| (step.knob.as_str(), step.value, &*step.setting)).collect();
    assert_eq!(shown, [("rate", 100, "rate 100/s"), ("rate", 400, "rate 400/s")]);
    let Some(Record::End(end)) = records.last() else { panic!("{records:?}") };
    let best = end.best.as_ref().unwrap();
    assert_eq!((best.value, best.steps, best.of), (400, 2, 2), "{best:?}");
    assert!(best.ops_per_s > steps[0].ops_per_s, "{best:?}");
}

#[test]
fn parameters_are_swept_with_consent_and_are_as_they_were_at_the_end() {
    let server = Server::redis().start();
    let port = server.port_text();
    let refused = run(&["-p", &port, "--headless", "--sweep", "config hz 10,20"]).expect_code(2);
    assert!(
        refused.err.contains("hz of 127.0.0.1:") && refused.err.contains("Give --yes"),
        "{}",
        refused.err
    );
    let outcome = sweep(&port, "config hz 20,50 p50<1us", &["-c", "2", "--rate", "500"]).expect_code(3);
    for part in ["  step: hz 20 for ", "  step: hz 50 for ", "\nhz ", "p99.9  of the response time\n"] {
        assert!(outcome.out.contains(part), "{part}: {}", outcome.out);
    }
    assert!(outcome.err.contains("redyno: none of these values of hz keeps p50<1us"), "{}", outcome.err);
    assert!(server.cli(&["CONFIG", "GET", "hz"]).contains("10"));
}

#[test]
fn an_interrupted_sweep_prints_the_steps_so_far() {
    let server = a_thousand();
    let port = server.address.port().to_string();
    let sweep = Running::start(redyno(&["-p", &port, "--yes", "--headless", "--sweep", "clients 2,3,4"]));
    sweep.wait_for_lines(1, "  step: clients 2 ");
    sweep.signal(Signal::INT);
    let outcome = sweep.end().expect_code(130);
    assert!(outcome.out.contains("\nclients "), "{}", outcome.out);
}
