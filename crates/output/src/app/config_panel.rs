//! The panel with the server's parameters: the selected parameter, and the ways to change this parameter.

use super::{
    Direction, Model, Order, ParameterChange, Purpose, TextEntry, Tone, UserQuestion, panel::UndoableChange,
};
use crate::{
    experiment::Interruption,
    gauge::Gauge,
    server::{PARAMETERS, Parameter, ParameterValues, value_words},
    session::running::setting_harm,
};

/// The threshold for the server's latency monitor, in milliseconds. The slow log has the same default.
const LATENCY_MS: &str = "10";

impl Model {
    /// Returns whether the user can change the server's parameters. Changes are impossible in a recording, and on
    /// memcached.
    pub fn has_parameters(&self) -> bool {
        let status = self.timeline().status();
        self.playback.is_none() && status.is_none_or(|status| status.body.dialect().has_config())
    }

    /// Returns the present value of a parameter of the first node. Fails if the parameter cannot be set, because the
    /// server does not report it, or because the screen shows another node with other values.
    pub(super) fn value_now(&self, name: &str) -> Result<&str, String> {
        match self.node {
            0 => self.value_of_first(name),
            node => {
                let address = self.timeline().address_of(node as u16);
                let is_plain = self.timeline().session().is_none_or(|session| session.target.tls.is_none());
                let scheme = if is_plain { "redis" } else { "rediss" };
                Err(format!(
                    "this screen sets parameters of the first node only; run `redyno {scheme}://{address}`"
                ))
            }
        }
    }

    fn value_of_first(&self, name: &str) -> Result<&str, String> {
        let status = self.timeline().status().map(|status| &status.body);
        let value = status.and_then(|status| status.config.get(name));
        value
            .map(String::as_str)
            .ok_or_else(|| format!("the server does not report {name}, so redyno cannot set this parameter"))
    }

    pub(super) fn setting_of(
        &self,
        parameter: &'static Parameter,
        from: &str,
        to: String,
    ) -> ParameterChange {
        let status = self.timeline().status().map(|status| &status.body);
        let harm = status.and_then(|status| setting_harm(parameter.name, &to, status));
        ParameterChange { parameter, from: from.to_owned(), to, harm }
    }

    /// Sets a parameter after the user has agreed.
    pub(super) fn set_parameter(&mut self, ParameterChange { parameter, from, to, .. }: ParameterChange) {
        self.interrupt_experiment(Interruption::Turned);
        self.panel.keep(UndoableChange::Config { parameter, from, to: to.clone() });
        self.request(Order::SetConfig { parameter, to });
    }

    /// Undoes the last change of a knob or parameter, or shows why the change cannot be undone.
    pub(super) fn undo(&mut self) {
        self.interrupt_experiment(Interruption::Turned);
        match self.panel.undo() {
            Some(UndoableChange::Knobs(knobs)) => self.request(Order::SetKnobs(knobs)),
            Some(UndoableChange::Config { parameter, from, to }) => {
                match self.parameter_before(parameter, &from, &to) {
                    // Undoing a change may also do harm; in this case, the user is asked first.
                    Ok(setting) if setting.harm.is_some() => {
                        self.ask(UserQuestion::SetConfig(setting));
                    }
                    Ok(ParameterChange { parameter, to, .. }) => {
                        self.show_message(
                            Tone::Info,
                            format!("{} goes back to {}", parameter.name, value_words(&to)),
                        );
                        self.request(Order::SetConfig { parameter, to });
                    }
                    Err(why) => self.show_message(Tone::Warning, format!("not undone: {why}")),
                }
            }
            None => self.show_message(Tone::Info, "no change to undo"),
        }
    }

    /// Returns the change that restores a parameter from `to` to `from`. Returns an error if another client has changed
    /// the parameter in the meantime.
    fn parameter_before(
        &self,
        parameter: &'static Parameter,
        from: &str,
        to: &str,
    ) -> Result<ParameterChange, String> {
        let name = parameter.name;
        let mut last = self.segments().iter().rev().filter_map(|segment| segment.start.config.as_ref());
        // The server may write a value in another form.
        let written = last.find(|set| set.name == name).map_or(to, |set| set.to.as_str());
        match self.value_of_first(name)? {
            // The server is asked for its values once a second, so the known value may still be the previous
            // value.
            now if [written, to, from].contains(&now) => Ok(self.setting_of(parameter, now, from.to_owned())),
            now => Err(format!("another client has set {name} to {}", value_words(now))),
        }
    }

    /// Returns the selected parameter, changed by a step.
    pub(super) fn turned_parameter(&self, direction: Direction) -> Result<ParameterChange, String> {
        let parameter = self.config.selected();
        let from = self.value_now(parameter.name)?;
        let used = self.timeline().status().and_then(|status| status.body.gauges.whole(Gauge::UsedMemory));
        let end = || format!("{} has no further step; press Enter to type a value", parameter.name);
        let to = parameter.step_from(from, direction == Direction::Up, used).ok_or_else(end)?;
        Ok(self.setting_of(parameter, from, to))
    }

    /// Returns the change of the selected parameter to the typed value, or `None` if the parameter already has this
    /// value.
    pub(super) fn typed_parameter(&self, text: &str) -> Result<Option<ParameterChange>, String> {
        let setting = self.parameter_typed(self.config.selected(), text)?;
        Ok(Some(setting).filter(|setting| setting.to != setting.from))
    }

    /// Returns the change of a parameter to the typed value, even if the parameter already has this value.
    pub(super) fn parameter_typed(
        &self,
        parameter: &'static Parameter,
        text: &str,
    ) -> Result<ParameterChange, String> {
        let from = self.value_now(parameter.name)?;
        let to = parameter.typed(text);
        let is_number = matches!(parameter.values, ParameterValues::Bytes(_) | ParameterValues::Numbers(..));
        if is_number && !parameter.takes(&to) {
            return Err(format!("{} takes {}, not '{text}'", parameter.name, parameter.plausible_words()));
        }
        Ok(self.setting_of(parameter, from, to))
    }

    /// Asks the user whether to set a parameter, or shows why the parameter cannot be set.
    pub(super) fn ask_to_set(&mut self, wanted: Result<Option<ParameterChange>, String>) {
        match wanted {
            Ok(Some(setting)) => self.ask(UserQuestion::SetConfig(setting)),
            Ok(None) => {}
            Err(why) => self.show_message(Tone::Info, why),
        }
    }

    /// Returns the change that turns the server's latency monitor on.
    pub(super) fn latency_monitor(&self) -> Result<Option<ParameterChange>, String> {
        if !self.has_parameters() {
            return Err("only a live session with Redis or Valkey can turn on the latency monitor".to_owned());
        }
        let parameter = PARAMETERS.iter().find(|known| known.name == "latency-monitor-threshold");
        let parameter = parameter.expect("the table has this parameter");
        match self.value_now(parameter.name)? {
            "0" => Ok(Some(self.setting_of(parameter, "0", LATENCY_MS.to_owned()))),
            ms => Err(format!("the latency monitor is on and records events of {ms} ms or more")),
        }
    }

    /// Opens an input line for a value of the selected parameter. If the parameter accepts only certain
    /// words, opens a list of these words.
    pub(super) fn type_parameter(&mut self) {
        let parameter = self.config.selected();
        if let Err(why) = self.value_now(parameter.name) {
            return self.show_message(Tone::Info, why);
        }
        match parameter.values {
            ParameterValues::Words(_) => self.open_palette(&format!("config {} ", parameter.name)),
            _ => self.begin_typing(Purpose::Parameter, TextEntry::sentence("")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        app::{Delivery, Effect, InputMode, Msg, Screen, update, update::tests::press},
        knobs::Knobs,
        server::Status,
        session::{Moment, Record, ServerIdentity, SessionStart, TimelineOptions},
    };

    fn report(model: &mut Model, policy: &str) {
        let config = std::sync::Arc::new([("maxmemory-policy".to_owned(), policy.to_owned())].into());
        let status = Status { config, ..Status::default() };
        let record = Record::Server(Box::new(Moment::new(model.timeline().now_s, status)));
        update(model, Msg::Delivery(Delivery::Record(Arc::new(record))));
    }

    fn order(policy: &str) -> Effect {
        let parameter = Parameter::named("maxmemory-policy").unwrap();
        Effect::Order(Order::SetConfig { parameter, to: policy.to_owned() })
    }

    /// Returns a model in which the policy was set.
    fn set() -> Model {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        report(&mut model, "noeviction");
        model.screen = Screen::Server;
        while model.config.selected().name != "maxmemory-policy" {
            model.config.select(Direction::Down);
        }
        press(&mut model, "\nallkeys-lru\n");
        assert_eq!(press(&mut model, "y"), [order("allkeys-lru")]);
        model
    }

    #[test]
    fn the_latency_monitor_is_turned_on_after_a_question_unless_it_is_already_on() {
        let parameter = Parameter::named("latency-monitor-threshold").unwrap();
        let with = |ms: &str| {
            let mut model = Model::new(Knobs::default(), TimelineOptions::default());
            let config = std::sync::Arc::new([(parameter.name.to_owned(), ms.to_owned())].into());
            let status = Status { config, ..Status::default() };
            let record = Record::Server(Box::new(Moment::new(0.0, status)));
            update(&mut model, Msg::Delivery(Delivery::Record(Arc::new(record))));
            model
        };
        let mut off = with("0");
        assert_eq!(press(&mut off, "T"), []);
        assert!(
            matches!(&off.mode, InputMode::Asking(UserQuestion::SetConfig(ParameterChange { to, .. })) if to == "10")
        );
        assert_eq!(
            press(&mut off, "y"),
            [Effect::Order(Order::SetConfig { parameter, to: "10".to_owned() })]
        );
        let mut on = with("100");
        assert_eq!(press(&mut on, "T"), []);
        assert_eq!(
            on.message().unwrap().text,
            "the latency monitor is on and records events of 100 ms or more"
        );
    }

    #[test]
    fn parameters_of_another_node_are_not_set_and_the_reason_has_a_command() {
        let mut model = set();
        let at = |address: &str| ServerIdentity { address: address.to_owned(), ..ServerIdentity::default() };
        model.push(&Record::Session(SessionStart {
            nodes: vec![at("b:2")].into(),
            ..SessionStart::now(at("a:1"))
        }));
        report(&mut model, "allkeys-lru");
        model.node = 1;
        let why = "this screen sets parameters of the first node only; run `redyno redis://b:2`";
        for keys in [">", "\n", "T"] {
            assert_eq!(press(&mut model, keys), [], "{keys:?}");
            assert_eq!(model.mode, InputMode::Screen, "{keys:?}");
            assert_eq!(model.message().unwrap().text, why, "{keys:?}");
        }
        assert_eq!(
            press(&mut model, "u"),
            [order("noeviction")],
            "u restores the parameter of the first node"
        );
    }

    #[test]
    fn undo_reverts_the_last_change_of_a_knob_or_a_parameter() {
        let mut model = set();
        report(&mut model, "allkeys-lru");
        let turned = Knobs { clients: 100, ..Knobs::default() };
        model.send_order(Order::SetKnobs(turned));
        press(&mut model, "");
        assert_eq!(press(&mut model, "u").last(), Some(&Effect::Order(Order::SetKnobs(Knobs::default()))));
        assert_eq!(press(&mut model, "u"), [order("noeviction")]);
        assert_eq!(model.message().unwrap().text, "maxmemory-policy goes back to noeviction");
        assert_eq!(press(&mut model, "u"), []);
        assert_eq!(model.message().unwrap().text, "no change to undo");
    }

    #[test]
    fn undo_leaves_a_value_that_another_client_has_set_and_ignores_refused_changes() {
        let mut model = set();
        report(&mut model, "volatile-ttl");
        assert_eq!(press(&mut model, "u"), []);
        let text = "not undone: another client has set maxmemory-policy to volatile-ttl";
        assert_eq!(model.message().unwrap().text, text);
        let mut model = set();
        let Effect::Order(refused) = order("allkeys-lru") else { panic!("an order") };
        update(&mut model, Msg::Delivery(Delivery::Refused(refused, "no".to_owned())));
        assert_eq!(press(&mut model, "u"), []);
        assert_eq!(model.message().unwrap().text, "no change to undo");
    }
}
