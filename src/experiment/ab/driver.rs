//! The driver: which setting holds when, and when it is enough.

use super::{
    block::Block,
    pair::{Pair, Part, Quantity, Side},
    verdict::Verdict,
};
use crate::{
    experiment::{
        Drawn, Ending, Experiment, Interruption, Setting,
        stand::{Seen, Stand},
        t_s,
    },
    session::{Delivery, Interval, Order},
    stats::paired::{Judgement, LOOK, Shift},
};

/// How long everything takes, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// What is left out after a switch.
    pub settle_s: f64,
    /// The length of a part.
    pub part_s: f64,
    /// The same at most, where a part waits for as many latencies as a p99 needs.
    pub longest_part_s: f64,
    /// After so long it ends, undecided if need be.
    pub limit_s: f64,
}

impl Default for Plan {
    /// Blocks of seven seconds; an end within three minutes, with what comes before and after.
    fn default() -> Self {
        Self { settle_s: 1.0, part_s: 3.0, longest_part_s: 10.0, limit_s: 170.0 }
    }
}

/// Two settings in alternation.
#[derive(Debug, Clone)]
pub struct Ab {
    plan: Plan,
    a: Setting,
    b: Setting,
    stand: Stand,
    /// Which setting holds, or is to.
    side: Side,
    block: Option<Block>,
    /// The last part before the switch.
    before: Option<Interval>,
    /// When it began.
    since_s: Option<f64>,
    pairs: Vec<Pair>,
    verdict: Option<Verdict>,
    ending: Option<Ending>,
}

impl Ab {
    /// An experiment with `a` and `b`; with its first delivery it puts `a` in force.
    pub fn new(a: Setting, b: Setting, plan: Plan) -> Self {
        Self {
            plan,
            a,
            b,
            stand: Stand::default(),
            side: Side::A,
            block: None,
            before: None,
            since_s: None,
            pairs: Vec::new(),
            verdict: None,
            ending: None,
        }
    }

    /// The settings.
    pub fn settings(&self) -> (&Setting, &Setting) {
        (&self.a, &self.b)
    }

    /// All pairs so far, those that were left out too.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// What the pairs so far say; the last word once it [is over](Experiment::is_over).
    pub fn verdict(&self) -> Verdict {
        self.verdict.clone().unwrap_or_else(|| self.judged(false))
    }

    /// What decides.
    pub fn decides(&self) -> Quantity {
        if self.is_open() { Quantity::P99 } else { Quantity::Throughput }
    }

    /// How much more B was by a quantity after each pair that counts: of that pair, and of all until then.
    pub fn course(&self, quantity: Quantity) -> Vec<(&Pair, Option<f64>, Option<Shift>)> {
        let counted: Vec<_> = self.pairs.iter().filter(|pair| pair.left_out.is_none()).collect();
        let mut differences = Vec::new();
        let mut course = Vec::new();
        for pair in counted {
            let difference = pair.difference(quantity);
            differences.extend(difference);
            course.push((pair, difference, Shift::of(&differences, LOOK)));
        }
        course
    }

    /// Whether requests are due in both settings whatever the server does, so that response times count.
    fn is_open(&self) -> bool {
        self.a.knobs.rate.is_some() && self.b.knobs.rate.is_some()
    }

    fn judged(&self, is_last: bool) -> Verdict {
        Verdict::of(&self.pairs, self.decides(), is_last)
    }

    fn turn(&mut self) -> Vec<Order> {
        let to = if self.side == Side::A { &self.a } else { &self.b };
        self.stand.turn(to)
    }

    fn end(&mut self, verdict: Verdict) -> Vec<Order> {
        self.conclude(verdict);
        self.stand.set_back()
    }

    fn conclude(&mut self, verdict: Verdict) {
        self.ending = Some(match verdict.judgement() {
            Judgement::Same | Judgement::Better => Ending::Done,
            Judgement::Worse => Ending::NotHeld(verdict.sentence()),
            Judgement::Undecided => Ending::Undecided(verdict.sentence()),
        });
        self.verdict = Some(verdict);
        self.block = None;
    }

    fn measure(&mut self, measured: &Interval) -> Vec<Order> {
        let Some(block) = &mut self.block else { return Vec::new() };
        if !block.take(measured, &self.plan) {
            return Vec::new();
        }
        let (is_whole, Some(part)) = (block.is_whole(), block.parts().last().cloned()) else {
            return Vec::new();
        };
        if let Some(before) = self.before.take() {
            self.pairs.push(self.pair(measured.t_s, &before, &part));
            let next_s = measured.t_s + 2.0 * self.plan.part_s + self.plan.settle_s;
            let is_last = next_s > self.end_s();
            let verdict = self.judged(is_last);
            if is_last || verdict.judgement() != Judgement::Undecided {
                return self.end(verdict);
            }
        }
        if !is_whole {
            return Vec::new();
        }
        self.before = Some(part);
        self.block = None;
        self.side = self.side.other();
        self.turn()
    }

    /// How many pairs there is time for.
    fn most_pairs(&self) -> usize {
        let block_s = 2.0 * self.plan.part_s + self.plan.settle_s;
        ((self.plan.limit_s - self.plan.part_s) / block_s).max(1.0) as usize
    }

    /// When it must end, in seconds of the session.
    fn end_s(&self) -> f64 {
        self.since_s.unwrap_or(0.0) + self.plan.limit_s
    }

    fn pair(&self, t_s: f64, before: &Interval, after: &Interval) -> Pair {
        let (a, b) = if self.side == Side::B { (before, after) } else { (after, before) };
        let is_spoilt = |part: &Interval| part.outage_s > 0.0 || !part.connections_lost.is_empty();
        let pair = Pair {
            pair: self.pairs.len() as u32 + 1,
            t_s,
            first: self.side.other(),
            a: Part::of(a, self.is_open()),
            b: Part::of(b, self.is_open()),
            left_out: None,
        };
        Pair { left_out: (is_spoilt(a) || is_spoilt(b)).then_some("connections were lost"), ..pair }
    }
}

impl Experiment for Ab {
    fn title(&self) -> String {
        match (self.a.words.as_str(), &self.b.words) {
            (Setting::AS_IT_IS, b) => format!("A/B {b}"),
            (a, b) => format!("A/B {a} | {b}"),
        }
    }

    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if self.is_over() {
            return Vec::new();
        }
        let mut orders = Vec::new();
        if let Some(now_s) = t_s(delivery) {
            if self.since_s.is_none() {
                self.since_s = Some(now_s);
                orders = self.turn();
            }
            if now_s > self.end_s() {
                return self.end(self.judged(true));
            }
        }
        match self.stand.see(delivery) {
            Seen::Nothing => {}
            Seen::Holds { since_s } => {
                let parts = if self.before.is_none() { 1 } else { 2 };
                self.block = Some(Block::new(since_s, parts, &self.plan));
            }
            Seen::Measured(interval) => orders.extend(self.measure(interval)),
            Seen::Lost(why) => orders.extend(self.interrupt(why)),
        }
        orders
    }

    fn stop(&mut self) -> Vec<Order> {
        if self.is_over() { Vec::new() } else { self.end(self.judged(true)) }
    }

    fn interrupt(&mut self, why: Interruption) -> Vec<Order> {
        if self.is_over() {
            return Vec::new();
        }
        self.conclude(self.judged(true));
        let orders = self.stand.set_back_after(&why);
        self.ending = Some(Ending::Interrupted(why));
        orders
    }

    fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    fn progress(&self) -> String {
        let side = self.side;
        let pair = self.pairs.len() + 1;
        format!("{side:?} holds, pair {pair} of {} at most; {}", self.most_pairs(), self.verdict().so_far())
    }

    fn drawn(&self) -> Drawn<'_> {
        Drawn::Pairs(self)
    }

    fn copied(&self) -> Box<dyn Experiment> {
        Box::new(self.clone())
    }

    fn report(&self) -> String {
        let limited = |pair: &Pair| pair.a.client_limit.clone().or(pair.b.client_limit.clone());
        let limited: Vec<_> = self.pairs.iter().filter_map(limited).collect();
        let client = limited.last().map_or_else(String::new, |why| {
            format!(
                "  {:<10} was the limit in {} of {} pairs: {why}\n",
                "client",
                limited.len(),
                self.pairs.len()
            )
        });
        self.verdict().report() + &client
    }
}
