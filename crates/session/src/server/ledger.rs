//! What a session has to undo, as one value: its run's keys, the parameters that it set, and what setups made.
//!
//! The session and the control thread share it. It is written first in memory, then in the run's
//! [`Marker`] on the server, and only then the thing itself is done; so whatever the server answers or does not, what may
//! have been done is known here, and is undone from here.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Made, Marker, Owner, Tuned, place::Place};
use crate::workload::{KeySpan, RunId};

/// What a session has to undo. Copies share it.
#[derive(Debug, Clone)]
pub struct Ledger {
    sheet: Arc<Mutex<Sheet>>,
}

#[derive(Debug)]
struct Sheet {
    marker: Marker,
    /// Whether the server shall hold the marker: not one that goes when we go.
    is_marked: bool,
    /// Where the marker stands, once that was asked.
    place: Option<Place>,
    /// Whether something was written here that the marker does not say yet.
    is_behind: bool,
    /// Whether the marker was written, and not taken away by us since.
    has_stood: bool,
    /// Whether nothing more may be begun: it is being undone.
    is_closed: bool,
}

impl Ledger {
    /// Nothing to undo yet, for a session on somebody's server.
    pub fn new(run: RunId, owner: Owner) -> Self {
        Self::of(Marker::new(run, owner), true)
    }

    /// The same for a session on a server of our own, where no marker is left.
    pub fn unmarked() -> Self {
        Self::of(Marker::new(RunId::random(), Owner::default()), false)
    }

    /// What another session left to be undone.
    pub fn found(marker: Marker) -> Self {
        Self::of(marker, true)
    }

    fn of(marker: Marker, is_marked: bool) -> Self {
        let (is_behind, has_stood, is_closed) = (false, false, false);
        let sheet = Sheet { marker, is_marked, place: None, is_behind, has_stood, is_closed };
        Self { sheet: Arc::new(Mutex::new(sheet)) }
    }

    fn sheet(&self) -> MutexGuard<'_, Sheet> {
        // No method leaves it half changed.
        self.sheet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What there is to undo now.
    pub fn marker(&self) -> Marker {
        self.sheet().marker.clone()
    }

    /// Whether there is anything to undo that the server's marker shall contain.
    pub(super) fn is_to_be_marked(&self) -> bool {
        let sheet = self.sheet();
        sheet.is_marked && sheet.marker.owes()
    }

    /// Whether a marker is wanted at all.
    pub(super) fn is_marked(&self) -> bool {
        self.sheet().is_marked
    }

    /// Whether there may be keys to remove.
    pub fn has_keys(&self) -> bool {
        self.sheet().marker.has_keys()
    }

    /// Whether all names of `span` are known to be possibly written.
    pub fn covers(&self, span: &KeySpan) -> bool {
        self.sheet().marker.span.as_ref().is_none_or(|known| known.covers(span))
    }

    /// The names of `span` may be written from now on. `kept` is whether they are to stay at the end.
    pub fn add_keys(&self, span: KeySpan, kept: bool) {
        let mut sheet = self.sheet();
        sheet.marker.span = sheet.marker.span.take().map(|known| known.with(span));
        sheet.marker.kept = kept;
        sheet.is_behind = true;
    }

    /// There are no keys any more, or none was written.
    pub fn drop_keys(&self) {
        self.sheet().marker.span = Some(KeySpan::default());
    }

    /// Begins to set `name`, which is `from` now, to `to`. `false`: nothing may be begun any more.
    pub(super) fn begin_turn(&self, name: &str, from: &str, to: &str) -> bool {
        let mut sheet = self.sheet();
        let tuned = Tuned::turned(sheet.tuned(name), name, from, to);
        let may_begin = !sheet.is_closed;
        if may_begin {
            sheet.put(tuned);
        }
        may_begin
    }

    /// It was not set after all: what is to be set back of `name` is as it was before the turn.
    pub(super) fn cancel_turn(&self, name: &str, before: Option<Tuned>) {
        match before {
            Some(tuned) => self.sheet().put(tuned),
            None => self.forget(name),
        }
    }

    /// It is sure that `name` is `to`.
    pub(super) fn settle_turn(&self, name: &str, to: &str) {
        let mut sheet = self.sheet();
        if let Some(tuned) = sheet.tuned(name).cloned() {
            sheet.put(tuned.settled(to));
        }
    }

    /// What is to be set back of `name`.
    pub(super) fn tuned(&self, name: &str) -> Option<Tuned> {
        self.sheet().tuned(name).cloned()
    }

    /// `name` need not be set back any more.
    pub(super) fn forget(&self, name: &str) {
        let mut sheet = self.sheet();
        sheet.marker.tuned.retain(|tuned| tuned.name != name);
        sheet.is_behind = true;
    }

    /// Begins to make something that is not there. `false`: nothing may be begun any more.
    pub(super) fn begin_making(&self, made: &Made) -> bool {
        let mut sheet = self.sheet();
        let may_begin = !sheet.is_closed;
        if may_begin {
            sheet.marker.made.push(made.clone());
            sheet.is_behind = true;
        }
        may_begin
    }

    /// Whether it was made by this session, or is about to be.
    pub(super) fn has_made(&self, made: &Made) -> bool {
        self.sheet().marker.made.contains(made)
    }

    /// It is there no more, or was not made after all.
    pub(super) fn forget_made(&self, made: &Made) {
        let mut sheet = self.sheet();
        sheet.marker.made.retain(|known| known != made);
        sheet.is_behind = true;
    }

    /// Whether nothing more may be begun.
    pub(super) fn is_closed(&self) -> bool {
        self.sheet().is_closed
    }

    /// Nothing more may be begun.
    pub fn close(&self) {
        self.sheet().is_closed = true;
    }

    pub(super) fn place(&self) -> Option<Place> {
        self.sheet().place.clone()
    }

    pub(super) fn set_place(&self, place: Option<Place>) {
        self.sheet().place = place;
    }

    pub(super) fn is_behind(&self) -> bool {
        self.sheet().is_behind
    }

    pub(super) fn set_behind(&self, is_behind: bool) {
        self.sheet().is_behind = is_behind;
    }

    pub(super) fn has_stood(&self) -> bool {
        self.sheet().has_stood
    }

    pub(super) fn set_has_stood(&self, has_stood: bool) {
        self.sheet().has_stood = has_stood;
    }
}

impl Sheet {
    fn tuned(&self, name: &str) -> Option<&Tuned> {
        self.marker.tuned.iter().find(|tuned| tuned.name == name)
    }

    /// Each parameter stands once, in the order of the first change.
    fn put(&mut self, tuned: Tuned) {
        self.is_behind = true;
        match self.marker.tuned.iter_mut().find(|known| known.name == tuned.name) {
            Some(known) => *known = tuned,
            None => self.marker.tuned.push(tuned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger {
        Ledger::new(RunId::random(), Owner::default())
    }

    #[test]
    fn what_may_have_been_set_stands_there_until_it_is_known_that_it_was_not() {
        let ledger = ledger();
        assert!(ledger.begin_turn("hz", "10", "20"));
        assert_eq!(ledger.tuned("hz").unwrap().to, ["20"]);
        ledger.settle_turn("hz", "20");
        let before = ledger.tuned("hz");
        assert!(ledger.begin_turn("hz", "20", "50"));
        assert_eq!(ledger.tuned("hz").unwrap().to, ["20", "50"], "either may hold");
        ledger.cancel_turn("hz", before.clone());
        assert_eq!((ledger.tuned("hz"), ledger.marker().owes()), (before, true));
        ledger.forget("hz");
        assert!(!ledger.marker().owes());
    }

    #[test]
    fn nothing_is_begun_while_all_is_being_undone() {
        let ledger = ledger();
        ledger.close();
        assert!(!ledger.begin_turn("hz", "10", "20"));
        assert!(!ledger.begin_making(&Made::Library("x".to_owned())));
        assert!(!ledger.marker().owes());
    }

    #[test]
    fn keys_add_up_and_go_together() {
        let ledger = ledger();
        let [values, both] = [(10, 0), (2, 5)].map(|(n, m)| KeySpan::of_values_and_counters(n, m));
        ledger.add_keys(values.clone(), false);
        assert!(ledger.covers(&values) && !ledger.covers(&both));
        ledger.add_keys(both, false);
        assert!(ledger.covers(&KeySpan::of_values_and_counters(10, 5)) && ledger.has_keys());
        ledger.drop_keys();
        assert!(!ledger.has_keys() && ledger.is_behind());
    }
}
