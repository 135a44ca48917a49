//! The commands SUBSCRIBE and PUBLISH, and SSUBSCRIBE and SPUBLISH for sharded channels. A client keeps its channels
//! until it disconnects.

use super::{Call, CommandResult};
use crate::{
    demo::{
        reply::{ReplyWriter, RespProtocol},
        state::ServerState,
    },
    protocol::key_slot,
};

/// Runs SUBSCRIBE or SSUBSCRIBE.
pub fn subscribe(call: &mut Call<'_>, is_sharded: bool) -> CommandResult {
    let channels = call.state.channels.of(is_sharded);
    let mut own = channels.values().filter(|clients| clients.contains(&call.client)).count();
    for name in call.arguments.from(1) {
        own += usize::from(channels.entry(name.to_vec()).or_default().insert(call.client));
        call.reply.push(3);
        call.reply.text(if is_sharded { "ssubscribe" } else { "subscribe" });
        call.reply.bulk(name);
        call.reply.count(own);
    }
    Ok(())
}

/// Runs PUBLISH or SPUBLISH.
pub fn publish(call: &mut Call<'_>, is_sharded: bool) -> CommandResult {
    let (name, message) = (call.argument(1)?, call.argument(2)?);
    let clients = call.state.channels.of(is_sharded).get(name).cloned().unwrap_or_default();
    for client in &clients {
        let kind = if is_sharded { "smessage" } else { "message" };
        post(call.state, *client, (kind, name), |reply| reply.bulk(message));
    }
    call.reply.count(clients.len());
    Ok(())
}

/// Posts a message about a channel to a client. The message consists of `kind`, the channel's `name`, and the
/// value that `write` writes.
fn post(
    state: &mut ServerState,
    client: usize,
    (kind, name): (&str, &[u8]),
    write: impl FnOnce(&mut ReplyWriter<'_>),
) {
    let mut bytes = Vec::new();
    let protocol = state.sessions.get(&client).map_or(RespProtocol::Resp2, |session| session.protocol);
    let mut reply = ReplyWriter::new(&mut bytes, protocol);
    reply.push(3);
    reply.text(kind);
    reply.bulk(name);
    write(&mut reply);
    state.channels.posted.push((client, bytes));
}

/// Ends the subscriptions to sharded channels whose slots another node owns now, and wakes the clients that wait for
/// keys of such slots.
pub fn leave_lost_slots(state: &mut ServerState) {
    let Some(member) = state.member.clone() else { return };
    let is_lost = |name: &[u8]| !member.owns(key_slot(name));
    state.waiting.wake_all(is_lost);
    let lost: Vec<_> = state.channels.of(true).extract_if(.., |name, _| is_lost(name)).collect();
    for (name, clients) in lost {
        let end = |client| post(state, client, ("sunsubscribe", &name), |reply| reply.count(0));
        clients.into_iter().for_each(end);
    }
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::testing::TestServer;

    #[test]
    fn a_message_reaches_the_subscribers_of_its_channel_and_counts_them() {
        let mut server = TestServer::new();
        assert_eq!(server.ask("PUBLISH a x"), ":0\n");
        assert_eq!(
            server.ask("SUBSCRIBE a a b"),
            "*3\n$9\nsubscribe\n$1\na\n:1\n".repeat(2) + "*3\n$9\nsubscribe\n$1\nb\n:2\n"
        );
        assert_eq!(server.ask("PUBLISH a x"), ":1\n");
        assert_eq!(server.ask("SPUBLISH a x"), ":0\n", "a sharded channel is another one");
        assert_eq!(server.ask("SSUBSCRIBE c"), "*3\n$10\nssubscribe\n$1\nc\n:1\n");
        assert_eq!(server.ask("PUBLISH c x"), ":0\n");
        let posted = std::mem::take(&mut server.engine.state.channels.posted);
        let texts: Vec<_> = posted.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes)).collect();
        assert_eq!(texts, ["*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n"]);
        let client = posted[0].0;
        server.engine.state.channels.leave(client);
        assert_eq!((server.ask("PUBLISH a x"), server.ask("SPUBLISH c x")), (":0\n".into(), ":0\n".into()));
    }
}
