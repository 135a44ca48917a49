//! The setup of a workload: commands that run once before the load, such as SCRIPT LOAD, FUNCTION LOAD or
//! FT.CREATE. A command of the setup can also write a key that all operations use.
//!
//! redyno sends these commands in order. Each command follows the reply to the previous command. The commands are not
//! counted as operations.

use super::{
    Draws, KeyNames, Operation, OutgoingRequests, Program, Together, Values, Workload, data::notifications,
    readable::commands, step::CommandStep,
};
use crate::{
    protocol::{Dialect, HttpSite},
    untrusted,
};

/// A command of a setup with filled placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupCommand {
    /// The name of the command in the server's statistics, in upper or lower case: `SCRIPT|LOAD`.
    pub name: String,
    /// The words of the command, including its name.
    pub words: Vec<Vec<u8>>,
    /// For HTTP, the site that receives the command, with the header fields of the workload.
    pub site: Option<&'static HttpSite>,
}

impl SetupCommand {
    /// Returns the value that the command sets for the parameter `notify-keyspace-events`.
    pub fn notifications(&self) -> Option<String> {
        let words: Vec<_> = self.words.iter().map(|word| untrusted::bytes(word)).collect();
        notifications(&words.join(" ")).map(str::to_owned)
    }
}

impl Workload {
    /// Returns the names of the setup's commands in order, without duplicates.
    pub fn setup_names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.compiled().setup.iter().filter_map(CommandStep::command).collect();
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    /// Returns the setup's commands for a [valid](Self::check) workload. `dialect` is the protocol of the
    /// server, and `names` contains the prefix of the keys. The load has `keyspace` keys, and values have
    /// `value_size` bytes. The same seed gives the same commands.
    pub fn setup_commands(
        &self,
        (dialect, names): (Dialect, &KeyNames),
        keyspace: u64,
        value_size: u32,
        seed: u64,
    ) -> Vec<SetupCommand> {
        if self.setup.is_empty() {
            return Vec::new();
        }
        // The commands are drawn like the steps of one operation in which each step waits for the previous step.
        let steps = self.setup.steps.clone();
        let together = Together::Sequence;
        let operation =
            Operation { name: "setup".to_owned(), weight: 1, together, steps, ..Operation::default() };
        let alone = Self { operations: vec![operation], ..self.without_prefill() };
        let values = Values::new(&alone, value_size, seed);
        let program = Program::new(&alone, Dialect::Resp2, keyspace, values, names);
        let mut first = OutgoingRequests::default();
        program.append(&mut Draws::new(seed), &mut first);
        let later = first.take_later().unwrap_or_default();
        let wires = [first].into_iter().chain(later).map(|step| step.wire(program.values()));
        let command = |(step, wire): (&CommandStep, Vec<u8>)| SetupCommand {
            name: step.command().unwrap_or_default(),
            site: self.http.of(dialect).site(),
            words: commands(&wire).into_iter().flatten().flatten().map(<[u8]>::to_vec).collect(),
        };
        self.compiled().setup.iter().zip(wires).map(command).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{KeySpan, Operation, Steps};

    fn with_setup(steps: &[&str]) -> Workload {
        let steps = steps.iter().map(|step| (*step).to_owned()).collect();
        Workload { setup: Steps { steps }, ..Workload::clone(&Workload::ratio(0, 1)) }
    }

    fn commands(workload: &Workload, seed: u64) -> Vec<SetupCommand> {
        workload.setup_commands((Dialect::Resp2, &KeyNames::given("k:")), 100, 8, seed)
    }

    #[test]
    fn the_commands_of_a_setup_are_drawn_like_operations() {
        let workload = with_setup(&[
            "script load 'return 1'",
            "SET {key} <{value}>",
            "EXPIRE {key.same} {number 60..60}",
            "SET \"\" \"a\\xff\"",
        ]);
        assert_eq!(workload.check(), Ok(()));
        let commands = commands(&workload, 7);
        let names: Vec<_> = commands.iter().map(|command| command.name.as_str()).collect();
        assert_eq!(names, ["SCRIPT|LOAD", "SET", "EXPIRE", "SET"]);
        assert_eq!(workload.setup_names(), ["SCRIPT|LOAD", "SET", "EXPIRE"]);
        assert_eq!(commands[0].words, [&b"script"[..], b"load", b"return 1"]);
        let [key, value] = [1, 2].map(|n| String::from_utf8(commands[1].words[n].clone()).unwrap());
        assert!(key.starts_with("k:0000000000") && key.len() == 14, "{key}");
        assert!(value.len() == 10 && value.starts_with('<') && value.ends_with('>'), "{value}");
        assert_eq!(commands[2].words[1..], [key.into_bytes(), b"60".to_vec()]);
        assert_eq!(commands[3].words[1..], [&b""[..], b"a\xff"]);
        assert_eq!(super::tests::commands(&workload, 7), commands);
        assert_ne!(super::tests::commands(&workload, 8), commands);
    }

    #[test]
    fn keys_written_by_the_setup_belong_to_the_run() {
        let span = |steps: &[&str]| KeySpan::written_by(&with_setup(steps), 10);
        assert!(span(&["SCRIPT LOAD x"]).is_empty() && span(&["GET {key}"]).is_empty());
        assert_eq!(span(&["SCRIPT LOAD x", "SET {key} 0"]), [(String::new(), 0..10)].into_iter().collect());
    }

    #[test]
    fn an_invalid_setup_is_reported() {
        let error = |steps: &[&str]| with_setup(steps).check().unwrap_err().to_string();
        assert_eq!(
            error(&["SCRIPT LOAD x", " "]),
            "the setup has a step without a command, or no step at all"
        );
        assert!(error(&["SCRIPT LOAD 'x"]).contains("the step 'SCRIPT LOAD 'x'"));
        assert!(error(&["GET {key.same}"]).starts_with("the setup repeats {key.same}"));
        let nothing = Workload { operations: vec![Operation::command("PING", 0)], ..with_setup(&["PING"]) };
        let error = nothing.check().unwrap_err().to_string();
        assert!(error.contains(" sends nothing; "), "{error}");
    }
}
