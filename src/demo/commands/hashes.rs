//! Hashes.

use super::{Call, Command, Flags, Outcome};
use crate::demo::store::{Hash, Value};

const WRITE: Flags = Flags::WRITE.and(Flags::FAST);
const READ: Flags = Flags::READ.and(Flags::FAST);

pub(super) const COMMANDS: &[Command] = &[
    Command::new("hset", -4, WRITE.and(Flags::GROWS), hset).keyed(1, 1, 1),
    Command::new("hget", 3, READ, hget).keyed(1, 1, 1),
    Command::new("hdel", -3, WRITE, hdel).keyed(1, 1, 1),
    Command::new("hlen", 2, READ, hlen).keyed(1, 1, 1),
    Command::new("hgetall", 2, Flags::READ, hgetall).keyed(1, 1, 1),
];

fn hset(call: &mut Call<'_>) -> Outcome {
    if !call.arguments.len().is_multiple_of(2) {
        return Err(call.arity_failure());
    }
    let (key, mut pairs) = (call.argument(1)?, call.arguments.from(2));
    let (database, reply) = call.database();
    let mut value = database.edit_or(key, || Value::Hash(Box::default()));
    let hash = value.as_hash_mut()?;
    let mut added = 0;
    while let (Some(field), Some(value)) = (pairs.next(), pairs.next()) {
        added += usize::from(hash.set(field, value));
    }
    reply.count(added);
    Ok(())
}

fn hget(call: &mut Call<'_>) -> Outcome {
    let (key, field) = (call.argument(1)?, call.argument(2)?);
    let (database, reply) = call.database();
    let hash = database.read(key).map(Value::as_hash).transpose()?;
    reply.bulk_or_null(hash.and_then(|hash| hash.get(field)));
    Ok(())
}

fn hdel(call: &mut Call<'_>) -> Outcome {
    let (key, fields) = (call.argument(1)?, call.arguments.from(2));
    let (database, reply) = call.database();
    let removed = match database.edit(key) {
        Some(mut value) => {
            let hash = value.as_hash_mut()?;
            fields.filter(|field| hash.remove(field)).count()
        }
        None => 0,
    };
    reply.count(removed);
    Ok(())
}

fn hlen(call: &mut Call<'_>) -> Outcome {
    let key = call.argument(1)?;
    let (database, reply) = call.database();
    let hash = database.read(key).map(Value::as_hash).transpose()?;
    reply.count(hash.map_or(0, Hash::len));
    Ok(())
}

fn hgetall(call: &mut Call<'_>) -> Outcome {
    let key = call.argument(1)?;
    let (database, reply) = call.database();
    let Some(hash) = database.read(key).map(Value::as_hash).transpose()? else {
        reply.map(0);
        return Ok(());
    };
    reply.map(hash.len());
    for (field, value) in hash.iter() {
        reply.bulk(field);
        reply.bulk(value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::desk::Desk;

    #[test]
    fn fields_are_set_read_and_removed() {
        let mut desk = Desk::new();
        assert_eq!((desk.ask("HSET h a 1 b 2"), desk.ask("HSET h a 3")), (":2\n".into(), ":0\n".into()));
        assert_eq!((desk.ask("HGET h a"), desk.ask("HGET h x")), ("$1\n3\n".into(), "$-1\n".into()));
        assert_eq!((desk.ask("HDEL h b x"), desk.ask("HLEN h")), (":1\n".into(), ":1\n".into()));
        assert_eq!(desk.ask("HGETALL h"), "*2\n$1\na\n$1\n3\n");
        desk.ask("HELLO 3");
        assert_eq!(desk.ask("HGETALL h"), "%1\n$1\na\n$1\n3\n");
        assert_eq!((desk.ask("HDEL h a"), desk.ask("EXISTS h")), (":1\n".into(), ":0\n".into()));
        assert_eq!(desk.ask("HGETALL h"), "%0\n");
    }

    #[test]
    fn pairs_must_be_whole_and_types_right() {
        let mut desk = Desk::new();
        assert_eq!(desk.ask("HSET h a 1 b"), "-ERR wrong number of arguments for 'hset' command\n");
        desk.ok("SET s x");
        for request in ["HSET s a 1", "HGET s a", "HDEL s a", "HLEN s", "HGETALL s"] {
            assert!(desk.ask(request).starts_with("-WRONGTYPE "), "{request}");
        }
    }
}
