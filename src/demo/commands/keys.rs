//! Commands on keys of any type.

use super::{Call, Command, Flags, Outcome};
use crate::demo::failure::Failure;

const READ: Flags = Flags::READ.and(Flags::FAST);

pub(super) const COMMANDS: &[Command] = &[
    Command::new("del", -2, Flags::WRITE, remove).keyed(1, -1, 1),
    Command::new("unlink", -2, Flags::WRITE.and(Flags::FAST), remove).keyed(1, -1, 1),
    Command::new("exists", -2, READ, exists).keyed(1, -1, 1),
    Command::new("type", 2, READ, type_of).keyed(1, 1, 1),
    Command::new("dbsize", 1, READ, dbsize),
    Command::new("flushdb", -1, Flags::WRITE, flushdb),
    Command::new("flushall", -1, Flags::WRITE, flushall),
];

fn remove(call: &mut Call<'_>) -> Outcome {
    let keys = call.arguments.from(1);
    let (database, reply) = call.database();
    reply.count(keys.filter(|key| database.remove(key)).count());
    Ok(())
}

fn exists(call: &mut Call<'_>) -> Outcome {
    let keys = call.arguments.from(1);
    let (database, reply) = call.database();
    reply.count(keys.filter(|key| database.read(key).is_some()).count());
    Ok(())
}

fn type_of(call: &mut Call<'_>) -> Outcome {
    let key = call.argument(1)?;
    let (database, reply) = call.database();
    reply.status(database.peek(key).map_or("none", |value| value.type_name()));
    Ok(())
}

fn dbsize(call: &mut Call<'_>) -> Outcome {
    let (database, reply) = call.database();
    reply.count(database.len());
    Ok(())
}

fn flushdb(call: &mut Call<'_>) -> Outcome {
    flush_mode(call)?;
    let (database, reply) = call.database();
    database.clear();
    reply.ok();
    Ok(())
}

fn flushall(call: &mut Call<'_>) -> Outcome {
    flush_mode(call)?;
    for database in &mut call.state.databases {
        database.clear();
    }
    call.reply.ok();
    Ok(())
}

/// SYNC and ASYNC are both taken: memory is given back at once either way.
fn flush_mode(call: &Call<'_>) -> Outcome {
    match call.arguments.len() {
        1 => Ok(()),
        2 if call.is(1, "sync") || call.is(1, "async") => Ok(()),
        _ => Err(Failure::Syntax),
    }
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::desk::Desk;

    #[test]
    fn keys_are_counted_named_by_type_and_removed() {
        let mut desk = Desk::new();
        desk.ok("MSET a 1 b 2 c 3");
        desk.ask("LPUSH l x");
        assert_eq!(desk.ask("EXISTS a a nosuch"), ":2\n");
        assert_eq!((desk.ask("TYPE l"), desk.ask("TYPE nosuch")), ("+list\n".into(), "+none\n".into()));
        assert_eq!(desk.ask("DBSIZE"), ":4\n");
        assert_eq!(desk.ask("DEL a nosuch"), ":1\n");
        assert_eq!(desk.ask("UNLINK b c"), ":2\n");
        assert_eq!(desk.ask("DBSIZE"), ":1\n");
    }

    #[test]
    fn flushdb_clears_one_database_and_flushall_all() {
        let mut desk = Desk::new();
        desk.ok("SET a 1");
        desk.ok("SELECT 1");
        desk.ok("SET a 1");
        desk.ok("FLUSHDB ASYNC");
        assert_eq!(desk.ask("DBSIZE"), ":0\n");
        desk.ok("SELECT 0");
        assert_eq!(desk.ask("DBSIZE"), ":1\n");
        desk.ok("FLUSHALL");
        assert_eq!(desk.ask("DBSIZE"), ":0\n");
        assert_eq!(desk.ask("FLUSHDB foo"), "-ERR syntax error\n");
    }
}
