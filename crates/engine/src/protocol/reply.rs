//! What a reply was, the parts of one that count by themselves, and the code of an error.

/// What a finished reply was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply<'a> {
    /// Anything good that is something.
    Value,
    /// Null, `$-1`, `*-1` or `_`, or a list of nothing, `*0`, `%0` or `~0`.
    Nil,
    /// A condition on the number of an item that did not hold, since another was faster: memcached's `EXISTS` or `EX`.
    Conflict,
    /// An error, or what holds one: the line of the first, without `-`: `LOADING Redis is loading the dataset in memory`.
    Error(&'a [u8]),
}

/// What is handed out of a stream in which parts of replies count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// An element of the reply to come, of that itself and not of its elements, that is no error.
    Element {
        /// Its place, from 0.
        place: u64,
        /// Whether it is null, or a list of nothing.
        is_null: bool,
    },
    /// The number by which memcached knows the item as it is in the reply to come (its "cas unique").
    Cas(u64),
    /// A reply.
    Reply(Reply<'a>),
}

/// The longest word that is taken for a code.
const LONGEST_CODE: usize = 24;

/// The first word of an error line, `LOADING`, when it is in capitals; else `ERR`. Codes are open-ended.
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
