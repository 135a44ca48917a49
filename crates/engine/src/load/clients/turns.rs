//! Whose turn it is to read, and to write, and how much each may still write.

use super::Clients;
use crate::load::{
    connection::{Connection, ConnectionPhase},
    quota::Allowance,
};

impl Clients {
    /// The socket of client `i` holds more than was read.
    pub(in crate::load) fn queue_unread(&mut self, i: usize) {
        if !std::mem::replace(&mut self.all[i].unread, true) {
            self.unread.push_back(i);
        }
    }

    /// How many sockets hold more.
    #[inline]
    pub(in crate::load) fn unread(&self) -> usize {
        self.unread.len()
    }

    /// The next client whose socket holds more.
    pub(in crate::load) fn next_unread(&mut self) -> Option<usize> {
        while let Some(i) = self.unread.pop_front() {
            let Some(client) = self.all.get_mut(i) else { continue };
            client.unread = false;
            if self.connection(i).is_some_and(|c| c.has_more()) {
                return Some(i);
            }
        }
        None
    }

    /// Client `i` may write when its turn comes.
    pub(in crate::load) fn queue(&mut self, i: usize) {
        if !std::mem::replace(&mut self.all[i].queued, true) {
            self.ready.push_back(i);
        }
    }

    /// Every client that is idle may write when its turn comes.
    pub(in crate::load) fn queue_idle(&mut self) {
        let is_idle = |(i, connection): (usize, &mut Connection)| {
            (connection.phase == ConnectionPhase::Idle).then_some(i)
        };
        let idle: Vec<_> = self.connections().filter_map(is_idle).collect();
        idle.into_iter().for_each(|i| self.queue(i));
    }

    /// Whether a client waits for its turn to write.
    pub(in crate::load) fn any_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// How many clients wait for their turn to write, or did when they were last looked at.
    pub(in crate::load) fn how_many_ready(&self) -> usize {
        self.ready.len()
    }

    /// The client whose turn it is to write.
    pub(in crate::load) fn next_ready(&mut self) -> Option<usize> {
        while let Some(i) = self.ready.pop_front() {
            let Some(client) = self.all.get_mut(i) else { continue };
            client.queued = false;
            if self.connection(i).is_some_and(|c| c.phase == ConnectionPhase::Idle) {
                return Some(i);
            }
        }
        None
    }

    /// Gives each client its part of what is sent: so many requests for the client with an index, where there are parts. The sum
    /// of them.
    pub(in crate::load) fn part(&mut self, part_of: impl Fn(usize) -> Option<u64>) -> u64 {
        let mut sum: u64 = 0;
        for (i, client) in self.all.iter_mut().enumerate() {
            client.left = part_of(i).unwrap_or(u64::MAX);
            sum = sum.saturating_add(client.left);
        }
        sum
    }

    /// How many requests client `i` may still send.
    pub(in crate::load) fn left(&self, i: usize) -> u64 {
        self.all[i].left
    }

    /// What the clients have in flight is not to be given back any more.
    pub(in crate::load) fn forget_numbers(&mut self) {
        self.all.iter_mut().for_each(|client| client.numbers.clear());
    }

    /// Gives those requests of client `i` back that are not answered, where each has to be. Whether there are any.
    pub(in crate::load) fn give_back(&mut self, i: usize, to: &mut Allowance) -> bool {
        let answered = self.connection(i).map_or(0, |connection| connection.answered());
        let mut numbers = std::mem::take(&mut self.all[i].numbers);
        let lost = numbers.get(answered..).unwrap_or_default();
        to.give_back(lost);
        let any = !lost.is_empty();
        numbers.clear();
        self.all[i].numbers = numbers;
        any
    }
}
