//! Streams, as far as adding to them and counting.

use super::{Call, Outcome};
use crate::demo::failure::Failure;
use crate::demo::store::{Stream, StreamId};

/// How the id of a new entry is chosen.
enum Id {
    Next,
    /// The next in this millisecond.
    NextIn(u64),
    Exactly(StreamId),
}

fn parse_id(text: &[u8]) -> Option<Id> {
    let text = std::str::from_utf8(text).ok()?;
    Some(match text.split_once('-') {
        None if text == "*" => Id::Next,
        None => Id::Exactly(StreamId { ms: text.parse().ok()?, sequence: 0 }),
        Some((ms, "*")) => Id::NextIn(ms.parse().ok()?),
        Some((ms, sequence)) => {
            Id::Exactly(StreamId { ms: ms.parse().ok()?, sequence: sequence.parse().ok()? })
        }
    })
}

/// The options before the id: NOMKSTREAM and MAXLEN; returns the index of the id too.
fn options(call: &Call<'_>) -> Result<(bool, Option<usize>, usize), Failure> {
    let (mut make, mut max_len, mut index) = (true, None, 2);
    loop {
        match call.word(index).as_slice() {
            b"nomkstream" => make = false,
            b"maxlen" => {
                index += 1 + usize::from(matches!(call.word(index + 1).as_slice(), b"=" | b"~"));
                let length = usize::try_from(call.integer(index)?);
                max_len = Some(length.map_err(|_| Failure::other("ERR The MAXLEN argument must be >= 0."))?);
            }
            _ => return Ok((make, max_len, index)),
        }
        index += 1;
    }
}

pub fn add(call: &mut Call<'_>) -> Outcome {
    let (make, max_len, index) = options(call)?;
    let id = parse_id(call.argument(index)?)
        .ok_or(Failure::other("ERR Invalid stream ID specified as stream command argument"))?;
    let fields = call.arguments.from(index + 1);
    if fields.len() == 0 || !fields.len().is_multiple_of(2) {
        return Err(call.arity_failure());
    }
    let (key, now_ms) = (call.argument(1)?, call.state.unix_ms());
    let (database, reply) = call.database();
    let last = database.peek::<Stream>(key)?.map(Stream::last_id);
    if last.is_none() && !make {
        reply.null();
        return Ok(());
    }
    let id = choose(&id, last.unwrap_or_default(), now_ms)?;
    let mut stream = database.edit_or_new::<Stream>(key)?;
    stream.append(id, fields.collect::<Vec<_>>().concat());
    stream.trim(max_len.unwrap_or(usize::MAX));
    reply.text(&format!("{}-{}", id.ms, id.sequence));
    Ok(())
}

fn choose(id: &Id, last: StreamId, now_ms: u64) -> Result<StreamId, Failure> {
    let after = |ms: u64| {
        let sequence = if ms == last.ms { last.sequence.checked_add(1)? } else { 0 };
        Some(StreamId { ms, sequence })
    };
    let id = match *id {
        Id::Next => after(now_ms.max(last.ms)),
        Id::NextIn(ms) => after(ms),
        Id::Exactly(id) => Some(id),
    };
    if id == Some(StreamId::default()) {
        return Err(Failure::other("ERR The ID specified in XADD must be greater than 0-0"));
    }
    id.filter(|id| *id > last).ok_or(Failure::other(
        "ERR The ID specified in XADD is equal or smaller than the target stream top item",
    ))
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::testing::TestServer;

    #[test]
    fn entries_get_growing_ids() {
        let mut server = TestServer::new();
        let first = server.words("XADD s * f v").remove(0);
        let second = server.words("XADD s * f v").remove(0);
        let parts = |id: &str| {
            id.split_once('-').map(|(ms, n)| (ms.parse::<u64>().unwrap(), n.parse::<u64>().unwrap()))
        };
        assert!(parts(&second) > parts(&first), "{first} {second}");
        server.expect(&[
            ("XADD t 5-3 f v", "$3\n5-3"),
            ("XADD t 5-* f v", "$3\n5-4"),
            ("XADD t MAXLEN ~ 2 6 f v", "$3\n6-0"),
            ("XLEN t", ":2"),
            ("XADD u NOMKSTREAM * f v", "$-1"),
        ]);
    }

    #[test]
    fn wrong_ids_and_fields_are_refused_in_the_words_of_redis() {
        let mut server = TestServer::new();
        let too_small = "-ERR The ID specified in XADD is equal or smaller than the target stream top item";
        server.expect(&[
            ("XADD t 5-3 f v", "$3\n5-3"),
            ("XADD t 5-3 f v", too_small),
            ("XADD n 0-0 f v", "-ERR The ID specified in XADD must be greater than 0-0"),
            ("XADD t a f v", "-ERR Invalid stream ID specified as stream command argument"),
            ("XADD t * f v g", "-ERR wrong number of arguments for 'xadd' command"),
            ("XADD t *", "-ERR wrong number of arguments for 'xadd' command"),
            ("EXISTS n", ":0"),
        ]);
        server.ok("SET s x");
        server.expect_wrong_type(&["XADD s * f v"]);
    }
}
