//! Looks whether keys are there, and removes them: by their names, since nothing else finds them.

use tokio::time::Instant;

use super::Wire;
use crate::{
    server::{
        Cleaned, Counted, Ledger, Marker, ServerError,
        clean::{Removal, Shared, Store},
        count::{CHUNK, spread},
    },
    workload::{KeyNames, KeySpan},
};

/// Removes the keys of all `runs`. Keys that somebody writes under their prefixes meanwhile may stay: the load has to be off.
pub(in crate::server) async fn clean(
    wire: &Wire,
    runs: &[Ledger],
    shared: &Shared,
) -> Result<Cleaned, ServerError> {
    let began = Instant::now();
    let markers: Vec<_> = runs.iter().map(Ledger::marker).filter(Marker::has_keys).collect();
    let complete = Removal { store: Items(wire), shared }.run(&markers).await?;
    if complete {
        runs.iter().for_each(Ledger::drop_keys);
    }
    Ok(Cleaned { removed: shared.removed(), took: began.elapsed(), complete })
}

/// The items of a memcached.
struct Items<'a>(&'a Wire);

impl Store for Items<'_> {
    /// So many that names are always the shorter way.
    async fn size(&self) -> Result<u64, ServerError> {
        Ok(u64::MAX)
    }

    async fn scan(&self, _: &str) -> Result<(String, Vec<Vec<u8>>), ServerError> {
        Err(ServerError::Missing("a list of its keys"))
    }

    async fn remove(&self, keys: &[Vec<u8>]) -> Result<u64, ServerError> {
        let command = |key: &Vec<u8>| [b"delete ", key.as_slice(), b"\r\n"].concat();
        let bytes: Vec<_> = keys.iter().flat_map(command).collect();
        let replies = self.0.ask("delete", &bytes, keys.len()).await?;
        Ok(replies.iter().filter(|reply| reply.starts_with(b"DELETED")).count() as u64)
    }
}

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
