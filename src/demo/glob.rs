//! Glob patterns as Redis matches them, but for classes such as `[a-z]`: `*`, `?`, `\` before a byte that is meant literally.

/// Whether all of `text` matches `pattern`. Time is at most the product of their lengths.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    // How far into the text the pattern may have come so far.
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    let mut rest = pattern.iter();
    while let Some(byte) = rest.next() {
        if *byte == b'*' {
            let first = reached.iter().position(|is_reached| *is_reached).unwrap_or(reached.len());
            reached[first..].fill(true);
            continue;
        }
        let is_literal = *byte == b'\\';
        let wanted = if is_literal { rest.next().unwrap_or(byte) } else { byte };
        for end in (1..reached.len()).rev() {
            reached[end] = reached[end - 1] && (text[end - 1] == *wanted || (*byte == b'?' && !is_literal));
        }
        reached[0] = false;
    }
    reached[text.len()]
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
