//! The built-in server's commands SUBSCRIBE, PSUBSCRIBE and PUBLISH, and SSUBSCRIBE and SPUBLISH for sharded channels.
//! A client keeps its channels until it disconnects. The server also sends keyspace notifications as messages.

use super::{Call, CommandResult};
use crate::{
    demo::{
        channels::ChannelKind,
        reply::{ReplyWriter, RespProtocol},
        state::{ServerState, config::matches},
    },
    protocol::key_slot,
};

/// Runs SUBSCRIBE, SSUBSCRIBE or PSUBSCRIBE.
pub fn subscribe(call: &mut Call<'_>, kind: ChannelKind) -> CommandResult {
    // A reply counts channels and patterns together.
    let counted: &[ChannelKind] = match kind {
        ChannelKind::Sharded => &[ChannelKind::Sharded],
        _ => &[ChannelKind::Normal, ChannelKind::Pattern],
    };
    let mut own = 0;
    for kind in counted {
        let channels = call.state.channels.of(*kind);
        own += channels.values().filter(|clients| clients.contains(&call.client)).count();
    }
    let channels = call.state.channels.of(kind);
    for name in call.arguments.from(1) {
        own += usize::from(channels.entry(name.to_vec()).or_default().insert(call.client));
        call.reply.push(3);
        call.reply.text(match kind {
            ChannelKind::Normal => "subscribe",
            ChannelKind::Sharded => "ssubscribe",
            ChannelKind::Pattern => "psubscribe",
        });
        call.reply.bulk(name);
        call.reply.count(own);
    }
    Ok(())
}

/// Runs PUBLISH or SPUBLISH.
pub fn publish(call: &mut Call<'_>, kind: ChannelKind) -> CommandResult {
    let (name, message) = (call.argument(1)?, call.argument(2)?);
    let reached = deliver(call.state, kind, name, message);
    call.counted(reached)
}

/// Posts a message to the subscribers of its channel. If the channel is normal, also posts the message to the
/// subscribers of matching patterns. Returns the number of posted copies.
fn deliver(state: &mut ServerState, kind: ChannelKind, name: &[u8], message: &[u8]) -> usize {
    let clients = state.channels.of(kind).get(name).cloned().unwrap_or_default();
    let word = if kind == ChannelKind::Sharded { "smessage" } else { "message" };
    for client in &clients {
        post(state, *client, &[word.as_bytes(), name], |reply| reply.bulk(message));
    }
    let patterns = state.channels.of(ChannelKind::Pattern).iter();
    let meant = patterns.filter(|(pattern, _)| kind == ChannelKind::Normal && matches(pattern, name));
    let meant = meant.flat_map(|(pattern, clients)| clients.iter().map(|client| (pattern.clone(), *client)));
    let meant: Vec<_> = meant.collect();
    for (pattern, client) in &meant {
        post(state, *client, &[b"pmessage", pattern, name], |reply| reply.bulk(message));
    }
    clients.len() + meant.len()
}

/// Publishes that a string was set, if the parameters select such notifications.
pub fn notify_set(call: &mut Call<'_>, key: &[u8]) {
    if call.state.config.notifies_sets {
        let database = call.state.sessions[&call.client].database;
        let channel = [format!("__keyspace@{database}__:").as_bytes(), key].concat();
        deliver(call.state, ChannelKind::Normal, &channel, b"set");
    }
}

/// Posts a message to a client. The message consists of `words` and a last value, which `write` writes.
fn post(state: &mut ServerState, client: usize, words: &[&[u8]], write: impl FnOnce(&mut ReplyWriter<'_>)) {
    let mut bytes = Vec::new();
    let protocol = state.sessions.get(&client).map_or(RespProtocol::Resp2, |session| session.protocol);
    let mut reply = ReplyWriter::new(&mut bytes, protocol);
    reply.push(words.len() + 1);
    words.iter().for_each(|word| reply.bulk(word));
    write(&mut reply);
    state.channels.posted.push((client, bytes));
}

/// Finds the slots that another node owns now. Ends the subscriptions to sharded channels of these slots, and wakes the
/// clients that wait for keys of these slots.
pub fn leave_lost_slots(state: &mut ServerState) {
    let Some(member) = state.member.clone() else { return };
    let is_lost = |name: &[u8]| !member.owns(key_slot(name));
    state.waiting.wake_all(is_lost);
    let lost: Vec<_> =
        state.channels.of(ChannelKind::Sharded).extract_if(.., |name, _| is_lost(name)).collect();
    for (name, clients) in lost {
        let end = |client| post(state, client, &[b"sunsubscribe", &name], |reply| reply.count(0));
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
        server.ok("CONFIG SET notify-keyspace-events K$");
        let subscribed = "*3\n$10\npsubscribe\n$10\n__key*:k:*\n:3\n";
        assert_eq!(server.ask("PSUBSCRIBE __key*:k:*"), subscribed);
        server.ok("SET k:1 a");
        assert_eq!(server.ask("SET k:2 a XX"), "$-1\n");
        server.ok("MSET x a k:3 b");
        let posted = std::mem::take(&mut server.engine.state.channels.posted);
        let texts: Vec<_> = posted.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes)).collect();
        let notice = |key| {
            let words = ["pmessage", "__key*:k:*", &format!("__keyspace@0__:{key}"), "set"];
            let bulks = words.map(|word| format!("${}\r\n{word}\r\n", word.len()));
            format!("*4\r\n{}", bulks.concat())
        };
        assert_eq!(texts, [notice("k:1"), notice("k:3")]);
        server.engine.state.channels.leave(client);
        assert_eq!((server.ask("PUBLISH a x"), server.ask("SPUBLISH c x")), (":0\n".into(), ":0\n".into()));
    }
}
