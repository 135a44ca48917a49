//! Sets.

use rand::RngExt;

use super::{Call, Command, Flags, Outcome};
use crate::demo::failure::Failure;
use crate::demo::store::{Set, Value};

const WRITE: Flags = Flags::WRITE.and(Flags::FAST);
const READ: Flags = Flags::READ.and(Flags::FAST);

pub(super) const COMMANDS: &[Command] = &[
    Command::new("sadd", -3, WRITE.and(Flags::GROWS), sadd).keyed(1, 1, 1),
    Command::new("srem", -3, WRITE, srem).keyed(1, 1, 1),
    Command::new("spop", -2, WRITE, spop).keyed(1, 1, 1),
    Command::new("scard", 2, READ, scard).keyed(1, 1, 1),
    Command::new("sismember", 3, READ, sismember).keyed(1, 1, 1),
    Command::new("smembers", 2, Flags::READ, smembers).keyed(1, 1, 1),
];

fn sadd(call: &mut Call<'_>) -> Outcome {
    let (key, members) = (call.argument(1)?, call.arguments.from(2));
    let (database, reply) = call.database();
    let mut value = database.edit_or(key, || Value::Set(Box::default()));
    let set = value.as_set_mut()?;
    reply.count(members.filter(|member| set.add(member)).count());
    Ok(())
}

fn srem(call: &mut Call<'_>) -> Outcome {
    let (key, members) = (call.argument(1)?, call.arguments.from(2));
    let (database, reply) = call.database();
    let removed = match database.edit(key) {
        Some(mut value) => {
            let set = value.as_set_mut()?;
            members.filter(|member| set.remove(member)).count()
        }
        None => 0,
    };
    reply.count(removed);
    Ok(())
}

fn spop(call: &mut Call<'_>) -> Outcome {
    if call.arguments.len() > 3 {
        return Err(Failure::Syntax);
    }
    let count = match call.arguments.get(2) {
        Some(_) => {
            let count = call.integer(2).map_err(|_| Failure::NotPositive)?;
            Some(usize::try_from(count).map_err(|_| Failure::NotPositive)?)
        }
        None => None,
    };
    let key = call.argument(1)?;
    // The generator is taken out of the state while the database is borrowed from it.
    let mut rng = call.state.rng.clone();
    let (database, reply) = call.database();
    let mut value = database.edit(key);
    let set = value.as_mut().map(|value| value.as_set_mut()).transpose()?;
    let mut draw = |set: &mut Set| set.take(rng.random_range(0..set.len()));
    match (set, count) {
        (None, None) => reply.null(),
        (None, Some(_)) => reply.set(0),
        (Some(set), None) => reply.bulk(&draw(set)),
        (Some(set), Some(count)) => {
            let count = count.min(set.len());
            reply.set(count);
            for _ in 0..count {
                reply.bulk(&draw(set));
            }
        }
    }
    drop(value);
    call.state.rng = rng;
    Ok(())
}

fn scard(call: &mut Call<'_>) -> Outcome {
    let key = call.argument(1)?;
    let (database, reply) = call.database();
    let set = database.read(key).map(Value::as_set).transpose()?;
    reply.count(set.map_or(0, Set::len));
    Ok(())
}

fn sismember(call: &mut Call<'_>) -> Outcome {
    let (key, member) = (call.argument(1)?, call.argument(2)?);
    let (database, reply) = call.database();
    let set = database.read(key).map(Value::as_set).transpose()?;
    reply.integer(set.is_some_and(|set| set.contains(member)).into());
    Ok(())
}

fn smembers(call: &mut Call<'_>) -> Outcome {
    let key = call.argument(1)?;
    let (database, reply) = call.database();
    let Some(set) = database.read(key).map(Value::as_set).transpose()? else {
        reply.set(0);
        return Ok(());
    };
    reply.set(set.len());
    for member in set.iter() {
        reply.bulk(member);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::desk::Desk;

    #[test]
    fn members_are_added_found_and_removed() {
        let mut desk = Desk::new();
        assert_eq!((desk.ask("SADD s a b a"), desk.ask("SADD s b c")), (":2\n".into(), ":1\n".into()));
        assert_eq!((desk.ask("SISMEMBER s c"), desk.ask("SISMEMBER s x")), (":1\n".into(), ":0\n".into()));
        assert_eq!((desk.ask("SREM s c x"), desk.ask("SCARD s")), (":1\n".into(), ":2\n".into()));
        let mut members = desk.words("SMEMBERS s");
        members.sort();
        assert_eq!(members, ["a", "b"]);
    }

    #[test]
    fn spop_takes_each_member_once_and_then_the_key_is_gone() {
        let mut desk = Desk::new();
        desk.ask("SADD s a b c d e");
        let mut taken = desk.words("SPOP s 3");
        taken.extend([desk.words("SPOP s"), desk.words("SPOP s")].concat());
        taken.sort();
        assert_eq!(taken, ["a", "b", "c", "d", "e"]);
        assert_eq!((desk.ask("EXISTS s"), desk.ask("SPOP s")), (":0\n".into(), "$-1\n".into()));
        assert_eq!(desk.ask("SPOP s 2"), "*0\n");
        desk.ask("HELLO 3");
        assert_eq!((desk.ask("SPOP s 2"), desk.ask("SMEMBERS s")), ("~0\n".into(), "~0\n".into()));
        assert_eq!(desk.ask("SPOP s -1"), "-ERR value is out of range, must be positive\n");
        desk.ok("SET x x");
        for request in ["SADD x a", "SREM x a", "SPOP x", "SCARD x", "SISMEMBER x a", "SMEMBERS x"] {
            assert!(desk.ask(request).starts_with("-WRONGTYPE "), "{request}");
        }
    }
}
