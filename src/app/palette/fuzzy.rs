//! How well a name answers what was typed. Pure.

/// How well `name` answers `query`: higher is better, `None` when a word of it is not in the name, not even with
/// gaps. Case does not matter; words may come in any order.
pub fn score(query: &str, name: &str) -> Option<u32> {
    let name = name.to_lowercase();
    query.split_whitespace().map(|word| score_of_word(&word.to_lowercase(), &name)).sum()
}

fn score_of_word(word: &str, name: &str) -> Option<u32> {
    let is_start = |at: usize| name[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric());
    if name.split_whitespace().any(|part| part == word) {
        return Some(if name.starts_with(word) { 120 } else { 100 });
    }
    if let Some(at) = name.match_indices(word).map(|(at, _)| at).find(|at| is_start(*at)) {
        return Some(if at == 0 { 90 } else { 70 });
    }
    if name.contains(word) {
        return Some(40);
    }
    with_gaps(word, name)
}

/// The letters in their order, the first at the start of a word; few gaps are better.
fn with_gaps(word: &str, name: &str) -> Option<u32> {
    let first = word.chars().next()?;
    let starts = name.char_indices().filter(|(at, c)| {
        *c == first && name[..*at].chars().next_back().is_none_or(|before| !before.is_alphanumeric())
    });
    starts.filter_map(|(at, _)| gaps(word, &name[at..])).min().map(|gaps| 20_u32.saturating_sub(gaps).max(1))
}

/// How many characters of `name` lie between the letters of `word`.
fn gaps(word: &str, name: &str) -> Option<u32> {
    let mut rest = name.chars();
    let mut gaps = 0;
    for letter in word.chars() {
        loop {
            match rest.next()? {
                c if c == letter => break,
                _ => gaps += 1,
            }
        }
    }
    Some(gaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_go_before_their_beginnings_and_those_before_letters_with_gaps() {
        let scores = ["rate max", "rates", "overrate", "read a table"].map(|name| score("rate", name));
        assert!(scores.is_sorted_by(|a, b| a > b) && scores[3].is_some(), "{scores:?}");
        assert_eq!(score("rate", "clients"), None);
        assert_eq!(score("", "anything"), Some(0));
    }

    #[test]
    fn every_word_must_be_there_in_any_order_and_case() {
        assert!(score("LAT screen", "screen Latency").is_some());
        assert_eq!(score("screen foo", "screen Latency"), None);
        assert!(score("prca", "preset cache").is_some());
        assert!(score("größe", "Größe").is_some());
    }
}
