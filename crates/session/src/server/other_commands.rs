//! Texts about commands of a workload that use keys or channels outside the run, such as `SET foo`.

use crate::units::count_with_noun;

/// The largest number of commands, of key sets, or of setup steps that a text names.
const NAMED: usize = 3;

/// Returns whether the command only sends messages, so that no key changes.
pub(super) fn is_message(command: &str) -> bool {
    command.starts_with("PUBLISH ") || command.starts_with("SPUBLISH ")
}

/// Returns a line about keys outside the run that these commands may have written, or `None` if they write no
/// keys.
pub fn foreign_keys_line<'a>(commands: impl Iterator<Item = &'a String>) -> Option<String> {
    let commands: Vec<_> = commands.filter(|command| !is_message(command)).cloned().collect();
    let line = |commands| {
        format!("redyno removes only keys of this run; {} may have written other keys", some_of(commands))
    };
    (!commands.is_empty()).then(|| line(commands))
}

/// Joins the first words, and appends the number of further words: `A and B and C and 1 other`.
pub(super) fn some_of(mut words: Vec<String>) -> String {
    let others = words.split_off(words.len().min(NAMED)).len() as u64;
    words.extend((others > 0).then(|| count_with_noun(others, "other")));
    words.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_that_write_keys_are_named() {
        let line = |commands: &[&str]| {
            let commands: Vec<_> = commands.iter().map(|command| (*command).to_owned()).collect();
            foreign_keys_line(commands.iter())
        };
        assert_eq!(line(&["PUBLISH news"]), None);
        let expected = "redyno removes only keys of this run; INCR a and SET b may have written other keys";
        assert_eq!(line(&["INCR a", "PUBLISH news", "SET b"]).as_deref(), Some(expected));
    }
}
