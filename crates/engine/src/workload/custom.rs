//! A workload of commands from the command line. redyno sends each argument unchanged, except the argument's
//! placeholders.
//!
//! ```text
//! 3: SET {key} {value} \; GET {key}     two operations, the first three times as often
//! ```

use super::{Keyset, MAX_WEIGHT, Operation, Workload, WorkloadError};

impl Workload {
    /// Creates a workload from the words of commands. `;` separates two commands. `N:` before a command is the
    /// command's weight, which is 1 by default. A word is sent unchanged except for its placeholders; see
    /// [`Operation::steps`].
    ///
    /// # Errors
    /// Fails if a command is missing, or a weight is invalid.
    pub fn of_commands(words: &[String]) -> Result<Self, WorkloadError> {
        let mut operations: Vec<Operation> = Vec::new();
        for words in words.split(|word| word == ";") {
            operations.push(operation(words, operations.is_empty())?);
        }
        let unnamed = Self::custom(operations);
        let mut named: Vec<Operation> = Vec::new();
        for (operation, read) in unnamed.compiled_operations() {
            let command = read.steps[0].command().map(|command| command.replace('|', " "));
            let name = command.unwrap_or_else(|| operation.name.clone());
            let name = match named.iter().filter(|other| is_named(other, &name)).count() {
                0 => name,
                same => format!("{name} {}", same + 1),
            };
            named.push(Operation { name, ..operation.clone() });
        }
        Ok(Self { operations: named, ..unnamed.clone() })
    }

    /// Creates a workload from steps. Each step becomes an operation with the weight 1. The name of the operation is
    /// the first word of the step.
    pub fn of_steps(steps: &[String]) -> Self {
        let operations = steps.iter().map(|step| Operation::command(step, 1)).collect();
        Self::custom(operations)
    }

    fn custom(operations: Vec<Operation>) -> Self {
        let keys = [("key".to_owned(), Keyset::default())].into();
        Self { name: "custom".to_owned(), keys, operations, ..Self::default() }.with_step_definitions()
    }
}

/// Returns whether the name of the operation is `name`, or `name` followed by a number.
fn is_named(operation: &Operation, name: &str) -> bool {
    let number = operation.name.strip_prefix(name);
    number.is_some_and(|rest| {
        rest.is_empty() || rest.strip_prefix(' ').is_some_and(|n| n.parse::<u32>().is_ok())
    })
}

fn operation(words: &[String], is_first: bool) -> Result<Operation, WorkloadError> {
    let missing = || {
        let place = if is_first { "behind --" } else { "behind ;" };
        let example = "-- SET {key} {value} \\; GET {key}";
        invalid!("there is no command {place}; write for example: {example}")
    };
    let (first, rest) = words.split_first().ok_or_else(missing)?;
    let weight = first.split_once(':').filter(|(weight, _)| weight.bytes().all(|byte| byte.is_ascii_digit()));
    let (weight, name) = match weight.filter(|(weight, _)| !weight.is_empty()) {
        Some((text, name)) => {
            let weight = text.parse().ok().filter(|weight| *weight <= MAX_WEIGHT);
            let wrong = || invalid!("the weight '{text}:' is not a whole number from 0 to {MAX_WEIGHT}");
            (weight.ok_or_else(wrong)?, name)
        }
        None => (1, first.as_str()),
    };
    let name = Some(name).filter(|name| !name.is_empty());
    let words: Vec<_> = name.into_iter().chain(rest.iter().map(String::as_str)).map(quoted).collect();
    if words.is_empty() {
        return Err(missing());
    }
    let (name, steps) = (words[0].clone(), vec![words.join(" ")]);
    Ok(Operation { name, weight, steps, ..Operation::default() })
}

/// Returns a word in the syntax of a step, with quotes if necessary.
fn quoted(word: &str) -> String {
    let needs_quotes = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '\\');
    if !word.is_empty() && !word.contains(needs_quotes) {
        return word.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_ascii_control() => quoted.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        protocol::Dialect,
        workload::{Draws, KeyNames, OutgoingRequests, Program, Values},
    };

    fn read(words: &[&str]) -> Result<Workload, WorkloadError> {
        Workload::of_commands(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    fn sent(words: &[&str]) -> String {
        let workload = read(words).unwrap();
        workload.check().unwrap();
        let values = Values::new(&workload, 3, 1);
        let program = Program::new(&workload, Dialect::Resp2, 1, values, &KeyNames::given("k:"));
        let (mut draws, mut out) = (Draws::new(1), OutgoingRequests::default());
        program.append(&mut draws, &mut out);
        let mut slices = [std::io::IoSlice::new(&[]); 1];
        out.slices(None, 0, &mut slices);
        String::from_utf8_lossy(&slices[0]).into_owned()
    }

    #[test]
    fn commands_become_operations_with_weights_and_unique_names() {
        let workload = read(&[
            "3:", "set", "{key}", "a", ";", "2:GET", "{key}", ";", "GET", "x", ";", "script", "load", "y",
        ]);
        let asked: Vec<_> =
            workload.unwrap().operations.into_iter().map(|o| (o.weight, o.name, o.steps)).collect();
        let expected = [
            (3, "SET", "set {key} a"),
            (2, "GET", "GET {key}"),
            (1, "GET 2", "GET x"),
            (1, "SCRIPT LOAD", "script load y"),
        ];
        assert_eq!(
            asked,
            expected.map(|(weight, name, step)| (weight, name.to_owned(), vec![step.to_owned()]))
        );
    }

    #[test]
    fn a_word_is_sent_unchanged_except_for_its_placeholders() {
        for word in
            ["a b", "", "it's", "\"q\"", "a\\n", "\n", "{\"a\":\"b c\"}", "{tag}1", "\u{e4}\u{1}", "x\"y"]
        {
            assert_eq!(sent(&["ECHO", word]), format!("*2\r\n$4\r\nECHO\r\n${}\r\n{word}\r\n", word.len()));
        }
        assert!(
            sent(&["SET", "{key}", "id {number 7..7}"]).ends_with("$14\r\nk:000000000000\r\n$4\r\nid 7\r\n")
        );
    }

    #[test]
    fn a_missing_command_is_reported() {
        for words in [&[][..], &["GET", "x", ";"], &[";", "GET"], &["3:"]] {
            let error = read(words).unwrap_err().to_string();
            assert!(error.starts_with("there is no command behind "), "{words:?}: {error}");
        }
        let error = read(&["2000000:", "GET"]).unwrap_err().to_string();
        assert_eq!(error, "the weight '2000000:' is not a whole number from 0 to 1000000");
        assert_eq!(read(&["key:1", "x"]).unwrap().operations[0].name, "KEY:1");
    }
}
