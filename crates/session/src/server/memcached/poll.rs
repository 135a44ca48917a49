//! One poll of memcached sends `stats`, and from time to time also `stats settings`.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    MemcachedSender,
    news::StatsChanges,
    stats::{LISTENING, StatsReply, called},
};
use crate::{
    gauge::Gauge,
    server::{ServerError, Status, info::GaugeCounters, poll::Polled},
};

/// The number of polls from one request for the settings to the next. The settings rarely change.
const SETTINGS_EVERY: u32 = 10;

/// The settings of memcached that redyno shows.
const SETTINGS: [&str; 10] = [
    "evictions",
    "growth_factor",
    "idle_timeout",
    "item_size_max",
    "maxbytes",
    "maxconns",
    "num_threads",
    "reqs_per_event",
    "slab_automove",
    "tcp_backlog",
];

/// The values of earlier polls, for the calculation of differences. These values are kept when the connection is lost.
#[derive(Default)]
pub(in crate::server) struct MemcachedPoller {
    counters: Option<GaugeCounters>,
    calls: Option<BTreeMap<&'static str, u64>>,
    news: StatsChanges,
    settings: Arc<BTreeMap<String, String>>,
    polls: u32,
    /// The number of listening sockets of the server.
    listening: usize,
}

impl MemcachedPoller {
    /// Polls the server. `now_ns` returns the time, and is called when the reply to `stats` has arrived.
    ///
    /// # Errors
    /// Fails if the connection is lost, or `stats` is refused.
    pub(in crate::server) async fn poll(
        &mut self,
        wire: &MemcachedSender,
        now_ns: impl Fn() -> u64,
    ) -> Result<(u64, Polled), ServerError> {
        let text = wire.text("stats").await?;
        let at_ns = now_ns();
        let stats = StatsReply::parse(&text);
        if self.polls == 0 {
            let list = connections(wire, &stats).await?;
            self.listening = list.map_or(1, |list| listening(&StatsReply::parse(&list)));
        }
        if self.polls.is_multiple_of(SETTINGS_EVERY) {
            let text = ServerError::optional(wire.text("stats settings").await)?;
            self.settings = Arc::new(settings(&text.unwrap_or_default()));
        }
        self.polls = self.polls.wrapping_add(1);
        Ok((at_ns, self.read(at_ns, &stats)))
    }

    /// Notes that the next poll goes to a server at another address.
    pub(in crate::server) fn change_server(&mut self) {
        self.news.change_server();
    }

    fn read(&mut self, at_ns: u64, stats: &StatsReply) -> Polled {
        let (events, is_other) = self.news.read(at_ns, stats);
        if is_other {
            (self.counters, self.calls, self.polls) = (None, None, 0);
        }
        let counters = GaugeCounters::new(at_ns, String::new(), stats.sources());
        let (mut gauges, poll_s) = counters.since(self.counters.as_ref());
        let calls = stats.calls();
        let added = self.calls.as_ref().and_then(|before| called(&calls, before)).unwrap_or_default();
        let sum = added.values().map(|stat| stat.calls).fold(0, u64::saturating_add);
        // `curr_connections` leaves out only one listening socket. A server of IPv4 and IPv6 has two.
        let beyond = self.listening.saturating_sub(1) as f64;
        gauges.set(Gauge::Clients, gauges.get(Gauge::Clients).map(|all| (all - beyond).max(0.0)));
        (self.counters, self.calls) = (Some(counters), Some(calls));
        let mut status = Status {
            name: "memcached".to_owned(),
            version: stats.text("version").unwrap_or_default().to_owned(),
            process_id: stats.number("pid"),
            policy: policy(&self.settings),
            poll_s,
            gauges,
            command_stats: added,
            config: self.settings.clone(),
            ..Status::default()
        };
        status.gauges.set(Gauge::OpsPerS, status.per_s(sum as f64));
        Polled { status, events, pause: 1, ..Polled::default() }
    }
}

/// Returns the server's behaviour at its memory limit: `lru` or `noeviction`.
fn policy(settings: &BTreeMap<String, String>) -> Option<String> {
    let policy = |word: &String| if word == "on" { "lru" } else { "noeviction" };
    settings.get("evictions").map(|word| policy(word).to_owned())
}

/// Returns the reply to `stats conns`. Returns `None` if the server refuses the command, or has too many connections.
/// `stats` is the reply to `stats`.
pub(super) async fn connections(
    wire: &MemcachedSender,
    stats: &StatsReply<'_>,
) -> Result<Option<String>, ServerError> {
    if !stats.can_be_listed() {
        return Ok(None);
    }
    ServerError::optional(wire.text("stats conns").await)
}

/// Returns the number of listening sockets in the reply to `stats conns`.
fn listening(list: &StatsReply) -> usize {
    list.iter().filter(|(_, state)| *state == LISTENING).count()
}

/// Parses the shown settings.
fn settings(text: &str) -> BTreeMap<String, String> {
    let stats = StatsReply::parse(text);
    let shown = stats.iter().filter(|(name, _)| SETTINGS.contains(name));
    shown.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_with_two_listening_sockets_has_no_client_more() {
        let conns = "STAT 22:state conn_listening\nSTAT 23:state conn_listening\nSTAT 24:state conn_read";
        let stats = StatsReply::parse("STAT curr_connections 8");
        let clients = |listening| {
            let mut poller = MemcachedPoller { listening, ..MemcachedPoller::default() };
            poller.read(0, &stats).status.gauges.get(Gauge::Clients)
        };
        assert_eq!([1, listening(&StatsReply::parse(conns))].map(clients), [Some(8.0), Some(7.0)]);
        assert!(stats.can_be_listed() && !StatsReply::parse("STAT curr_connections 8000").can_be_listed());
    }

    #[test]
    fn polls_that_are_close_together_have_no_rate() {
        let polled = |ms: u64| {
            let mut poller = MemcachedPoller::default();
            let mut poll = |at_ns, gets: u64| {
                let text = format!("STAT pid 9\nSTAT uptime 5\nSTAT cmd_get {gets}");
                poller.read(at_ns, &StatsReply::parse(&text)).status
            };
            poll(0, 0);
            let status = poll(ms * 1_000_000, 9);
            (status.gauges.get(Gauge::OpsPerS), status.per_s(9.0))
        };
        assert_eq!(polled(3), (None, None));
        assert_eq!(polled(1000), (Some(9.0), Some(9.0)));
    }
}
