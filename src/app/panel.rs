//! The knobs as a person wants them: which is selected, what is being typed, what to undo.

use super::{Direction, Entry, Knob, TurnError, list::turned};
use crate::load::Knobs;

/// How many changes can be undone.
const UNDO_DEPTH: usize = 100;

/// The knobs as a person wants them.
#[derive(Debug, Clone)]
pub struct Panel {
    wanted: Knobs,
    selected: usize,
    entry: Option<Entry>,
    undo: Vec<Knobs>,
}

impl Panel {
    /// A panel that wants `knobs`, with the first knob selected.
    pub fn new(knobs: Knobs) -> Self {
        Self { wanted: knobs, selected: 0, entry: None, undo: Vec::new() }
    }

    /// The knobs as wanted; what is in force is the timeline's current segment.
    pub fn wanted(&self) -> &Knobs {
        &self.wanted
    }

    /// The knob that arrows turn.
    pub fn selected(&self) -> Knob {
        Knob::ALL[self.selected]
    }

    /// What is being typed into it.
    pub fn entry(&self) -> Option<&Entry> {
        self.entry.as_ref()
    }

    pub(super) fn entry_mut(&mut self) -> Option<&mut Entry> {
        self.entry.as_mut()
    }

    pub(super) fn begin_entry(&mut self, text: &str) {
        self.entry = Some(Entry::starting_with(text));
    }

    pub(super) fn drop_entry(&mut self) {
        self.entry = None;
    }

    /// Selects the next knob in `direction`, round the ends.
    pub(super) fn select(&mut self, direction: Direction) {
        // Up the panel is towards its first knob.
        self.selected = turned(self.selected, direction.reversed(), Knob::ALL.len());
    }

    /// Selects `knob`.
    pub(super) fn select_knob(&mut self, knob: Knob) {
        self.selected = Knob::ALL.iter().position(|known| *known == knob).unwrap_or(self.selected);
    }

    /// The knobs with the selected one turned a step.
    pub(super) fn turned(&self, direction: Direction, ops_per_s: Option<f64>) -> Result<Knobs, TurnError> {
        self.selected().turned(&self.wanted, direction, ops_per_s)
    }

    /// The knobs with what was typed, if that changes them. A bad entry is dropped.
    pub(super) fn take_entry(&mut self) -> Result<Option<Knobs>, TurnError> {
        let Some(entry) = self.entry.take().filter(|entry| !entry.text().is_empty()) else { return Ok(None) };
        let typed = self.selected().typed(&self.wanted, entry.text())?;
        Ok((typed != self.wanted).then_some(typed))
    }

    /// Turns the load on or off, which undo leaves alone.
    pub(super) fn set_load(&mut self, load: bool) -> Knobs {
        self.wanted.load = load;
        self.wanted
    }

    /// Takes the last change back; `None` when there is none.
    pub(super) fn undo(&mut self) -> Option<Knobs> {
        let before = self.undo.pop()?;
        self.wanted = Knobs { load: self.wanted.load, ..before };
        Some(self.wanted)
    }

    /// Takes over what is in force without a change of ours: a replay, or another hand at the knobs.
    pub(super) fn follow(&mut self, knobs: Knobs) {
        self.wanted = knobs;
    }

    /// Takes over a change that can be undone, but for the switch of the load.
    pub(super) fn want(&mut self, knobs: Knobs) -> Knobs {
        if (Knobs { load: knobs.load, ..self.wanted }) != knobs {
            if self.undo.len() == UNDO_DEPTH {
                self.undo.remove(0);
            }
            self.undo.push(self.wanted);
        }
        self.wanted = knobs;
        knobs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undo_brings_the_last_setting_back_and_leaves_the_load_on() {
        let mut panel = Panel::new(Knobs::default());
        panel.want(panel.turned(Direction::Up, None).unwrap());
        panel.want(Knobs { load: true, ..*panel.wanted() });
        let knobs = panel.undo().unwrap();
        assert_eq!((knobs.clients, knobs.load), (50, true));
        assert_eq!(panel.undo(), None);
    }

    #[test]
    fn a_bad_entry_is_dropped_and_the_knob_keeps_its_value() {
        let mut panel = Panel::new(Knobs::default());
        panel.begin_entry("0");
        assert!(panel.take_entry().is_err());
        assert_eq!((panel.wanted().clients, panel.entry()), (50, None));
        panel.begin_entry("50");
        assert_eq!(panel.take_entry(), Ok(None), "the same value is no change");
    }

    #[test]
    fn the_selection_goes_round() {
        let mut panel = Panel::new(Knobs::default());
        panel.select(Direction::Up);
        assert_eq!(panel.selected(), Knob::Keys);
        panel.select(Direction::Down);
        assert_eq!(panel.selected(), Knob::Clients);
    }
}
