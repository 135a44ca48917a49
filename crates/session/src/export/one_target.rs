//! Selects one target of a session for an export. Without the selection, the export would mix the segments
//! and PINGs of all nodes. The selected target and the first node of the session exchange their numbers.

use std::sync::Arc;

use crate::session::{Record, Sink};

/// Passes the records of one target to a sink, as if this target were the first target of the session.
pub(super) struct OneTarget {
    /// The number of the target, from 0.
    pub(super) target: u16,
    pub(super) sink: Box<dyn Sink + Send>,
}

impl Sink for OneTarget {
    fn push(&mut self, record: &Record) -> Vec<String> {
        match record {
            Record::Session(session) => {
                let mut own = session.of_node(self.target);
                if let Some(at) = usize::from(self.target).checked_sub(1).filter(|at| *at < own.nodes.len()) {
                    Arc::make_mut(&mut own.nodes)[at] = session.target.clone();
                }
                self.sink.push(&Record::Session(own))
            }
            record if record.is_of(self.target) => match self.target {
                0 => self.sink.push(record),
                _ => self.sink.push(&as_first(record)),
            },
            other => {
                // The findings of the target compare all nodes. The target has the number 0, so the first node of the
                // session gets the number of the target.
                match other.node() {
                    Some(0) => self.sink.push_other(&other.clone().at_node(self.target)),
                    _ => self.sink.push_other(other),
                }
                Vec::new()
            }
        }
    }

    fn finish(&mut self) -> Vec<String> {
        self.sink.finish()
    }
}

/// Returns the record with the number of the first target. An event that concerns all nodes is returned
/// unchanged.
fn as_first(record: &Record) -> Record {
    match record {
        Record::Event(event) if event.what.is_of_all_nodes() => record.clone(),
        own => own.clone().at_node(0),
    }
}
