//! Sorted sets.

use super::call::{float, index_range};
use super::{Call, Outcome};
use crate::demo::failure::Failure;
use crate::demo::reply::Protocol;
use crate::demo::store::{Kind, SortedSet};

/// ZADD with NX or XX, GT or LT, and CH.
pub fn add(call: &mut Call<'_>) -> Outcome {
    let [mut only_new, mut only_old, mut only_greater, mut only_less, mut count_changed] = [false; 5];
    let mut first = 2;
    loop {
        match call.word(first).as_slice() {
            b"nx" => only_new = true,
            b"xx" => only_old = true,
            b"gt" => only_greater = true,
            b"lt" => only_less = true,
            b"ch" => count_changed = true,
            _ => break,
        }
        first += 1;
    }
    if only_new && only_old || (only_new || only_greater) && only_less || only_new && only_greater {
        return Err(Failure::other("ERR GT, LT, NX and XX options at the same time are not compatible"));
    }
    let mut rest = call.arguments.from(first);
    if rest.len() == 0 || !rest.len().is_multiple_of(2) {
        return Err(Failure::Syntax);
    }
    let mut pairs = Vec::with_capacity(rest.len() / 2);
    while let (Some(score), Some(member)) = (rest.next(), rest.next()) {
        pairs.push((float(score)?, member));
    }
    let (mut set, reply) = call.edit_or_new::<SortedSet>()?;
    let (mut added, mut changed) = (0, 0);
    for (score, member) in pairs {
        let allowed = match set.score(member) {
            None => !only_old,
            Some(old) => !(only_new || only_greater && score <= old || only_less && score >= old),
        };
        if allowed {
            match set.set(member, score) {
                None => added += 1,
                Some(old) => changed += usize::from(old != score),
            }
        }
    }
    reply.count(if count_changed { added + changed } else { added });
    Ok(())
}

pub fn increase(call: &mut Call<'_>) -> Outcome {
    let (by, member) = (float(call.argument(2)?)?, call.argument(3)?);
    let (mut set, reply) = call.edit_or_new::<SortedSet>()?;
    let score = set.score(member).unwrap_or(0.0) + by;
    if score.is_nan() {
        return Err(Failure::other("ERR resulting score is not a number (NaN)"));
    }
    set.set(member, score);
    reply.double(score);
    Ok(())
}

pub fn pop_min(call: &mut Call<'_>) -> Outcome {
    let count = call.count(2)?;
    let (mut set, reply) = call.edit::<SortedSet>()?;
    let take = set.as_deref().map_or(0, SortedSet::len).min(count.unwrap_or(1));
    // RESP3 nests the pairs when a count was given; without one there is a single pair.
    let nested = reply.protocol == Protocol::Resp3 && count.is_some();
    reply.array(if nested { take } else { 2 * take });
    for (member, score) in std::iter::from_fn(|| set.as_deref_mut()?.pop_first()).take(take) {
        if nested {
            reply.array(2);
        }
        reply.bulk(&member);
        reply.double(score);
    }
    Ok(())
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

/// ZRANGE by index, with REV and WITHSCORES.
pub fn range(call: &mut Call<'_>) -> Outcome {
    let (mut with_scores, mut reverse) = (false, false);
    for index in 4..call.arguments.len() {
        match call.word(index).as_slice() {
            b"withscores" => with_scores = true,
            b"rev" => reverse = true,
            b"byscore" | b"bylex" | b"limit" => {
                return Err(Failure::other("ERR the built-in server has ZRANGE by index only"));
            }
            _ => return Err(Failure::Syntax),
        }
    }
    let (start, stop) = (call.integer(2)?, call.integer(3)?);
    let (set, reply) = call.read::<SortedSet>()?;
    let length = set.map_or(0, SortedSet::len);
    let (from, to) = index_range(start, stop, length);
    let nested = with_scores && reply.protocol == Protocol::Resp3;
    reply.array(if with_scores && !nested { 2 * (to - from) } else { to - from });
    let mut write = |(member, score): (&[u8], f64)| {
        if nested {
            reply.array(2);
        }
        reply.bulk(member);
        if with_scores {
            reply.double(score);
        }
    };
    let ranked = set.into_iter().flat_map(SortedSet::iter);
    if reverse {
        ranked.rev().skip(from).take(to - from).for_each(&mut write);
    } else {
        ranked.skip(from).take(to - from).for_each(&mut write);
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
        assert_eq!(server.words("ZRANGE z 0 0 REV WITHSCORES"), ["c", "3"]);
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
    fn zadd_has_its_options() {
        let mut server = TestServer::new();
        server.expect(&[
            ("ZADD z 5 a", ":1"),
            ("ZADD z NX 9 a", ":0"),
            ("ZADD z XX 9 b", ":0"),
            ("ZADD z GT CH 4 a", ":0"),
            ("ZADD z LT CH 4 a", ":1"),
            ("ZSCORE z a", "$1\n4"),
            ("ZADD z x a", "-ERR value is not a valid float"),
            ("ZADD z 1 a 2", "-ERR syntax error"),
            ("ZADD z NX XX 1 a", "-ERR GT, LT, NX and XX options at the same time are not compatible"),
            ("ZADD z nan a", "-ERR value is not a valid float"),
            ("ZRANGE z a b", "-ERR value is not an integer or out of range"),
            ("ZPOPMIN z x", "-ERR value is out of range, must be positive"),
        ]);
        server.ok("SET s x");
        server.expect_wrong_type(&["ZADD s 1 a", "ZPOPMIN s", "ZCARD s", "ZSCORE s a", "ZRANGE s 0 1"]);
    }
}
