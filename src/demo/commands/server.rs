//! The rest of what one can ask the server itself: COMMAND, CLUSTER, DEBUG, TIME.

use std::time::Duration;

use super::call::float;
use super::{Call, Command, Flags, Outcome, Run, Table};
use crate::demo::failure::Failure;

pub(super) const COMMANDS: &[Command] = &[
    // COMMAND alone is a command too, so it looks at its first argument itself.
    Command::new("command", -1, Flags::NONE, command),
    Command::group("cluster", Flags::NONE, &[Command::new("info", 2, Flags::NONE, no_cluster)]),
    Command::group("debug", Flags::ADMIN, &[Command::new("sleep", 3, Flags::ADMIN, sleep)]),
    Command::new("time", 1, Flags::FAST, time),
];

fn command(call: &mut Call<'_>) -> Outcome {
    match call.arguments.get(1).map(<[u8]>::to_ascii_lowercase).as_deref() {
        None => {
            call.reply.array(Table::commands().count());
            Table::commands().for_each(|command| describe(call, command));
        }
        Some(b"count") => call.reply.count(Table::commands().count()),
        // No documentation is kept; an empty map makes redis-cli do without hints.
        Some(b"docs") => call.reply.map(0),
        Some(b"info") => {
            let names = call.arguments.from(2);
            call.reply.array(names.len());
            for name in names {
                match call.table.named(name) {
                    Some(id) => describe(call, call.table.command(id)),
                    None => call.reply.null_array(),
                }
            }
        }
        Some(b"list") => {
            call.reply.array(Table::commands().count());
            Table::commands().for_each(|command| call.reply.text(command.name));
        }
        Some(other) => {
            let name = String::from_utf8_lossy(other).into_owned();
            return Err(Failure::other(format!("ERR unknown subcommand '{name}'. Try COMMAND HELP.")));
        }
    }
    Ok(())
}

/// The ten elements that COMMAND gives of a command in Redis 7; categories, tips and key specifications are empty.
fn describe(call: &mut Call<'_>, command: &Command) {
    let reply = &mut call.reply;
    reply.array(10);
    reply.text(command.name);
    reply.integer(command.arity.0.into());
    let flags = command.flags.names();
    reply.set(flags.len());
    for flag in flags {
        reply.status(flag);
    }
    for key in command.keys {
        reply.integer(key.into());
    }
    for _ in 0..3 {
        reply.array(0);
    }
    match command.run {
        Run::Function(_) => reply.array(0),
        Run::Subcommands(subcommands) => {
            reply.array(subcommands.len());
            for subcommand in subcommands {
                describe(call, subcommand);
            }
        }
    }
}

fn no_cluster(_: &mut Call<'_>) -> Outcome {
    Err(Failure::other("ERR This instance has cluster support disabled"))
}

fn sleep(call: &mut Call<'_>) -> Outcome {
    let seconds = float(call.argument(2)?)?;
    let length = Duration::try_from_secs_f64(seconds).map_err(|_| Failure::NotPositive)?;
    call.state.sleep(length);
    call.reply.ok();
    Ok(())
}

fn time(call: &mut Call<'_>) -> Outcome {
    let us = call.state.unix_us();
    call.reply.array(2);
    call.reply.text(&(us / 1_000_000).to_string());
    call.reply.text(&(us % 1_000_000).to_string());
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::desk::Desk;

    #[test]
    fn the_table_describes_itself() {
        let mut desk = Desk::new();
        let count: usize = desk.words("COMMAND COUNT")[0].parse().unwrap();
        assert!(desk.ask("COMMAND").starts_with(&format!("*{count}\n*10\n$3\nget\n:2\n")));
        let get = desk.ask("COMMAND INFO get nosuch");
        assert_eq!(get, "*2\n*10\n$3\nget\n:2\n*2\n+readonly\n+fast\n:1\n:1\n:1\n*0\n*0\n*0\n*0\n*-1\n");
        assert_eq!(desk.ask("COMMAND DOCS"), "*0\n");
        assert_eq!(desk.words("COMMAND LIST").len(), count);
        assert_eq!(desk.ask("COMMAND foo"), "-ERR unknown subcommand 'foo'. Try COMMAND HELP.\n");
    }

    #[test]
    fn what_is_unknown_is_refused_in_the_words_of_redis() {
        let mut desk = Desk::new();
        assert_eq!(desk.ask("CLUSTER INFO"), "-ERR This instance has cluster support disabled\n");
        assert_eq!(
            desk.ask("foo bar '\"baz\"'"),
            "-ERR unknown command 'foo', with args beginning with: 'bar' '\"baz\"' \n"
        );
        assert_eq!(desk.ask("foo"), "-ERR unknown command 'foo', with args beginning with: \n");
        assert_eq!(desk.ask("get"), "-ERR wrong number of arguments for 'get' command\n");
        assert_eq!(desk.ask("DEBUG SLEEP x"), "-ERR value is not a valid float\n");
        assert_eq!(desk.ask("DEBUG SLEEP -1"), "-ERR value is out of range, must be positive\n");
        let time = desk.words("TIME");
        assert!(
            time[0].parse::<u64>().unwrap() > 1_700_000_000 && time[1].parse::<u64>().unwrap() < 1_000_000
        );
    }
}
