//! The parameters of the server beside the knobs: which is selected, and what it is turned to.

use super::{Direction, Model, danger::setting_harm, list::turned};
use crate::{
    gauge::Gauge,
    server::{PARAMETERS, Parameter},
};

/// A parameter that a person wants to set, before and after the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Which.
    pub parameter: &'static Parameter,
    /// Its value as the server told it last.
    pub from: String,
    /// The value that is wanted.
    pub to: String,
    /// What that will do at once, if it does harm.
    pub harm: Option<String>,
}

/// Which parameter is selected.
#[derive(Debug, Clone, Default)]
pub struct ConfigPanel {
    selected: usize,
}

impl ConfigPanel {
    /// The parameter that the arrows turn.
    pub fn selected(&self) -> &'static Parameter {
        &PARAMETERS[self.selected]
    }

    /// Selects the next parameter in `direction`, round the ends.
    pub(super) fn select(&mut self, direction: Direction) {
        self.selected = turned(self.selected, direction.reversed(), PARAMETERS.len());
    }
}

impl Model {
    /// What the selected parameter is now, or why that is not known.
    fn parameter_now(&self) -> Result<&str, String> {
        let name = self.config.selected().name;
        let status = self.timeline().status().map(|status| &status.body);
        let value = status.and_then(|status| status.config.get(name));
        value
            .map(String::as_str)
            .ok_or_else(|| format!("the server does not tell its {name}, so it is left alone"))
    }

    fn parameter_set(&self, from: &str, to: String) -> Setting {
        let parameter = self.config.selected();
        let status = self.timeline().status().map(|status| &status.body);
        let harm = status.and_then(|status| setting_harm(parameter.name, &to, status));
        Setting { parameter, from: from.to_owned(), to, harm }
    }

    /// The selected parameter turned by a step.
    pub(super) fn turned_parameter(&self, direction: Direction) -> Result<Setting, String> {
        let parameter = self.config.selected();
        let from = self.parameter_now()?;
        let used = self.timeline().status().and_then(|status| status.body.gauges.whole(Gauge::UsedMemory));
        let end = || format!("{} has no further step; Enter: type a value", parameter.name);
        let to = parameter.turned(from, direction == Direction::Up, used).ok_or_else(end)?;
        Ok(self.parameter_set(from, to))
    }

    /// The selected parameter as it was typed; `None` for what it is already.
    pub(super) fn typed_parameter(&self, text: &str) -> Result<Option<Setting>, String> {
        let from = self.parameter_now()?;
        let setting = self.parameter_set(from, text.trim().to_owned());
        Ok(Some(setting).filter(|setting| setting.to != setting.from))
    }
}
