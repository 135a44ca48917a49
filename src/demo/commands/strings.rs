//! Strings and counters.

use super::{Call, Outcome};
use crate::demo::failure::Failure;
use crate::demo::request::number;

pub fn get(call: &mut Call<'_>) -> Outcome {
    let (value, reply) = call.read::<Vec<u8>>()?;
    reply.bulk_or_null(value.map(Vec::as_slice));
    Ok(())
}

/// SET with NX or XX, and EX or PX.
pub fn set(call: &mut Call<'_>) -> Outcome {
    let (key, value) = (call.argument(1)?, call.argument(2)?);
    // Must the key be there already, or must it not?
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
            _ => return Err(Failure::SYNTAX),
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
    Ok(())
}

/// When something expires whose time to live is argument `index`, in units of `unit_ms`; in ms since 1970.
fn expiry_ms(call: &Call<'_>, command: &'static str, index: usize, unit_ms: u64) -> Result<u64, Failure> {
    u64::try_from(call.integer(index)?)
        .ok()
        .filter(|n| *n > 0)
        .and_then(|n| n.checked_mul(unit_ms)?.checked_add(call.state.unix_ms()))
        .filter(|at_ms| i64::try_from(*at_ms).is_ok())
        .ok_or(Failure::expire_time(command))
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

pub fn increment(call: &mut Call<'_>) -> Outcome {
    call.change_or_new(|value: &mut Vec<u8>, reply| {
        let old = if value.is_empty() { Some(0) } else { number(value) };
        let sum = old
            .ok_or(Failure::NOT_INTEGER)?
            .checked_add(1)
            .ok_or(Failure::other("ERR increment or decrement would overflow"))?;
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
