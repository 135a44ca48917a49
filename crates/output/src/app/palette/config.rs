//! The command palette's offers for the server's parameters: `config maxmemory 1gb`, or a list of possible
//! words. An offer is a command that the palette lists.
//!
//! The palette also has an offer to write, before the load begins, all keys that the workload reads.

use std::sync::Arc;

use super::{Offer, PaletteCommand, score};
use crate::{
    app::{Model, value_words},
    knobs::Knobs,
    server::{PARAMETERS, Parameter, ParameterValues},
    units::{self, count_with_noun},
};

/// The first word of commands that set a parameter.
const WORD: &str = "config";

impl Model {
    /// Returns an offer for each parameter, followed by an offer for each word that is a possible value.
    pub(super) fn parameters(&self) -> Vec<Offer> {
        if !self.has_parameters() {
            return Vec::new();
        }
        let all = |parameter: &'static Parameter| {
            let now = self.value_now(parameter.name).map_or("?", value_words);
            let help = format!("{now} now: {}", parameter.about);
            let named = Offer::to_type_on(&format!("{WORD} {}", parameter.name), help);
            let words: &[&str] = match &parameter.values {
                ParameterValues::Words(words) => words,
                _ => &[],
            };
            std::iter::once(named).chain(words.iter().map(move |word| self.parameter(parameter, word)))
        };
        PARAMETERS.iter().flat_map(all).collect()
    }

    /// Returns offers for the parameter that `query` names. If `query` contains a value, the offer sets this value.
    /// Otherwise the offers set common values, with the present value first. Returns `None` if `query` names no
    /// parameter.
    pub(super) fn parameter_in(&self, query: &str) -> Option<Vec<Offer>> {
        let (word, rest) = query.trim_start().split_once(' ')?;
        let (name, value) = rest.trim_start().split_once(' ')?;
        let parameter = Parameter::named(name).filter(|_| word == WORD && self.has_parameters())?;
        let now = self.value_now(name).unwrap_or_default();
        let usual: Vec<String> = match &parameter.values {
            ParameterValues::Words(words) | ParameterValues::SavePoints(words) => {
                words.iter().map(|w| (*w).to_owned()).collect()
            }
            ParameterValues::Numbers(steps, _) | ParameterValues::Bytes(steps) => {
                steps.iter().map(u64::to_string).collect()
            }
        };
        let is_word = matches!(parameter.values, ParameterValues::Words(_));
        let mut offers: Vec<(bool, u32, Offer)> = usual
            .iter()
            .filter(|_| is_word || value.trim().is_empty())
            .filter_map(|usual| Some((usual == now, score(value, usual)?, self.parameter(parameter, usual))))
            .collect();
        offers.sort_by_key(|(is_now, score, _)| std::cmp::Reverse((*score, *is_now)));
        if offers.is_empty() {
            return Some(vec![self.parameter(parameter, value.trim())]);
        }
        Some(offers.into_iter().map(|(.., offer)| offer).collect())
    }

    fn parameter(&self, parameter: &'static Parameter, value: &str) -> Offer {
        let written = |value: &str| match (&parameter.values, value.parse::<u64>()) {
            (ParameterValues::Bytes(_), Ok(bytes)) if bytes > 0 => units::bytes(bytes),
            _ => value_words(value).to_owned(),
        };
        let can = self.parameter_typed(parameter, value).map(|setting| {
            let (from, to) = (written(&setting.from), written(&setting.to));
            if setting.to == setting.from {
                let why = format!("{} is {from} already", parameter.name);
                return (format!("unchanged: {from}"), PaletteCommand::Refuse(why));
            }
            (format!("from {from} to {to}: {}", parameter.about), PaletteCommand::Configure(setting))
        });
        Offer::or_refusal(format!("{WORD} {} {}", parameter.name, value_words(&written(value))), can)
    }

    /// Returns the offer to write the keys that the present workload reads. If this is impossible, the offer shows the
    /// reason.
    pub(super) fn prefill(&self) -> Option<Offer> {
        let wanted = &self.panel.wanted;
        let is_filling = self.timeline().segments.current().is_some_and(|now| now.start.prefill.is_some());
        let made = match wanted.workload.with_prefill() {
            _ if is_filling => Err("redyno is writing the keys".to_owned()),
            made => made.map_err(|error| error.to_string()),
        };
        let can = made.map(|workload| {
            let requests = count_with_noun(workload.prefill_requests(wanted.keyspace), "request");
            let help = format!(
                "Writes all keys that the load reads, with {requests}. The load's figures do not include these requests."
            );
            (help, PaletteCommand::Prefill(Knobs { workload: Arc::new(workload), ..wanted.clone() }))
        });
        self.playback.is_none().then(|| Offer::or_refusal("prefill the keys".to_owned(), can))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Delivery, Effect, InputMode, Msg, Order, Screen, update, update::tests::press},
        load::Prefilling,
        server::Status,
        session::{Moment, Record, Segment, TimelineOptions},
        workload::preset,
    };

    fn model() -> Model {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        let values =
            [("maxmemory", "0"), ("maxmemory-policy", "volatile-lru"), ("slowlog-log-slower-than", "10000")];
        let config =
            std::sync::Arc::new(values.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        let status = Status { config, ..Status::default() };
        let record = Record::Server(Box::new(Moment::new(1.0, status)));
        update(&mut model, Msg::Delivery(Delivery::Record(Arc::new(record))));
        model
    }

    fn titles(query: &str) -> Vec<String> {
        model().offers(query).into_iter().map(|offer| offer.title).collect()
    }

    #[test]
    fn a_parameter_is_found_by_a_few_letters_and_its_words_are_a_list() {
        assert_eq!(titles("maxmem").first().map(String::as_str), Some("config maxmemory …"));
        let words = titles("config maxmemory-policy ");
        assert_eq!(
            (words.len(), words[0].as_str()),
            (8, "config maxmemory-policy volatile-lru"),
            "that of now first"
        );
        assert_eq!(titles("config maxmemory-policy lfu").len(), 2);
        assert_eq!(titles("fsync always")[0], "config appendfsync always");
    }

    #[test]
    fn memcached_has_no_parameters() {
        let mut model = model();
        let status = Status { name: "memcached".to_owned(), ..Status::default() };
        let record = Record::Server(Box::new(Moment::new(2.0, status)));
        update(&mut model, Msg::Delivery(Delivery::Record(Arc::new(record))));
        for query in ["maxmem", "config maxmemory 1gb", "ab ", "sweep "] {
            let titles: Vec<_> = model.offers(query).into_iter().map(|offer| offer.title).collect();
            assert!(titles.iter().all(|title| !title.contains("config")), "{query}: {titles:?}");
        }
    }

    #[test]
    fn a_value_with_a_unit_is_set_after_a_question() {
        for (typed, name, value) in [
            ("config maxmemory 1gb", "maxmemory", "1073741824"),
            ("config maxmemory 1.5 GiB", "maxmemory", "1610612736"),
            ("config slowlog-log-slower-than 5ms", "slowlog-log-slower-than", "5000"),
            ("config maxmemory-policy allkeys-lru", "maxmemory-policy", "allkeys-lru"),
        ] {
            let mut model = model();
            assert_eq!(press(&mut model, &format!(":{typed}\n")), [], "{typed} is asked for");
            let parameter = Parameter::named(name).unwrap();
            let order = Order::SetConfig { parameter, to: value.to_owned() };
            assert_eq!(press(&mut model, "y"), [Effect::Order(order)]);
        }
        let help = &model().offers("config maxmemory 1gb")[0].help;
        assert_eq!(help, "from 0 to 1.00 GiB: bytes of data; 0 is no limit");
    }

    #[test]
    fn enter_opens_the_list_of_words_and_a_present_value_is_not_set_again() {
        let mut model = model();
        model.screen = Screen::Server;
        press(&mut model, "j\n\n");
        assert_eq!(model.message().unwrap().text, "maxmemory-policy is volatile-lru already");
        assert_eq!(press(&mut model, "\x0b\ny").len(), 1, "the next of the list");
    }

    fn say(model: &mut Model, words: &str) -> Vec<Effect> {
        press(model, &format!(":{words}\n"))
    }

    fn on(workload: &str, keyspace: u64) -> Knobs {
        Knobs { load: true, workload: preset(workload).unwrap(), keyspace, ..Knobs::default() }
    }

    fn model_with_prefill(knobs: &Knobs) -> Model {
        Model::new(knobs.clone(), TimelineOptions::default())
    }

    #[test]
    fn the_keys_of_the_present_workload_are_written_and_the_prefill_stays() {
        let get = on("get", 1000);
        let filled = Knobs { workload: get.workload.with_prefill().unwrap().into(), ..get.clone() };
        let mut model = model_with_prefill(&get);
        assert_eq!(say(&mut model, "prefill"), [Effect::Order(Order::Prefill(filled.clone()))]);
        assert_eq!(model.panel.wanted, filled);
        assert_eq!(say(&mut model, "prefill"), [Effect::Order(Order::Prefill(filled.clone()))], "and anew");
        let (prefill, knobs) = (Some(Prefilling { requests: 1000, pipeline: 16 }), filled);
        let segment = Segment { prefill, ..Segment::new(0.0, 1, knobs) };
        update(&mut model, Msg::Delivery(Delivery::Record(Arc::new(Record::Segment(segment)))));
        assert_eq!(say(&mut model, "prefill"), []);
        assert_eq!(model.message().unwrap().text, "redyno is writing the keys");
    }

    #[test]
    fn a_workload_without_keys_cannot_be_prefilled() {
        let mut ping = model_with_prefill(&on("ping", 1000));
        assert_eq!(say(&mut ping, "prefill"), []);
        assert!(ping.message().unwrap().text.contains("no keys for a prefill"));
        assert!(matches!(ping.mode, InputMode::Typing(_)), "the palette stays open");
    }

    #[test]
    fn without_a_load_the_keys_are_written_when_the_load_is_switched_on() {
        let mut model = model_with_prefill(&Knobs { load: false, ..on("get", 1000) });
        assert_eq!(say(&mut model, "prefill").len(), 1);
        assert!(model.message().unwrap().text.starts_with("redyno writes the keys when"));
    }

    #[test]
    fn a_value_that_is_no_number_is_refused_before_the_question() {
        let offers = model().offers("config maxmemory abc");
        assert!(
            matches!(&offers[..], [Offer { command: PaletteCommand::Refuse(why), .. }] if why.starts_with("maxmemory takes ")),
            "{offers:?}"
        );
    }
}
