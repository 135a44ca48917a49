//! The built-in server's commands for the vector sets of Redis 8: VADD, and VSIM with an exact search.
//! Vectors must have the form FP32. Only the option COUNT has an effect. The server stores a vector set as a
//! hash.

use super::{Call, CommandResult};
use crate::{
    demo::{reply::ReplyError, store::Hash},
    protocol::vector_of,
};

/// The number of elements in the reply to VSIM without COUNT.
const USUAL_COUNT: usize = 10;

/// Returns the vector in arguments 2 and 3. The vector must have the same dimension as the vectors of the set.
fn vector<'a>(call: &mut Call<'a>) -> Result<&'a [u8], ReplyError> {
    let (form, vector) = (call.word(2), call.argument(3)?);
    if form != b"fp32" || vector.is_empty() || !vector.len().is_multiple_of(4) {
        return Err(ReplyError::other("ERR invalid vector specification"));
    }
    let key = call.argument(1)?;
    let known = call.database().0.peek::<Hash>(key)?.and_then(Hash::first).map(|(_, known)| known.len());
    match known.filter(|known| *known != vector.len()) {
        None => Ok(vector),
        Some(known) => Err(ReplyError::other(format!(
            "ERR Vector dimension mismatch - got {} but set has {}",
            vector.len() / 4,
            known / 4
        ))),
    }
}

/// Runs VADD.
pub fn add(call: &mut Call<'_>) -> CommandResult {
    let (vector, element) = (vector(call)?, call.argument(4)?);
    call.change_or_new(|set: &mut Hash, reply| {
        reply.integer(set.insert(element.into(), vector.into()).is_none().into());
    })
}

/// Runs VSIM.
pub fn search(call: &mut Call<'_>) -> CommandResult {
    let wanted: Vec<f32> = vector_of(vector(call)?).collect();
    let option = (4..call.arguments.len()).find(|place| call.word(*place) == b"count");
    let count = option.map_or(Ok(None), |place| call.count(place + 1))?.unwrap_or(USUAL_COUNT);
    let (set, reply) = call.read::<Hash>()?;
    let cosine = |vector: &[u8]| {
        let (product, square) = vector_of(vector)
            .zip(&wanted)
            .fold((0.0, 0.0), |(product, square), (a, b)| (product + a * b, square + a * a));
        product / square.sqrt()
    };
    let mut near: Vec<_> =
        set.into_iter().flatten().map(|(element, vector)| (cosine(vector), element)).collect();
    near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    near.truncate(count);
    reply.array(near.len());
    near.into_iter().for_each(|(_, element)| reply.bulk(element));
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::testing::TestServer;

    #[test]
    fn a_search_names_the_elements_in_the_order_of_their_direction() {
        let mut server = TestServer::new();
        // Four letters are a float: "aaaA" is 14.1, "aaa?" is 0.88, "aaaB" is 56.3.
        server.expect(&[
            ("VADD v FP32 aaaAaaaA half Q8", ":1"),
            ("VADD v FP32 aaaAaaa? right", ":1"),
            ("VADD v FP32 aaa?aaaA up", ":1"),
            ("VADD v FP32 aaaAaaaB up", ":0"),
            ("VADD v FP32 aaaA short", "-ERR Vector dimension mismatch - got 1 but set has 2"),
            ("VSIM v FP32 aaaAaa", "-ERR invalid vector specification"),
            ("VSIM v VALUES 2 1 0", "-ERR invalid vector specification"),
            ("VSIM none FP32 aaaA", "*0"),
            ("VSIM v FP32 aaaAaaa? COUNT x", "-ERR value is out of range, must be positive"),
        ]);
        assert_eq!(server.words("VSIM v FP32 aaaAaaa?"), ["right", "half", "up"]);
        assert_eq!(server.words("VSIM v FP32 aaa?aaaA EF 50 COUNT 2"), ["up", "half"]);
    }
}
