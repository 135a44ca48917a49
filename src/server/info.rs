//! Reads INFO: text in, [`Status`] out.

use std::collections::BTreeMap;

use super::{
    Status,
    figures::{Connections, Traffic},
};

/// The fields of one INFO. Names are unique over all sections, so sections are not kept apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Info<'a> {
    fields: BTreeMap<&'a str, &'a str>,
    /// An empty server has the section without a line in it.
    has_keyspace: bool,
}

/// Counters since the server's start, as one INFO gave them, to tell what was added until the next.
#[derive(Debug, Clone, PartialEq)]
pub struct Counters {
    at_ns: u64,
    run_id: String,
    hits: Option<u64>,
    misses: Option<u64>,
    evicted: Option<u64>,
    expired: Option<u64>,
    cpu_s: Option<f64>,
    active_s: Option<f64>,
    rejected: Option<u64>,
    input: Option<u64>,
    output: Option<u64>,
}

impl<'a> Info<'a> {
    /// Takes INFO's text apart. Lines that are no `name:value` are no fields.
    pub fn parse(text: &'a str) -> Self {
        let fields =
            text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(':'));
        let has_keyspace = text.lines().any(|line| line.starts_with("# Keyspace"));
        Self { fields: fields.collect(), has_keyspace }
    }

    /// A field as it stands there.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.fields.get(name).copied()
    }

    /// A field that is a number.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.parse().ok()
    }

    /// The fields whose names begin so, without that beginning.
    pub(super) fn beginning_with(&self, beginning: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.fields.iter().filter_map(move |(name, value)| Some((name.strip_prefix(beginning)?, *value)))
    }

    /// Keys by database, from `db0:keys=3,expires=0,…`; databases without keys do not appear.
    pub fn keys_by_db(&self) -> BTreeMap<u32, u64> {
        let db = |(name, value): (&&str, &&str)| {
            let number = name.strip_prefix("db")?.parse().ok()?;
            let keys = value.split(',').find_map(|part| part.strip_prefix("keys="))?.parse().ok()?;
            Some((number, keys))
        };
        self.fields.iter().filter_map(db).collect()
    }

    /// The server's state at `at_ns`, with what was added since `previous`, and the counters for the next time.
    ///
    /// A difference is `None` the first time, after a restart, and where a counter went back (CONFIG RESETSTAT).
    pub fn status(&self, at_ns: u64, previous: Option<&Counters>) -> (Status, Counters) {
        let now = self.counters(at_ns);
        let before = previous.filter(|before| before.run_id == now.run_id);
        let added = |field: fn(&Counters) -> Option<u64>| field(&now)?.checked_sub(field(before?)?);
        let (name, version) = self.name_and_version();
        let status = Status {
            name: name.to_owned(),
            version: version.to_owned(),
            // Valkey calls it server_mode.
            mode: self.text("redis_mode").or(self.text("server_mode")).unwrap_or_default().to_owned(),
            role: self.text("role").unwrap_or_default().to_owned(),
            uptime_s: self.number("uptime_in_seconds"),
            clients: self.number("connected_clients"),
            blocked_clients: self.number("blocked_clients"),
            used_memory: self.number("used_memory"),
            used_memory_rss: self.number("used_memory_rss"),
            maxmemory: self.number("maxmemory"),
            ops_per_s: self.number("instantaneous_ops_per_sec"),
            commands: self.number("total_commands_processed"),
            hits: added(|c| c.hits),
            misses: added(|c| c.misses),
            keys: self.has_keyspace.then(|| self.keys_by_db().values().sum()),
            evicted_keys: added(|c| c.evicted),
            expired_keys: added(|c| c.expired),
            cpu: before.and_then(|before| share(before, &now, |c| c.cpu_s)),
            active: before.and_then(|before| share(before, &now, |c| c.active_s)),
            poll_s: before.map(|before| crate::clock::seconds(at_ns.saturating_sub(before.at_ns))),
            memory: self.memory(),
            connections: Connections {
                max: self.number("maxclients"),
                input_buffer: self.number("client_recent_max_input_buffer"),
                output_buffer: self.number("client_recent_max_output_buffer"),
                rejected: added(|c| c.rejected),
            },
            persistence: self.persistence(),
            replication: self.replication(),
            traffic: Traffic { input: added(|c| c.input), output: added(|c| c.output) },
            ..Status::default()
        };
        (status, now)
    }

    /// Who it is: Valkey tells a `redis_version` too, the one it is compatible with.
    fn name_and_version(&self) -> (&'a str, &'a str) {
        let redis_version = self.text("redis_version").unwrap_or_default();
        match self.text("server_name") {
            Some("valkey") => ("valkey", self.text("valkey_version").unwrap_or(redis_version)),
            Some("redyno") => ("redyno", self.text("redyno_version").unwrap_or(env!("CARGO_PKG_VERSION"))),
            Some(name) if !name.is_empty() => (name, redis_version),
            _ if self.text("valkey_version").is_some() => {
                ("valkey", self.text("valkey_version").unwrap_or_default())
            }
            _ => ("redis", redis_version),
        }
    }

    fn counters(&self, at_ns: u64) -> Counters {
        let cpu = |of: &str| {
            let user = self.number::<f64>(&format!("used_cpu_user{of}"))?;
            Some(user + self.number::<f64>(&format!("used_cpu_sys{of}"))?)
        };
        Counters {
            at_ns,
            run_id: self.text("run_id").unwrap_or_default().to_owned(),
            hits: self.number("keyspace_hits"),
            misses: self.number("keyspace_misses"),
            evicted: self.number("evicted_keys"),
            expired: self.number("expired_keys"),
            cpu_s: cpu("_main_thread").or_else(|| cpu("")),
            active_s: self.number("used_active_time_main_thread"),
            rejected: self.number("rejected_connections"),
            input: self.number("total_net_input_bytes"),
            output: self.number("total_net_output_bytes"),
        }
    }
}

/// Polls closer together than this, as after a stall, measure the jitter of their arrival and not the server.
const CPU_MIN_S: f64 = 0.1;

/// Seconds used per second between two polls.
fn share(before: &Counters, now: &Counters, of: fn(&Counters) -> Option<f64>) -> Option<f64> {
    let passed_s = crate::clock::seconds(now.at_ns.checked_sub(before.at_ns)?);
    let used_s = of(now)? - of(before)?;
    (passed_s >= CPU_MIN_S && used_s >= 0.0).then(|| used_s / passed_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND_NS;

    const REDIS_7: &str = include_str!("../../tests/fixtures/info-redis-7.0.15.txt");
    const VALKEY_9: &str = include_str!("../../tests/fixtures/info-valkey-9.1.2.txt");

    #[test]
    fn redis_and_valkey_are_told_apart() {
        let (redis, _) = Info::parse(REDIS_7).status(0, None);
        assert_eq!((redis.name.as_str(), redis.version.as_str()), ("redis", "7.0.15"));
        assert_eq!((redis.mode.as_str(), redis.role.as_str()), ("standalone", "master"));
        let (valkey, _) = Info::parse(VALKEY_9).status(0, None);
        assert_eq!((valkey.name.as_str(), valkey.version.as_str()), ("valkey", "9.1.2"));
        assert_eq!((valkey.mode.as_str(), valkey.role.as_str()), ("standalone", "master"));
    }

    #[test]
    fn the_built_in_server_goes_by_its_own_name() {
        let (status, _) = Info::parse("redis_version:7.2.0\r\nserver_name:redyno\r\n").status(0, None);
        assert_eq!((status.name.as_str(), status.version.as_str()), ("redyno", env!("CARGO_PKG_VERSION")));
    }

    #[test]
    fn fields_are_read_and_what_is_not_there_is_none() {
        let (status, _) = Info::parse(VALKEY_9).status(0, None);
        assert_eq!(status.clients, Some(1));
        assert_eq!(status.maxmemory, Some(0));
        assert_eq!(status.keys, Some(5));
        assert_eq!((status.hits, status.cpu), (None, None), "a first poll has no difference");
        let (bare, _) = Info::parse("# Server\r\nredis_version:2.4.0\r\n").status(0, None);
        assert_eq!((bare.clients, bare.used_memory, bare.keys), (None, None, None));
        assert_eq!(Info::parse("# Keyspace\r\n").status(0, None).0.keys, Some(0), "an empty server");
    }

    #[test]
    fn keys_are_counted_by_database() {
        let info = Info::parse("db0:keys=3,expires=0,avg_ttl=0\r\ndb15:keys=4,expires=1\r\ndbx:keys=1\r\n");
        assert_eq!(info.keys_by_db(), BTreeMap::from([(0, 3), (15, 4)]));
    }

    #[test]
    fn differences_are_those_since_the_previous_poll() {
        let poll = |hits: u64, cpu: f64| {
            format!(
                "run_id:a\nkeyspace_hits:{hits}\nkeyspace_misses:7\nused_cpu_user:90\nused_cpu_sys:9\n\
                 used_cpu_user_main_thread:{cpu}\nused_cpu_sys_main_thread:1\n"
            )
        };
        let (first, second) = (poll(100, 1.0), poll(130, 1.75));
        let (_, counters) = Info::parse(&first).status(0, None);
        let (status, _) = Info::parse(&second).status(SECOND_NS, Some(&counters));
        assert_eq!((status.hits, status.misses, status.cpu), (Some(30), Some(0), Some(0.75)));
        assert_eq!(status.hit_rate(), Some(1.0));
    }

    #[test]
    fn a_restart_or_a_reset_of_statistics_gives_no_difference() {
        let (_, counters) = Info::parse("run_id:a\nkeyspace_hits:100\n").status(0, None);
        for later in ["run_id:b\nkeyspace_hits:130\n", "run_id:a\nkeyspace_hits:3\n"] {
            let (status, _) = Info::parse(later).status(SECOND_NS, Some(&counters));
            assert_eq!(status.hits, None, "{later}");
        }
    }
}
