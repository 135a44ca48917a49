//! The built-in server's command INFO. The fields have the same names as in Redis. The reply contains the
//! fields that redyno reads, and fields that users look for.
//!
//! This file also reads the CPU time of the server's thread, and the memory of its process.

use std::{fmt::Write, time::Duration};

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeVal,
};

use super::{COMMANDS, Call, CommandResult};
use crate::{
    clock::SECOND_NS,
    demo::{REDIS_VERSION, store::Database},
};

/// A function that returns the lines of one section of INFO.
type SectionText = fn(&Call<'_>) -> String;

/// The sections of INFO. Each section has a title, a flag, and a function that returns its lines. The flag is true if
/// INFO without arguments includes the section.
const SECTIONS: &[(&str, bool, SectionText)] = &[
    ("Server", true, server),
    ("Clients", true, clients),
    ("Memory", true, memory),
    ("Persistence", true, persistence),
    ("Stats", true, stats),
    ("Replication", true, replication),
    ("CPU", true, cpu),
    ("Commandstats", false, commandstats),
    ("Errorstats", true, errorstats),
    ("Cluster", true, |call| format!("cluster_enabled:{}\n", u8::from(call.state.member.is_some()))),
    ("Keyspace", true, keyspace),
];

pub fn info(call: &mut Call<'_>) -> CommandResult {
    let is_asked = |name: &str| call.arguments.from(1).any(|word| word.eq_ignore_ascii_case(name.as_bytes()));
    let all = is_asked("all") || is_asked("everything");
    let default = call.arguments.len() == 1 || is_asked("default");
    let sections = SECTIONS.iter().filter(|(title, usual, _)| all || is_asked(title) || default && *usual);
    let texts: Vec<String> =
        sections.map(|(title, _, lines)| format!("# {title}\n{}", lines(call))).collect();
    call.reply.verbatim(&texts.join("\n").replace('\n', "\r\n"));
    Ok(())
}

fn server(call: &Call<'_>) -> String {
    format!(
        "redis_version:{REDIS_VERSION}\nserver_name:redyno\nredyno_version:{}\nredis_mode:{}\nprocess_id:{}\n\
         run_id:{}\ntcp_port:{}\nserver_time_usec:{}\nuptime_in_seconds:{}\nhz:{}\n",
        env!("CARGO_PKG_VERSION"),
        call.state.mode(),
        std::process::id(),
        call.state.run_id,
        call.state.config.value("port"),
        call.state.unix_us(),
        call.state.now_ns / SECOND_NS,
        call.state.config.value("hz"),
    )
}

fn clients(call: &Call<'_>) -> String {
    let (connected, most) = (call.state.sessions.len(), call.state.config.value("maxclients"));
    let blocked = call.state.sessions.values().filter(|session| session.waits_until_ns.is_some()).count();
    format!("connected_clients:{connected}\nmaxclients:{most}\nblocked_clients:{blocked}\n")
}

/// Returns the section about memory. `used_memory` is the size of the data alone. The server may share its process with
/// the load generator, so the memory of the process would be misleading.
fn memory(call: &Call<'_>) -> String {
    let used = call.state.used_bytes();
    let resident = resident_bytes().map(|bytes| format!("used_memory_rss:{bytes}\n"));
    format!(
        "used_memory:{used}\n{}used_memory_peak:{}\nmaxmemory:{}\nmaxmemory_policy:{}\n",
        resident.unwrap_or_default(),
        used.max(call.state.peak_bytes),
        call.state.config.maxmemory,
        call.state.config.value("maxmemory-policy"),
    )
}

fn sum(call: &Call<'_>, of: fn(&Database) -> u64) -> u64 {
    call.state.databases.iter().map(of).sum()
}

/// Returns the section about persistence. The built-in server counts the changes of keys, but loads and saves nothing.
fn persistence(call: &Call<'_>) -> String {
    format!(
        "loading:0\nrdb_changes_since_last_save:{}\nrdb_bgsave_in_progress:0\nrdb_last_bgsave_status:ok\n\
         aof_enabled:0\naof_rewrite_in_progress:0\naof_last_write_status:ok\n",
        sum(call, |database| database.changes)
    )
}

fn stats(call: &Call<'_>) -> String {
    let stats = &call.state.stats;
    format!(
        "total_connections_received:{}\ntotal_commands_processed:{}\ninstantaneous_ops_per_sec:{}\n\
         total_net_input_bytes:{}\ntotal_net_output_bytes:{}\nrejected_connections:{}\nexpired_keys:{}\n\
         evicted_keys:0\nkeyspace_hits:{}\nkeyspace_misses:{}\nlatest_fork_usec:0\ntotal_forks:0\n\
         total_error_replies:{}\ntotal_reads_processed:{}\ntotal_writes_processed:{}\n",
        stats.net.connections,
        stats.commands_processed,
        stats.ops_per_s() as u64,
        stats.net.bytes_in,
        stats.net.bytes_out,
        stats.net.rejected_connections,
        sum(call, |database| database.expired),
        sum(call, |database| database.hits),
        sum(call, |database| database.misses),
        stats.errors.values().sum::<u64>(),
        stats.net.reads,
        stats.net.writes,
    )
}

/// Returns the section about CPU time, with the CPU time of the server's thread. The CPU time of the process would be
/// misleading, because the load generator may run in the same process.
fn cpu(_: &Call<'_>) -> String {
    let [system, user] = thread_cpu().map(|time| format!("{:.6}", time.as_secs_f64()));
    format!(
        "used_cpu_sys:{system}\nused_cpu_user:{user}\nused_cpu_sys_main_thread:{system}\n\
         used_cpu_user_main_thread:{user}\n"
    )
}

/// Returns the section about replication. The replicas of a cluster share the data of their primary, so they never lag
/// behind.
fn replication(call: &Call<'_>) -> String {
    let Some(member) = &call.state.member else {
        return "role:master\nconnected_slaves:0\n".to_owned();
    };
    let (layout, offset) = (member.shared.layout(), member.shared.replicate(member.shard, 0));
    let mut text = String::new();
    // Writing to a String does not fail.
    if layout.is_primary(member.node) {
        let replicas = layout.replicas(member.shard).filter(|node| !node.has_failed);
        let ports: Vec<u16> = replicas.map(|node| node.port).collect();
        let _ = writeln!(text, "role:master\nconnected_slaves:{}", ports.len());
        for (n, port) in ports.iter().enumerate() {
            let _ = writeln!(text, "slave{n}:ip=127.0.0.1,port={port},state=online,offset={offset},lag=0");
        }
    } else {
        let primary = layout.primary(member.shard);
        let link = if primary.has_failed { "down" } else { "up" };
        let _ = writeln!(
            text,
            "role:slave\nmaster_host:127.0.0.1\nmaster_port:{}\nmaster_link_status:{link}\n\
             master_last_io_seconds_ago:0\nmaster_sync_in_progress:0\nslave_repl_offset:{offset}\n\
             slave_read_only:1\nconnected_slaves:0",
            primary.port
        );
    }
    let _ = writeln!(text, "master_repl_offset:{offset}");
    text
}

fn commandstats(call: &Call<'_>) -> String {
    let mut text = String::new();
    for (command, stats) in COMMANDS.iter().zip(&call.state.stats.commands) {
        let (name, calls, rejected, failed) = (command.name, stats.calls, stats.rejected, stats.failed);
        if calls + rejected + failed == 0 {
            continue;
        }
        let us = stats.ns as f64 / 1000.0;
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "cmdstat_{name}:calls={calls},usec={},usec_per_call={:.2},rejected_calls={rejected},\
             failed_calls={failed}",
            us as u64,
            us / calls.max(1) as f64,
        );
    }
    text
}

fn errorstats(call: &Call<'_>) -> String {
    call.state.stats.errors.iter().map(|(prefix, n)| format!("errorstat_{prefix}:count={n}\n")).collect()
}

fn keyspace(call: &Call<'_>) -> String {
    let databases = call.state.databases.iter().enumerate().filter(|(_, database)| database.len() > 0);
    let line = |(index, database): (usize, &Database)| {
        format!("db{index}:keys={},expires={}\n", database.len(), database.volatile)
    };
    databases.map(line).collect()
}

/// Returns the system and user CPU time of the calling thread. On systems that do not report CPU time per thread
/// (macOS), returns the times of the process. Both times are zero if the system does not report them.
pub fn thread_cpu() -> [Duration; 2] {
    #[cfg(target_os = "linux")]
    const WHO: UsageWho = UsageWho::RUSAGE_THREAD;
    #[cfg(not(target_os = "linux"))]
    const WHO: UsageWho = UsageWho::RUSAGE_SELF;
    let duration = |time: TimeVal| Duration::new(time.tv_sec() as u64, time.tv_usec() as u32 * 1000);
    getrusage(WHO).map_or([Duration::ZERO; 2], |usage| [usage.system_time(), usage.user_time()].map(duration))
}

/// Returns the resident memory of this process in bytes, from `/proc`, or `None` on systems without `/proc`.
pub fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kb: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kb * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::commands::testing::TestServer;

    #[test]
    fn command_statistics_are_exact() {
        let mut server = TestServer::new();
        server.ok("CONFIG RESETSTAT");
        for _ in 0..7 {
            server.ok("SET a b");
        }
        for request in
            ["GET", "GET a b", "LPUSH a b", "LPUSH l a", "nosuch", "CONFIG GET hz", "DEBUG SLEEP 0.002"]
        {
            server.ask(request);
        }
        let info = server.ask("INFO commandstats");
        for counted in [
            "set:calls=7,",
            "get:calls=0,usec=0,usec_per_call=0.00,rejected_calls=2,failed_calls=0",
            "lpush:calls=2,",
            "config|get:calls=1,",
            "config|resetstat:calls=1,",
        ] {
            assert!(info.contains(&format!("cmdstat_{counted}")), "{counted}: {info}");
        }
        let line = |start: &str| info.lines().find_map(|line| line.strip_prefix(start)).unwrap();
        assert!(line("cmdstat_lpush").ends_with("failed_calls=1"), "{info}");
        let sleep = line("cmdstat_debug|sleep:calls=1,usec=");
        assert!(sleep.split(',').next().unwrap().parse::<u64>().unwrap() >= 2000, "{sleep}");
        let errors = server.ask("INFO errorstats");
        assert!(
            errors.contains("errorstat_ERR:count=3\n") && errors.contains("errorstat_WRONGTYPE:count=1\n")
        );
    }

    #[test]
    fn info_returns_the_requested_sections() {
        let mut server = TestServer::new();
        let titles = |info: &str| info.lines().filter(|line| line.starts_with("# ")).count();
        let text = server.ask("INFO server");
        assert!(text.contains("redis_version:7.0.15\nserver_name:redyno\nredyno_version:"), "{text}");
        for (sections, count) in
            [("server", 1), ("STATS clients", 2), ("", 10), ("everything", 11), ("nosuch", 0)]
        {
            assert_eq!(titles(&server.ask(&format!("INFO {sections}"))), count, "{sections}");
        }
        server.ask("HELLO 3");
        assert!(server.ask("INFO cpu").starts_with("="));
    }

    #[test]
    fn clients_that_wait_are_counted() {
        let mut server = TestServer::new();
        let blocked = |server: &mut TestServer, n: usize| {
            let info = server.ask("INFO clients");
            assert!(info.contains(&format!("blocked_clients:{n}\n")), "{info}");
        };
        let waiting = server.connect();
        blocked(&mut server, 0);
        assert_eq!(server.ask_as(waiting, "BLPOP l 0"), "");
        blocked(&mut server, 1);
        server.ask("RPUSH l x");
        assert_eq!(server.ask_as(waiting, "BLPOP l 0"), "*2\n$1\nl\n$1\nx\n");
        blocked(&mut server, 0);
    }

    #[test]
    fn hits_misses_and_keys_are_counted() {
        let mut server = TestServer::new();
        server.ok("SET a b EX 100");
        for key in ["a", "a", "nosuch"] {
            server.ask(&format!("GET {key}"));
        }
        let stats = server.ask("INFO stats");
        assert!(stats.contains("keyspace_hits:2\nkeyspace_misses:1\n"), "{stats}");
        let keyspace = server.ask("INFO keyspace");
        assert!(keyspace.contains("db0:keys=1,expires=1\n"), "{keyspace}");
    }

    #[test]
    fn cpu_time_grows_with_work() {
        let total = |times: [Duration; 2]| times.iter().sum::<Duration>();
        let before = total(thread_cpu());
        let mut sum = 0_u64;
        // The amount of work is fixed, not the time. One step takes far less than a microsecond.
        for n in 0..500_000_000_u64 {
            sum = std::hint::black_box(sum.wrapping_add(n));
            if n % 1_000_000 == 0 && total(thread_cpu()) > before {
                return;
            }
        }
        panic!("no CPU time was counted");
    }
}
