//! How RESP puts commands into bytes, and the commands by which one becomes somebody.

use super::{Dialect, Introduction, Step};

/// Ends a line, and a bulk string.
pub(super) const END: &[u8] = b"\r\n";

/// Encodes a command of fixed words.
pub(super) fn encode(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = header(b'*', words.len());
    for word in words {
        bytes.extend(header(b'$', word.len()));
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(END);
    }
    bytes
}

/// A line of a kind and a number.
pub(super) fn header(kind: u8, n: usize) -> Vec<u8> {
    let mut line = vec![kind];
    line.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
    line.extend_from_slice(END);
    line
}

/// Who we are, then which dialect, then which database, then our name.
pub(super) fn introduce(dialect: Dialect, who: &Introduction) -> Vec<(Step, Vec<u8>)> {
    let mut steps = Vec::new();
    let mut say = |step, words: &[&[u8]]| steps.push((step, encode(words)));
    match (who.user, who.password) {
        (Some(user), Some(password)) => say(Step::Auth, &[b"AUTH", user.as_bytes(), password.as_bytes()]),
        (None, Some(password)) => say(Step::Auth, &[b"AUTH", password.as_bytes()]),
        (_, None) => {}
    }
    if dialect == Dialect::Resp3 {
        say(Step::Hello, &[b"HELLO", b"3"]);
    }
    if who.db != 0 {
        say(Step::Select, &[b"SELECT", who.db.to_string().as_bytes()]);
    }
    if let Some(name) = who.name {
        say(Step::SetName, &[b"CLIENT", b"SETNAME", name.as_bytes()]);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_an_array_of_bulk_strings() {
        assert_eq!(encode(&[b"SELECT", b"3"]), b"*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n");
    }
}
