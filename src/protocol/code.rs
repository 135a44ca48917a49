//! The code of a server's error.

/// The longest word that is taken for a code.
const LONGEST: usize = 24;

/// The first word of an error line, `LOADING`, when it is in capitals; else `ERR`. Codes are open-ended.
#[inline]
pub fn error_code(line: &[u8]) -> &str {
    let word = line.split(|byte| *byte == b' ').next().unwrap_or_default();
    let in_capitals = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let is_code = !word.is_empty() && word.len() <= LONGEST && word.iter().all(in_capitals);
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
