//! A step of an operation, read: the words of a command and the placeholders in them.

use std::collections::BTreeMap;

use super::Keyspace;

/// A command: its arguments, each a row of fragments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step(pub(super) Vec<Vec<Fragment>>);

/// A part of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fragment {
    /// Sent as it is.
    Text(String),
    /// A key of the set with this number, in the order of their names.
    Key(u16),
    /// A value.
    Value,
    /// A whole number from the first to the last.
    Number(u64, u64),
}

impl Step {
    /// Reads `text`: words with spaces between them, and `{value}`, `{number FROM..TO}` and the names of `keys` in braces
    /// as placeholders, anywhere in a word. Other braces stay as they are.
    pub(super) fn read(text: &str, keys: &BTreeMap<String, Keyspace>) -> Self {
        let (mut words, mut word, mut rest) = (Vec::new(), Vec::new(), text);
        while let Some(next) = rest.chars().next() {
            if let Some((fragment, behind)) = placeholder(rest, keys) {
                word.push(fragment);
                rest = behind;
                continue;
            }
            if next.is_whitespace() {
                words.push(std::mem::take(&mut word));
            } else if let Some(Fragment::Text(text)) = word.last_mut() {
                text.push(next);
            } else {
                word.push(Fragment::Text(next.to_string()));
            }
            rest = &rest[next.len_utf8()..];
        }
        words.push(word);
        words.retain(|word| !word.is_empty());
        Self(words)
    }

    /// All its fragments, in the order of the wire.
    pub(super) fn fragments(&self) -> impl Iterator<Item = &Fragment> {
        self.0.iter().flatten()
    }
}

/// The placeholder that `text` begins with, and what stands behind it.
fn placeholder<'a>(text: &'a str, keys: &BTreeMap<String, Keyspace>) -> Option<(Fragment, &'a str)> {
    let (name, behind) = text.strip_prefix('{')?.split_once('}')?;
    let fragment = match name.strip_prefix("number ") {
        Some(range) => {
            let (from, to) = range.split_once("..")?;
            let (from, to) = (from.parse().ok()?, to.parse().ok()?);
            (from <= to).then_some(Fragment::Number(from, to))?
        }
        None if name == "value" => Fragment::Value,
        None => Fragment::Key(keys.keys().position(|known| known == name)? as u16),
    };
    Some((fragment, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Vec<Fragment>> {
        let keys = ["a", "key"].map(|name| (name.to_owned(), Keyspace::default()));
        Step::read(text, &keys.into()).0
    }

    fn text(text: &str) -> Fragment {
        Fragment::Text(text.to_owned())
    }

    #[test]
    fn placeholders_stand_anywhere_in_a_word() {
        let expected = [
            vec![text("SET")],
            vec![Fragment::Key(1)],
            vec![text("<"), Fragment::Value, Fragment::Key(0), text(">")],
            vec![text("EX")],
            vec![Fragment::Number(60, 3600)],
        ];
        assert_eq!(read(" SET {key}  <{value}{a}> EX {number 60..3600}"), expected);
    }

    #[test]
    fn braces_that_name_nothing_stay_as_they_are() {
        for word in ["{tag}:1", "{\"a\":1}", "{}", "{", "}", "{key", "{number}", "{{value"] {
            assert_eq!(read(word), [[text(word)]], "{word}");
        }
        assert_eq!(read("{number 9..1}"), [[text("{number")], [text("9..1}")]]);
        assert_eq!(read("{{key}}"), [[text("{"), Fragment::Key(1), text("}")]]);
        assert_eq!(read(" "), Vec::<Vec<Fragment>>::new());
    }
}
