//! Finds the changes between two replies to `stats`, and returns these changes as events. This module does no I/O.

use super::stats::StatsReply;
use crate::{events::EventKind, server::episode::LimitBursts};

/// The server's state in the previous reply, and the present bursts.
#[derive(Debug, Default)]
pub(super) struct StatsChanges {
    seen: Option<ProcessStart>,
    /// Whether the next reply comes from another server, because the target's name leads to another address.
    is_another_server: bool,
    bursts: LimitBursts,
}

#[derive(Debug, Clone, Copy)]
struct ProcessStart {
    pid: Option<u64>,
    uptime_s: Option<u64>,
}

impl StatsChanges {
    /// Notes that the next reply comes from a server at another address.
    pub(super) fn change_server(&mut self) {
        self.is_another_server = true;
    }

    /// Returns the events since the previous reply, and whether the reply comes from another process.
    pub(super) fn read(&mut self, at_ns: u64, stats: &StatsReply) -> (Vec<EventKind>, bool) {
        let seen = ProcessStart { pid: stats.number("pid"), uptime_s: stats.number("uptime") };
        let before = self.seen.replace(seen).unwrap_or(seen);
        // Processes in different containers may have the same process id.
        let is_restarted =
            !self.is_another_server && (before.pid != seen.pid || before.uptime_s > seen.uptime_s);
        let is_other = std::mem::take(&mut self.is_another_server) || is_restarted;
        // The number of rejected connections, or on older servers, how often the server stopped accepting connections.
        let rejected = stats.number("rejected_connections").or(stats.number("listen_disabled_num"));
        let bursts = self.bursts.take(at_ns, [stats.number("evictions"), rejected], !is_other);
        (is_restarted.then_some(EventKind::Restarted).into_iter().chain(bursts).collect(), is_other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND_NS;

    #[test]
    fn bursts_and_restarts_are_reported() {
        let mut news = StatsChanges::default();
        let mut events = Vec::new();
        let answers =
            [(1, 5, 10), (1, 6, 110), (1, 7, 110), (1, 8, 110), (1, 9, 110), (1, 2, 3), (9, 3, 900)];
        for (second, (pid, uptime, evictions)) in answers.into_iter().enumerate() {
            let text = format!("STAT pid {pid}\nSTAT uptime {uptime}\nSTAT evictions {evictions}\n");
            events.extend(news.read(second as u64 * SECOND_NS, &StatsReply::parse(&text)).0);
        }
        let events: Vec<_> = events.iter().map(ToString::to_string).collect();
        assert_eq!(
            events,
            [
                "100 keys evicted in a second",
                "ended: 100 keys in 1 s",
                "the server was restarted",
                "the server was restarted",
            ]
        );
    }
}
