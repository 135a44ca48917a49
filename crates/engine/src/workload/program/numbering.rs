//! Numbers the messages of a workload on each channel, so that receivers can find lost messages.

use std::sync::Arc;

use super::Program;
use crate::{
    clock::Clock,
    workload::{KeyNames, Messages, Workload},
};

impl Program {
    /// Returns the program with counters that number its messages, if `workload` has receivers. The program
    /// must be compiled from `workload`.
    #[must_use]
    pub fn numbering(mut self, workload: &Workload, keyspace: u64, names: &KeyNames, clock: Clock) -> Self {
        self.sources.messages = Messages::of(workload, keyspace, names, clock).map(Arc::new);
        self
    }

    /// Returns the messages, if the workload has receivers.
    pub fn messages(&self) -> Option<&Arc<Messages>> {
        self.sources.messages.as_ref()
    }

    /// Continues the message numbers of earlier programs that had the same channels.
    pub(super) fn number_after(&mut self, before: &Self) {
        self.numbered.clone_from(&before.numbered);
        let is_new = |one: &&Arc<Messages>| !before.numbered.iter().any(|known| Arc::ptr_eq(known, one));
        self.numbered.extend(before.messages().filter(is_new).cloned());
        if let Some(messages) = &mut self.sources.messages
            && let Some(known) = self.numbered.iter().find(|known| known.is_same(messages))
        {
            messages.clone_from(known);
        }
    }
}
