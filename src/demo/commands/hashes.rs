//! Hashes.

use super::{Call, Outcome};
use crate::demo::store::{Hash, Kind};

pub fn set(call: &mut Call<'_>) -> Outcome {
    if !call.arguments.len().is_multiple_of(2) {
        return Err(call.arity_failure());
    }
    let fields = call.arguments.pairs(2);
    call.change_or_new(|hash: &mut Hash, reply| {
        reply.count(fields.filter(|(field, value)| hash.set(field, value)).count());
    })
}

pub fn get(call: &mut Call<'_>) -> Outcome {
    let field = call.argument(2)?;
    let (hash, reply) = call.read::<Hash>()?;
    reply.bulk_or_null(hash.and_then(|hash| hash.get(field)));
    Ok(())
}

pub fn mget(call: &mut Call<'_>) -> Outcome {
    let fields = call.arguments.from(2);
    let (hash, reply) = call.read::<Hash>()?;
    reply.array(fields.len());
    fields.for_each(|field| reply.bulk_or_null(hash.and_then(|hash| hash.get(field))));
    Ok(())
}

pub fn getall(call: &mut Call<'_>) -> Outcome {
    let (hash, reply) = call.read::<Hash>()?;
    reply.map(hash.map_or(0, Hash::len));
    for (field, value) in hash.into_iter().flat_map(Hash::iter) {
        reply.bulk(field);
        reply.bulk(value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::testing::TestServer;

    #[test]
    fn fields_are_set_read_and_removed() {
        let mut server = TestServer::new();
        server.expect(&[
            ("HSET h a 1 b 2", ":2"),
            ("HSET h a 3", ":0"),
            ("HGET h a", "$1\n3"),
            ("HGET h x", "$-1"),
            ("HMGET h b x a", "*3\n$1\n2\n$-1\n$1\n3"),
            ("HDEL h b x", ":1"),
            ("HLEN h", ":1"),
            ("HGETALL h", "*2\n$1\na\n$1\n3"),
        ]);
        server.ask("HELLO 3");
        server.expect(&[("HGETALL h", "%1\n$1\na\n$1\n3"), ("HDEL h a", ":1"), ("EXISTS h", ":0")]);
        server.expect(&[("HGETALL h", "%0"), ("HDEL h a", ":0")]);
    }

    #[test]
    fn pairs_must_be_whole_and_types_right() {
        let mut server = TestServer::new();
        server.expect(&[("HSET h a 1 b", "-ERR wrong number of arguments for 'hset' command")]);
        server.ok("SET s x");
        server.expect_wrong_type(&["HSET s a 1", "HGET s a", "HMGET s a", "HDEL s a", "HLEN s", "HGETALL s"]);
    }
}
