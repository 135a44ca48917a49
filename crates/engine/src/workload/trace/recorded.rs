//! Stores the commands of a trace in memory. All clients take their commands from one shared position.
//!
//! ```text
//!  bytes   2·GET·k:1│3·SET·k:2·(64 bytes)│…     words with their lengths; keys and missing values are marked
//!  dues    0 µs      120 µs                      per command, since the first command
//! ```

use std::fmt;

use super::sent::moved_keys;
use crate::{
    stats::{pack_number, unpack_number},
    units::count_with_noun,
    untrusted,
    workload::{DueTimes, shared::Shared},
};

/// The order in which the commands are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TraceOrder {
    /// The order of the file. After the last command, the first command is sent again.
    #[default]
    OfFile,
    /// A random order. Each command is drawn at random.
    Random,
}

/// A file of commands with their times. All copies share the position in the file.
pub type Trace = Shared<TraceContent>;

/// The commands of a trace file.
#[derive(Default)]
pub struct TraceContent {
    /// The times of the commands, with the position in the file.
    pub times: DueTimes,
    pub(in crate::workload) commands: Commands,
    /// The commands that are not sent: their names, and how often each command occurs.
    pub not_sent: Vec<(String, u64)>,
    /// The number of lines whose time is earlier than the time of a previous line.
    pub(in crate::workload) early: u64,
    /// The operations of the workload that send the commands.
    pub(in crate::workload) senders: Vec<u16>,
    pub(in crate::workload) order: TraceOrder,
    /// The number of bytes of all commands that may write.
    pub written: u64,
    /// The number of bytes of the largest command.
    pub largest: u64,
    /// The first command that has several different keys.
    pub(in crate::workload) several_keys: Option<String>,
}

/// Commands with their times.
#[derive(Debug, Default)]
pub(in crate::workload) struct Commands {
    bytes: Vec<u8>,
    /// The position in `bytes` at which each command begins.
    begins: Vec<u64>,
    dues_us: Vec<u64>,
    /// The index of each command's operation.
    pub(in crate::workload) operations: Vec<u16>,
}

/// The role of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::workload) enum WordRole {
    /// The word is sent unchanged.
    Plain,
    /// The word is sent after the prefix of the run.
    Key,
    /// The word is missing in the file. A text of this length is sent instead.
    LeftOut(u32),
}

impl Commands {
    /// Adds a command that is due `due_us` microseconds after the first command.
    pub(in crate::workload) fn push<'a>(
        &mut self,
        due_us: u64,
        operation: u16,
        words: impl ExactSizeIterator<Item = (&'a [u8], WordRole)>,
    ) {
        self.begins.push(self.bytes.len() as u64);
        self.dues_us.push(due_us);
        self.operations.push(operation);
        pack_number(words.len() as u64, &mut self.bytes);
        for (word, role) in words {
            let (length, kind) = match role {
                WordRole::Plain => (word.len() as u64, 0),
                WordRole::Key => (word.len() as u64, 1),
                WordRole::LeftOut(length) => (length.into(), 2),
            };
            pack_number(length * 3 + kind, &mut self.bytes);
            if kind < 2 {
                self.bytes.extend_from_slice(word);
            }
        }
    }

    /// Sorts the commands by time. Commands with the same time keep their order. Finally removes and returns the sorted
    /// times, minus `first_us`.
    pub(in crate::workload) fn sort(&mut self, first_us: u64) -> Vec<u64> {
        if !self.dues_us.is_sorted() {
            let mut order: Vec<_> = (0..self.dues_us.len()).collect();
            order.sort_by_key(|place| self.dues_us[*place]);
            self.begins = order.iter().map(|place| self.begins[*place]).collect();
            self.operations = order.iter().map(|place| self.operations[*place]).collect();
            self.dues_us.sort_unstable();
        }
        self.dues_us.iter_mut().for_each(|due_us| *due_us -= first_us);
        std::mem::take(&mut self.dues_us)
    }

    /// Returns the memory that the commands need, in bytes.
    pub(in crate::workload) fn memory(&self) -> usize {
        self.bytes.len() + self.begins.len() * (8 + 8 + 2)
    }

    pub(in crate::workload) fn count(&self) -> u64 {
        self.begins.len() as u64
    }

    /// Returns the words of a command with their roles.
    fn words(&self, place: usize) -> impl ExactSizeIterator<Item = (&[u8], WordRole)> {
        let number = |bytes: &mut &[u8]| unpack_number(bytes).expect("`push` has appended the number");
        let mut bytes = &self.bytes[self.begins[place] as usize..];
        let count = number(&mut bytes) as usize;
        (0..count).map(move |_| {
            let tagged = number(&mut bytes);
            let length = (tagged / 3) as usize;
            let role = match tagged % 3 {
                0 => WordRole::Plain,
                1 => WordRole::Key,
                _ => return (&[][..], WordRole::LeftOut(length as u32)),
            };
            let (word, rest) = bytes.split_at(length);
            bytes = rest;
            (word, role)
        })
    }
}

impl Trace {
    /// Creates a trace of commands without times. Each command comes with the index of its operation. redyno sends the
    /// command unchanged. `senders` are the operations that send the commands.
    pub fn of_commands<'a>(
        senders: Vec<u16>,
        commands: impl Iterator<Item = (u16, &'a [Vec<u8>])>,
        order: TraceOrder,
    ) -> Self {
        let mut recorded = TraceContent { senders, order, ..TraceContent::default() };
        for (operation, words) in commands {
            recorded.largest = recorded.largest.max(words.iter().map(|word| word.len() as u64).sum());
            if recorded.several_keys.is_none() && has_several(words, &moved_keys(words).unwrap_or_default()) {
                recorded.several_keys = Some(format!("the command '{}'", shown(words)));
            }
            let words: Vec<_> = words.iter().map(|word| (word.as_slice(), WordRole::Plain)).collect();
            recorded.commands.push(0, operation, words.into_iter());
        }
        Self::new(recorded)
    }
}

impl TraceContent {
    /// Returns the number of commands that are sent in one pass over the file.
    pub fn count(&self) -> u64 {
        self.commands.count()
    }

    /// Returns the index of the next command in the file, and advances the position. `below` draws a random number
    /// below its argument.
    pub(in crate::workload) fn take(&self, below: impl FnOnce(u64) -> u64) -> usize {
        let place = match self.order {
            TraceOrder::OfFile => self.times.take() % self.count(),
            TraceOrder::Random => below(self.count()),
        };
        place as usize
    }

    /// Returns the words of a command and the index of its operation. `place` is the index of the command in the file.
    pub(in crate::workload) fn command(
        &self,
        place: usize,
    ) -> (impl ExactSizeIterator<Item = (&[u8], WordRole)>, u16) {
        (self.commands.words(place), self.commands.operations[place])
    }
}

impl fmt::Display for Trace {
    /// Writes a summary: `cart.log: 12 000 commands in 60.0 s; 10 commands not sent: MULTI 5, EXEC 5`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.times.summary("command"))?;
        if self.early > 0 {
            write!(f, "; {} out of order, sorted by time", count_with_noun(self.early, "line"))?;
        }
        f.write_str(&not_sent(&self.not_sent, "sent"))
    }
}

/// The maximum length of a command in an error message, in characters.
const LONGEST_SHOWN: usize = 80;

/// Returns whether the words of a command at the positions `keys` differ.
pub(in crate::workload) fn has_several(words: &[Vec<u8>], keys: &[usize]) -> bool {
    keys.iter().any(|key| words[*key] != words[keys[0]])
}

/// Returns the words of a command for an error message.
pub(in crate::workload) fn shown(words: &[Vec<u8>]) -> String {
    untrusted::at_most(&words.join(&b' '), LONGEST_SHOWN)
}

/// The common name of all further commands that are not sent.
pub(in crate::workload) const OTHERS: &str = "others";
/// The maximum number of command names in a list of commands.
const MOST_LISTED: usize = 4;

/// Lists commands with the number of their calls: `CONFIG 5, EVAL 2`.
pub(in crate::workload) fn listed(commands: &[(String, u64)]) -> String {
    let named = commands.iter().take(MOST_LISTED);
    let mut named: Vec<_> = named
        .map(|(name, count)| format!("{} {count}", untrusted::at_most(name.replace('|', " ").as_bytes(), 40)))
        .collect();
    let more: u64 = commands.iter().skip(MOST_LISTED).map(|(_, count)| count).sum();
    named.extend((more > 0).then(|| format!("{OTHERS} {more}")));
    named.join(", ")
}

/// Returns a note about commands that are not sent or not written: `; 10 commands not sent: MULTI 5, EXEC 5`. `done` is
/// the verb in the note. The note is empty if there are no such commands.
pub fn not_sent(commands: &[(String, u64)], done: &str) -> String {
    let sum = commands.iter().map(|(_, count)| count).sum();
    if sum == 0 {
        String::new()
    } else {
        format!("; {} not {done}: {}", count_with_noun(sum, "command"), listed(commands))
    }
}
