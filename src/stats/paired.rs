//! Two settings that were measured in alternation: how far apart they are, and how sure that is.
//!
//! Each pair is a stretch of either setting, one right after the other; its difference is that of the logarithms. The
//! estimate is the median of all pairs' means with each other (Hodges and Lehmann, Annals of Mathematical Statistics 34,
//! 1963), and its interval goes from one of these means to another, as many from either end as the distribution of the
//! signed-rank sum allows (Tukey; Hollander and Wolfe, "Nonparametric Statistical Methods", 2nd ed. 1999, 3.2 to 3.4). One
//! stall in a pair decides nothing, and of the noise only its symmetry is presumed: the order of the settings alternates,
//! so a drift has either sign. Pure.

use super::{Better, comparison::TOUCHES};

/// The chance that the interval leaves out the truth, where pairs go on coming and are looked at again and again.
pub const LOOK: f64 = 0.005;
/// The same at the end. Both together call equal settings different in at most 5 of 100 runs; the tests count it.
pub const LAST: f64 = 0.025;
/// The smallest difference that is worth telling, as a share of the first setting.
const SMALLEST: f64 = 0.02;
/// At the end two settings are the same if no difference above this can be.
const CLOSE: f64 = 0.05;

/// How much more the second setting is, in logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The most likely value.
    pub estimate: f64,
    /// Its interval; without ends where there are too few pairs for one that is as sure as was asked.
    pub interval: Option<(f64, f64)>,
}

/// Which of two settings is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// The second.
    Better,
    /// The first.
    Worse,
    /// Neither, as far as it matters.
    Same,
    /// That cannot be said.
    Undecided,
}

impl Shift {
    /// Of differences of logarithms, a pair each; the interval leaves out the truth with the chance `outside`. `None`
    /// without pairs.
    pub fn of(differences: &[f64], outside: f64) -> Option<Self> {
        let mut means: Vec<_> = differences
            .iter()
            .enumerate()
            .flat_map(|(i, one)| differences[i..].iter().map(move |other| f64::midpoint(*one, *other)))
            .collect();
        means.sort_by(f64::total_cmp);
        let count = means.len();
        let last = count.checked_sub(1)?;
        let estimate = f64::midpoint(means[last / 2], means[count / 2]);
        let interval = left_out(differences.len(), outside).map(|n| (means[n], means[last - n]));
        Some(Self { estimate, interval })
    }

    /// Whether the second setting is better by this. `is_last` is whether no more pairs come.
    pub fn judge(self, better: Better, is_last: bool) -> Judgement {
        let Some((low, high)) = self.interval else { return Judgement::Undecided };
        // What is shown as 0.0 % is no end that leaves out zero.
        let is_one = share(low) >= TOUCHES || share(high) <= -TOUCHES;
        if is_one && share(self.estimate).abs() >= SMALLEST {
            let is_more = self.estimate > 0.0;
            return if is_more == (better == Better::Higher) { Judgement::Better } else { Judgement::Worse };
        }
        let close = if is_last { CLOSE } else { SMALLEST };
        if self.above().is_some_and(|above| above <= close) { Judgement::Same } else { Judgement::Undecided }
    }

    /// No difference above this share of the first setting can be.
    pub fn above(self) -> Option<f64> {
        self.interval.map(|(low, high)| share(low).abs().max(share(high).abs()))
    }

    /// The estimate as a share of the first setting: 0.1 is ten percent more.
    pub fn share(self) -> f64 {
        share(self.estimate)
    }

    /// The interval likewise.
    pub fn shares(self) -> Option<(f64, f64)> {
        self.interval.map(|(low, high)| (share(low), share(high)))
    }
}

fn share(logarithm: f64) -> f64 {
    logarithm.exp_m1()
}

/// How many of the ordered means lie outside the interval on either side, where it leaves out the truth with the chance
/// `outside` at most; `None` where even the widest is not as sure.
fn left_out(pairs: usize, outside: f64) -> Option<usize> {
    // How many of the 2^n ways to give the ranks signs make the positive ones add up to each sum, as shares of all.
    let mut ways = vec![1.0];
    for rank in 1..=pairs {
        let mut with = vec![0.0; ways.len() + rank];
        for (sum, way) in ways.iter().enumerate() {
            with[sum] += way / 2.0;
            with[sum + rank] += way / 2.0;
        }
        ways = with;
    }
    let mut below = 0.0;
    let is_inside = |way: &f64| {
        below += way;
        below <= outside / 2.0
    };
    ways.iter().map(is_inside).take_while(|inside| *inside).count().checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "3.8 % more (0.0 to 9)" was a difference.
    #[test]
    fn an_interval_that_touches_zero_is_no_difference() {
        let judged = |low, high| {
            let shift = Shift { estimate: f64::midpoint(low, high), interval: Some((low, high)) };
            shift.judge(Better::Higher, true)
        };
        assert_eq!(
            (judged(0.000_1, 0.09), judged(-0.09, -0.000_4)),
            (Judgement::Undecided, Judgement::Undecided)
        );
        assert_eq!((judged(0.001, 0.09), judged(-0.09, -0.001)), (Judgement::Better, Judgement::Worse));
    }

    #[test]
    fn the_intervals_are_those_of_the_tables() {
        // Hollander and Wolfe, table A.4: so many means are left out on each side for 95 % at most.
        for (pairs, out) in [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (15, 25), (20, 52)] {
            assert_eq!(left_out(pairs, 0.05), Some(out), "{pairs}");
        }
        assert_eq!((left_out(5, 0.05), left_out(8, LOOK)), (None, None));
        assert!(left_out(9, LOOK).is_some());
    }

    #[test]
    fn the_estimate_is_the_median_of_the_means_of_all_pairs() {
        let shift = Shift::of(&[1.0, 2.0, 9.0], LAST).unwrap();
        // 1, 1.5, 2, 5, 5.5, 9
        assert_eq!((shift.estimate, shift.interval), (3.5, None));
        assert_eq!(Shift::of(&[], LAST), None);
        assert_eq!(Shift::of(&[0.5], LAST).unwrap().estimate, 0.5);
    }

    fn judged(differences: &[f64], better: Better, is_last: bool) -> Judgement {
        Shift::of(differences, if is_last { LAST } else { LOOK }).unwrap().judge(better, is_last)
    }

    fn about(level: f64, spread: f64, pairs: usize) -> Vec<f64> {
        (0..pairs).map(|n| level + spread * [1.0, -0.5, -1.0, 0.5][n % 4]).collect()
    }

    #[test]
    fn one_stall_decides_nothing() {
        let mut pairs = about(0.0, 0.01, 20);
        pairs[5] = -3.0;
        assert_eq!(judged(&pairs, Better::Higher, false), Judgement::Same);
        pairs.iter_mut().for_each(|pair| *pair += 0.1_f64.ln_1p());
        assert_eq!(judged(&pairs, Better::Higher, false), Judgement::Better);
        assert_eq!(judged(&pairs, Better::Lower, false), Judgement::Worse);
    }

    #[test]
    fn what_is_sure_but_small_is_no_difference_and_what_is_unsure_is_not_called_one() {
        assert_eq!(judged(&about(0.012, 0.002, 12), Better::Higher, false), Judgement::Same);
        assert_eq!(judged(&about(0.0, 0.04, 12), Better::Higher, false), Judgement::Undecided);
        assert_eq!(judged(&about(0.0, 0.04, 12), Better::Higher, true), Judgement::Same, "within 5 %");
        assert_eq!(judged(&about(0.05, 0.4, 12), Better::Higher, true), Judgement::Undecided);
        assert_eq!(judged(&[0.5; 3], Better::Higher, true), Judgement::Undecided, "too few");
    }
}
