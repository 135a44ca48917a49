//! Tests of the conditions of comparisons (`p99 > +10%`) with simulated runs.

use super::*;

fn met(text: &str, base: &[Run], new: &[Run]) -> Option<(String, bool)> {
    let condition: Condition = text.parse().unwrap();
    condition.of_runs(base, new).map(|crossed| (crossed.to_string(), crossed.is_sure))
}

#[test]
fn a_condition_is_on_a_change_or_on_a_value() {
    let knobs = Knobs { rate: Some(10_000), ..Knobs::default() };
    let (base, new) = ([run_at(1, &knobs, 10_000, 100.0)], [run_at(2, &knobs, 10_000, 130.0)]);
    let (text, is_sure) = met("p99 > +10%", &base, &new).unwrap();
    assert!(text.starts_with("p99 > +10%: resp p99 ") && text.contains("against") && is_sure, "{text}");
    for (text, is_met) in [
        ("p99 > +50%", false),
        ("ops < -5%", false),
        ("p95 > +10%", true),
        ("mean > +10%", true),
        ("p50 > 150us", true),
        ("p50 < 1ms", true),
        ("max > 1s", false),
        ("errors > 0", false),
        ("ops < 100", false),
        ("service_p50_us > 150us", true),
        ("service_p95_us > +10%", true),
    ] {
        assert_eq!(met(text, &base, &new).is_some(), is_met, "{text}");
    }
}

#[test]
fn a_condition_on_ping_has_the_units_of_other_latencies() {
    let pings = repeated(3_000_000, 2000);
    let total = Interval::default();
    let row = Row { pings: Some(&pings), ..Row::of_interval(&total) };
    for (text, is_met) in [
        ("ping_p50 > 2ms", true),
        ("ping_p99 > 5ms", false),
        ("ping_p99_us > 2500us", true),
        ("ping_max < 5ms", true),
    ] {
        let condition: Condition = text.parse().unwrap();
        assert!(condition.is_of_pings(), "{text}");
        assert_eq!(condition.of_row(&row, true).is_some(), is_met, "{text}");
    }
    let few = "ping_p99.9 > 1ms".parse::<Condition>().unwrap();
    assert_eq!(few.of_row(&row, false).map(|met| met.is_sure), Some(false));
    let bound = few.latency_bound().unwrap();
    assert_eq!((bound.quantile, bound.ns, bound.of), (0.999, 1_000_000, BoundedLatency::Pings));
    assert!(few.is_of_speed());
    for (text, quantile, of) in [
        ("p99 > 2ms", 0.99, BoundedLatency::Requests),
        ("service_p99_us > 2ms", 0.99, BoundedLatency::Service),
        ("response_max_us > 2ms", 1.0, BoundedLatency::Requests),
    ] {
        let condition: Condition = text.parse().unwrap();
        let bound = condition.latency_bound().map(|bound| (bound.quantile, bound.of));
        assert_eq!((bound, condition.is_of_speed()), (Some((quantile, of)), true), "{text}");
    }
    assert_eq!("connect_p99_us > 2ms".parse::<Condition>().unwrap().latency_bound(), None);
    assert_eq!("ping_max < 1ms".parse::<Condition>().unwrap().latency_bound(), None);
    let unknown = "ping_p98 > 1ms".parse::<Condition>().unwrap_err();
    assert!(unknown.contains(", max, ping_p50, ping_p90, ping_p99, ping_p99.9, ping_max, or"), "{unknown}");
}

/// An earlier version accepted suffixes in `--rate 5k`, but not in `--fail-if 'ops < 5k'`.
#[test]
fn a_value_may_have_the_suffixes_of_the_options_for_rates_and_sizes() {
    let errors = [("OOM".to_owned(), 1500)].into();
    let total = Interval {
        length_s: 1.0,
        ops: 5000,
        ops_per_s: 5000.0,
        bytes_in: 4096,
        errors,
        ..Interval::default()
    };
    for (text, is_met) in [
        ("ops < 5k", false),
        ("ops < 5.1k", true),
        ("ops > 1M", false),
        ("errors > 1k", true),
        ("bytes_in > 4k", false),
        ("bytes_in > 3KiB", true),
        ("ops < 0.5", false),
        ("ops > 4.5k", true),
    ] {
        let condition: Condition = text.parse().unwrap();
        assert_eq!(condition.of_row(&Row::of_interval(&total), false).is_some(), is_met, "{text}");
    }
    let error = "ops < 5x".parse::<Condition>().unwrap_err();
    let expected =
        "'5x' cannot be compared with ops; give a number such as 50 or 5k, or a change such as +10%";
    assert_eq!(error, expected);
}

#[test]
fn a_condition_writes_the_value_as_tables_do() {
    let client = Some(Client { cpu: 0.5, ..Client::default() });
    let total = Interval { length_s: 1.0, bytes_in: 4096, client, ..Interval::default() };
    let measured = |text: &str| {
        let met = text.parse::<Condition>().unwrap().of_row(&Row::of_interval(&total), false);
        met.unwrap().measured
    };
    assert_eq!(measured("client_cpu > 0.4"), "own cpu 50 %");
    assert_eq!(measured("bytes_in > 1"), "in 4.00 KiB");
}

#[test]
fn a_change_that_may_be_noise_is_not_sure_and_no_difference_is_not_met() {
    let knobs = Knobs::default();
    let noisy = |us: [f64; 2], first: u32| -> Vec<_> {
        (0..2).map(|n| run_at(first + 2 * n, &knobs, 10_000, us[n as usize])).collect()
    };
    let (base, new) = (noisy([100.0, 160.0], 1), noisy([150.0, 180.0], 2));
    let p99 = row(&RunComparison::of(&base, &new), "p99").verdict;
    assert_eq!(p99, Some(Verdict::NotClear(Reason::Noise)));
    assert_eq!(met("p99 > +10%", &base, &new).map(|(_, is_sure)| is_sure), Some(false));
    let same = (noisy([100.0, 100.1], 1), noisy([101.0, 101.1], 2));
    assert_eq!(met("p99 > 0%", &same.0, &same.1), None);
    // No difference is less than a required improvement, and more than a permitted decline.
    for text in ["ops < +5%", "ops > -5%", "p99 > -20%"] {
        assert_eq!(met(text, &same.0, &same.1).map(|(_, is_sure)| is_sure), Some(true), "{text}");
    }
}

/// The change is between the whole runs. The confidence interval is for a usual second.
#[test]
fn a_change_that_single_seconds_decide_has_no_interval_and_is_sure() {
    let knobs = Knobs::default();
    let seconds = |stall_us: f64| -> Vec<_> {
        (0..60).map(|n| (10_000, if n == 30 { stall_us } else { 100.0 + f64::from(n % 3) })).collect()
    };
    let run = |hour, stall_us| {
        [Run::of("a", &recording("redis 7", hour, &knobs, &seconds(stall_us)), None).unwrap()]
    };
    let (base, new) = (run(1, 100.0), run(2, 700_000.0));
    let p99 = row(&RunComparison::of(&base, &new), "p99").clone();
    assert!(p99.change.unwrap() > 1000.0 && p99.interval.is_none(), "{p99:?}");
    let words = p99.words();
    assert!(
        words.starts_with("not clear: a few seconds cause the change; a typical second changes by "),
        "{words}"
    );
    assert_eq!(met("p99 > +10%", &base, &new).map(|(_, is_sure)| is_sure), Some(true));
    let of_segments = Difference::of_segments(&base[0].segment, &new[0].segment, figures::SERVICE_P99, 60.0);
    assert_eq!((of_segments.interval, of_segments.words()), (None, words));
    let p50 = row(&RunComparison::of(&base, &new), "p50").clone();
    assert!(p50.interval.is_some(), "{p50:?}");
}

#[test]
fn a_value_that_one_run_exceeds_is_sure_in_any_order_of_the_runs() {
    let knobs = Knobs::default();
    let few = recording("redis 7.0.15", 1, &knobs, &[(1000, 100.0)]);
    let few = Run::of("few", &few, None).unwrap();
    let many = run_at(2, &knobs, 10_000, 100.0);
    for new in [[few.clone(), many.clone()], [many, few]] {
        assert_eq!(met("p99.9 > 1us", &new, &new).map(|(_, is_sure)| is_sure), Some(true));
    }
}

/// A comparison must not succeed because a measurement is missing.
#[test]
fn a_figure_that_was_not_measured_is_not_sure() {
    let few = recording("redis 7.0.15", 1, &Knobs::default(), &[(1000, 100.0)]);
    let few = [Run::of("few", &few, None).unwrap()];
    for text in ["p99.99 > 1ms", "p99.99 > +10%", "response_p50_us > 1ms"] {
        let (text, is_sure) = met(text, &few, &few).unwrap();
        assert!(text.ends_with(" was not measured, or has too few samples") && !is_sure, "{text}");
    }
}

#[test]
fn a_wrong_condition_is_refused_with_the_expected_form() {
    for (text, expected) in [
        ("p99", "'p99' is not a condition; write for example 'p99 > +10%'"),
        ("> 5", "'> 5' is not a condition"),
        ("p98 > 1ms", "'p98' is not a figure; give one of ops, errors, misses, mean, p50,"),
        ("p99 > 5", "'5' cannot be compared with p99; give a duration such as 2ms, or a change such as +10%"),
        ("errors > 1ms", "'1ms' cannot be compared with errors; give a number"),
        ("errors > +10%", "'+10%' cannot be compared with errors; give a number"),
        ("ops < x%", "'x%' cannot be compared with ops; give a change such as +10%"),
    ] {
        let error = text.parse::<Condition>().unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
    let figure = figures::OPS_PER_S.name;
    assert!(format!("{figure} < 5").parse::<Condition>().is_ok_and(|condition| !condition.is_relative()));
    for (text, is_relative) in [("client_cpu > 90%", false), ("client_cpu > +90%", true), ("p99 > 90%", true)]
    {
        assert_eq!(text.parse::<Condition>().unwrap().is_relative(), is_relative, "{text}");
    }
}
