//! The table of all gauges.

use super::{
    GaugeAlarm, GaugeGroup, GaugeKind,
    GaugeSource::{Host, Info, InfoOrStat, InfoWord, Own, Stat},
    GaugeSpec, GaugeUnit,
    GaugeUnit::{Ago, Bytes, Count, Flag, Limit, Micros, Rate, Ratio, Seconds, Times},
};
use crate::units;

macro_rules! gauges {
    ($($id:ident $name:literal $group:ident $label:literal $unit:expr, $kind:ident $source:expr, $top:literal $alarm:ident
        $help:literal;)*) => {
        /// A gauge (a figure of a server or its host), as an index of the table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Gauge {
            $(#[doc = $help] $id,)*
        }

        /// All gauges, in the order in which panels show them.
        pub static GAUGES: [Gauge; ABOUT.len()] = [$(Gauge::$id,)*];

        const ABOUT: &[GaugeSpec] = &[$(GaugeSpec {
            name: $name,
            group: GaugeGroup::$group,
            label: $label,
            unit: $unit,
            kind: GaugeKind::$kind,
            source: $source,
            top: $top,
            alarm: GaugeAlarm::$alarm,
            help: $help,
        },)*];
    };
}

const YES_NO: GaugeUnit = Flag("no", "yes");
const UP_DOWN: GaugeUnit = Flag("down", "up");

gauges! {
    Cpu "cpu" Work "cpu" Ratio, Share Own, 1.0 Never
        "Share of one core that the server's main thread uses, or that its whole process uses if the server does not report threads.";
    Active "active" Work "active" Ratio, Share Info("used_active_time_main_thread"), 1.0 Never
        "Share of the time in which the main thread was at work (Valkey 9.1).";
    CpuUser "cpu_user" Work "user" Ratio, Share Stat("rusage_user"), 1.0 Never
        "Share of one core that memcached's threads used in user mode.";
    CpuSystem "cpu_system" Work "system" Ratio, Share Stat("rusage_system"), 1.0 Never
        "Share of one core that memcached's threads used in system mode.";
    Threads "threads" Work "threads" Count, Level Stat("threads"), 0.0 Never
        "Threads of memcached that serve clients.";
    OpsPerS "ops_per_s" Work "ops" Rate, Level Info("instantaneous_ops_per_sec"), 0.0 Never
        "Commands per second as the server counts them.";
    Commands "commands" Work "" Count, Level Info("total_commands_processed"), 0.0 Never
        "Commands since the server was started.";
    CommandsRun "commands_run" Work "" Count, Added Info("total_commands_processed"), 0.0 Never
        "Commands since the previous poll.";
    ErrorReplies "error_replies" Work "errors" Count, Added Info("total_error_replies"), 0.0 Never
        "Error replies since the previous poll.";
    LoopCycles "eventloop_cycles" Work "" Count, Added Info("eventloop_cycles"), 0.0 Never
        "Cycles of the event loop since the previous poll.";
    LoopTime "eventloop_us" Work "" Micros, Added Info("eventloop_duration_sum"), 0.0 Never
        "Microseconds in the event loop since the previous poll, without waiting for requests.";
    LoopCommands "eventloop_commands_us" Work "" Micros, Added Info("eventloop_duration_cmd_sum"), 0.0 Never
        "Microseconds that the event loop spent on commands since the previous poll.";
    LoopMean "eventloop_mean_us" Work "event loop" Micros, Level Own, 0.0 Never
        "Mean length of a cycle of the event loop since the previous poll, in microseconds.";
    CommandsPerCycle "eventloop_commands" Work "commands a cycle" Count, Level Own, 0.0 Never
        "Mean commands in a cycle of the event loop since the previous poll.";
    IoThreads "io_threads_active" Work "i/o threads" YES_NO, Level Info("io_threads_active"), 1.0 Never
        "Whether I/O threads currently help the main thread.";
    IoReads "io_threads_reads" Work "i/o thread reads" Count, Added Info("io_threaded_reads_processed"), 0.0 Never
        "Reads by I/O threads since the previous poll.";
    IoWrites "io_threads_writes" Work "i/o thread writes" Count, Added Info("io_threaded_writes_processed"), 0.0 Never
        "Writes by I/O threads since the previous poll.";
    IoBusy "io_threads_busy" Work "i/o threads at work" Ratio, Share Own, 0.0 Never
        "Share of one core that all I/O threads need together, without their busy waiting (Valkey 9.1).";
    BytesIn "traffic_input" Work "in" Bytes, Added InfoOrStat("total_net_input_bytes", "bytes_read"), 0.0 Never
        "Bytes that the server read from clients since the previous poll.";
    BytesOut "traffic_output" Work "out" Bytes, Added InfoOrStat("total_net_output_bytes", "bytes_written"), 0.0 Never
        "Bytes that the server wrote to clients since the previous poll.";
    Uptime "uptime_s" Work "up" Seconds, Level InfoOrStat("uptime_in_seconds", "uptime"), 0.0 Never
        "Seconds since the server was started.";
    UsedMemory "used_memory" Memory "used" Bytes, Level InfoOrStat("used_memory", "bytes"), 0.0 Never
        "Bytes that the server's allocator has allocated.";
    MaxMemory "maxmemory" Memory "limit" Limit, Level InfoOrStat("maxmemory", "limit_maxbytes"), 0.0 Never
        "The server's memory limit in bytes; 0 means no limit.";
    ResidentMemory "used_memory_rss" Memory "rss" Bytes, Level Info("used_memory_rss"), 0.0 Never
        "Resident bytes of the server, as the operating system counts them.";
    PeakMemory "memory_peak" Memory "peak" Bytes, Level Info("used_memory_peak"), 0.0 Never
        "The most bytes that the server's allocator has had allocated at one time.";
    Fragmentation "memory_fragmentation" Memory "fragmentation" Times, Level Info("mem_fragmentation_ratio"), 1.0 Never
        "Resident bytes divided by the allocated bytes.";
    AllocatorFragmentation "memory_allocator_fragmentation" Memory "allocator" Times, Level Info("allocator_frag_ratio"), 1.0 Never
        "Bytes in the allocator's pages divided by the allocated bytes.";
    Defrag "memory_defrag_running" Memory "defrag" Count, Level Info("active_defrag_running"), 0.0 Never
        "Percentage of the main thread's time that active defragmentation may use now; 0 if it is not running.";
    LazyFree "memory_lazyfree_pending" Memory "to free" Count, Level Info("lazyfree_pending_objects"), 0.0 Never
        "Objects that wait to be freed in the background.";
    Clients "clients" Clients "connected" Count, Level InfoOrStat("connected_clients", "curr_connections"), 0.0 Never
        "Connections, including those of redyno.";
    BlockedClients "blocked_clients" Clients "blocked" Count, Level Info("blocked_clients"), 0.0 Some
        "Clients that wait in a blocking command.";
    PausedClients "connections_paused" Clients "paused" YES_NO, Level InfoWord("paused_reason", "client_pause"), 1.0 Some
        "Whether CLIENT PAUSE delays the commands of clients (Valkey 8.1).";
    RejectedClients "connections_rejected" Clients "rejected" Count, Added InfoOrStat("rejected_connections", "rejected_connections"), 0.0 Some
        "Connections rejected at maxclients since the previous poll.";
    NewConnections "connections_received" Clients "new" Count, Added InfoOrStat("total_connections_received", "total_connections"), 0.0 Never
        "Connections accepted since the previous poll.";
    OutputLimit "connections_output_limit" Clients "closed at output limit" Count, Added Info("client_output_buffer_limit_disconnections"), 0.0 Some
        "Connections closed since the previous poll because their output buffer reached its limit.";
    EvictedClients "connections_evicted" Clients "evicted clients" Count, Added Info("evicted_clients"), 0.0 Some
        "Connections closed since the previous poll because clients used too much memory (maxmemory-clients).";
    ClientMemory "connections_memory" Clients "memory" Bytes, Level Info("mem_clients_normal"), 0.0 Never
        "Bytes that connections use, without those of replicas.";
    MaxClients "connections_max" Clients "max" Count, Level InfoOrStat("maxclients", "max_connections"), 0.0 Never
        "The most connections that the server accepts.";
    ConnYields "connections_yields" Clients "yields" Count, Added Stat("conn_yields"), 0.0 Never
        "How often a connection with more requests yielded to other connections, since the previous poll (memcached's -R).";
    ListenDisabled "listen_disabled" Clients "accept stops" Count, Added Stat("listen_disabled_num"), 0.0 Some
        "How often memcached stopped accepting connections because of its connection limit, since the previous poll.";
    ListenDisabledTime "listen_disabled_us" Clients "not accepting" Micros, Added Stat("time_in_listen_disabled_us"), 0.0 Some
        "Microseconds in which memcached accepted no connections, since the previous poll.";
    InputBuffer "connections_input_buffer" Clients "in buffer" Bytes,
        Level Info("client_recent_max_input_buffer"), 0.0 Never
        "The largest recent input buffer of a client, in bytes.";
    OutputBuffer "connections_output_buffer" Clients "out buffer" Bytes,
        Level Info("client_recent_max_output_buffer"), 0.0 Never
        "The largest recent output buffer of a client, in bytes.";
    Keys "keys" Keys "held" Count, Level Own, 0.0 Never
        "Keys in all databases.";
    Hits "hits" Keys "" Count, Added InfoOrStat("keyspace_hits", "get_hits"), 0.0 Never
        "Lookups that found their key since the previous poll.";
    Misses "misses" Keys "" Count, Added InfoOrStat("keyspace_misses", "get_misses"), 0.0 Never
        "Lookups that did not find their key since the previous poll.";
    HitRate "hit_rate" Keys "hits" Ratio, Level Own, 1.0 Never
        "Share of hits among all lookups since the previous poll.";
    EvictedKeys "evicted_keys" Keys "evicted" Count, Added InfoOrStat("evicted_keys", "evictions"), 0.0 Some
        "Keys evicted since the previous poll.";
    EvictedUnfetched "evicted_unfetched" Keys "never read" Count, Added Stat("evicted_unfetched"), 0.0 Never
        "Keys evicted since the previous poll without a single read (memcached).";
    ExpiredKeys "expired_keys" Keys "expired" Count, Added Info("expired_keys"), 0.0 Never
        "Keys expired since the previous poll.";
    ExpireCpu "expire_cpu" Keys "expiring" Ratio, Share Own, 0.0 Never
        "Share of the time in which the main thread searched for expired keys.";
    ExpireCapped "expire_time_cap_reached" Keys "expire limit reached" Count, Added Info("expired_time_cap_reached_count"), 0.0 Some
        "Searches for expired keys that ended at their time limit, since the previous poll.";
    ExpiredStale "expired_stale_share" Keys "expired, not removed" Ratio, Level Own, 0.0 Never
        "Estimated share of keys with a TTL that have expired and are still in memory.";
    Saving "persistence_saving" Saving "" YES_NO, Level Info("rdb_bgsave_in_progress"), 1.0 Never
        "Whether a child process is writing a snapshot.";
    Loading "persistence_loading" Saving "" YES_NO, Level Info("loading"), 1.0 Some
        "Whether the server is loading its data from disk.";
    CopyOnWrite "persistence_copy_on_write" Saving "copied" Bytes, Level Info("current_cow_size"), 0.0 Never
        "Bytes copied so far, because clients changed data while a child process saves.";
    SavedOk "persistence_last_save_ok" Saving "" YES_NO, Level InfoWord("rdb_last_bgsave_status", "ok"), 1.0 Zero
        "Whether the last snapshot succeeded.";
    SaveTook "persistence_last_save_s" Saving "" Seconds, Level Info("rdb_last_bgsave_time_sec"), 0.0 Never
        "Seconds that the last snapshot took.";
    Aof "persistence_aof" Saving "" YES_NO, Level Info("aof_enabled"), 1.0 Never
        "Whether an append-only file is kept.";
    Rewriting "persistence_aof_rewriting" Saving "" YES_NO, Level Info("aof_rewrite_in_progress"), 1.0 Never
        "Whether a child process is rewriting the append-only file.";
    AofOk "persistence_aof_ok" Saving "" YES_NO, Level InfoWord("aof_last_write_status", "ok"), 1.0 Zero
        "Whether the last write to the append-only file succeeded.";
    AofDelayed "persistence_aof_delayed" Saving "delayed fsync" Count, Added Info("aof_delayed_fsync"), 0.0 Some
        "Writes to the append-only file that waited for an fsync, since the previous poll.";
    AofPending "persistence_aof_pending" Saving "fsync pending" Count, Level Info("aof_pending_bio_fsync"), 0.0 Never
        "Calls of fsync that wait in the background.";
    Unsaved "persistence_unsaved_changes" Saving "unsaved" Count, Level Info("rdb_changes_since_last_save"), 0.0 Never
        "Writes since the last snapshot.";
    LastFork "persistence_last_fork_us" Saving "last fork" Micros, Level Info("latest_fork_usec"), 0.0 Never
        "Microseconds for which the last fork blocked the server.";
    LinkUp "replication_link_up" Replicas "link" UP_DOWN, Level InfoWord("master_link_status", "up"), 1.0 Zero
        "Whether the link of this replica to its master is up.";
    HeardMaster "replication_heard_s" Replicas "heard" Ago, Level Info("master_last_io_seconds_ago"), 0.0 Never
        "Seconds since this replica last received data from its master.";
    Replicas "replication_replicas" Replicas "replicas" Count, Level Info("connected_slaves"), 0.0 Never
        "Replicas connected to the server.";
    ReplicaLag "replication_lag_bytes" Replicas "behind" Bytes, Level Own, 0.0 Never
        "The most bytes by which a replica is behind.";
    Behind "replication_behind_bytes" Replicas "behind primary" Bytes, Level Own, 0.0 Never
        "Bytes by which this replica is behind, as its primary reports.";
    LastAck "replication_ack_s" Replicas "last ack" Ago, Level Own, 0.0 Never
        "Whole seconds since the last acknowledgement of this replica, as its primary reports.";
    MeasuredLag "replication_lag_us" Replicas "lag" Micros, Level Own, 0.0 Never
        "Longest delay until a write to the primary was readable from this replica, since the previous poll, in microseconds (--probe-lag).";
    Recall "recall" Work "recall" Ratio, Level Own, 1.0 Never
        "Mean share of the exact nearest vectors that redyno's own searches found since the previous poll.";
    Slots "cluster_slots" Replicas "slots" Count, Level Own, 0.0 Never
        "Slots of the cluster that the node owns.";
    HostCpu "host_cpu" Host "cpu" Ratio, Level Host, 1.0 Never
        "Share of all cores of redyno's machine that is in use.";
    HostBusiest "host_cpu_busiest" Host "busiest core" Ratio, Level Host, 1.0 Never
        "Share of the busiest core that is in use.";
    HostSteal "host_cpu_steal" Host "steal" Ratio, Level Host, 1.0 Some
        "Share of the cores' time that the hypervisor gave to other machines.";
    HostInterrupts "host_cpu_interrupts" Host "interrupts" Ratio, Level Host, 1.0 Never
        "Largest share of a core's time that interrupts take.";
    HostRunnable "host_runnable" Host "runnable" Count, Level Host, 0.0 Never
        "Threads that run or wait for a core.";
    HostThrottled "host_throttled" Host "throttled" Ratio, Level Host, 1.0 Some
        "Share of the time in which the CPU limit of a cgroup stopped redyno.";
    HostCpuPressure "host_pressure_cpu" Host "waiting for a core" Ratio, Level Host, 1.0 Never
        "Share of the time in which some thread waited for a core (PSI).";
    HostDiskPressure "host_pressure_io" Host "waiting for a disk" Ratio, Level Host, 1.0 Never
        "Share of the time in which some thread waited for a disk (PSI).";
    HostMemoryPressure "host_pressure_memory" Host "waiting for memory" Ratio, Level Host, 1.0 Never
        "Share of the time in which some thread waited for memory (PSI).";
    HostFreeMemory "host_memory_available" Host "available" Bytes, Level Host, 0.0 Never
        "Bytes of memory that programs can still get.";
    HostSwapUsed "host_swap_used" Host "swap" Bytes, Level Host, 0.0 Never
        "Bytes in swap.";
    HostSwapIn "host_swap_in" Host "swapped in" Bytes, Level Host, 0.0 Some
        "Bytes read from swap per second.";
    HostSwapOut "host_swap_out" Host "swapped out" Bytes, Level Host, 0.0 Some
        "Bytes written to swap per second.";
    HugePages "host_huge_pages" Host "thp" YES_NO, Level Host, 1.0 Never
        "Whether transparent huge pages are always on.";
    HostNetIn "host_net_in" Host "net in" Bytes, Level Host, 0.0 Never
        "Bytes received per second by all network interfaces except loopback.";
    HostNetOut "host_net_out" Host "net out" Bytes, Level Host, 0.0 Never
        "Bytes sent per second by all network interfaces except loopback.";
    HostNetShare "host_net_share" Host "network" Ratio, Level Host, 1.0 Never
        "Use of the busiest network interface in its busier direction, as a share of its speed, if the speed is known.";
    HostDrops "host_net_drops" Host "drops" Rate, Level Host, 0.0 Some
        "Packets that network interfaces dropped, per second.";
    HostRetransmits "host_retransmits" Host "retransmits" Rate, Level Host, 0.0 Never
        "TCP segments retransmitted per second.";
    HostListenOverflows "host_listen_overflows" Host "accept queue overflows" Rate, Level Host, 0.0 Some
        "Connections refused per second because a program's accept queue was full.";
    HostDisk "host_disk_busy" Host "disk" Ratio, Level Host, 1.0 Never
        "Share of the time in which the busiest disk had requests.";
    HostDiskWait "host_disk_wait_us" Host "disk request" Micros, Level Host, 0.0 Never
        "Mean microseconds of a request to the busiest disk.";
    ServerCpu "server_cpu" Process "cpu" Ratio, Level Host, 1.0 Never
        "Share of one core that the busiest thread of the server uses, if the server runs on redyno's machine.";
    ServerIoCpu "server_io_threads_cpu" Process "i/o threads" Ratio, Level Host, 1.0 Never
        "Mean share of a core that an I/O thread of the server uses, if the server runs on redyno's machine.";
    ServerRunDelay "server_run_delay" Process "waits for a core" Ratio, Level Host, 1.0 Never
        "Share of the time in which the server's busiest thread was ready to run, but no core was free.";
    ServerPreempted "server_preempted" Process "preempted" Rate, Level Host, 0.0 Never
        "Times per second that another thread took the core from the server.";
    ServerFaults "server_major_faults" Process "major faults" Rate, Level Host, 0.0 Some
        "Pages per second that the server had to read from a disk.";
    ServerChildCpu "server_child_cpu" Process "child cpu" Ratio, Level Host, 1.0 Never
        "Share of one core that the server's forked child uses.";
    ServerThrottled "server_throttled" Process "throttled" Ratio, Level Host, 1.0 Some
        "Share of the time in which the CPU limit of a cgroup stopped the server.";
    AcceptQueue "server_accept_queue" Process "accept queue" Count, Level Host, 0.0 Never
        "Connections that the server has not accepted yet.";
    AcceptLimit "server_accept_limit" Process "accept limit" Count, Level Host, 0.0 Never
        "The most connections that the accept queue holds.";
    Unread "server_unread" Process "unread" Bytes, Level Host, 0.0 Never
        "Bytes of requests in the server's sockets that the server has not read yet.";
    UnreadLargest "server_unread_largest" Process "" Bytes, Level Host, 0.0 Never
        "The most unread bytes of requests in one connection of the server.";
    UnreadConnections "server_unread_connections" Process "unread connections" Count, Level Host, 0.0 Never
        "Connections whose requests the server has not read yet.";
    Unsent "server_unsent" Process "unacknowledged" Bytes, Level Host, 0.0 Never
        "Bytes of replies in the server's sockets that clients have not acknowledged.";
    WireRtt "server_tcp_rtt_us" Process "tcp rtt" Micros, Level Host, 0.0 Never
        "Median of the smoothed TCP round trips of connections with requests in the last 2 s, with delays of acknowledgements.";
    WireRetransmits "server_tcp_retransmits" Process "sent again" Rate, Level Host, 0.0 Some
        "TCP segments retransmitted per second on the server's connections.";
}

impl GaugeGroup {
    /// Returns the gauges that the panel shows, without gauges that are only a part of another gauge.
    pub fn gauges(self) -> impl Iterator<Item = Gauge> {
        let is_shown = move |about: &GaugeSpec| about.group == self && !about.label.is_empty();
        GAUGES.into_iter().filter(move |gauge| is_shown(gauge.about()))
    }
}

impl Gauge {
    /// Returns the gauge's row of the table.
    pub fn about(self) -> &'static GaugeSpec {
        &ABOUT[self as usize]
    }

    /// Returns the gauge's name for places on screen other than its panel.
    pub fn alone(self) -> &'static str {
        match self {
            Self::UsedMemory | Self::Clients | Self::Keys => self.about().group.name(),
            _ => self.about().label,
        }
    }

    /// Returns `value` with its unit: `13.6 MiB`, `97 %`, `none`.
    pub fn written(self, value: f64) -> String {
        // Whole values fit into 64 bits.
        let whole = value as u64;
        match self.about().unit {
            Count => units::count(value),
            Rate => units::rate(value),
            Limit if whole == 0 => "none".to_owned(),
            Bytes | Limit => units::bytes(whole),
            Ratio => units::percent(value),
            Times => format!("{value:.2}"),
            Seconds => units::elapsed(whole.saturating_mul(1_000_000_000)),
            Ago => format!("{whole} s ago"),
            Micros => units::latency(whole.saturating_mul(1000)),
            Flag(no, yes) => if whole == 0 { no } else { yes }.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_every_gauge_has_a_help_text() {
        let names: BTreeSet<_> = GAUGES.iter().map(|gauge| gauge.about().name).collect();
        assert_eq!(names.len(), GAUGES.len());
        for about in ABOUT {
            let is_plain = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(about.name.chars().all(is_plain) && about.help.ends_with('.'), "{about:?}");
        }
    }

    #[test]
    fn a_value_is_written_with_its_unit() {
        for (gauge, value, expected) in [
            (Gauge::UsedMemory, 14_300_000.0, "13.6 MiB"),
            (Gauge::MaxMemory, 0.0, "none"),
            (Gauge::Cpu, 0.97, "97 %"),
            (Gauge::LinkUp, 0.0, "down"),
            (Gauge::LastFork, 1200.0, "1.20 ms"),
        ] {
            assert_eq!(gauge.written(value), expected);
        }
    }
}
