//! A stretch under one setting: what is left out after the switch, then a part for the pair before and one for the next.

use super::Plan;
use crate::{
    experiment::stretch::{ENOUGH_FOR_P99, Stretch},
    session::Interval,
};

/// A block and its parts.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// How many parts it has at its end.
    wanted: usize,
    /// The whole parts, in order.
    parts: Vec<Interval>,
    filling: Stretch,
}

impl Block {
    /// One of so many parts under a setting that holds since `since_s`.
    pub(super) fn new(since_s: f64, wanted: usize, plan: &Plan) -> Self {
        Self { wanted, parts: Vec::new(), filling: Stretch::after_backlog(since_s, plan.settle_s) }
    }

    /// Takes what was measured next; whether a part is whole now.
    pub(super) fn take(&mut self, measured: &Interval, plan: &Plan) -> bool {
        if !self.filling.take(measured) {
            return false;
        }
        let latencies = self.filling.measured().response.as_ref();
        let is_enough = latencies.is_none_or(|response| response.count() >= ENOUGH_FOR_P99)
            || self.filling.has(plan.longest_part_s);
        if !self.filling.has(plan.part_s) || !is_enough {
            return false;
        }
        self.parts.push(self.filling.next());
        true
    }

    /// Whether it has all its parts.
    pub(super) fn is_whole(&self) -> bool {
        self.parts.len() >= self.wanted
    }

    /// The parts that are whole.
    pub(super) fn parts(&self) -> &[Interval] {
        &self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::repeated;

    const PLAN: Plan = Plan { settle_s: 1.0, part_s: 3.0, longest_part_s: 10.0, limit_s: 170.0 };

    fn quarter(n: u32) -> Interval {
        Interval { t_s: 7.0 + f64::from(n + 1) * 0.25, length_s: 0.25, ops: 10, ..Interval::default() }
    }

    #[test]
    fn the_first_second_is_left_out_and_the_rest_is_in_parts() {
        let mut block = Block::new(7.0, 2, &PLAN);
        let whole: Vec<_> = (0..30).filter(|n| block.take(&quarter(*n), &PLAN)).collect();
        assert_eq!(whole, [15, 27]);
        assert_eq!(block.parts().iter().map(|part| part.ops).collect::<Vec<_>>(), [120, 120]);
        assert_eq!((block.parts()[0].t_s, block.is_whole()), (11.0, true));
    }

    #[test]
    fn under_a_rate_a_part_waits_for_the_backlog_of_before_and_for_enough_latencies() {
        let open =
            |n, behind_us, count| Interval { behind_us, response: Some(repeated(5, count)), ..quarter(n) };
        let ends = |behind: fn(u32) -> u64, count| {
            let mut block = Block::new(7.0, 2, &PLAN);
            (0..100).find(|n| block.take(&open(*n, behind(*n), count), &PLAN))
        };
        assert_eq!(ends(|_| 0, 1000), Some(15));
        assert_eq!(ends(|n| if n < 8 { 500_000 } else { 300 }, 1000), Some(19));
        assert_eq!(ends(|_| 500_000, 1000), Some(31), "it is its own");
        assert_eq!(ends(|_| 0, 50), Some(4 + 21));
        assert_eq!(ends(|_| 0, 5), Some(4 + 39), "too slow to tell");
    }
}
