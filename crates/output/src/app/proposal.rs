//! Sends a change of a setting from the screen to the session, and shows the reason if the session refuses the change.
//! If a change may do harm, the session asks the user first.

use super::{Model, Order, Tone};
use crate::{experiment::Interruption, knobs::Knobs, workload::WorkloadChoice};

impl Model {
    /// Requests that the load uses the workload in a file. If the file has an error, shows the error.
    pub(super) fn propose_workload(&mut self, chosen: Result<WorkloadChoice, String>) {
        let knobs = chosen.and_then(|chosen| {
            if let Some(portion) = chosen.workload.portions().into_iter().next() {
                return Err(format!(
                    "{portion} needs a dataset, which redyno reads only at the start; quit, and run redyno with --dataset FILE"
                ));
            }
            self.panel.wanted.with_chosen(&chosen).map_err(|error| error.to_string())
        });
        match knobs {
            Ok(knobs) => self.send_order(Order::SetKnobs(knobs)),
            Err(what) => self.show_message(Tone::Warning, what),
        }
    }

    /// Sends an order of the user to the session, and shows the requested knobs in the panel. If the change may do
    /// harm, the session asks the user first. A running experiment ends.
    pub(super) fn send_order(&mut self, order: Order) {
        self.interrupt_experiment(Interruption::Turned);
        if let Order::SetKnobs(knobs) | Order::Prefill(knobs) = &order {
            self.panel.want(knobs.clone());
        }
        if let Order::Prefill(Knobs { load: false, .. }) = order {
            self.show_message(
                Tone::Info,
                "redyno writes the keys when you turn the load on, and then begins to measure",
            );
        }
        self.request(order);
    }

    /// Requests a change by a step or to a typed value. If the change is invalid, shows the reason.
    pub(super) fn propose_or_warn<E: ToString>(&mut self, knobs: Result<Option<Knobs>, E>) {
        match knobs {
            Ok(Some(knobs)) => self.send_order(Order::SetKnobs(knobs)),
            Ok(None) => {}
            Err(error) => self.show_message(Tone::Warning, error.to_string()),
        }
    }

    /// Drops the proposed change, after the user has answered no.
    pub(super) fn drop_proposal(&mut self) {
        let in_force = self.in_force().clone();
        self.panel.take_back(in_force);
        self.interrupt_experiment(Interruption::Refused("you did not allow one of the settings".to_owned()));
        self.show_message(Tone::Info, "nothing was changed");
        self.request(Order::AllowWrites(false));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{
        app::{
            Delivery, Effect, InputMode, Model, Msg, Notice, Order, UserQuestion, update,
            update::tests::press,
        },
        knobs::Knobs,
        session::{Record, Segment, TimelineOptions},
    };

    #[test]
    fn a_dangerous_change_needs_a_yes_and_a_no_leaves_the_knob_unchanged() {
        let before = Knobs { load: true, rate: Some(1000), ..Knobs::default() };
        let big = Knobs { value_size: 65_536, ..before.clone() };
        let mut model = Model::new(before.clone(), TimelineOptions::default());
        let segment = Record::Segment(Segment::new(0.0, 1, before.clone()));
        update(&mut model, Msg::Delivery(Delivery::Record(Arc::new(segment))));
        assert_eq!(press(&mut model, "jjjjj\n64k\n"), [Effect::Order(Order::SetKnobs(big.clone()))]);
        let ask = |model: &mut Model| {
            let question = UserQuestion::Danger("It may do harm. Continue?".to_owned());
            update(
                model,
                Msg::Delivery(Delivery::Notice(0, Notice::Danger("It may do harm. Continue?".to_owned()))),
            );
            assert_eq!(model.mode, InputMode::Asking(question));
        };
        ask(&mut model);
        let no = Effect::Order(Order::AllowWrites(false));
        assert_eq!(press(&mut model, "\n"), [no], "Enter is no");
        assert_eq!((&model.panel.wanted, &model.mode), (&before, &InputMode::Screen));
        assert_eq!(model.message().unwrap().text, "nothing was changed");
        assert_eq!(press(&mut model, "u"), [], "there is nothing to undo");
        press(&mut model, "\n64k\n");
        ask(&mut model);
        assert_eq!(press(&mut model, "y"), [Effect::Order(Order::AllowWrites(true))]);
        assert_eq!(model.panel.wanted, big);
        assert_eq!(press(&mut model, "u"), [Effect::Order(Order::SetKnobs(before))]);
    }
}
