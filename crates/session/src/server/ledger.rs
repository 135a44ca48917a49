//! The changes that a session has to undo: the keys of its run, the parameters that it set, and the objects that its
//! setups made.
//!
//! The session and the control thread share the ledger. redyno first adds each change to the ledger, then writes the
//! change to the run's [`Marker`] on the server, and only then makes the change. The ledger therefore lists every
//! possible change, even if the server's reply is lost. The session can undo all these changes.

use std::sync::Arc;

use parking_lot::Mutex;

use super::{Marker, Owner, SetupObject, TunedParameter, place::MarkerPlace};
use crate::workload::{KeySpan, RunId};

/// The changes that a session has to undo. Clones share the same changes.
#[derive(Debug, Clone)]
pub struct Ledger {
    sheet: Arc<Mutex<LedgerState>>,
}

#[derive(Debug)]
struct LedgerState {
    marker: Marker,
    /// Whether changes are also written to a marker on the server. `false` for redyno's built-in server, because this
    /// server ends with the process.
    is_marked: bool,
    /// The place of the marker on the server; `None` until the place is known.
    place: Option<MarkerPlace>,
    /// The letters of `notify-keyspace-events` that the session needs. Other sessions may have added them.
    notifications: String,
    /// Whether some changes in the ledger are not written to the marker yet.
    is_behind: bool,
    /// Whether this session has written the marker and has not deleted it since.
    has_stood: bool,
    /// Whether new changes are refused, because the session is undoing its earlier changes.
    is_closed: bool,
}

impl Ledger {
    /// Returns an empty ledger for a session on a user's server.
    pub fn new(run: RunId, owner: Owner) -> Self {
        Self::of(Marker::new(run, owner), true)
    }

    /// Returns an empty ledger without a marker, for a session on redyno's built-in server.
    pub fn unmarked() -> Self {
        Self::of(Marker::new(RunId::random(), Owner::default()), false)
    }

    /// Returns a ledger with the changes of another session.
    pub fn found(marker: Marker) -> Self {
        Self::of(marker, true)
    }

    fn of(marker: Marker, is_marked: bool) -> Self {
        let ((is_behind, has_stood, is_closed), notifications) = ((false, false, false), String::new());
        let sheet =
            LedgerState { marker, is_marked, place: None, notifications, is_behind, has_stood, is_closed };
        Self { sheet: Arc::new(Mutex::new(sheet)) }
    }

    /// Returns the marker with the present changes.
    pub fn marker(&self) -> Marker {
        self.sheet.lock().marker.clone()
    }

    /// Returns whether the session uses a marker and has changes to undo.
    pub(super) fn is_to_be_marked(&self) -> bool {
        let sheet = self.sheet.lock();
        sheet.is_marked && sheet.marker.needs_undo()
    }

    /// Returns whether the session uses a marker.
    pub(super) fn is_marked(&self) -> bool {
        self.sheet.lock().is_marked
    }

    /// Returns whether there may be keys to remove.
    pub fn has_keys(&self) -> bool {
        self.sheet.lock().marker.has_keys()
    }

    /// Returns whether the ledger contains all key names of `span`.
    pub fn covers(&self, span: &KeySpan) -> bool {
        self.sheet.lock().marker.span.as_ref().is_none_or(|known| known.covers(span))
    }

    /// Adds the key names of `span`, because the session may write keys with these names from now on. If `kept` is
    /// true, the keys remain after the session.
    pub fn add_keys(&self, span: KeySpan, kept: bool) {
        let mut sheet = self.sheet.lock();
        sheet.marker.span = sheet.marker.span.take().map(|known| known.with(span));
        sheet.marker.kept = kept;
        sheet.is_behind = true;
    }

    /// Removes all keys from the ledger, because they were removed from the server or never written.
    pub fn drop_keys(&self) {
        self.sheet.lock().marker.span = Some(KeySpan::default());
    }

    /// Adds the entry of the parameter `name`, before it is set from the value `from` to `to`. Returns
    /// `false` if new changes are refused.
    pub(super) fn begin_turn(&self, name: &str, from: &str, to: &str) -> bool {
        let mut sheet = self.sheet.lock();
        let tuned = TunedParameter::with_change(sheet.tuned(name), name, from, to);
        let may_begin = !sheet.is_closed;
        if may_begin {
            sheet.put(tuned);
        }
        may_begin
    }

    /// Cancels [`begin_turn`](Self::begin_turn) of a parameter that was not set. `before` is the entry to
    /// restore.
    pub(super) fn cancel_turn(&self, name: &str, before: Option<TunedParameter>) {
        match before {
            Some(tuned) => self.sheet.lock().put(tuned),
            None => self.forget(name),
        }
    }

    /// Updates the entry of the parameter `name` after the server has reported the value `to`.
    pub(super) fn settle_turn(&self, name: &str, to: &str) {
        let mut sheet = self.sheet.lock();
        if let Some(tuned) = sheet.tuned(name).cloned() {
            sheet.put(tuned.settled(to));
        }
    }

    /// Returns the entry of the parameter `name`, if the parameter must be restored.
    pub(super) fn tuned(&self, name: &str) -> Option<TunedParameter> {
        self.sheet.lock().tuned(name).cloned()
    }

    /// Removes the entry of the parameter `name`, because the parameter need not be restored any more.
    pub(super) fn forget(&self, name: &str) {
        let mut sheet = self.sheet.lock();
        sheet.marker.tuned.retain(|tuned| tuned.name != name);
        sheet.is_behind = true;
    }

    /// Notes that the session also needs these letters of `notify-keyspace-events`.
    pub(super) fn need_notifications(&self, letters: &str) {
        let mut sheet = self.sheet.lock();
        let known = &mut sheet.notifications;
        letters.chars().for_each(|letter| {
            if !known.contains(letter) {
                known.push(letter);
            }
        });
    }

    /// Returns the letters of `notify-keyspace-events` that the session needs. The text is empty if the session needs
    /// none, or is undoing its changes.
    pub(super) fn notifications(&self) -> String {
        let sheet = self.sheet.lock();
        if sheet.is_closed { String::new() } else { sheet.notifications.clone() }
    }

    /// Records an object before a setup makes the object. A setup consists of commands that run before the load.
    /// Returns `false` if new changes are refused.
    pub(super) fn begin_making(&self, made: &SetupObject) -> bool {
        let mut sheet = self.sheet.lock();
        let may_begin = !sheet.is_closed;
        if may_begin {
            sheet.marker.made.push(made.clone());
            sheet.is_behind = true;
        }
        may_begin
    }

    /// Adds objects that setups have made at another server. This server was a replica of the other server, so the
    /// objects exist on both servers.
    pub fn add_made(&self, made: &[SetupObject]) {
        let mut sheet = self.sheet.lock();
        for object in made {
            if !sheet.marker.made.contains(object) {
                sheet.marker.made.push(object.clone());
                sheet.is_behind = true;
            }
        }
    }

    /// Returns whether this session has made the object or is about to make it.
    pub(super) fn has_made(&self, made: &SetupObject) -> bool {
        self.sheet.lock().marker.made.contains(made)
    }

    /// Removes an object from the ledger, because it was deleted or was not made.
    pub(super) fn forget_made(&self, made: &SetupObject) {
        let mut sheet = self.sheet.lock();
        sheet.marker.made.retain(|known| known != made);
        sheet.is_behind = true;
    }

    /// Returns whether new changes are refused.
    pub(super) fn is_closed(&self) -> bool {
        self.sheet.lock().is_closed
    }

    /// Forbids further changes.
    pub fn close(&self) {
        self.sheet.lock().is_closed = true;
    }

    pub(super) fn place(&self) -> Option<MarkerPlace> {
        self.sheet.lock().place.clone()
    }

    pub(super) fn set_place(&self, place: Option<MarkerPlace>) {
        self.sheet.lock().place = place;
    }

    pub(super) fn is_behind(&self) -> bool {
        self.sheet.lock().is_behind
    }

    pub(super) fn set_behind(&self, is_behind: bool) {
        self.sheet.lock().is_behind = is_behind;
    }

    pub(super) fn has_stood(&self) -> bool {
        self.sheet.lock().has_stood
    }

    pub(super) fn set_has_stood(&self, has_stood: bool) {
        self.sheet.lock().has_stood = has_stood;
    }
}

impl LedgerState {
    fn tuned(&self, name: &str) -> Option<&TunedParameter> {
        self.marker.tuned.iter().find(|tuned| tuned.name == name)
    }

    /// Adds or replaces a parameter. Each parameter has one entry. The entries are in the order of their first changes.
    fn put(&mut self, tuned: TunedParameter) {
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
    fn a_parameter_that_may_have_been_set_is_listed_until_it_was_not_set() {
        let ledger = ledger();
        assert!(ledger.begin_turn("hz", "10", "20"));
        assert_eq!(ledger.tuned("hz").unwrap().to, ["20"]);
        ledger.settle_turn("hz", "20");
        let before = ledger.tuned("hz");
        assert!(ledger.begin_turn("hz", "20", "50"));
        assert_eq!(ledger.tuned("hz").unwrap().to, ["20", "50"], "both values are possible");
        ledger.cancel_turn("hz", before.clone());
        assert_eq!((ledger.tuned("hz"), ledger.marker().needs_undo()), (before, true));
        ledger.forget("hz");
        assert!(!ledger.marker().needs_undo());
    }

    #[test]
    fn no_change_begins_while_changes_are_being_undone() {
        let ledger = ledger();
        ledger.close();
        assert!(!ledger.begin_turn("hz", "10", "20"));
        assert!(!ledger.begin_making(&SetupObject::Library("x".to_owned())));
        assert!(!ledger.marker().needs_undo());
    }

    #[test]
    fn the_letters_of_all_commands_are_needed_until_changes_are_undone() {
        let ledger = ledger();
        ["K$", "Kx", "K$x"].iter().for_each(|letters| ledger.need_notifications(letters));
        assert_eq!(ledger.notifications(), "K$x");
        ledger.close();
        assert_eq!(ledger.notifications(), "");
    }

    #[test]
    fn keys_are_added_and_removed_together() {
        let ledger = ledger();
        let [values, both] = [(10, 0), (2, 5)]
            .map(|(n, m)| KeySpan::from_iter([(String::new(), 0..n), ("counter:".to_owned(), 0..m)]));
        ledger.add_keys(values.clone(), false);
        assert!(ledger.covers(&values) && !ledger.covers(&both));
        ledger.add_keys(both, false);
        assert!(
            ledger.covers(&KeySpan::from_iter([(String::new(), 0..10), ("counter:".to_owned(), 0..5)]))
                && ledger.has_keys()
        );
        ledger.drop_keys();
        assert!(!ledger.has_keys() && ledger.is_behind());
    }
}
