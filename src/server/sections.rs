//! Reads the parts of INFO that describe a state: no differences, those are [`Info::status`]'s.

use super::{
    Info,
    figures::{Memory, Persistence, Replication},
};

impl Info<'_> {
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.number::<u8>(name).map(|flag| flag != 0)
    }

    fn is_ok(&self, name: &str) -> Option<bool> {
        self.text(name).map(|state| state == "ok")
    }

    pub(super) fn memory(&self) -> Memory {
        Memory {
            peak: self.number("used_memory_peak"),
            fragmentation: self.number("mem_fragmentation_ratio"),
            policy: self.text("maxmemory_policy").map(str::to_owned),
        }
    }

    pub(super) fn persistence(&self) -> Persistence {
        Persistence {
            saving: self.flag("rdb_bgsave_in_progress"),
            last_save_ok: self.is_ok("rdb_last_bgsave_status"),
            // -1 is none so far.
            last_save_s: self.number("rdb_last_bgsave_time_sec"),
            unsaved_changes: self.number("rdb_changes_since_last_save"),
            aof: self.flag("aof_enabled"),
            aof_rewriting: self.flag("aof_rewrite_in_progress"),
            aof_ok: self.is_ok("aof_last_write_status"),
            last_fork_us: self.number("latest_fork_usec"),
        }
    }

    pub(super) fn replication(&self) -> Replication {
        let own: Option<u64> = self.number("master_repl_offset");
        let offsets = (0..).map_while(|n| self.text(&format!("slave{n}")));
        let offset =
            |line: &str| line.split(',').find_map(|part| part.strip_prefix("offset="))?.parse::<u64>().ok();
        let furthest = offsets.filter_map(offset).min();
        Replication {
            replicas: self.number("connected_slaves"),
            lag_bytes: own.zip(furthest).map(|(own, furthest)| own.saturating_sub(furthest)),
            master: self.master(),
            link_up: self.text("master_link_status").map(|state| state == "up"),
            // -1 while the link is down.
            heard_s: self.number("master_last_io_seconds_ago"),
        }
    }

    /// Of a replica: its master, `host:port`.
    pub(super) fn master(&self) -> Option<String> {
        Some(format!("{}:{}", self.text("master_host")?, self.text("master_port")?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_and_what_never_happened_is_none() {
        let info = Info::parse(include_str!("../../tests/fixtures/info-redis-7.0.15.txt"));
        let persistence = info.persistence();
        assert_eq!((persistence.saving, persistence.last_save_ok), (Some(false), Some(true)));
        assert_eq!((persistence.last_save_s, persistence.aof), (None, Some(false)));
        assert_eq!(info.memory().policy.as_deref(), Some("noeviction"));
        assert_eq!(info.replication(), Replication { replicas: Some(0), ..Replication::default() });
    }

    #[test]
    fn the_furthest_replica_and_the_master_are_told() {
        let text = "master_repl_offset:1000\nconnected_slaves:2\n\
                    slave0:ip=10.0.0.1,port=1,state=online,offset=990,lag=0\n\
                    slave1:ip=10.0.0.2,port=1,state=online,offset=400,lag=1\n";
        assert_eq!(Info::parse(text).replication().lag_bytes, Some(600));
        let text = "role:slave\nmaster_host:10.0.0.9\nmaster_port:6379\nmaster_link_status:down\n\
                    master_last_io_seconds_ago:-1\n";
        let replica = Info::parse(text).replication();
        assert_eq!((replica.master.as_deref(), replica.link_up), (Some("10.0.0.9:6379"), Some(false)));
        assert_eq!(replica.heard_s, None);
    }
}
