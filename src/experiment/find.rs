//! Find: the highest rate that holds a limit of the response time.
//!
//! ```text
//!  peak: a closed loop ─► search ─► trials: short, then full ─► the bounds are firm ─► a full trial at what was found
//!                           ▲                │ held, or not
//!                           └────────────────┘
//! ```
//! What a closed loop reaches is more than any rate can. A trial holds the limit if the response times do, all that was due
//! was answered, and nothing failed.

use super::{
    Bounds, Dimension, Drawn, Ending, Experiment, Interruption, Limit, Setting,
    stand::{Seen, Stand},
    stretch::Stretch,
    t_s,
};
use crate::{
    diagnose::ClientLimit,
    happening::{Found, Happening},
    load::{Arrivals, Knob, Knobs},
    session::{Delivery, Interval, Order},
    stats::search::{Next, Outcome, Search, Trial},
    units,
};

/// What is left out of the closed loop, and how long it is.
const PEAK_S: (f64, f64) = (1.0, 2.0);
/// What is left out of a trial at least, and at most where requests of the one before are still in flight.
const SETTLE_S: (f64, f64) = (0.5, 5.0);
/// A full trial waits so long for enough latencies to tell the level of the limit.
const LONGEST_S: f64 = 10.0;
/// After so long only a rate that seems to hold the limit is tried, until that is firm.
const CLOSE_S: f64 = 45.0;
/// After so long it ends with what it has.
const LIMIT_S: f64 = 170.0;
/// The share of what was due that must be answered.
const ACHIEVED: f64 = 0.99;

/// What is being measured.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// What the server can at all.
    Peak,
    /// A trial of a rate.
    Trial(Trial),
}

/// A trial that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// When it ended, in seconds of the session.
    pub t_s: f64,
    /// Requests per second that were due.
    pub rate: u32,
    /// Whether it was a full one.
    pub is_full: bool,
    /// Whether the limit held.
    pub is_held: bool,
    /// Why redyno itself was the limit, if it was.
    pub client_limit: Option<String>,
}

/// The search for the highest rate.
#[derive(Debug, Clone)]
pub struct Find {
    limit: Limit,
    base: Knobs,
    stand: Stand,
    phase: Phase,
    stretch: Option<Stretch>,
    search: Option<Search>,
    tried: Vec<Tried>,
    /// How long the slowest requests took lately, in seconds.
    in_flight_s: f64,
    since_s: Option<f64>,
    found: Option<Found>,
    ending: Option<Ending>,
}

impl Find {
    /// A search with these knobs, but for the rate.
    pub fn new(limit: Limit, knobs: Knobs) -> Self {
        Self {
            limit,
            base: knobs,
            stand: Stand::default(),
            phase: Phase::Peak,
            stretch: None,
            search: None,
            tried: Vec::new(),
            in_flight_s: 0.0,
            since_s: None,
            found: None,
            ending: None,
        }
    }

    /// The trials so far.
    pub fn tried(&self) -> &[Tried] {
        &self.tried
    }

    /// The highest rate for which the limit holds for certain, and the lowest for which it does not, as far as that is known.
    pub fn bounds(&self) -> (Option<u32>, Option<u32>) {
        let rate = |seen: Option<&crate::stats::search::Seen>| seen.map(|seen| seen.load as u32);
        let search = self.search.as_ref();
        (rate(search.and_then(Search::lower)), rate(search.and_then(Search::upper)))
    }

    /// The same as far as trials have shown yet, of which some may have been wrong.
    pub fn narrowing(&self) -> (Option<u32>, Option<u32>) {
        let (lower, upper) = self.search.as_ref().map_or((None, None), Search::near);
        (lower.map(|load| load as u32), upper.map(|load| load as u32))
    }

    /// What was found.
    pub fn found(&self) -> Option<&Found> {
        self.found.as_ref()
    }

    fn turn(&mut self, phase: Phase) -> Vec<Order> {
        self.phase = phase;
        self.stretch = None;
        let rate = match phase {
            Phase::Peak => None,
            Phase::Trial(trial) => Some(trial.load as u32),
        };
        self.stand.turn(&Setting::of(Knobs { rate, ..self.base.clone() }))
    }

    fn settle_s(&self) -> f64 {
        match self.phase {
            Phase::Peak => PEAK_S.0,
            Phase::Trial(_) => (2.0 * self.in_flight_s).clamp(SETTLE_S.0, SETTLE_S.1),
        }
    }

    fn measure(&mut self, interval: &Interval) -> Vec<Order> {
        let Some(stretch) = &mut self.stretch else { return Vec::new() };
        stretch.take(interval);
        let is_enough = |stretch: &Stretch| {
            let response = stretch.measured().response.as_ref();
            stretch.has(LONGEST_S) || response.is_none_or(|response| response.count() >= self.limit.enough())
        };
        let is_whole = match self.phase {
            Phase::Peak => stretch.has(PEAK_S.1),
            Phase::Trial(trial) => stretch.has(trial.length_s()) && (!trial.is_full || is_enough(stretch)),
        };
        if !is_whole {
            return Vec::new();
        }
        let measured = stretch.measured().clone();
        self.in_flight_s = measured.service.value_at_quantile(0.99) as f64 / 1e9;
        match self.phase {
            Phase::Peak => {
                // Loads are whole numbers, and no rate is higher than its knob.
                let peak = measured.ops_per_s.round().clamp(1.0, f64::from(u32::MAX));
                self.search = Some(Search::new(peak));
                self.next()
            }
            Phase::Trial(trial) => self.judge(trial, &measured),
        }
    }

    fn judge(&mut self, trial: Trial, measured: &Interval) -> Vec<Order> {
        let rate = trial.load as u32;
        let response = measured.response.clone().unwrap_or_default();
        let due = trial.load * measured.length_s;
        // A Poisson process of n has a standard deviation of its square root.
        let by_chance = if self.base.arrivals == Arrivals::Poisson { 3.0 * due.sqrt() } else { 0.0 };
        let is_achieved = measured.ops as f64 >= due * ACHIEVED - by_chance - 1.0;
        let outcome = match () {
            () if !is_achieved => Outcome::TooMuch,
            () if self.limit.holds(&response) && measured.errors.is_empty() => Outcome::Good,
            () => Outcome::Bad,
        };
        let is_held = outcome == Outcome::Good;
        if let Some(search) = &mut self.search {
            search.count(trial, outcome);
        }
        let client_limit = ClientLimit::of(measured).map(|limit| limit.to_string());
        self.tried.push(Tried { t_s: measured.t_s, rate, is_full: trial.is_full, is_held, client_limit });
        let told = Happening::Tried {
            rate,
            length_s: measured.length_s,
            is_held,
            limit: self.limit.to_string(),
            level_us: self.limit.level_us(&response),
            ops_per_s: measured.ops_per_s,
        };
        let next = self.next();
        [Order::Tell(told)].into_iter().chain(next).collect()
    }

    fn next(&mut self) -> Vec<Order> {
        let Some(search) = &self.search else { return Vec::new() };
        match search.next() {
            Next::Trial(trial) => self.turn(Phase::Trial(trial)),
            Next::Found => {
                // The last segment is the answer.
                let lower = search.lower().map(|seen| seen.load);
                let is_there = matches!(self.phase, Phase::Trial(trial) if Some(trial.load) == lower);
                match lower.filter(|_| !is_there) {
                    Some(load) => self.turn(Phase::Trial(Trial { load, is_full: true })),
                    None => self.end(None),
                }
            }
            Next::Nothing => self.end(None),
        }
    }

    /// Ends with what was found, or because of an interruption.
    fn end(&mut self, interruption: Option<Interruption>) -> Vec<Order> {
        let limit = self.limit.to_string();
        let is_nothing = self.search.as_ref().is_some_and(|search| search.next() == Next::Nothing);
        self.stretch = None;
        if let (Some(value), upper) = self.bounds() {
            let knob = "rate".to_owned();
            let found =
                Found { knob, value: value.into(), lower: value.into(), upper: upper.map(u64::from), limit };
            self.found = Some(found.clone());
            self.ending = Some(interruption.map_or(Ending::Done, Ending::Interrupted));
            return vec![Order::Tell(Happening::Found { found })];
        }
        self.ending = Some(match interruption {
            Some(interruption) => Ending::Interrupted(interruption),
            None if is_nothing => Ending::NotHeld(format!("{limit} holds for no rate")),
            None => Ending::Undecided(format!("whether {limit} holds for any rate is not clear")),
        });
        if is_nothing {
            vec![Order::Tell(Happening::NothingFound { knob: "rate".to_owned(), limit })]
        } else {
            Vec::new()
        }
    }
}

impl Experiment for Find {
    fn title(&self) -> String {
        format!("find {}", self.limit)
    }

    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if self.is_over() {
            return Vec::new();
        }
        let mut orders = Vec::new();
        if let Some(now_s) = t_s(delivery) {
            if self.since_s.is_none() {
                self.since_s = Some(now_s);
                orders = self.turn(Phase::Peak);
            }
            let passed_s = self.since_s.map_or(0.0, |since_s| now_s - since_s);
            if passed_s > LIMIT_S {
                return self.end(None);
            }
            if let Some(search) = self.search.as_mut().filter(|_| passed_s > CLOSE_S) {
                search.close();
            }
        }
        match self.stand.see(delivery) {
            Seen::Nothing => {}
            Seen::Holds { since_s } => self.stretch = Some(Stretch::from(since_s + self.settle_s())),
            Seen::Measured(interval) => orders.extend(self.measure(interval)),
            Seen::Lost(interruption) => orders.extend(self.end(Some(interruption))),
        }
        orders
    }

    fn stop(&mut self) -> Vec<Order> {
        if self.is_over() {
            return Vec::new();
        }
        let mut orders = self.end(None);
        orders.extend(self.stand.set_back());
        orders
    }

    fn interrupt(&mut self, why: Interruption) -> Vec<Order> {
        if self.is_over() { Vec::new() } else { self.end(Some(why)) }
    }

    fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    fn progress(&self) -> String {
        let rate = |rate: u32| units::rate(rate.into());
        let now = match self.phase {
            Phase::Peak => "as fast as it can".to_owned(),
            Phase::Trial(trial) => {
                format!("trial {}, {}", self.tried.len() + 1, rate(trial.load as u32))
            }
        };
        let known = match self.narrowing() {
            (Some(lower), Some(upper)) => format!("; it holds for {}, not for {}", rate(lower), rate(upper)),
            (Some(lower), None) => format!("; it holds for {}", rate(lower)),
            (None, Some(upper)) => format!("; not for {}", rate(upper)),
            (None, None) => String::new(),
        };
        format!("{now}{known}")
    }

    fn drawn(&self) -> Drawn<'_> {
        let (lower, upper) = if self.is_over() { self.bounds() } else { self.narrowing() };
        Drawn::Bounds(Bounds {
            dimension: Dimension::Knob(Knob::Rate),
            limit: &self.limit,
            lower: lower.map(u64::from),
            upper: upper.map(u64::from),
        })
    }

    fn copied(&self) -> Box<dyn Experiment> {
        Box::new(self.clone())
    }

    fn report(&self) -> String {
        let mut text = String::new();
        if let Some(found) = &self.found {
            let seen = self.search.as_ref().and_then(Search::lower);
            let (held_s, of_s) =
                seen.map_or((0.0, 0.0), |seen| (seen.full_good_s, seen.full_good_s + seen.full_bad_s));
            let rate = |rate: u64| units::rate(rate as f64);
            let upper =
                found.upper.map_or_else(String::new, |upper| format!(", and does not for {}", rate(upper)));
            text += &format!(
                "{} holds up to {}{upper}; there it held in {held_s:.0} of {of_s:.0} s of full trials\n",
                found.limit,
                rate(found.value)
            );
        }
        let limited: Vec<_> = self.tried.iter().filter_map(|tried| tried.client_limit.as_ref()).collect();
        if let Some(why) = limited.last() {
            let (count, all) = (limited.len(), self.tried.len());
            text += &format!("in {count} of {all} trials redyno itself was the limit: {why}\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        experiment::simulated::{Simulated, TICK_S},
        stats::fixture::repeated,
    };

    /// A server that answers so many requests a second, in `service_us` each; beyond, they wait for a second.
    fn server(capacity: f64, service_us: u64) -> impl FnMut(&Knobs, f64) -> Interval {
        move |knobs, _| {
            let rate = knobs.rate.map_or(f64::INFINITY, f64::from);
            let ops_per_s = rate.min(capacity);
            let ops = (ops_per_s * TICK_S).round() as u64;
            let wait_us = if rate > capacity { 1_000_000 } else { 0 };
            let response = knobs.rate.map(|_| repeated((service_us + wait_us) * 1000, ops));
            Interval {
                ops,
                ops_per_s,
                service: repeated(service_us * 1000, ops),
                response,
                ..Interval::default()
            }
        }
    }

    fn find(limit: &str, capacity: f64) -> (Find, Simulated) {
        let knobs = Knobs { load: true, ..Knobs::default() };
        let mut find = Find::new(limit.parse().unwrap(), knobs.clone());
        let mut session = Simulated::new(knobs);
        session.drive(&mut find, server(capacity, 400));
        (find, session)
    }

    #[test]
    fn the_highest_rate_is_found_and_is_the_last_segment() {
        for capacity in [900.0, 10_000.0, 123_456.0] {
            let (find, session) = find("p99<1ms", capacity);
            let found = find.found().unwrap();
            assert!((0.97..=1.0).contains(&(found.value as f64 / capacity)), "{capacity}: {found:?}");
            assert!(
                (found.lower, found.value) == (found.value, found.lower)
                    && found.upper.unwrap() as f64 > capacity
            );
            assert_eq!(session.knobs().rate.map(u64::from), Some(found.value));
            assert!(session.now_s() < 45.0, "{}", session.now_s());
            assert_eq!(
                (find.ending(), find.bounds().0.map(u64::from)),
                (Some(&Ending::Done), Some(found.lower))
            );
            assert_eq!(session.told.last(), Some(&Order::Tell(Happening::Found { found: found.clone() })));
            let trials =
                session.told.iter().filter(|told| matches!(told, Order::Tell(Happening::Tried { .. })));
            assert_eq!(trials.count(), find.tried().len());
            assert!(find.report().starts_with("p99<1ms holds up to "), "{}", find.report());
        }
    }

    #[test]
    fn a_limit_that_nothing_holds_is_told_as_such() {
        let (find, session) = find("p50<300us", 10_000.0);
        assert_eq!((find.found(), find.bounds()), (None, (None, find.bounds().1)));
        assert_eq!(find.ending(), Some(&Ending::NotHeld("p50<300us holds for no rate".to_owned())));
        assert!(matches!(session.told.last(), Some(Order::Tell(Happening::NothingFound { .. }))));
        assert!(session.now_s() < 60.0);
    }

    #[test]
    fn a_search_that_takes_long_ends_with_a_rate_that_held() {
        let knobs = Knobs { load: true, ..Knobs::default() };
        let mut find = Find::new("p99<1ms".parse().unwrap(), knobs.clone());
        let mut session = Simulated::new(knobs);
        let (mut well, mut disturbed) = (server(10_000.0, 400), server(10_000.0, 4000));
        // Now and then something slow runs beside it.
        session.drive(&mut find, |knobs, t_s| {
            let is_disturbed = (t_s * 0.61).fract() < 0.2 && knobs.rate.is_some_and(|rate| rate > 2000);
            if is_disturbed { disturbed(knobs, t_s) } else { well(knobs, t_s) }
        });
        assert!(session.now_s() < 60.0, "{}", session.now_s());
        let found = find.found().unwrap();
        assert_eq!(session.knobs().rate.map(u64::from), Some(found.value), "{found:?}");
    }

    #[test]
    fn requests_that_fail_or_are_not_answered_do_not_hold_it() {
        let knobs = Knobs { load: true, ..Knobs::default() };
        let mut find = Find::new("p99<1ms".parse().unwrap(), knobs.clone());
        let mut well = server(10_000.0, 400);
        Simulated::new(knobs).drive(&mut find, |knobs, t_s| {
            let is_much = knobs.rate.is_some_and(|rate| rate > 5000);
            let errors =
                if is_much { [("OOM".to_owned(), 1)].into() } else { std::collections::BTreeMap::new() };
            Interval { errors, ..well(knobs, t_s) }
        });
        let value = find.found().unwrap().value;
        assert!((4900..=5000).contains(&value), "{value}");
    }
}
