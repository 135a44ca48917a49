//! Streams, as far as adding to them and counting.

use super::{Call, Outcome};
use crate::demo::failure::Failure;
use crate::demo::store::Stream;

pub fn add(call: &mut Call<'_>) -> Outcome {
    if call.argument(2)? != b"*" {
        return Err(Failure::other("ERR the built-in server knows no ID of a stream but *"));
    }
    let fields = call.arguments.from(3);
    if !fields.len().is_multiple_of(2) {
        return Err(call.arity_failure());
    }
    let now_ms = call.state.unix_ms();
    call.change_or_new(|stream: &mut Stream, reply| {
        let (ms, sequence) = stream.append(now_ms, fields);
        reply.text(&format!("{ms}-{sequence}"));
    })
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
        server.expect(&[("XLEN s", ":2")]);
    }

    #[test]
    fn other_ids_half_fields_and_other_types_are_refused() {
        let mut server = TestServer::new();
        server.expect(&[
            ("XADD t 5-3 f v", "-ERR the built-in server knows no ID of a stream but *"),
            ("XADD t * f v g", "-ERR wrong number of arguments for 'xadd' command"),
            ("XADD t *", "-ERR wrong number of arguments for 'xadd' command"),
            ("EXISTS t", ":0"),
            ("SET s x", "+OK"),
        ]);
        server.expect_wrong_type(&["XADD s * f v"]);
    }
}
