//! INFO, with the field names of Redis.

use std::fmt::{self, Write};

use super::{Call, Command, Flags, Outcome};
use crate::clock::SECOND_NS;
use crate::demo::identity;
use crate::demo::state::{CpuTime, resident_bytes, thread_cpu, total_memory_bytes};
use crate::demo::store::Database;

pub(super) const COMMANDS: &[Command] = &[Command::new("info", -1, Flags::NONE, info)];

type Section = fn(&Call<'_>, &mut String) -> fmt::Result;

/// Name, title, whether it is among the default sections, and what writes it.
const SECTIONS: &[(&str, &str, bool, Section)] = &[
    ("server", "Server", true, server),
    ("clients", "Clients", true, clients),
    ("memory", "Memory", true, memory),
    ("persistence", "Persistence", true, persistence),
    ("stats", "Stats", true, stats),
    ("replication", "Replication", true, replication),
    ("cpu", "CPU", true, cpu),
    ("modules", "Modules", true, |_, _| Ok(())),
    ("commandstats", "Commandstats", false, commandstats),
    ("errorstats", "Errorstats", true, errorstats),
    ("cluster", "Cluster", true, |_, text| line(text, "cluster_enabled", 0)),
    ("keyspace", "Keyspace", true, keyspace),
];

fn info(call: &mut Call<'_>) -> Outcome {
    let asked: Vec<Vec<u8>> = call.arguments.from(1).map(<[u8]>::to_ascii_lowercase).collect();
    let is_asked = |name: &str| asked.iter().any(|word| word == name.as_bytes());
    let all = is_asked("all") || is_asked("everything");
    let default = asked.is_empty() || is_asked("default");
    let mut text = String::new();
    for (name, title, in_default, write) in SECTIONS {
        if all || is_asked(name) || (default && *in_default) {
            let gap = if text.is_empty() { "" } else { "\r\n" };
            // Writing to a String does not fail.
            let _ = write!(text, "{gap}# {title}\r\n");
            let _ = write(call, &mut text);
        }
    }
    call.reply.verbatim(&text);
    Ok(())
}

fn line(text: &mut String, field: &str, value: impl fmt::Display) -> fmt::Result {
    write!(text, "{field}:{value}\r\n")
}

fn server(call: &Call<'_>, text: &mut String) -> fmt::Result {
    let uptime_s = call.state.now_ns / SECOND_NS;
    line(text, "redis_version", identity::REDIS_VERSION)?;
    line(text, "server_name", identity::SERVER_NAME)?;
    line(text, "redyno_version", identity::VERSION)?;
    line(text, "redis_mode", "standalone")?;
    line(text, "os", format_args!("{} {}", std::env::consts::OS, std::env::consts::ARCH))?;
    line(text, "arch_bits", usize::BITS)?;
    line(text, "process_id", std::process::id())?;
    line(text, "run_id", &call.state.run_id)?;
    line(text, "tcp_port", call.state.config.value("port"))?;
    line(text, "server_time_usec", call.state.unix_us())?;
    line(text, "uptime_in_seconds", uptime_s)?;
    line(text, "uptime_in_days", uptime_s / 86_400)?;
    line(text, "hz", call.state.config.hz)?;
    line(text, "configured_hz", call.state.config.hz)?;
    line(text, "io_threads_active", 0)
}

fn clients(call: &Call<'_>, text: &mut String) -> fmt::Result {
    line(text, "connected_clients", call.state.clients().count())?;
    line(text, "cluster_connections", 0)?;
    line(text, "maxclients", call.state.config.maxclients)?;
    line(text, "blocked_clients", 0)?;
    line(text, "tracking_clients", 0)
}

/// `used_memory` is the data alone, as the built-in server counts it; it may live in the load's own process.
fn memory(call: &Call<'_>, text: &mut String) -> fmt::Result {
    let used = call.state.used_bytes();
    let peak = call.state.peak_bytes.max(used);
    let maxmemory = call.state.config.maxmemory;
    line(text, "used_memory", used)?;
    line(text, "used_memory_human", human(used as u64))?;
    if let Some(resident) = resident_bytes() {
        line(text, "used_memory_rss", resident)?;
        line(text, "used_memory_rss_human", human(resident))?;
    }
    line(text, "used_memory_peak", peak)?;
    line(text, "used_memory_peak_human", human(peak as u64))?;
    line(text, "used_memory_dataset", used)?;
    if let Some(total) = total_memory_bytes() {
        line(text, "total_system_memory", total)?;
        line(text, "total_system_memory_human", human(total))?;
    }
    line(text, "maxmemory", maxmemory)?;
    line(text, "maxmemory_human", human(maxmemory))?;
    line(text, "maxmemory_policy", call.state.config.value("maxmemory-policy"))?;
    line(text, "mem_allocator", "libc")?;
    line(text, "active_defrag_running", 0)?;
    line(text, "lazyfree_pending_objects", 0)
}

/// Bytes as INFO's `_human` fields write them.
fn human(bytes: u64) -> String {
    let value = bytes as f64;
    match bytes {
        0..1024 => format!("{bytes}B"),
        1024..0x10_0000 => format!("{:.2}K", value / 1024.0),
        0x10_0000..0x4000_0000 => format!("{:.2}M", value / (1 << 20) as f64),
        _ => format!("{:.2}G", value / (1 << 30) as f64),
    }
}

/// There is no persistence: nothing loads, nothing is saved.
fn persistence(call: &Call<'_>, text: &mut String) -> fmt::Result {
    let sum = |of: fn(&Database) -> u64| call.state.databases.iter().map(of).sum::<u64>();
    line(text, "loading", 0)?;
    line(text, "async_loading", 0)?;
    line(text, "rdb_changes_since_last_save", sum(|database| database.changes))?;
    line(text, "rdb_bgsave_in_progress", 0)?;
    line(text, "rdb_last_bgsave_status", "ok")?;
    line(text, "aof_enabled", 0)?;
    line(text, "aof_rewrite_in_progress", 0)?;
    line(text, "aof_last_write_status", "ok")
}

fn stats(call: &Call<'_>, text: &mut String) -> fmt::Result {
    let stats = &call.state.stats;
    let sum = |of: fn(&Database) -> u64| call.state.databases.iter().map(of).sum::<u64>();
    let [ops, bytes_in, bytes_out] = stats.rates();
    line(text, "total_connections_received", stats.net.connections)?;
    line(text, "total_commands_processed", stats.commands_processed)?;
    line(text, "instantaneous_ops_per_sec", ops as u64)?;
    line(text, "total_net_input_bytes", stats.net.bytes_in)?;
    line(text, "total_net_output_bytes", stats.net.bytes_out)?;
    line(text, "instantaneous_input_kbps", format_args!("{:.2}", bytes_in / 1024.0))?;
    line(text, "instantaneous_output_kbps", format_args!("{:.2}", bytes_out / 1024.0))?;
    line(text, "rejected_connections", stats.net.rejected_connections)?;
    line(text, "expired_keys", sum(|database| database.expired))?;
    line(text, "evicted_keys", stats.evicted)?;
    line(text, "keyspace_hits", sum(|database| database.hits))?;
    line(text, "keyspace_misses", sum(|database| database.misses))?;
    line(text, "latest_fork_usec", 0)?;
    line(text, "total_forks", 0)?;
    line(text, "total_error_replies", stats.errors.values().sum::<u64>())?;
    line(text, "total_reads_processed", stats.net.reads)?;
    line(text, "total_writes_processed", stats.net.writes)
}

fn replication(_: &Call<'_>, text: &mut String) -> fmt::Result {
    line(text, "role", "master")?;
    line(text, "connected_slaves", 0)?;
    line(text, "master_repl_offset", 0)
}

/// The server is one thread, which may live in the load's process: its own time is given, not the process's.
fn cpu(_: &Call<'_>, text: &mut String) -> fmt::Result {
    let CpuTime { system, user } = thread_cpu();
    for suffix in ["", "_main_thread"] {
        line(text, &format!("used_cpu_sys{suffix}"), format_args!("{:.6}", system.as_secs_f64()))?;
        line(text, &format!("used_cpu_user{suffix}"), format_args!("{:.6}", user.as_secs_f64()))?;
    }
    line(text, "used_cpu_sys_children", "0.000000")?;
    line(text, "used_cpu_user_children", "0.000000")
}

fn commandstats(call: &Call<'_>, text: &mut String) -> fmt::Result {
    for (id, stats) in call.state.stats.commands.iter().enumerate() {
        if stats.calls + stats.rejected + stats.failed == 0 {
            continue;
        }
        let us = stats.ns as f64 / 1000.0;
        let per_call = if stats.calls > 0 { us / stats.calls as f64 } else { 0.0 };
        write!(
            text,
            "cmdstat_{}:calls={},usec={},usec_per_call={per_call:.2},rejected_calls={},failed_calls={}\r\n",
            call.table.full_name(id),
            stats.calls,
            us as u64,
            stats.rejected,
            stats.failed
        )?;
    }
    Ok(())
}

fn errorstats(call: &Call<'_>, text: &mut String) -> fmt::Result {
    call.state
        .stats
        .errors
        .iter()
        .try_for_each(|(prefix, n)| write!(text, "errorstat_{prefix}:count={n}\r\n"))
}

fn keyspace(call: &Call<'_>, text: &mut String) -> fmt::Result {
    for (index, database) in
        call.state.databases.iter().enumerate().filter(|(_, database)| database.len() > 0)
    {
        write!(
            text,
            "db{index}:keys={},expires={},avg_ttl={}\r\n",
            database.len(),
            database.volatile_len(),
            database.mean_ttl_ms()
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::desk::Desk;

    #[test]
    fn command_statistics_are_exact() {
        let mut desk = Desk::new();
        desk.ok("CONFIG RESETSTAT");
        for _ in 0..7 {
            desk.ok("SET a b");
        }
        for request in
            ["GET", "GET a b", "LPUSH a b", "LPUSH l a", "nosuch", "CONFIG GET hz", "DEBUG SLEEP 0.002"]
        {
            desk.ask(request);
        }
        let info = desk.ask("INFO commandstats");
        for (name, counts) in [
            ("set", "calls=7,"),
            ("get", "calls=0,usec=0,usec_per_call=0.00,rejected_calls=2,failed_calls=0"),
            ("lpush", "calls=2,"),
            ("config|get", "calls=1,"),
            ("config|resetstat", "calls=1,"),
        ] {
            assert!(info.contains(&format!("cmdstat_{name}:{counts}")), "{name}: {info}");
        }
        assert!(
            info.lines().any(|line| line.starts_with("cmdstat_lpush") && line.ends_with("failed_calls=1"))
        );
        let sleep =
            info.lines().find_map(|line| line.strip_prefix("cmdstat_debug|sleep:calls=1,usec=")).unwrap();
        assert!(sleep.split(',').next().unwrap().parse::<u64>().unwrap() >= 2000, "{sleep}");
        let errors = desk.ask("INFO errorstats");
        assert!(
            errors.contains("errorstat_ERR:count=3\n") && errors.contains("errorstat_WRONGTYPE:count=1\n")
        );
    }

    #[test]
    fn sections_come_as_asked() {
        let mut desk = Desk::new();
        let titles = |info: &str| info.lines().filter(|line| line.starts_with("# ")).count();
        let server = desk.ask("INFO server");
        assert!(server.contains("redis_version:7.0.15\nserver_name:redyno\nredyno_version:"), "{server}");
        assert_eq!(titles(&server), 1);
        assert_eq!(titles(&desk.ask("INFO STATS clients")), 2);
        assert_eq!(titles(&desk.ask("INFO")), titles(&desk.ask("INFO default")));
        assert_eq!(titles(&desk.ask("INFO everything")), titles(&desk.ask("INFO")) + 1);
        assert_eq!(titles(&desk.ask("INFO nosuch")), 0);
        desk.ask("HELLO 3");
        assert!(desk.ask("INFO cpu").starts_with("="));
    }

    #[test]
    fn hits_misses_and_keys_are_counted() {
        let mut desk = Desk::new();
        desk.ok("SET a b EX 100");
        desk.ask("GET a");
        desk.ask("GET a");
        desk.ask("GET nosuch");
        let stats = desk.ask("INFO stats");
        assert!(stats.contains("keyspace_hits:2\nkeyspace_misses:1\n"), "{stats}");
        let keyspace = desk.ask("INFO keyspace");
        assert!(keyspace.contains("db0:keys=1,expires=1,avg_ttl="), "{keyspace}");
    }
}
