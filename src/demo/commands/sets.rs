//! Sets.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Call, Outcome};
use crate::demo::store::{Kind, Set};

pub fn add(call: &mut Call<'_>) -> Outcome {
    let members = call.arguments.from(2);
    call.change_or_new(|set: &mut Set, reply| reply.count(members.filter(|member| set.add(member)).count()))
}

pub fn pop(call: &mut Call<'_>) -> Outcome {
    let count = call.count(2)?;
    let mut rng = Pcg64Mcg::seed_from_u64(call.state.rng.random());
    let is_there = call.change(|set: &mut Set, reply| {
        if let Some(count) = count {
            reply.set(count.min(set.len()));
        }
        let drawn = std::iter::from_fn(|| set.take(rng.random_range(0..set.len().max(1))));
        drawn.take(count.unwrap_or(1)).for_each(|member| reply.bulk(&member));
    })?;
    match count {
        _ if is_there => {}
        None => call.reply.null(),
        Some(_) => call.reply.set(0),
    }
    Ok(())
}

pub fn is_member(call: &mut Call<'_>) -> Outcome {
    let member = call.argument(2)?;
    let (set, reply) = call.read::<Set>()?;
    reply.integer(set.is_some_and(|set| set.contains(member)).into());
    Ok(())
}

pub fn members(call: &mut Call<'_>) -> Outcome {
    let (set, reply) = call.read::<Set>()?;
    reply.set(set.map_or(0, Set::len));
    set.into_iter().flat_map(Set::iter).for_each(|member| reply.bulk(member));
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::testing::TestServer;

    #[test]
    fn members_are_added_found_and_removed() {
        let mut server = TestServer::new();
        server.expect(&[
            ("SADD s a b a", ":2"),
            ("SADD s b c", ":1"),
            ("SISMEMBER s c", ":1"),
            ("SISMEMBER s x", ":0"),
            ("SREM s c x", ":1"),
            ("SCARD s", ":2"),
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
        server.ok("SET x x");
        server.expect_wrong_type(&[
            "SADD x a",
            "SREM x a",
            "SPOP x",
            "SCARD x",
            "SISMEMBER x a",
            "SMEMBERS x",
        ]);
    }
}
