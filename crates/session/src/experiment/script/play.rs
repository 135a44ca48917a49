//! Plays a script in a session: makes each change at its time, and keeps all other settings.

use super::text::{ScriptText, StepAction};
use crate::{
    experiment::{Ending, Experiment, ExperimentSetting, Interruption, WordsError, t_s},
    knobs::Knobs,
    session::{Delivery, Mark, Order, Record},
};

/// The longest wait until the requested knobs are in effect, in seconds. Afterwards, the script assumes that the user
/// or another client of the session has changed the knobs.
const PENDING_S: f64 = 1.0;

/// A script, and its progress.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    name: String,
    text: ScriptText,
    /// The start of the script, in seconds since the session began. If the script begins with the first message of the
    /// session, the start is `None` until this message arrives.
    since_s: Option<f64>,
    /// Whether the session began with the knobs of the lines at 0 s. These knobs are then already in effect.
    is_from_start: bool,
    /// The index of the next change.
    next: usize,
    /// The knobs that were requested last, and the time until which the script waits for these knobs. The wait for the
    /// first knobs has no limit, because the user may have to allow the load.
    ordered: Option<(Knobs, f64)>,
    /// The knobs in effect.
    knobs: Knobs,
    ending: Option<Ending>,
}

impl Script {
    /// Parses the text of the file `name`. Knobs that the text does not name come from `base`.
    ///
    /// # Errors
    /// The error is a message with the invalid line and the reason.
    pub fn parse(name: &str, text: &str, base: &Knobs) -> Result<Self, WordsError> {
        let text = ScriptText::parse(name, text, base)?;
        let first = text.at_start().map_or_else(|| base.clone(), |setting| setting.knobs.clone());
        let ordered = Some((first.clone(), f64::INFINITY));
        Ok(Self {
            name: name.to_owned(),
            text,
            since_s: Some(0.0),
            is_from_start: true,
            next: 0,
            ordered,
            knobs: first,
            ending: None,
        })
    }

    /// Makes the times of the script relative to the first message that the script receives, not to the start of the
    /// session. At its beginning, the script switches the load on.
    #[must_use]
    pub fn from_now(self) -> Self {
        Self { since_s: None, is_from_start: false, ordered: None, ..self }
    }

    /// Returns the knobs (the settings of the load) at the start of the session, after the lines at 0 s.
    pub fn first_knobs(&self) -> &Knobs {
        &self.knobs
    }

    /// Returns all settings of the script in order, for a session in which only the script changes settings.
    pub fn settings(&self) -> &[ExperimentSetting] {
        &self.text.settings
    }

    /// Returns the time of the last change, in seconds since the script began.
    pub fn last_turn_s(&self) -> f64 {
        self.text.turns.last().map_or(0.0, |turn| turn.t_s)
    }

    /// Returns the end of the script, in seconds since the script began.
    pub fn end_s(&self) -> f64 {
        self.text.end_s
    }

    fn see(&mut self, delivery: &Delivery) -> Option<Interruption> {
        // A watched node has segments too, without load.
        if let Delivery::Record(record) = delivery
            && record.is_of(0)
            && let Record::Segment(segment) = &**record
        {
            self.knobs.clone_from(&segment.knobs);
            self.ordered.take_if(|(knobs, _)| *knobs == segment.knobs);
        }
        match Interruption::of(delivery)? {
            Interruption::Refused(why) => Some(Interruption::Refused(self.with_line(&why))),
            // A script only turns knobs. The load that is missing is in the records.
            Interruption::Fleet(_) => None,
            why => Some(why),
        }
    }

    /// Returns a message with the name of the file, the number of the last played line, and `why`.
    fn with_line(&self, why: &str) -> String {
        let line =
            self.next.checked_sub(1).and_then(|last| self.text.turns.get(last)).map_or(0, |turn| turn.line);
        format!("{}:{line}: {why}", self.name)
    }

    /// Returns the orders at the start of a script that does not begin with the session.
    fn begin(&mut self, now_s: f64) -> Vec<Order> {
        if self.since_s.is_some() {
            return Vec::new();
        }
        self.since_s = Some(now_s);
        let now = self.knobs.clone();
        let orders = self.order(ExperimentSetting::of(Knobs { load: true, ..now.clone() }), &now, now_s);
        // The user may need some time to allow the load.
        self.ordered.iter_mut().for_each(|(_, until_s)| *until_s = f64::INFINITY);
        orders
    }

    fn play(&mut self, now_s: f64) -> Vec<Order> {
        let mut orders = self.begin(now_s);
        let played_s = now_s - self.since_s.unwrap_or(now_s);
        if self.next == self.text.turns.len() && played_s >= self.text.end_s {
            self.ending = Some(Ending::Done);
        }
        while let Some(turn) = self.text.turns.get(self.next).filter(|turn| turn.t_s <= played_s) {
            self.next += 1;
            if let StepAction::Mark(text) = &turn.what {
                orders.push(Order::Mark(Mark { t_s: now_s, text: text.clone() }));
                continue;
            }
            self.ordered.take_if(|(_, until_s)| *until_s < now_s);
            let now = self.ordered.as_ref().map_or(&self.knobs, |(knobs, _)| knobs).clone();
            let is_in_force = self.is_from_start && turn.t_s <= 0.0;
            match turn.what.setting(&now) {
                Ok(setting) => {
                    let to = setting.map(|to| match is_in_force {
                        true => ExperimentSetting { knobs: now.clone(), ..to },
                        false => to,
                    });
                    orders.extend(to.into_iter().flat_map(|to| self.order(to, &now, now_s)));
                }
                Err(error) => {
                    let why = Interruption::Refused(self.with_line(&error.to_string()));
                    self.ending = Some(Ending::Interrupted(why));
                    return orders;
                }
            }
        }
        orders
    }

    fn order(&mut self, to: ExperimentSetting, now: &Knobs, now_s: f64) -> Vec<Order> {
        let is_turned = to.knobs != *now;
        if is_turned {
            self.ordered = Some((to.knobs.clone(), now_s + PENDING_S));
        }
        let knobs = is_turned.then_some(Order::SetKnobs(to.knobs));
        let config = to.config.into_iter().map(|(parameter, to)| Order::SetConfig { parameter, to });
        knobs.into_iter().chain(config).collect()
    }
}

impl Experiment for Script {
    fn title(&self) -> String {
        format!("script {}", self.name)
    }

    fn go_on(&mut self, delivery: &Delivery) -> Vec<Order> {
        if let Some(why) = self.see(delivery) {
            // If the session ends after the last change, the script is complete.
            let is_played = why == Interruption::SessionOver && self.next == self.text.turns.len();
            self.ending = Some(if is_played { Ending::Done } else { Ending::Interrupted(why) });
            return Vec::new();
        }
        t_s(delivery).map_or_else(Vec::new, |now_s| self.play(now_s))
    }

    /// Stops the script. The changes that the script made are kept, because the user requested these changes.
    fn stop(&mut self) -> Vec<Order> {
        self.ending.get_or_insert(Ending::Done);
        Vec::new()
    }

    /// Interrupts the script. If the user or another client of the session changes a knob, the script continues.
    fn interrupt(&mut self, why: Interruption) -> Vec<Order> {
        if why != Interruption::Turned {
            self.ending.get_or_insert(Ending::Interrupted(why));
        }
        Vec::new()
    }

    fn progress(&self) -> String {
        let end_s = self.text.end_s;
        match self.text.turns.get(self.next) {
            Some(turn) => {
                format!("line {} is next, at {} s; the script ends at {end_s} s", turn.line, turn.t_s)
            }
            None => format!("all changes are made; the script ends at {end_s} s"),
        }
    }

    fn words(&self) -> String {
        let played = format!("played to its end, {} s\n", self.text.end_s);
        if self.next == self.text.turns.len() { played } else { self.report() }
    }

    fn copied(&self) -> Box<dyn Experiment> {
        Box::new(self.clone())
    }

    fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    fn report(&self) -> String {
        let Some(next) = self.text.turns.get(self.next) else { return String::new() };
        let next = format!("line {}, at {} s, was not", next.line, next.t_s);
        match self.next.checked_sub(1).map(|last| &self.text.turns[last]) {
            Some(last) => {
                format!("{} was played up to line {}, at {} s; {next}\n", self.name, last.line, last.t_s)
            }
            None => format!("{} has not begun: {next} played\n", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        experiment::simulated::SimulatedSession,
        server::Parameter,
        session::{Interval, Notice, Segment},
    };

    fn on() -> Knobs {
        Knobs { load: true, ..Knobs::default() }
    }

    fn script(text: &str) -> Script {
        Script::parse("a.script", text, &on()).unwrap()
    }

    /// Returns all settings in effect during a session with the script, each with its start time.
    fn played(text: &str) -> (Script, SimulatedSession, Vec<(f64, Knobs)>) {
        let (mut script, mut seen) = (script(text), Vec::<(f64, Knobs)>::new());
        let mut session = SimulatedSession::new(script.first_knobs().clone());
        session.drive(&mut script, |knobs, t_s| {
            if seen.last().is_none_or(|(_, last)| last != knobs) {
                seen.push((t_s, knobs.clone()));
            }
            Interval::default()
        });
        (script, session, seen)
    }

    fn segment(t_s: f64, knobs: Knobs) -> Delivery {
        let segment = Segment::new(t_s, 1, knobs);
        Delivery::Record(Arc::new(Record::Segment(segment)))
    }

    #[test]
    fn changes_and_marks_are_made_at_their_times() {
        let text = "at 0s clients 9\nat 1s config hz 20\nfrom 2s to 4s rate 100..300\nat 3s mark now\nat 5s load off\nat 7s end";
        let (script, session, seen) = played(text);
        let turned: Vec<_> =
            seen.iter().map(|(t_s, knobs)| (*t_s, knobs.load, knobs.clients, knobs.rate)).collect();
        assert_eq!(
            turned,
            [
                (0.0, true, 9, None),
                (2.0, true, 9, Some(100)),
                (3.0, true, 9, Some(200)),
                (4.0, true, 9, Some(300)),
                (5.0, false, 9, Some(300)),
            ]
        );
        let hz = Order::SetConfig { parameter: Parameter::named("hz").unwrap(), to: "20".to_owned() };
        assert_eq!(session.sent, [hz, Order::Mark(Mark { t_s: 3.0, text: "now".to_owned() })]);
        assert_eq!((script.ending(), script.report()), (Some(&Ending::Done), String::new()));
        assert!((7.0..7.5).contains(&session.now_s()), "{}", session.now_s());
    }

    #[test]
    fn changes_by_others_are_kept_if_no_line_names_the_knob() {
        let mut script = script("at 1s clients 9\nat 5s pipeline 2");
        assert_eq!(script.take(&segment(0.0, on())), []);
        let nine = Knobs { clients: 9, ..on() };
        assert_eq!(script.take(&segment(1.0, on())), [Order::SetKnobs(nine.clone())]);
        script.take(&segment(1.1, nine.clone()));
        let by_hand = Knobs { value_size: 100, ..nine };
        script.take(&segment(3.0, by_hand.clone()));
        let both = Knobs { pipeline: 2, ..by_hand.clone() };
        assert_eq!(script.take(&segment(5.0, by_hand)), [Order::SetKnobs(both)]);
    }

    #[test]
    fn knobs_at_0_s_with_which_the_session_began_are_not_requested_again() {
        let text = "at 0s preset saturate\nat 0s clients 10, rate 1k\nat 0s config hz 20\nat 9s end";
        let mut script = script(text);
        let first = script.first_knobs().clone();
        assert_eq!((first.clients, first.rate), (10, Some(1000)));
        let hz = Order::SetConfig { parameter: Parameter::named("hz").unwrap(), to: "20".to_owned() };
        assert_eq!(script.take(&segment(0.0, first)), [hz]);
    }

    #[test]
    fn the_segments_of_a_watched_node_change_no_knobs() {
        let mut script = script("at 1s clients 9\nat 9s end");
        let off = Record::Segment(Segment::new(0.0, 1, Knobs { load: false, ..on() }));
        for record in [Record::Segment(Segment::new(0.0, 1, on())), off.at_node(1)] {
            assert_eq!(script.take(&Delivery::Record(Arc::new(record))), []);
        }
        let second = Record::Interval(Box::new(Interval { t_s: 1.0, ..Interval::default() }));
        let orders = script.take(&Delivery::Record(Arc::new(second)));
        assert_eq!(orders, [Order::SetKnobs(Knobs { clients: 9, ..on() })]);
    }

    #[test]
    fn while_the_first_write_waits_for_the_user_the_load_stays_requested() {
        let mut script = script("at 1s clients 9\nat 1.2s pipeline 2\nat 9s end");
        let off = Knobs { load: false, ..on() };
        script.take(&segment(0.0, off.clone()));
        let nine = Knobs { clients: 9, ..on() };
        assert_eq!(script.take(&segment(1.0, off.clone())), [Order::SetKnobs(nine.clone())]);
        let both = Knobs { pipeline: 2, ..nine };
        assert_eq!(script.take(&segment(1.25, off)), [Order::SetKnobs(both)], "the waiting change is kept");
    }

    #[test]
    fn a_script_that_begins_later_counts_from_then_and_switches_the_load_on() {
        let mut script = script("at 0s clients 9\nat 2s pipeline 2").from_now();
        let off = Knobs { load: false, ..on() };
        let nine = Knobs { clients: 9, ..on() };
        let orders = script.take(&segment(100.0, off.clone()));
        assert_eq!(orders, [Order::SetKnobs(on()), Order::SetKnobs(nine.clone())]);
        assert_eq!(script.take(&segment(101.9, off)), []);
        script.take(&segment(101.95, nine.clone()));
        assert_eq!(
            script.take(&segment(102.0, nine.clone())),
            [Order::SetKnobs(Knobs { pipeline: 2, ..nine })]
        );
    }

    #[test]
    fn a_refused_change_is_reported_with_its_line() {
        let mut script = script("at 1s clients 9\nat 5s pipeline 2");
        let orders = script.take(&segment(1.0, on()));
        script.take(&Delivery::Refused(orders[0].clone(), "too many".to_owned()));
        let why = Interruption::Refused("a.script:1: too many".to_owned());
        assert_eq!(script.ending(), Some(&Ending::Interrupted(why)));
        assert_eq!(script.report(), "a.script was played up to line 1, at 1 s; line 2, at 5 s, was not\n");
    }

    #[test]
    fn a_session_that_ends_before_the_last_change_interrupts_the_script() {
        let ended = |t_s| {
            let mut script = script("at 1s clients 9\nat 9s end");
            script.take(&segment(t_s, on()));
            script.take(&Delivery::Notice(0, Notice::Leave));
            script.ending().cloned()
        };
        assert_eq!(ended(0.5), Some(Ending::Interrupted(Interruption::SessionOver)));
        assert_eq!(ended(1.0), Some(Ending::Done));
    }
}
