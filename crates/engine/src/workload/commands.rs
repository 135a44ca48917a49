//! Decides which replies to a workload's command are misses, and which keys the command writes.

use super::{command_keys::keys_of, command_traits::command_traits};

/// The replies to a command that count as misses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Misses {
    /// Replies are not counted as hits or misses.
    #[default]
    Never,
    /// A null reply or an empty list is a miss. Every other successful reply is a hit.
    Null,
    /// A null reply is a miss. A CAS conflict is neither a hit nor a miss. Every other successful reply is a hit.
    NullOrConflict,
}

/// Returns whether `command` begins a transaction. A transaction affects later commands of the same connection.
pub(super) fn begins_transaction(command: &str) -> bool {
    ["MULTI", "WATCH"].contains(&command)
}

/// Returns which replies to `command` are misses. An argument is `None` if it differs between requests.
pub(super) fn misses(command: &str, arguments: &[Option<String>]) -> Misses {
    let traits = command_traits(command);
    let finds = traits.finds || traits.finds_range && is_from_the_first(arguments);
    if finds { Misses::Null } else { Misses::Never }
}

/// Returns whether the arguments are a range of indexes that contains the first element of every list. The range is
/// from 0 to -1, or from 0 to an index of at least 0.
fn is_from_the_first(arguments: &[Option<String>]) -> bool {
    let is_last = |stop: &str| stop == "-1" || stop.parse::<u64>().is_ok();
    let keeps_places = |option: &Option<String>| {
        option.as_ref().is_some_and(|option| ["REV", "WITHSCORES"].contains(&option.to_uppercase().as_str()))
    };
    match arguments {
        [_, Some(start), Some(stop), options @ ..] => {
            start == "0" && is_last(stop) && options.iter().all(keeps_places)
        }
        _ => false,
    }
}

/// Returns the number of elements in the reply to MGET, HMGET or ZMSCORE with `words` words. An element is
/// null if its key or field is missing. The result is 0 for other commands.
pub(super) fn elements(command: &str, words: usize) -> usize {
    match command {
        "MGET" => words - 1,
        "HMGET" | "ZMSCORE" => words.saturating_sub(2),
        _ => 0,
    }
}

/// Returns the positions of the keys that `command` may write, in a request of `words` words. For a command
/// that sends a message, returns the position of the channel. The name of the command is word 0. `text`
/// returns a word in upper case, or `None` if the word differs between requests. The result is empty if there
/// are no such keys, or if they are unknown.
pub(super) fn written_keys(
    command: &str,
    words: usize,
    text: impl Fn(usize) -> Option<String>,
) -> Vec<usize> {
    let is_number = |place| text(place).is_some_and(|number| number.parse::<usize>().is_ok());
    let keys = match command {
        // The key is in another database, where the run does not remove it.
        "MOVE" => Vec::new(),
        "COPY" if (3..words).any(|place| text(place).is_some_and(|word| word == "DB")) => Vec::new(),
        "GAT" | "GATS" => (2..words).collect(),
        "TS.CREATERULE" | "TS.DELETERULE" => vec![1, 2],
        "BITOP" | "TR.BITOP" => vec![2],
        "LMPOP" | "ZMPOP" | "MSETEX" if !is_number(1) => Vec::new(),
        "BLMPOP" | "BZMPOP" | "EVAL" | "EVALSHA" | "FCALL" if !is_number(2) => Vec::new(),
        _ if command_traits(command).writes_all || command.contains('|') => keys_of(command, words, text),
        _ => vec![1],
    };
    keys.into_iter().filter(|place| *place < words).collect()
}
