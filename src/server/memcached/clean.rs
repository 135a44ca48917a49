//! Removes the keys of runs by their names: nothing else finds them.

use tokio::time::Instant;

use super::Wire;
use crate::server::{
    Cleaned, Ledger, Marker, ServerError,
    clean::{Removal, Shared, Store},
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
