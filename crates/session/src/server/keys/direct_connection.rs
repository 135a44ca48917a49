//! A blocking connection that scans all keys with SCAN, and pauses between the batches. The modes with redis-cli's
//! output (`--bigkeys`, `--memkeys`, `--keystats`, `--hotkeys`) use this connection.

use std::time::Duration;

use super::{
    connection::{KeyCommand, KeyConnection, KeyReply},
    scan,
};
use crate::{endpoint::Target, protocol::Dialect, server::ServerError, untrusted};

/// A connection that scans the keys, and the progress of the scan.
pub struct DirectConnection {
    line: KeyConnection,
    /// The cursor of the next SCAN; `None` after the last SCAN.
    cursor: Option<Vec<u8>>,
    /// The upper limit of the time that the server has worked since the last pause.
    cost: Duration,
}

impl DirectConnection {
    /// Connects to the server.
    ///
    /// # Errors
    /// Fails if the server cannot be reached.
    pub fn open(target: &Target) -> Result<Self, ServerError> {
        let target = Target { dialect: Dialect::Resp2, ..target.clone() };
        let mut line = KeyConnection::open(&target, crate::server::pace::SentCommands::default())?;
        // A replica in a cluster serves reads only after READONLY; other servers refuse READONLY.
        match line.ask(&[vec![b"READONLY"]]) {
            Err(error) if !error.is_refused() => Err(error),
            _ => Ok(Self { line, cursor: Some(b"0".to_vec()), cost: Duration::ZERO }),
        }
    }

    /// Returns the reply to INFO.
    ///
    /// # Errors
    /// Fails if the server refuses the command, or the connection is lost.
    pub fn info(&mut self) -> Result<String, ServerError> {
        Ok(self.texts(&[vec![b"INFO"]])?.pop().unwrap_or_default())
    }

    /// Sets the cursor of the next SCAN.
    pub fn go_to(&mut self, cursor: u64) {
        self.cursor = Some(cursor.to_string().into());
    }

    /// Returns the cursor of the next SCAN, with control characters escaped. Returns `None` after the last SCAN.
    pub fn cursor(&self) -> Option<String> {
        self.cursor.as_deref().map(untrusted::bytes)
    }

    /// Sends the next SCAN and returns its keys. Returns `None` after the last SCAN.
    ///
    /// # Errors
    /// Fails if the server refuses the command, or the connection is lost.
    pub fn scan(&mut self) -> Result<Option<Vec<Vec<u8>>>, ServerError> {
        let Some(cursor) = self.cursor.take() else { return Ok(None) };
        let found = self.ask(&[vec![&b"SCAN"[..], &cursor, b"COUNT", scan::COUNT]])?;
        let step = scan::following(found.into_iter().next())?;
        self.cursor = step.cursor;
        Ok(Some(step.keys))
    }

    /// Returns the first text in each reply to the `commands`, with control characters escaped. The text is empty for a
    /// reply without text.
    ///
    /// # Errors
    /// Fails if the server refuses a command, or the connection is lost.
    pub fn texts(&mut self, commands: &[KeyCommand]) -> Result<Vec<String>, ServerError> {
        let text = |found| match found {
            KeyReply::Texts(texts) => texts.first().map(|text| untrusted::lines(text)),
            KeyReply::Number(_) | KeyReply::Nothing => None,
        };
        Ok(self.ask(commands)?.into_iter().map(|found| text(found).unwrap_or_default()).collect())
    }

    /// Returns the number in each reply to the `commands`; `None` for a reply without a number.
    ///
    /// # Errors
    /// Fails if the server refuses a command, or the connection is lost.
    pub fn numbers(&mut self, commands: &[KeyCommand]) -> Result<Vec<Option<u64>>, ServerError> {
        let number = |found| match found {
            KeyReply::Number(number) => u64::try_from(number).ok(),
            KeyReply::Texts(_) | KeyReply::Nothing => None,
        };
        Ok(self.ask(commands)?.into_iter().map(number).collect())
    }

    fn ask(&mut self, commands: &[KeyCommand]) -> Result<Vec<KeyReply>, ServerError> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let (found, took) = self.line.timed(commands)?;
        self.cost += scan::cost(took, commands.len());
        Ok(found)
    }

    /// Returns the necessary length of a pause. With this pause, the connection uses at most the allowed share of the
    /// server's time.
    pub fn pause(&mut self) -> Duration {
        scan::pause(std::mem::take(&mut self.cost))
    }
}
