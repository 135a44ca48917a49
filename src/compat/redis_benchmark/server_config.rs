//! Two settings of the server, which stand above the figures of a test.

use std::{io, time::Duration};

use super::conversation::{Answer, Conversation, replied};
use crate::{compat::place, endpoint::Target};

/// What CONFIG GET says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerConfig {
    pub(super) save: String,
    pub(super) appendonly: String,
}

impl ServerConfig {
    /// Asks for them, for `limit` at the most, if there is one; `None` where the server does not tell.
    ///
    /// # Errors
    /// What is to be printed: it cannot be reached, or wants to know first who we are.
    pub(super) fn fetch(
        target: &Target,
        server: &str,
        limit: Option<Duration>,
    ) -> Result<Option<Self>, String> {
        let mut conversation = Conversation::open(target, server, limit)?;
        let mut get = |name: &str| match conversation.ask(&[b"CONFIG", b"GET", name.as_bytes()]) {
            Ok(Answer::Texts(texts)) if texts.len() >= 2 => Ok(texts.into_iter().nth(1)),
            Ok(Answer::Error(error)) if error.starts_with("NOAUTH") => Err(replied(target, &error)),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                let s = limit.unwrap_or_default().as_secs_f64();
                Err(format!("Error: {} accepted the connection and said nothing for {s} s", place(target)))
            }
            Err(_) if conversation.is_memcached() => {
                Err(format!("Error: {} is a memcached, and bench speaks to Redis and Valkey", place(target)))
            }
            _ => Ok(None),
        };
        // Theirs are written before either is answered, and both are.
        let (save, appendonly) = (get("save")?, get("appendonly")?);
        Ok(save.zip(appendonly).map(|(save, appendonly)| Self { save, appendonly }))
    }
}
