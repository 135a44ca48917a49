//! The commands of the built-in server. One table lists them, and each family of commands has its own file.
//!
//! The function of a command receives a [`Call`]: the arguments, the server's state and the reply to write. If the
//! command fails, an error replaces the reply that the command has begun.

mod cluster;
mod collections;
mod connection;
mod groups;
mod info;
mod keys;
mod logs;
mod pubsub;
mod streams;
mod table;
#[cfg(test)]
pub mod testing;
mod tracking;
mod vectors;

pub use self::{
    pubsub::leave_lost_slots,
    streams::waits,
    table::{AT_ONCE, COMMANDS, CommandId, GROWS, LOAD, OPEN, READS, WAITS, find, is_known},
    tracking::note_expired,
};

use std::time::Duration;

use self::table::SECRET;
use super::{
    reply::{ReplyError, ReplyWriter},
    request::{RequestArguments, number},
    state::{ClientSession, ServerState},
    store::{Database, ValueType},
};

/// The result of a command: success, or the error reply.
pub type CommandResult = Result<(), ReplyError>;

/// One running command.
pub struct Call<'a> {
    /// The arguments, the command's name first.
    pub arguments: RequestArguments<'a>,
    /// The client.
    pub client: usize,
    /// The number of the command in the command table.
    pub id: CommandId,
    /// The server's state.
    pub state: &'a mut ServerState,
    /// The writer of the command's reply.
    pub reply: ReplyWriter<'a>,
}

impl<'a> Call<'a> {
    /// Runs the command and adds it to the statistics. If the command fails, an error replaces the reply that the
    /// command has begun.
    pub fn run(mut self) {
        let (begin_ns, before) = (self.state.now_ns, self.reply.length());
        let command = &COMMANDS[self.id];
        let outcome = (command.run)(&mut self);
        if let Err(failure) = &outcome {
            self.reply.cut_to(before);
            self.state.fail(failure, &mut self.reply);
        }
        if outcome.is_ok() && !self.state.tracking.clients.is_empty() {
            tracking::note_keys(&mut self);
        }
        let ns = self.state.read_clock() - begin_ns;
        self.state.stats.count_call(self.id, ns, outcome.is_err());
        self.state.note_latency("command", Duration::from_nanos(ns));
        let is_slow = self.state.config.slower_than_us.is_some_and(|us| ns / 1000 >= us);
        if is_slow && !command.has(SECRET) {
            self.state.note_slow(self.client, self.arguments, ns / 1000);
        }
    }

    /// Returns argument `index`; argument 0 is the command's name.
    ///
    /// # Errors
    /// Returns a syntax error if there is no such argument, for example if the value of an option is missing.
    pub fn argument(&self, index: usize) -> Result<&'a [u8], ReplyError> {
        self.arguments.get(index).ok_or(ReplyError::SYNTAX)
    }

    /// Returns argument `index` as an integer.
    ///
    /// # Errors
    /// Fails if the argument is not an integer.
    pub fn integer(&self, index: usize) -> Result<i64, ReplyError> {
        number(self.argument(index)?).ok_or(ReplyError::NOT_INTEGER)
    }

    /// Returns argument `index` as a count, or `None` if there is no such argument.
    ///
    /// # Errors
    /// Fails if the argument is negative or not an integer.
    pub fn count(&self, index: usize) -> Result<Option<usize>, ReplyError> {
        let count = self.arguments.get(index).map(number);
        count.map(|n| n.and_then(|n| usize::try_from(n).ok()).ok_or(ReplyError::NOT_POSITIVE)).transpose()
    }

    /// Returns argument `index` in lower case, for comparison with options. Returns an empty string if there
    /// is no such argument.
    pub fn word(&self, index: usize) -> Vec<u8> {
        self.arguments.get(index).unwrap_or_default().to_ascii_lowercase()
    }

    /// Returns argument `index` as text for an error message.
    pub fn text(&self, index: usize) -> String {
        String::from_utf8_lossy(self.arguments.get(index).unwrap_or_default()).into_owned()
    }

    /// Returns the error for a wrong number of arguments. Only commands that check the number in their own function
    /// need this error.
    pub fn arity_failure(&self) -> ReplyError {
        ReplyError::arity(COMMANDS[self.id].name)
    }

    /// Replies `OK`, and ends the command.
    pub fn done(&mut self) -> CommandResult {
        self.reply.ok();
        Ok(())
    }

    /// Replies a count, and ends the command.
    pub fn counted(&mut self, n: usize) -> CommandResult {
        self.reply.count(n);
        Ok(())
    }

    /// Returns the client.
    pub fn session(&mut self) -> &mut ClientSession {
        &mut self.state.sessions[&self.client]
    }

    /// Returns the database that the client has selected, and the writer of the reply.
    pub fn database(&mut self) -> (&mut Database, &mut ReplyWriter<'a>) {
        let index = self.state.sessions[&self.client].database;
        let now_ms = self.state.unix_ms();
        let database = &mut self.state.databases[index];
        database.set_now(now_ms);
        (database, &mut self.reply)
    }

    /// Returns the value of the key in argument 1 and the writer of the reply, and counts a keyspace hit or miss.
    ///
    /// # Errors
    /// Fails if the value at the key is of another type.
    pub fn read<T: ValueType>(&mut self) -> Result<(Option<&T>, &mut ReplyWriter<'a>), ReplyError> {
        let key = self.argument(1)?;
        let (database, reply) = self.database();
        Ok((database.read(key)?, reply))
    }

    /// Calls `act` with the value of the key in argument 1 if the key exists, and returns whether the key exists.
    ///
    /// # Errors
    /// Fails if the value at the key is of another type.
    pub fn change<T: ValueType>(
        &mut self,
        act: impl FnOnce(&mut T, &mut ReplyWriter<'a>),
    ) -> Result<bool, ReplyError> {
        let key = self.argument(1)?;
        let (database, reply) = self.database();
        Ok(database.change(key, |value| act(value, reply))?.is_some())
    }

    /// Calls `act` with the value of the key in argument 1 and returns the result. A key that does not exist is first
    /// created with an empty value.
    ///
    /// # Errors
    /// Fails if the value at the key is of another type.
    pub fn change_or_new<T: ValueType, R>(
        &mut self,
        act: impl FnOnce(&mut T, &mut ReplyWriter<'a>) -> R,
    ) -> Result<R, ReplyError> {
        let key = self.argument(1)?;
        let (database, reply) = self.database();
        database.change_or_new(key, |value| act(value, reply))
    }
}

/// Parses a floating-point number in Redis's syntax. NaN and spaces are not allowed. `inf` and `-inf` are numbers.
pub fn float(text: &[u8]) -> Result<f64, ReplyError> {
    let value = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
    value.filter(|value| !value.is_nan()).ok_or(ReplyError::NOT_FLOAT)
}

/// Converts the indexes `start..=stop` of LRANGE or ZRANGE to a range within `length` items. Negative indexes
/// count from the end. Returns the first index, and the index after the last item.
pub fn index_range(start: i64, stop: i64, length: usize) -> (usize, usize) {
    let count = length as i64;
    let from_end = |index: i64| if index < 0 { (index + count).max(0) } else { index };
    let stop = if stop < 0 { stop + count } else { stop };
    let from = from_end(start).min(count);
    let to = (stop.min(count - 1) + 1).max(from);
    (from as usize, to as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_count_from_both_ends_and_never_leave_the_list() {
        for (start, stop, length, range) in [
            (0, -1, 5, (0, 5)),
            (1, 3, 5, (1, 4)),
            (-2, -1, 5, (3, 5)),
            (-100, 100, 5, (0, 5)),
            (4, 2, 5, (4, 4)),
            (0, -100, 5, (0, 0)),
            (i64::MIN, i64::MIN, 5, (0, 0)),
            (i64::MAX, i64::MAX, 5, (5, 5)),
            (0, -1, 0, (0, 0)),
        ] {
            assert_eq!(index_range(start, stop, length), range, "{start} {stop} of {length}");
        }
    }
}
