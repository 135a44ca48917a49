//! Runs an A/B: decides which side is under load, and whether there are enough pairs.
//!
//! The two sides are two settings or two targets. Two targets are nodes of one session. Only one target is under load
//! at a time:
//!
//! ```text
//!  A: load on │ off      │ on ───────┤ off ···············│ on ───────────────┤ off …
//!  B: off ····│ load on  │ off ······│ on ────────────────┤ off ··············│ on …
//!     └───── prepared ───┘ from here on it is an A/B
//! ```
//! During the preparation, redyno writes the keys of the workload to each target in turn. Each target is also under
//! full load for a while.

use super::{
    alternation::AbPlan,
    pair::{Pair, Side},
};
use crate::{
    compare::Difference,
    events::EventKind,
    experiment::{
        AfterPair, Ending, Experiment, ExperimentSetting, Interruption, Pairs,
        measurement::Measurement,
        setting_tracker::{Observed, SettingTracker},
        t_s,
    },
    knobs::Knobs,
    session::{Delivery, Interval, Order},
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
    pub(super) plan: AbPlan,
    /// Whether both sides are open loops. In open loops, the sides are compared by their response times.
    pub(super) is_open: bool,
    /// The target that is being prepared; `None` when both targets are prepared.
    readied: Option<Side>,
    /// The side that is in effect or has been requested, once both targets are prepared.
    pub(super) side: Side,
    /// The measurement of the present side, and the number of parts that this side still needs. After a switch, a side
    /// needs two parts. The first part completes the previous pair, and the second part begins the next pair.
    pub(super) block: Option<(Measurement, usize)>,
    /// The part that was measured just before the last switch. `None` if this part already belongs to a pair.
    pub(super) before: Option<Interval>,
    /// All pairs so far, including pairs that are left out.
    pub(super) pairs: Vec<Pair>,
    /// The sums of all counted parts of side A, and of side B.
    pub sums: [Interval; 2],
    /// Whether the time is over, so that no more pairs follow.
    pub(super) is_last: bool,
    /// The time of the session in seconds; `None` before the first record with a time.
    pub(super) now_s: Option<f64>,
    /// The start of the alternation, in seconds since the session began.
    pub(super) since_s: Option<f64>,
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
            plan,
            is_open,
            readied: None,
            side: Side::A,
            block: None,
            before: None,
            pairs: Vec::new(),
            sums: Default::default(),
            is_last: false,
            now_s: None,
            since_s: None,
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
        &self.pairs
    }

    /// Returns the difference between A and B in the figure that decides the A/B. The difference is final
    /// when the A/B [is over](Experiment::is_over).
    pub fn verdict(&self) -> Difference {
        self.difference(None, self.decides())
    }

    /// Returns one entry for each counted pair. An entry compares B with A in this pair, and in all pairs so far. The
    /// compared figure is the figure that decides the A/B.
    fn course(&self) -> Vec<AfterPair> {
        let (decides, mut differences) = (self.decides(), Vec::new());
        let after = |pair: &Pair| {
            let of_pair = pair.difference(None, decides);
            differences.extend(of_pair);
            let so_far = Difference::of_pairs(None, decides, [None; 2], &differences, false);
            AfterPair { pair: pair.pair, of_pair, so_far }
        };
        self.counted().map(after).collect()
    }

    /// Returns the orders that request the present side.
    pub(super) fn request_side(&mut self) -> Vec<Order> {
        let side = self.readied.unwrap_or(self.side);
        self.in_force.request(&self.settings[side as usize])
    }

    /// Begins the alternation.
    fn begin(&mut self) -> Vec<Order> {
        (self.readied, self.since_s) = (None, self.now_s);
        self.request_side()
    }

    fn on_in_force(&mut self, since_s: f64) -> Vec<Order> {
        match self.readied {
            None => {
                self.begin_block(since_s);
                Vec::new()
            }
            Some(Side::A) => {
                self.readied = Some(Side::B);
                self.request_side()
            }
            Some(Side::B) => self.begin(),
        }
    }

    /// Ends the A/B with a verdict. Returns the orders that record the verdict and restore the knobs. An A/B
    /// of two targets has no knobs to restore.
    pub(super) fn conclude(&mut self, is_last: bool) -> Vec<Order> {
        self.block = None;
        self.is_last |= is_last;
        self.ending = Some(match self.verdict().verdict {
            Some(Verdict::Worse) => Ending::NotHeld(self.sentence()),
            None | Some(Verdict::NotClear(_)) => Ending::Undecided(match self.obstacle() {
                Some(why) => format!("{why}; {}", self.sentence()),
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

    /// Ends the A/B for a reason that `node` reported. Returns the orders that restore the knobs. An A/B of two targets
    /// has no knobs to restore.
    fn lose(&mut self, node: u16, why: Interruption) -> Vec<Order> {
        (self.block, self.is_last) = (None, true);
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

    fn go_on(&mut self, delivery: &Delivery) -> Vec<Order> {
        let mut orders = Vec::new();
        if let Some(t_s) = t_s(delivery) {
            let now_s = self.now_s.map_or(t_s, |now_s| now_s.max(t_s));
            if self.now_s.replace(now_s).is_none() {
                orders = if self.is_of_targets() { self.request_side() } else { self.begin() };
            }
            if self.is_late(now_s) {
                return self.conclude(true);
            }
        }
        match self.in_force.see(delivery) {
            Observed::Nothing => {}
            Observed::Holds { since_s } => orders.extend(self.on_in_force(since_s)),
            Observed::Measured(interval) => orders.extend(self.measure(interval)),
            Observed::Lost(why) => {
                let node = if let Delivery::Notice(node, _) = delivery {
                    *node
                } else {
                    self.readied.unwrap_or(self.side) as u16
                };
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
        let (side, pair) = (self.side, self.pairs.len() + 1);
        let holds =
            if self.is_of_targets() { format!("load on {side:?}") } else { format!("measuring {side:?}") };
        format!("{holds}, pair {pair} of {} at most; {}", self.most_pairs(), self.so_far())
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
