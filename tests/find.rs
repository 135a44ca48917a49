//! The highest rate under a limit: found between two bounds, in the end record, and an exit code where there is none.

use redyno::{demo, events::EventKind, session::Record};

use crate::support::program::{Outcome, Running, redyno};

/// Searches on a server that needs so long for each request.
fn find(limit: &str, each: &str, form: &[&str]) -> Outcome {
    let faults = vec![format!("slow load {each}").parse().unwrap()];
    let server = demo::start(demo::Options { faults, ..demo::Options::default() }).unwrap();
    let port = server.address.port().to_string();
    let args = [&["-p", &port, "--yes", "--headless", "--find", limit], form].concat();
    Running::start(redyno(&args)).end_of_writing()
}

#[test]
#[ignore = "long: a search of a minute; simulated ones are in the suite"]
fn the_rate_is_in_the_end_record_between_its_bounds_and_in_the_last_segment() {
    let outcome = find("p99<10s", "1ms", &["--json"]);
    let records = outcome.records();
    if outcome.code() == 4 {
        // The machine was too busy: then it says so, and no rate.
        assert!(outcome.err.contains("the highest rate for p99<10s is not clear: "), "{}", outcome.err);
        assert!(matches!(records.last(), Some(Record::End(end)) if end.found.is_none()), "{records:?}");
        return;
    }
    outcome.expect_code(0);
    let Some(Record::End(end)) = records.last() else { panic!("{records:?}") };
    let found = end.found.clone().unwrap();
    assert_eq!((found.knob.as_str(), found.limit.as_str()), ("rate", "p99<10s"));
    // More than it can do is never found, whatever the machine is busy with.
    assert!((1..1100).contains(&found.value) && found.lower == found.value, "{found:?}");
    assert!(found.upper.is_some_and(|upper| upper > found.value), "{found:?}");
    let mut rates = records.iter().filter_map(|record| match record {
        Record::Segment(segment) => segment.knobs.rate,
        _ => None,
    });
    assert_eq!(rates.next_back().map(u64::from), Some(found.value));
    let trials = records.iter().filter(
        |record| matches!(record, Record::Event(event) if matches!(event.what, EventKind::Tried { .. })),
    );
    assert!(trials.count() > 3);
}

#[test]
fn where_no_rate_holds_the_limit_the_end_is_3() {
    let outcome = find("max<1us", "4ms", &[]).expect_code(3);
    assert!(outcome.out.contains("  trial: rate "), "{}", outcome.out);
    assert!(outcome.out.contains("  found: no rate keeps max<1us"), "{}", outcome.out);
    assert!(outcome.err.contains("redyno: no rate keeps max<1us"), "{}", outcome.err);
}
