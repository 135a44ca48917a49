//! When a worker writes, and what.

use std::time::Duration;

use super::Worker;
use crate::load::clients::Link;

impl Worker {
    /// How long the poll may sleep.
    pub(super) fn sleep(&mut self) -> std::io::Result<Duration> {
        let now_ns = self.outfit.clock.now_ns();
        let mut until_ns = self.next_tick_ns.min(self.clients.next_retry_ns().unwrap_or(u64::MAX));
        if self.may_send()
            && self.clients.any_ready()
            && let Some(due_ns) = self.pace.due_ns()
            && let Some(wait) = self.alarm.set(due_ns, now_ns)?
        {
            until_ns = until_ns.min(now_ns + wait.as_nanos() as u64);
        }
        Ok(Duration::from_nanos(until_ns.saturating_sub(now_ns)))
    }

    pub(super) fn may_send(&self) -> bool {
        self.setting.knobs.load && self.stopping_since_ns.is_none()
    }

    /// Writes the next batch of client `i`, which is idle: in open loop what is due by `now_ns`.
    #[inline]
    pub(super) fn send(&mut self, i: usize, now_ns: u64) {
        let Some(client) = self.clients.get_mut(i) else {
            return;
        };
        let Link::Open(connection) = &mut client.link else {
            return;
        };
        self.out.clear();
        let batch = connection.next_batch();
        let (pipeline, is_counted) = (self.setting.knobs.pipeline, self.setting.is_counted);
        if self.pace.is_closed() {
            let n = if is_counted { self.allowance.take_of(pipeline) } else { pipeline };
            let append = |_| self.requests.append(&mut client.random, &mut self.out);
            batch.commands.extend((0..n).map(append));
        } else {
            for _ in 0..pipeline {
                if !self.pace.is_due(now_ns) || (is_counted && !self.allowance.take()) {
                    break;
                }
                batch.dues.extend(self.pace.take());
                batch.commands.push(self.requests.append(&mut client.random, &mut self.out));
            }
        }
        if batch.commands.is_empty() {
            return;
        }
        let now_ns = self.outfit.clock.now_ns();
        if let Some(due_ns) = batch.dues.first().copied() {
            self.segments.note_behind(now_ns.saturating_sub(due_ns));
            // Before a client was free the server made it late, and since then we did.
            let late_ns = now_ns.saturating_sub(due_ns.max(self.free_since_ns));
            self.segments.client().late_send(late_ns);
        }
        let sent = connection.send(self.poll.registry(), &self.out, now_ns, &mut self.segments);
        if let Err(broken) = sent {
            self.lose(i, &broken, now_ns);
        }
    }

    /// Writes what is due among the clients that wait for their turn.
    pub(super) fn send_due(&mut self) {
        if !self.may_send() || (self.pace.is_closed() && !self.clients.any_ready()) {
            return;
        }
        let now_ns = self.outfit.clock.now_ns();
        self.pass_over(now_ns);
        while self.pace.is_due(now_ns)
            && let Some(i) = self.clients.next_ready()
        {
            self.send(i, now_ns);
        }
    }

    /// Counts what is due and will not be sent: all of it while there is no connection, and what is too late where
    /// that is shed.
    pub(super) fn pass_over(&mut self, now_ns: u64) {
        if self.clients.connected() == 0 {
            let failed = self.pace.give_up(now_ns);
            self.segments.count_errors(&self.outage, failed);
        } else {
            self.pace.begin(now_ns);
            let shed = self.pace.shed(now_ns);
            self.segments.count_shed(shed);
        }
    }
}
