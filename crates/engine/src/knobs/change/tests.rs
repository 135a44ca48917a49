use super::*;
use crate::{
    knobs::Backlog,
    workload::{Keyset, Operation, Workload, preset},
};

fn walk(knob: Knob, direction: Direction, from: Knobs, steps: usize) -> Vec<String> {
    let mut knobs = from;
    (0..steps)
        .map_while(|_| {
            knobs = knob.turned(&knobs, direction, Some(121_300.0)).ok()?;
            Some(knob.value(&knobs))
        })
        .collect()
}

#[test]
fn counts_step_by_one_two_five_and_sizes_double() {
    let knobs = Knobs::default();
    assert_eq!(
        walk(Knob::Clients, Direction::Up, knobs.clone(), 99).join(" "),
        "100 200 500 1000 2000 5000 10000 18000"
    );
    assert_eq!(walk(Knob::Clients, Direction::Down, knobs.clone(), 99).join(" "), "20 10 5 2 1");
    assert_eq!(walk(Knob::ValueSize, Direction::Up, knobs.clone(), 3).join(", "), "64 B, 128 B, 256 B");
    let odd = Knobs { clients: 37, value_size: 100, ..knobs };
    assert_eq!(walk(Knob::Clients, Direction::Down, odd.clone(), 1), ["20"]);
    assert_eq!(walk(Knob::ValueSize, Direction::Down, odd, 1), ["64 B"]);
}

#[test]
fn the_first_step_down_from_max_is_just_below_the_present_throughput() {
    let knobs = Knobs::default();
    assert_eq!(walk(Knob::Rate, Direction::Down, knobs.clone(), 3).join(", "), "100 k/s, 50 k/s, 20 k/s");
    let high = Knobs { rate: Some(2_000_000), ..knobs.clone() };
    assert_eq!(walk(Knob::Rate, Direction::Up, high, 9).join(", "), "5 M/s, max");
    let idle = Knob::Rate.turned(&knobs, Direction::Down, None).unwrap();
    assert_eq!(idle.rate, Some(2_000_000));
}

#[test]
fn arrivals_turn_once_there_is_a_rate() {
    let closed = Knobs::default();
    assert_eq!(Knob::Arrivals.value(&closed), "closed");
    assert_eq!(
        Knob::Arrivals.turned(&closed, Direction::Up, None),
        Err(KnobError::of("in a closed loop, requests are not due at set times; first set a rate"))
    );
    let open = Knobs { rate: Some(1000), ..closed };
    assert_eq!(walk(Knob::Arrivals, Direction::Up, open.clone(), 9), ["poisson"]);
    assert_eq!(Knob::Arrivals.typed(&open, "poisson").unwrap().arrivals, Arrivals::Poisson);
    let bursts = Knob::Arrivals.typed(&open, "bursty 5x 1s/3s").unwrap();
    assert_eq!(
        (Knob::Arrivals.value(&bursts), bursts.pace()),
        ("bursty 5x 1s/3s".into(), "1000/s bursty 5x 1s/3s".into())
    );
    let error = Knob::Arrivals.typed(&open, "x").unwrap_err().to_string();
    assert_eq!(error, "'x' must be constant, poisson, times, or bursts such as 'bursty 10x 1s/10s'");
}

#[test]
fn reads_turn_by_five_percent_to_round_numbers() {
    let knobs = Knobs::default();
    assert_eq!(walk(Knob::Reads, Direction::Up, knobs.clone(), 9).join(" "), "95 % 100 %");
    assert_eq!(walk(Knob::Reads, Direction::Down, knobs.clone(), 2).join(" "), "90 % 85 %");
    let ping = Knobs { workload: preset("ping").unwrap(), ..knobs };
    assert_eq!(
        Knob::Reads.turned(&ping, Direction::Up, None),
        Err(KnobError::of(
            "this workload lacks GET or SET, so the share of reads is fixed; change the weights of its operations instead"
        ))
    );
}

#[test]
fn the_value_size_can_be_changed_if_a_value_depends_on_it() {
    let mut workload = Workload::clone(&Workload::ratio(1, 1));
    workload.values.insert("value".to_owned(), "64..1024".parse().unwrap());
    let own = Knobs { workload: workload.clone().into(), ..Knobs::default() };
    assert_eq!(Knob::ValueSize.value(&own), "its own");
    assert_eq!(
        Knob::ValueSize.turned(&own, Direction::Up, None),
        Err(KnobError::of(
            "this workload sets the sizes of its values itself, so there is no value size to change"
        ))
    );
    assert_eq!(
        Knob::ValueSize.typed(&own, "64"),
        Err(KnobError::of(
            "this workload sets the sizes of its values itself, so there is no value size to change"
        ))
    );
    workload.values.insert("value".to_owned(), "json".parse().unwrap());
    let json = Knobs { workload: workload.into(), ..own };
    assert_eq!(walk(Knob::ValueSize, Direction::Up, json.clone(), 1), ["64 B"]);
    let error = Knob::ValueSize.typed(&json, "8").unwrap_err().to_string();
    assert_eq!(error, "the values 'value' are invalid: a JSON object needs at least 11 bytes, not 8");
}

#[test]
fn a_step_beyond_the_limit_is_an_error() {
    let knobs = Knobs { clients: MAX_CLIENTS, ..Knobs::default() };
    let error = Knob::Clients.turned(&knobs, Direction::Up, None).unwrap_err();
    assert_eq!(error.to_string(), "clients is at its highest, 18000");
    assert!(Knob::Rate.turned(&knobs, Direction::Up, None).is_err());
    let most = Knobs { keyspace: MAX_KEYSPACE, value_size: MAX_VALUE_SIZE, ..knobs };
    assert!(Knob::Keys.turned(&most, Direction::Up, None).is_err());
    assert!(Knob::ValueSize.turned(&most, Direction::Up, None).is_err());
}

#[test]
fn typed_values_may_have_suffixes_and_errors_name_the_cause() {
    let knobs = Knobs::default();
    assert_eq!(Knob::Keys.typed(&knobs, "1M").unwrap().keyspace, 1_000_000);
    assert_eq!(Knob::ValueSize.typed(&knobs, "4k").unwrap().value_size, 4096);
    assert_eq!(Knob::Rate.typed(&knobs, "5k/s").unwrap().rate, Some(5000));
    assert_eq!(Knob::Rate.typed(&Knobs { rate: Some(1), ..knobs.clone() }, "max").unwrap().rate, None);
    assert_eq!(Knob::Reads.typed(&knobs, "50 %").unwrap().workload.to_string(), "SET:GET 1:1");
    for (knob, text, message) in [
        (Knob::Clients, "0", "clients must be between 1 and 18000, not 0"),
        (Knob::Clients, "9G", "clients must be at most 18000, not 9000000000"),
        (Knob::Reads, "101", "reads must be between 0 and 100 percent, not 101"),
        (Knob::Pipeline, "x", "'x' is not a count such as 50, 100k or 1.5M"),
    ] {
        assert_eq!(knob.typed(&knobs, text).unwrap_err().to_string(), message);
    }
}

fn of_weights(weights: &[(&str, u32)]) -> Knobs {
    let operations = weights.iter().map(|(step, weight)| Operation::command(step, *weight)).collect();
    let workload = Workload { operations, ..Workload::clone(&preset("cache").unwrap()) };
    Knobs { workload: workload.into(), ..Knobs::default() }
}

#[test]
fn get_and_set_have_a_share_of_reads_and_other_operations_a_weight_each() {
    let called = |knobs: &Knobs| -> String {
        let names: Vec<_> = Knob::of(knobs).into_iter().map(|knob| knob.called(knobs)).collect();
        names.join(", ")
    };
    assert_eq!(
        called(&Knobs::default()),
        "clients, pipeline, rate, arrivals, reads, value size, keys, distribution"
    );
    let three = of_weights(&[("GET {key}", 1), ("SET {key} {value}", 0), ("PING", 3)]);
    assert_eq!(
        called(&three),
        "clients, pipeline, rate, arrivals, value size, keys, distribution, GET, SET, PING"
    );
    let zipfian = Knob::Distribution.typed(&Knobs::default(), "zipfian 1.2").unwrap();
    assert!(called(&zipfian).ends_with(", distribution, exponent"));
    let ping = Knobs { workload: preset("ping").unwrap(), ..Knobs::default() };
    assert_eq!(called(&ping), "clients, pipeline, rate, arrivals, value size, keys");
}

#[test]
fn a_weight_steps_down_to_0_unless_it_is_the_last_one() {
    let knobs = of_weights(&[("GET {key}", 10), ("PING", 1), ("INCR {key}", 0)]);
    assert_eq!(walk(Knob::Weight(0), Direction::Down, knobs.clone(), 9).join(" "), "5 2 1 0");
    assert_eq!(walk(Knob::Weight(2), Direction::Up, knobs.clone(), 3).join(" "), "1 2 5");
    assert_eq!(Knob::Weight(1).turned(&knobs, Direction::Down, None).unwrap().workload.to_string(), "GET");
    let error = |knob: Knob, text| knob.typed(&knobs, text).unwrap_err().to_string();
    assert_eq!(
        error(Knob::Weight(0), "2M"),
        "the weights of operations must be at most 1000000, but 'GET' has more"
    );
    let alone = Knob::Weight(1).typed(&knobs, "0").unwrap();
    for error in [Knob::Weight(0).typed(&alone, "0"), Knob::Weight(0).typed(&alone, "0")] {
        let expected = "GET is the only operation with a weight; first give a weight to another operation";
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
    let error = Knob::Weight(1).turned(&alone, Direction::Down, None).unwrap_err();
    assert_eq!(error.to_string(), "PING is at its lowest, 0");
}

#[test]
fn a_distribution_can_be_stepped_and_typed_and_so_can_its_exponent() {
    let knobs = Knobs::default();
    assert_eq!(
        walk(Knob::Distribution, Direction::Up, knobs.clone(), 3).join(", "),
        "zipfian, latest, hotspot 0.2 0.8"
    );
    assert_eq!(
        Knob::Exponent.typed(&knobs, "1"),
        Err(KnobError::of(
            "the keys of this workload have no exponent, or several; first choose a distribution with an exponent, such as zipfian 0.99"
        ))
    );
    let zipfian = Knob::Distribution.typed(&knobs, "zipfian").unwrap();
    assert_eq!(walk(Knob::Exponent, Direction::Up, zipfian.clone(), 3).join(" "), "1 1.1 1.2");
    assert_eq!(walk(Knob::Exponent, Direction::Down, zipfian.clone(), 99).last().unwrap(), "0.1");
    assert_eq!(Knob::Exponent.typed(&zipfian, "1.25").unwrap().workload.exponent(), Some(1.25));
    for (text, expected) in
        [("x", "'x' is not an exponent"), ("11", "the keys 'key' cannot be drawn: the exponent of")]
    {
        let error = Knob::Exponent.typed(&zipfian, text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let error = Knob::Distribution.typed(&knobs, "zipf").unwrap_err().to_string();
    assert!(error.starts_with("'zipf' is not a distribution of keys; give one of uniform, "), "{error}");
    let ping = Knobs { workload: preset("ping").unwrap(), ..knobs };
    let error = Knob::Distribution.typed(&ping, "uniform").unwrap_err().to_string();
    assert_eq!(error, "the workload 'ping' has no keys to draw");
}

#[test]
fn keys_that_the_workload_sets_itself_are_shown_and_cannot_be_changed() {
    let mut workload = Workload::clone(&preset("cache").unwrap());
    workload.keys.values_mut().for_each(|keys| keys.count = Some(50));
    let own = Knobs { workload: workload.clone().into(), ..Knobs::default() };
    assert_eq!(Knob::Keys.value(&own), "its own");
    assert_eq!(
        Knob::Keys.turned(&own, Direction::Up, None),
        Err(KnobError::of(
            "this workload sets the number of its keys itself, so there is no number to change"
        ))
    );
    assert_eq!(
        Knob::Keys.typed(&own, "64"),
        Err(KnobError::of(
            "this workload sets the number of its keys itself, so there is no number to change"
        ))
    );
    let other = Keyset { distribution: "latest 1.1".parse().unwrap(), ..Keyset::default() };
    workload.keys.insert("other".to_owned(), other);
    let several = Knobs { workload: workload.into(), ..own };
    assert_eq!(
        (Knob::Distribution.value(&several), Knob::Keys.value(&several)),
        ("several".to_owned(), "10 k".to_owned())
    );
    assert_eq!(
        Knob::Distribution.turned(&several, Direction::Up, None),
        Err(KnobError::of(
            "this workload has several distributions of keys; type one for all of them, such as zipfian 1.1"
        ))
    );
    assert_eq!(Knob::Distribution.typed(&several, "gaussian").unwrap().workload.distributions().len(), 1);
    assert_eq!(walk(Knob::Exponent, Direction::Up, several, 1), ["1.2"]);
}

#[test]
fn a_weight_is_set_by_the_name_of_its_operation() {
    let knobs = Knobs::default();
    let set = |text| Knob::WeightByName.typed(&knobs, text).map(|knobs| knobs.workload.to_string());
    for text in ["GET 5", "get 5", " GET  5 "] {
        assert_eq!(set(text), Ok("SET:GET 1:5".to_owned()), "{text}");
    }
    for (text, error) in [
        ("INCR 5", "'INCR 5' is not an operation with a weight; write for example weight GET 5"),
        ("GET", "'GET' is not an operation with a weight; write for example weight GET 5"),
        ("GET x", "'x' is not a count such as 50, 100k or 1.5M"),
    ] {
        assert_eq!(set(text).unwrap_err().to_string(), error);
    }
}

#[test]
fn valid_values_are_accepted_and_other_values_are_refused() {
    let knobs = Knobs::default();
    assert_eq!(Knob::Backlog.typed(&knobs, "shed").unwrap().backlog, Backlog::Shed);
    assert_eq!(Knob::Workload.typed(&knobs, "get").unwrap().workload, preset("get").unwrap());
    assert!(
        Knob::Workload.typed(&knobs, "x").unwrap_err().to_string().starts_with("there is no workload 'x'")
    );
    for setting in Knob::ALL {
        assert!(setting.typed(&knobs, "?").is_err(), "{setting:?}");
        let open = Knobs { rate: Some(1000), ..knobs.clone() };
        assert!(!setting.range().is_empty());
        for choice in setting.choices() {
            assert!(setting.typed(&open, choice).is_ok(), "{setting:?} {choice}");
        }
    }
}
