//! The kind of a reply, the parts of a reply that are counted separately, and the code of an error.

/// The kind of a complete reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply<'a> {
    /// Any good reply that is not empty.
    Value,
    /// Null, `$-1`, `*-1` or `_`, or an empty list, `*0`, `%0` or `~0`.
    Nil,
    /// A condition on an item's number did not hold, since another client changed the item: memcached's `EXISTS` or
    /// `EX`.
    Conflict,
    /// An error, or a reply that contains one: the line of the first error, without `-`: `LOADING Redis is loading
    /// the dataset in memory`.
    Error(&'a [u8]),
}

/// A part of a reply stream, if parts of replies are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A direct element of the reply in progress that is not an error.
    Element {
        /// The element's index, from 0.
        place: u64,
        /// Whether it is null, or an empty list.
        is_null: bool,
    },
    /// memcached's number of the item in the reply in progress ("cas unique").
    Cas(u64),
    /// A complete reply.
    Reply(Reply<'a>),
}

/// The longest word that is accepted as a code.
const LONGEST_CODE: usize = 24;

/// Returns the first word of an error line, `LOADING`, if it is in capitals; else `ERR`. The set of codes is open.
#[inline]
pub fn error_code(line: &[u8]) -> &str {
    let word = line.split(|byte| *byte == b' ').next().unwrap_or_default();
    let in_capitals = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let is_code = !word.is_empty() && word.len() <= LONGEST_CODE && word.iter().all(in_capitals);
    is_code.then(|| std::str::from_utf8(word).ok()).flatten().unwrap_or("ERR")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_an_error_is_its_first_word_in_capitals() {
        assert_eq!(error_code(b"NOAUTH Authentication required."), "NOAUTH");
        assert_eq!(error_code(b"MOVED 3999 127.0.0.1:6381"), "MOVED");
        assert_eq!(error_code(b"unknown command"), "ERR");
        assert_eq!(error_code(b""), "ERR");
        assert_eq!(error_code(&[b'X'; 100]), "ERR");
    }
}
