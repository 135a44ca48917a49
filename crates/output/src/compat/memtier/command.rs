//! Parses a command that the user gives to `redyno memtier` (`--command`), and adds it to the workload.

use super::option_values::{KeyOrder, UserCommand};
use crate::{compat::numbers::escaped, untrusted, workload::plain_words};

/// The placeholder for a key, within a word.
const KEY: &[u8] = b"__key__";
/// The placeholder for a value. The placeholder must be a whole word.
const DATA: &[u8] = b"__data__";
/// Characters that [`escaped`] leaves unchanged in a word. Underscores are escaped, because they might belong
/// to placeholders of other tools.
const PLAIN: &[u8] = b":";

impl UserCommand {
    /// Parses a command: words separated by spaces, with quotes as in redis-cli. The first word must not be a
    /// placeholder.
    pub(super) fn read(text: &str) -> Option<Self> {
        let words = plain_words(text)?;
        let is_command = words.first().is_some_and(|name| ![KEY, DATA].contains(&name.as_slice()));
        is_command.then_some(Self { words, ratio: 1, pattern: KeyOrder::default() })
    }

    /// Returns the first word of the command in capitals.
    pub(super) fn name(&self) -> String {
        untrusted::bytes(&self.words[0]).to_ascii_uppercase()
    }

    /// Returns the number of keys in the command.
    pub(super) fn keys(&self) -> usize {
        self.words.iter().map(|word| memchr::memmem::find_iter(word, KEY).count()).sum()
    }

    /// Returns the command as a step of a workload. `__key__` becomes a placeholder for a key of the set
    /// `keys`, and `__data__` becomes the placeholder of the value `data`. Returns `None` if `__data__` is
    /// only a part of a word.
    pub(super) fn step(&self, keys: &str) -> Option<String> {
        let word = |word: &Vec<u8>| match word.as_slice() {
            DATA => Some("\"{data}\"".to_owned()),
            word if memchr::memmem::find(word, DATA).is_some() => None,
            word => {
                let (mut text, mut from) = (String::new(), 0);
                for at in memchr::memmem::find_iter(word, KEY) {
                    text += &format!("{}{{{keys}}}", escaped(&word[from..at], PLAIN));
                    from = at + KEY.len();
                }
                Some(format!("\"{text}{}\"", escaped(&word[from..], PLAIN)))
            }
        };
        let words: Option<Vec<_>> = self.words.iter().map(word).collect();
        words.map(|words| words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(text: &str) -> Option<String> {
        UserCommand::read(text)?.step("k")
    }

    #[test]
    fn placeholders_become_keys_and_values_and_other_text_is_sent_unchanged() {
        assert_eq!(
            step("hset h:__key__:a f __data__").as_deref(),
            Some("\"hset\" \"h:{k}:a\" \"f\" \"{data}\"")
        );
        assert_eq!(
            step("GET {__rand_int__}").as_deref(),
            Some(r#""GET" "\x7b\x5f\x5frand\x5fint\x5f\x5f\x7d""#)
        );
        assert_eq!(step("SET __key__ x__data__"), None);
        assert_eq!(UserCommand::read("hset a b").unwrap().name(), "HSET");
    }

    #[test]
    fn words_are_quoted_as_in_redis_cli() {
        let words = |text: &str| UserCommand::read(text).map(|command| command.words);
        let expected: Vec<Vec<u8>> =
            vec![b"a".into(), b"b c".into(), b"d'\\x".into(), b"\x01\n\"".into(), b"".into()];
        assert_eq!(words(r#" a "b c"  'd\'\x' "\x01\n\"" """#), Some(expected));
        for bad in ["", "  ", "\"a", "\"a\"b", "'a", "__key__ a", "__data__"] {
            assert_eq!(words(bad), None, "{bad}");
        }
    }
}
