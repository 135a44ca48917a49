//! The built-in server's commands on lists, hashes, sets and sorted sets.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Call, CommandResult, float, index_range};
use crate::demo::{
    reply::{ReplyError, ReplyWriter, RespProtocol},
    store::{Hash, List, Set, SortedSet, ValueType},
};

pub fn push(call: &mut Call<'_>, push: fn(&mut List, Box<[u8]>)) -> CommandResult {
    let items = call.arguments.from(2);
    call.change_or_new(|list: &mut List, reply| {
        items.for_each(|item| push(list, item.into()));
        reply.count(list.len());
    })?;
    call.state.waiting.wake(call.argument(1)?);
    Ok(())
}

pub fn pop(call: &mut Call<'_>, pop: fn(&mut List) -> Option<Box<[u8]>>) -> CommandResult {
    let count = call.count(2)?;
    let is_there = call.change(|list: &mut List, reply| {
        if let Some(count) = count {
            reply.array(count.min(list.len()));
        }
        std::iter::from_fn(|| pop(list)).take(count.unwrap_or(1)).for_each(|item| reply.bulk(&item));
    })?;
    match count {
        _ if is_there => {}
        None => call.reply.null(),
        Some(_) => call.reply.null_array(),
    }
    Ok(())
}

/// Runs BLPOP, at once or after the client has waited for an element. If all lists are empty, the reply is null.
pub fn blocking_pop(call: &mut Call<'_>) -> CommandResult {
    let keys = call.arguments.from(1).take(call.arguments.len() - 2);
    let (database, reply) = call.database();
    for key in keys {
        if let Some(item) = database.change(key, List::pop_front)?.flatten() {
            reply.array(2);
            reply.bulk(key);
            reply.bulk(&item);
            return Ok(());
        }
    }
    reply.null_array();
    Ok(())
}

/// Runs BLMOVE, at once or after the client has waited for an element. If the list is empty, the reply is null.
pub fn blocking_move(call: &mut Call<'_>) -> CommandResult {
    let (from, to) = (call.argument(1)?, call.argument(2)?);
    let [pops_left, pushes_left] = [3, 4].map(|at| match call.word(at).as_slice() {
        b"left" => Ok(true),
        b"right" => Ok(false),
        _ => Err(ReplyError::SYNTAX),
    });
    let pop: fn(&mut List) -> Option<Box<[u8]>> = if pops_left? { List::pop_front } else { List::pop_back };
    let push: fn(&mut List, Box<[u8]>) = if pushes_left? { List::push_front } else { List::push_back };
    let (database, reply) = call.database();
    database.peek::<List>(to)?;
    let item = database.change(from, pop)?.flatten();
    reply.bulk_or_null(item.as_deref());
    if let Some(item) = item {
        database.change_or_new(to, |list| push(list, item))?;
        call.state.waiting.wake(to);
    }
    Ok(())
}

/// Removes the given members from a hash or a set, and replies with the number of removed members.
pub fn remove_from<T: ValueType>(call: &mut Call<'_>, remove: fn(&mut T, &[u8]) -> bool) -> CommandResult {
    let members = call.arguments.from(2);
    let is_there = call
        .change(|value: &mut T, reply| reply.count(members.filter(|member| remove(value, member)).count()))?;
    if !is_there {
        call.reply.count(0);
    }
    Ok(())
}

pub fn list_range(call: &mut Call<'_>) -> CommandResult {
    let (start, stop) = (call.integer(2)?, call.integer(3)?);
    let (list, reply) = call.read::<List>()?;
    let (from, to) = index_range(start, stop, list.map_or(0, List::len));
    reply.array(to - from);
    list.into_iter().flat_map(|list| list.range(from..to)).for_each(|item| reply.bulk(item));
    Ok(())
}

pub fn set_fields(call: &mut Call<'_>) -> CommandResult {
    if !call.arguments.len().is_multiple_of(2) {
        return Err(call.arity_failure());
    }
    let fields = call.arguments.pairs(2);
    call.change_or_new(|hash: &mut Hash, reply| {
        reply.count(
            fields.filter(|(field, value)| hash.insert((*field).into(), (*value).into()).is_none()).count(),
        );
    })
}

pub fn some_fields(call: &mut Call<'_>) -> CommandResult {
    let fields = call.arguments.from(2);
    let (hash, reply) = call.read::<Hash>()?;
    reply.array(fields.len());
    fields.for_each(|field| reply.bulk_or_null(hash.and_then(|hash| hash.get(field)).map(|value| &**value)));
    Ok(())
}

pub fn fields(call: &mut Call<'_>) -> CommandResult {
    let (hash, reply) = call.read::<Hash>()?;
    reply.map(hash.map_or(0, Hash::len));
    for (field, value) in hash.into_iter().flatten() {
        reply.bulk(field);
        reply.bulk(value);
    }
    Ok(())
}

pub fn add_members(call: &mut Call<'_>) -> CommandResult {
    let members = call.arguments.from(2);
    call.change_or_new(|set: &mut Set, reply| {
        reply.count(members.filter(|member| set.insert((*member).into())).count());
    })
}

pub fn pop_members(call: &mut Call<'_>) -> CommandResult {
    let count = call.count(2)?;
    let mut rng = Pcg64Mcg::seed_from_u64(call.state.rng.random());
    let is_there = call.change(|set: &mut Set, reply| {
        if let Some(count) = count {
            reply.set(count.min(set.len()));
        }
        let drawn = std::iter::from_fn(|| set.swap_remove_index(rng.random_range(0..set.len().max(1))));
        drawn.take(count.unwrap_or(1)).for_each(|member| reply.bulk(&member));
    })?;
    match count {
        _ if is_there => {}
        None => call.reply.null(),
        Some(_) => call.reply.set(0),
    }
    Ok(())
}

pub fn is_member(call: &mut Call<'_>) -> CommandResult {
    let member = call.argument(2)?;
    let (set, reply) = call.read::<Set>()?;
    reply.integer(set.is_some_and(|set| set.contains(member)).into());
    Ok(())
}

pub fn members(call: &mut Call<'_>) -> CommandResult {
    let (set, reply) = call.read::<Set>()?;
    reply.set(set.map_or(0, Set::len));
    set.into_iter().flatten().for_each(|member| reply.bulk(member));
    Ok(())
}

/// Runs ZADD; its options (NX, XX, GT and so on) are not supported.
pub fn add_scores(call: &mut Call<'_>) -> CommandResult {
    if !call.arguments.len().is_multiple_of(2) {
        return Err(ReplyError::SYNTAX);
    }
    let members = call.arguments.pairs(2).map(|(score, member)| Ok((float(score)?, member)));
    let members = members.collect::<Result<Vec<_>, _>>()?;
    call.change_or_new(|set: &mut SortedSet, reply| {
        reply.count(members.into_iter().filter(|(score, member)| set.set(member, *score)).count());
    })
}

pub fn pop_lowest(call: &mut Call<'_>) -> CommandResult {
    let count = call.count(2)?;
    let is_there = call.change(|set: &mut SortedSet, reply| {
        let taken = set.iter().len().min(count.unwrap_or(1));
        // RESP3 nests the pairs if a count was given; without a count there is a single pair.
        let nested = reply.protocol == RespProtocol::Resp3 && count.is_some();
        reply.array(if nested { taken } else { 2 * taken });
        for (member, score) in std::iter::from_fn(|| set.pop_first()).take(taken) {
            pair(reply, nested, &member, score);
        }
    })?;
    if !is_there {
        call.reply.array(0);
    }
    Ok(())
}

fn pair(reply: &mut ReplyWriter<'_>, nested: bool, member: &[u8], score: f64) {
    if nested {
        reply.array(2);
    }
    reply.bulk(member);
    reply.double(score);
}

/// Runs ZRANGE by index, with the option WITHSCORES.
pub fn score_range(call: &mut Call<'_>) -> CommandResult {
    let with_scores = match (call.arguments.len(), call.word(4).as_slice()) {
        (4, _) => false,
        (5, b"withscores") => true,
        _ => return Err(ReplyError::SYNTAX),
    };
    let (start, stop) = (call.integer(2)?, call.integer(3)?);
    let (set, reply) = call.read::<SortedSet>()?;
    let (from, to) = index_range(start, stop, set.map_or(0, |set| set.iter().len()));
    let nested = with_scores && reply.protocol == RespProtocol::Resp3;
    reply.array(if with_scores && !nested { 2 * (to - from) } else { to - from });
    for (member, score) in set.into_iter().flat_map(SortedSet::iter).skip(from).take(to - from) {
        if with_scores {
            pair(reply, nested, member, score);
        } else {
            reply.bulk(member);
        }
    }
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
        server.expect(&[("EXISTS l", ":0"), ("LPOP l", "$-1"), ("LPOP l 1", "*-1"), ("LRANGE l 0 -1", "*0")]);
    }

    #[test]
    fn wrong_types_and_counts_are_refused() {
        let mut server = TestServer::new();
        server.ok("SET s x");
        server.expect_wrong_type(&[
            "LPUSH s a",
            "LPOP s",
            "LRANGE s 0 1",
            "HSET s a b",
            "HMGET s a",
            "HDEL s a",
            "HGETALL s",
        ]);
        server.expect_wrong_type(&["SADD s a", "SREM s a", "SPOP s", "SISMEMBER s a", "SMEMBERS s"]);
        server.expect_wrong_type(&["ZADD s 1 a", "ZPOPMIN s", "ZRANGE s 0 1", "XADD s * f v"]);
        server.expect(&[
            ("LPOP l -1", "-ERR value is out of range, must be positive"),
            ("LRANGE l a b", "-ERR value is not an integer or out of range"),
            ("LPOP l 1 2", "-ERR wrong number of arguments for 'lpop' command"),
            ("GET s", "$1\nx"),
        ]);
    }

    #[test]
    fn fields_are_set_read_and_removed() {
        let mut server = TestServer::new();
        server.expect(&[
            ("HSET h a 1 b 2", ":2"),
            ("HSET h a 3", ":0"),
            ("HMGET h b x a", "*3\n$1\n2\n$-1\n$1\n3"),
            ("HGETALL h", "*4\n$1\na\n$1\n3\n$1\nb\n$1\n2"),
            ("HGETALL nosuch", "*0"),
            ("HSET h a", "-ERR wrong number of arguments for 'hset' command"),
            ("HSET h a 1 b", "-ERR wrong number of arguments for 'hset' command"),
        ]);
        server.ask("HELLO 3");
        server.expect(&[("HGETALL h", "%2\n$1\na\n$1\n3\n$1\nb\n$1\n2"), ("HDEL h a b x", ":2")]);
        server.expect(&[("EXISTS h", ":0"), ("HGETALL h", "%0"), ("HDEL h a", ":0")]);
    }

    #[test]
    fn members_are_added_found_and_removed() {
        let mut server = TestServer::new();
        server.expect(&[
            ("SADD s a b a", ":2"),
            ("SADD s b c", ":1"),
            ("SISMEMBER s c", ":1"),
            ("SISMEMBER s x", ":0"),
            ("SREM s c x", ":1"),
            ("SREM nosuch c", ":0"),
        ]);
        let mut members = server.words("SMEMBERS s");
        members.sort();
        assert_eq!(members, ["a", "b"]);
    }

    #[test]
    fn spop_takes_each_member_once_and_then_the_key_is_gone() {
        let mut server = TestServer::new();
        server.ask("SADD s a b c d e");
        let mut taken = server.words("SPOP s 3");
        taken.extend([server.words("SPOP s"), server.words("SPOP s")].concat());
        taken.sort();
        assert_eq!(taken, ["a", "b", "c", "d", "e"]);
        server.expect(&[("EXISTS s", ":0"), ("SPOP s", "$-1"), ("SPOP s 2", "*0")]);
        server.ask("HELLO 3");
        server.expect(&[
            ("SPOP s 2", "~0"),
            ("SMEMBERS s", "~0"),
            ("SPOP s -1", "-ERR value is out of range, must be positive"),
        ]);
    }

    #[test]
    fn members_are_ranked_by_score() {
        let mut server = TestServer::new();
        server.expect(&[("ZADD z 3 c 1 a 2 b", ":3")]);
        assert_eq!(server.words("ZRANGE z 0 -1"), ["a", "b", "c"]);
        assert_eq!(server.words("ZRANGE z 1 1 WITHSCORES"), ["b", "2"]);
        server.expect(&[("ZADD z 6 a", ":0")]);
        assert_eq!(server.words("ZPOPMIN z"), ["b", "2"]);
        assert_eq!(server.words("ZPOPMIN z 5"), ["c", "3", "a", "6"]);
        server.expect(&[("EXISTS z", ":0"), ("ZPOPMIN z", "*0"), ("ZRANGE z 0 -1", "*0")]);
    }

    #[test]
    fn scores_are_doubles_in_resp3() {
        let mut server = TestServer::new();
        server.ask("HELLO 3");
        server.expect(&[
            ("ZADD z 1.5 a inf b", ":2"),
            ("ZRANGE z 0 -1 WITHSCORES", "*2\n*2\n$1\na\n,1.5\n*2\n$1\nb\n,inf"),
            ("ZPOPMIN z", "*2\n$1\na\n,1.5"),
            ("ZPOPMIN z 1", "*1\n*2\n$1\nb\n,inf"),
        ]);
    }

    #[test]
    fn invalid_scores_and_ranges_are_refused() {
        let mut server = TestServer::new();
        server.expect(&[
            ("ZADD z 5 a", ":1"),
            ("ZADD z 4 a 3 b", ":1"),
            ("ZADD z x a", "-ERR value is not a valid float"),
            ("ZADD z 1 a 2", "-ERR syntax error"),
            ("ZADD z nan a", "-ERR value is not a valid float"),
            ("ZRANGE z a b", "-ERR value is not an integer or out of range"),
            ("ZRANGE z 0 1 REV", "-ERR syntax error"),
            ("ZPOPMIN z x", "-ERR value is out of range, must be positive"),
        ]);
    }
}
