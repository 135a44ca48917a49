//! Searches for the highest load at which the latency stays within a limit. The result of a single trial may be wrong.
//!
//! ```text
//!  load   ├──────────────────────────●────────○──────┤
//!                               lower bound  upper bound     short trials narrow the bounds, full trials confirm them
//! ```
//! Loads are classified as in MLRsearch (RFC 9971, 6 and appendix A). The full trials at a load last 6 s in all
//! (`WHOLE_S`). At most half of this time (`EXCEED`) may be bad. If more of the time is bad, the load is an upper
//! bound. A load is a lower bound if the bad share cannot exceed `EXCEED` any more, even if all missing trials are bad.
//! A good short trial cancels a bad short trial. Only bad full trials make an upper bound. In the RFC, a trial is bad
//! if packets are lost. Here, a trial is bad if a percentile exceeds its limit. The tests verify how often the search
//! finds the true value.

/// The share of bad time that a lower bound may have.
const EXCEED: f64 = 0.5;
/// The total length of the full trials that determine the class of a load, in seconds.
const WHOLE_S: f64 = 6.0;
/// The length of a short trial, in seconds.
pub const SHORT_S: f64 = 1.0;
/// The length of a full trial, in seconds.
pub const FULL_S: f64 = 3.0;
/// The largest relative distance between the final bounds. The first value is the usual distance. The second value
/// applies after [`Search::close`].
const WIDTH: (f64, f64) = (0.02, 0.05);
/// The first load of a search, as a share of the guess. The guess is a load that is assumed to exceed the limit.
const FIRST: f64 = 0.9;
/// If the load falls below this share of the guess, the search ends without a result.
const LEAST: f64 = 0.01;
/// If the guess was too low, the next load is higher by this factor.
const RAISE: f64 = 1.05;

/// A trial to be run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// The load of the trial.
    pub load: f64,
    /// Whether the trial is a full trial.
    pub is_full: bool,
}

impl Trial {
    /// Returns the length of the trial, in seconds.
    pub fn length_s(self) -> f64 {
        if self.is_full { FULL_S } else { SHORT_S }
    }
}

/// The next step of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SearchStep {
    /// Run this trial.
    Trial(Trial),
    /// The search is over, because both bounds are confirmed and close enough to each other.
    Found,
    /// The search is over, because no load meets the limit.
    Nothing,
}

/// The total length of the good and bad trials at one load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trials {
    /// The load of the trials.
    pub load: f64,
    /// The length of good short trials, in seconds.
    pub short_good_s: f64,
    /// The length of bad short trials, in seconds.
    pub short_bad_s: f64,
    /// The length of good full trials, in seconds.
    pub full_good_s: f64,
    /// The length of bad full trials, in seconds.
    pub full_bad_s: f64,
}

/// The class of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Undecided,
}

impl Trials {
    fn new(load: f64) -> Self {
        Self { load, short_good_s: 0.0, short_bad_s: 0.0, full_good_s: 0.0, full_bad_s: 0.0 }
    }

    fn class(&self) -> Class {
        let balancing_s = self.short_good_s * EXCEED / (1.0 - EXCEED);
        let bad_s = self.full_bad_s + (self.short_bad_s - balancing_s).max(0.0);
        let whole_s = (self.full_good_s + bad_s).max(WHOLE_S);
        let may_be_bad_s = whole_s * EXCEED;
        match () {
            () if whole_s - self.full_good_s <= may_be_bad_s => Class::Lower,
            () if self.full_bad_s > may_be_bad_s => Class::Upper,
            () => Class::Undecided,
        }
    }

    /// Returns whether this load seems to meet the limit.
    fn seems_good(&self) -> bool {
        match self.class() {
            Class::Lower => true,
            Class::Upper => false,
            Class::Undecided => {
                let good_s = self.short_good_s + self.full_good_s;
                good_s > 0.0 && good_s >= self.short_bad_s + self.full_bad_s
            }
        }
    }

    /// Returns whether the load was never tried.
    fn is_untried(&self) -> bool {
        self.short_good_s + self.full_good_s + self.short_bad_s + self.full_bad_s <= 0.0
    }

    /// Returns whether the load has a single bad short trial and no other trial. The search then repeats this trial,
    /// because a disturbance may have made the trial bad.
    fn is_doubtful(&self) -> bool {
        let others_s = self.short_good_s + self.full_good_s + self.full_bad_s;
        others_s <= 0.0 && self.short_bad_s > 0.0 && self.short_bad_s <= SHORT_S
    }
}

/// A search in progress.
#[derive(Debug, Clone)]
pub struct Search {
    /// The results by load, ascending.
    seen: Vec<Trials>,
    least: f64,
    is_closing: bool,
}

impl Search {
    /// Starts a search below `guess`, a load that is assumed to exceed the limit. All loads of the search are whole
    /// numbers.
    pub fn new(guess: f64) -> Self {
        Self { seen: vec![Trials::new(guess)], least: (guess * LEAST).max(1.0), is_closing: false }
    }

    /// Counts a trial as good or bad. A disturbed trial must not be counted. The caller must repeat a disturbed trial.
    pub fn count(&mut self, trial: Trial, is_good: bool) {
        let at = self.seen.partition_point(|seen| seen.load < trial.load);
        if self.seen.get(at).is_none_or(|seen| seen.load > trial.load) {
            self.seen.insert(at, Trials::new(trial.load));
        }
        let seen = &mut self.seen[at];
        let time_s = match (trial.is_full, is_good) {
            (false, true) => &mut seen.short_good_s,
            (false, false) => &mut seen.short_bad_s,
            (true, true) => &mut seen.full_good_s,
            (true, false) => &mut seen.full_bad_s,
        };
        *time_s += trial.length_s();
    }

    /// Allows a larger distance between the final bounds, which shortens the rest of the search.
    pub fn close(&mut self) {
        self.is_closing = true;
    }

    fn is_near(&self, good: &Trials, bad: &Trials) -> bool {
        let width = if self.is_closing { WIDTH.1 } else { WIDTH.0 };
        bad.load - good.load <= (width * bad.load).max(1.0)
    }

    /// Returns two neighbouring loads. The second load is the lowest load that seems bad. The first load is the next
    /// lower load with a trial.
    fn nearest(&self) -> (Option<&Trials>, Option<&Trials>) {
        let bad = self.seen.iter().position(|seen| !seen.seems_good());
        let good = bad.unwrap_or(self.seen.len()).checked_sub(1);
        (good.map(|at| &self.seen[at]), bad.map(|at| &self.seen[at]))
    }

    /// Returns the next step.
    pub fn next(&self) -> SearchStep {
        let short = |load: f64| SearchStep::Trial(Trial { load: load.round(), is_full: false });
        let full = |load| SearchStep::Trial(Trial { load, is_full: true });
        match self.nearest() {
            (_, Some(bad)) if bad.is_doubtful() => short(bad.load),
            (None, Some(bad)) if bad.is_untried() && bad.load > 1.0 => {
                short((bad.load * FIRST).min(bad.load - 1.0))
            }
            (None, Some(bad)) if bad.is_untried() => short(bad.load),
            (None, Some(bad)) if bad.load <= self.least => SearchStep::Nothing,
            (None, Some(bad)) => short(bad.load / 2.0),
            (Some(good), None) => short((good.load * RAISE).max(good.load + 1.0)),
            (Some(good), Some(bad)) if !self.is_near(good, bad) => {
                let is_wide = bad.load > 2.0 * good.load;
                short(if is_wide {
                    (good.load * bad.load).sqrt()
                } else {
                    f64::midpoint(good.load, bad.load)
                })
            }
            (Some(good), Some(_)) if good.class() != Class::Lower => full(good.load),
            (Some(_), Some(bad)) if bad.class() != Class::Upper => full(bad.load),
            (Some(_), Some(_)) => SearchStep::Found,
            // This never happens, because a search begins with one load.
            (None, None) => SearchStep::Nothing,
        }
    }

    /// Returns the highest load that seems to meet the limit, and the next higher load, which seems to exceed the
    /// limit. Returns `None` for a load without a trial.
    pub fn near(&self) -> (Option<f64>, Option<f64>) {
        let (good, bad) = self.nearest();
        let bad = bad.filter(|seen| !seen.is_untried());
        (good.map(|seen| seen.load), bad.map(|seen| seen.load))
    }

    /// Returns the highest load that is a lower bound and is below all upper bounds.
    pub fn lower(&self) -> Option<&Trials> {
        let upper = self.upper().map_or(f64::INFINITY, |upper| upper.load);
        self.seen.iter().rev().find(|seen| seen.load < upper && seen.class() == Class::Lower)
    }

    /// Returns the lowest load that is an upper bound.
    pub fn upper(&self) -> Option<&Trials> {
        self.seen.iter().find(|seen| seen.class() == Class::Upper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::simulated::{NoiseKind, NoiseSource};

    /// Searches from `guess`. `is_good` decides the result of each trial. Returns the result of the search, and the
    /// total length of the trials in seconds.
    fn search(guess: f64, mut is_good: impl FnMut(Trial) -> bool) -> (Option<(f64, f64)>, f64) {
        let (mut search, mut took_s) = (Search::new(guess), 0.0);
        for _ in 0..100 {
            match search.next() {
                SearchStep::Trial(trial) => {
                    took_s += trial.length_s();
                    search.count(trial, is_good(trial));
                }
                SearchStep::Found => {
                    return (search.lower().zip(search.upper()).map(|(l, u)| (l.load, u.load)), took_s);
                }
                SearchStep::Nothing => return (None, took_s),
            }
        }
        panic!("it does not end: {search:?}");
    }

    #[test]
    fn any_limit_is_found_between_two_bounds() {
        for truth in [11.0, 40.0, 333.0, 640.0, 980.0, 1000.0, 1100.0, 1500.0] {
            let (found, took_s) = search(1000.0, |trial| trial.load <= truth);
            let (lower, upper) = found.unwrap();
            assert!(
                lower <= truth && truth < upper && upper - lower <= (WIDTH.0 * upper).max(1.0),
                "{truth}: {lower} {upper}"
            );
            assert!(took_s <= 40.0, "{truth}: {took_s} s");
        }
        assert_eq!(search(1000.0, |_| false).0, None);
    }

    #[test]
    fn the_first_load_is_nine_tenths_of_the_guess_and_a_bad_first_trial_is_repeated() {
        let mut search = Search::new(1000.0);
        let first = Trial { load: 900.0, is_full: false };
        assert_eq!(search.next(), SearchStep::Trial(first));
        search.count(first, false);
        assert_eq!(search.next(), SearchStep::Trial(first));
        search.count(first, true);
        assert!(matches!(search.next(), SearchStep::Trial(trial) if trial.load > first.load));
        assert_eq!(Search::new(1.0).next(), SearchStep::Trial(Trial { load: 1.0, is_full: false }));
    }

    /// An earlier version ended a slow search with only a lower bound. The earlier version thus reported a result
    /// without a trial at a higher load.
    #[test]
    fn a_result_needs_a_bad_full_trial_at_a_higher_load() {
        for is_closing in [false, true] {
            let (mut search, mut full_bad) = (Search::new(1000.0), false);
            for _ in 0..100 {
                let SearchStep::Trial(trial) = search.next() else { break };
                let is_good = trial.load <= 970.0;
                full_bad |= trial.is_full && !is_good;
                search.count(trial, is_good);
                if is_closing {
                    search.close();
                }
            }
            assert_eq!((search.next(), full_bad), (SearchStep::Found, true));
            let (lower, upper) = (search.lower().unwrap().load, search.upper().unwrap().load);
            let width = if is_closing { WIDTH.1 } else { WIDTH.0 };
            assert!(lower <= 970.0 && upper > 970.0 && upper - lower <= width * upper, "{lower} {upper}");
        }
        let mut search = Search::new(10.0);
        (0..8).for_each(|_| search.count(Trial { load: 5.0, is_full: false }, false));
        assert_eq!(search.upper(), None, "short trials alone");
    }

    #[test]
    fn one_full_trial_makes_a_lower_bound_and_several_make_an_upper_bound() {
        let (mut search, full) = (Search::new(10.0), Trial { load: 5.0, is_full: true });
        search.count(full, true);
        assert_eq!((search.lower().map(|seen| seen.load), search.upper()), (Some(5.0), None));
        search.count(full, false);
        assert_eq!(search.lower().map(|seen| seen.load), Some(5.0), "half of the time may be bad");
        search.count(full, false);
        assert_eq!((search.lower(), search.upper().map(|seen| seen.load)), (None, Some(5.0)));
    }

    /// Near the limit, trials are good or bad at random. A stall makes one or three of ten trials bad at any load.
    #[test]
    fn the_limit_is_found_even_if_some_trials_are_wrong() {
        for (stall_from, least) in [(1.28, 195), (0.52, 170)] {
            let (mut near, mut took) = (0, Vec::new());
            for run in 0..200 {
                let noise = NoiseSource::new(run).run(NoiseKind::Repeats(0.0), 400);
                let mut noise = noise.into_iter();
                let (found, took_s) = search(1000.0, |trial| {
                    let (jitter, stall) = (noise.next().unwrap(), noise.next().unwrap());
                    trial.load * (1.0 + 0.01 * jitter) <= 800.0 && stall < stall_from
                });
                near += u32::from(found.is_some_and(|(lower, _)| (lower / 800.0 - 1.0).abs() <= 0.05));
                took.push(took_s);
            }
            took.sort_by(f64::total_cmp);
            assert!(near >= least, "{near} of 200");
            assert!(took[100] < 35.0 && took[190] < 80.0, "{} {} {}", took[100], took[190], took[199]);
        }
    }
}
