//! How a worker handles and reports lost connections.

use super::{Worker, stopping::Stage};
use crate::load::{ErrorKind, LoadEvent, broken::Broken, clients::is_opening, connection::ConnectionPhase};

impl Worker {
    /// Ends the connection of client `i`, or its attempt to connect, and counts its requests in flight as errors.
    #[cold]
    pub(super) fn lose(&mut self, i: usize, broken: &Broken, now_ns: u64) {
        let kind = broken.kind();
        let remains = self.spread.is_some().then(|| (self.clients.owner(i), self.take_remains(i)));
        if self.clients.connection(i).is_none_or(|connection| connection.phase == ConnectionPhase::Connecting)
        {
            self.endpoint = self.endpoint.wrapping_add(1);
        }
        match self.clients.connection(i).filter(|connection| !is_opening(connection)) {
            None => drop(self.segments.counts().connects_failed.count(&kind, 1)),
            Some(connection) => {
                connection.count_lost(&kind, now_ns, &mut self.segments);
                // In that case this side closes the connection.
                if !matches!(broken, Broken::Unanswered) {
                    self.segments.counts().connections_lost.count(&kind, 1);
                }
                self.take_back(i);
            }
        }
        self.begin(now_ns);
        self.report_error(&kind, || broken.to_string());
        let newly_lost = self.clients.lost(i, now_ns);
        // Connections closed at the end of the session are no outage.
        if !matches!(self.stage, Stage::Over { .. }) {
            self.setup.endpoints.doubt(now_ns);
            if newly_lost {
                self.losses.lost(now_ns, || broken.to_string());
                self.report_if_down(now_ns);
            }
        }
        if let Some((client, remains)) = remains {
            self.replace_lane(client, remains, (&kind, now_ns));
        }
        self.outage = kind;
    }

    /// Reports when the last connection is lost, and when the first one is open again.
    pub(super) fn report_if_down(&mut self, at_ns: u64) {
        let worker = self.setup.index;
        match self.losses.turned(self.clients.are_all_lost()) {
            Some(true) => self.emit(LoadEvent::Down { at_ns, worker }),
            Some(false) => self.emit(LoadEvent::Up { at_ns, worker }),
            None => {}
        }
    }

    pub(super) fn report_losses(&mut self) {
        if let Some(report) = self.losses.report(self.clients.how_many_lost() as u64) {
            self.emit(LoadEvent::Losses { worker: self.setup.index, report });
        }
    }

    /// Reports the first error message of each kind, for as many kinds as are counted separately.
    pub(super) fn report_error(&mut self, kind: &ErrorKind, message: impl FnOnce() -> String) {
        let kind = kind.to_string();
        if self.reported_errors.is_new(&kind) {
            self.emit(LoadEvent::FirstError { kind, message: message() });
        }
    }

    pub(super) fn emit(&self, event: LoadEvent) {
        // The receiver is gone only while the session ends.
        drop(self.setup.events.send(event));
    }
}
