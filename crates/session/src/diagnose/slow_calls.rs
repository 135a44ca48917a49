//! The slow log entries of the last seconds by command, and the advice about slow commands.

use std::collections::BTreeMap;

use super::now::RecentState;
use crate::{events::EventKind, server::CLIENT_NAME, units};

/// The time for which an entry of the slow log counts as recent, in seconds.
pub(super) const WINDOW_S: f64 = 10.0;
/// The shortest call that can be a finding by itself, in microseconds. For shorter calls, their sum decides.
pub(super) const SLOW_US: f64 = 10_000.0;

/// The slow calls of one command.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pub(super) n: u64,
    pub(super) us: u64,
    pub(super) longest_us: u64,
    /// The command of the longest call, with its first argument.
    pub(super) whole: String,
    /// The number of calls by client.
    pub(super) clients: BTreeMap<String, u64>,
}

/// Returns the longest slow call of a command, or of all commands, in the last seconds: `MGET a 22.7 ms from
/// 10.0.0.7:51234`.
pub(super) fn longest(now: &RecentState, name: Option<&str>) -> Option<String> {
    let known = of_slow_log(now).into_iter().filter(|(command, _)| name.is_none_or(|name| name == command));
    let found = known.map(|(_, calls)| calls).max_by_key(|calls| calls.longest_us)?;
    let client = found.clients.keys().next().map_or_else(String::new, |client| format!(" from {client}"));
    Some(format!(
        "slow log: {} {}{client}",
        found.whole,
        units::latency(found.longest_us.saturating_mul(1000))
    ))
}

/// Returns the slow calls of the last seconds by command.
pub(super) fn of_slow_log(now: &RecentState) -> BTreeMap<String, Calls> {
    let mut found: BTreeMap<String, Calls> = BTreeMap::new();
    for event in now.events(WINDOW_S) {
        let EventKind::SlowCommand { us, command, client, .. } = event else { continue };
        // Requests of redyno's control plane are not counted: if they are slow, the control plane polls less often.
        if client.as_ref().is_some_and(|client| client.ends_with(&format!("({CLIENT_NAME})"))) {
            continue;
        }
        let name = command.split(' ').next().unwrap_or_default().to_uppercase();
        let calls = found.entry(name).or_default();
        calls.n += 1;
        calls.us = calls.us.saturating_add(*us);
        if *us >= calls.longest_us {
            calls.longest_us = *us;
            calls.whole.clone_from(command);
        }
        if let Some(client) = client {
            *calls.clients.entry(client.clone()).or_default() += 1;
        }
    }
    found
}

/// Returns the advice on how to find the clients that send a command.
pub(super) fn who_sends(name: &str) -> String {
    format!("CLIENT LIST shows the senders of this command (cmd={})", name.to_lowercase().replace(' ', "|"))
}

/// Returns the advice for a slow command.
pub(super) fn advice(name: &str) -> &'static str {
    match name.split(' ').next().unwrap_or_default() {
        "KEYS" => "use SCAN instead of KEYS; ACL SETUSER … -keys forbids KEYS",
        "HGETALL" | "HKEYS" | "HVALS" => {
            "read a large hash in parts with HSCAN or HMGET; redis-cli --bigkeys finds large keys"
        }
        "SMEMBERS" | "SUNION" | "SINTER" | "SDIFF" => {
            "read a large set in parts with SSCAN; redis-cli --bigkeys finds large keys"
        }
        "LRANGE" | "ZRANGE" | "ZREVRANGE" | "ZRANGEBYSCORE" | "SORT" => {
            "read shorter ranges; redis-cli --bigkeys finds large keys"
        }
        "DEL" | "FLUSHALL" | "FLUSHDB" => "free memory in the background: UNLINK, FLUSHALL ASYNC",
        "EVAL" | "EVALSHA" | "FCALL" => "shorten the script; SLOWLOG GET shows its keys",
        "SAVE" => "save in the background: BGSAVE",
        "SADD" | "HSET" | "HMSET" | "ZADD" | "LPUSH" | "RPUSH" | "SREM" | "HDEL" | "ZREM" => {
            "send fewer elements per call, and more calls"
        }
        "MGET" | "MSET" | "HMGET" => "send fewer keys per call, and more calls",
        _ => "SLOWLOG GET shows the calls, and CLIENT LIST shows the clients",
    }
}
