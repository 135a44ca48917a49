//! Reports to an experiment that a requested setting is in effect, and passes on the measurements under this setting.
//!
//! ```text
//! change ─► orders ──► … segment, segment: setting in force ──► intervals of it ──► change …
//!                          └─► refused, changed by hand, over: the experiment cannot continue
//! ```

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::ExperimentSetting;
use crate::{
    events::EventKind,
    knobs::Knobs,
    server::Parameter,
    session::{Delivery, Interval, Notice, Order, Record, Segment},
};

/// The reason why an experiment cannot continue.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum Interruption {
    /// The session refused an order. The field is the reason.
    #[error("{0}")]
    Refused(String),
    /// The load is off. The field is the reason.
    #[error("the load is off: {0}")]
    LoadOff(String),
    /// Some agents of the fleet do not generate their part of the load. The field is the reason. The measurements then
    /// do not belong to the requested setting.
    #[error("{0}")]
    Fleet(String),
    /// The user or another client of the session changed a knob or a parameter.
    #[error("somebody changed a knob during the experiment")]
    Turned,
    /// The session ends.
    #[error("the session ended early")]
    SessionOver,
    /// One of several targets cannot continue. The fields are the name of the target and the reason.
    #[error("{0}: {1}")]
    Target(String, Box<Self>),
}

impl Interruption {
    /// Returns the reason why an experiment cannot continue after this delivery; `None` if the experiment can continue.
    pub(super) fn of(delivery: &Delivery) -> Option<Self> {
        match delivery {
            Delivery::Record(record) => match &**record {
                Record::End(_) => Some(Self::SessionOver),
                Record::Event(event) => match &event.what {
                    what @ (EventKind::AgentLost { .. } | EventKind::ReportsLost { .. }) => {
                        Some(Self::Fleet(what.to_string()))
                    }
                    _ => None,
                },
                _ => None,
            },
            Delivery::Refused(Order::SetKnobs(_) | Order::SetConfig { .. }, why) => {
                Some(Self::Refused(why.clone()))
            }
            Delivery::Notice(_, Notice::LoadStaysOff(why) | Notice::LoadStopped(why)) => {
                Some(Self::LoadOff(why.replace(" Continue?", "")))
            }
            Delivery::Notice(_, Notice::Leave | Notice::Ended) => Some(Self::SessionOver),
            Delivery::Refused(..) | Delivery::Notice(..) | Delivery::Stretch(_) => None,
        }
    }
}

/// The meaning of a session's message for the requested setting.
#[derive(Debug, PartialEq)]
pub(super) enum Observed<'a> {
    /// The message has no meaning for the setting.
    Nothing,
    /// The setting has been in effect since this time, in seconds since the session began.
    Holds { since_s: f64 },
    /// An interval was measured under the setting.
    Measured(&'a Interval),
    /// The setting is no longer in effect. The field is the reason.
    Lost(Interruption),
}

/// A server parameter that an experiment changes.
#[derive(Debug, Clone)]
struct ChangedParameter {
    parameter: &'static Parameter,
    /// The value before the experiment; `None` until the server has reported the value.
    from: Option<String>,
    /// The value that was requested last.
    now: String,
}

/// The state of the requested setting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SettingState {
    /// The setting is not in effect yet.
    #[default]
    Awaited,
    /// The setting was already in effect when it was requested, but the experiment does not know this yet.
    Found,
    /// The setting is in effect, and the experiment knows this.
    Held,
}

/// The requested setting, and the setting in effect.
#[derive(Debug, Clone, Default)]
pub(super) struct SettingTracker {
    /// The knobs before the experiment.
    start: Option<Knobs>,
    /// The knobs in effect, and whether the segment is a warm-up or a prefill.
    knobs: Option<(Knobs, bool)>,
    wanted: Option<Knobs>,
    /// The number of the node that is or will be under load. Records of other nodes are ignored.
    node: u16,
    tuned: BTreeMap<&'static str, ChangedParameter>,
    /// The names of parameters whose new value the server has not confirmed yet.
    unset: BTreeSet<&'static str>,
    /// The current segment.
    segment: u32,
    state: SettingState,
}

impl SettingTracker {
    /// Returns the orders that request a setting. [`see`](Self::see) reports when the setting is in effect. The orders
    /// also restore each parameter that the experiment has changed and that this setting does not name.
    pub(super) fn request(&mut self, to: &ExperimentSetting) -> Vec<Order> {
        self.wanted = Some(to.knobs.clone());
        let named = to.config.iter().map(|(parameter, value)| (*parameter, value.clone()));
        let is_named =
            |tuned: &&ChangedParameter| to.config.iter().any(|(named, _)| *named == tuned.parameter);
        let others = self.tuned.values().filter(|tuned| !is_named(tuned));
        let back = others.filter_map(|tuned| Some((tuned.parameter, tuned.from.clone()?)));
        let config: Vec<_> = named.chain(back).collect();
        let mut orders = Vec::new();
        if std::mem::replace(&mut self.node, to.node) != to.node {
            self.knobs = None;
            orders.push(Order::Carry(to.node));
        }
        orders.extend((!self.has_knobs()).then(|| Order::SetKnobs(to.knobs.clone())));
        orders.extend(config.into_iter().filter_map(|(parameter, to)| self.set(parameter, to)));
        self.state = if orders.is_empty() && self.unset.is_empty() {
            SettingState::Found
        } else {
            SettingState::Awaited
        };
        orders
    }

    fn set(&mut self, parameter: &'static Parameter, to: String) -> Option<Order> {
        let tuned = self.tuned.get_mut(parameter.name);
        if tuned.as_ref().is_some_and(|tuned| tuned.now == to) {
            return None;
        }
        self.unset.insert(parameter.name);
        match tuned {
            Some(tuned) => tuned.now.clone_from(&to),
            None => {
                let tuned = ChangedParameter { parameter, from: None, now: to.clone() };
                self.tuned.insert(parameter.name, tuned);
            }
        }
        Some(Order::SetConfig { parameter, to })
    }

    /// Returns the orders that restore all changed knobs and parameters.
    pub(super) fn restore(&mut self) -> Vec<Order> {
        self.start.clone().map_or_else(Vec::new, |knobs| self.request(&ExperimentSetting::of(knobs)))
    }

    /// Returns the orders that restore knobs and parameters after an interruption. Changes by the user or another
    /// client of the session are kept.
    pub(super) fn restore_after(&mut self, why: &Interruption) -> Vec<Order> {
        let mut orders = self.restore();
        if *why == Interruption::Turned {
            orders.retain(|order| !matches!(order, Order::SetKnobs(_)));
        }
        orders
    }

    fn has_knobs(&self) -> bool {
        let wanted = self.wanted.as_ref();
        self.knobs.as_ref().is_some_and(|(knobs, is_aside)| !is_aside && Some(knobs) == wanted)
    }

    /// Evaluates a delivery.
    pub(super) fn see<'a>(&mut self, delivery: &'a Delivery) -> Observed<'a> {
        if let Some(why) = Interruption::of(delivery) {
            return Observed::Lost(why);
        }
        let Delivery::Record(record) = delivery else { return Observed::Nothing };
        if !record.is_of(self.node) {
            return Observed::Nothing;
        }
        match &**record {
            Record::Segment(segment) => self.on_segment(segment),
            // An interval with late replies of a previous setting has no length.
            Record::Interval(interval) if interval.segment == self.segment && interval.timed_s() > 0.0 => {
                self.on_interval(interval)
            }
            _ => Observed::Nothing,
        }
    }

    fn on_interval<'a>(&mut self, interval: &'a Interval) -> Observed<'a> {
        match self.state {
            SettingState::Awaited => Observed::Nothing,
            SettingState::Found => {
                self.state = SettingState::Held;
                Observed::Holds { since_s: interval.t_s }
            }
            SettingState::Held => Observed::Measured(interval),
        }
    }

    /// Keeps a change by the user or another client of the session. The experiment will not undo this change later.
    fn keep_manual_change(&mut self, segment: &Segment) {
        match &segment.config {
            Some(change) => drop(self.tuned.remove(&*change.name)),
            None => self.start = Some(segment.knobs.clone()),
        }
    }

    fn on_segment(&mut self, segment: &Segment) -> Observed<'static> {
        self.start.get_or_insert_with(|| segment.knobs.clone());
        self.knobs = Some((segment.knobs.clone(), segment.aside().is_some()));
        let set =
            segment.config.as_ref().and_then(|change| Some((change, self.tuned.get_mut(&*change.name)?)));
        let is_awaited = set.is_some_and(|(change, tuned)| {
            tuned.from.get_or_insert_with(|| change.from.clone());
            self.unset.remove(tuned.parameter.name)
        });
        self.segment = segment.segment;
        if self.state != SettingState::Awaited && !is_awaited {
            self.keep_manual_change(segment);
            return Observed::Lost(Interruption::Turned);
        }
        if self.wanted.is_none() || !self.has_knobs() || !self.unset.is_empty() {
            return Observed::Nothing;
        }
        self.state = SettingState::Held;
        Observed::Holds { since_s: segment.t_s }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{server::ConfigChange, session::Event};

    fn on() -> Knobs {
        Knobs { load: true, ..Knobs::default() }
    }

    fn setting(text: &str) -> ExperimentSetting {
        ExperimentSetting::parse(text, &on()).unwrap()
    }

    fn segment(number: u32, knobs: &Knobs) -> Segment {
        let t_s = f64::from(number);
        Segment::new(t_s, number, knobs.clone())
    }

    fn tuned(number: u32, knobs: &Knobs, from: &str, to: &str) -> Segment {
        let change = ConfigChange { name: "appendfsync".to_owned(), from: from.into(), to: to.into() };
        Segment { config: Some(change), ..segment(number, knobs) }
    }

    fn measured(segment: u32, t_s: f64) -> Delivery {
        let interval = Interval { segment, t_s, length_s: 0.25, ..Interval::default() };
        Delivery::Record(Arc::new(Record::Interval(Box::new(interval))))
    }

    fn see(in_force: &mut SettingTracker, segment: &Segment) -> Observed<'static> {
        in_force.on_segment(segment)
    }

    fn set_fsync(to: &str) -> Order {
        Order::SetConfig { parameter: Parameter::named("appendfsync").unwrap(), to: to.to_owned() }
    }

    #[test]
    fn a_lost_agent_interrupts_with_its_reason_and_one_that_is_back_does_not() {
        let mut in_force = SettingTracker::default();
        let host = || "load-b".to_owned();
        let mut see = |what| {
            let delivery = Delivery::Record(Arc::new(Record::Event(Event::new(1.0, what))));
            match in_force.see(&delivery) {
                Observed::Lost(why) => Some(why.to_string()),
                _ => None,
            }
        };
        let lost = see(EventKind::AgentLost { agent: 1, host: host() });
        let expected = "agent 1 on load-b does not report; its share of the load is missing";
        assert_eq!(lost.as_deref(), Some(expected));
        assert!(see(EventKind::ReportsLost { agent: 1, reports: 1 }).is_some());
        assert_eq!(see(EventKind::AgentBack { agent: 1, host: host() }), None);
    }

    #[test]
    fn a_setting_is_in_force_from_the_start_of_its_segment() {
        let mut in_force = SettingTracker::default();
        assert_eq!(see(&mut in_force, &segment(1, &on())), Observed::Nothing);
        let more = setting("clients 100");
        assert_eq!(in_force.request(&more), [Order::SetKnobs(more.knobs.clone())]);
        assert_eq!(in_force.see(&measured(1, 1.25)), Observed::Nothing);
        // While a question is open, the load is off.
        assert_eq!(
            see(&mut in_force, &segment(2, &Knobs { load: false, ..more.knobs.clone() })),
            Observed::Nothing
        );
        assert_eq!(see(&mut in_force, &segment(3, &more.knobs)), Observed::Holds { since_s: 3.0 });
        assert_eq!(in_force.see(&measured(1, 3.25)), Observed::Nothing);
        assert!(
            matches!(in_force.see(&measured(3, 3.25)), Observed::Measured(interval) if interval.t_s == 3.25)
        );
        assert_eq!(in_force.restore(), [Order::SetKnobs(on())]);
    }

    #[test]
    fn a_warm_up_is_not_the_setting() {
        let mut in_force = SettingTracker::default();
        assert_eq!(in_force.request(&ExperimentSetting::of(on())).len(), 1);
        assert_eq!(see(&mut in_force, &Segment { warmup: true, ..segment(1, &on()) }), Observed::Nothing);
        assert_eq!(see(&mut in_force, &segment(2, &on())), Observed::Holds { since_s: 2.0 });
    }

    #[test]
    fn a_parameter_is_restored_when_the_other_setting_does_not_name_it() {
        let mut in_force = SettingTracker::default();
        see(&mut in_force, &segment(1, &on()));
        let (plain, always) = (ExperimentSetting::of(on()), setting("config appendfsync always"));
        assert_eq!(in_force.request(&plain), []);
        assert_eq!(in_force.see(&measured(1, 1.25)), Observed::Holds { since_s: 1.25 }, "as it was");
        assert_eq!(in_force.request(&always), [set_fsync("always")]);
        let set = tuned(2, &on(), "everysec", "always");
        assert_eq!(see(&mut in_force, &set), Observed::Holds { since_s: 2.0 });
        assert_eq!(in_force.request(&plain), [set_fsync("everysec")]);
        let back = tuned(3, &on(), "always", "everysec");
        assert_eq!(see(&mut in_force, &back), Observed::Holds { since_s: 3.0 });
        let both = setting("clients 9, config appendfsync always");
        assert_eq!(in_force.request(&both), [Order::SetKnobs(both.knobs.clone()), set_fsync("always")]);
        assert_eq!(see(&mut in_force, &segment(4, &both.knobs)), Observed::Nothing);
        let set = tuned(5, &both.knobs, "everysec", "always");
        assert_eq!(see(&mut in_force, &set), Observed::Holds { since_s: 5.0 });
        assert_eq!(in_force.restore(), [Order::SetKnobs(on()), set_fsync("everysec")]);
    }

    #[test]
    fn changes_by_others_are_kept_and_the_rest_is_restored() {
        let held = || {
            let mut in_force = SettingTracker::default();
            see(&mut in_force, &segment(1, &on()));
            let both = setting("clients 9, config appendfsync always");
            in_force.request(&both);
            see(&mut in_force, &segment(2, &both.knobs));
            see(&mut in_force, &tuned(3, &both.knobs, "everysec", "always"));
            in_force
        };
        let (mut in_force, by_hand) = (held(), Knobs { clients: 7, ..on() });
        assert_eq!(see(&mut in_force, &segment(4, &by_hand)), Observed::Lost(Interruption::Turned));
        assert_eq!(in_force.restore(), [set_fsync("everysec")]);
        let mut in_force = held();
        let set = tuned(4, &setting("clients 9").knobs, "always", "no");
        assert_eq!(see(&mut in_force, &set), Observed::Lost(Interruption::Turned));
        assert_eq!(in_force.restore(), [Order::SetKnobs(on())]);
    }

    #[test]
    fn every_reason_against_the_setting_ends_the_experiment() {
        let mut in_force = SettingTracker::default();
        in_force.request(&ExperimentSetting::of(on()));
        see(&mut in_force, &segment(1, &on()));
        let by_hand = Knobs { clients: 7, ..on() };
        assert_eq!(see(&mut in_force, &segment(2, &by_hand)), Observed::Lost(Interruption::Turned));
        let refused = Delivery::Refused(set_fsync("often"), "no".to_owned());
        assert_eq!(in_force.see(&refused), Observed::Lost(Interruption::Refused("no".to_owned())));
        let off = Delivery::Notice(0, Notice::LoadStopped("NOPERM".to_owned()));
        assert_eq!(in_force.see(&off), Observed::Lost(Interruption::LoadOff("NOPERM".to_owned())));
        let left = Delivery::Notice(0, Notice::Leave);
        assert_eq!(in_force.see(&left), Observed::Lost(Interruption::SessionOver));
    }
}
