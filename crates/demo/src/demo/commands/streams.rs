//! The built-in server's commands for streams. The server supports only the stream commands that redyno sends. redyno
//! sends such commands for workloads that read streams, and for a fleet (several machines that generate one load).

use super::{Call, CommandResult, float};
use crate::demo::{
    reply::{ReplyError, ReplyWriter, RespProtocol},
    request::{RequestArguments, number},
    state::ServerState,
    store::{EntryId, List, Stream},
};

/// The error of a command on a group that does not exist.
pub(super) const NO_GROUP: ReplyError = ReplyError::fixed("NOGROUP No such consumer group for key name");
/// The highest possible ID of an entry.
const LAST: EntryId = (u64::MAX, u64::MAX);

/// Runs XADD, with the option MAXLEN. The server cuts the stream to exactly the length after MAXLEN, even with `~`.
pub fn add_entry(call: &mut Call<'_>) -> CommandResult {
    let mut at = 2;
    let most = match call.word(at).as_slice() {
        b"maxlen" => {
            at += 1 + usize::from(matches!(call.argument(3)?, b"~" | b"="));
            let most = call.count(at)?.ok_or(ReplyError::SYNTAX)?;
            at += 1;
            most
        }
        _ => usize::MAX,
    };
    if call.argument(at)? != b"*" {
        return Err(ReplyError::other("ERR the built-in server accepts no entry ID other than *"));
    }
    let fields = call.arguments.from(at + 1);
    if fields.len() == 0 || !fields.len().is_multiple_of(2) {
        return Err(call.arity_failure());
    }
    let mut encoded = Vec::new();
    let mut entry = ReplyWriter::new(&mut encoded, RespProtocol::Resp2);
    entry.array(fields.len());
    fields.for_each(|field| entry.bulk(field));
    let now_ms = call.state.unix_ms();
    call.change_or_new(|stream: &mut Stream, reply| {
        let id = stream.append(now_ms, encoded.into());
        stream.cut_to(most);
        reply.text(&text(id));
    })?;
    call.state.waiting.wake(call.argument(1)?);
    Ok(())
}

/// Runs XREVRANGE, with the option COUNT.
pub fn reversed_range(call: &mut Call<'_>) -> CommandResult {
    let (last, first) = (id(call.argument(2)?, u64::MAX)?, id(call.argument(3)?, 0)?);
    let most = match call.arguments.len() {
        4 => usize::MAX,
        6 if call.word(4) == b"count" => call.count(5)?.unwrap_or(usize::MAX),
        _ => return Err(ReplyError::SYNTAX),
    };
    let (stream, reply) = call.read::<Stream>()?;
    let entries = stream.map(|stream| stream.within(first, last));
    let entries: Vec<_> = entries.into_iter().flatten().rev().take(most).collect();
    write(reply, &entries);
    Ok(())
}

/// Runs XREAD or XREADGROUP, at once or after the client has waited for an entry (see [`waits`]). If there is nothing
/// to read, the reply is null.
pub fn read(call: &mut Call<'_>) -> CommandResult {
    let read = StreamRead::of(call.arguments)?;
    let now_ms = call.state.unix_ms();
    let (database, reply) = call.database();
    let (mut found, mut bytes) = (0, Vec::new());
    let mut body = ReplyWriter::new(&mut bytes, reply.protocol);
    for (key, last) in &read.streams {
        let Some(stream) = database.read::<Stream>(key)? else {
            read.first(None, *last)?;
            continue;
        };
        let first = read.first(Some(stream), *last)?;
        let entries: Vec<_> = stream.within(first, LAST).take(read.most).collect();
        if entries.is_empty() {
            continue;
        }
        found += 1;
        if body.protocol == RespProtocol::Resp2 {
            body.array(2);
        }
        body.bulk(key);
        write(&mut body, &entries);
        if let Some((group, consumer)) = read.group {
            let ids: Vec<_> = entries.iter().map(|(id, _)| *id).collect();
            database.change(key, |stream: &mut Stream| {
                stream
                    .groups
                    .get_mut(group)
                    .into_iter()
                    .for_each(|group| group.hand_over(&ids, consumer, now_ms));
            })?;
        }
    }
    match reply.protocol {
        _ if found == 0 => reply.null_array(),
        RespProtocol::Resp2 => reply.array(found),
        RespProtocol::Resp3 => reply.map(found),
    }
    reply.encoded(&bytes);
    Ok(())
}

/// Returns the time until which a request waits for entries of streams or elements of lists, in ns since the
/// server's start. Returns `None` if the request is answered now. The number of arguments must be valid.
pub fn waits(state: &mut ServerState, client: usize, arguments: RequestArguments<'_>) -> Option<u64> {
    let session = &state.sessions[&client];
    if !session.authenticated || session.transaction.is_some() {
        return None;
    }
    // BLPOP has its lists before the timeout; in BLMOVE, the first argument is the list.
    let lists = match arguments.get(0)?.to_ascii_lowercase().as_slice() {
        b"blpop" => arguments.len() - 2,
        b"blmove" => 1,
        _ => 0,
    };
    let lists = arguments.from(1).take(lists);
    let read = if lists.len() > 0 { None } else { Some(StreamRead::of(arguments).ok()?) };
    let length_ns = match &read {
        Some(read) => read.block_ms?.saturating_mul(1_000_000),
        None => (float(arguments.get(arguments.len() - 1)?).ok()?.max(0.0) * 1e9) as u64,
    };
    let until_ns = session.waits_until_ns.unwrap_or(match length_ns {
        0 => u64::MAX,
        length_ns => state.now_ns.saturating_add(length_ns),
    });
    let (database, now_ms) = (session.database, state.unix_ms());
    let has_none = state.with_data(|state| {
        let database = &mut state.databases[database];
        database.set_now(now_ms);
        let Some(read) = &read else {
            return lists.clone().all(|key| database.peek::<List>(key).is_ok_and(|list| list.is_none()));
        };
        read.streams.iter().all(|(key, last)| {
            let Ok(stream) = database.peek::<Stream>(key) else { return false };
            let is_empty = |first| stream.is_none_or(|stream| stream.within(first, LAST).next().is_none());
            read.first(stream, *last).is_ok_and(is_empty)
        })
    });
    let waits = has_none && state.now_ns < until_ns;
    let streams = read.iter().flat_map(|read| &read.streams).map(|(key, _)| *key);
    lists.chain(streams).filter(|_| waits).for_each(|key| state.waiting.add(key, client));
    waits.then_some(until_ns)
}

/// The arguments of XREAD or XREADGROUP.
struct StreamRead<'a> {
    /// The group and the consumer of XREADGROUP, or `None` for XREAD.
    group: Option<(&'a [u8], &'a [u8])>,
    /// The keys of the streams, each with the last ID that the client has read. `None` means `>`, the last ID
    /// of the group.
    streams: Vec<(&'a [u8], Option<EntryId>)>,
    /// The largest number of entries that are returned for each stream.
    most: usize,
    /// How long to wait for an entry, in ms, or `None` if the reply comes at once.
    block_ms: Option<u64>,
}

impl<'a> StreamRead<'a> {
    fn of(arguments: RequestArguments<'a>) -> Result<Self, ReplyError> {
        let argument = |at: usize| arguments.get(at).ok_or(ReplyError::SYNTAX);
        let value = |at: usize| {
            let n = number(argument(at)?).ok_or(ReplyError::NOT_INTEGER)?;
            u64::try_from(n).map_err(|_| ReplyError::NOT_POSITIVE)
        };
        let (mut at, mut most, mut block_ms, mut group) = (1, usize::MAX, None, None);
        loop {
            match argument(at)?.to_ascii_lowercase().as_slice() {
                b"group" => {
                    group = Some((argument(at + 1)?, argument(at + 2)?));
                    at += 1;
                }
                b"count" => most = value(at + 1)? as usize,
                b"block" => block_ms = Some(value(at + 1)?),
                b"streams" => break,
                _ => return Err(ReplyError::SYNTAX),
            }
            at += 2;
        }
        let rest = arguments.from(at + 1);
        if rest.len() == 0 || !rest.len().is_multiple_of(2) {
            return Err(ReplyError::other(
                "ERR Unbalanced list of streams: for each stream key an ID or '>' must be specified.",
            ));
        }
        let keys = rest.clone().take(rest.len() / 2);
        let last = |text: &[u8]| if text == b">" { Ok(None) } else { id(text, 0).map(Some) };
        let streams = keys.clone().zip(rest.skip(keys.len())).map(|(key, text)| Ok((key, last(text)?)));
        Ok(Self { group, streams: streams.collect::<Result<_, _>>()?, most, block_ms })
    }

    /// Returns the first ID that the client has not read.
    fn first(&self, stream: Option<&Stream>, last: Option<EntryId>) -> Result<EntryId, ReplyError> {
        let (ms, sequence) = match (last, self.group) {
            (Some(last), None) => last,
            (None, Some((group, _))) => stream.and_then(|it| it.groups.get(group)).ok_or(NO_GROUP)?.last,
            _ => return Err(ReplyError::other("ERR the built-in server accepts only the ID > in a group")),
        };
        Ok((ms, sequence.saturating_add(1)))
    }
}

/// Parses the ID of an entry. `-` and `+` mean the lowest and the highest ID. `default` is the sequence
/// number of an ID that has only a time.
pub(super) fn id(text: &[u8], default: u64) -> Result<EntryId, ReplyError> {
    let wrong = || ReplyError::other("ERR Invalid stream ID specified as stream command argument");
    let part = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    match std::str::from_utf8(text).map_err(|_| wrong())? {
        "-" => Ok((0, 0)),
        "+" => Ok(LAST),
        text => match text.split_once('-') {
            Some((ms, sequence)) => Ok((part(ms)?, part(sequence)?)),
            None => Ok((part(text)?, default)),
        },
    }
}

pub(super) fn text((ms, sequence): EntryId) -> String {
    format!("{ms}-{sequence}")
}

pub(super) fn write(reply: &mut ReplyWriter<'_>, entries: &[(EntryId, &[u8])]) {
    reply.array(entries.len());
    for (id, fields) in entries {
        reply.array(2);
        reply.text(&text(*id));
        reply.encoded(fields);
    }
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::testing::TestServer;

    #[test]
    fn entries_get_growing_ids_and_the_oldest_are_cut_off() {
        let mut server = TestServer::new();
        let ids: Vec<_> =
            (0..3).map(|n| server.words(&format!("XADD s MAXLEN ~ 2 * f {n} g x")).remove(0)).collect();
        let part = |n: usize| format!("{} f {n} g x", ids[n]);
        assert_eq!(server.words("XREAD COUNT 9 STREAMS s 0").join(" "), format!("s {} {}", part(1), part(2)));
        assert_eq!(server.words("XREVRANGE s + -").join(" "), format!("{} {}", part(2), part(1)));
        assert_eq!(server.words("XREVRANGE s + - COUNT 1").join(" "), part(2));
        assert_eq!(
            server.words(&format!("XREAD COUNT 1 STREAMS s {}", ids[0])).join(" "),
            format!("s {}", part(1))
        );
        server.expect(&[
            (&format!("XREAD STREAMS s {}", ids[2]), "*-1"),
            ("XREAD COUNT 5 STREAMS nosuch 0-0", "*-1"),
            ("XREVRANGE nosuch + -", "*0"),
        ]);
        server.ask("HELLO 3");
        server.expect(&[(&format!("XREAD STREAMS s {}", ids[2]), "_")]);
        assert!(server.ask("XREAD STREAMS s 0").starts_with("%1\n$1\ns\n*2\n*2\n"));
    }

    #[test]
    fn unsupported_arguments_are_refused() {
        TestServer::new().expect(&[
            ("XADD t 5-3 f v", "-ERR the built-in server accepts no entry ID other than *"),
            ("XADD t * f v g", "-ERR wrong number of arguments for 'xadd' command"),
            ("XADD t *", "-ERR wrong number of arguments for 'xadd' command"),
            ("XADD t MAXLEN 5 *", "-ERR wrong number of arguments for 'xadd' command"),
            ("XADD t MAXLEN x * f v", "-ERR value is out of range, must be positive"),
            ("EXISTS t", ":0"),
            (
                "XREAD STREAMS a b 0",
                "-ERR Unbalanced list of streams: for each stream key an ID or '>' must be specified.",
            ),
            ("XREAD STREAMS a >", "-ERR the built-in server accepts only the ID > in a group"),
            ("XREAD STREAMS a $", "-ERR Invalid stream ID specified as stream command argument"),
            ("XREAD BLOCK x STREAMS a 0", "-ERR value is not an integer or out of range"),
            ("XREAD WRONG 5 STREAMS a 0", "-ERR syntax error"),
            ("XREVRANGE t + - COUNT", "-ERR syntax error"),
        ]);
    }
}
