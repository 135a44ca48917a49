//! The connection for an examination of the server's keys: sends several commands together, and reads their
//! replies.

use std::time::{Duration, Instant};

use crate::{
    endpoint::{Talk, Target, talk},
    protocol::{Dialect, Reply, RespValue, error_code},
    server::{ServerError, pace::SentCommands},
    untrusted,
};

/// The name of the connection (CLIENT SETNAME).
const NAME: &str = "redyno-keys";
/// The time limit for connecting, and for the replies to a batch.
const LIMIT: Duration = Duration::from_secs(5);
/// The number of PINGs that measure the shortest round trip.
const PINGS: u32 = 5;

/// A command with its arguments.
pub type KeyCommand<'a> = Vec<&'a [u8]>;

/// A reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyReply {
    Number(i64),
    /// All strings of a reply, in order.
    Texts(Vec<Vec<u8>>),
    /// Null, or an error because the key is on another node of a cluster now.
    Nothing,
}

/// The longest accepted reply, in bytes: MONITOR repeats the values of commands.
const LONGEST: usize = 16 << 20;

/// A connection that examines keys.
pub(super) struct KeyConnection {
    pub(super) talk: Talk,
    sent: SentCommands,
    /// The shortest round trip: the time of the network and of redyno, without the server's work.
    shortest: Duration,
}

impl KeyConnection {
    /// Connects to `target` with RESP2. The commands of the connection are counted in `sent`.
    pub(super) fn open(target: &Target, sent: SentCommands) -> Result<Self, ServerError> {
        let talk =
            talk(target, Some(NAME), LIMIT).map_err(|error| ServerError::Unreachable(error.to_string()))?;
        let mut line = Self { talk: talk.bounded(LONGEST), sent, shortest: LIMIT };
        for _ in 0..PINGS {
            let began = Instant::now();
            line.ask(&[vec![b"PING"]])?;
            line.shortest = line.shortest.min(began.elapsed());
        }
        Ok(line)
    }

    /// Sends `commands` together. Returns the replies, and the longest time that the server may have worked on the
    /// commands: the time until the last reply, minus the shortest round trip. This time includes the server's work for
    /// other clients.
    pub(super) fn timed(
        &mut self,
        commands: &[KeyCommand],
    ) -> Result<(Vec<KeyReply>, Duration), ServerError> {
        let began = Instant::now();
        let found = self.ask(commands)?;
        Ok((found, began.elapsed().saturating_sub(self.shortest)))
    }

    /// Sends `commands` together. Returns their replies.
    ///
    /// # Errors
    /// Fails if the server refuses a command, or the connection is lost.
    pub(super) fn ask(&mut self, commands: &[KeyCommand]) -> Result<Vec<KeyReply>, ServerError> {
        let mut found = Vec::with_capacity(commands.len());
        let mut refused = None;
        for words in commands {
            self.sent.count(&name(words[0]), words.get(1).map(|word| name(word)).as_deref());
        }
        let asked: Vec<_> = commands.iter().flat_map(|words| Dialect::Resp2.encode(words)).collect();
        let answered = self.talk.ask(&asked, commands.len(), LIMIT, |bytes, reply| {
            if let Reply::Error(line) = reply
                && !["MOVED", "ASK", "TRYAGAIN"].contains(&error_code(line))
            {
                let words = &commands[found.len()];
                let is_group = [&b"CLIENT"[..], b"MEMORY", b"OBJECT"].contains(&words[0]);
                let command = name(&words[..1 + usize::from(is_group)].join(&b' '));
                let message = untrusted::bytes(line);
                refused.get_or_insert(ServerError::Refused { command, message });
            }
            found.push(read(bytes));
        });
        answered.map_err(|error| {
            let command = name(commands[0][0]);
            ServerError::Lost { command, cause: error.to_string() }
        })?;
        refused.map_or(Ok(found), Err)
    }
}

fn name(word: &[u8]) -> String {
    untrusted::at_most(word, 32)
}

/// Reads a complete reply.
fn read(reply: &[u8]) -> KeyReply {
    let mut texts = Vec::new();
    match RespValue::read(reply) {
        Some(RespValue::Number(number)) => return KeyReply::Number(number),
        Some(value) => add_texts(&value, &mut texts),
        None => {}
    }
    if texts.is_empty() { KeyReply::Nothing } else { KeyReply::Texts(texts) }
}

fn add_texts(value: &RespValue, texts: &mut Vec<Vec<u8>>) {
    texts.extend(value.text().map(<[u8]>::to_vec));
    value.list().unwrap_or_default().iter().for_each(|part| add_texts(part, texts));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_numbers_texts_or_nothing() {
        let texts =
            |texts: &[&str]| KeyReply::Texts(texts.iter().map(|text| text.as_bytes().to_vec()).collect());
        for (reply, expected) in [
            (":72\r\n", KeyReply::Number(72)),
            (":-1\r\n", KeyReply::Number(-1)),
            ("$-1\r\n", KeyReply::Nothing),
            ("-MOVED 1 a:1\r\n", KeyReply::Nothing),
            ("+hash\r\n", texts(&["hash"])),
            ("*2\r\n$1\r\n0\r\n*0\r\n", texts(&["0"])),
            ("*2\r\n$2\r\n17\r\n*2\r\n$4\r\na\r\nb\r\n$0\r\n\r\n", texts(&["17", "a\r\nb", ""])),
        ] {
            assert_eq!(read(reply.as_bytes()), expected, "{reply:?}");
        }
    }
}
