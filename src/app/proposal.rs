//! The way of a change from a hand to the load: one that may do harm waits for a yes.

use super::{Mode, Model, Order, Question, Room, Tone, danger, filling_danger};
use crate::{
    experiment::Interruption, gauge::Gauge, load::Knobs, server::Status, session::Moment, workload::Chosen,
};

/// Connections of ours that carry no load: that of the ping and that of the control plane.
const OURS_BESIDE_LOAD: u64 = 2;
/// So long after a change of the clients the server's count of them is of before.
const COUNT_SETTLES_S: f64 = 2.0;

impl Model {
    /// Puts `knobs` in force, or asks first.
    pub(super) fn propose(&mut self, knobs: Knobs) {
        let asked = danger(self.panel.wanted(), &knobs, self.room());
        self.propose_order(asked, Order::SetKnobs(knobs));
    }

    /// Asks for what a file says, or tells what is wrong with it.
    pub(super) fn propose_workload(&mut self, chosen: Result<Chosen, String>) {
        let knobs = chosen.and_then(|chosen| {
            if let Some(portion) = chosen.workload.portions().into_iter().next() {
                return Err(format!(
                    "{portion} is of a dataset's record, which is given at the start: --dataset"
                ));
            }
            self.panel.wanted().asking(&chosen).map_err(|error| error.to_string())
        });
        match knobs {
            Ok(knobs) => self.propose(knobs),
            Err(what) => self.say(Tone::Warning, what),
        }
    }

    /// Has the keys made that the load of `knobs` reads, or asks first.
    pub(super) fn propose_prefill(&mut self, knobs: Knobs) {
        let asked = filling_danger(&knobs, self.room());
        self.propose_order(asked, Order::Prefill(knobs));
    }

    /// What room the server has, as far as it told.
    pub(super) fn room(&self) -> Room {
        Room::new(self.timeline().latest().status().map(|status| &status.body), self.track().others)
    }

    fn propose_order(&mut self, asked: Option<String>, order: Order) {
        match asked.filter(|_| self.playback.is_none()) {
            Some(question) => self.mode = Mode::Asking(Question::Danger { question, order }),
            None => self.put_in_force(order),
        }
    }

    /// Puts the knobs of an order in force.
    pub(super) fn put_in_force(&mut self, order: Order) {
        self.interrupt_experiment(Interruption::Turned);
        if let Order::SetKnobs(knobs) | Order::Prefill(knobs) = &order {
            self.panel.want(knobs.clone());
        }
        if let Order::Prefill(Knobs { load: false, .. }) = order {
            self.say(Tone::Info, "the keys are made when the load goes on, before anything is measured");
        }
        self.ask(order);
    }

    /// Proposes what was turned or typed, or says why it cannot be.
    pub(super) fn propose_or_say<E: ToString>(&mut self, knobs: Result<Option<Knobs>, E>) {
        match knobs {
            Ok(Some(knobs)) => self.propose(knobs),
            Ok(None) => {}
            Err(error) => self.say(Tone::Warning, error.to_string()),
        }
    }

    /// Takes from what the server says how many connections are not ours, unless ours have just changed.
    pub(super) fn count_others(&mut self, status: &Moment<Status>) {
        let began_s = self.timeline().segments().current().map_or(0.0, |segment| segment.start.t_s);
        if status.t_s - began_s < COUNT_SETTLES_S {
            return;
        }
        // They stay connected when the load goes off.
        let had_load = self.timeline().segments().iter().any(|segment| segment.start.knobs.load);
        let ours = if had_load { u64::from(self.in_force().clients) } else { 0 };
        let clients = status.body.gauges.whole(Gauge::Clients);
        let others = clients.map(|clients| clients.saturating_sub(ours + OURS_BESIDE_LOAD));
        self.track_mut().others = others;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        app::{Delivery, Effect, Key, KeyCode, Msg, update},
        gauge::Gauges,
        session::{Record, Segment, TimelineOptions},
    };

    fn press(model: &mut Model, keys: &str) -> Vec<Effect> {
        let code = |c| if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) };
        keys.chars().flat_map(|c| update(model, Msg::Key(Key::plain(code(c))))).collect()
    }

    fn take(model: &mut Model, record: Record) {
        update(model, Msg::Delivery(Delivery::Record(Arc::new(record))));
    }

    /// A load of 1000 a second on a server of 16 MiB that has so many clients in all.
    fn model(clients: u64) -> Model {
        let knobs = Knobs { load: true, rate: Some(1000), ..Knobs::default() };
        let mut model = Model::new(knobs.clone(), TimelineOptions::default());
        take(&mut model, Record::Segment(Segment::new(0.0, 1, knobs)));
        let memory = [(Gauge::MaxMemory, f64::from(16 << 20)), (Gauge::UsedMemory, f64::from(1 << 20))];
        let mut gauges = Gauges::from(memory);
        gauges.set(Gauge::Clients, Some(clients as f64));
        let body = Status { gauges, ..Status::default() };
        take(&mut model, Record::Server(Box::new(Moment::new(5.0, body))));
        model
    }

    fn asks(model: &Model, words: &str) -> bool {
        matches!(&model.mode, Mode::Asking(Question::Danger { question, .. }) if question.contains(words))
    }

    #[test]
    fn a_dangerous_change_waits_for_yes_and_no_leaves_the_knob_where_it_was() {
        let mut model = model(52);
        let before = model.panel.wanted().clone();
        assert_eq!(press(&mut model, "jjjjj\n64k\n"), []);
        assert!(asks(&model, "maxmemory"));
        assert_eq!(press(&mut model, "\n"), [], "Enter is no");
        assert_eq!((model.panel.wanted(), &model.mode), (&before, &Mode::Screen));
        assert_eq!(model.message().unwrap().text, "nothing was changed");
        assert_eq!(
            press(&mut model, "\n64k\ny"),
            [Effect::Order(Order::SetKnobs(Knobs { value_size: 65_536, ..before.clone() }))]
        );
        assert_eq!(press(&mut model, "u"), [Effect::Order(Order::SetKnobs(before))]);
    }

    #[test]
    fn a_rate_goes_to_max_at_once_where_nobody_else_is() {
        assert_eq!(press(&mut model(52), "jj\nmax\n").len(), 1);
        let mut beside = model(59);
        assert_eq!(press(&mut beside, "jj\nmax\n"), []);
        assert!(asks(&beside, "7 other clients"));
    }
}
