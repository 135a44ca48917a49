//! The command palette's offers for the workload: other workloads, and the weights of the operations.

use super::{Offer, PaletteCommand, offers::best_first};
use crate::{
    app::{Knob, Model},
    knobs::Knobs,
    workload::{Workload, presets},
};

impl Model {
    /// Returns offers of all presets. If the workload from the start of the session is not a preset, it is
    /// offered as well.
    pub(super) fn workloads(&self) -> Vec<Offer> {
        let offer = |workload: &Workload| {
            let offer = self.setting(Knob::Workload, &workload.name);
            let help = match &offer.command {
                PaletteCommand::Set(_) => about(workload),
                _ => offer.help,
            };
            Offer { help, ..offer }
        };
        self.first_workload().into_iter().chain(presets().map(|preset| offer(preset))).collect()
    }

    /// Returns an offer to restore the workload from the start of the session, with its keys and value size. Returns
    /// `None` if this workload is a preset.
    pub(super) fn first_workload(&self) -> Option<Offer> {
        let Knobs { workload, value_size, keyspace, .. } = &self.initial;
        if presets().any(|preset| preset.is_like(workload)) {
            return None;
        }
        let is_taken = presets().any(|preset| preset.name == workload.name);
        let name =
            if is_taken { format!("{}, as at the start", workload.name) } else { workload.name.clone() };
        let (workload, value_size, keyspace) = (workload.clone(), *value_size, *keyspace);
        let help = format!("the workload at the start of this session: {}", about(&workload));
        let command =
            PaletteCommand::Set(Knobs { workload, value_size, keyspace, ..self.panel.wanted.clone() });
        Some(Offer::new(format!("workload {name}"), help, command))
    }

    /// Returns offers of the weights that match `query`. Returns no offers if `query` already contains the full name of
    /// a weight.
    pub(super) fn begun_weights(&self, query: &str) -> Vec<Offer> {
        let is_begun = |offer: &Offer| !query.starts_with(offer.title.trim_end_matches('…'));
        if self.weights().all(|offer| is_begun(&offer)) {
            best_first(query, self.weights().collect())
        } else {
            Vec::new()
        }
    }

    /// Returns an offer for the weight of each operation. Returns no offers if the weights cannot be changed.
    pub(super) fn weights(&self) -> impl Iterator<Item = Offer> {
        let wanted = &self.panel.wanted;
        let weights = Knob::of(wanted).into_iter().filter(|knob| matches!(knob, Knob::Weight(_)));
        weights.map(move |knob| {
            let help = format!(
                "the weight is {}; type a new weight, or 0 to switch the operation off",
                knob.value(wanted)
            );
            Offer::to_type_on(&format!("weight {}", knob.called(wanted)), help)
        })
    }
}

/// Returns a workload's description and its commands.
fn about(workload: &Workload) -> String {
    if workload.about.is_empty() { workload.to_string() } else { format!("{}: {workload}", workload.about) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Effect, Msg, Order, update},
        session::TimelineOptions,
        workload::{Operation, WorkloadChoice, preset},
    };

    fn mine() -> Workload {
        let mut mine = Workload::clone(&preset("cache").unwrap());
        mine.operations.push(Operation::command("PING", 3));
        Workload { name: "mine".to_owned(), about: "a shop".to_owned(), ..mine }
    }

    fn model(workload: Workload) -> Model {
        let knobs = Knobs { workload: workload.into(), keyspace: 77, ..Knobs::default() };
        Model::new(knobs, TimelineOptions::default())
    }

    fn titles(model: &Model, query: &str) -> Vec<String> {
        model.offers(query).into_iter().map(|offer| offer.title).collect()
    }

    #[test]
    fn presets_are_listed_with_all_workloads_including_a_workload_from_a_file() {
        let model = model(mine());
        let offers = model.offers("preset ");
        let of = |title: &str| offers.iter().find(|offer| offer.title == title).unwrap();
        assert_eq!(
            of("workload mine").help,
            "the workload at the start of this session: a shop: GET:SET:PING 10:1:3"
        );
        assert_eq!(of("workload incr").help, "INCR of counters: INCR");
        assert_eq!(offers[0].title, "preset cache");
        assert_eq!(titles(&model, "preset incr")[0], "workload incr");
        assert_eq!(titles(&model, "preset gentle")[0], "preset gentle");
    }

    #[test]
    fn a_path_is_a_file_that_is_read_and_used_or_reported_as_wrong() {
        let mut model = model(mine());
        let [offer] = &model.offers("workload ./other.toml")[..] else { panic!("one offer") };
        assert_eq!(offer.command, PaletteCommand::Want(Effect::ReadWorkload("./other.toml".to_owned())));
        let chosen = WorkloadChoice { workload: preset("incr").unwrap(), ..WorkloadChoice::default() };
        let effects = update(&mut model, Msg::Workload(Ok(chosen)));
        let [Effect::Order(Order::SetKnobs(knobs))] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!(knobs.workload.name, "incr");
        let wrong = "other.toml:3: unknown field 'x'";
        assert_eq!(update(&mut model, Msg::Workload(Err(wrong.to_owned()))), []);
        assert_eq!(model.message().unwrap().text, wrong);
        let mut records = Workload::clone(&preset("get").unwrap());
        records.operations[0].steps[0] = "GET __field:id__".to_owned();
        let chosen = WorkloadChoice { workload: records.into(), ..WorkloadChoice::default() };
        assert_eq!(update(&mut model, Msg::Workload(Ok(chosen))), []);
        assert!(model.message().unwrap().text.contains("--dataset"));
    }

    #[test]
    fn the_first_workload_can_be_restored_with_its_keys() {
        let mut model = model(mine());
        let [offer] = &model.offers("workload mine")[..] else { panic!("one offer") };
        let first = model.panel.wanted.clone();
        assert_eq!(offer.command, PaletteCommand::Set(first.clone()));
        model.panel.want(Knobs { workload: preset("get").unwrap(), keyspace: 5, ..first.clone() });
        assert_eq!(model.offers("workload mine")[0].command, PaletteCommand::Set(first));
        let drawn = preset("get").unwrap().with_distribution("zipfian".parse().unwrap());
        assert_eq!(
            self::model(drawn.as_ref().clone()).first_workload().unwrap().title,
            "workload get, as at the start"
        );
        let mut sized = preset("sessions").unwrap().as_ref().clone();
        assert_eq!(self::model(sized.clone()).first_workload(), None);
        sized.values.values_mut().for_each(|kind| kind.size = crate::workload::Size::Bytes(77));
        assert!(self::model(sized).first_workload().is_some());
    }

    #[test]
    fn weights_are_offered_by_their_operations_and_set_when_spelled_out() {
        let model = model(mine());
        assert_eq!(titles(&model, "weight PI")[0], "weight PING …");
        let offer = &model.offers("weight PING 9")[0];
        assert_eq!(offer.help, "from GET:SET:PING 10:1:3 to GET:SET:PING 10:1:9");
        assert_eq!(titles(&self::model(preset("get").unwrap().as_ref().clone()), "weight")[0], "weight …");
    }
}
