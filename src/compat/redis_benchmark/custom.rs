//! A command of one's own, or a sequence of them: `[N] COMMAND ARG... [';' [N] COMMAND ARG...]`.

use super::{Flavour, asked::BenchOptions, payload::Payload, suite::Test, words::Steps};
use crate::{compat::numbers::atoi, protocol::Dialect, untrusted};

/// Stands for a value.
const DATA: &[u8] = b"__data__";

/// What the command line's own commands are called.
pub(super) fn title(asked: &BenchOptions) -> String {
    let words: Vec<_> = asked.command.iter().map(|word| untrusted::bytes(word)).collect();
    words.join(" ")
}

/// The test that they are; `None` where there is only punctuation.
pub(super) fn test(
    flavour: Flavour,
    title: &str,
    asked: &BenchOptions,
    payload: &mut Payload,
) -> Option<Test> {
    let mut commands = match flavour {
        Flavour::Redis => vec![(1, asked.command.clone())],
        Flavour::Redyno | Flavour::Valkey => sequence(&asked.command),
    };
    let mut steps = Steps::new(asked, flavour != Flavour::Redis);
    let (mut all, mut bytes) = (0, 0);
    for (times, command) in &mut commands {
        if flavour != Flavour::Redis {
            command.iter_mut().for_each(|word| *word = with_data(word, asked.data_size, payload));
        }
        let words: Vec<_> = command.iter().map(Vec::as_slice).collect();
        all += *times;
        bytes += *times * Dialect::Resp2.encode(&words).len() as u64;
        (0..*times).for_each(|_| steps.add(command));
    }
    (all > 0).then(|| Test::of(title, steps, all, bytes))
}

/// The commands of a sequence, each with how often it is repeated.
fn sequence(words: &[Vec<u8>]) -> Vec<(u64, Vec<Vec<u8>>)> {
    let commands = words.split(|word| word == b";").map(|command| match command {
        [times, rest @ ..] if times.first().is_some_and(|first| (b'1'..=b'9').contains(first)) => {
            (atoi(&untrusted::bytes(times)) as u64, rest.to_vec())
        }
        command => (1, command.to_vec()),
    });
    commands.filter(|(_, command)| !command.is_empty()).collect()
}

/// A word with new bytes in place of each `__data__`.
fn with_data(word: &[u8], size: usize, payload: &mut Payload) -> Vec<u8> {
    let (mut filled, mut from) = (Vec::new(), 0);
    for at in memchr::memmem::find_iter(word, DATA) {
        filled.extend_from_slice(&word[from..at]);
        filled.extend(payload.take(size));
        from = at + DATA.len();
    }
    filled.extend_from_slice(&word[from..]);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> BenchOptions {
        let command = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        BenchOptions { command, data_size: 4, ..BenchOptions::usual() }
    }

    #[test]
    fn commands_of_a_sequence_are_repeated_and_counted_one_by_one() {
        let asked = asked("multi ; 3 set k:__rand_int__ <__data__> ; exec");
        let test = self::test(Flavour::Redyno, &title(&asked), &asked, &mut Payload::new()).unwrap();
        assert_eq!(
            (test.commands, test.title.as_str()),
            (5, "multi ; 3 set k:__rand_int__ <__data__> ; exec")
        );
        let steps = &test.workload.operations[0].steps;
        assert_eq!(steps[0], "\"multi\"");
        assert!(steps[1].ends_with(" \"<VXKe>\"") && steps[1] == steps[3], "{steps:?}");
        assert_eq!(
            test.payload,
            15 + 14 + 3 * "*3\r\n$3\r\nset\r\n$14\r\nk:__rand_int__\r\n$6\r\n<VXKe>\r\n".len() as u64
        );
    }

    #[test]
    fn redis_benchmark_knows_neither_sequences_nor_values() {
        let asked = asked("3 set ; __data__");
        let test = self::test(Flavour::Redis, "t", &asked, &mut Payload::new()).unwrap();
        assert_eq!(test.workload.operations[0].steps, ["\"3\" \"set\" \";\" \"__data__\""]);
        assert!(self::test(Flavour::Valkey, "t", &self::asked(";"), &mut Payload::new()).is_none());
    }
}
