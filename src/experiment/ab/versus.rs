//! Two targets under the same load, one at a time: each is a session, and has the load while the other has none.
//!
//! ```text
//!  A: load on, off │ on ───────┤ off ···············│ on ───────────────┤ off …
//!  B: load on, off │ off ······│ on ────────────────┤ off ··············│ on …
//!     └ got ready ─┘ since here it is an A/B
//! ```
//! Getting ready, a session asks what it has to ask, makes the keys that the load reads, and stands once under the whole load.

use super::{
    alternation::{Alternation, Taken, Then},
    driver::Plan,
    pair::{Pair, Side},
    table::{Row, Table},
    verdict::Verdict,
};
use crate::{
    experiment::{
        Ending, Interruption, Setting,
        stand::{Seen, Stand},
        t_s,
    },
    load::Knobs,
    session::{Delivery, Interval, Order},
};

/// Two targets in alternation.
#[derive(Debug, Clone)]
pub struct Versus {
    /// A and B.
    targets: [Loaded; 2],
    on: Setting,
    off: Setting,
    alternation: Alternation,
    /// Whether both stood under the load, and are without it since.
    is_ready: bool,
    /// How far the session is that is furthest.
    now_s: f64,
    table: Table,
    verdict: Option<Verdict>,
    ending: Option<Ending>,
}

/// A target, and what it stands under.
#[derive(Debug, Clone)]
struct Loaded {
    /// What it is called where it cannot go on.
    name: String,
    stand: Stand,
    /// The load that was asked for last, unless nothing was yet.
    asked: Option<bool>,
    /// Whether what was asked for holds.
    holds: bool,
}

impl Loaded {
    fn new(name: String) -> Self {
        Self { name, stand: Stand::default(), asked: None, holds: false }
    }

    fn is(&self, is_on: bool) -> bool {
        self.holds && self.asked == Some(is_on)
    }
}

impl Versus {
    /// A comparison under these knobs of two targets that are called so.
    pub fn new(knobs: &Knobs, names: [String; 2], plan: Plan) -> Self {
        let is_open = knobs.rate.is_some();
        let setting = |load| Setting::of(Knobs { load, ..knobs.clone() });
        Self {
            targets: names.map(Loaded::new),
            on: setting(true),
            off: setting(false),
            alternation: Alternation::new(plan, is_open),
            is_ready: false,
            now_s: 0.0,
            table: Table::default(),
            verdict: None,
            ending: None,
        }
    }

    /// All pairs so far, those that were left out too.
    pub fn pairs(&self) -> &[Pair] {
        self.alternation.pairs()
    }

    /// What the pairs so far say of B; the last word once it is over.
    pub fn verdict(&self) -> Verdict {
        self.verdict.clone().unwrap_or_else(|| self.alternation.judged(false))
    }

    /// The table of all figures so far.
    pub fn rows(&self) -> Vec<Row> {
        self.table.rows(self.verdict().is_last)
    }

    /// How it ended; `None` while it goes on.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// Where redyno itself was the limit, and why; nothing where it was not.
    pub fn client_limit(&self) -> String {
        self.alternation.client_limit()
    }

    /// What it does now and how far it is, in a line.
    pub fn progress(&self) -> String {
        if !self.is_ready {
            return "getting both ready".to_owned();
        }
        let (side, pair) = (self.alternation.side(), self.pairs().len() + 1);
        let most = self.alternation.most_pairs();
        format!("load on {side:?}, pair {pair} of {most} at most; {}", self.verdict().so_far())
    }

    /// Takes what the session of one target delivered; what both are to do now. Nothing any more when it is over.
    pub fn take(&mut self, from: Side, delivery: &Delivery) -> Vec<(Side, Order)> {
        if self.ending.is_some() {
            return Vec::new();
        }
        let mut orders = Vec::new();
        if let Some(now_s) = t_s(delivery) {
            self.now_s = self.now_s.max(now_s);
            if self.target(from).asked.is_none() {
                orders = self.ask(from, true);
            }
            if self.is_ready && self.alternation.is_late(self.now_s) {
                self.conclude(self.alternation.judged(true));
                return Vec::new();
            }
        }
        match self.target(from).stand.see(delivery) {
            Seen::Nothing => {}
            Seen::Holds { since_s } => orders.extend(self.on_held(from, since_s)),
            Seen::Measured(interval) => orders.extend(self.measure(from, interval)),
            Seen::Lost(why) => self.lose(from, why),
        }
        orders
    }

    fn target(&mut self, side: Side) -> &mut Loaded {
        &mut self.targets[side as usize]
    }

    fn ask(&mut self, side: Side, is_on: bool) -> Vec<(Side, Order)> {
        let setting = if is_on { &self.on } else { &self.off };
        let target = &mut self.targets[side as usize];
        (target.asked, target.holds) = (Some(is_on), false);
        target.stand.turn(setting).into_iter().map(|order| (side, order)).collect()
    }

    fn on_held(&mut self, from: Side, since_s: f64) -> Vec<(Side, Order)> {
        self.target(from).holds = true;
        if self.targets.iter().all(|target| target.is(false)) {
            if !self.is_ready {
                self.is_ready = true;
                self.alternation.begins(self.now_s);
            }
            return self.ask(self.alternation.side(), true);
        }
        if !self.target(from).is(true) {
            return Vec::new();
        }
        if !self.is_ready {
            return self.ask(from, false);
        }
        self.alternation.holds(since_s);
        Vec::new()
    }

    fn measure(&mut self, from: Side, measured: &Interval) -> Vec<(Side, Order)> {
        if !self.is_ready || from != self.alternation.side() {
            return Vec::new();
        }
        let Taken { pair, then } = self.alternation.take(measured, self.now_s);
        pair.iter().for_each(|parts| self.table.add(parts));
        match then {
            Then::GoOn => Vec::new(),
            // The other one has it when this one is without.
            Then::Switch => self.ask(from, false),
            Then::End(verdict) => {
                self.conclude(verdict);
                Vec::new()
            }
        }
    }

    fn conclude(&mut self, verdict: Verdict) {
        self.ending = Some(Ending::of(&verdict));
        self.verdict = Some(verdict);
        self.alternation.end();
    }

    fn lose(&mut self, from: Side, why: Interruption) {
        self.conclude(self.alternation.judged(true));
        let name = self.target(from).name.clone();
        self.ending = Some(Ending::Interrupted(Interruption::Target(name, Box::new(why))));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        clock::{TICK_NS, seconds},
        session::{Notice, OperationInterval, Record, Segment},
        stats::{fixture::repeated, paired::Judgement},
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

    fn versus() -> Versus {
        Versus::new(&knobs(), ["A, one".to_owned(), "B, two".to_owned()], Plan::default())
    }

    impl Simulated {
        fn run(b: f64, versus: &mut Versus) -> Self {
            let (segments, loaded) = ([1; 2], Vec::new());
            let mut all = Self { knobs: [knobs(), knobs()], segments, tick: 0, b, loaded };
            let mut waiting: Vec<_> = Side::ALL.map(|side| (side, all.segment(side))).into();
            while versus.ending().is_none() {
                let orders: Vec<_> =
                    waiting.drain(..).flat_map(|(side, told)| versus.take(side, &told)).collect();
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
        assert_eq!((versus.ending(), versus.verdict().judgement()), (Some(&Ending::Done), Judgement::Better));
        let firsts: Vec<_> = versus.pairs()[..4].iter().map(|pair| pair.first).collect();
        assert_eq!(firsts, [Side::A, Side::B, Side::A, Side::B]);
        assert!(run.now_s() < 100.0, "{}", run.now_s());
    }

    #[test]
    fn the_worse_one_is_named_figure_by_figure() {
        let mut versus = versus();
        Simulated::run(-0.3, &mut versus);
        assert!(
            matches!(versus.ending(), Some(Ending::NotHeld(words)) if words.starts_with("B does 30 % less"))
        );
        let rows = versus.rows();
        let told: Vec<_> = rows.iter().map(|row| (row.figure.name(), row.judgement)).collect();
        assert_eq!(told[0], ("throughput".to_owned(), Judgement::Worse));
        assert_eq!(told[1], ("service p50".to_owned(), Judgement::Same));
        assert!(told.contains(&("SET throughput".to_owned(), Judgement::Worse)), "{told:?}");
        assert!(rows[0].values[0] > rows[0].values[1], "{:?}", rows[0]);
    }

    #[test]
    fn equal_ones_are_told_as_equal() {
        let mut versus = versus();
        Simulated::run(0.0, &mut versus);
        assert_eq!((versus.ending(), versus.verdict().judgement()), (Some(&Ending::Done), Judgement::Same));
    }

    #[test]
    fn whoever_cannot_go_on_is_named() {
        let mut versus = versus();
        let off = Delivery::Notice(Notice::LoadStaysOff("it is a replica".to_owned()));
        assert_eq!(versus.take(Side::B, &off), []);
        let Some(Ending::Interrupted(why)) = versus.ending() else { panic!("{:?}", versus.ending()) };
        assert_eq!(why.to_string(), "B, two: the load is off: it is a replica");
        assert_eq!(versus.take(Side::A, &Delivery::Notice(Notice::Leave)), []);
    }
}
