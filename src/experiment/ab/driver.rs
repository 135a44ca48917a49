//! The driver: which setting holds when, and when it is enough.

use std::time::Duration;

use super::{
    alternation::{Alternation, Taken, Then},
    pair::{Pair, Quantity, Side},
    verdict::Verdict,
};
use crate::{
    experiment::{
        Drawn, Ending, Experiment, Interruption, Setting,
        stand::{Seen, Stand},
        t_s,
    },
    session::{Delivery, Interval, Order},
    stats::paired::Shift,
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

impl Plan {
    /// The same with parts of this length, if one was given.
    pub fn with_parts_of(self, length: Option<Duration>) -> Self {
        let part_s = length.map_or(self.part_s, |length| length.as_secs_f64());
        Self { part_s, longest_part_s: self.longest_part_s.max(part_s), ..self }
    }
}

/// Two settings in alternation.
#[derive(Debug, Clone)]
pub struct Ab {
    a: Setting,
    b: Setting,
    stand: Stand,
    alternation: Alternation,
    verdict: Option<Verdict>,
    ending: Option<Ending>,
}

impl Ab {
    /// An experiment with `a` and `b`; with its first delivery it puts `a` in force.
    pub fn new(a: Setting, b: Setting, plan: Plan) -> Self {
        let is_open = a.knobs.rate.is_some() && b.knobs.rate.is_some();
        Self {
            a,
            b,
            stand: Stand::default(),
            alternation: Alternation::new(plan, is_open),
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
        self.alternation.pairs()
    }

    /// What the pairs so far say; the last word once it [is over](Experiment::is_over).
    pub fn verdict(&self) -> Verdict {
        self.verdict.clone().unwrap_or_else(|| self.alternation.judged(false))
    }

    /// What decides.
    pub fn decides(&self) -> Quantity {
        self.alternation.decides()
    }

    /// How much more B was by a quantity after each pair that counts: of that pair, and of all until then.
    pub fn course(&self, quantity: Quantity) -> Vec<(&Pair, Option<f64>, Option<Shift>)> {
        self.alternation.course(quantity)
    }

    fn turn(&mut self) -> Vec<Order> {
        let to = if self.alternation.side() == Side::A { &self.a } else { &self.b };
        self.stand.turn(to)
    }

    fn end(&mut self, verdict: Verdict) -> Vec<Order> {
        self.conclude(verdict);
        self.stand.set_back()
    }

    fn end_as_it_is(&mut self) -> Vec<Order> {
        self.end(self.alternation.judged(true))
    }

    fn conclude(&mut self, verdict: Verdict) {
        self.ending = Some(Ending::of(&verdict));
        self.verdict = Some(verdict);
        self.alternation.end();
    }

    fn measure(&mut self, measured: &Interval) -> Vec<Order> {
        let Taken { then, .. } = self.alternation.take(measured, measured.t_s);
        match then {
            Then::GoOn => Vec::new(),
            Then::Switch => self.turn(),
            Then::End(verdict) => self.end(verdict),
        }
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
            if self.alternation.begins(now_s) {
                orders = self.turn();
            }
            if self.alternation.is_late(now_s) {
                return self.end_as_it_is();
            }
        }
        match self.stand.see(delivery) {
            Seen::Nothing => {}
            Seen::Holds { since_s } => self.alternation.holds(since_s),
            Seen::Measured(interval) => orders.extend(self.measure(interval)),
            Seen::Lost(why) => orders.extend(self.interrupt(why)),
        }
        orders
    }

    fn stop(&mut self) -> Vec<Order> {
        if self.is_over() { Vec::new() } else { self.end_as_it_is() }
    }

    fn interrupt(&mut self, why: Interruption) -> Vec<Order> {
        if self.is_over() {
            return Vec::new();
        }
        self.conclude(self.alternation.judged(true));
        let orders = self.stand.set_back_after(&why);
        self.ending = Some(Ending::Interrupted(why));
        orders
    }

    fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    fn progress(&self) -> String {
        let (side, pair) = (self.alternation.side(), self.pairs().len() + 1);
        let most = self.alternation.most_pairs();
        format!("{side:?} holds, pair {pair} of {most} at most; {}", self.verdict().so_far())
    }

    fn drawn(&self) -> Drawn<'_> {
        Drawn::Pairs(self)
    }

    fn copied(&self) -> Box<dyn Experiment> {
        Box::new(self.clone())
    }

    fn report(&self) -> String {
        let client = match self.alternation.client_limit() {
            limit if limit.is_empty() => limit,
            limit => format!("  {:<10} {limit}\n", "client"),
        };
        self.verdict().report() + &client
    }
}
