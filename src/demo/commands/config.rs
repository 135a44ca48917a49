//! CONFIG.

use super::{Call, Command, Flags, Outcome};

pub(super) const COMMANDS: &[Command] = &[Command::group("config", Flags::ADMIN, SUBCOMMANDS)];

const SUBCOMMANDS: &[Command] = &[
    Command::new("get", -3, Flags::ADMIN, get),
    Command::new("set", -4, Flags::ADMIN, set),
    Command::new("resetstat", 2, Flags::ADMIN, resetstat),
];

fn get(call: &mut Call<'_>) -> Outcome {
    let patterns: Vec<&[u8]> = call.arguments.from(2).collect();
    let found = call.state.config.matching(&patterns);
    call.reply.map(found.len());
    for (name, value) in found {
        call.reply.text(name);
        call.reply.text(value);
    }
    Ok(())
}

fn set(call: &mut Call<'_>) -> Outcome {
    let words: Vec<&[u8]> = call.arguments.from(2).collect();
    if !words.len().is_multiple_of(2) {
        return Err(call.arity_failure());
    }
    let pairs: Vec<(&[u8], &[u8])> = words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    call.state.config.set(&pairs)?;
    call.reply.ok();
    Ok(())
}

fn resetstat(call: &mut Call<'_>) -> Outcome {
    call.state.stats.reset();
    for database in &mut call.state.databases {
        database.reset_counters();
    }
    call.reply.ok();
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::desk::Desk;

    #[test]
    fn parameters_are_read_by_globs_and_set_in_pairs() {
        let mut desk = Desk::new();
        desk.ok("CONFIG SET maxmemory 10mb maxmemory-policy allkeys-lru");
        assert_eq!(
            desk.words("CONFIG GET maxmem* hz"),
            ["hz", "10", "maxmemory", "10485760", "maxmemory-policy", "allkeys-lru"]
        );
        desk.ask("HELLO 3");
        assert_eq!(desk.ask("CONFIG GET hz"), "%1\n$2\nhz\n$2\n10\n");
        assert_eq!(desk.ask("CONFIG GET nosuch"), "%0\n");
        assert_eq!(desk.ask("CONFIG SET save"), "-ERR wrong number of arguments for 'config|set' command\n");
        assert_eq!(
            desk.ask("CONFIG SET save '' hz"),
            "-ERR wrong number of arguments for 'config|set' command\n"
        );
        for name in ["save", "appendonly", "appendfsync", "io-threads", "activedefrag", "requirepass"] {
            assert_eq!(desk.words(&format!("CONFIG GET {name}"))[0], name);
        }
    }

    #[test]
    fn resetstat_sets_the_counters_to_zero() {
        let mut desk = Desk::new();
        desk.ask("GET a");
        desk.ask("GET");
        desk.ok("CONFIG RESETSTAT");
        let info = desk.ask("INFO commandstats errorstats stats");
        assert!(!info.contains("cmdstat_get"), "{info}");
        assert!(!info.contains("errorstat_ERR") && info.contains("keyspace_misses:0"), "{info}");
    }

    #[test]
    fn maxmemory_stops_writes_or_makes_room() {
        let mut desk = Desk::new();
        for n in 0..100 {
            desk.ok(&format!("SET key:{n} {}", "x".repeat(100)));
        }
        desk.ok("CONFIG SET maxmemory 5000");
        assert_eq!(desk.ask("SET a b"), "-OOM command not allowed when used memory > 'maxmemory'.\n");
        assert_eq!(desk.ask("EXISTS key:1"), ":1\n");
        desk.ok("CONFIG SET maxmemory-policy volatile-ttl");
        assert!(desk.ask("SET a b").starts_with("-OOM "), "no key expires");
        desk.ok("CONFIG SET maxmemory-policy allkeys-random");
        desk.ok("SET a b");
        let info = desk.ask("INFO stats");
        assert!(!info.contains("evicted_keys:0\n"), "{info}");
        assert!(desk.engine.state.used_bytes() < 5000 + 200);
    }
}
