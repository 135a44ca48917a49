//! What a worker goes on with though no event tells of it: sockets that hold more than a turn of reading took, and
//! connections that wait for too long.

use super::Worker;
use crate::load::broken::Broken;

/// What a socket is ready for.
#[derive(Clone, Copy)]
pub(super) struct Ready {
    pub(super) to_read: bool,
    pub(super) to_write: bool,
}

impl Ready {
    pub(super) const TO_READ: Self = Self { to_read: true, to_write: false };
}

impl Worker {
    /// Goes on with a client whose socket holds more than its last turn took.
    pub(super) fn read_on(&mut self, now_ns: u64) {
        if let Some(i) = self.clients.next_unread() {
            self.attend(i, Ready::TO_READ, now_ns);
        }
    }

    /// Gives up the connections that have waited too long for their next reply.
    pub(super) fn end_late(&mut self, now_ns: u64) {
        while let Some(i) = self.watches.next(now_ns) {
            // What has come and was not read yet is not late: after a pause of this process all seem to be.
            if self.is_late(i, now_ns) {
                self.attend(i, Ready::TO_READ, now_ns);
                if self.is_late(i, now_ns) {
                    self.lose(i, &Broken::Timeout(self.setup.plan.timeout.as_millis()), now_ns);
                }
            }
        }
    }

    /// Whether client `i` has waited too long for its next reply. Else it is looked at when it has.
    fn is_late(&mut self, i: usize, now_ns: u64) -> bool {
        let deadline_ns = self.clients.connection(i).and_then(|c| c.deadline_ns(self.timeout_ns));
        if let Some(later_ns) = deadline_ns.filter(|at_ns| *at_ns > now_ns) {
            self.watches.watch(i, later_ns);
        }
        deadline_ns.is_some_and(|at_ns| at_ns <= now_ns)
    }
}
