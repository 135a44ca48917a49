//! The causes and the advice of findings in the words of memcached, which has other options and commands than Redis.
//! The rules write their texts for Redis, and do not know this table. If you change a text of a rule, change it here,
//! too: the test below fails if a finding about memcached still names an option or a command of Redis.

/// Texts about Redis, each with the text about memcached.
const TEXTS: [(&str, &str); 8] = [
    (
        "the server rejects connections: maxclients is reached",
        "memcached rejects connections: its limit -c is reached",
    ),
    (
        "CONFIG SET maxclients raises the limit; CLIENT LIST shows who is connected",
        "raise memcached's option -c; stats conns shows the connections",
    ),
    (
        "raise maxmemory (CONFIG SET maxmemory), or write less data; redis-cli --memkeys finds large keys",
        "raise memcached's option -m, or write less data; stats slabs shows the memory by item size",
    ),
    (
        "CONFIG SET maxmemory raises the limit; redis-cli --memkeys finds large keys",
        "memcached's option -m raises the limit; stats slabs shows the memory by item size",
    ),
    (
        "use a connection pool; CLIENT LIST shows the names and addresses of open connections",
        "use a connection pool; stats conns shows the open connections",
    ),
    (
        "spread the keys over more servers (cluster), or read from replicas; redis-cli --hotkeys finds the hottest keys (needs an LFU policy)",
        "spread the keys over more servers, or start memcached with more threads (-t)",
    ),
    (
        "spread the keys over more servers (cluster), or read from replicas",
        "spread the keys over more servers, or start memcached with more threads (-t)",
    ),
    (
        "did clients delete keys, or did keys expire? INFO keyspace counts keys, INFO commandstats shows DEL, UNLINK and \
         FLUSHALL",
        "did clients delete keys, or did keys expire? stats shows curr_items, delete_hits and cmd_flush",
    ),
];

/// Returns the text about memcached, if it differs from the text about Redis.
pub(super) fn of(text: &str) -> Option<String> {
    TEXTS.iter().find(|(redis, _)| *redis == text).map(|(_, memcached)| (*memcached).to_owned())
}

#[cfg(test)]
mod tests {
    use crate::{
        diagnose::fixture::{Second, found},
        gauge::Gauge,
        protocol::Dialect,
    };

    #[test]
    fn no_finding_about_memcached_names_an_option_or_a_command_of_redis() {
        let words = Dialect::of_server("memcached 1.6.18").words();
        for (rule, gauges) in [
            ("refused", &[(Gauge::RejectedClients, 59.0)][..]),
            ("eviction", &[(Gauge::EvictedKeys, 5000.0)]),
            ("memory", &[(Gauge::UsedMemory, 99e6), (Gauge::MaxMemory, 100e6)]),
            ("connections", &[(Gauge::NewConnections, 5000.0)]),
            ("server cpu", &[(Gauge::Cpu, 0.99)]),
            ("misses", &[(Gauge::Hits, 600.0), (Gauge::Misses, 2400.0), (Gauge::HitRate, 0.2)]),
        ] {
            // The hit rate falls after 20 s.
            let earlier = [(Gauge::Hits, 2850.0), (Gauge::Misses, 150.0), (Gauge::HitRate, 0.95)];
            let set = |second: &mut Second| {
                let gauges = if rule == "misses" && second.n < 20 { &earlier } else { gauges };
                gauges.iter().for_each(|(gauge, value)| second.status.gauges.set(*gauge, Some(*value)));
            };
            let found = found(24, set);
            assert!(found.iter().any(|found| found.rule == rule), "{rule}: {found:?}");
            for found in found {
                let found = found.worded(words);
                let text = format!("{} {:?}", found.line(), found.next_at_screen);
                let foreign = ["CONFIG", "CLIENT", "redis", "INFO ", "maxclients", "press "];
                assert!(!foreign.iter().any(|word| text.contains(word)), "{text}");
            }
        }
    }
}
