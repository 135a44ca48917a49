//! The results of parsing a reply, in any protocol: the kind of the reply (good, miss, error), its error code, and the
//! parts that are counted separately.

/// The kind of a complete reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply<'a> {
    /// Any good reply that is not empty.
    Value,
    /// Null (`$-1`, `*-1` or `_`) or an empty list (`*0`, `%0` or `~0`).
    Nil,
    /// A compare-and-swap failed, because another client had changed the item. memcached's reply is `EXISTS` or `EX`.
    Conflict,
    /// An error, or a reply that contains errors. The bytes are the line of the first error without `-`, such
    /// as `LOADING Redis is loading the dataset in memory`.
    Error(&'a [u8]),
}

/// The parts of a reply that a skipper (the parser that finds the ends of replies) returns before the reply
/// itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReplyParts {
    /// No parts.
    #[default]
    None,
    /// The elements of Redis' lists, and the CAS numbers of memcached's items.
    Elements,
    /// The number at the beginning of Redis' lists: the cursor in a reply to SCAN.
    Cursors,
    /// No parts. All HTTP requests are HEAD. Replies to HEAD have headers and no bodies.
    Headers,
}

/// The result of a skipper: a complete reply or, if parts are requested, a part of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyPiece<'a> {
    /// An element of the current reply that is not nested and not an error.
    Element {
        /// The index of the element in the reply, from 0.
        place: u64,
        /// Whether the element is null or an empty list.
        is_null: bool,
    },
    /// A number that a later request sends. This number is the CAS number ("cas unique") of an item of memcached, or
    /// the cursor of a SCAN.
    Number(u64),
    /// A complete reply.
    Reply(Reply<'a>),
}

/// The longest word that is accepted as the code of an error, in bytes.
const LONGEST_CODE: usize = 24;

/// Returns the code of an error. If the first word of the line is in capitals, such as `LOADING`, this word
/// is the code. Otherwise, the code is `ERR`. The code is not checked, because a server may send any code.
/// The code of an HTTP error is its status, such as `HTTP 503`.
#[inline]
pub fn error_code(line: &[u8]) -> &str {
    if let Some(status) = line.first_chunk::<8>()
        && status.starts_with(b"HTTP ")
        && status[5..].iter().all(u8::is_ascii_digit)
    {
        return std::str::from_utf8(status).unwrap_or("ERR");
    }
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
        assert_eq!(error_code(b"HTTP 503 Service Unavailable"), "HTTP 503");
        assert_eq!(error_code(b"HTTP 5"), "HTTP");
        assert_eq!(error_code(b""), "ERR");
        assert_eq!(error_code(&[b'X'; 100]), "ERR");
    }
}
