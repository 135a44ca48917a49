//! Counts and removes keys by their names, because memcached has no SCAN.

use super::MemcachedSender;
use crate::server::{CountResult, ServerError, clean::Store};

/// The items of a memcached server.
pub(in crate::server) struct Items<'a>(pub(in crate::server) &'a MemcachedSender);

impl Items<'_> {
    /// Sends `command` for each key. Returns the number of replies that begin with `good`.
    async fn of_keys(&self, command: &str, keys: &[Vec<u8>], good: &[u8]) -> Result<u64, ServerError> {
        let line = |key: &Vec<u8>| [command.as_bytes(), b" ", key.as_slice(), b"\r\n"].concat();
        let bytes: Vec<_> = keys.iter().flat_map(line).collect();
        let replies = self.0.ask(command, &bytes, keys.len()).await?;
        Ok(replies.iter().filter(|reply| reply.starts_with(good)).count() as u64)
    }
}

impl Store for Items<'_> {
    /// Returns the highest possible number, so that keys are always removed by name and never with SCAN.
    async fn size(&self) -> Result<u64, ServerError> {
        Ok(u64::MAX)
    }

    async fn scan(&self, _: &str) -> Result<(String, Vec<Vec<u8>>), ServerError> {
        Err(ServerError::Missing("memcached", "SCAN"))
    }

    /// Counts the existing keys with `mg`. Without flags, the replies to `mg` contain no values.
    async fn count_existing(&self, keys: &[Vec<u8>]) -> Result<CountResult, ServerError> {
        let there = self.of_keys("mg", keys, b"HD").await?;
        Ok(CountResult { looked_for: keys.len() as u64, there })
    }

    async fn remove(&self, keys: &[Vec<u8>]) -> Result<u64, ServerError> {
        self.of_keys("delete", keys, b"DELETED").await
    }
}
