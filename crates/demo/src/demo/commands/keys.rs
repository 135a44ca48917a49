//! The built-in server's commands for keys of any type, such as DEL, EXPIRE and SCAN.
//!
//! This file also contains the commands for strings and counters.

use super::{Call, CommandResult, pubsub::notify_set};
use crate::demo::{reply::ReplyError, request::number, state::config::matches, store::Database};

pub fn remove(call: &mut Call<'_>) -> CommandResult {
    let keys = call.arguments.from(1);
    let (database, reply) = call.database();
    reply.count(keys.filter(|key| database.remove(key)).count());
    Ok(())
}

pub fn exists(call: &mut Call<'_>) -> CommandResult {
    let keys = call.arguments.from(1);
    let (database, reply) = call.database();
    reply.count(keys.filter(|key| database.lookup(key)).count());
    Ok(())
}

pub fn expire(call: &mut Call<'_>) -> CommandResult {
    let (key, n) = (call.argument(1)?, call.integer(2)?);
    let at_ms = n.checked_mul(1000).and_then(|ms| ms.checked_add_unsigned(call.state.unix_ms()));
    let at_ms = at_ms.ok_or(ReplyError::expire_time("expire"))?;
    let (database, reply) = call.database();
    // A negative time (before 1970) also counts as a time in the past.
    reply.integer(database.expire_at(key, Some(u64::try_from(at_ms).unwrap_or(0))).into());
    Ok(())
}

pub fn ttl(call: &mut Call<'_>) -> CommandResult {
    let (key, now_ms) = (call.argument(1)?, call.state.unix_ms());
    let (database, reply) = call.database();
    reply.integer(match database.deadline(key) {
        None => -2,
        Some(None) => -1,
        Some(Some(at_ms)) => ((at_ms - now_ms + 500) / 1000) as i64,
    });
    Ok(())
}

pub fn dbsize(call: &mut Call<'_>) -> CommandResult {
    let (database, reply) = call.database();
    reply.count(database.len());
    Ok(())
}

/// Runs FLUSHALL, or FLUSHDB if `is_all` is false. Both commands accept SYNC and ASYNC, but always free the memory at
/// once.
pub fn flush(call: &mut Call<'_>, is_all: bool) -> CommandResult {
    if call.state.is_replica() {
        return Err(ReplyError::other("READONLY You can't write against a read only replica."));
    }
    match is_all {
        true => call.state.databases.iter_mut().for_each(Database::clear),
        false => call.database().0.clear(),
    }
    call.done()
}

/// The number of keys that one SCAN call visits if the request has no COUNT.
const DEFAULT_COUNT: usize = 10;

/// Runs SCAN. The calls of one scan return every key that exists from the first call to the last call, and no key
/// twice.
pub fn scan(call: &mut Call<'_>) -> CommandResult {
    let cursor = std::str::from_utf8(call.argument(1)?).ok().and_then(|text| text.parse::<u64>().ok());
    let cursor = cursor.ok_or(ReplyError::other("ERR invalid cursor"))?;
    let (mut count, mut pattern) = (DEFAULT_COUNT, None);
    for index in (2..call.arguments.len()).step_by(2) {
        let value = call.argument(index + 1)?;
        match call.word(index).as_slice() {
            b"count" => {
                let given = usize::try_from(call.integer(index + 1)?).ok();
                count = given.filter(|count| *count > 0).ok_or(ReplyError::SYNTAX)?;
            }
            b"match" => pattern = Some(value),
            _ => return Err(ReplyError::SYNTAX),
        }
    }
    let (database, reply) = call.database();
    let mut keys: Vec<Box<[u8]>> = Vec::new();
    let next = database.scan(cursor, count, |key| {
        if pattern.is_none_or(|pattern| matches(pattern, key)) {
            keys.push(key.into());
        }
    });
    reply.array(2);
    reply.text(&next.to_string());
    reply.array(keys.len());
    keys.iter().for_each(|key| reply.bulk(key));
    Ok(())
}

pub fn get(call: &mut Call<'_>) -> CommandResult {
    let (value, reply) = call.read::<Vec<u8>>()?;
    reply.bulk_or_null(value.map(Vec::as_slice));
    Ok(())
}

/// Runs SET with its options NX, XX, EX and PX. The other options are not supported.
pub fn set(call: &mut Call<'_>) -> CommandResult {
    let (key, value) = (call.argument(1)?, call.argument(2)?);
    // Whether the key must exist, or must not.
    let (mut wanted, mut at_ms) = (None, None);
    let mut index = 3;
    while index < call.arguments.len() {
        match call.word(index).as_slice() {
            b"nx" if wanted.is_none() => wanted = Some(false),
            b"xx" if wanted.is_none() => wanted = Some(true),
            unit @ (b"ex" | b"px") if at_ms.is_none() => {
                index += 1;
                at_ms = Some(expiry_ms(call, "set", index, if unit == b"ex" { 1000 } else { 1 })?);
            }
            _ => return Err(ReplyError::SYNTAX),
        }
        index += 1;
    }
    let (database, reply) = call.database();
    if wanted.is_some_and(|wanted| wanted != database.deadline(key).is_some()) {
        reply.null();
        return Ok(());
    }
    database.set_string(key, value);
    if at_ms.is_some() {
        database.expire_at(key, at_ms);
    }
    reply.ok();
    notify_set(call, key);
    Ok(())
}

/// Converts a time to live to an expiry time in ms since 1970. Argument `index` has the time to live, in units of
/// `unit_ms` milliseconds.
fn expiry_ms(call: &Call<'_>, command: &'static str, index: usize, unit_ms: u64) -> Result<u64, ReplyError> {
    u64::try_from(call.integer(index)?)
        .ok()
        .filter(|n| *n > 0)
        .and_then(|n| n.checked_mul(unit_ms)?.checked_add(call.state.unix_ms()))
        .filter(|at_ms| i64::try_from(*at_ms).is_ok())
        .ok_or(ReplyError::expire_time(command))
}

pub fn setex(call: &mut Call<'_>) -> CommandResult {
    let at_ms = expiry_ms(call, "setex", 2, 1000)?;
    let (key, value) = (call.argument(1)?, call.argument(3)?);
    let (database, reply) = call.database();
    database.set_string(key, value);
    database.expire_at(key, Some(at_ms));
    reply.ok();
    notify_set(call, key);
    Ok(())
}

pub fn mset(call: &mut Call<'_>) -> CommandResult {
    if call.arguments.len().is_multiple_of(2) {
        return Err(call.arity_failure());
    }
    let pairs = call.arguments.pairs(1);
    let (database, reply) = call.database();
    pairs.for_each(|(key, value)| database.set_string(key, value));
    reply.ok();
    call.arguments.pairs(1).for_each(|(key, _)| notify_set(call, key));
    Ok(())
}

pub fn mget(call: &mut Call<'_>) -> CommandResult {
    let keys = call.arguments.from(1);
    let (database, reply) = call.database();
    reply.array(keys.len());
    for key in keys {
        // A value of another type counts as missing.
        let value = database.read::<Vec<u8>>(key).ok().flatten();
        reply.bulk_or_null(value.map(Vec::as_slice));
    }
    Ok(())
}

pub fn increment(call: &mut Call<'_>) -> CommandResult {
    call.change_or_new(|value: &mut Vec<u8>, reply| {
        let old = if value.is_empty() { Some(0) } else { number(value) };
        let sum = old
            .ok_or(ReplyError::NOT_INTEGER)?
            .checked_add(1)
            .ok_or(ReplyError::other("ERR increment or decrement would overflow"))?;
        value.clear();
        value.extend_from_slice(itoa::Buffer::new().format(sum).as_bytes());
        reply.integer(sum);
        Ok(())
    })?
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::testing::TestServer;

    #[test]
    fn keys_are_counted_and_removed() {
        let mut server = TestServer::new();
        server.expect(&[
            ("MSET a 1 b 2 c 3", "+OK"),
            ("LPUSH l x", ":1"),
            ("EXISTS a a nosuch", ":2"),
            ("DBSIZE", ":4"),
            ("DEL a nosuch", ":1"),
            ("UNLINK b c", ":2"),
            ("DBSIZE", ":1"),
            ("SELECT 1", "+OK"),
            ("SET a 1", "+OK"),
            ("DBSIZE", ":1"),
            ("FLUSHALL ASYNC", "+OK"),
            ("DBSIZE", ":0"),
            ("SELECT 0", "+OK"),
            ("DBSIZE", ":0"),
        ]);
    }

    #[test]
    fn a_time_to_live_is_set_and_read() {
        TestServer::new().expect(&[
            ("TTL a", ":-2"),
            ("EXPIRE a 10", ":0"),
            ("SET a 1", "+OK"),
            ("TTL a", ":-1"),
            ("EXPIRE a 100", ":1"),
            ("TTL a", ":100"),
            ("EXPIRE a -1", ":1"),
            ("EXISTS a", ":0"),
            ("EXPIRE a b", "-ERR value is not an integer or out of range"),
            ("EXPIRE a 9223372036854775807", "-ERR invalid expire time in 'expire' command"),
        ]);
    }

    #[test]
    fn a_key_is_gone_once_its_time_is_over() {
        let mut server = TestServer::new();
        // b is older: when a has expired, b has too.
        server.ok("SET b 1 PX 1");
        server.ok("SET a 1 PX 1");
        assert!((0..10_000_000).any(|_| server.ask("GET a") == "$-1\n"), "the key stays");
        server.engine.state.tick();
        server.expect(&[("DBSIZE", ":0")]);
    }

    fn all(server: &mut TestServer, options: &str) -> usize {
        let (mut cursor, mut found) = ("0".to_owned(), 0);
        for _ in 0..1000 {
            let words = server.words(&format!("SCAN {cursor} {options}"));
            cursor.clone_from(&words[0]);
            found += words.len() - 1;
            if cursor == "0" {
                return found;
            }
        }
        panic!("the scan does not end");
    }

    #[test]
    fn a_scan_finds_every_key_once_and_filters() {
        let mut server = TestServer::new();
        for n in 0..50 {
            server.ok(&format!("SET key:{n:02} v"));
        }
        assert_eq!((all(&mut server, ""), all(&mut server, "MATCH key:4* COUNT 3")), (50, 10));
        server.expect(&[
            ("SCAN 1 MATCH nosuch", "*2\n$1\n0\n*0"),
            ("SCAN x", "-ERR invalid cursor"),
            ("SCAN 0 COUNT 0", "-ERR syntax error"),
            ("SCAN 0 MATCH", "-ERR syntax error"),
            ("SCAN 0 foo bar", "-ERR syntax error"),
            ("SCAN 0 COUNT x", "-ERR value is not an integer or out of range"),
        ]);
    }

    #[test]
    fn a_value_that_was_set_is_read() {
        let mut server = TestServer::new();
        server.expect(&[
            ("GET a", "$-1"),
            ("SET a hello", "+OK"),
            ("GET a", "$5\nhello"),
            ("get A", "$-1"),
            ("MSET a 1 b 2", "+OK"),
            ("MGET a nosuch b", "*3\n$1\n1\n$-1\n$1\n2"),
            ("MSET a 1 b", "-ERR wrong number of arguments for 'mset' command"),
        ]);
    }

    #[test]
    fn set_has_its_options() {
        let mut server = TestServer::new();
        server.expect(&[
            ("SET a 1 XX", "$-1"),
            ("SET a 1 NX EX 100", "+OK"),
            ("SET a 2 NX", "$-1"),
            ("TTL a", ":100"),
            ("SET a 2 XX", "+OK"),
            ("TTL a", ":-1"),
            ("SET a 3 PX 5000", "+OK"),
            ("TTL a", ":5"),
            ("SET a b XX NX", "-ERR syntax error"),
            ("SET a b EX", "-ERR syntax error"),
            ("SET a b EX 1 PX 1", "-ERR syntax error"),
            ("SET a b EX 0", "-ERR invalid expire time in 'set' command"),
            ("SET a b EX 9223372036854775807", "-ERR invalid expire time in 'set' command"),
            ("SET a b EX a", "-ERR value is not an integer or out of range"),
            ("SETEX a 0 b", "-ERR invalid expire time in 'setex' command"),
            ("GET a", "$1\n3"),
        ]);
    }

    #[test]
    fn counters_count_and_stop_at_their_limit() {
        let mut server = TestServer::new();
        server.expect(&[
            ("INCR n", ":1"),
            ("SET n 9223372036854775806", "+OK"),
            ("INCR n", ":9223372036854775807"),
            ("INCR n", "-ERR increment or decrement would overflow"),
            ("SET n -1", "+OK"),
            ("INCR n", ":0"),
            ("SET s word", "+OK"),
            ("INCR s", "-ERR value is not an integer or out of range"),
            ("RPUSH l a", ":1"),
            ("SET t 1 EX 100", "+OK"),
            ("INCR t", ":2"),
            ("TTL t", ":100"),
        ]);
        server.expect_wrong_type(&["INCR l", "GET l"]);
    }
}
