//! The experiment `find` searches for the highest rate at which the response time stays within a limit.
//!
//! ```text
//!  peak: a closed loop ─► search ─► trials: short, then full ─► the bounds are firm ─► a full trial at the result
//!                           ▲                │ kept, not kept, or disturbed: then again
//!                           └────────────────┘
//! ```
//! The throughput of a closed loop is the upper bound of all rates. A trial keeps the limit under three conditions: its
//! response times are below the limit, at least 99 % of the due requests were answered, and no request failed. The
//! search ends when full trials show that the limit is kept at one rate, but not at a slightly higher rate. If the time
//! of the search ends earlier, the result is undecided.

use super::{
    ChartData, Ending, Experiment, ExperimentSetting, Interruption, Limit, SearchBounds,
    conclusions::limited,
    measurement::settle_s,
    setting_tracker::{Observed, SettingTracker},
    t_s,
    trial::{Disturbance, TrialMeasurement, TrialOutcome},
};
use crate::{
    diagnose::our_limit,
    events::{EventKind, SearchResult},
    knobs::Knobs,
    session::{Delivery, Interval, Order, timeline::rate_of_pause},
    stats::{
        Latency,
        search::{Search, SearchStep, Trial},
    },
    units,
};

/// Two times of the closed loop, in seconds: the time at its start that is not measured, and the measured
/// time.
const PEAK_S: (f64, f64) = (1.0, 2.0);
/// The maximum length of a full trial, in seconds. A full trial is extended up to this length if it has too
/// few samples for the limit's percentile.
const LONGEST_S: f64 = 10.0;
/// The time, in seconds, after which the search also accepts a result with bounds that are further apart.
const CLOSE_S: f64 = 45.0;
/// The search ends after this time, in seconds.
const LIMIT_S: f64 = 170.0;
/// The number of disturbed trials in a row that ends the search. The second number applies if the last trial had no
/// reply.
const DISTURBED: (u32, u32) = (8, 3);
/// The largest accepted share of disturbed trials. If more trials are disturbed, the search has no result.
const MOST_DISTURBED: f64 = 0.25;
/// The length of the pause before a failed rate is tried again, in seconds. During the pause, the load runs
/// at half of the rate to clear the backlog.
const REST_S: f64 = 0.5;

/// The phase of the search.
#[derive(Debug, Clone, Copy)]
enum FindPhase {
    /// The closed loop.
    Peak,
    /// The pause before a trial, at half of the trial's rate.
    Rest(Trial),
    /// A trial of a rate.
    Trial(Trial),
}

/// The result of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialResult {
    /// The rate, in requests per second.
    pub rate: u32,
    /// Whether the trial had the full length.
    pub is_full: bool,
    /// Whether the limit was kept.
    pub is_held: bool,
    /// Whether the trial was disturbed. A disturbed trial does not count.
    pub is_disturbed: bool,
    /// The reason why redyno itself was the limit; `None` if redyno was not the limit.
    pub client_limit: Option<String>,
}

/// The search for the highest rate that keeps a limit.
#[derive(Debug, Clone)]
pub struct Find {
    limit: Limit,
    base: Knobs,
    in_force: SettingTracker,
    phase: FindPhase,
    measured: Option<TrialMeasurement>,
    /// The throughput of the closed loop, in replies per second.
    peak: f64,
    search: Option<Search>,
    tried: Vec<TrialResult>,
    /// The number of disturbed trials in a row.
    disturbed: u32,
    /// The p99 of the service time in the last measurement, in seconds. Requests are in flight for about this time.
    in_flight_s: f64,
    since_s: Option<f64>,
    found: Option<SearchResult>,
    ending: Option<Ending>,
}

impl Find {
    /// Returns a search with these settings of the load, except the rate.
    pub fn new(limit: Limit, knobs: Knobs) -> Self {
        Self {
            limit,
            base: knobs,
            in_force: SettingTracker::default(),
            phase: FindPhase::Peak,
            measured: None,
            peak: 0.0,
            search: None,
            tried: Vec::new(),
            disturbed: 0,
            in_flight_s: 0.0,
            since_s: None,
            found: None,
            ending: None,
        }
    }

    /// Returns two rates: the highest rate that certainly keeps the limit, and the lowest rate that certainly does not
    /// keep the limit. An unknown rate is `None`.
    pub fn bounds(&self) -> (Option<u32>, Option<u32>) {
        let rate = |seen: Option<&crate::stats::search::Trials>| seen.map(|seen| seen.load as u32);
        let search = self.search.as_ref();
        (rate(search.and_then(Search::lower)), rate(search.and_then(Search::upper)))
    }

    /// Returns the present estimates of two tried rates. The first is the highest rate that keeps the limit, and the
    /// second is the lowest rate that breaks the limit.
    pub fn narrowing(&self) -> (Option<u32>, Option<u32>) {
        let (lower, upper) = self.search.as_ref().map_or((None, None), Search::near);
        (lower.map(|load| load as u32), upper.map(|load| load as u32))
    }

    fn request_phase(&mut self, phase: FindPhase) -> Vec<Order> {
        self.phase = phase;
        self.measured = None;
        let rate = match phase {
            FindPhase::Peak => None,
            FindPhase::Rest(trial) => Some(rate_of_pause(trial.load as u32)),
            FindPhase::Trial(trial) => Some(trial.load as u32),
        };
        self.in_force.request(&ExperimentSetting::of(Knobs { rate, ..self.base.clone() }))
    }

    fn settle_s(&self) -> f64 {
        match self.phase {
            FindPhase::Peak => PEAK_S.0,
            FindPhase::Rest(_) | FindPhase::Trial(_) => settle_s(self.in_flight_s),
        }
    }

    fn measure(&mut self, interval: &Interval) -> Vec<Order> {
        let Some(measured) = &mut self.measured else { return Vec::new() };
        measured.take(interval, &self.limit);
        let is_enough = |measured: &TrialMeasurement| {
            let all = measured.all();
            let count = self.limit.latency(all).map_or(u64::MAX, Latency::count);
            all.ops == 0 || count >= self.limit.enough() || measured.has(LONGEST_S)
        };
        let is_whole = match self.phase {
            FindPhase::Peak => measured.has(PEAK_S.1),
            FindPhase::Rest(_) => measured.has(REST_S),
            FindPhase::Trial(trial) => {
                measured.has(trial.length_s()) && (!trial.is_full || is_enough(measured))
            }
        };
        let Some(measured) = self.measured.take_if(|_| is_whole) else { return Vec::new() };
        let all = measured.all();
        self.in_flight_s = all.service.value_at_quantile(0.99) as f64 / 1e9;
        match self.phase {
            FindPhase::Peak if all.ops == 0 => {
                self.give_up(&format!("in a closed loop {}", Disturbance::Silence))
            }
            FindPhase::Peak => {
                // Rates are whole numbers, within the knob's range.
                self.peak = all.ops_per_s.round().clamp(1.0, f64::from(u32::MAX));
                self.search = Some(Search::new(self.peak));
                self.next()
            }
            FindPhase::Rest(trial) => self.request_phase(FindPhase::Trial(trial)),
            FindPhase::Trial(trial) => self.judge(trial, &measured),
        }
    }

    fn judge(&mut self, trial: Trial, measured: &TrialMeasurement) -> Vec<Order> {
        let outcome = measured.outcome(trial.load, self.base.arrivals, self.peak, &self.limit);
        let (is_held, all) = (outcome == TrialOutcome::Held, measured.all());
        let disturbance = match outcome {
            TrialOutcome::Disturbed(disturbance) => Some(disturbance),
            TrialOutcome::Held | TrialOutcome::NotHeld => None,
        };
        self.disturbed = if disturbance.is_some() { self.disturbed + 1 } else { 0 };
        if let Some(search) = self.search.as_mut().filter(|_| disturbance.is_none()) {
            search.count(trial, is_held);
        }
        let client_limit = our_limit(all);
        let (rate, is_disturbed) = (trial.load as u32, disturbance.is_some());
        self.tried.push(TrialResult { rate, is_full: trial.is_full, is_held, is_disturbed, client_limit });
        let trial = EventKind::Tried {
            rate,
            length_s: all.length_s,
            is_held,
            limit: self.limit.to_string(),
            level_us: self.limit.latency(all).and_then(|latency| self.limit.level_us(latency)),
            ops_per_s: all.ops_per_s,
            disturbed: disturbance.map(|disturbance| disturbance.to_string()),
        };
        let most = if disturbance == Some(Disturbance::Silence) { DISTURBED.1 } else { DISTURBED.0 };
        let next = match disturbance.filter(|_| self.disturbed >= most) {
            Some(last) => {
                let (n, rate) = (self.disturbed, units::rate(rate.into()));
                self.give_up(&format!(
                    "{n} trials in a row at {rate} were disturbed; in the last one, {last}"
                ))
            }
            None => self.next(),
        };
        [Order::Event(trial)].into_iter().chain(next).collect()
    }

    fn next(&mut self) -> Vec<Order> {
        let Some(search) = &self.search else { return Vec::new() };
        let tried_last = self.tried.last().map(|tried| (f64::from(tried.rate), tried.is_held));
        match search.next() {
            SearchStep::Trial(trial) if tried_last == Some((trial.load, false)) => {
                self.request_phase(FindPhase::Rest(trial))
            }
            SearchStep::Trial(trial) => self.request_phase(FindPhase::Trial(trial)),
            SearchStep::Found => {
                // If the last trial was at another rate, one more trial at the found rate follows, so that
                // the last segment has this rate.
                let lower = search.lower().map(|seen| seen.load);
                match lower.filter(|load| tried_last != Some((*load, true))) {
                    Some(load) => self.request_phase(FindPhase::Trial(Trial { load, is_full: true })),
                    None => self.end_found(),
                }
            }
            SearchStep::Nothing => {
                let limit = self.limit.to_string();
                self.ending = Some(Ending::NotHeld(format!("no rate keeps {limit}")));
                let event = Order::Event(EventKind::NothingFound { knob: "rate".to_owned(), limit });
                [event].into_iter().chain(self.in_force.restore()).collect()
            }
        }
    }

    /// Returns the present estimates in words: `met at 9.00 k/s, not at 11.0 k/s`. Returns `None` before the first
    /// trial.
    fn known(&self) -> Option<String> {
        let rate = |rate: u32| units::rate(rate.into());
        match self.narrowing() {
            (Some(lower), Some(upper)) => Some(format!("met at {}, not at {}", rate(lower), rate(upper))),
            (Some(lower), None) => Some(format!("met at {}", rate(lower))),
            (None, Some(upper)) => Some(format!("not met at {}", rate(upper))),
            (None, None) => None,
        }
    }

    fn how_many_disturbed(&self) -> usize {
        self.tried.iter().filter(|tried| tried.is_disturbed).count()
    }

    /// Ends the search with a result if both bounds are certain, and without a result otherwise.
    fn end_found(&mut self) -> Vec<Order> {
        let (Some(value), Some(upper)) = self.bounds() else {
            return self.give_up("trials of the same rate had different results");
        };
        let (disturbed, all) = (self.how_many_disturbed(), self.tried.len());
        if disturbed as f64 > MOST_DISTURBED * all as f64 {
            return self.give_up(&format!("{disturbed} of {all} trials were disturbed"));
        }
        let (value, upper, limit) = (u64::from(value), Some(u64::from(upper)), self.limit.to_string());
        let found = SearchResult { knob: "rate".to_owned(), value, lower: value, upper, limit };
        self.found = Some(found.clone());
        self.ending = Some(Ending::Done);
        vec![Order::Event(EventKind::Found { found })]
    }

    /// Ends the search without a result. Returns the orders that restore the settings from before the search.
    fn give_up(&mut self, why: &str) -> Vec<Order> {
        self.ending =
            Some(Ending::Undecided(format!("the highest rate for {} is not clear: {why}", self.limit)));
        self.in_force.restore()
    }
}

impl Experiment for Find {
    fn title(&self) -> String {
        format!("find {}", self.limit)
    }

    fn go_on(&mut self, delivery: &Delivery) -> Vec<Order> {
        let mut orders = Vec::new();
        if let Some(now_s) = t_s(delivery) {
            if self.since_s.is_none() {
                self.since_s = Some(now_s);
                orders = self.request_phase(FindPhase::Peak);
            }
            let passed_s = self.since_s.map_or(0.0, |since_s| now_s - since_s);
            if passed_s > LIMIT_S {
                return self.give_up(&format!("{passed_s:.0} s were not enough"));
            }
            if let Some(search) = self.search.as_mut().filter(|_| passed_s > CLOSE_S) {
                search.close();
            }
        }
        match self.in_force.see(delivery) {
            Observed::Nothing => {}
            Observed::Holds { since_s } => {
                self.measured = Some(TrialMeasurement::from(since_s + self.settle_s()));
            }
            Observed::Measured(interval) => orders.extend(self.measure(interval)),
            Observed::Lost(interruption) => orders.extend(self.interrupt(interruption)),
        }
        orders
    }

    fn stop(&mut self) -> Vec<Order> {
        if self.is_over() { Vec::new() } else { self.give_up("it was stopped") }
    }

    fn interrupt(&mut self, why: Interruption) -> Vec<Order> {
        if self.is_over() {
            return Vec::new();
        }
        self.ending = Some(Ending::Interrupted(why.clone()));
        self.in_force.restore_after(&why)
    }

    fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    fn progress(&self) -> String {
        let rate = |rate: u32| units::rate(rate.into());
        let now = match self.phase {
            FindPhase::Peak => "closed loop, as fast as possible".to_owned(),
            FindPhase::Rest(trial) | FindPhase::Trial(trial) => {
                format!("trial {}, {}", self.tried.len() + 1, rate(trial.load as u32))
            }
        };
        self.known().map_or_else(|| now.clone(), |known| format!("{now}; {known}"))
    }

    fn drawn(&self) -> ChartData<'_> {
        let (lower, upper) = if self.is_over() { self.bounds() } else { self.narrowing() };
        let limit = self.limit.to_string();
        ChartData::Bounds(SearchBounds { limit, lower: lower.map(u64::from), upper: upper.map(u64::from) })
    }

    fn copied(&self) -> Box<dyn Experiment> {
        Box::new(self.clone())
    }

    fn report(&self) -> String {
        let mut text = String::new();
        let lower = self.search.as_ref().and_then(Search::lower);
        if let Some((found, seen)) = self.found.as_ref().zip(lower) {
            let rate = |rate: u64| units::rate(rate as f64);
            text += &format!(
                "{} is met up to {}{}; full trials at this rate met the limit for {:.0} of {:.0} s\n",
                self.limit,
                rate(found.value),
                found.upper.map_or_else(String::new, |upper| format!(", but not at {}", rate(upper))),
                seen.full_good_s,
                seen.full_good_s + seen.full_bad_s
            );
        } else if !matches!(self.ending, Some(Ending::NotHeld(_))) {
            let limit = &self.limit;
            let none = || format!("no trial shows whether {limit} is met");
            let known = self.known().map_or_else(none, |known| format!("{limit} was {known}"));
            text += &format!("the search is unfinished: {known}\n");
        }
        let disturbed = self.how_many_disturbed();
        if disturbed > 0 {
            text +=
                &format!("{disturbed} of {} trials were disturbed and are not counted\n", self.tried.len());
        }
        let reasons = self.tried.iter().map(|tried| tried.client_limit.clone());
        text + &limited(reasons, "trials").map_or_else(String::new, |limited| limited + "\n")
    }
}

#[cfg(test)]
mod tests;
