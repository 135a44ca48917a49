//! The panels with the load settings (knobs) and with the server's parameters: the selected row, the new
//! values, and the changes that the user can undo.

use super::{Direction, Knob, KnobError, list::turned};
use crate::{
    knobs::Knobs,
    server::{PARAMETERS, Parameter},
};

/// The largest number of changes that can be undone.
const UNDO_DEPTH: usize = 100;

/// A change that can be undone.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum UndoableChange {
    /// A change of knobs. The field contains all knobs before the change.
    Knobs(Knobs),
    /// A change of a parameter of the server.
    Config {
        /// The parameter.
        parameter: &'static Parameter,
        /// The value before the change.
        from: String,
        /// The value after the change.
        to: String,
    },
}

/// The panel of the knobs: the requested values, the selected knob, and the changes that can be undone.
#[derive(Debug, Clone, Default)]
pub struct Panel {
    /// The knobs (load settings) that the user has requested. The requested knobs may differ from the knobs of the
    /// current segment.
    pub wanted: Knobs,
    pub(super) selected: Knob,
    undo: Vec<UndoableChange>,
    /// The requested settings whose segment has not begun yet, oldest first. The session may join several changes
    /// into one segment, so some settings never get a segment.
    awaited: Vec<Knobs>,
}

impl Panel {
    /// Creates a panel that wants `knobs`, with the first knob selected.
    pub fn new(knobs: Knobs) -> Self {
        Self { wanted: knobs, ..Self::default() }
    }

    /// Returns the available knobs, in their order.
    pub fn knobs(&self) -> Vec<Knob> {
        Knob::of(&self.wanted)
    }

    /// Returns the knob that the arrow keys change. The result is the selected knob, or the first knob if the selected
    /// knob is no longer available.
    pub fn selected(&self) -> Knob {
        if self.knobs().contains(&self.selected) { self.selected } else { Knob::Clients }
    }

    /// Selects the next knob in `direction`. After the last knob, the first knob follows.
    pub(super) fn select(&mut self, direction: Direction) {
        let knobs = self.knobs();
        let now = knobs.iter().position(|knob| *knob == self.selected()).unwrap_or(0);
        // The first knob is at the top of the panel.
        self.selected = knobs[turned(now, direction.reversed(), knobs.len())];
    }

    /// Returns the knobs after a step of the selected knob.
    pub(super) fn turned(&self, direction: Direction, ops_per_s: Option<f64>) -> Result<Knobs, KnobError> {
        self.selected().turned(&self.wanted, direction, ops_per_s)
    }

    /// Returns the knobs with the typed value for the selected knob. Returns `None` if the value is unchanged.
    pub(super) fn typed(&self, text: &str) -> Result<Option<Knobs>, KnobError> {
        if text.is_empty() {
            return Ok(None);
        }
        let typed = self.selected().typed(&self.wanted, text)?;
        Ok((typed != self.wanted).then_some(typed))
    }

    /// Switches the load on or off. Undo does not revert this change.
    pub(super) fn set_load(&mut self, load: bool) -> Knobs {
        self.change(Knobs { load, ..self.wanted.clone() })
    }

    /// Undoes and returns the last change. Returns `None` if there is no change. This function restores knobs, but the
    /// caller must restore a parameter.
    pub(super) fn undo(&mut self) -> Option<UndoableChange> {
        let before = self.undo.pop()?;
        Some(match before {
            UndoableChange::Knobs(before) => {
                let load = self.wanted.load;
                UndoableChange::Knobs(self.change(Knobs { load, ..before }))
            }
            config @ UndoableChange::Config { .. } => config,
        })
    }

    /// Remembers a change for a later undo.
    pub(super) fn keep(&mut self, turned: UndoableChange) {
        if self.undo.len() == UNDO_DEPTH {
            self.undo.remove(0);
        }
        self.undo.push(turned);
    }

    /// Forgets the last change of this parameter to this value, because the server or the session refused it.
    pub(super) fn forget(&mut self, name: &str, value: &str) {
        let is_it = |turned: &UndoableChange| matches!(turned, UndoableChange::Config { parameter, to, .. } if parameter.name == name && to == value);
        if let Some(at) = self.undo.iter().rposition(is_it) {
            self.undo.remove(at);
        }
    }

    /// Shows knobs that the user has not requested. Such knobs come from a recording or an experiment.
    pub(super) fn follow(&mut self, knobs: Knobs) {
        self.wanted = knobs;
        self.awaited.clear();
    }

    /// Returns to the knobs in effect, because the last change was refused.
    pub(super) fn take_back(&mut self, in_force: Knobs) {
        let is_before = |turned: &mut UndoableChange| matches!(turned, UndoableChange::Knobs(before) if *before == in_force);
        self.undo.pop_if(is_before);
        self.follow(in_force);
    }

    /// Sets the knobs that the user wants. Undo can revert the change, unless the change only switches the load.
    pub(super) fn want(&mut self, knobs: Knobs) -> Knobs {
        if (Knobs { load: knobs.load, ..self.wanted.clone() }) != knobs {
            self.keep(UndoableChange::Knobs(self.wanted.clone()));
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

    /// Handles a segment that begins with `knobs`. Returns whether the user has requested a later change whose
    /// segment has not begun yet.
    pub(super) fn has_later_change(&mut self, knobs: &Knobs) -> bool {
        let Some(at) = self.awaited.iter().rposition(|awaited| awaited == knobs) else { return false };
        self.awaited.drain(..=at);
        !self.awaited.is_empty()
    }
}

/// A requested change of a server parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterChange {
    /// The parameter.
    pub parameter: &'static Parameter,
    /// The parameter's last value reported by the server.
    pub from: String,
    /// The wanted value.
    pub to: String,
    /// The harm that the change may do at once, if any.
    pub harm: Option<String>,
}

/// The panel of the server's parameters.
#[derive(Debug, Clone, Default)]
pub struct ConfigPanel {
    selected: usize,
}

impl ConfigPanel {
    /// Returns the parameter that the arrow keys change.
    pub fn selected(&self) -> &'static Parameter {
        &PARAMETERS[self.selected]
    }

    /// Selects the next parameter in `direction`. After the last parameter, the first parameter follows.
    pub(super) fn select(&mut self, direction: Direction) {
        self.selected = turned(self.selected, direction.reversed(), PARAMETERS.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::preset;

    #[test]
    fn undo_restores_the_last_setting_and_leaves_the_load_on() {
        let mut panel = Panel::new(Knobs::default());
        panel.want(panel.turned(Direction::Up, None).unwrap());
        panel.want(Knobs { load: true, ..panel.wanted.clone() });
        let Some(UndoableChange::Knobs(knobs)) = panel.undo() else { panic!("a knob was turned") };
        assert_eq!((knobs.clients, knobs.load), (50, true));
        assert_eq!(panel.undo(), None);
    }

    #[test]
    fn a_typed_value_changes_the_knob_or_is_refused() {
        let panel = Panel::new(Knobs::default());
        assert!(panel.typed("0").is_err());
        assert_eq!(panel.typed("50"), Ok(None), "setting the same value changes nothing");
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
    fn a_knob_that_is_no_longer_available_is_not_selected() {
        let mut panel = Panel::new(Knobs::default());
        panel.selected = Knob::Reads;
        panel.want(Knobs { workload: preset("ping").unwrap(), ..Knobs::default() });
        assert_eq!(panel.selected(), Knob::Clients);
        panel.select(Direction::Down);
        assert_eq!(panel.selected(), Knob::Pipeline);
    }
}
