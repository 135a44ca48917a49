//! Glob patterns as Redis matches them, but for classes such as `[a-z]`: `*`, `?`, `\` before a byte that is meant literally.

/// Whether all of `text` matches `pattern`. Time is at most the product of their lengths.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut pattern, mut text) = (pattern, text);
    // Where to go on when what follows the last star does not fit: one byte further in the text.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        if let [b'*', behind @ ..] = pattern {
            retry = Some((behind, text));
            pattern = behind;
            continue;
        }
        if pattern.is_empty() && text.is_empty() {
            return true;
        }
        let stepped = text.split_first().and_then(|(byte, rest)| Some((one(pattern, *byte)?, rest)));
        if let Some(next) = stepped {
            (pattern, text) = next;
            continue;
        }
        match retry {
            Some((behind_star, [_, rest @ ..])) => {
                retry = Some((behind_star, rest));
                (pattern, text) = (behind_star, rest);
            }
            _ => return false,
        }
    }
}

/// Matches one byte against the head of `pattern`; the rest of the pattern if it fits.
fn one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    match pattern {
        [] => None,
        [b'?', rest @ ..] => Some(rest),
        [b'\\', literal, rest @ ..] | [literal, rest @ ..] => (*literal == byte).then_some(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_redis() {
        let yes = [
            ("*", ""),
            ("*", "abc"),
            ("a*c", "abbbc"),
            ("*b*d", "abcbcd"),
            ("h?llo", "hello"),
            ("a\\*", "a*"),
            ("redyno:*", "redyno:000001"),
        ];
        for (pattern, text) in yes {
            assert!(matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
        for (pattern, text) in [("", "a"), ("a", ""), ("a\\*", "ab"), ("*a", "ab"), ("A", "a")] {
            assert!(!matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_exponential_time() {
        let pattern = "a*".repeat(40) + "b";
        assert!(!matches(pattern.as_bytes(), &[b'a'; 2000]));
    }
}
