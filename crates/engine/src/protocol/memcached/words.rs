//! Checks the words of memcached's commands: keys, numbers, expiry times and flags.

use crate::{
    protocol::{ArgumentPart, UnsupportedCommand},
    untrusted,
};

/// The longest key in bytes.
const LONGEST_KEY: usize = 250;
/// The longest expiry time: 30 days, in seconds. memcached interprets a larger number as a date.
const LONGEST_TTL: u64 = 30 * 24 * 60 * 60;

/// A word of a command, as a list of parts.
pub(in crate::protocol) type Word = Vec<ArgumentPart>;

/// Returns the text of a word without slots, or `None` for any other word. A slot is a place that is filled for each
/// request.
pub(in crate::protocol) fn text(word: &Word) -> Option<&[u8]> {
    match word.as_slice() {
        [ArgumentPart::Text(text)] => Some(text),
        _ => None,
    }
}

pub(super) fn is(word: &Word, option: &str) -> bool {
    text(word).is_some_and(|text| text.eq_ignore_ascii_case(option.as_bytes()))
}

pub(in crate::protocol) fn is_drawn(part: &ArgumentPart) -> bool {
    matches!(part, ArgumentPart::Value { .. })
}

pub(in crate::protocol) fn has_break(text: &[u8]) -> bool {
    text.iter().any(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control())
}

/// Returns whether these bytes are a valid key. A valid key has 1 to 250 bytes, without white space and control
/// characters.
pub(super) fn is_key(bytes: &[u8]) -> bool {
    (1..=LONGEST_KEY).contains(&bytes.len()) && !has_break(bytes)
}

/// Checks the fixed parts of a key. Parts of unknown length, such as values and numbers, are not checked.
pub(super) fn check_key(key: &Word) -> Result<(), UnsupportedCommand> {
    let length: usize = key.iter().filter(|part| !is_drawn(part)).filter_map(ArgumentPart::length).sum();
    let is_empty = key.iter().all(|part| part.length() == Some(0));
    let has_bad = |part: &ArgumentPart| matches!(part, ArgumentPart::Text(text) if has_break(text));
    if is_empty || length > LONGEST_KEY {
        return Err(UnsupportedCommand(format!(
            "a key of memcached has 1 to {LONGEST_KEY} bytes, not {length}"
        )));
    }
    if key.iter().any(has_bad) {
        return Err(UnsupportedCommand(
            "a key of memcached has no spaces and no control characters".to_owned(),
        ));
    }
    Ok(())
}

/// Checks that a word is a whole number.
pub(super) fn number(word: &Word) -> Result<&Word, UnsupportedCommand> {
    let is_digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let is_number = match word.as_slice() {
        [
            ArgumentPart::Number(_)
            | ArgumentPart::Padded(..)
            | ArgumentPart::Digits(_)
            | ArgumentPart::Awaited,
        ] => true,
        [ArgumentPart::Text(text)] => is_digits(text),
        _ => false,
    };
    let given = || text(word).map_or_else(|| "something else".to_owned(), untrusted::bytes);
    if is_number {
        Ok(word)
    } else {
        Err(UnsupportedCommand(format!("memcached takes a whole number there, not '{}'", given())))
    }
}

pub(super) fn check_ttl(ttl: &Word) -> Result<(), UnsupportedCommand> {
    let seconds = text(ttl).and_then(|text| untrusted::bytes(text).parse::<u64>().ok());
    if text(ttl).is_some() && seconds.is_none_or(|seconds| seconds > LONGEST_TTL) {
        return Err(UnsupportedCommand(format!(
            "memcached reads more than {LONGEST_TTL} s (30 days) as a point in time, so the item would expire at once"
        )));
    }
    Ok(())
}

/// Returns whether the part is allowed in a flag of a meta command.
pub(super) fn is_plain(part: &ArgumentPart) -> bool {
    match part {
        ArgumentPart::Text(text) => !text.iter().any(u8::is_ascii_whitespace),
        ArgumentPart::Value { .. } | ArgumentPart::Derived(..) => false,
        ArgumentPart::Digits(_)
        | ArgumentPart::Number(_)
        | ArgumentPart::Padded(..)
        | ArgumentPart::Awaited => true,
    }
}

pub(super) fn check_flag(flag: &Word) -> Result<(), UnsupportedCommand> {
    match flag.first() {
        Some(ArgumentPart::Text(text)) if text.starts_with(b"q") => Err(UnsupportedCommand(
            "the quiet flag q of memcached leaves out replies, but redyno needs a reply to each request"
                .to_owned(),
        )),
        Some(_) if flag.iter().all(is_plain) => Ok(()),
        _ => Err(UnsupportedCommand("a flag of memcached has no spaces and no value".to_owned())),
    }
}
