//! The knobs and the parameters of the server as a person wants them: which is selected, what to undo.

use super::{Direction, Knob, TurnError, list::turned};
use crate::{
    knobs::Knobs,
    server::{PARAMETERS, Parameter},
};

/// How many changes can be undone.
const UNDO_DEPTH: usize = 100;

/// A change that can be undone.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Turned {
    /// Of a knob; the settings before it.
    Knobs(Knobs),
    /// Of a parameter of the server.
    Config {
        /// Which.
        parameter: &'static Parameter,
        /// Its value before.
        from: String,
        /// Its value since.
        to: String,
    },
}

/// The knobs as a person wants them.
#[derive(Debug, Clone)]
pub struct Panel {
    wanted: Knobs,
    pub(super) selected: Knob,
    undo: Vec<Turned>,
    /// What was wanted one after the other, and of which no segment has come yet; or never will, where changes became one.
    awaited: Vec<Knobs>,
}

impl Panel {
    /// A panel that wants `knobs`, with the first knob selected.
    pub fn new(knobs: Knobs) -> Self {
        Self { wanted: knobs, selected: Knob::Clients, undo: Vec::new(), awaited: Vec::new() }
    }

    /// The knobs as wanted; what is in force is the timeline's current segment.
    pub fn wanted(&self) -> &Knobs {
        &self.wanted
    }

    /// The knobs that there are, in their order.
    pub fn knobs(&self) -> Vec<Knob> {
        Knob::of(&self.wanted)
    }

    /// The knob that arrows turn: the first where that which was selected is no more.
    pub fn selected(&self) -> Knob {
        if self.knobs().contains(&self.selected) { self.selected } else { Knob::Clients }
    }

    /// Selects the next knob in `direction`, round the ends.
    pub(super) fn select(&mut self, direction: Direction) {
        let knobs = self.knobs();
        let now = knobs.iter().position(|knob| *knob == self.selected()).unwrap_or(0);
        // Up the panel is towards its first knob.
        self.selected = knobs[turned(now, direction.reversed(), knobs.len())];
    }

    /// The knobs with the selected one turned a step.
    pub(super) fn turned(&self, direction: Direction, ops_per_s: Option<f64>) -> Result<Knobs, TurnError> {
        self.selected().turned(&self.wanted, direction, ops_per_s)
    }

    /// The knobs with what was typed for the selected one, if that changes them.
    pub(super) fn typed(&self, text: &str) -> Result<Option<Knobs>, TurnError> {
        if text.is_empty() {
            return Ok(None);
        }
        let typed = self.selected().typed(&self.wanted, text)?;
        Ok((typed != self.wanted).then_some(typed))
    }

    /// Turns the load on or off, which undo leaves alone.
    pub(super) fn set_load(&mut self, load: bool) -> Knobs {
        self.change(Knobs { load, ..self.wanted.clone() })
    }

    /// Takes the last change back, of a knob at once; `None` when there is none.
    pub(super) fn undo(&mut self) -> Option<Turned> {
        let before = self.undo.pop()?;
        Some(match before {
            Turned::Knobs(before) => {
                let load = self.wanted.load;
                Turned::Knobs(self.change(Knobs { load, ..before }))
            }
            config @ Turned::Config { .. } => config,
        })
    }

    /// Keeps a change, so that it can be undone.
    pub(super) fn keep(&mut self, turned: Turned) {
        if self.undo.len() == UNDO_DEPTH {
            self.undo.remove(0);
        }
        self.undo.push(turned);
    }

    /// Forgets the last change of this parameter to this value: it was not made.
    pub(super) fn forget(&mut self, name: &str, value: &str) {
        let is_it = |turned: &Turned| matches!(turned, Turned::Config { parameter, to, .. } if parameter.name == name && to == value);
        if let Some(at) = self.undo.iter().rposition(is_it) {
            self.undo.remove(at);
        }
    }

    /// Takes over what is in force without a change of ours: a replay, or another hand at the knobs.
    pub(super) fn follow(&mut self, knobs: Knobs) {
        self.wanted = knobs;
        self.awaited.clear();
    }

    /// Takes over what is in force: the last change was not made.
    pub(super) fn take_back(&mut self, in_force: Knobs) {
        let is_before = |turned: &mut Turned| matches!(turned, Turned::Knobs(before) if *before == in_force);
        self.undo.pop_if(is_before);
        self.follow(in_force);
    }

    /// Takes over a change that can be undone, but for the switch of the load.
    pub(super) fn want(&mut self, knobs: Knobs) -> Knobs {
        if (Knobs { load: knobs.load, ..self.wanted.clone() }) != knobs {
            self.keep(Turned::Knobs(self.wanted.clone()));
        }
        self.change(knobs)
    }

    fn change(&mut self, knobs: Knobs) -> Knobs {
        self.wanted = knobs.clone();
        self.awaited.push(knobs.clone());
        let too_many = self.awaited.len().saturating_sub(UNDO_DEPTH);
        self.awaited.drain(..too_many);
        knobs
    }

    /// Takes a segment that begins with `knobs`. Whether a change of ours that it comes from was followed by another, whose
    /// segment is still to come.
    pub(super) fn is_overtaken(&mut self, knobs: &Knobs) -> bool {
        let Some(at) = self.awaited.iter().rposition(|awaited| awaited == knobs) else { return false };
        self.awaited.drain(..=at);
        !self.awaited.is_empty()
    }
}

/// A parameter that a person wants to set, before and after the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Which.
    pub parameter: &'static Parameter,
    /// Its value as the server reported it last.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::preset;

    #[test]
    fn undo_brings_the_last_setting_back_and_leaves_the_load_on() {
        let mut panel = Panel::new(Knobs::default());
        panel.want(panel.turned(Direction::Up, None).unwrap());
        panel.want(Knobs { load: true, ..panel.wanted().clone() });
        let Some(Turned::Knobs(knobs)) = panel.undo() else { panic!("a knob was turned") };
        assert_eq!((knobs.clients, knobs.load), (50, true));
        assert_eq!(panel.undo(), None);
    }

    #[test]
    fn what_is_typed_changes_the_knob_or_nothing() {
        let panel = Panel::new(Knobs::default());
        assert!(panel.typed("0").is_err());
        assert_eq!(panel.typed("50"), Ok(None), "the same value is no change");
        assert_eq!(panel.typed("70"), Ok(Some(Knobs { clients: 70, ..Knobs::default() })));
    }

    #[test]
    fn the_selection_goes_round() {
        let mut panel = Panel::new(Knobs::default());
        panel.select(Direction::Up);
        assert_eq!(panel.selected(), Knob::Distribution);
        panel.select(Direction::Down);
        assert_eq!(panel.selected(), Knob::Clients);
    }

    #[test]
    fn a_knob_that_is_no_more_is_not_selected() {
        let mut panel = Panel::new(Knobs::default());
        panel.selected = Knob::Reads;
        panel.want(Knobs { workload: preset("ping").unwrap(), ..Knobs::default() });
        assert_eq!(panel.selected(), Knob::Clients);
        panel.select(Direction::Down);
        assert_eq!(panel.selected(), Knob::Pipeline);
    }
}
