//! The built-in server's commands for the connection itself: HELLO, AUTH, SELECT, PING, CLIENT.
//!
//! This file also contains the transaction commands MULTI and EXEC. The engine queues all requests between MULTI and
//! EXEC; WATCH and DISCARD are not supported.

use std::fmt::Write;

use super::{Call, CommandResult};
use crate::demo::{
    REDIS_VERSION,
    reply::{ReplyError, RespProtocol},
    request::number,
    state::{ClientSession, Transaction},
    store::DATABASES,
};

pub fn ping(call: &mut Call<'_>) -> CommandResult {
    match call.arguments.get(1) {
        None => call.reply.status("PONG"),
        Some(text) => call.reply.bulk(text),
    }
    Ok(())
}

pub fn time(call: &mut Call<'_>) -> CommandResult {
    let us = call.state.unix_us();
    call.reply.array(2);
    call.reply.text(&(us / 1_000_000).to_string());
    call.reply.text(&(us % 1_000_000).to_string());
    Ok(())
}

pub fn echo(call: &mut Call<'_>) -> CommandResult {
    let text = call.argument(1)?;
    call.reply.bulk(text);
    Ok(())
}

pub fn select(call: &mut Call<'_>) -> CommandResult {
    let index = usize::try_from(call.integer(1)?).ok().filter(|index| *index < DATABASES);
    let index = index.ok_or(ReplyError::other("ERR DB index is out of range"))?;
    if index > 0 && call.state.member.is_some() {
        return Err(ReplyError::other("ERR SELECT is not allowed in cluster mode"));
    }
    call.session().database = index;
    call.done()
}

pub fn auth(call: &mut Call<'_>) -> CommandResult {
    let words = call.arguments.len();
    if words == 2 && call.state.config.value("requirepass").is_empty() {
        return Err(ReplyError::other(
            "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
             configuration is correct?",
        ));
    }
    let user = if words == 3 { call.argument(1)? } else { b"default" };
    log_in(call, user, call.argument(words - 1)?)?;
    call.done()
}

/// Authenticates a client. The only user is `default`. As in Redis, a server without a password accepts every password.
fn log_in(call: &mut Call<'_>, user: &[u8], password: &[u8]) -> CommandResult {
    let wanted = call.state.config.value("requirepass").as_bytes();
    if user != b"default" || !(wanted.is_empty() || wanted == password) {
        return Err(ReplyError::other("WRONGPASS invalid username-password pair or user is disabled."));
    }
    call.session().authenticated = true;
    Ok(())
}

pub fn hello(call: &mut Call<'_>) -> CommandResult {
    let protocol = match call.arguments.get(1).map(number) {
        None => call.reply.protocol,
        Some(Some(2)) => RespProtocol::Resp2,
        Some(Some(3)) => RespProtocol::Resp3,
        Some(Some(_)) => return Err(ReplyError::other("NOPROTO unsupported protocol version")),
        Some(None) => {
            return Err(ReplyError::other("ERR Protocol version is not an integer or out of range"));
        }
    };
    let (mut name, mut index) = (None, 2);
    while index < call.arguments.len() {
        match (call.word(index).as_slice(), call.arguments.get(index + 1), call.arguments.get(index + 2)) {
            (b"auth", Some(user), Some(password)) => {
                log_in(call, user, password)?;
                index += 3;
            }
            (b"setname", Some(given), _) => {
                name = Some(client_name(given)?);
                index += 2;
            }
            _ => {
                return Err(ReplyError::other(format!(
                    "ERR Syntax error in HELLO option '{}'",
                    call.text(index)
                )));
            }
        }
    }
    let session = call.session();
    if !session.authenticated {
        return Err(ReplyError::other(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH \
             <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the \
             same time",
        ));
    }
    session.protocol = protocol;
    session.name = name.unwrap_or(std::mem::take(&mut session.name));
    let reply = &mut call.reply;
    reply.protocol = protocol;
    reply.map(7);
    for text in ["server", "redis", "version", REDIS_VERSION, "proto"] {
        reply.text(text);
    }
    reply.integer(protocol.version());
    reply.text("id");
    reply.count(call.client);
    let role = if call.state.is_replica() { "replica" } else { "master" };
    for text in ["mode", call.state.mode(), "role", role, "modules"] {
        reply.text(text);
    }
    reply.array(0);
    Ok(())
}

pub fn quit(call: &mut Call<'_>) -> CommandResult {
    call.reply.ok();
    call.session().leaving = true;
    Ok(())
}

pub fn client_id(call: &mut Call<'_>) -> CommandResult {
    call.counted(call.client)
}

/// Runs CLIENT LIST. The reply lacks the fields that the built-in server does not track: ages, buffers and
/// subscriptions.
pub fn client_list(call: &mut Call<'_>) -> CommandResult {
    let mut clients: Vec<(&usize, &ClientSession)> = call.state.sessions.iter().collect();
    clients.sort_by_key(|(id, _)| **id);
    let mut text = String::new();
    for (id, session) in clients {
        let ClientSession { address, name, database, .. } = session;
        let protocol = session.protocol.version();
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "id={id} addr={address} name={name} flags=N db={database} user=default resp={protocol}"
        );
    }
    call.reply.verbatim(&text);
    Ok(())
}

pub fn client_setname(call: &mut Call<'_>) -> CommandResult {
    call.session().name = client_name(call.argument(2)?)?;
    call.done()
}

/// Checks that a client's name has only visible characters: a space or a line end would break CLIENT LIST.
fn client_name(name: &[u8]) -> Result<String, ReplyError> {
    let is_visible = name.iter().all(u8::is_ascii_graphic);
    let name = is_visible.then(|| String::from_utf8_lossy(name).into_owned());
    name.ok_or(ReplyError::other("ERR Client names cannot contain spaces, newlines or special characters."))
}

/// Runs CLIENT SETINFO. The server accepts the values, but does not store them.
pub fn client_setinfo(call: &mut Call<'_>) -> CommandResult {
    call.done()
}

pub fn multi(call: &mut Call<'_>) -> CommandResult {
    let transaction = &mut call.session().transaction;
    if transaction.is_some() {
        return Err(ReplyError::other("ERR MULTI calls can not be nested"));
    }
    *transaction = Some(Transaction::default());
    call.done()
}

/// Runs EXEC. EXEC runs the queued commands, and replies with an array of their replies and errors. The statistics
/// count each queued command and EXEC itself.
pub fn exec(call: &mut Call<'_>) -> CommandResult {
    let transaction = call.session().transaction.take().ok_or(ReplyError::other("ERR EXEC without MULTI"))?;
    if transaction.broken {
        return Err(ReplyError::other("EXECABORT Transaction discarded because of previous errors."));
    }
    call.reply.array(transaction.queued.len());
    for queued in &transaction.queued {
        call.state.delay_command(queued.slow);
        let (client, protocol) = (call.client, call.session().protocol);
        let (state, reply) = (&mut *call.state, call.reply.part(protocol));
        Call { arguments: queued.arguments(), client, id: queued.id, state, reply }.run();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::{commands::testing::TestServer, faults::FaultScript};

    #[test]
    fn greetings_choose_the_protocol() {
        let mut server = TestServer::new();
        assert!(server.ask("HELLO").starts_with("*14\n$6\nserver\n$5\nredis\n$7\nversion\n$6\n7.0.15\n"));
        let hello = server.ask("HELLO 3 SETNAME me");
        assert!(hello.starts_with("%7\n") && hello.contains("$5\nproto\n:3\n$2\nid\n:1\n"), "{hello}");
        server.expect(&[
            ("GET nosuch", "_"),
            ("HELLO 4", "-NOPROTO unsupported protocol version"),
            ("HELLO a", "-ERR Protocol version is not an integer or out of range"),
            ("HELLO 3 foo", "-ERR Syntax error in HELLO option 'foo'"),
        ]);
    }

    #[test]
    fn nothing_but_the_greeting_runs_before_the_password() {
        let mut server = TestServer::with("secret", FaultScript::new(Vec::new(), 1));
        server.expect(&[("GET a", "-NOAUTH Authentication required.")]);
        assert!(server.ask("HELLO 3").starts_with("-NOAUTH HELLO must be called"));
        assert!(server.ask("AUTH wrong").starts_with("-WRONGPASS "));
        assert!(server.ask("AUTH someone secret").starts_with("-WRONGPASS "));
        assert!(server.ask("HELLO 3 AUTH default secret").starts_with("%7\n"));
        server.expect(&[("PING", "+PONG"), ("AUTH secret", "+OK")]);
        let other = server.connect();
        server.ok("CONFIG SET requirepass ''");
        let third = server.connect();
        assert!(server.ask_as(other, "PING").starts_with("-NOAUTH"));
        assert_eq!(server.ask_as(third, "PING"), "+PONG\n");
        assert!(
            server.ask("AUTH x").starts_with("-ERR AUTH <password> called without any password configured")
        );
    }

    #[test]
    fn databases_are_independent() {
        TestServer::new().expect(&[
            ("SET a 1", "+OK"),
            ("SELECT 15", "+OK"),
            ("GET a", "$-1"),
            ("SELECT 16", "-ERR DB index is out of range"),
            ("SELECT a", "-ERR value is not an integer or out of range"),
            ("PING hi", "$2\nhi"),
            ("ECHO hi", "$2\nhi"),
            ("PING a b", "-ERR wrong number of arguments for 'ping' command"),
            ("QUIT", "+OK"),
        ]);
    }

    #[test]
    fn clients_are_listed_with_their_own_names() {
        let mut server = TestServer::new();
        let other = server.connect();
        server.expect(&[
            ("CLIENT SETNAME probe", "+OK"),
            ("CLIENT SETINFO LIB-NAME redyno", "+OK"),
            ("SELECT 3", "+OK"),
        ]);
        assert_eq!(server.ask_as(other, "CLIENT ID"), ":2\n");
        let list = server.ask("CLIENT LIST");
        let lines: Vec<&str> = list.lines().filter(|line| line.starts_with("id=")).collect();
        assert_eq!(lines[0], "id=1 addr=127.0.0.1:50001 name=probe flags=N db=3 user=default resp=2");
        assert!(lines.len() == 2 && lines[1].starts_with("id=2 addr=127.0.0.1:50002 name= "), "{list}");
        assert!(server.ask("CLIENT SETNAME a\x01b").starts_with("-ERR Client names cannot contain spaces"));
    }

    #[test]
    fn queued_commands_run_at_exec_and_an_error_has_its_place_in_the_array() {
        let mut server = TestServer::new();
        let other = server.connect();
        server.ok("MULTI");
        for request in ["SET a 1", "LPUSH a x", "INCR a", "HSET h f v"] {
            assert_eq!(server.ask(request), "+QUEUED\n");
        }
        assert_eq!(server.ask_as(other, "GET a"), "$-1\n");
        let wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value";
        assert_eq!(server.ask("EXEC"), format!("*4\n+OK\n{wrong}\n:2\n:1\n"));
        server.expect(&[("EXEC", "-ERR EXEC without MULTI")]);
        let info = server.ask("INFO commandstats");
        for counted in ["multi:calls=1,", "set:calls=1,", "lpush:calls=1,", "exec:calls=2,"] {
            assert!(info.contains(&format!("cmdstat_{counted}")), "{counted} {info}");
        }
    }

    #[test]
    fn a_refused_request_breaks_the_transaction_and_nothing_runs() {
        let mut server = TestServer::new();
        for refused in ["GET", "NOSUCH a", "CONFIG nosuch"] {
            server.expect(&[("MULTI", "+OK"), ("SET a 1", "+QUEUED")]);
            assert!(server.ask(refused).starts_with("-ERR "), "{refused}");
            server.expect(&[
                ("EXEC", "-EXECABORT Transaction discarded because of previous errors."),
                ("EXISTS a", ":0"),
            ]);
        }
    }

    #[test]
    fn multi_is_not_nested() {
        TestServer::new().expect(&[
            ("MULTI", "+OK"),
            ("MULTI", "-ERR MULTI calls can not be nested"),
            ("EXEC", "*0"),
        ]);
    }
}
