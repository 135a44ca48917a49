//! The built-in server's command CLIENT TRACKING. A client that tracks keys gets a message when another client changes
//! a key that it has read.

use super::{COMMANDS, Call, CommandResult, READS};
use crate::demo::{
    reply::{ReplyError, ReplyWriter, RespProtocol},
    state::ServerState,
};

/// Runs CLIENT TRACKING, with the options BCAST and PREFIX.
pub fn track(call: &mut Call<'_>) -> CommandResult {
    let options = [3, 4].map(|at| call.word(at));
    let prefix = match (call.arguments.len(), options.each_ref().map(Vec::as_slice)) {
        (3, _) => None,
        (4, [b"bcast", _]) => Some(Vec::new()),
        (6, [b"bcast", b"prefix"]) => Some(call.argument(5)?.to_vec()),
        _ => {
            return Err(ReplyError::other(
                "ERR the built-in server knows only the options BCAST and one PREFIX",
            ));
        }
    };
    call.state.tracking.leave(call.client);
    match call.word(2).as_slice() {
        b"on" if call.reply.protocol == RespProtocol::Resp2 => {
            return Err(ReplyError::other(
                "ERR Client tracking is only possible in RESP3 on the built-in server",
            ));
        }
        b"on" => {
            call.state.tracking.clients.insert(call.client, prefix);
            let databases = call.state.databases.iter_mut();
            databases.for_each(|database| _ = database.expired_keys.get_or_insert_default());
        }
        b"off" => {}
        _ => return Err(ReplyError::SYNTAX),
    }
    call.done()
}

/// Records the keys that a command has read, and posts invalidation messages for the keys that it has written.
pub fn note_keys(call: &mut Call<'_>) {
    let command = &COMMANDS[call.id];
    if command.name.starts_with("flush") {
        let clients = call.state.tracking.clear();
        clients.into_iter().for_each(|client| post(call.state, client, None));
    }
    note_expired(call.state);
    for key in command.keys(call.arguments) {
        if command.has(READS) {
            call.state.tracking.read(key, call.client);
            continue;
        }
        note_write(call.state, key);
    }
}

/// Posts invalidation messages for the keys that have expired since the last call.
pub fn note_expired(state: &mut ServerState) {
    let keys = state.databases.iter_mut().filter_map(|database| database.expired_keys.as_mut());
    let keys: Vec<_> = keys.flat_map(std::mem::take).collect();
    keys.iter().for_each(|key| note_write(state, key));
}

fn note_write(state: &mut ServerState, key: &[u8]) {
    state.tracking.write(key).into_iter().for_each(|client| post(state, client, Some(key)));
}

/// Posts the invalidation message for a key to a client. `None` means all keys.
fn post(state: &mut ServerState, client: usize, key: Option<&[u8]>) {
    let mut bytes = Vec::new();
    let mut message = ReplyWriter::new(&mut bytes, RespProtocol::Resp3);
    message.push(2);
    message.text("invalidate");
    match key {
        Some(key) => {
            message.array(1);
            message.bulk(key);
        }
        None => message.null(),
    }
    state.channels.posted.push((client, bytes));
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::testing::TestServer;

    #[test]
    fn a_change_is_posted_to_clients_that_have_read_the_key_or_track_its_prefix() {
        let mut server = TestServer::new();
        assert!(
            server.ask("CLIENT TRACKING ON").starts_with("-ERR Client tracking is only possible in RESP3")
        );
        let [other, all] = [server.connect(), server.connect()];
        for client in [1, all] {
            assert!(server.ask_as(client, "HELLO 3").starts_with('%'));
        }
        server.ok("CLIENT TRACKING ON");
        assert_eq!(server.ask_as(all, "CLIENT TRACKING ON BCAST PREFIX k:"), "+OK\n");
        server.expect(&[("GET k:1", "_"), ("GET x", "_")]);
        let mut reached = |line| {
            assert!(!server.ask_as(other, line).starts_with('-'), "{line}");
            let posted = std::mem::take(&mut server.engine.state.channels.posted);
            posted
                .into_iter()
                .map(|(client, bytes)| (client, String::from_utf8(bytes).unwrap()))
                .collect::<Vec<_>>()
        };
        let message = |key: &str| format!(">2\r\n$10\r\ninvalidate\r\n*1\r\n${}\r\n{key}\r\n", key.len());
        assert_eq!(reached("SET k:1 a"), [(1, message("k:1")), (all, message("k:1"))]);
        assert_eq!(reached("DEL k:1 x"), [(all, message("k:1")), (1, message("x"))]);
        assert_eq!(reached("GET k:1"), []);
        assert_eq!(reached("SET x a"), [], "a key is read again before it is heard of again");
        let flushed = ">2\r\n$10\r\ninvalidate\r\n_\r\n".to_owned();
        for flush in ["FLUSHALL", "FLUSHDB"] {
            assert_eq!(reached(flush), [(1, flushed.clone()), (all, flushed.clone())]);
        }
        assert_eq!(reached("SET k:2 a PX 1"), [(all, message("k:2"))]);
        let state = &mut server.engine.state;
        while state.channels.posted.is_empty() {
            state.read_clock();
            state.tick();
            super::note_expired(state);
        }
        assert_eq!(std::mem::take(&mut state.channels.posted), [(all, message("k:2").into_bytes())]);
        server.ok("CLIENT TRACKING OFF");
        assert!(server.ask("CLIENT TRACKING ON OPTIN").starts_with("-ERR the built-in server knows only"));
    }
}
