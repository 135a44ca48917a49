//! Lists.

use super::call::index_range;
use super::{Call, Command, Flags, Outcome};
use crate::demo::failure::Failure;
use crate::demo::store::{List, Value};

const WRITE: Flags = Flags::WRITE.and(Flags::FAST);

pub(super) const COMMANDS: &[Command] = &[
    Command::new("lpush", -3, WRITE.and(Flags::GROWS), |call| push(call, List::push_front)).keyed(1, 1, 1),
    Command::new("rpush", -3, WRITE.and(Flags::GROWS), |call| push(call, List::push_back)).keyed(1, 1, 1),
    Command::new("lpop", -2, WRITE, |call| pop(call, List::pop_front)).keyed(1, 1, 1),
    Command::new("rpop", -2, WRITE, |call| pop(call, List::pop_back)).keyed(1, 1, 1),
    Command::new("llen", 2, Flags::READ.and(Flags::FAST), llen).keyed(1, 1, 1),
    Command::new("lrange", 4, Flags::READ, lrange).keyed(1, 1, 1),
];

fn push(call: &mut Call<'_>, push: fn(&mut List, &[u8])) -> Outcome {
    let (key, items) = (call.argument(1)?, call.arguments.from(2));
    let (database, reply) = call.database();
    let mut value = database.edit_or(key, || Value::List(Box::default()));
    let list = value.as_list_mut()?;
    for item in items {
        push(list, item);
    }
    reply.count(list.len());
    Ok(())
}

fn pop(call: &mut Call<'_>, pop: fn(&mut List) -> Option<Box<[u8]>>) -> Outcome {
    if call.arguments.len() > 3 {
        return Err(call.arity_failure());
    }
    let count = match call.arguments.get(2) {
        Some(_) => {
            let count = call.integer(2).map_err(|_| Failure::NotPositive)?;
            Some(usize::try_from(count).map_err(|_| Failure::NotPositive)?)
        }
        None => None,
    };
    let key = call.argument(1)?;
    let (database, reply) = call.database();
    let mut value = database.edit(key);
    let list = value.as_mut().map(|value| value.as_list_mut()).transpose()?;
    match (list, count) {
        (None, None) => reply.null(),
        (None, Some(_)) => reply.null_array(),
        (Some(list), None) => reply.bulk_or_null(pop(list).as_deref()),
        (Some(list), Some(count)) => {
            let count = count.min(list.len());
            reply.array(count);
            for item in std::iter::from_fn(|| pop(list)).take(count) {
                reply.bulk(&item);
            }
        }
    }
    Ok(())
}

fn llen(call: &mut Call<'_>) -> Outcome {
    let key = call.argument(1)?;
    let (database, reply) = call.database();
    let list = database.read(key).map(Value::as_list).transpose()?;
    reply.count(list.map_or(0, List::len));
    Ok(())
}

fn lrange(call: &mut Call<'_>) -> Outcome {
    let (key, start, stop) = (call.argument(1)?, call.integer(2)?, call.integer(3)?);
    let (database, reply) = call.database();
    let Some(list) = database.read(key).map(Value::as_list).transpose()? else {
        reply.array(0);
        return Ok(());
    };
    let (from, to) = index_range(start, stop, list.len());
    reply.array(to - from);
    for item in list.range(from, to) {
        reply.bulk(item);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::desk::Desk;

    #[test]
    fn lists_grow_and_shrink_at_both_ends() {
        let mut desk = Desk::new();
        assert_eq!((desk.ask("LPUSH l b a"), desk.ask("RPUSH l c d")), (":2\n".into(), ":4\n".into()));
        assert_eq!(desk.words("LRANGE l 0 -1"), ["a", "b", "c", "d"]);
        assert_eq!(desk.words("LRANGE l -2 100"), ["c", "d"]);
        assert_eq!(desk.ask("LRANGE l 3 1"), "*0\n");
        assert_eq!((desk.ask("LPOP l"), desk.ask("RPOP l")), ("$1\na\n".into(), "$1\nd\n".into()));
        assert_eq!(desk.words("RPOP l 5"), ["c", "b"]);
        assert_eq!((desk.ask("EXISTS l"), desk.ask("LLEN l")), (":0\n".into(), ":0\n".into()));
        assert_eq!((desk.ask("LPOP l"), desk.ask("LPOP l 1")), ("$-1\n".into(), "*-1\n".into()));
    }

    #[test]
    fn wrong_types_and_counts_are_refused() {
        let mut desk = Desk::new();
        desk.ok("SET s x");
        for request in ["LPUSH s a", "LPOP s", "LLEN s", "LRANGE s 0 1"] {
            assert!(desk.ask(request).starts_with("-WRONGTYPE "), "{request}");
        }
        assert_eq!(desk.ask("LPOP l -1"), "-ERR value is out of range, must be positive\n");
        assert_eq!(desk.ask("LRANGE l a b"), "-ERR value is not an integer or out of range\n");
        assert_eq!(desk.ask("LPOP l 1 2"), "-ERR wrong number of arguments for 'lpop' command\n");
        assert_eq!(desk.ask("GET s"), "$1\nx\n");
    }
}
