//! The built-in server's commands SLOWLOG and LATENCY, and DEBUG SLEEP for tests of these logs.
//!
//! This file also contains the command CONFIG.

use std::time::Duration;

use super::{
    Call, CommandResult, float,
    table::{COMMANDS, CommandId, all_named},
};
use crate::demo::{reply::ReplyError, store::Database};

/// The number of entries that SLOWLOG GET returns if the request has no count.
const DEFAULT_COUNT: usize = 10;

pub fn slowlog_get(call: &mut Call<'_>) -> CommandResult {
    let all = call.arguments.get(2) == Some(b"-1");
    let count = if all { usize::MAX } else { call.count(2)?.unwrap_or(DEFAULT_COUNT) };
    let (entries, reply) = (&call.state.slowlog.entries, &mut call.reply);
    reply.array(count.min(entries.len()));
    for entry in entries.iter().take(count) {
        reply.array(6);
        [entry.id, entry.at_s, entry.us].into_iter().for_each(|n| reply.integer(n as i64));
        reply.array(entry.arguments.len());
        entry.arguments.iter().for_each(|argument| reply.bulk(argument));
        reply.text(&entry.address);
        reply.text(&entry.name);
    }
    Ok(())
}

pub fn slowlog_len(call: &mut Call<'_>) -> CommandResult {
    call.counted(call.state.slowlog.entries.len())
}

pub fn slowlog_reset(call: &mut Call<'_>) -> CommandResult {
    call.state.slowlog.entries.clear();
    call.done()
}

pub fn latency_latest(call: &mut Call<'_>) -> CommandResult {
    call.reply.array(call.state.spikes.len());
    for (name, spike) in &call.state.spikes {
        call.reply.array(4);
        call.reply.text(name);
        [spike.at_s, spike.ms, spike.max_ms].into_iter().for_each(|n| call.reply.integer(n as i64));
    }
    Ok(())
}

pub fn latency_reset(call: &mut Call<'_>) -> CommandResult {
    call.reply.count(call.state.spikes.len());
    call.state.spikes.clear();
    Ok(())
}

/// Runs LATENCY HISTOGRAM. As in Redis, the reply leaves out unknown commands, and commands that never ran.
pub fn latency_histogram(call: &mut Call<'_>) -> CommandResult {
    let names = call.arguments.from(2);
    let mut ids: Vec<CommandId> = match names.len() {
        0 => (0..COMMANDS.len()).collect(),
        _ => names.flat_map(all_named).collect(),
    };
    ids.retain(|id| call.state.stats.commands[*id].calls > 0);
    call.reply.map(ids.len());
    for id in ids {
        let stats = &call.state.stats.commands[id];
        call.reply.text(COMMANDS[id].name);
        call.reply.map(2);
        call.reply.text("calls");
        call.reply.integer(stats.calls as i64);
        call.reply.text("histogram_usec");
        let buckets = stats.durations.cumulative();
        call.reply.map(buckets.len());
        for (us, count) in buckets {
            call.reply.integer(us as i64);
            call.reply.integer(count as i64);
        }
    }
    Ok(())
}

pub fn sleep(call: &mut Call<'_>) -> CommandResult {
    let seconds = float(call.argument(2)?)?;
    call.state.sleep(Duration::try_from_secs_f64(seconds).map_err(|_| ReplyError::NOT_POSITIVE)?);
    call.done()
}

pub fn config_get(call: &mut Call<'_>) -> CommandResult {
    let patterns: Vec<&[u8]> = call.arguments.from(2).collect();
    let found = call.state.config.matching(&patterns);
    call.reply.map(found.len());
    for (name, value) in found {
        call.reply.text(name);
        call.reply.text(value);
    }
    Ok(())
}

pub fn config_set(call: &mut Call<'_>) -> CommandResult {
    if !call.arguments.len().is_multiple_of(2) {
        return Err(call.arity_failure());
    }
    call.state.config.set(call.arguments.pairs(2))?;
    call.done()
}

pub fn reset_statistics(call: &mut Call<'_>) -> CommandResult {
    call.state.stats.reset();
    call.state.slot_use.clear();
    call.state.databases.iter_mut().for_each(Database::reset_counters);
    call.done()
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::testing::TestServer;

    #[test]
    fn slow_commands_are_logged_with_their_client() {
        let mut server = TestServer::new();
        server.expect(&[("CLIENT SETNAME me", "+OK"), ("SLOWLOG GET", "*0"), ("DEBUG SLEEP 0.011", "+OK")]);
        server.expect(&[("SLOWLOG LEN", ":1")]);
        let words = server.words("SLOWLOG GET -1");
        assert_eq!(words[0], "0");
        assert!(words[2].parse::<u64>().unwrap() >= 11_000, "{words:?}");
        assert_eq!(words[3..], ["DEBUG", "SLEEP", "0.011", "127.0.0.1:50001", "me"]);
        server.expect(&[
            ("SLOWLOG RESET", "+OK"),
            ("SLOWLOG LEN", ":0"),
            ("DEBUG SLEEP x", "-ERR value is not a valid float"),
            ("DEBUG SLEEP -1", "-ERR value is out of range, must be positive"),
            ("SLOWLOG GET x", "-ERR value is out of range, must be positive"),
        ]);
    }

    #[test]
    fn a_sleep_of_any_length_ends_when_the_server_is_requested_to_stop() {
        let mut server = TestServer::new();
        server.stop.request();
        let too_long = "-ERR value is out of range, must be positive";
        server.expect(&[
            ("DEBUG SLEEP 9223372036854775807", "+OK"),
            ("DEBUG SLEEP 1e19", "+OK"),
            ("DEBUG SLEEP 18446744073709551615", too_long),
            ("DEBUG SLEEP 1e308", too_long),
            ("DEBUG SLEEP inf", too_long),
        ]);
    }

    #[test]
    fn the_threshold_decides_what_is_slow() {
        TestServer::new().expect(&[
            ("CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 2", "+OK"),
            ("PING", "+PONG"),
            ("PING", "+PONG"),
            ("SLOWLOG LEN", ":2"),
            ("CONFIG SET slowlog-log-slower-than -1", "+OK"),
            ("SLOWLOG RESET", "+OK"),
            ("PING", "+PONG"),
            ("SLOWLOG LEN", ":0"),
        ]);
    }

    #[test]
    fn slow_commands_are_spikes_once_the_monitor_is_on() {
        let mut server = TestServer::new();
        server.expect(&[
            ("DEBUG SLEEP 0.005", "+OK"),
            ("LATENCY LATEST", "*0"),
            ("CONFIG SET latency-monitor-threshold 5", "+OK"),
            ("DEBUG SLEEP 0.005", "+OK"),
        ]);
        let latest = server.words("LATENCY LATEST");
        assert_eq!((latest.len(), latest[0].as_str()), (4, "command"));
        assert!(latest[2].parse::<u64>().unwrap() >= 5 && latest[3] == latest[2], "{latest:?}");
        server.expect(&[("LATENCY RESET", ":1"), ("LATENCY LATEST", "*0")]);
    }

    #[test]
    fn histograms_count_every_call() {
        let mut server = TestServer::new();
        server.expect(&[("GET a", "$-1"), ("GET a", "$-1"), ("GET a", "$-1")]);
        server.ask("CONFIG GET hz");
        let words = server.words("LATENCY HISTOGRAM get nosuch");
        assert_eq!(words[..4], ["get", "calls", "3", "histogram_usec"]);
        assert_eq!(words.last().map(String::as_str), Some("3"), "cumulative: {words:?}");
        assert_eq!(server.words("LATENCY HISTOGRAM config")[0], "config|get");
        server.expect(&[("LATENCY HISTOGRAM set", "*0")]);
    }

    #[test]
    fn parameters_are_read_by_globs_and_set_in_pairs() {
        let mut server = TestServer::new();
        server.ok("CONFIG SET maxmemory 10mb hz 20");
        assert_eq!(
            server.words("CONFIG GET maxmem* hz"),
            ["hz", "20", "maxmemory", "10485760", "maxmemory-policy", "noeviction"]
        );
        server.ask("HELLO 3");
        server.expect(&[
            ("CONFIG GET hz", "%1\n$2\nhz\n$2\n20"),
            ("CONFIG GET nosuch", "%0"),
            ("CONFIG SET save", "-ERR wrong number of arguments for 'config|set' command"),
            ("CONFIG SET save '' hz", "-ERR wrong number of arguments for 'config|set' command"),
        ]);
        for name in ["save", "appendonly", "appendfsync", "io-threads", "activedefrag", "requirepass"] {
            assert_eq!(server.words(&format!("CONFIG GET {name}"))[0], name);
        }
    }

    #[test]
    fn resetstat_sets_the_counters_to_zero() {
        let mut server = TestServer::new();
        server.ask("GET a");
        server.ask("GET");
        server.ok("CONFIG RESETSTAT");
        let info = server.ask("INFO commandstats errorstats stats");
        assert!(!info.contains("cmdstat_get"), "{info}");
        assert!(!info.contains("errorstat_ERR") && info.contains("keyspace_misses:0"), "{info}");
    }

    #[test]
    fn maxmemory_stops_writes() {
        let mut server = TestServer::new();
        for n in 0..100 {
            server.ok(&format!("SET key:{n} {}", "x".repeat(100)));
        }
        server.ok("CONFIG SET maxmemory 5000");
        server.expect(&[
            ("SET a b", "-OOM command not allowed when used memory > 'maxmemory'."),
            ("EXISTS key:1", ":1"),
        ]);
    }
}
