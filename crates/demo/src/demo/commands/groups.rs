//! The built-in server's commands for the consumer groups of streams: XGROUP CREATE, XACK and XAUTOCLAIM.

use super::{
    Call, CommandResult,
    streams::{NO_GROUP, id, text, write},
};
use crate::demo::{
    reply::ReplyError,
    store::{ConsumerGroup, Stream},
};

/// Runs XGROUP CREATE, with the option MKSTREAM.
pub fn create(call: &mut Call<'_>) -> CommandResult {
    let (key, name, from) = (call.argument(2)?, call.argument(3)?, call.argument(4)?);
    let from = if from == b"$" { None } else { Some(id(from, 0)?) };
    let makes = call.word(5) == b"mkstream";
    let (database, reply) = call.database();
    if database.peek::<Stream>(key)?.is_none() && !makes {
        return Err(ReplyError::other("ERR The XGROUP subcommand requires the key to exist, or MKSTREAM"));
    }
    database.change_or_new(key, |stream: &mut Stream| {
        if stream.groups.contains_key(name) {
            return Err(ReplyError::other("BUSYGROUP Consumer Group name already exists"));
        }
        let last = from.unwrap_or(stream.last());
        stream.groups.insert(name.into(), ConsumerGroup { last, ..ConsumerGroup::default() });
        reply.ok();
        Ok(())
    })?
}

/// Runs XACK.
pub fn acknowledge(call: &mut Call<'_>) -> CommandResult {
    let (name, ids) = (call.argument(2)?, call.arguments.from(3));
    let ids: Vec<_> = ids.map(|text| id(text, 0)).collect::<Result<_, _>>()?;
    let mut acknowledged = 0;
    call.change(|stream: &mut Stream, _| {
        let pending = stream.groups.get_mut(name).map(|group| &mut group.pending);
        acknowledged = pending.map_or(0, |all| ids.iter().filter(|id| all.remove(id).is_some()).count());
    })?;
    call.counted(acknowledged)
}

/// Runs XAUTOCLAIM, with the option COUNT.
pub fn claim(call: &mut Call<'_>) -> CommandResult {
    let (name, reader, from) = (call.argument(2)?, call.argument(3)?, id(call.argument(5)?, 0)?);
    let idle_ms = call.count(4)?.unwrap_or(0) as u64;
    let most = match call.arguments.len() {
        6 => 100,
        8 if call.word(6) == b"count" => call.count(7)?.unwrap_or(100),
        _ => return Err(ReplyError::SYNTAX),
    };
    let now_ms = call.state.unix_ms();
    let mut is_there = false;
    call.change(|stream: &mut Stream, reply| {
        let Some(group) = stream.groups.get_mut(name) else { return };
        is_there = true;
        let is_idle = |got_ms: u64| now_ms.saturating_sub(got_ms) >= idle_ms;
        let idle = group.pending.range(from..).filter(|(_, (_, got_ms))| is_idle(*got_ms));
        let mut ids: Vec<_> = idle.map(|(id, _)| *id).take(most.saturating_add(1)).collect();
        // The ID at which the next call continues; 0-0 if no entries are left.
        let next = if ids.len() > most { ids.pop().unwrap_or_default() } else { (0, 0) };
        group.hand_over(&ids, reader, now_ms);
        let entries: Vec<_> = ids.iter().flat_map(|id| stream.within(*id, *id)).collect();
        reply.array(3);
        reply.text(&text(next));
        write(reply, &entries);
        reply.array(0);
    })?;
    if is_there { Ok(()) } else { Err(NO_GROUP) }
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::testing::TestServer;

    #[test]
    fn an_entry_is_delivered_once_and_then_acknowledged_or_claimed() {
        let mut server = TestServer::new();
        server.expect(&[
            ("XGROUP CREATE s g $", "-ERR The XGROUP subcommand requires the key to exist, or MKSTREAM"),
            ("XREADGROUP GROUP g one STREAMS s >", "-NOGROUP No such consumer group for key name"),
            ("XGROUP CREATE s g $ MKSTREAM", "+OK"),
            ("XGROUP CREATE s g 0", "-BUSYGROUP Consumer Group name already exists"),
            ("XGROUP CREATE t g 0 MKSTREAM", "+OK"),
            ("XREADGROUP GROUP g one STREAMS s t > >", "*-1"),
        ]);
        let ids: Vec<_> = (0..3).map(|n| server.words(&format!("XADD s * f {n}")).remove(0)).collect();
        let part = |n: usize| format!("{} f {n}", ids[n]);
        let read = |server: &mut TestServer, one| {
            server.words(&format!("XREADGROUP GROUP g {one} COUNT 2 STREAMS s t > >")).join(" ")
        };
        assert_eq!(read(&mut server, "one"), format!("s {} {}", part(0), part(1)));
        assert_eq!(read(&mut server, "two"), format!("s {}", part(2)));
        assert_eq!(read(&mut server, "two"), "");
        server.expect(&[
            (&format!("XACK s g {} {} 1-1", ids[0], ids[2]), ":2"),
            (&format!("XACK s nosuch {}", ids[1]), ":0"),
            ("XAUTOCLAIM s g two 3600000 0", "*3\n$3\n0-0\n*0\n*0"),
            ("XAUTOCLAIM nosuch g two 0 0", "-NOGROUP No such consumer group for key name"),
        ]);
        assert_eq!(server.words("XAUTOCLAIM s g two 0 0 COUNT 5").join(" "), format!("0-0 {}", part(1)));
        server.expect(&[(&format!("XACK s g {}", ids[1]), ":1")]);
    }

    #[test]
    fn only_clients_that_wait_for_the_key_are_woken() {
        let mut server = TestServer::new();
        server.ok("XGROUP CREATE s g $ MKSTREAM");
        let waits = |server: &mut TestServer, client, line| {
            server.connect();
            assert_eq!(server.ask_as(client, line), "", "{line}");
        };
        waits(&mut server, 2, "XREADGROUP GROUP g one BLOCK 0 STREAMS s >");
        waits(&mut server, 3, "XREAD BLOCK 0 STREAMS other s 0 0");
        waits(&mut server, 4, "BLMOVE list to LEFT RIGHT 0");
        waits(&mut server, 5, "BLPOP to list 0");
        let mut woken_by = |line| {
            server.ask(line);
            std::mem::take(&mut server.engine.state.waiting.woken).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(woken_by("XADD nosuch * f v"), [0; 0]);
        assert_eq!(woken_by("XADD other * f v"), [3]);
        assert_eq!(woken_by("XADD s * f v"), [2, 3]);
        assert_eq!(woken_by("RPUSH list a"), [4, 5]);
        assert_eq!(server.ask_as(4, "BLMOVE list to LEFT RIGHT 0"), "$1\na\n");
        server.expect(&[("BLMOVE to list RIGHT LEFT 0", "$1\na"), ("LRANGE list 0 -1", "*1\n$1\na")]);
    }
}
