//! Parses the text of INFO into a [`Status`].

use std::collections::BTreeMap;

use super::{ReplicaProgress, Status, status::RATE_MIN_S};
use crate::{
    clock::seconds,
    endpoint::Address,
    gauge::{GAUGES, Gauge, GaugeKind, GaugeSource, Gauges},
};

/// The fields of one reply to INFO. Each name occurs in only one section of INFO, so the sections are merged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Info<'a> {
    fields: BTreeMap<&'a str, &'a str>,
    /// Whether the text has a keyspace section. The keyspace section of a server without keys has no lines.
    has_keyspace: bool,
}

/// The values of all gauges in one reply to INFO, for comparison with the next reply.
#[derive(Debug, Clone, PartialEq)]
pub struct GaugeCounters {
    at_ns: u64,
    run_id: String,
    sources: Gauges,
}

impl<'a> Info<'a> {
    /// Parses INFO's text. Lines without the form `name:value` are ignored.
    pub fn parse(text: &'a str) -> Self {
        let fields =
            text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(':'));
        let has_keyspace = text.lines().any(|line| line.starts_with("# Keyspace"));
        Self { fields: fields.collect(), has_keyspace }
    }

    /// Returns a field as text.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.fields.get(name).copied()
    }

    /// Returns a field as a number.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.parse().ok()
    }

    /// Returns a field as a flag: `false` for 0, `true` for other numbers.
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.number::<u8>(name).map(|flag| flag != 0)
    }

    /// Returns the fields whose names begin with `beginning`. The returned names lack this beginning.
    pub(super) fn beginning_with(&self, beginning: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.fields.iter().filter_map(move |(name, value)| Some((name.strip_prefix(beginning)?, *value)))
    }

    /// Returns the number of keys by database, from `db0:keys=3,expires=0,…`. Databases without keys are absent.
    pub fn keys_by_db(&self) -> BTreeMap<u32, u64> {
        let db = |(name, value): (&&str, &&str)| {
            let number = name.strip_prefix("db")?.parse().ok()?;
            let keys = value.split(',').find_map(|part| part.strip_prefix("keys="))?.parse().ok()?;
            Some((number, keys))
        };
        self.fields.iter().filter_map(db).collect()
    }

    /// Returns the replicas that are online. Replicas that are still copying the data report the offset 0, and are left
    /// out.
    fn replicas(&self) -> impl Iterator<Item = ReplicaProgress> {
        let own: Option<u64> = self.number("master_repl_offset");
        let lines = (0..).map_while(|n| self.text(&format!("slave{n}")));
        lines.filter_map(move |line| {
            let field =
                |name: &str| line.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
            let offset = field("offset")?
                .parse()
                .ok()
                .filter(|offset| *offset > 0 && field("state") == Some("online"))?;
            let host = field("ip")?.to_owned();
            Some(ReplicaProgress {
                address: Address::Tcp { host, port: field("port")?.parse().ok()? }.to_string(),
                behind: own?.saturating_sub(offset),
                ack_s: field("lag").and_then(|lag| lag.parse().ok()),
            })
        })
    }

    /// Returns the address of a replica's master, as `host:port`.
    pub(super) fn master(&self) -> Option<String> {
        Some(format!("{}:{}", self.text("master_host")?, self.text("master_port")?))
    }

    /// Returns the address of the replica that is furthest behind.
    fn furthest_replica(&self) -> Option<String> {
        self.replicas().max_by_key(|replica| replica.behind).map(|replica| replica.address)
    }

    /// Returns the server's state at `at_ns` with the differences since `previous`, and the counters for the next call.
    ///
    /// A difference is `None` at the first call, after a restart, and if a counter has decreased (CONFIG RESETSTAT).
    pub fn status(&self, at_ns: u64, previous: Option<&GaugeCounters>) -> (Status, GaugeCounters) {
        let now = self.counters(at_ns);
        let (gauges, poll_s) = now.since(previous);
        let (name, version) = self.name_and_version();
        let status = Status {
            name: name.to_owned(),
            version: version.to_owned(),
            process_id: self.number("process_id"),
            // Valkey has server_mode instead.
            mode: self.text("redis_mode").or(self.text("server_mode")).unwrap_or_default().to_owned(),
            role: self.text("role").unwrap_or_default().to_owned(),
            policy: self.text("maxmemory_policy").map(str::to_owned),
            master: self.master(),
            furthest_replica: self.furthest_replica(),
            replicas: self.replicas().collect(),
            poll_s,
            gauges,
            ..Status::default()
        };
        (status, now)
    }

    /// Returns name and version of the server. Valkey also reports a `redis_version`: the compatible version of Redis.
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

    fn counters(&self, at_ns: u64) -> GaugeCounters {
        let mut sources = Gauges::default();
        for gauge in GAUGES {
            let value = match gauge.about().source {
                // The value -1 means that there is no value yet.
                GaugeSource::Info(name) | GaugeSource::InfoOrStat(name, _) => {
                    self.number(name).filter(|number| *number >= 0.0)
                }
                GaugeSource::InfoWord(name, word) => self.text(name).map(|text| f64::from(text == word)),
                GaugeSource::Stat(_) | GaugeSource::Host => None,
                GaugeSource::Own => self.own(gauge),
            };
            sources.set(gauge, value);
        }
        GaugeCounters::new(at_ns, self.text("run_id").unwrap_or_default().to_owned(), sources)
    }

    /// Returns the value of a gauge that is calculated from several fields.
    fn own(&self, gauge: Gauge) -> Option<f64> {
        match gauge {
            Gauge::Cpu => {
                let used = |of: &str| {
                    let user = self.number::<f64>(&format!("used_cpu_user{of}"))?;
                    Some(user + self.number::<f64>(&format!("used_cpu_sys{of}"))?)
                };
                used("_main_thread").or_else(|| used(""))
            }
            Gauge::IoBusy => {
                let threads = self.beginning_with("used_active_time_io_thread_");
                threads.filter_map(|(_, seconds)| seconds.parse().ok()).reduce(|a: f64, b: f64| a + b)
            }
            Gauge::ExpireCpu => self.number::<f64>("expire_cycle_cpu_milliseconds").map(|ms| ms / 1e3),
            Gauge::ExpiredStale => self.number::<f64>("expired_stale_perc").map(|percent| percent / 1e2),
            Gauge::Keys => {
                self.has_keyspace.then(|| self.keys_by_db().into_values().fold(0, u64::saturating_add) as f64)
            }
            Gauge::ReplicaLag => self.replicas().map(|replica| replica.behind as f64).reduce(f64::max),
            _ => None,
        }
    }
}

impl GaugeCounters {
    /// Returns the counters with the values that the server process `run_id` reported at `at_ns`.
    pub(super) fn new(at_ns: u64, run_id: String, sources: Gauges) -> Self {
        Self { at_ns, run_id, sources }
    }

    /// Returns the gauges. Also returns the seconds since `previous`, if both replies are from the same server process.
    pub(super) fn since(&self, previous: Option<&Self>) -> (Gauges, Option<f64>) {
        let before = previous.filter(|before| before.run_id == self.run_id);
        let mut gauges = Gauges::default();
        for gauge in GAUGES {
            let added = || {
                let (now, then) = (self.sources.get(gauge)?, before?.sources.get(gauge)?);
                (now >= then).then_some(now - then)
            };
            let value = match gauge.about().kind {
                GaugeKind::Level => self.sources.get(gauge),
                GaugeKind::Added => added(),
                GaugeKind::Share => {
                    let passed_s =
                        before.map_or(0.0, |before| seconds(self.at_ns.saturating_sub(before.at_ns)));
                    added().filter(|_| passed_s >= RATE_MIN_S).map(|used_s| used_s / passed_s)
                }
            };
            gauges.set(gauge, value);
        }
        gauges.derive();
        (gauges, before.map(|before| seconds(self.at_ns.saturating_sub(before.at_ns))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND_NS;

    const REDIS_7: &str = include_str!("../../../../tests/fixtures/info-redis-7.0.15.txt");
    const VALKEY_9: &str = include_str!("../../../../tests/fixtures/info-valkey-9.1.2.txt");

    #[test]
    fn redis_and_valkey_are_distinguished() {
        let (redis, _) = Info::parse(REDIS_7).status(0, None);
        assert_eq!((redis.name.as_str(), redis.version.as_str()), ("redis", "7.0.15"));
        assert_eq!((redis.mode.as_str(), redis.role.as_str()), ("standalone", "master"));
        let (valkey, _) = Info::parse(VALKEY_9).status(0, None);
        assert_eq!((valkey.name.as_str(), valkey.version.as_str()), ("valkey", "9.1.2"));
        assert_eq!((valkey.mode.as_str(), valkey.role.as_str()), ("standalone", "master"));
    }

    #[test]
    fn the_built_in_server_has_its_own_name() {
        let (status, _) = Info::parse("redis_version:7.2.0\r\nserver_name:redyno\r\n").status(0, None);
        assert_eq!((status.name.as_str(), status.version.as_str()), ("redyno", env!("CARGO_PKG_VERSION")));
    }

    #[test]
    fn fields_are_read_and_missing_fields_are_none() {
        let (status, _) = Info::parse(VALKEY_9).status(0, None);
        let gauges = [Gauge::Clients, Gauge::MaxMemory, Gauge::Keys].map(|gauge| status.gauges.get(gauge));
        assert_eq!(gauges, [Some(1.0), Some(0.0), Some(5.0)]);
        let differences = [Gauge::Hits, Gauge::Cpu].map(|gauge| status.gauges.get(gauge));
        assert_eq!(differences, [None, None], "the first poll has no differences");
        let (bare, _) = Info::parse("# Server\r\nredis_version:2.4.0\r\n").status(0, None);
        assert_eq!(bare.gauges, Gauges::default());
        let (empty, _) = Info::parse("# Keyspace\r\n").status(0, None);
        assert_eq!(empty.text_of(Gauge::Keys).as_deref(), Some("0"));
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
        let sums =
            [Gauge::Hits, Gauge::Misses, Gauge::Cpu, Gauge::HitRate].map(|gauge| status.gauges.get(gauge));
        assert_eq!(sums, [Some(30.0), Some(0.0), Some(0.75), Some(1.0)]);
        assert_eq!(status.poll_s, Some(1.0));
    }

    #[test]
    fn the_work_of_all_io_threads_is_added_up() {
        let poll = |reads: u64, busy: f64| {
            format!(
                "run_id:a\nio_threaded_reads_processed:{reads}\nio_threaded_writes_processed:{reads}\n\
                 used_active_time_main_thread:9\nused_active_time_io_thread_1:{busy}\n\
                 used_active_time_io_thread_2:1.5\n"
            )
        };
        let (first, second) = (poll(100, 1.0), poll(700, 1.25));
        let (_, counters) = Info::parse(&first).status(0, None);
        let (status, _) = Info::parse(&second).status(SECOND_NS, Some(&counters));
        let found = [Gauge::IoReads, Gauge::IoWrites, Gauge::IoBusy].map(|gauge| status.gauges.get(gauge));
        assert_eq!(found, [Some(600.0), Some(600.0), Some(0.25)]);
        assert_eq!(Info::parse("run_id:a\n").status(SECOND_NS, None).0.gauges.get(Gauge::IoBusy), None);
    }

    #[test]
    fn a_restart_or_a_reset_of_statistics_gives_no_difference() {
        let (_, counters) = Info::parse("run_id:a\nkeyspace_hits:100\n").status(0, None);
        for later in ["run_id:b\nkeyspace_hits:130\n", "run_id:a\nkeyspace_hits:3\n"] {
            let (status, _) = Info::parse(later).status(SECOND_NS, Some(&counters));
            assert_eq!(status.gauges.get(Gauge::Hits), None, "{later}");
        }
    }

    #[test]
    fn states_are_read_and_a_duration_that_never_occurred_is_none() {
        let (status, _) = Info::parse(REDIS_7).status(0, None);
        let gauges = [Gauge::Saving, Gauge::SavedOk, Gauge::SaveTook, Gauge::Aof, Gauge::Replicas];
        let expected = [Some(0.0), Some(1.0), None, Some(0.0), Some(0.0)];
        assert_eq!(gauges.map(|gauge| status.gauges.get(gauge)), expected);
        assert_eq!((status.policy.as_deref(), status.master), (Some("noeviction"), None));
    }

    #[test]
    fn the_furthest_replica_and_the_master_are_reported() {
        let text = "master_repl_offset:1000\nconnected_slaves:4\n\
                    slave0:ip=10.0.0.1,port=1,state=online,offset=990,lag=0\n\
                    slave2:ip=10.0.0.3,port=1,state=wait_bgsave,offset=0,lag=0\n\
                    slave3:ip=10.0.0.4,port=1,state=online,offset=0,lag=0\n\
                    slave1:ip=10.0.0.2,port=1,state=online,offset=400,lag=1\n";
        let (primary, _) = Info::parse(text).status(0, None);
        assert_eq!(primary.gauges.get(Gauge::ReplicaLag), Some(600.0));
        assert_eq!(primary.furthest_replica.as_deref(), Some("10.0.0.2:1"));
        let seen = primary.replicas.iter().map(|it| (it.address.as_str(), it.behind, it.ack_s));
        assert!(seen.eq([("10.0.0.1:1", 10, Some(0)), ("10.0.0.2:1", 600, Some(1))]), "{primary:?}");
        let text = "role:slave\nmaster_host:10.0.0.9\nmaster_port:6379\nmaster_link_status:down\n\
                    master_last_io_seconds_ago:-1\n";
        let (replica, _) = Info::parse(text).status(0, None);
        let link = [Gauge::LinkUp, Gauge::HeardMaster].map(|gauge| replica.gauges.get(gauge));
        assert_eq!((replica.master.as_deref(), link), (Some("10.0.0.9:6379"), [Some(0.0), None]));
    }
}
