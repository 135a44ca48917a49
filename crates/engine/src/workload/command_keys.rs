//! Finds the keys among the words of a Redis command. Word 0 is the name of the command.

use super::command_traits::command_traits;

/// Returns the positions of the keys in a request of `words` words with this command. `text` returns a word in upper
/// case, or `None` if the word differs between requests.
pub(super) fn keys_of(command: &str, words: usize, text: impl Fn(usize) -> Option<String>) -> Vec<usize> {
    // If the number of keys differs between requests, only the first key is known.
    let number = |place: usize| text(place).and_then(|count| count.parse().ok()).unwrap_or(1);
    let counted = |place: usize| (place + 1..words).take(number(place));
    let is_store = |word: String| word == "STORE" || word == "STOREDIST";
    let keys: Vec<usize> = match command_traits(command).keys {
        "none" => Vec::new(),
        "1" => vec![1],
        "2" => vec![2],
        "1,2" => vec![1, 2],
        "all" => (1..words).collect(),
        "all-but-last" => (1..words.saturating_sub(1)).collect(),
        "from-2" => (2..words).collect(),
        "counted-1" => counted(1).collect(),
        "counted-2" => counted(2).collect(),
        "1,counted-2" => [1].into_iter().chain(counted(2)).collect(),
        "each-2nd" => (1..words).step_by(2).collect(),
        "each-3rd" => (1..words).step_by(3).collect(),
        "counted-1-each-2nd" => (2..words).step_by(2).take(number(1)).collect(),
        "streams" => {
            let streams = (1..words).find(|place| text(*place).is_some_and(|word| word == "STREAMS"));
            streams.map_or_else(Vec::new, |word| {
                (word + 1..words).take((words - word - 1).div_ceil(2)).collect()
            })
        }
        "1,store" => {
            let stores = (2..words).filter(|place| text(*place).is_some_and(is_store));
            [1].into_iter().chain(stores.map(|place| place + 1)).collect()
        }
        unknown => unreachable!("the table of commands has keys in '{unknown}'"),
    };
    keys.into_iter().filter(|word| *word < words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::command_traits::names;

    #[test]
    fn the_keys_of_each_row_of_the_table_can_be_found() {
        for name in names() {
            assert!(keys_of(name, 9, |_| None).iter().all(|place| *place < 9), "{name}");
        }
    }
}
