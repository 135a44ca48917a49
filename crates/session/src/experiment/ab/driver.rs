//! Runs an A/B: decides which side is under load, and when there are enough pairs.
//!
//! The two sides are two settings or two targets. Two targets are nodes of one session, and only one target is under
//! load at a time:
//!
//! ```text
//!  A: load on │ off      │ on ───────┤ off ···············│ on ───────────────┤ off …
//!  B: off ····│ load on  │ off ······│ on ────────────────┤ off ··············│ on …
//!     └───── prepared ───┘ from here on it is an A/B
//! ```
//! During the preparation, the keys of the workload are written to each target in turn. Each target is also
//! under full load for one period.

use super::{
    alternation::{AbPlan, Alternation, NextStep},
    pair::{Pair, Side},
};
use crate::{
    compare::{Difference, DifferenceTable},
    events::EventKind,
    experiment::{
        AfterPair, Ending, Experiment, ExperimentSetting, Interruption, Pairs,
        setting_tracker::{Observed, SettingTracker},
        t_s,
    },
    knobs::Knobs,
    session::{Delivery, Interval, Order, figures::Figure},
    stats::Verdict,
};

/// Two sides in alternation.
#[derive(Debug, Clone)]
pub struct Ab {
    /// The settings of A and B.
    pub settings: [ExperimentSetting; 2],
    /// The names of the targets, if the sides are targets.
    targets: Vec<String>,
    in_force: SettingTracker,
    alternation: Alternation,
    /// The target that is being prepared; `None` when both targets are prepared.
    readied: Option<Side>,
    /// The time of the session in seconds; `None` before the first record with a time.
    now_s: Option<f64>,
    ending: Option<Ending>,
}

impl Ab {
    /// Returns an A/B of two settings that begins with `a`.
    pub fn new(a: ExperimentSetting, b: ExperimentSetting, plan: AbPlan) -> Self {
        let is_open = a.knobs.rate.is_some() && b.knobs.rate.is_some();
        Self {
            settings: [a, b],
            targets: Vec::new(),
            in_force: SettingTracker::default(),
            alternation: Alternation::new(plan, is_open),
            readied: None,
            now_s: None,
            ending: None,
        }
    }

    /// Returns an A/B of two targets with the same knobs. `names` are the names of the session's nodes, and the first
    /// node is loaded first.
    pub fn of_targets(knobs: &Knobs, names: Vec<String>, plan: AbPlan) -> Self {
        let [a, b] = [0, 1].map(|node| ExperimentSetting { node, ..ExperimentSetting::of(knobs.clone()) });
        Self { targets: names, readied: Some(Side::A), ..Self::new(a, b, plan) }
    }

    /// Returns whether the sides are targets.
    pub fn is_of_targets(&self) -> bool {
        !self.targets.is_empty()
    }

    /// Returns all pairs so far, including pairs that are left out.
    pub fn pairs(&self) -> &[Pair] {
        &self.alternation.pairs
    }

    /// Returns the pairs that are not left out.
    pub(super) fn counted(&self) -> impl Iterator<Item = &Pair> {
        self.alternation.counted()
    }

    /// Returns the figures by which pairs are judged: throughput, p50 and p99.
    pub fn figures(&self) -> [Figure; 3] {
        self.alternation.figures()
    }

    /// Returns the sums of all counted parts: of side A, and of side B.
    pub fn sums(&self) -> &[Interval; 2] {
        self.alternation.sums()
    }

    /// Returns the difference between A and B in this figure of all operations together, over all pairs so far.
    pub fn difference(&self, figure: Figure) -> Difference {
        self.alternation.difference(None, figure)
    }

    /// Returns the difference between A and B in the figure that decides the A/B. The difference is final
    /// when the A/B [is over](Experiment::is_over).
    pub fn verdict(&self) -> Difference {
        self.difference(self.alternation.decides())
    }

    /// Returns the table of all figures so far.
    pub fn table(&self) -> DifferenceTable {
        self.alternation.table()
    }

    /// Returns one entry for each counted pair: the comparison of B with A in this pair, and in all pairs so
    /// far. The compared figure is the figure that decides the A/B.
    fn course(&self) -> Vec<AfterPair> {
        let (decides, mut differences) = (self.alternation.decides(), Vec::new());
        let after = |pair: &Pair| {
            let of_pair = pair.difference(None, decides);
            differences.extend(of_pair);
            let so_far = Difference::of_pairs(None, decides, [None; 2], &differences, false);
            AfterPair { pair: pair.pair, of_pair, so_far }
        };
        self.counted().map(after).collect()
    }

    /// Returns the side that is in effect or has been requested.
    fn side(&self) -> Side {
        self.readied.unwrap_or(self.alternation.side)
    }

    /// Returns the orders that request the present side.
    fn request_side(&mut self) -> Vec<Order> {
        self.in_force.request(&self.settings[self.side() as usize])
    }

    /// Begins the alternation.
    fn begin(&mut self) -> Vec<Order> {
        self.readied = None;
        self.alternation.begin(self.now_s.unwrap_or_default());
        self.request_side()
    }

    fn on_in_force(&mut self, since_s: f64) -> Vec<Order> {
        match self.readied {
            None => {
                self.alternation.holds(since_s);
                Vec::new()
            }
            Some(Side::A) => {
                self.readied = Some(Side::B);
                self.request_side()
            }
            Some(Side::B) => self.begin(),
        }
    }

    fn measure(&mut self, measured: &Interval) -> Vec<Order> {
        match self.alternation.take(measured, self.now_s.unwrap_or_default()) {
            NextStep::GoOn => Vec::new(),
            NextStep::Switch => self.request_side(),
            NextStep::End => self.conclude(false),
        }
    }

    /// Ends the A/B with a verdict. Returns the orders that record the verdict and restore the knobs. An A/B
    /// of two targets has no knobs to restore.
    fn conclude(&mut self, is_last: bool) -> Vec<Order> {
        self.alternation.end(is_last);
        self.ending = Some(match self.verdict().verdict {
            Some(Verdict::Worse) => Ending::NotHeld(self.sentence()),
            None | Some(Verdict::NotClear(_)) => Ending::Undecided(match self.alternation.client_limit() {
                Some(why) => {
                    format!("redyno itself is the limit for both A and B: {why}; {}", self.sentence())
                }
                None => self.sentence(),
            }),
            Some(Verdict::Better | Verdict::Same { .. }) => Ending::Done,
        });
        let mut orders = vec![Order::Event(EventKind::Compared { verdict: self.sentence() })];
        if !self.is_of_targets() {
            orders.extend(self.in_force.restore());
        }
        orders
    }

    /// Ends the A/B for a reason that `node` reported. Returns the orders that restore the knobs. For an A/B
    /// of two targets, there are no such orders.
    fn lose(&mut self, node: u16, why: Interruption) -> Vec<Order> {
        self.alternation.end(true);
        let name = self.targets.get(usize::from(node)).cloned();
        let orders = if name.is_some() { Vec::new() } else { self.in_force.restore_after(&why) };
        self.ending = Some(Ending::Interrupted(match name {
            Some(name) => Interruption::Target(name, Box::new(why)),
            None => why,
        }));
        orders
    }
}

impl Experiment for Ab {
    fn title(&self) -> String {
        let [a, b] = self.settings.each_ref().map(|setting| setting.words.as_str());
        if a == ExperimentSetting::AS_IT_IS { format!("A/B {b}") } else { format!("A/B {a} | {b}") }
    }

    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if self.is_over() {
            return Vec::new();
        }
        let mut orders = Vec::new();
        if let Some(t_s) = t_s(delivery) {
            let now_s = self.now_s.map_or(t_s, |now_s| now_s.max(t_s));
            if self.now_s.replace(now_s).is_none() {
                orders = if self.is_of_targets() { self.request_side() } else { self.begin() };
            }
            if self.alternation.is_late(now_s) {
                return self.conclude(true);
            }
        }
        match self.in_force.see(delivery) {
            Observed::Nothing => {}
            Observed::Holds { since_s } => orders.extend(self.on_in_force(since_s)),
            Observed::Measured(interval) => orders.extend(self.measure(interval)),
            Observed::Lost(why) => {
                let node = if let Delivery::Notice(node, _) = delivery { *node } else { self.side() as u16 };
                orders.extend(self.lose(node, why));
            }
        }
        orders
    }

    fn stop(&mut self) -> Vec<Order> {
        if self.is_over() { Vec::new() } else { self.conclude(true) }
    }

    fn interrupt(&mut self, why: Interruption) -> Vec<Order> {
        if self.is_over() { Vec::new() } else { self.lose(0, why) }
    }

    fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    fn progress(&self) -> String {
        if self.readied.is_some() {
            return "preparing both".to_owned();
        }
        let (side, pair) = (self.alternation.side, self.pairs().len() + 1);
        let holds =
            if self.is_of_targets() { format!("load on {side:?}") } else { format!("measuring {side:?}") };
        format!("{holds}, pair {pair} of {} at most; {}", self.alternation.most_pairs(), self.so_far())
    }

    fn pairs(&self) -> Option<Pairs> {
        let [a, b] = &self.settings;
        let title = format!("{} of B, {}, against A, {}", self.verdict().name(), b.words, a.words);
        let text = if self.is_over() { self.report() } else { self.table().text() };
        Some(Pairs { title, text, course: self.course() })
    }

    fn copied(&self) -> Box<dyn Experiment> {
        Box::new(self.clone())
    }

    fn report(&self) -> String {
        format!("{}\n{}", self.conclusion(), self.table().text())
    }

    fn words(&self) -> String {
        self.conclusion()
    }
}
