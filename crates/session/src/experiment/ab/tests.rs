//! Tests of an A/B of two targets. The targets are the nodes of a simulated session.

use std::{sync::Arc, time::Duration};

use super::*;
use crate::{
    clock::{TICK_NS, seconds},
    events::EventKind,
    experiment::{Ending, Experiment},
    knobs::Knobs,
    session::{Delivery, Interval, Notice, OperationInterval, Order, Record, Segment},
    stats::{Verdict, fixture::repeated},
};

/// A session of two nodes that carries out orders at once. Node B is faster than node A by the share `b`.
struct Simulated {
    carrier: u16,
    segments: [u32; 2],
    tick: u64,
    b: f64,
    /// The node under load in each tick (quarter second).
    loaded: Vec<u16>,
}

fn knobs() -> Knobs {
    Knobs { load: true, ..Knobs::default() }
}

fn versus() -> Ab {
    Ab::of_targets(&knobs(), vec!["A, one".to_owned(), "B, two".to_owned()], AbPlan::default())
}

impl Simulated {
    fn run(b: f64, versus: &mut Ab) -> Self {
        let mut all = Self { carrier: 0, segments: [1; 2], tick: 0, b, loaded: Vec::new() };
        let mut waiting: Vec<_> = [0, 1].map(|node| all.segment(node)).into();
        while versus.ending().is_none() {
            let orders: Vec<_> = waiting.drain(..).flat_map(|delivery| versus.take(&delivery)).collect();
            for order in orders {
                match order {
                    Order::Carry(node) => {
                        assert_ne!(std::mem::replace(&mut all.carrier, node), node);
                        all.segments.iter_mut().for_each(|segment| *segment += 1);
                        waiting.extend([1 - node, node].map(|node| all.segment(node)));
                    }
                    Order::SetKnobs(same) => assert_eq!(same, knobs()),
                    Order::Event(EventKind::Compared { .. }) => {}
                    order => panic!("{order:?}"),
                }
            }
            all.tick += 1;
            waiting.extend([0, 1].map(|node| all.measured(node)));
            all.loaded.push(all.carrier);
        }
        all
    }

    fn now_s(&self) -> f64 {
        seconds(self.tick * TICK_NS)
    }

    fn segment(&self, node: u16) -> Delivery {
        let knobs = Knobs { load: node == self.carrier, ..knobs() };
        let record = Segment::new(self.now_s(), self.segments[usize::from(node)], knobs);
        Delivery::Record(Arc::new(Record::Segment(record).at_node(node)))
    }

    fn measured(&self, node: u16) -> Delivery {
        let times = if node == 1 { 1.0 + self.b } else { 1.0 };
        // All figures vary a little, otherwise there would be no noise.
        let ops =
            if node == self.carrier && times > 0.0 { (5000.0 * times) as u64 + self.tick % 7 } else { 0 };
        let part = |ops| OperationInterval { ops, service: repeated(9000, ops), ..Default::default() };
        let interval = Interval {
            t_s: self.now_s(),
            length_s: seconds(TICK_NS),
            segment: self.segments[usize::from(node)],
            ops,
            service: repeated(9000, ops),
            commands: [("GET", ops / 2), ("SET", ops - ops / 2)]
                .map(|(name, ops)| (name.to_owned(), part(ops)))
                .into(),
            ..Interval::default()
        };
        Delivery::Record(Arc::new(Record::Interval(Box::new(interval)).at_node(node)))
    }
}

#[test]
fn one_target_at_a_time_has_the_load_after_both_are_prepared() {
    let mut versus = versus();
    let run = Simulated::run(0.2, &mut versus);
    let turns: Vec<_> =
        run.loaded.chunk_by(|one, other| one == other).map(|turn| (turn[0], turn.len())).collect();
    // In the last tick (quarter second) of the preparation, the load is on B. Then the parts of three seconds
    // begin.
    let (first, second) = ((1.0 + 3.0) / seconds(TICK_NS), (1.0 + 2.0 * 3.0) / seconds(TICK_NS));
    let expected = [(1, 1), (0, first as usize), (1, second as usize), (0, second as usize)];
    assert!(turns.starts_with(&expected), "{turns:?}");
    assert_eq!((versus.ending(), versus.verdict().verdict), (Some(&Ending::Done), Some(Verdict::Better)));
    let firsts: Vec<_> = versus.pairs()[..4].iter().map(|pair| pair.first).collect();
    assert_eq!(firsts, [Side::A, Side::B, Side::A, Side::B]);
    assert!(run.now_s() < 100.0, "{}", run.now_s());
}

#[test]
fn the_worse_target_is_named_for_each_figure() {
    let mut versus = versus();
    Simulated::run(-0.3, &mut versus);
    assert!(
        matches!(versus.ending(), Some(Ending::NotHeld(words)) if words.starts_with("B is worse: ops/s -30 % ("))
    );
    let rows = versus.table().rows;
    let verdicts: Vec<_> = rows.iter().map(|row| (row.name(), row.verdict.unwrap().word())).collect();
    assert_eq!(verdicts[0], ("ops/s".to_owned(), "worse"));
    assert_eq!(verdicts[1], ("p50".to_owned(), "no difference"));
    assert!(verdicts.contains(&("SET ops/s".to_owned(), "worse")), "{verdicts:?}");
    assert!(rows[0].values[0] > rows[0].values[1], "{:?}", rows[0]);
}

#[test]
fn equal_targets_are_judged_equal() {
    let mut versus = versus();
    Simulated::run(0.0, &mut versus);
    assert_eq!(versus.ending(), Some(&Ending::Done));
    assert!(matches!(versus.verdict().verdict, Some(Verdict::Same { .. })), "{:?}", versus.verdict());
}

#[test]
fn a_target_that_never_answers_ends_the_comparison() {
    let mut versus = versus();
    Simulated::run(-1.0, &mut versus);
    let Some(Ending::Undecided(why)) = versus.ending() else { panic!("{:?}", versus.ending()) };
    assert!(why.starts_with("no request succeeded on one side of the last 2 pairs; not clear"), "{why}");
    assert_eq!(versus.pairs().len(), 2);
}

#[test]
fn a_target_that_cannot_continue_is_named() {
    let mut versus = versus();
    let off = Delivery::Notice(1, Notice::LoadStaysOff("it is a replica".to_owned()));
    assert_eq!(versus.take(&off), []);
    let Some(Ending::Interrupted(why)) = versus.ending() else { panic!("{:?}", versus.ending()) };
    assert_eq!(why.to_string(), "B, two: the load is off: it is a replica");
    assert_eq!(versus.take(&Delivery::Notice(0, Notice::Leave)), []);
}

#[test]
fn the_record_of_an_ab_has_the_figures_and_a_sentence() {
    let mut versus = versus();
    Simulated::run(-0.3, &mut versus);
    let record = serde_json::to_value(&versus).unwrap();
    assert_eq!((&record["verdict"], &record["decides"]), (&"worse".into(), &"throughput".into()));
    assert!((record["throughput"]["change"].as_f64().unwrap() + 0.3).abs() < 0.01, "{record}");
    assert!(record["throughput"]["low"].as_f64() < record["throughput"]["high"].as_f64());
    assert_eq!(record["words"], versus.sentence());
    let pairs = versus.pairs().len();
    assert_eq!((&record["pairs"], &record["left_out"]), (&pairs.into(), &0.into()));
    assert_eq!(record["table"][0]["verdict"], "worse");
    let none = Ab::of_targets(&knobs(), vec![String::new(); 2], AbPlan::default());
    assert_eq!(none.sentence(), "not clear: too little was measured");
    let record = serde_json::to_value(&none).unwrap();
    assert_eq!((&record["verdict"], &record["p99"]), (&"not clear".into(), &serde_json::Value::Null));
}

#[test]
fn the_longest_parts_form_a_pair_and_longer_parts_are_refused() {
    let parts_of = |s| AbPlan::default().with_parts_of(Some(Duration::from_secs(s)));
    let mut versus = Ab::of_targets(&knobs(), vec!["A".to_owned(), "B".to_owned()], parts_of(83).unwrap());
    Simulated::run(0.2, &mut versus);
    assert_eq!(versus.pairs().len(), 1);
    assert!(parts_of(84).is_err());
}
