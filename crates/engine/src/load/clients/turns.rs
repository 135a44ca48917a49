//! The order in which a load worker serves its clients, and how many requests each client may still send.

use super::{ClientConnection, WorkerClients, is_extra, is_opening};
use crate::load::{
    connection::{ConnectionPhase, LoadConnection},
    quota::Allowance,
};

impl WorkerClients {
    /// Queues client `i` for reading, because its socket contains unread data.
    pub(in crate::load) fn queue_unread(&mut self, i: usize) {
        if self.lane(i).is_some_and(|lane| !std::mem::replace(&mut lane.unread, true)) {
            self.unread.push_back(i);
        }
    }

    /// Returns how many sockets contain unread data.
    #[inline]
    pub(in crate::load) fn unread(&self) -> usize {
        self.unread.len()
    }

    /// Returns the next client with unread data in its socket.
    pub(in crate::load) fn next_unread(&mut self) -> Option<usize> {
        while let Some(i) = self.unread.pop_front() {
            let Some(lane) = self.lane(i) else { continue };
            lane.unread = false;
            if self.connection(i).is_some_and(|c| c.has_more()) {
                return Some(i);
            }
        }
        None
    }

    /// Queues client `i` for writing.
    pub(in crate::load) fn queue(&mut self, i: usize) {
        if !std::mem::replace(&mut self.all[i].queued, true) {
            self.ready.push_back(i);
        }
    }

    /// Queues every idle client for writing. A client whose server closes the connection gets a new connection first.
    pub(in crate::load) fn queue_idle(&mut self) {
        let is_idle = |(i, connection): (usize, &mut LoadConnection)| {
            (connection.phase == ConnectionPhase::Idle).then_some((i, connection.must_reconnect()))
        };
        let idle: Vec<_> = self.connections().filter_map(is_idle).filter(|(i, _)| !is_extra(*i)).collect();
        for (i, must_reconnect) in idle {
            if must_reconnect { self.renew(i) } else { self.queue(i) }
        }
    }

    /// Notes that the session of client `i` is over, if the client has a connection. Returns whether the client is idle
    /// at present.
    pub(in crate::load) fn end_session(&mut self, i: usize) -> bool {
        let Some(client) = self.all.get_mut(i) else { return false };
        let ClientConnection::Open(connection) = &client.lane.link else { return false };
        client.has_ended = !is_opening(connection);
        connection.phase == ConnectionPhase::Idle && client.unanswered == 0
    }

    /// Returns whether the session on the current connection of client `i` is over.
    pub(in crate::load) fn has_ended(&self, i: usize) -> bool {
        self.all[i].has_ended
    }

    /// Returns whether a client waits for its turn to write.
    pub(in crate::load) fn any_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns the length of the write queue. The queue may include clients that can no longer write.
    pub(in crate::load) fn how_many_ready(&self) -> usize {
        self.ready.len()
    }

    /// Returns the next client that may write.
    pub(in crate::load) fn next_ready(&mut self) -> Option<usize> {
        while let Some(i) = self.ready.pop_front() {
            let Some(client) = self.all.get_mut(i) else { continue };
            client.queued = false;
            if client.unanswered == 0 && self.connection(i).is_some_and(|c| c.phase == ConnectionPhase::Idle)
            {
                return Some(i);
            }
        }
        None
    }

    /// Sets how many requests each client may send. The number is the result of `part_of` for the client's
    /// index. `None` means no limit. Returns the sum of the limits of all clients.
    pub(in crate::load) fn part(&mut self, part_of: impl Fn(usize) -> Option<u64>) -> u64 {
        let mut sum: u64 = 0;
        for (i, client) in self.all.iter_mut().enumerate() {
            client.left = part_of(i).unwrap_or(u64::MAX);
            sum = sum.saturating_add(client.left);
        }
        sum
    }

    /// Returns how many requests client `i` may still send.
    pub(in crate::load) fn left(&self, i: usize) -> u64 {
        self.all[i].left
    }

    /// Forgets the numbers of the requests in flight, so that lost requests are not sent again.
    pub(in crate::load) fn forget_numbers(&mut self) {
        self.all.iter_mut().for_each(|client| client.numbers.clear());
    }

    /// Puts the unanswered requests of client `i` back into `to`. `to` contains the requests that the worker may still
    /// send. Requests are put back only if every request must get a reply. Returns whether any request was put back.
    pub(in crate::load) fn give_back(&mut self, i: usize, to: &mut Allowance) -> bool {
        let answered = self.connection(i).map_or(0, |connection| connection.answered());
        let Some(client) = self.all.get_mut(i) else { return false };
        let mut numbers = std::mem::take(&mut client.numbers);
        let lost = numbers.get(answered..).unwrap_or_default();
        to.give_back(lost);
        let any = !lost.is_empty();
        numbers.clear();
        self.all[i].numbers = numbers;
        any
    }
}
