//! Looks whether keys are there.

use super::Wire;
use crate::{
    server::{
        Counted, ServerError,
        count::{CHUNK, spread},
    },
    workload::{KeyNames, KeySpan},
};

/// Looks for the keys of `span`, or of many for a part that is spread evenly. Each is asked for by a meta get without a
/// flag, which brings no value.
pub(in crate::server) async fn count(
    wire: &Wire,
    span: &KeySpan,
    names: &KeyNames,
) -> Result<Counted, ServerError> {
    let mut counted = Counted::default();
    let mut wanted = spread(span, names);
    loop {
        let chunk: Vec<_> = wanted.by_ref().take(CHUNK).collect();
        if chunk.is_empty() {
            return Ok(counted);
        }
        let bytes: Vec<_> = chunk.iter().flat_map(|key| [b"mg ", key.as_slice(), b"\r\n"].concat()).collect();
        let replies = wire.ask("mg", &bytes, chunk.len()).await?;
        counted.there += replies.iter().filter(|reply| reply.starts_with(b"HD")).count() as u64;
        counted.looked_for += chunk.len() as u64;
    }
}
