//! Tests of the preview of a workload.

use super::*;
use crate::workload::Together;
use crate::workload::preset;

fn of(workload: &Workload, dialect: Dialect) -> Preview {
    let names = KeyNames::given("k:");
    workload.check().unwrap();
    workload.check_dialect(dialect, &names).unwrap();
    let (keyspace, value_size, clients) = (1000, 32, 2);
    Preview::new(&PreviewInput { workload, dialect, keyspace, value_size, clients, names: &names, seed: 7 })
        .unwrap()
}

fn with(values: &[(&str, &str)], steps: &[&str], prefill: &[&str]) -> Workload {
    let operations = steps.iter().map(|step| Operation::command(step, 1)).collect();
    let values = values.iter().map(|(name, kind)| ((*name).to_owned(), kind.parse().unwrap()));
    let prefill = super::super::Steps { steps: prefill.iter().map(|&step| step.to_owned()).collect() };
    Workload { values: values.collect(), operations, prefill, ..Workload::clone(&Workload::ratio(1, 1)) }
}

#[test]
fn previewed_bytes_are_equal_to_the_bytes_on_the_wire() {
    let preview = of(&preset("cache").unwrap(), Dialect::Resp2);
    let get = "*2\r\n$3\r\nGET\r\n$14\r\nk:000000000000\r\n".len() as f64;
    let set = "*3\r\n$3\r\nSET\r\n$14\r\nk:000000000000\r\n$32\r\n\r\n".len() as f64 + 32.0;
    let sizes: Vec<_> = preview.operations.iter().map(|o| (o.name.as_str(), o.bytes)).collect();
    assert_eq!(sizes.iter().find(|(name, _)| *name == "GET"), Some(&("GET", get)));
    assert_eq!(sizes.iter().find(|(name, _)| *name == "SET"), Some(&("SET", set)));
    assert!((preview.bytes() - (10.0 * get + set) / 11.0).abs() < 1e-9);
    let shares: f64 = preview.operations.iter().map(|operation| operation.share).sum();
    assert!((shares - 1.0).abs() < 1e-12);
    let lines: Vec<_> = preview.samples.iter().map(|sample| (sample.bytes as f64, sample)).collect();
    assert!(lines.iter().all(|(bytes, sample)| *bytes == if sample.operation == "GET" { get } else { set }));
}

#[test]
fn the_previewed_mean_size_is_the_mean_of_sent_sizes() {
    let steps = ["SET {key} {text}", "SETRANGE {key} {number 1..99999} {text}"];
    let workload = with(&[("text", "64..1024")], &steps, &[]);
    let mean = of(&workload, Dialect::Resp2).bytes();
    let values = Values::new(&workload, 32, 1);
    let program = Program::new(&workload, Dialect::Resp2, 1000, values, &KeyNames::given("k:"));
    let (mut draws, mut out) = (Draws::new(3), OutgoingRequests::default());
    (0..20_000).for_each(|_| _ = program.append(&mut draws, &mut out));
    let drawn = out.length() as f64 / 20_000.0;
    // The limit is five standard deviations of the mean size.
    assert!((mean - drawn).abs() < 5.0 * 277.0 / 20_000.0_f64.sqrt(), "{mean} previewed, {drawn} drawn");
}

#[test]
fn the_samples_are_the_first_requests_of_the_first_client() {
    let workload = preset("mixed").unwrap();
    let preview = of(&workload, Dialect::Memcached);
    assert_eq!(preview.samples.len(), SAMPLES);
    let values = Values::new(&workload, 32, 7);
    let program = Program::new(&workload, Dialect::Memcached, 1000, values, &KeyNames::given("k:"));
    let (mut draws, mut out) = (Draws::of_client(client_seed(7, 0), 0), OutgoingRequests::default());
    (0..SAMPLES).for_each(|_| _ = program.append(&mut draws, &mut out));
    let shown: Vec<_> = preview.samples.iter().map(|sample| sample.request.as_str()).collect();
    assert_eq!(shown.concat(), untrusted::at_most(out.as_whole().unwrap(), 10_000));
}

#[test]
fn waiting_steps_are_shown_in_order_and_counted_together() {
    let mut workload = with(&[], &["GET {key}"], &[]);
    workload.operations[0].together = Together::Sequence;
    workload.operations[0].steps.push("SET {key.same} {value}".to_owned());
    let preview = of(&workload, Dialect::Resp2);
    let sample = &preview.samples[0];
    let (read, write) = sample.request.split_once(" then ").unwrap();
    assert!(write.starts_with(&read.replace("GET", "SET")), "{sample:?}");
    assert_eq!(preview.operations[0].bytes, sample.bytes as f64);
    assert_eq!(preview.operations[0].commands, "GET {key} then SET {key.same} {value}");
}

#[test]
fn a_prefill_is_counted_in_keys_and_bytes() {
    let workload = with(&[("text", "64..1024")], &["GET {key}"], &["SET {key} {text} EX 60"]);
    let made = of(&workload, Dialect::Resp2).prefill.unwrap();
    assert_eq!((made.requests, made.keys), (1000, 1000));
    let wire = "*5\r\n$3\r\nSET\r\n$14\r\nk:000000000000\r\n$544\r\n\r\n$2\r\nEX\r\n$2\r\n60\r\n".len() + 544;
    assert_eq!((made.bytes, made.memory()), (1000.0 * wire as f64, 1000.0 * (wire + 64) as f64));
    assert_eq!(of(&with(&[], &["GET {key}"], &[]), Dialect::Resp2).prefill, None);
}

#[test]
fn only_used_sets_of_keys_are_shown() {
    let mut workload =
        with(&[], &["GET {key}", "SET {new.new} {value}", "STRLEN {grown}", "APPEND {grown.new} x"], &[]);
    let keys = |prefix: &str, distribution: &str| super::super::Keyset {
        prefix: prefix.to_owned(),
        first: 5,
        digits: 1,
        distribution: distribution.parse().unwrap(),
        ..Default::default()
    };
    workload.keys.insert("new".to_owned(), keys("n", "zipfian"));
    workload.keys.insert("grown".to_owned(), keys("g", "ycsb-zipfian"));
    workload.keys.insert("unused".to_owned(), keys("u", "zipfian"));
    let sets = of(&workload, Dialect::Resp2).keys;
    let names: Vec<_> =
        sets.iter().map(|set| (set.name.as_str(), set.first.as_str(), set.last.as_str())).collect();
    let usual = ("key", "k:000000000000", "k:000000000999");
    assert_eq!(names, [("grown", "k:g5", "k:g1004"), usual, ("new", "k:n5", "k:n1004")]);
    assert_eq!(sets[0].distribution, Some(Distribution::YcsbZipfian));
    assert!(sets[0].grows && sets[0].hottest.is_none());
    assert_eq!(sets[1].hottest, Some(HottestShares { key: 0.001, hundredth: 0.01, keys: 10 }));
    assert!(sets[2].grows && sets[2].distribution.is_none() && sets[2].hottest.is_none());
}
