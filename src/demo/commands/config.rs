//! CONFIG.

use super::{Call, Outcome};
use crate::demo::store::Database;

pub fn get(call: &mut Call<'_>) -> Outcome {
    let patterns: Vec<&[u8]> = call.arguments.from(2).collect();
    let found = call.state.config.matching(&patterns);
    call.reply.map(found.len());
    for (name, value) in found {
        call.reply.text(name);
        call.reply.text(value);
    }
    Ok(())
}

pub fn set(call: &mut Call<'_>) -> Outcome {
    if !call.arguments.len().is_multiple_of(2) {
        return Err(call.arity_failure());
    }
    call.state.config.set(call.arguments.pairs(2))?;
    call.reply.ok();
    Ok(())
}

pub fn reset_statistics(call: &mut Call<'_>) -> Outcome {
    call.state.stats.reset();
    call.state.databases.iter_mut().for_each(Database::reset_counters);
    call.reply.ok();
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::testing::TestServer;

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
