//! Streams, as far as adding to them and counting.

use super::{Call, Command, Flags, Outcome};
use crate::demo::failure::Failure;
use crate::demo::store::{Stream, StreamId, Value};

pub(super) const COMMANDS: &[Command] = &[
    Command::new("xadd", -5, Flags::WRITE.and(Flags::GROWS).and(Flags::FAST), xadd).keyed(1, 1, 1),
    Command::new("xlen", 2, Flags::READ.and(Flags::FAST), xlen).keyed(1, 1, 1),
];

/// How the id of a new entry is chosen.
enum Id {
    Next,
    /// The next in this millisecond.
    NextIn(u64),
    Exactly(StreamId),
}

fn parse_id(text: &[u8]) -> Option<Id> {
    let text = std::str::from_utf8(text).ok()?;
    match text.split_once('-') {
        None if text == "*" => Some(Id::Next),
        None => Some(Id::Exactly(StreamId { ms: text.parse().ok()?, sequence: 0 })),
        Some((ms, "*")) => Some(Id::NextIn(ms.parse().ok()?)),
        Some((ms, sequence)) => {
            Some(Id::Exactly(StreamId { ms: ms.parse().ok()?, sequence: sequence.parse().ok()? }))
        }
    }
}

/// The options before the id: NOMKSTREAM and MAXLEN; returns the index of the id too.
fn options(call: &Call<'_>) -> Result<(bool, Option<usize>, usize), Failure> {
    let (mut make, mut max_len, mut index) = (true, None, 2);
    loop {
        if call.is(index, "nomkstream") {
            make = false;
        } else if call.is(index, "maxlen") {
            index += usize::from(call.is(index + 1, "=") || call.is(index + 1, "~"));
            index += 1;
            let length = usize::try_from(call.integer(index)?);
            max_len = Some(length.map_err(|_| Failure::other("ERR The MAXLEN argument must be >= 0."))?);
        } else {
            return Ok((make, max_len, index));
        }
        index += 1;
    }
}

fn xadd(call: &mut Call<'_>) -> Outcome {
    let (make, max_len, index) = options(call)?;
    let id = parse_id(call.argument(index)?)
        .ok_or_else(|| Failure::other("ERR Invalid stream ID specified as stream command argument"))?;
    let fields = call.arguments.from(index + 1);
    if fields.len() == 0 || !fields.len().is_multiple_of(2) {
        return Err(call.arity_failure());
    }
    let (key, now_ms) = (call.argument(1)?, call.state.unix_ms());
    let (database, reply) = call.database();
    if !make && database.peek(key).is_none() {
        reply.null();
        return Ok(());
    }
    let last = match database.peek(key) {
        Some(value) => value.as_stream()?.last_id(),
        None => StreamId::default(),
    };
    let id = choose(&id, last, now_ms)?;
    let mut value = database.edit_or(key, || Value::Stream(Box::default()));
    let stream = value.as_stream_mut()?;
    stream.append(id, fields.collect::<Vec<_>>().concat());
    if let Some(max_len) = max_len {
        stream.trim(max_len);
    }
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
    id.filter(|id| *id > last).ok_or_else(|| {
        Failure::other("ERR The ID specified in XADD is equal or smaller than the target stream top item")
    })
}

fn xlen(call: &mut Call<'_>) -> Outcome {
    let key = call.argument(1)?;
    let (database, reply) = call.database();
    let stream = database.read(key).map(Value::as_stream).transpose()?;
    reply.count(stream.map_or(0, Stream::len));
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::desk::Desk;

    #[test]
    fn entries_get_growing_ids() {
        let mut desk = Desk::new();
        let first = desk.words("XADD s * f v").remove(0);
        let second = desk.words("XADD s * f v").remove(0);
        let parts = |id: &str| {
            id.split_once('-').map(|(ms, n)| (ms.parse::<u64>().unwrap(), n.parse::<u64>().unwrap()))
        };
        assert!(parts(&second) > parts(&first), "{first} {second}");
        assert_eq!(desk.words("XADD t 5-3 f v"), ["5-3"]);
        assert_eq!(desk.words("XADD t 5-* f v"), ["5-4"]);
        assert_eq!(desk.words("XADD t MAXLEN ~ 2 6 f v"), ["6-0"]);
        assert_eq!(desk.ask("XLEN t"), ":2\n");
        assert_eq!(desk.ask("XADD u NOMKSTREAM * f v"), "$-1\n");
    }

    #[test]
    fn wrong_ids_and_fields_are_refused_in_the_words_of_redis() {
        let mut desk = Desk::new();
        desk.ask("XADD t 5-3 f v");
        for (request, error) in [
            (
                "XADD t 5-3 f v",
                "-ERR The ID specified in XADD is equal or smaller than the target stream top item\n",
            ),
            ("XADD n 0-0 f v", "-ERR The ID specified in XADD must be greater than 0-0\n"),
            ("XADD t a f v", "-ERR Invalid stream ID specified as stream command argument\n"),
            ("XADD t * f v g", "-ERR wrong number of arguments for 'xadd' command\n"),
            ("XADD t *", "-ERR wrong number of arguments for 'xadd' command\n"),
        ] {
            assert_eq!(desk.ask(request), error, "{request}");
        }
        assert_eq!(desk.ask("EXISTS n"), ":0\n");
        desk.ok("SET s x");
        assert!(desk.ask("XADD s * f v").starts_with("-WRONGTYPE "));
    }
}
