//! Strings and counters.

use super::{Call, Command, Flags, Outcome};
use crate::demo::failure::Failure;
use crate::demo::request::{MAX_BULK, number};
use crate::demo::store::{Database, Value};

const READ: Flags = Flags::READ.and(Flags::FAST);
const WRITE: Flags = Flags::WRITE.and(Flags::GROWS);
const FAST_WRITE: Flags = WRITE.and(Flags::FAST);

pub(super) const COMMANDS: &[Command] = &[
    Command::new("get", 2, READ, get).keyed(1, 1, 1),
    Command::new("set", -3, WRITE, set).keyed(1, 1, 1),
    Command::new("setex", 4, WRITE, |call| set_expiring(call, "setex", 1000)).keyed(1, 1, 1),
    Command::new("psetex", 4, WRITE, |call| set_expiring(call, "psetex", 1)).keyed(1, 1, 1),
    Command::new("setnx", 3, FAST_WRITE, setnx).keyed(1, 1, 1),
    Command::new("mset", -3, WRITE, mset).keyed(1, -1, 2),
    Command::new("mget", -2, READ, mget).keyed(1, -1, 1),
    Command::new("getset", 3, FAST_WRITE, getset).keyed(1, 1, 1),
    Command::new("strlen", 2, READ, strlen).keyed(1, 1, 1),
    Command::new("append", 3, FAST_WRITE, append).keyed(1, 1, 1),
    Command::new("incr", 2, FAST_WRITE, |call| add(call, 1)).keyed(1, 1, 1),
    Command::new("decr", 2, FAST_WRITE, |call| add(call, -1)).keyed(1, 1, 1),
    Command::new("incrby", 3, FAST_WRITE, |call| add(call, call.integer(2)?)).keyed(1, 1, 1),
    Command::new("decrby", 3, FAST_WRITE, decrby).keyed(1, 1, 1),
];

fn get(call: &mut Call<'_>) -> Outcome {
    let key = call.argument(1)?;
    let (database, reply) = call.database();
    match database.read(key) {
        Some(value) => reply.bulk(value.as_string()?),
        None => reply.null(),
    }
    Ok(())
}

/// The options of SET.
#[derive(Default)]
struct SetOptions {
    only_if: Option<Existence>,
    expiry: Option<Expiry>,
    give_old: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Existence {
    Present,
    Absent,
}

#[derive(Clone, Copy)]
enum Expiry {
    /// As it was.
    Keep,
    /// At this moment, in ms since 1970.
    AtMs(u64),
}

impl SetOptions {
    fn parse(call: &Call<'_>) -> Result<Self, Failure> {
        let mut options = Self::default();
        let mut index = 3;
        while let Some(word) = call.arguments.get(index) {
            match (word.to_ascii_lowercase().as_slice(), options.expiry, options.only_if) {
                (b"nx", _, None) => options.only_if = Some(Existence::Absent),
                (b"xx", _, None) => options.only_if = Some(Existence::Present),
                (b"get", _, _) => options.give_old = true,
                (b"keepttl", None, _) => options.expiry = Some(Expiry::Keep),
                (unit @ (b"ex" | b"px" | b"exat" | b"pxat"), None, _) => {
                    index += 1;
                    let at_ms = expiry_ms(call, "set", call.integer(index)?, unit)?;
                    options.expiry = Some(Expiry::AtMs(at_ms));
                }
                _ => return Err(Failure::Syntax),
            }
            index += 1;
        }
        Ok(options)
    }
}

/// When something expires that is given as EX, PX, EXAT or PXAT.
fn expiry_ms(call: &Call<'_>, command: &'static str, n: i64, unit: &[u8]) -> Result<u64, Failure> {
    let scale = if unit.starts_with(b"e") { 1000 } else { 1 };
    let base = if unit.ends_with(b"at") { 0 } else { call.state.unix_ms() };
    u64::try_from(n)
        .ok()
        .filter(|n| *n > 0)
        .and_then(|n| n.checked_mul(scale)?.checked_add(base))
        .filter(|at_ms| i64::try_from(*at_ms).is_ok())
        .ok_or(Failure::ExpireTime(command))
}

fn set(call: &mut Call<'_>) -> Outcome {
    let (key, value) = (call.argument(1)?, call.argument(2)?);
    if call.arguments.len() == 3 {
        let (database, reply) = call.database();
        database.set_string(key, value);
        reply.ok();
        return Ok(());
    }
    let options = SetOptions::parse(call)?;
    let (database, reply) = call.database();
    let old_deadline = database.deadline(key);
    let allowed = match options.only_if {
        Some(Existence::Present) => old_deadline.is_some(),
        Some(Existence::Absent) => old_deadline.is_none(),
        None => true,
    };
    if options.give_old {
        let old = database.read(key).map(Value::as_string).transpose()?;
        reply.bulk_or_null(old.map(Vec::as_slice));
    }
    if allowed {
        database.set_string(key, value);
        match options.expiry {
            Some(Expiry::AtMs(at_ms)) => drop(database.expire_at(key, Some(at_ms))),
            Some(Expiry::Keep) => drop(database.expire_at(key, old_deadline.flatten())),
            None => {}
        }
    }
    match (options.give_old, allowed) {
        (true, _) => {}
        (false, true) => reply.ok(),
        (false, false) => reply.null(),
    }
    Ok(())
}

fn set_expiring(call: &mut Call<'_>, name: &'static str, scale: i64) -> Outcome {
    let unit: &[u8] = if scale == 1000 { b"ex" } else { b"px" };
    let at_ms = expiry_ms(call, name, call.integer(2)?, unit)?;
    let (key, value) = (call.argument(1)?, call.argument(3)?);
    let (database, reply) = call.database();
    database.set_string(key, value);
    database.expire_at(key, Some(at_ms));
    reply.ok();
    Ok(())
}

fn setnx(call: &mut Call<'_>) -> Outcome {
    let (key, value) = (call.argument(1)?, call.argument(2)?);
    let (database, reply) = call.database();
    let absent = database.peek(key).is_none();
    if absent {
        database.set_string(key, value);
    }
    reply.integer(absent.into());
    Ok(())
}

fn mset(call: &mut Call<'_>) -> Outcome {
    if call.arguments.len().is_multiple_of(2) {
        return Err(call.arity_failure());
    }
    let mut pairs = call.arguments.from(1);
    let (database, reply) = call.database();
    while let (Some(key), Some(value)) = (pairs.next(), pairs.next()) {
        database.set_string(key, value);
    }
    reply.ok();
    Ok(())
}

fn mget(call: &mut Call<'_>) -> Outcome {
    let keys = call.arguments.from(1);
    let (database, reply) = call.database();
    reply.array(keys.len());
    for key in keys {
        let value = database.read(key).and_then(|value| value.as_string().ok());
        reply.bulk_or_null(value.map(Vec::as_slice));
    }
    Ok(())
}

fn getset(call: &mut Call<'_>) -> Outcome {
    let (key, value) = (call.argument(1)?, call.argument(2)?);
    let (database, reply) = call.database();
    let old = database.read(key).map(Value::as_string).transpose()?;
    reply.bulk_or_null(old.map(Vec::as_slice));
    database.set_string(key, value);
    Ok(())
}

fn strlen(call: &mut Call<'_>) -> Outcome {
    let key = call.argument(1)?;
    let (database, reply) = call.database();
    let value = database.read(key).map(Value::as_string).transpose()?;
    reply.count(value.map_or(0, Vec::len));
    Ok(())
}

fn append(call: &mut Call<'_>) -> Outcome {
    let (key, more) = (call.argument(1)?, call.argument(2)?);
    let (database, reply) = call.database();
    let mut value = database.edit_or(key, || Value::String(Vec::new()));
    let bytes = value.as_string_mut()?;
    if bytes.len() + more.len() > MAX_BULK {
        return Err(Failure::other("ERR string exceeds maximum allowed size (proto-max-bulk-len)"));
    }
    bytes.extend_from_slice(more);
    reply.count(bytes.len());
    Ok(())
}

fn decrby(call: &mut Call<'_>) -> Outcome {
    let by = call.integer(2)?;
    let by = by.checked_neg().ok_or_else(|| Failure::other("ERR decrement would overflow"))?;
    add(call, by)
}

fn add(call: &mut Call<'_>, by: i64) -> Outcome {
    let key = call.argument(1)?;
    let (database, reply) = call.database();
    let sum = current(database, key)?.checked_add(by).ok_or(Failure::Overflow)?;
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(sum).as_bytes();
    let mut value = database.edit_or(key, || Value::String(Vec::new()));
    let bytes = value.as_string_mut()?;
    bytes.clear();
    bytes.extend_from_slice(digits);
    reply.integer(sum);
    Ok(())
}

/// A counter's value, 0 where there is none.
fn current(database: &mut Database, key: &[u8]) -> Result<i64, Failure> {
    match database.peek(key) {
        Some(value) => number(value.as_string()?).ok_or(Failure::NotInteger),
        None => Ok(0),
    }
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::desk::Desk;

    #[test]
    fn what_is_set_is_read_back() {
        let mut desk = Desk::new();
        assert_eq!(desk.ask("GET a"), "$-1\n");
        desk.ok("SET a hello");
        assert_eq!(desk.ask("GET a"), "$5\nhello\n");
        assert_eq!(desk.ask("get A"), "$-1\n");
        assert_eq!(desk.ask("APPEND a !"), ":6\n");
        assert_eq!(desk.ask("STRLEN a"), ":6\n");
        assert_eq!(desk.ask("GETSET a x"), "$6\nhello!\n");
        desk.ok("MSET a 1 b 2");
        assert_eq!(desk.words("MGET a nosuch b"), ["1", "(null)", "2"]);
        assert_eq!(desk.ask("MSET a 1 b"), "-ERR wrong number of arguments for 'mset' command\n");
        assert_eq!(desk.ask("SETNX a 5"), ":0\n");
    }

    #[test]
    fn set_has_its_options() {
        let mut desk = Desk::new();
        assert_eq!(desk.ask("SET a 1 XX"), "$-1\n");
        desk.ok("SET a 1 NX EX 100");
        assert_eq!(desk.ask("SET a 2 NX"), "$-1\n");
        assert_eq!(desk.ask("TTL a"), ":100\n");
        desk.ok("SET a 2 KEEPTTL");
        assert_eq!(desk.ask("TTL a"), ":100\n");
        assert_eq!(desk.ask("SET a 3 GET"), "$1\n2\n");
        assert_eq!(desk.ask("TTL a"), ":-1\n");
        desk.ok("SET a 3 PX 5000");
        assert_eq!(desk.ask("TTL a"), ":5\n");
        for (request, error) in [
            ("SET a b XX NX", "-ERR syntax error\n"),
            ("SET a b EX", "-ERR syntax error\n"),
            ("SET a b EX 1 PX 1", "-ERR syntax error\n"),
            ("SET a b EX 0", "-ERR invalid expire time in 'set' command\n"),
            ("SET a b EX 9223372036854775807", "-ERR invalid expire time in 'set' command\n"),
            ("SET a b EX a", "-ERR value is not an integer or out of range\n"),
            ("SETEX a 0 b", "-ERR invalid expire time in 'setex' command\n"),
        ] {
            assert_eq!(desk.ask(request), error, "{request}");
        }
        assert_eq!(desk.ask("GET a"), "$1\n3\n");
    }

    #[test]
    fn counters_count_and_stop_at_their_limits() {
        let mut desk = Desk::new();
        assert_eq!(desk.ask("INCR n"), ":1\n");
        assert_eq!(desk.ask("INCRBY n 9223372036854775806"), ":9223372036854775807\n");
        assert_eq!(desk.ask("INCR n"), "-ERR increment or decrement would overflow\n");
        assert_eq!(desk.ask("DECRBY n 7"), ":9223372036854775800\n");
        assert_eq!(desk.ask("DECR m"), ":-1\n");
        assert_eq!(desk.ask("DECRBY m -9223372036854775808"), "-ERR decrement would overflow\n");
        desk.ok("SET s word");
        assert_eq!(desk.ask("INCR s"), "-ERR value is not an integer or out of range\n");
        assert_eq!(desk.ask("RPUSH l a"), ":1\n");
        for request in ["INCR l", "GET l", "APPEND l x", "GETSET l x", "STRLEN l", "SET l x GET"] {
            assert!(desk.ask(request).starts_with("-WRONGTYPE Operation against a key holding"), "{request}");
        }
        assert_eq!(desk.ask("INCRBY n x"), "-ERR value is not an integer or out of range\n");
    }

    #[test]
    fn a_counter_keeps_its_time_to_live() {
        let mut desk = Desk::new();
        desk.ok("SET n 1 EX 100");
        assert_eq!(desk.ask("INCR n"), ":2\n");
        assert_eq!(desk.ask("TTL n"), ":100\n");
    }
}
