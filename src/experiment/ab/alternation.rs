//! Alternation: parts under one side and then the other become pairs, until what they say is clear or the time is over.

use super::{
    block::Block,
    driver::Plan,
    pair::{Pair, Part, Quantity, Side},
    verdict::Verdict,
};
use crate::{
    experiment::Ending,
    session::Interval,
    stats::paired::{Judgement, LOOK, Shift},
};

/// Which side is measured, and what was measured of both.
#[derive(Debug, Clone)]
pub(super) struct Alternation {
    plan: Plan,
    /// Whether requests are due on both sides whatever the server does, so that response times count.
    is_open: bool,
    side: Side,
    block: Option<Block>,
    /// The last part before the switch.
    before: Option<Interval>,
    /// When it began.
    since_s: Option<f64>,
    pairs: Vec<Pair>,
}

/// What a measurement brought.
pub(super) struct Taken {
    /// The parts of a pair that is whole now and counts, A's first.
    pub pair: Option<[Interval; 2]>,
    /// What is to be done.
    pub then: Then,
}

/// What is to be done after a measurement.
#[derive(Debug, PartialEq)]
pub(super) enum Then {
    /// Nothing: the side goes on.
    GoOn,
    /// The other side is to hold, which [`Alternation::side`] names now.
    Switch,
    /// It is over, and this came of it.
    End(Verdict),
}

impl Alternation {
    pub fn new(plan: Plan, is_open: bool) -> Self {
        Self { plan, is_open, side: Side::A, block: None, before: None, since_s: None, pairs: Vec::new() }
    }

    /// The side that holds, or is to.
    pub fn side(&self) -> Side {
        self.side
    }

    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// What decides.
    pub fn decides(&self) -> Quantity {
        if self.is_open { Quantity::P99 } else { Quantity::Throughput }
    }

    /// What the pairs so far say; `is_last` is whether no more come.
    pub fn judged(&self, is_last: bool) -> Verdict {
        Verdict::of(&self.pairs, self.decides(), is_last)
    }

    /// How much more B was by a quantity after each pair that counts: of that pair, and of all until then.
    pub fn course(&self, quantity: Quantity) -> Vec<(&Pair, Option<f64>, Option<Shift>)> {
        let mut differences = Vec::new();
        let mut course = Vec::new();
        for pair in self.pairs.iter().filter(|pair| pair.left_out.is_none()) {
            let difference = pair.difference(quantity);
            differences.extend(difference);
            course.push((pair, difference, Shift::of(&differences, LOOK)));
        }
        course
    }

    /// It goes on at `now_s` of the session; whether it begins with that.
    pub fn begins(&mut self, now_s: f64) -> bool {
        let begins = self.since_s.is_none();
        self.since_s.get_or_insert(now_s);
        begins
    }

    /// Whether there is no time left at `now_s`.
    pub fn is_late(&self, now_s: f64) -> bool {
        now_s > self.end_s()
    }

    /// When it must end, in seconds of the session.
    fn end_s(&self) -> f64 {
        self.since_s.unwrap_or(0.0) + self.plan.limit_s
    }

    /// How many pairs there is time for.
    pub fn most_pairs(&self) -> usize {
        let block_s = 2.0 * self.plan.part_s + self.plan.settle_s;
        ((self.plan.limit_s - self.plan.part_s) / block_s).max(1.0) as usize
    }

    /// The side that is to hold does, since `since_s` on the clock of what is measured of it.
    pub fn holds(&mut self, since_s: f64) {
        let parts = if self.before.is_none() { 1 } else { 2 };
        self.block = Some(Block::new(since_s, parts, &self.plan));
    }

    /// Nothing more is measured.
    pub fn end(&mut self) {
        self.block = None;
    }

    /// Takes what was measured of the side that holds; the session is at `now_s`.
    pub fn take(&mut self, measured: &Interval, now_s: f64) -> Taken {
        let nothing = Taken { pair: None, then: Then::GoOn };
        let Some(block) = &mut self.block else { return nothing };
        if !block.take(measured, &self.plan) {
            return nothing;
        }
        let (is_whole, Some(part)) = (block.is_whole(), block.parts().last().cloned()) else {
            return nothing;
        };
        let mut counted = None;
        if let Some(before) = self.before.take() {
            let parts = if self.side == Side::B { [before, part.clone()] } else { [part.clone(), before] };
            let pair = self.pair(now_s, &parts);
            counted = pair.left_out.is_none().then_some(parts);
            self.pairs.push(pair);
            let is_last = self.is_late(now_s + 2.0 * self.plan.part_s + self.plan.settle_s);
            let verdict = self.judged(is_last);
            if is_last || verdict.judgement() != Judgement::Undecided {
                return Taken { pair: counted, then: Then::End(verdict) };
            }
        }
        if !is_whole {
            return Taken { pair: counted, then: Then::GoOn };
        }
        self.before = Some(part);
        self.block = None;
        self.side = self.side.other();
        Taken { pair: counted, then: Then::Switch }
    }

    fn pair(&self, t_s: f64, [a, b]: &[Interval; 2]) -> Pair {
        let is_spoilt = |part: &Interval| part.outage_s > 0.0 || !part.connections_lost.is_empty();
        Pair {
            pair: self.pairs.len() as u32 + 1,
            t_s,
            first: self.side.other(),
            a: Part::of(a, self.is_open),
            b: Part::of(b, self.is_open),
            left_out: (is_spoilt(a) || is_spoilt(b)).then_some("connections were lost"),
        }
    }

    /// In how many pairs redyno itself was the limit, and why in the last of them; nothing where it was in none.
    pub fn client_limit(&self) -> String {
        let limited = |pair: &Pair| pair.a.client_limit.clone().or(pair.b.client_limit.clone());
        let limited: Vec<_> = self.pairs.iter().filter_map(limited).collect();
        let (times, of) = (limited.len(), self.pairs.len());
        limited
            .last()
            .map_or_else(String::new, |why| format!("was the limit in {times} of {of} pairs: {why}"))
    }
}

impl Ending {
    /// What a verdict that is the last word means.
    pub(super) fn of(verdict: &Verdict) -> Self {
        match verdict.judgement() {
            Judgement::Same | Judgement::Better => Self::Done,
            Judgement::Worse => Self::NotHeld(verdict.sentence()),
            Judgement::Undecided => Self::Undecided(verdict.sentence()),
        }
    }
}
