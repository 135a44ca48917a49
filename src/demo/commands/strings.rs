//! Strings and counters.

use super::{Call, Outcome};
use crate::demo::failure::Failure;
use crate::demo::request::{MAX_BULK, number};

pub fn get(call: &mut Call<'_>) -> Outcome {
    let (value, reply) = call.read::<Vec<u8>>()?;
    reply.bulk_or_null(value.map(Vec::as_slice));
    Ok(())
}

/// SET with NX or XX, GET, and EX, PX or KEEPTTL.
pub fn set(call: &mut Call<'_>) -> Outcome {
    let (key, value) = (call.argument(1)?, call.argument(2)?);
    // May the key be there already?
    let (mut wanted, mut give_old, mut keep, mut at_ms) = (None, false, false, None);
    let mut index = 3;
    while index < call.arguments.len() {
        match (call.word(index).as_slice(), wanted, keep || at_ms.is_some()) {
            (b"nx", None, _) => wanted = Some(false),
            (b"xx", None, _) => wanted = Some(true),
            (b"get", _, _) => give_old = true,
            (b"keepttl", _, false) => keep = true,
            (unit @ (b"ex" | b"px"), _, false) => {
                index += 1;
                at_ms = Some(expiry_ms(call, "set", index, if unit == b"ex" { 1000 } else { 1 })?);
            }
            _ => return Err(Failure::Syntax),
        }
        index += 1;
    }
    let (database, reply) = call.database();
    let old_deadline = if keep || wanted.is_some() { database.deadline(key) } else { None };
    let allowed = wanted.is_none_or(|present| present == old_deadline.is_some());
    if give_old {
        reply.bulk_or_null(database.read::<Vec<u8>>(key)?.map(Vec::as_slice));
    } else if allowed {
        reply.ok();
    } else {
        reply.null();
    }
    if allowed {
        database.set_string(key, value);
        if keep || at_ms.is_some() {
            database.expire_at(key, at_ms.or(old_deadline.flatten()));
        }
    }
    Ok(())
}

/// When something expires whose time to live is argument `index`, in units of `unit_ms`; in ms since 1970.
fn expiry_ms(call: &Call<'_>, command: &'static str, index: usize, unit_ms: u64) -> Result<u64, Failure> {
    u64::try_from(call.integer(index)?)
        .ok()
        .filter(|n| *n > 0)
        .and_then(|n| n.checked_mul(unit_ms)?.checked_add(call.state.unix_ms()))
        .filter(|at_ms| i64::try_from(*at_ms).is_ok())
        .ok_or(Failure::ExpireTime(command))
}

pub fn setex(call: &mut Call<'_>) -> Outcome {
    let at_ms = expiry_ms(call, "setex", 2, 1000)?;
    let (key, value) = (call.argument(1)?, call.argument(3)?);
    let (database, reply) = call.database();
    database.set_string(key, value);
    database.expire_at(key, Some(at_ms));
    reply.ok();
    Ok(())
}

pub fn setnx(call: &mut Call<'_>) -> Outcome {
    let (key, value) = (call.argument(1)?, call.argument(2)?);
    let (database, reply) = call.database();
    let absent = database.deadline(key).is_none();
    if absent {
        database.set_string(key, value);
    }
    reply.integer(absent.into());
    Ok(())
}

pub fn mset(call: &mut Call<'_>) -> Outcome {
    if call.arguments.len().is_multiple_of(2) {
        return Err(call.arity_failure());
    }
    let pairs = call.arguments.pairs(1);
    let (database, reply) = call.database();
    pairs.for_each(|(key, value)| database.set_string(key, value));
    reply.ok();
    Ok(())
}

pub fn mget(call: &mut Call<'_>) -> Outcome {
    let keys = call.arguments.from(1);
    let (database, reply) = call.database();
    reply.array(keys.len());
    for key in keys {
        // A value of another type is none.
        let value = database.read::<Vec<u8>>(key).ok().flatten();
        reply.bulk_or_null(value.map(Vec::as_slice));
    }
    Ok(())
}

pub fn append(call: &mut Call<'_>) -> Outcome {
    let more = call.argument(2)?;
    call.change_or_new(|value: &mut Vec<u8>, reply| {
        if value.len() + more.len() > MAX_BULK {
            return Err(Failure::other("ERR string exceeds maximum allowed size (proto-max-bulk-len)"));
        }
        value.extend_from_slice(more);
        reply.count(value.len());
        Ok(())
    })?
}

/// Adds to a counter; `None` is an amount whose negative is no number.
pub fn add(call: &mut Call<'_>, by: Option<i64>) -> Outcome {
    let by = by.ok_or(Failure::other("ERR decrement would overflow"))?;
    call.change_or_new(|value: &mut Vec<u8>, reply| {
        let old = if value.is_empty() { Some(0) } else { number(value) };
        let sum = old.ok_or(Failure::NotInteger)?.checked_add(by).ok_or(Failure::Overflow)?;
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
    fn what_is_set_is_read_back() {
        let mut server = TestServer::new();
        server.expect(&[
            ("GET a", "$-1"),
            ("SET a hello", "+OK"),
            ("GET a", "$5\nhello"),
            ("get A", "$-1"),
            ("APPEND a !", ":6"),
            ("STRLEN a", ":6"),
            ("MSET a 1 b 2", "+OK"),
            ("MGET a nosuch b", "*3\n$1\n1\n$-1\n$1\n2"),
            ("MSET a 1 b", "-ERR wrong number of arguments for 'mset' command"),
            ("SETNX a 5", ":0"),
            ("SETNX c 5", ":1"),
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
            ("SET a 2 KEEPTTL", "+OK"),
            ("TTL a", ":100"),
            ("SET a 3 GET", "$1\n2"),
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
    fn counters_count_and_stop_at_their_limits() {
        let mut server = TestServer::new();
        server.expect(&[
            ("INCR n", ":1"),
            ("INCRBY n 9223372036854775806", ":9223372036854775807"),
            ("INCR n", "-ERR increment or decrement would overflow"),
            ("DECRBY n 7", ":9223372036854775800"),
            ("DECR m", ":-1"),
            ("DECRBY m -9223372036854775808", "-ERR decrement would overflow"),
            ("SET s word", "+OK"),
            ("INCR s", "-ERR value is not an integer or out of range"),
            ("INCRBY n x", "-ERR value is not an integer or out of range"),
            ("RPUSH l a", ":1"),
            ("SET t 1 EX 100", "+OK"),
            ("INCR t", ":2"),
            ("TTL t", ":100"),
        ]);
        server.expect_wrong_type(&["INCR l", "GET l", "APPEND l x", "STRLEN l", "SET l x GET"]);
    }
}
