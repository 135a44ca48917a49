//! Sorted sets.

use super::call::{float, index_range};
use super::{Call, Outcome};
use crate::demo::failure::Failure;
use crate::demo::reply::{Protocol, Reply};
use crate::demo::store::{Kind, SortedSet};

/// ZADD without its options.
pub fn add(call: &mut Call<'_>) -> Outcome {
    if !call.arguments.len().is_multiple_of(2) {
        return Err(Failure::SYNTAX);
    }
    let members = call.arguments.pairs(2).map(|(score, member)| Ok((float(score)?, member)));
    let members = members.collect::<Result<Vec<_>, _>>()?;
    call.change_or_new(|set: &mut SortedSet, reply| {
        reply.count(members.into_iter().filter(|(score, member)| set.set(member, *score)).count());
    })
}

pub fn increase(call: &mut Call<'_>) -> Outcome {
    let (by, member) = (float(call.argument(2)?)?, call.argument(3)?);
    call.change_or_new(|set: &mut SortedSet, reply| {
        let score = set.score(member).unwrap_or(0.0) + by;
        if score.is_nan() {
            return Err(Failure::other("ERR resulting score is not a number (NaN)"));
        }
        set.set(member, score);
        reply.double(score);
        Ok(())
    })?
}

pub fn pop_min(call: &mut Call<'_>) -> Outcome {
    let count = call.count(2)?;
    let is_there = call.change(|set: &mut SortedSet, reply| {
        let taken = set.len().min(count.unwrap_or(1));
        // RESP3 nests the pairs when a count was given; without one there is a single pair.
        let nested = reply.protocol == Protocol::Resp3 && count.is_some();
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

fn pair(reply: &mut Reply<'_>, nested: bool, member: &[u8], score: f64) {
    if nested {
        reply.array(2);
    }
    reply.bulk(member);
    reply.double(score);
}

pub fn score(call: &mut Call<'_>) -> Outcome {
    let member = call.argument(2)?;
    let (set, reply) = call.read::<SortedSet>()?;
    match set.and_then(|set| set.score(member)) {
        Some(score) => reply.double(score),
        None => reply.null(),
    }
    Ok(())
}

/// ZRANGE by index, with WITHSCORES.
pub fn range(call: &mut Call<'_>) -> Outcome {
    let with_scores = match (call.arguments.len(), call.word(4).as_slice()) {
        (4, _) => false,
        (5, b"withscores") => true,
        _ => return Err(Failure::SYNTAX),
    };
    let (start, stop) = (call.integer(2)?, call.integer(3)?);
    let (set, reply) = call.read::<SortedSet>()?;
    let (from, to) = index_range(start, stop, set.map_or(0, SortedSet::len));
    let nested = with_scores && reply.protocol == Protocol::Resp3;
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
    fn members_are_ranked_by_score() {
        let mut server = TestServer::new();
        server.expect(&[("ZADD z 3 c 1 a 2 b", ":3")]);
        assert_eq!(server.words("ZRANGE z 0 -1"), ["a", "b", "c"]);
        assert_eq!(server.words("ZRANGE z 1 1 WITHSCORES"), ["b", "2"]);
        server.expect(&[("ZSCORE z b", "$1\n2"), ("ZSCORE z x", "$-1"), ("ZINCRBY z 5 a", "$1\n6")]);
        assert_eq!(server.words("ZPOPMIN z"), ["b", "2"]);
        assert_eq!(server.words("ZPOPMIN z 5"), ["c", "3", "a", "6"]);
        server.expect(&[("EXISTS z", ":0"), ("ZPOPMIN z", "*0"), ("ZCARD z", ":0"), ("ZRANGE z 0 -1", "*0")]);
    }

    #[test]
    fn scores_are_doubles_in_resp3() {
        let mut server = TestServer::new();
        server.ask("HELLO 3");
        server.expect(&[
            ("ZADD z 1.5 a inf b", ":2"),
            ("ZSCORE z a", ",1.5"),
            ("ZRANGE z 0 -1 WITHSCORES", "*2\n*2\n$1\na\n,1.5\n*2\n$1\nb\n,inf"),
            ("ZINCRBY z -inf b", "-ERR resulting score is not a number (NaN)"),
            ("ZPOPMIN z", "*2\n$1\na\n,1.5"),
            ("ZPOPMIN z 1", "*1\n*2\n$1\nb\n,inf"),
            ("ZSCORE z a", "_"),
        ]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let mut server = TestServer::new();
        server.expect(&[
            ("ZADD z 5 a", ":1"),
            ("ZADD z 4 a 3 b", ":1"),
            ("ZSCORE z a", "$1\n4"),
            ("ZADD z x a", "-ERR value is not a valid float"),
            ("ZADD z 1 a 2", "-ERR syntax error"),
            ("ZADD z nan a", "-ERR value is not a valid float"),
            ("ZRANGE z a b", "-ERR value is not an integer or out of range"),
            ("ZRANGE z 0 1 REV", "-ERR syntax error"),
            ("ZPOPMIN z x", "-ERR value is out of range, must be positive"),
        ]);
        server.ok("SET s x");
        server.expect_wrong_type(&["ZADD s 1 a", "ZPOPMIN s", "ZCARD s", "ZSCORE s a", "ZRANGE s 0 1"]);
    }
}
