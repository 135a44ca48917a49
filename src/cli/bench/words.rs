//! The words of a command as a step of the workload model, in which they are sent byte for byte but for the placeholders.

use std::collections::BTreeMap;

use super::asked::Asked;
use crate::workload::{Distribution, Keyspace};

/// What stands for a number in a command, one by itself each time, or the same one for all that are called alike.
const PLACEHOLDERS: [&[u8; 12]; 10] = [
    b"__rand_int__",
    b"__rand_1st__",
    b"__rand_2nd__",
    b"__rand_3rd__",
    b"__rand_4th__",
    b"__rand_5th__",
    b"__rand_6th__",
    b"__rand_7th__",
    b"__rand_8th__",
    b"__rand_9th__",
];

/// Commands that are put into the words of the model, and the sets of numbers that they draw from.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// How many numbers there are; `None` is that placeholders are no such.
    keyspace: Option<u64>,
    /// How they are drawn.
    distribution: Distribution,
    /// How many of the placeholders are known.
    placeholders: usize,
    pub(super) sets: BTreeMap<String, Keyspace>,
    pub(super) steps: Vec<String>,
}

impl Steps {
    /// With numbers as they are asked for in place of `__rand_int__`, and of `__rand_1st__` and its like if these are known.
    pub(super) fn new(asked: &Asked, has_ordinals: bool) -> Self {
        let placeholders = if has_ordinals { PLACEHOLDERS.len() } else { 1 };
        let distribution = if asked.is_sequential { Distribution::Sequential } else { Distribution::Uniform };
        Self { keyspace: asked.keyspace, distribution, placeholders, ..Self::default() }
    }

    /// Adds a command.
    pub(super) fn add(&mut self, words: &[Vec<u8>]) {
        let words: Vec<_> = words.iter().map(|word| format!("\"{}\"", self.word(word))).collect();
        self.steps.push(words.join(" "));
    }

    fn word(&mut self, word: &[u8]) -> String {
        let Some(keyspace) = self.keyspace else { return escaped(word) };
        let (mut text, mut rest) = (String::new(), word);
        while let Some((at, n)) = self.next(rest) {
            text += &escaped(&rest[..at]);
            text += &self.draw(n, keyspace);
            rest = &rest[at + PLACEHOLDERS[n].len()..];
        }
        text + &escaped(rest)
    }

    /// The next placeholder: where it is, and which.
    fn next(&self, word: &[u8]) -> Option<(usize, usize)> {
        let found = PLACEHOLDERS[..self.placeholders].iter().enumerate();
        let found = found.filter_map(|(n, name)| Some((memchr::memmem::find(word, &name[..])?, n)));
        found.min()
    }

    /// A number of placeholder `n`: those that are called alike share one.
    fn draw(&mut self, n: usize, keyspace: u64) -> String {
        let name = format!("r{n}");
        let (count, distribution) = (Some(keyspace.max(1)), self.distribution);
        let numbers = Keyspace { count, distribution, ..Keyspace::default() };
        let was_drawn = self.sets.insert(name.clone(), numbers).is_some();
        if n > 0 && was_drawn { format!("{{{name}.same}}") } else { format!("{{{name}}}") }
    }
}

/// What means nothing but itself in a step, between double quotes.
fn escaped(bytes: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b" :;<=>?@[].,/+-*()'!#$%&".contains(byte);
    let one =
        |byte: &u8| if is_plain(byte) { char::from(*byte).to_string() } else { format!("\\x{byte:02x}") };
    bytes.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        protocol::Dialect,
        workload::{Draws, KeyNames, Operation, Outgoing, Program, Values, Workload},
    };

    /// The words of the commands on the wire.
    fn sent(keyspace: Option<u64>, commands: &[&[&[u8]]]) -> Vec<String> {
        let mut steps = Steps::new(&Asked { keyspace, ..Asked::default() }, true);
        for command in commands {
            steps.add(&command.iter().map(|word| word.to_vec()).collect::<Vec<_>>());
        }
        let operation = Operation { weight: 1, steps: steps.steps, ..Operation::default() };
        let workload = Workload { keys: steps.sets, operations: vec![operation], ..Workload::default() };
        let values = Values::new(&workload, 1, 1);
        let program = Program::new(&workload, Dialect::Resp2, 1, values, &KeyNames::given(""));
        let mut out = Outgoing::default();
        program.append(&mut Draws::new(3), &mut out);
        let mut wire = Vec::new();
        let mut slices = [std::io::IoSlice::new(&[]); 4];
        let n = out.slices(None, 0, &mut slices);
        slices[..n].iter().for_each(|slice| wire.extend_from_slice(slice));
        let lines =
            wire.split(|byte| *byte == b'\n').map(|line| String::from_utf8_lossy(line).trim_end().to_owned());
        lines.filter(|line| !line.starts_with(['*', '$']) && !line.is_empty()).collect()
    }

    #[test]
    fn words_are_sent_byte_for_byte() {
        let words: [&[u8]; 5] =
            [b"SET", b"key:__rand_int__", b"{tag} \"q\" 'q' \\x41\\", b"\xffx", b"{r0}{value}"];
        let told = sent(None, &[&words]);
        assert_eq!(told, ["SET", "key:__rand_int__", "{tag} \"q\" 'q' \\x41\\", "\u{fffd}x", "{r0}{value}"]);
    }

    #[test]
    fn each_rand_int_is_a_number_of_its_own_and_each_ordinal_one_for_all() {
        let told = sent(
            Some(1_000_000_000),
            &[
                &[b"A", b"k:__rand_int__x__rand_int__", b"__rand_1st__"],
                &[b"B", b"__rand_1st__", b"__rand_2nd__"],
            ],
        );
        let [a, pair, first, b, again, second] = &told[..] else { panic!("{told:?}") };
        assert_eq!((a.as_str(), b.as_str(), first), ("A", "B", again));
        assert_eq!((pair.len(), second.len()), (2 + 12 + 1 + 12, 12));
        assert_ne!(pair[2..14], pair[15..]);
        assert_ne!(first, second);
        assert_eq!(sent(Some(0), &[&[b"GET", b"key:__rand_int__"]]), ["GET", "key:000000000000"]);
    }
}
