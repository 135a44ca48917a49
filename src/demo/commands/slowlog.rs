//! SLOWLOG.

use super::{Call, Command, Flags, Outcome};
use crate::demo::failure::Failure;

pub(super) const COMMANDS: &[Command] = &[Command::group("slowlog", Flags::ADMIN, SUBCOMMANDS)];

const SUBCOMMANDS: &[Command] = &[
    Command::new("get", -2, Flags::ADMIN, get),
    Command::new("len", 2, Flags::ADMIN, len),
    Command::new("reset", 2, Flags::ADMIN, reset),
];

/// Entries given unless the request says how many.
const DEFAULT_COUNT: usize = 10;

fn get(call: &mut Call<'_>) -> Outcome {
    let invalid = || Failure::other("ERR count should be greater than or equal to -1");
    let count = match call.arguments.len() {
        2 => DEFAULT_COUNT,
        3 => match call.integer(2).map_err(|_| invalid())? {
            -1 => usize::MAX,
            count => usize::try_from(count).map_err(|_| invalid())?,
        },
        _ => return Err(call.arity_failure()),
    };
    let entries = call.state.slowlog.entries();
    let reply = &mut call.reply;
    reply.array(count.min(entries.len()));
    for entry in entries.take(count) {
        reply.array(6);
        for n in [entry.id, entry.at_s, entry.us] {
            reply.integer(n as i64);
        }
        reply.array(entry.arguments.len());
        for argument in &entry.arguments {
            reply.bulk(argument);
        }
        reply.text(&entry.address);
        reply.text(&entry.name);
    }
    Ok(())
}

fn len(call: &mut Call<'_>) -> Outcome {
    call.reply.count(call.state.slowlog.entries().len());
    Ok(())
}

fn reset(call: &mut Call<'_>) -> Outcome {
    call.state.slowlog.clear();
    call.reply.ok();
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::desk::Desk;

    #[test]
    fn slow_commands_are_logged_with_who_asked() {
        let mut desk = Desk::new();
        desk.ok("CLIENT SETNAME me");
        assert_eq!(desk.ask("SLOWLOG GET"), "*0\n");
        desk.ok("DEBUG SLEEP 0.011");
        assert_eq!(desk.ask("SLOWLOG LEN"), ":1\n");
        let words = desk.words("SLOWLOG GET -1");
        assert_eq!(words[0], "0");
        assert!(words[2].parse::<u64>().unwrap() >= 11_000, "{words:?}");
        assert_eq!(words[3..], ["DEBUG", "SLEEP", "0.011", "127.0.0.1:50000", "me"]);
        desk.ok("SLOWLOG RESET");
        assert_eq!(desk.ask("SLOWLOG LEN"), ":0\n");
    }

    #[test]
    fn the_threshold_decides_what_is_slow() {
        let mut desk = Desk::new();
        desk.ok("CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 2");
        for _ in 0..3 {
            desk.ask("PING");
        }
        assert_eq!(desk.ask("SLOWLOG LEN"), ":2\n");
        desk.ok("CONFIG SET slowlog-log-slower-than -1");
        desk.ok("SLOWLOG RESET");
        desk.ask("PING");
        assert_eq!(desk.ask("SLOWLOG LEN"), ":0\n");
        for wrong in ["x", "-2"] {
            assert_eq!(
                desk.ask(&format!("SLOWLOG GET {wrong}")),
                "-ERR count should be greater than or equal to -1\n"
            );
        }
    }
}
