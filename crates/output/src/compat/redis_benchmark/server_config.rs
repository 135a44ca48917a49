//! Sends the few requests of `redyno bench` that are not load, on separate connections. CONFIG GET reads two settings,
//! and redyno prints them above the figures of a test. Some tests need a command before they begin.

use std::{
    io,
    time::{Duration, Instant},
};

use crate::{
    compat::{
        run::complain,
        server::{address_text, os_error_text},
    },
    endpoint::{ReachError, Talk, TalkError, Target},
    protocol::RespValue,
    untrusted,
};

/// The time after which a line says that a reply is missing.
const NOTICE: Duration = Duration::from_secs(3);
/// The limit for all requests together, if the run has no length.
const LIMIT: Duration = Duration::from_secs(60);

/// A connection for requests that are not load.
pub(super) struct QueryConnection<'a> {
    target: &'a Target,
    talk: Talk,
    until: Instant,
}

impl<'a> QueryConnection<'a> {
    /// Connects, and authenticates if there is a password. A `limit` applies to all requests together.
    ///
    /// # Errors
    /// Fails with the message to print.
    pub(super) fn open(target: &'a Target, server: &str, limit: Option<Duration>) -> Result<Self, String> {
        let until = Instant::now() + limit.unwrap_or(LIMIT);
        let talk = Talk::silent(target, until).map_err(|error| unreachable(target, server, &error))?;
        let mut asking = Self { target, talk, until };
        let Some(credentials) = &target.credentials else { return Ok(asking) };
        let words = [Some("AUTH"), credentials.user.as_deref(), Some(credentials.password.reveal())];
        let words: Vec<_> = words.into_iter().flatten().map(str::as_bytes).collect();
        match asking.ask(&words) {
            Ok(Err(error)) => Err(asking.error_reply_message(&error)),
            Ok(Ok(_)) => Ok(asking),
            Err(_) => Err(format!("ERROR: failed to fetch reply from {}", address_text(target))),
        }
    }

    /// Sends a command. Returns the reply, or the error reply.
    ///
    /// # Errors
    /// Fails if there is no reply.
    pub(super) fn ask(&mut self, words: &[&[u8]]) -> Result<Result<Vec<u8>, String>, ReachError> {
        let limit = self.until.saturating_duration_since(Instant::now());
        let is_silent = |error: &ReachError| matches!(error, ReachError::Io { cause, .. } if cause.kind() == io::ErrorKind::TimedOut);
        let answer = self.talk.reply(words, limit.min(NOTICE)).or_else(|error| {
            let rest = limit.saturating_sub(NOTICE);
            if !is_silent(&error) || rest.is_zero() {
                return Err(error);
            }
            let (place, s) = (address_text(self.target), rest.as_secs_f64().ceil());
            complain(&format!(
                "{place} has accepted the connection, but sends no reply; waiting up to {s} s\n"
            ));
            let mut late = Vec::new();
            self.talk.ask(&[], 1, rest, |bytes, _| late = bytes.to_vec())?;
            Ok(late)
        })?;
        match RespValue::read(&answer) {
            Some(RespValue::Error(line)) => Ok(Err(untrusted::bytes(line))),
            _ => Ok(Ok(answer)),
        }
    }

    /// Returns the message about an error reply before the run.
    fn error_reply_message(&self, error: &str) -> String {
        format!("Node {} replied with error:\n{error}", address_text(self.target))
    }
}

/// Returns the message about a server that cannot be reached.
pub(super) fn unreachable(target: &Target, server: &str, error: &TalkError) -> String {
    match error {
        TalkError::Connect(error) => {
            format!("Could not connect to {server} at {}: {}", address_text(target), os_error_text(error))
        }
        TalkError::Tls(error) => format!("Could not negotiate a TLS connection: {}", os_error_text(error)),
    }
}

/// The reply to CONFIG GET.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerConfig {
    pub(super) save: String,
    pub(super) appendonly: String,
}

impl ServerConfig {
    /// Reads the settings within `limit`, if there is a limit. Returns `None` if the server does not report the
    /// settings.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or requires authentication. The error is the message to print.
    pub(super) fn fetch(
        target: &Target,
        server: &str,
        limit: Option<Duration>,
    ) -> Result<Option<Self>, String> {
        let mut asking = QueryConnection::open(target, server, limit)?;
        let mut get = |name: &str| match asking.ask(&[b"CONFIG", b"GET", name.as_bytes()]) {
            Ok(Ok(answer)) => Ok(value(name, &answer)),
            Ok(Err(error)) if error.starts_with("NOAUTH") => Err(asking.error_reply_message(&error)),
            Err(ReachError::Io { cause, .. }) if cause.kind() == io::ErrorKind::TimedOut => {
                let s = limit.unwrap_or(LIMIT).as_secs_f64();
                Err(format!(
                    "Error: {} accepted the connection and sent no reply for {s} s",
                    address_text(target)
                ))
            }
            Err(ReachError::Memcached(_)) => Err(format!(
                "Error: {} is a memcached, and bench speaks to Redis and Valkey",
                address_text(target)
            )),
            _ => Ok(None),
        };
        // Both settings are requested, even if the server does not report the first one.
        let (save, appendonly) = (get("save")?, get("appendonly")?);
        Ok(save.zip(appendonly).map(|(save, appendonly)| Self { save, appendonly }))
    }
}

/// Returns the value in a reply that consists of this name and its value.
fn value(name: &str, answer: &[u8]) -> Option<String> {
    let head = format!("*2\r\n${}\r\n{name}\r\n$", name.len());
    let value = answer.strip_prefix(head.as_bytes())?.strip_suffix(b"\r\n")?;
    let begin = value.iter().position(|byte| *byte == b'\n')? + 1;
    Some(untrusted::bytes(&value[begin..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_the_value_after_its_name() {
        assert_eq!(value("save", b"*2\r\n$4\r\nsave\r\n$6\r\n3600 1\r\n").as_deref(), Some("3600 1"));
        assert_eq!(value("save", b"*2\r\n$4\r\nsave\r\n$0\r\n\r\n").as_deref(), Some(""));
        for none in ["*0\r\n", "+OK\r\n", "$4\r\nsave\r\n", "*2\r\n$4\r\nsome\r\n$1\r\nx\r\n"] {
            assert_eq!(value("save", none.as_bytes()), None, "{none}");
        }
    }
}
