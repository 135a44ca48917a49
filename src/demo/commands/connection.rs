//! Commands on the connection itself: greeting, password, database, PING.

use super::{Call, Command, Flags, Outcome};
use crate::demo::failure::Failure;
use crate::demo::identity;
use crate::demo::reply::Protocol;
use crate::demo::request::number;
use crate::demo::state::{Closing, DATABASES};

const FAST: Flags = Flags::FAST;
const OPEN: Flags = Flags::FAST.and(Flags::OPEN);
const AT_ONCE: Flags = OPEN.and(Flags::UNQUEUED);

pub(super) const COMMANDS: &[Command] = &[
    Command::new("ping", -1, FAST, ping),
    Command::new("echo", 2, FAST, echo),
    Command::new("select", 2, FAST, select),
    Command::new("auth", -2, OPEN, auth),
    Command::new("hello", -1, OPEN, hello),
    Command::new("reset", 1, AT_ONCE, reset),
    Command::new("quit", -1, AT_ONCE, quit),
];

fn ping(call: &mut Call<'_>) -> Outcome {
    match call.arguments.get(1) {
        None => call.reply.status("PONG"),
        Some(text) if call.arguments.len() == 2 => call.reply.bulk(text),
        Some(_) => return Err(call.arity_failure()),
    }
    Ok(())
}

fn echo(call: &mut Call<'_>) -> Outcome {
    let text = call.argument(1)?;
    call.reply.bulk(text);
    Ok(())
}

fn select(call: &mut Call<'_>) -> Outcome {
    let index = usize::try_from(call.integer(1)?).ok().filter(|index| *index < DATABASES);
    call.session().database = index.ok_or_else(|| Failure::other("ERR DB index is out of range"))?;
    call.reply.ok();
    Ok(())
}

fn auth(call: &mut Call<'_>) -> Outcome {
    let (user, password): (&[u8], &[u8]) = match call.arguments.len() {
        2 if call.state.config.value("requirepass").is_empty() => {
            return Err(Failure::other(
                "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
                 configuration is correct?",
            ));
        }
        2 => (b"default", call.argument(1)?),
        3 => (call.argument(1)?, call.argument(2)?),
        _ => return Err(Failure::Syntax),
    };
    log_in(call, user, password)?;
    call.reply.ok();
    Ok(())
}

/// There is one user, `default`; without a password every password is right, as in Redis.
fn log_in(call: &mut Call<'_>, user: &[u8], password: &[u8]) -> Outcome {
    let wanted = call.state.config.value("requirepass").as_bytes();
    if user != b"default" || !(wanted.is_empty() || wanted == password) {
        return Err(Failure::other("WRONGPASS invalid username-password pair or user is disabled."));
    }
    call.session().authenticated = true;
    Ok(())
}

fn hello(call: &mut Call<'_>) -> Outcome {
    let protocol = match call.arguments.get(1) {
        None => call.reply.protocol,
        Some(version) => match number(version) {
            Some(2) => Protocol::Resp2,
            Some(3) => Protocol::Resp3,
            Some(_) => return Err(Failure::other("NOPROTO unsupported protocol version")),
            None => return Err(Failure::other("ERR Protocol version is not an integer or out of range")),
        },
    };
    let mut name = None;
    let mut index = 2;
    while index < call.arguments.len() {
        if call.is(index, "auth") && index + 2 < call.arguments.len() {
            let (user, password) = (call.argument(index + 1)?, call.argument(index + 2)?);
            log_in(call, user, password)?;
            index += 3;
        } else if call.is(index, "setname") && index + 1 < call.arguments.len() {
            name = Some(super::client::valid_name(call.argument(index + 1)?)?);
            index += 2;
        } else {
            let option = String::from_utf8_lossy(call.argument(index)?).into_owned();
            return Err(Failure::other(format!("ERR Syntax error in HELLO option '{option}'")));
        }
    }
    let session = call.session();
    if !session.authenticated {
        return Err(Failure::other(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH \
             <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the \
             same time",
        ));
    }
    session.protocol = protocol;
    if let Some(name) = name {
        session.name = name;
    }
    let id = session.id;
    greet(call, protocol, id);
    Ok(())
}

fn greet(call: &mut Call<'_>, protocol: Protocol, id: u64) {
    let reply = &mut call.reply;
    reply.protocol = protocol;
    reply.map(7);
    for (field, value) in [("server", "redis"), ("version", identity::REDIS_VERSION)] {
        reply.text(field);
        reply.text(value);
    }
    reply.text("proto");
    reply.integer(if protocol == Protocol::Resp3 { 3 } else { 2 });
    reply.text("id");
    reply.integer(id as i64);
    for (field, value) in [("mode", "standalone"), ("role", "master")] {
        reply.text(field);
        reply.text(value);
    }
    reply.text("modules");
    reply.array(0);
}

fn reset(call: &mut Call<'_>) -> Outcome {
    let open = call.state.config.value("requirepass").is_empty();
    let session = call.session();
    session.transaction = None;
    session.database = 0;
    session.name = String::new();
    session.protocol = Protocol::Resp2;
    session.authenticated = open;
    call.reply.status("RESET");
    Ok(())
}

fn quit(call: &mut Call<'_>) -> Outcome {
    call.reply.ok();
    call.session().closing = Closing::AfterReplies;
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::desk::Desk;

    #[test]
    fn greetings_choose_the_protocol() {
        let mut desk = Desk::new();
        assert!(desk.ask("HELLO").starts_with("*14\n$6\nserver\n$5\nredis\n$7\nversion\n$6\n7.0.15\n"));
        let hello = desk.ask("HELLO 3 SETNAME me");
        assert!(hello.starts_with("%7\n"), "{hello}");
        assert!(hello.contains("$5\nproto\n:3\n$2\nid\n:1\n"), "{hello}");
        assert_eq!((desk.ask("GET nosuch"), desk.ask("CLIENT GETNAME")), ("_\n".into(), "$2\nme\n".into()));
        assert_eq!((desk.ask("RESET"), desk.ask("GET nosuch")), ("+RESET\n".into(), "$-1\n".into()));
        assert_eq!(desk.ask("HELLO 4"), "-NOPROTO unsupported protocol version\n");
        assert_eq!(desk.ask("HELLO a"), "-ERR Protocol version is not an integer or out of range\n");
        assert_eq!(desk.ask("HELLO 3 foo"), "-ERR Syntax error in HELLO option 'foo'\n");
    }

    #[test]
    fn nothing_but_the_greeting_runs_before_the_password() {
        let mut desk = Desk::with_password("secret");
        assert_eq!(desk.ask("GET a"), "-NOAUTH Authentication required.\n");
        assert!(desk.ask("HELLO 3").starts_with("-NOAUTH HELLO must be called"));
        assert!(desk.ask("AUTH wrong").starts_with("-WRONGPASS "));
        assert!(desk.ask("AUTH someone secret").starts_with("-WRONGPASS "));
        assert!(desk.ask("HELLO 3 AUTH default secret").starts_with("%7\n"));
        assert_eq!(desk.ask("PING"), "+PONG\n");
        desk.ask("RESET");
        assert_eq!(desk.ask("PING"), "-NOAUTH Authentication required.\n");
        desk.ok("AUTH secret");
        let other = desk.connect();
        desk.ok("CONFIG SET requirepass ''");
        let third = desk.connect();
        assert!(desk.ask_as(other, "PING").starts_with("-NOAUTH"));
        assert_eq!(desk.ask_as(third, "PING"), "+PONG\n");
        assert!(
            desk.ask("AUTH x").starts_with("-ERR AUTH <password> called without any password configured")
        );
    }

    #[test]
    fn databases_are_apart() {
        let mut desk = Desk::new();
        desk.ok("SET a 1");
        desk.ok("SELECT 15");
        assert_eq!(desk.ask("GET a"), "$-1\n");
        assert_eq!(desk.ask("SELECT 16"), "-ERR DB index is out of range\n");
        assert_eq!(desk.ask("SELECT a"), "-ERR value is not an integer or out of range\n");
        assert_eq!((desk.ask("PING hi"), desk.ask("ECHO hi")), ("$2\nhi\n".into(), "$2\nhi\n".into()));
        assert_eq!(desk.ask("PING a b"), "-ERR wrong number of arguments for 'ping' command\n");
        desk.ok("QUIT");
    }
}
