//! Sends CONFIG SET for the [`PARAMETERS`], and CONFIG GET for the [`PARAMETERS`] and the [`WATCHED`] parameters.
//! redyno requests each parameter by its name, never by a pattern. redyno never sends CONFIG REWRITE.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use super::{ServerError, link::RedisSender, pace::SentCommands, parameter::PARAMETERS, tuned};
use crate::events::EventKind;

/// Further parameters that affect latency. None of these parameters is a password, a user or a path. Servers do not
/// report unknown parameters. From Redis 7 on, the names with `ziplist` are second names of the parameters with
/// `listpack`. redyno ignores these second names, so a change causes only one event. No other parameter of the list has
/// two names.
const WATCHED: [&str; 68] = [
    "active-defrag-cycle-max",
    "active-defrag-cycle-min",
    "active-defrag-ignore-bytes",
    "active-defrag-max-scan-fields",
    "active-defrag-threshold-lower",
    "active-defrag-threshold-upper",
    "active-expire-effort",
    "activerehashing",
    "aof-rewrite-incremental-fsync",
    "auto-aof-rewrite-min-size",
    "auto-aof-rewrite-percentage",
    "busy-reply-threshold",
    "client-output-buffer-limit",
    "client-query-buffer-limit",
    "cluster-node-timeout",
    "commandlog-large-reply-max-len",
    "commandlog-large-request-max-len",
    "commandlog-reply-larger-than",
    "commandlog-request-larger-than",
    "disable-thp",
    "dynamic-hz",
    "hash-max-listpack-entries",
    "hash-max-listpack-value",
    "hash-max-ziplist-entries",
    "hash-max-ziplist-value",
    "io-threads-do-reads",
    "jemalloc-bg-thread",
    "latency-tracking",
    "lazyfree-lazy-eviction",
    "lazyfree-lazy-expire",
    "lazyfree-lazy-server-del",
    "lazyfree-lazy-user-del",
    "lazyfree-lazy-user-flush",
    "lfu-decay-time",
    "lfu-log-factor",
    "list-compress-depth",
    "list-max-listpack-size",
    "list-max-ziplist-size",
    "loglevel",
    "maxclients",
    "maxmemory-clients",
    "maxmemory-eviction-tenacity",
    "maxmemory-samples",
    "min-replicas-to-write",
    "no-appendfsync-on-rewrite",
    "notify-keyspace-events",
    "rdb-save-incremental-fsync",
    "rdbcompression",
    "repl-backlog-size",
    "repl-disable-tcp-nodelay",
    "repl-diskless-load",
    "repl-diskless-sync",
    "repl-timeout",
    "replica-lazy-flush",
    "replica-read-only",
    "set-max-intset-entries",
    "set-max-listpack-entries",
    "set-max-listpack-value",
    "slowlog-max-len",
    "stop-writes-on-bgsave-error",
    "tcp-backlog",
    "tcp-keepalive",
    "timeout",
    "tracking-table-max-keys",
    "zset-max-listpack-entries",
    "zset-max-listpack-value",
    "zset-max-ziplist-entries",
    "zset-max-ziplist-value",
];

/// The part of a parameter's name that Redis 7 has replaced by `listpack`.
const OLD: &str = "ziplist";

/// The number of parameters that each poll after the first one requests from a server older than Redis 7. Each
/// parameter needs its own CONFIG GET, which takes the server about 4 µs.
const AT_ONCE: usize = 20;

/// A changed parameter, with the values that CONFIG GET returned before and after the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigChange {
    /// The name of the parameter.
    pub name: String,
    /// The value before the change.
    pub from: String,
    /// The value after the change.
    pub to: String,
}

/// The last reported values of the parameters.
#[derive(Debug, Default)]
pub(super) struct ConfigValues {
    values: Arc<BTreeMap<String, String>>,
    /// The position of the next parameter to request, if parameters are requested one by one. Before Redis 7, CONFIG
    /// GET accepts only one name. Each poll then requests only some parameters, each with its own command.
    one_by_one: Option<usize>,
}

impl ConfigValues {
    pub(super) fn values(&self) -> Arc<BTreeMap<String, String>> {
        Arc::clone(&self.values)
    }

    /// Stores the requested parameters of a reply. Returns the changes that were not made by redyno itself, according
    /// to `sent`.
    pub(super) fn take(&mut self, found: BTreeMap<String, String>, sent: &SentCommands) -> Vec<EventKind> {
        let mut events = Vec::new();
        let old: BTreeSet<_> = found.keys().filter(|name| is_old_name(name, &found)).cloned().collect();
        for (name, to) in found.into_iter().filter(|(name, _)| names().any(|asked| asked == name)) {
            if old.contains(&name) {
                continue;
            }
            if self.values.get(&name) == Some(&to) {
                // If redyno has set the present value, a later change is not redyno's.
                sent.take_set(&name, |value| tuned::same(&name, value, &to));
                continue;
            }
            let from = Arc::make_mut(&mut self.values).insert(name.clone(), to.clone());
            if let Some(from) = from
                && !sent.take_set(&name, |value| tuned::same(&name, value, &to))
            {
                events.push(EventKind::ConfigChanged { name, from, to });
            }
        }
        events
    }

    /// Requests all parameters. Before Redis 7, requests only the next parameters of the list.
    pub(super) async fn ask(&mut self, wire: &RedisSender) -> Result<BTreeMap<String, String>, ServerError> {
        if self.one_by_one.is_none() {
            let words: Vec<_> = ["CONFIG", "GET"].into_iter().chain(names()).collect();
            match wire.texts(&words).await {
                Ok(pairs) => return Ok(by_name(&pairs)),
                Err(error) if is_too_many(&error) => self.one_by_one = Some(0),
                Err(error) => return Err(error),
            }
        }
        let next = self.one_by_one.get_or_insert(0);
        let mut asked = JoinSet::new();
        let count = if self.values.is_empty() { names().count() } else { AT_ONCE };
        for name in names().cycle().skip(*next).take(count) {
            let wire = wire.clone();
            asked.spawn(async move { wire.texts(&["CONFIG", "GET", name]).await });
        }
        *next = (*next + count) % names().count();
        let mut found = BTreeMap::new();
        while let Some(reply) = asked.join_next().await {
            found.extend(by_name(&reply.expect("a request does not panic and is not aborted")?));
        }
        Ok(found)
    }
}

/// Returns the names of all parameters that are read.
fn names() -> impl Iterator<Item = &'static str> + Clone {
    PARAMETERS.iter().map(|parameter| parameter.name).chain(WATCHED)
}

/// Returns whether `name` is the old name of a parameter that the reply contains under its present name, too.
fn is_old_name(name: &str, found: &BTreeMap<String, String>) -> bool {
    name.contains(OLD) && found.contains_key(&name.replace(OLD, "listpack"))
}

/// Returns whether the server refused several names in one CONFIG GET, as Redis 6 and older versions do.
fn is_too_many(error: &ServerError) -> bool {
    matches!(error, ServerError::Refused { message, .. }
        if message.contains("wrong number of arguments") || message.contains("nknown subcommand"))
}

fn by_name(pairs: &[String]) -> BTreeMap<String, String> {
    pairs.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

/// Returns the value of one parameter.
pub(super) async fn get(wire: &RedisSender, name: &str) -> Result<String, ServerError> {
    let found = by_name(&wire.texts(&["CONFIG", "GET", name]).await?).remove(name);
    let missing = || ServerError::Refused {
        command: "CONFIG GET".to_owned(),
        message: format!("this server has no parameter {name}"),
    };
    found.ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_requested_parameter_is_a_secret_or_a_pattern() {
        let asked: BTreeSet<_> = names().collect();
        assert_eq!(asked.len(), PARAMETERS.len() + WATCHED.len(), "each once");
        for name in asked {
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
            for secret in ["pass", "auth", "user-", "masteruser", "acl", "tls", "key-file", "dir", "file"] {
                assert!(
                    !name.contains(secret)
                        || name == "lazyfree-lazy-user-del"
                        || name == "lazyfree-lazy-user-flush",
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn a_parameter_with_two_names_causes_one_event() {
        let sent = SentCommands::default();
        let events = |names: &[&str]| {
            let mut config = ConfigValues::default();
            let reply =
                |value: &str| names.iter().map(|name| ((*name).to_owned(), value.to_owned())).collect();
            assert!(config.take(reply("128"), &sent).is_empty());
            config.take(reply("64"), &sent).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let both = ["hash-max-listpack-entries", "hash-max-ziplist-entries"];
        assert_eq!(events(&both), ["hash-max-listpack-entries 128 → 64"]);
        assert_eq!(events(&both[1..]), ["hash-max-ziplist-entries 128 → 64"], "before Redis 7");
        assert_eq!(events(&["loglevel", "replica-read-only"]).len(), 2);
    }

    #[test]
    fn a_change_by_another_client_is_an_event_and_a_change_by_redyno_is_not() {
        let (mut config, sent) = (ConfigValues::default(), SentCommands::default());
        let mut take = |name: &str, value: &str| {
            let events = config.take([(name.to_owned(), value.to_owned())].into(), &sent);
            events.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(take("slowlog-max-len", "128").is_empty(), "the first value is no change");
        assert_eq!(take("slowlog-max-len", "77"), ["slowlog-max-len 128 → 77"]);
        assert!(take("slowlog-max-len", "77").is_empty());
        assert!(take("requirepass", "a").is_empty() && take("requirepass", "b").is_empty());
        take("maxmemory", "0");
        sent.set("maxmemory", "100mb");
        assert!(take("maxmemory", "104857600").is_empty());
        assert_eq!(take("maxmemory", "0").len(), 1, "only once");
        sent.set("maxmemory", "0");
        assert!(take("maxmemory", "0").is_empty(), "redyno has set the present value");
        assert_eq!(take("maxmemory", "50mb").len(), 1);
        assert_eq!(take("maxmemory", "0").len(), 1);
        take("save", "3600 1");
        assert_eq!(take("save", ""), ["save 3600 1 → \"\""]);
    }
}
