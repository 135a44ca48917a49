//! Lists.

use super::call::index_range;
use super::{Call, Outcome};
use crate::demo::store::{End, Kind, List};

pub fn push(call: &mut Call<'_>, end: End) -> Outcome {
    let items = call.arguments.from(2);
    call.change_or_new(|list: &mut List, reply| {
        items.for_each(|item| list.push(end, item));
        reply.count(list.len());
    })
}

pub fn pop(call: &mut Call<'_>, end: End) -> Outcome {
    let count = call.count(2)?;
    let is_there = call.change(|list: &mut List, reply| {
        if let Some(count) = count {
            reply.array(count.min(list.len()));
        }
        std::iter::from_fn(|| list.pop(end)).take(count.unwrap_or(1)).for_each(|item| reply.bulk(&item));
    })?;
    match count {
        _ if is_there => {}
        None => call.reply.null(),
        Some(_) => call.reply.null_array(),
    }
    Ok(())
}

pub fn range(call: &mut Call<'_>) -> Outcome {
    let (start, stop) = (call.integer(2)?, call.integer(3)?);
    let (list, reply) = call.read::<List>()?;
    let (from, to) = index_range(start, stop, list.map_or(0, List::len));
    reply.array(to - from);
    list.into_iter().flat_map(|list| list.range(from, to)).for_each(|item| reply.bulk(item));
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::testing::TestServer;

    #[test]
    fn lists_grow_and_shrink_at_both_ends() {
        let mut server = TestServer::new();
        server.expect(&[("LPUSH l b a", ":2"), ("RPUSH l c d", ":4")]);
        assert_eq!(server.words("LRANGE l 0 -1"), ["a", "b", "c", "d"]);
        assert_eq!(server.words("LRANGE l -2 100"), ["c", "d"]);
        server.expect(&[("LRANGE l 3 1", "*0"), ("LPOP l", "$1\na"), ("RPOP l", "$1\nd")]);
        assert_eq!(server.words("RPOP l 5"), ["c", "b"]);
        server.expect(&[("EXISTS l", ":0"), ("LLEN l", ":0"), ("LPOP l", "$-1"), ("LPOP l 1", "*-1")]);
        server.expect(&[("LRANGE l 0 -1", "*0")]);
    }

    #[test]
    fn wrong_types_and_counts_are_refused() {
        let mut server = TestServer::new();
        server.ok("SET s x");
        server.expect_wrong_type(&["LPUSH s a", "LPOP s", "LLEN s", "LRANGE s 0 1"]);
        server.expect(&[
            ("LPOP l -1", "-ERR value is out of range, must be positive"),
            ("LRANGE l a b", "-ERR value is not an integer or out of range"),
            ("LPOP l 1 2", "-ERR wrong number of arguments for 'lpop' command"),
            ("GET s", "$1\nx"),
        ]);
    }
}
