//! The driver: which side holds when, and when it is enough.
//!
//! Sides are two settings of one session, or two sessions of which one has the load while the other has none:
//!
//! ```text
//!  A: load on, off │ on ───────┤ off ···············│ on ───────────────┤ off …
//!  B: load on, off │ off ······│ on ────────────────┤ off ··············│ on …
//!     └ got ready ─┘ since here it is an A/B
//! ```
//! Getting ready, a session asks what it has to ask, makes the keys that the load reads, and stands once under the whole load.

use super::{
    alternation::{Alternation, Plan, Then},
    pair::{Pair, Side},
};
use crate::{
    compare::{Difference, Table},
    experiment::{
        AfterPair, Ending, Experiment, Interruption, Pairs, Setting,
        in_force::{InForce, Observed},
        t_s,
    },
    knobs::Knobs,
    session::{Delivery, Interval, Order, figures::Figure},
    stats::Verdict,
};

/// Two sides in alternation.
#[derive(Debug, Clone)]
pub struct Ab {
    /// One of both settings, or one of each target.
    sessions: Vec<Session>,
    alternation: Alternation,
    /// Whether both targets stood under the load, and are without it since.
    is_ready: bool,
    /// How far the session is that is furthest.
    now_s: f64,
    ending: Option<Ending>,
}

/// A session, and what it stands under.
#[derive(Debug, Clone)]
struct Session {
    /// What its target is called where it cannot go on.
    name: String,
    /// Its settings, for A and for B.
    settings: [Setting; 2],
    in_force: InForce,
    /// The side whose setting was asked for last, unless none was yet.
    asked: Option<Side>,
    /// Whether that holds.
    holds: bool,
}

impl Session {
    fn new(name: String, settings: [Setting; 2]) -> Self {
        Self { name, settings, in_force: InForce::default(), asked: None, holds: false }
    }

    fn is_at(&self, side: Side) -> bool {
        self.holds && self.asked == Some(side)
    }

    fn has_load_at(&self, side: Side) -> bool {
        self.settings[side as usize].knobs.load
    }
}

impl Ab {
    /// An experiment with two settings; with its first delivery it puts `a` in force.
    pub fn new(a: Setting, b: Setting, plan: Plan) -> Self {
        let is_open = a.knobs.rate.is_some() && b.knobs.rate.is_some();
        Self::of(vec![Session::new(String::new(), [a, b])], Alternation::new(plan, is_open))
    }

    /// A comparison under these knobs of two targets that are called so.
    pub fn of_targets(knobs: &Knobs, names: [String; 2], plan: Plan) -> Self {
        let [on, off] = [true, false].map(|load| Setting::of(Knobs { load, ..knobs.clone() }));
        let [a, b] = names;
        let sessions = vec![Session::new(a, [on.clone(), off.clone()]), Session::new(b, [off, on])];
        Self::of(sessions, Alternation::new(plan, knobs.rate.is_some()))
    }

    fn of(sessions: Vec<Session>, alternation: Alternation) -> Self {
        let is_ready = sessions.len() == 1;
        Self { sessions, alternation, is_ready, now_s: 0.0, ending: None }
    }

    /// Whether the sides are targets, each with a session of its own.
    pub fn is_of_targets(&self) -> bool {
        self.sessions.len() > 1
    }

    /// How many sessions it needs: one, or one of each target.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Both settings; of targets, those of the first.
    pub fn settings(&self) -> &[Setting; 2] {
        &self.sessions[0].settings
    }

    /// All pairs so far, those that were left out too.
    pub fn pairs(&self) -> &[Pair] {
        self.alternation.pairs()
    }

    /// Those that count.
    pub(super) fn counted(&self) -> impl Iterator<Item = &Pair> {
        self.alternation.counted()
    }

    /// What pairs are told by: throughput, p50 and p99 of what counts.
    pub fn figures(&self) -> [Figure; 3] {
        self.alternation.figures()
    }

    /// How B differs by a figure of all operations together, as the pairs so far say.
    pub fn difference(&self, figure: Figure) -> Difference {
        self.alternation.difference(None, figure)
    }

    /// The same by what decides; the last word once it [is over](Experiment::is_over).
    pub fn verdict(&self) -> Difference {
        self.difference(self.alternation.decides())
    }

    /// All figures so far.
    pub fn table(&self) -> Table {
        self.alternation.table()
    }

    /// How much more B was by what decides after each pair that counts: of that pair, in logarithms, and of all until then.
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

    /// Takes what a session delivered, that of both settings or of one target; what both are to do now. Nothing any more when it
    /// is over.
    pub fn take_of(&mut self, from: Side, delivery: &Delivery) -> Vec<(Side, Order)> {
        if self.is_over() {
            return Vec::new();
        }
        let mut orders = Vec::new();
        if let Some(now_s) = t_s(delivery) {
            self.now_s = self.now_s.max(now_s);
            if self.sessions[from as usize].asked.is_none() {
                orders = self.begin(from);
            }
            if self.alternation.is_late(self.now_s) {
                return self.conclude(true);
            }
        }
        match self.sessions[from as usize].in_force.see(delivery) {
            Observed::Nothing => {}
            Observed::Holds { since_s } => orders.extend(self.on_held(from, since_s)),
            Observed::Measured(interval) => orders.extend(self.measure(from, interval)),
            Observed::Lost(why) => orders.extend(self.lose(from, why)),
        }
        orders
    }

    /// The first setting of a session: A, or the load of its target.
    fn begin(&mut self, from: Side) -> Vec<(Side, Order)> {
        if self.is_ready {
            self.alternation.begin(self.now_s);
        }
        self.ask(from, from)
    }

    fn ask(&mut self, of: Side, side: Side) -> Vec<(Side, Order)> {
        let session = &mut self.sessions[of as usize];
        (session.asked, session.holds) = (Some(side), false);
        session.in_force.turn(&session.settings[side as usize]).into_iter().map(|order| (of, order)).collect()
    }

    /// Asks every session for the side that is to hold; a load begins when the other has ended.
    fn turn(&mut self) -> Vec<(Side, Order)> {
        let side = self.alternation.side();
        let has_ended = |session: &Session| session.has_load_at(side) || session.is_at(side);
        let may_load = self.sessions.iter().all(has_ended);
        let is_next =
            |session: &Session| session.asked != Some(side) && (may_load || !session.has_load_at(side));
        let next: Vec<_> =
            Side::ALL.into_iter().zip(&self.sessions).filter(|(_, session)| is_next(session)).collect();
        let next: Vec<_> = next.into_iter().map(|(of, _)| of).collect();
        next.into_iter().flat_map(|of| self.ask(of, side)).collect()
    }

    fn on_held(&mut self, from: Side, since_s: f64) -> Vec<(Side, Order)> {
        self.sessions[from as usize].holds = true;
        if !self.is_ready {
            if self.sessions[from as usize].asked == Some(from) {
                return self.ask(from, from.other());
            }
            self.is_ready =
                Side::ALL.into_iter().zip(&self.sessions).all(|(of, session)| session.is_at(of.other()));
            if !self.is_ready {
                return Vec::new();
            }
            self.alternation.begin(self.now_s);
        }
        let side = self.alternation.side();
        if self.sessions.iter().all(|session| session.is_at(side)) {
            self.alternation.holds(since_s);
        }
        self.turn()
    }

    fn measure(&mut self, from: Side, measured: &Interval) -> Vec<(Side, Order)> {
        let is_measured = !self.is_of_targets() || from == self.alternation.side();
        if !self.is_ready || !is_measured {
            return Vec::new();
        }
        match self.alternation.take(measured, self.now_s) {
            Then::GoOn => Vec::new(),
            Then::Switch => self.turn(),
            Then::End => self.conclude(false),
        }
    }

    /// Ends it with what the pairs say; what sets the knobs back. Sessions of targets end with it as they are.
    fn conclude(&mut self, is_last: bool) -> Vec<(Side, Order)> {
        self.alternation.end(is_last);
        self.ending = Some(match self.verdict().verdict {
            Some(Verdict::Worse) => Ending::NotHeld(self.sentence()),
            None | Some(Verdict::NotClear(_)) => Ending::Undecided(self.sentence()),
            Some(Verdict::Better | Verdict::Same { .. }) => Ending::Done,
        });
        self.set_back(InForce::set_back)
    }

    fn set_back(&mut self, back: impl Fn(&mut InForce) -> Vec<Order>) -> Vec<(Side, Order)> {
        match &mut self.sessions[..] {
            [session] => back(&mut session.in_force).into_iter().map(|order| (Side::A, order)).collect(),
            _ => Vec::new(),
        }
    }

    fn lose(&mut self, from: Side, why: Interruption) -> Vec<(Side, Order)> {
        self.alternation.end(true);
        let orders = self.set_back(|stand| stand.set_back_after(&why));
        self.ending = Some(Ending::Interrupted(match self.is_of_targets() {
            true => Interruption::Target(self.sessions[from as usize].name.clone(), Box::new(why)),
            false => why,
        }));
        orders
    }
}

fn of_one(orders: Vec<(Side, Order)>) -> Vec<Order> {
    orders.into_iter().map(|(_, order)| order).collect()
}

/// That of two settings, which have one session.
impl Experiment for Ab {
    fn title(&self) -> String {
        let [a, b] = self.settings().each_ref().map(|setting| setting.words.as_str());
        if a == Setting::AS_IT_IS { format!("A/B {b}") } else { format!("A/B {a} | {b}") }
    }

    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        of_one(self.take_of(Side::A, delivery))
    }

    fn stop(&mut self) -> Vec<Order> {
        if self.is_over() { Vec::new() } else { of_one(self.conclude(true)) }
    }

    fn interrupt(&mut self, why: Interruption) -> Vec<Order> {
        if self.is_over() { Vec::new() } else { of_one(self.lose(Side::A, why)) }
    }

    fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    fn progress(&self) -> String {
        if !self.is_ready {
            return "getting both ready".to_owned();
        }
        let (side, pair) = (self.alternation.side(), self.pairs().len() + 1);
        let holds =
            if self.is_of_targets() { format!("load on {side:?}") } else { format!("{side:?} holds") };
        format!("{holds}, pair {pair} of {} at most; {}", self.alternation.most_pairs(), self.so_far())
    }

    fn pairs(&self) -> Option<Pairs> {
        let [a, b] = self.settings();
        let title = format!("{} of B, {}, against A, {}", self.verdict().name(), b.words, a.words);
        let text = if self.is_over() { self.report() } else { self.table().text() };
        Some(Pairs { title, text, course: self.course() })
    }

    fn copied(&self) -> Box<dyn Experiment> {
        Box::new(self.clone())
    }

    fn report(&self) -> String {
        format!("{}\n{}", self.table().text(), self.conclusion())
    }

    fn words(&self) -> String {
        self.conclusion()
    }
}
