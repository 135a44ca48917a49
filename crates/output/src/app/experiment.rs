//! The current or last experiment on the screen. The user begins an experiment with a command, and ends it
//! with a key or by changing a knob.
//!
//! ```text
//!  text ─► spec ─► a question, if it sets parameters ─► begun ─► each delivery: its orders go to the session
//!                                                              └─► over: its result is shown until it is closed
//! ```

use std::sync::Arc;

use super::{Delivery, Model, Order, Tone, UserQuestion, model::ExperimentRun, value_words};
use crate::{
    events::EventKind,
    experiment::{Ending, Experiment, ExperimentSpec, Interruption},
    knobs::Knobs,
    session::{Record, Segment},
};

impl Model {
    /// Adds an experiment to the model. The experiment begins with the first record.
    pub fn with_experiment(mut self, experiment: Option<Box<dyn Experiment>>) -> Self {
        let before = self.panel.wanted.clone();
        self.experiment = experiment.map(|experiment| ExperimentRun { experiment, before });
        self
    }

    /// Returns the running experiment, or a finished experiment whose result is still shown.
    pub fn experiment(&self) -> Option<&dyn Experiment> {
        self.experiment.as_ref().map(|begun| &*begun.experiment)
    }

    /// Begins an experiment, or asks the user first, or shows why the experiment is impossible.
    pub(super) fn propose_experiment(&mut self, asked: ExperimentSpec) {
        if self.experiment().is_some_and(|experiment| !experiment.is_over()) {
            return self
                .show_message(Tone::Warning, "an experiment is running; press c to stop the experiment");
        }
        match self.question_of(&asked) {
            Some(_) if self.program.is_shared => self.show_message(
                Tone::Warning,
                "an experiment can set parameters of only one server, but several servers share the load",
            ),
            Some(question) => self.ask(UserQuestion::Experiment { question, asked }),
            None => self.begin_experiment(asked),
        }
    }

    /// Begins the script with this text, or shows why the script cannot run.
    pub(super) fn propose_script(&mut self, name: &str, text: Result<String, String>) {
        let text = text.map_err(|error| format!("{name} cannot be read: {error}"));
        let asked = text.and_then(|text| {
            ExperimentSpec::script(name, &text, &self.panel.wanted).map_err(|error| error.to_string())
        });
        match asked {
            Ok(asked) => self.propose_experiment(asked),
            Err(why) => self.show_message(Tone::Warning, why),
        }
    }

    /// Returns the question that the user must answer before the experiment, if there is one.
    fn question_of(&self, asked: &ExperimentSpec) -> Option<String> {
        let set = asked.parameters();
        let (mut changes, mut harms) = (Vec::new(), Vec::new());
        for (parameter, values) in &set {
            let words: Vec<_> = values.iter().map(|to| value_words(to)).collect();
            changes.push(format!("{} to {}", parameter.name, words.join(" or ")));
            let harm = |to: &&str| self.setting_of(parameter, "", (*to).to_owned()).harm;
            for harm in values.iter().filter_map(harm).map(|harm| format!("{harm}. ")) {
                if !harms.contains(&harm) {
                    harms.push(harm);
                }
            }
        }
        let and_then = match asked {
            ExperimentSpec::Ab(_) => ", then back to the old value, many times",
            ExperimentSpec::Script(_) => {
                " at the times in the script; redyno restores the old values at the end of the session"
            }
            ExperimentSpec::Sweep(..) | ExperimentSpec::Find(..) => {
                " in turn; redyno restores the old values at the end of the experiment"
            }
        };
        let (changes, harms) = (changes.join(", and "), harms.concat());
        (!set.is_empty()).then(|| {
            format!("redyno sets {changes}{and_then}. {harms}This affects all users of this server. Begin?")
        })
    }

    pub(super) fn begin_experiment(&mut self, asked: ExperimentSpec) {
        let mut experiment = asked.begin();
        let now_s = self.timeline().now_s;
        // The experiment must know the present segment, so it gets a record of this segment first.
        let present = self.timeline().segments.current().map(|segment| segment.start.clone());
        let begin = present.map(|segment| Record::Segment(Segment { t_s: now_s, ..segment }));
        let orders = begin.map_or_else(Vec::new, |begin| experiment.take(&Delivery::Record(Arc::new(begin))));
        // From now on, the curve shows the experiment's own dimension.
        self.curve_over = None;
        self.experiment = Some(ExperimentRun { experiment, before: self.panel.wanted.clone() });
        self.carry_out_orders(orders);
    }

    /// Passes a record or notice of the session to the experiment, while the experiment runs.
    pub(super) fn pass_to_experiment(&mut self, delivery: &Delivery) {
        self.drive_experiment(|experiment| experiment.take(delivery));
    }

    /// Stops a running experiment, or closes the result of a finished experiment.
    pub(super) fn stop_experiment(&mut self) {
        if self.experiment().is_some_and(Experiment::is_over) {
            self.experiment = None;
            return;
        }
        self.drive_experiment(|experiment| experiment.stop());
        let Some(begun) = &self.experiment else { return };
        let is_back = Knobs { load: begun.before.load, ..self.panel.wanted.clone() } == begun.before;
        let knobs = if is_back { "the same as before the experiment" } else { "those of the experiment" };
        let text = format!("{} was stopped; the load settings are {knobs}", begun.experiment.title());
        self.show_message(Tone::Info, text);
    }

    /// Ends a running experiment because of an action of the user.
    pub(super) fn interrupt_experiment(&mut self, why: Interruption) {
        self.drive_experiment(|experiment| experiment.interrupt(why));
    }

    /// Calls `act` with the experiment, unless the experiment is over, and carries out the returned orders.
    fn drive_experiment(&mut self, act: impl FnOnce(&mut dyn Experiment) -> Vec<Order>) {
        let Some(begun) = self.experiment.as_mut().filter(|begun| !begun.experiment.is_over()) else {
            return;
        };
        let orders = act(&mut *begun.experiment);
        self.carry_out_orders(orders);
    }

    /// Carries out the experiment's orders. When the experiment ends, a message shows the result, and one undo
    /// restores the knobs from before the experiment.
    fn carry_out_orders(&mut self, orders: Vec<Order>) {
        for order in orders {
            if let Order::SetKnobs(knobs) = &order {
                self.panel.follow(knobs.clone());
            }
            self.request(order);
        }
        let Some(begun) = &self.experiment else { return };
        let Some(ending) = begun.experiment.ending() else { return };
        let title = begun.experiment.title();
        let stopped = begun.experiment.stopped();
        let tone = if matches!(ending, Ending::Interrupted(_)) { Tone::Warning } else { Tone::Info };
        let answer = begun.experiment.answer();
        let text = answer.lines().next().unwrap_or_default().to_owned();
        let (before, now) = (begun.before.clone(), self.panel.wanted.clone());
        self.panel.follow(Knobs { load: now.load, ..before });
        self.panel.want(now);
        if let Some(cause) = stopped {
            self.request(Order::Event(EventKind::ExperimentStopped { cause }));
        }
        self.show_message(tone, format!("{title}: {text}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Context, Effect, InputMode, Key, KeyCode, Msg, update},
        gauge::Gauge,
        server::Status,
        session::{Interval, Moment, TimelineOptions},
        stats::fixture::repeated,
    };

    /// A model with a simulated server. The server answers 10 000 requests a second, each in 400 µs.
    struct Session {
        model: Model,
        knobs: Knobs,
        segment: u32,
        tick: u32,
    }

    impl Session {
        fn begun() -> Self {
            let knobs = Knobs::default();
            let model = Model::new(knobs.clone(), TimelineOptions::default());
            let mut session = Self { model, knobs: knobs.clone(), segment: 0, tick: 400 };
            session.turn(knobs);
            session
        }

        fn now_s(&self) -> f64 {
            f64::from(self.tick) / 4.0
        }

        fn turn(&mut self, knobs: Knobs) {
            self.segment += 1;
            self.knobs = knobs.clone();
            let (t_s, segment) = (self.now_s(), self.segment);
            self.feed(Record::Segment(Segment::new(t_s, segment, knobs)));
        }

        fn feed(&mut self, record: Record) {
            let effects = update(&mut self.model, Msg::Delivery(Delivery::Record(Arc::new(record))));
            self.obey(effects);
        }

        fn obey(&mut self, effects: Vec<Effect>) {
            for effect in effects {
                match effect {
                    Effect::Order(Order::SetKnobs(knobs)) if knobs != self.knobs => self.turn(knobs),
                    _ => {}
                }
            }
        }

        fn press(&mut self, keys: &str) {
            for c in keys.chars() {
                let code = if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) };
                let effects = update(&mut self.model, Msg::Key(Key::plain(code)));
                self.obey(effects);
            }
        }

        fn go_on(&mut self, ticks: u32) {
            for _ in 0..ticks {
                self.tick += 1;
                let rate = self.knobs.rate.map_or(10_000.0, f64::from).min(10_000.0);
                let took_us = if self.knobs.rate > Some(10_000) { 1_000_000 } else { 400 };
                let ops = (rate / 4.0) as u64;
                let response = self.knobs.rate.map(|_| repeated(took_us * 1000, ops));
                let service = repeated(400_000, ops);
                let (t_s, segment) = (self.now_s(), self.segment);
                let interval = Interval {
                    t_s,
                    length_s: 0.25,
                    segment,
                    ops,
                    ops_per_s: rate,
                    service,
                    response,
                    ..Interval::default()
                };
                self.feed(Record::Interval(Box::new(interval)));
            }
        }

        fn is_running(&self) -> bool {
            self.model.experiment().is_some_and(|experiment| !experiment.is_over())
        }

        fn said(&self) -> &str {
            self.model.message().map_or("", |message| &message.text)
        }
    }

    #[test]
    fn a_typed_experiment_runs_to_its_end_and_its_result_is_shown_until_it_is_closed() {
        let mut session = Session::begun();
        session.press(":find p99<1ms\n");
        assert!(session.is_running() && session.knobs.load, "{}", session.said());
        assert!(session.model.contexts().contains(&Context::Experiment));
        session.go_on(8);
        session.press(":find p99<1ms\n");
        assert_eq!(session.said(), "an experiment is running; press c to stop the experiment");
        for _ in 0..400 {
            if session.is_running() {
                session.go_on(1);
            }
        }
        assert!(!session.is_running(), "{}", session.model.experiment().unwrap().progress());
        let rate = session.knobs.rate.unwrap();
        assert!((9_700..=10_000).contains(&rate), "{rate}");
        assert_eq!(session.model.panel.wanted, session.knobs, "the answer holds");
        assert!(session.said().starts_with("find p99<1ms: p99<1ms is met"), "{}", session.said());
        assert!(session.model.contexts().contains(&Context::Answer));
        session.press("c");
        assert!(session.model.experiment().is_none());
        session.press("u");
        assert_eq!(session.knobs, Knobs { load: true, ..Knobs::default() }, "undone as one");
    }

    #[test]
    fn a_key_stops_an_experiment_and_the_knobs_are_as_before() {
        let mut session = Session::begun();
        let before = session.knobs.clone();
        for typed in [":find p99<1ms\n", ":ab pipeline 16\n"] {
            session.press(typed);
            session.go_on(20);
            assert!(session.is_running() && session.knobs != before);
            session.press("c");
            assert!(!session.is_running());
            assert_eq!((&session.knobs, &session.model.panel.wanted), (&before, &before));
            assert!(
                session
                    .said()
                    .ends_with("was stopped; the load settings are the same as before the experiment"),
                "{}",
                session.said()
            );
            session.press("c");
        }
    }

    #[test]
    fn an_experiment_ends_when_the_user_changes_a_knob_and_the_change_stays() {
        let mut session = Session::begun();
        for typed in [":find p99<1ms\n", ":ab pipeline 16\n"] {
            session.press(typed);
            session.go_on(21);
            assert!(session.is_running());
            session.press(":clients 7\n");
            assert!(!session.is_running());
            assert_eq!((session.knobs.clients, session.knobs.load), (7, true));
            assert!(session.said().ends_with("changed a knob during the experiment"), "{}", session.said());
            session.go_on(20);
            assert_eq!(session.knobs.clients, 7);
            session.press("u");
            assert_ne!(session.knobs.clients, 7);
        }
    }

    #[test]
    fn a_script_runs_from_the_moment_of_its_start_and_the_user_may_change_other_knobs() {
        let mut session = Session::begun();
        session.press(":script ramp.script");
        let effects = update(&mut session.model, Msg::Key(Key::plain(KeyCode::Enter)));
        assert_eq!(effects, [Effect::Read("ramp.script".to_owned())]);
        let mut read = |text: Result<&str, &str>| {
            let (name, text) = ("ramp.script".to_owned(), text.map(str::to_owned).map_err(str::to_owned));
            let effects = update(&mut session.model, Msg::Script { name, text });
            session.obey(effects);
            session.said().to_owned()
        };
        assert_eq!(
            read(Err("the file does not exist")),
            "ramp.script cannot be read: the file does not exist"
        );
        assert!(read(Ok("at 5s wheels 4")).starts_with("ramp.script:1: 'wheels 4' is not a setting"));
        read(Ok("at 0s clients 9\nat 2s pipeline 4\nat 4s end"));
        assert!(session.is_running() && session.knobs.load && session.knobs.clients == 9);
        session.press(":value size 100\n");
        session.go_on(9);
        assert_eq!((session.knobs.pipeline, session.knobs.value_size), (4, 100));
        assert!(session.is_running());
        session.go_on(9);
        assert!(!session.is_running());
        assert_eq!(session.said(), "script ramp.script: played to its end, 4 s");
        assert_eq!(session.knobs.pipeline, 4);
    }

    #[test]
    fn an_experiment_that_sets_server_parameters_begins_after_a_question() {
        let mut session = Session::begun();
        session.press(":ab config appendfsync always\n");
        let InputMode::Asking(UserQuestion::Experiment { question, .. }) = &session.model.mode else {
            panic!("not asked")
        };
        assert!(
            question.starts_with("redyno sets appendfsync to always, then back to the old value"),
            "{question}"
        );
        session.press("n");
        assert!(session.model.experiment().is_none());
        session.press(":ab config appendfsync always\ny");
        assert!(session.is_running());
        let mut shared = Session::begun();
        shared.model.program.is_shared = true;
        shared.press(":ab config appendfsync always\n");
        assert!(shared.said().contains("several servers share the load"), "{}", shared.said());
    }

    #[test]
    fn the_question_names_all_parameters_and_the_harm_of_each_value() {
        let mut session = Session::begun();
        let status = Status {
            gauges: [(Gauge::UsedMemory, 5e6), (Gauge::MaxMemory, 0.0)].into(),
            ..Status::default()
        };
        session.feed(Record::Server(Box::new(Moment::new(100.0, status))));
        let text =
            "at 0s config hz 20, config maxmemory 1mb\nat 5s config hz 50\nat 9s config hz 20\nat 10s end";
        let script = ExperimentSpec::script("a", text, &Knobs::default()).unwrap();
        let question = session.model.question_of(&script).unwrap();
        assert!(
            question
                .starts_with("redyno sets hz to 20 or 50, and maxmemory to 1mb at the times in the script;"),
            "{question}"
        );
        assert!(
            question.contains("4.77 MiB are used: writes will fail. This affects all users"),
            "{question}"
        );
    }
}
