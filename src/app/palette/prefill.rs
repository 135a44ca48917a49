//! What the palette offers of the keys that a workload reads: to make them now, and not only before a load begins.

use std::sync::Arc;

use super::{Command, Offer};
use crate::{app::Model, knobs::Knobs, units::counted};

impl Model {
    /// The making of the keys of the present setting, or why that cannot be.
    pub(super) fn prefill(&self) -> Option<Offer> {
        let wanted = self.panel.wanted();
        let is_filling = self.timeline().segments().current().is_some_and(|now| now.start.prefill.is_some());
        let made = match wanted.workload.with_prefill() {
            _ if is_filling => Err("the keys are being made".to_owned()),
            made => made.map_err(|error| error.to_string()),
        };
        let can = made.map(|workload| {
            let requests = counted(workload.prefill_requests(wanted.keyspace), "request");
            let help =
                format!("Makes all keys that the load reads, by {requests} that are in none of its figures.");
            (help, Command::Prefill(Knobs { workload: Arc::new(workload), ..wanted.clone() }))
        });
        self.playback.is_none().then(|| Offer::or_refusal("prefill the keys".to_owned(), can))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Delivery, Effect, Key, KeyCode, Mode, Msg, Order, update},
        load::Prefilling,
        session::{Record, Segment, TimelineOptions},
        workload::preset,
    };

    fn say(model: &mut Model, words: &str) -> Vec<Effect> {
        let keys = format!(":{words}").chars().map(KeyCode::Char).chain([KeyCode::Enter]).collect::<Vec<_>>();
        keys.into_iter().flat_map(|code| update(model, Msg::Key(Key::plain(code)))).collect()
    }

    fn on(workload: &str, keyspace: u64) -> Knobs {
        Knobs { load: true, workload: preset(workload).unwrap(), keyspace, ..Knobs::default() }
    }

    fn model(knobs: &Knobs) -> Model {
        Model::new(knobs.clone(), TimelineOptions::default())
    }

    #[test]
    fn the_keys_of_the_present_setting_are_made_and_what_makes_them_stays() {
        let get = on("get", 1000);
        let filled = Knobs { workload: get.workload.with_prefill().unwrap().into(), ..get.clone() };
        let mut model = model(&get);
        assert_eq!(say(&mut model, "prefill"), [Effect::Order(Order::Prefill(filled.clone()))]);
        assert_eq!(*model.panel.wanted(), filled);
        assert_eq!(say(&mut model, "prefill"), [Effect::Order(Order::Prefill(filled.clone()))], "and anew");
        let (prefill, knobs) = (Some(Prefilling { requests: 1000, pipeline: 16 }), filled);
        let segment = Segment { prefill, ..Segment::new(0.0, 1, knobs) };
        update(&mut model, Msg::Delivery(Delivery::Record(Arc::new(Record::Segment(segment)))));
        assert_eq!(say(&mut model, "prefill"), []);
        assert_eq!(model.message().unwrap().text, "the keys are being made");
    }

    #[test]
    fn what_has_no_keys_says_so() {
        let mut ping = model(&on("ping", 1000));
        assert_eq!(say(&mut ping, "prefill"), []);
        assert!(ping.message().unwrap().text.contains("no keys that a prefill could make"));
        assert!(matches!(ping.mode, Mode::Typing(_)), "the palette stays open");
    }

    #[test]
    fn without_a_load_they_are_made_when_it_goes_on() {
        let mut model = model(&Knobs { load: false, ..on("get", 1000) });
        assert_eq!(say(&mut model, "prefill").len(), 1);
        assert!(model.message().unwrap().text.starts_with("the keys are made when the load goes on"));
    }
}
