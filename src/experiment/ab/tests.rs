//! Two targets that carry orders out at once.

use std::sync::Arc;

use super::*;
use crate::{
    clock::{TICK_NS, seconds},
    experiment::{Ending, Experiment},
    knobs::Knobs,
    session::{Delivery, Interval, Notice, OperationInterval, Order, Record, Segment},
    stats::{Verdict, fixture::repeated},
};

/// Two sessions that carry orders out at once; `b` is how much more B does, as a share.
struct Simulated {
    knobs: [Knobs; 2],
    segments: [u32; 2],
    tick: u64,
    b: f64,
    /// Who was under load in each tick.
    loaded: Vec<[bool; 2]>,
}

fn knobs() -> Knobs {
    Knobs { load: true, ..Knobs::default() }
}

fn versus() -> Ab {
    Ab::of_targets(&knobs(), ["A, one".to_owned(), "B, two".to_owned()], Plan::default())
}

impl Simulated {
    fn run(b: f64, versus: &mut Ab) -> Self {
        let (segments, loaded) = ([1; 2], Vec::new());
        let mut all = Self { knobs: [knobs(), knobs()], segments, tick: 0, b, loaded };
        let mut waiting: Vec<_> = Side::ALL.map(|side| (side, all.segment(side))).into();
        while versus.ending().is_none() {
            let orders: Vec<_> =
                waiting.drain(..).flat_map(|(side, told)| versus.take_of(side, &told)).collect();
            for (side, order) in orders {
                let Order::SetKnobs(knobs) = order else { panic!("{order:?}") };
                if all.knobs[side as usize] != knobs {
                    all.knobs[side as usize] = knobs;
                    all.segments[side as usize] += 1;
                    waiting.push((side, all.segment(side)));
                }
            }
            all.tick += 1;
            waiting.extend(Side::ALL.map(|side| (side, all.measured(side))));
            all.loaded.push(all.knobs.each_ref().map(|knobs| knobs.load));
        }
        all
    }

    fn now_s(&self) -> f64 {
        seconds(self.tick * TICK_NS)
    }

    fn segment(&self, side: Side) -> Delivery {
        let (knobs, segment) = (self.knobs[side as usize].clone(), self.segments[side as usize]);
        let t_s = self.now_s();
        let record = Segment::new(t_s, segment, knobs);
        Delivery::Record(Arc::new(Record::Segment(record)))
    }

    fn measured(&self, side: Side) -> Delivery {
        let is_on = self.knobs[side as usize].load;
        let times = if side == Side::B { 1.0 + self.b } else { 1.0 };
        // A little of everything moves, or nothing would be noise.
        let ops = if is_on { (5000.0 * times) as u64 + self.tick % 7 } else { 0 };
        let part = |ops| OperationInterval { ops, service: repeated(9000, ops), ..Default::default() };
        let interval = Interval {
            t_s: self.now_s(),
            length_s: seconds(TICK_NS),
            segment: self.segments[side as usize],
            ops,
            service: repeated(9000, ops),
            commands: [("GET", ops / 2), ("SET", ops - ops / 2)]
                .map(|(name, ops)| (name.to_owned(), part(ops)))
                .into(),
            ..Interval::default()
        };
        Delivery::Record(Arc::new(Record::Interval(Box::new(interval))))
    }
}

#[test]
fn one_target_at_a_time_has_the_load_after_each_had_it_once() {
    let mut versus = versus();
    let run = Simulated::run(0.2, &mut versus);
    let ready = run.loaded.iter().position(|loaded| *loaded == [false, false]).unwrap();
    assert!(run.loaded[ready..].iter().all(|loaded| *loaded != [true, true]), "{:?}", run.loaded);
    let mut turns: Vec<_> = run.loaded[ready..].iter().filter(|loaded| loaded.contains(&true)).collect();
    turns.dedup();
    assert!(turns.starts_with(&[&[true, false], &[false, true], &[true, false]]), "{turns:?}");
    assert_eq!((versus.ending(), versus.verdict().verdict), (Some(&Ending::Done), Some(Verdict::Better)));
    let firsts: Vec<_> = versus.pairs()[..4].iter().map(|pair| pair.first).collect();
    assert_eq!(firsts, [Side::A, Side::B, Side::A, Side::B]);
    assert!(run.now_s() < 100.0, "{}", run.now_s());
}

#[test]
fn the_worse_one_is_named_figure_by_figure() {
    let mut versus = versus();
    Simulated::run(-0.3, &mut versus);
    assert!(
        matches!(versus.ending(), Some(Ending::NotHeld(words)) if words.starts_with("B is worse: ops/s -30 % ("))
    );
    let rows = versus.table().rows;
    let told: Vec<_> = rows.iter().map(|row| (row.name(), row.verdict.unwrap().word())).collect();
    assert_eq!(told[0], ("ops/s".to_owned(), "worse"));
    assert_eq!(told[1], ("p50".to_owned(), "no difference"));
    assert!(told.contains(&("SET ops/s".to_owned(), "worse")), "{told:?}");
    assert!(rows[0].values[0] > rows[0].values[1], "{:?}", rows[0]);
}

#[test]
fn equal_ones_are_told_as_equal() {
    let mut versus = versus();
    Simulated::run(0.0, &mut versus);
    assert_eq!(versus.ending(), Some(&Ending::Done));
    assert!(matches!(versus.verdict().verdict, Some(Verdict::Same { .. })), "{:?}", versus.verdict());
}

#[test]
fn whoever_cannot_go_on_is_named() {
    let mut versus = versus();
    let off = Delivery::Notice(Notice::LoadStaysOff("it is a replica".to_owned()));
    assert_eq!(versus.take_of(Side::B, &off), []);
    let Some(Ending::Interrupted(why)) = versus.ending() else { panic!("{:?}", versus.ending()) };
    assert_eq!(why.to_string(), "B, two: the load is off: it is a replica");
    assert_eq!(versus.take_of(Side::A, &Delivery::Notice(Notice::Leave)), []);
}

#[test]
fn a_record_of_it_has_the_figures_and_a_sentence() {
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
    let none = Ab::of_targets(&knobs(), [String::new(), String::new()], Plan::default());
    assert_eq!(none.sentence(), "not clear: too little was measured");
    let record = serde_json::to_value(&none).unwrap();
    assert_eq!((&record["verdict"], &record["p99"]), (&"not clear".into(), &serde_json::Value::Null));
}
