//! What is run once before a load: SCRIPT LOAD, FUNCTION LOAD, FT.CREATE, a key that operations share.
//!
//! Its commands are no operations: they are sent by the control plane before the load, in their order, each after the reply
//! to the one before, and are in no count of operations.

use serde::{Deserialize, Serialize};

use super::{
    Draws, Insertions, KeyNames, Keyset, Values, Workload,
    chooser::Chooser,
    compiled::CompiledKeyset,
    dataset::Taken,
    draws::{Filling, Sources},
    key_form::SetNames,
    now,
    step::{Fragment, Step},
};
use crate::protocol::Fill;

/// What is run once before a load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Setup {
    /// Its commands, written as the steps of an operation are.
    pub steps: Vec<String>,
}

/// A command of a setup as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupCommand {
    /// As the server's statistics call it but for its case: `SCRIPT|LOAD`.
    pub name: String,
    /// Its words, the first of which is the command.
    pub words: Vec<Vec<u8>>,
}

impl Setup {
    /// Whether there is nothing to be run.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

impl Workload {
    /// What the commands of its setup are called, each once, in their order.
    pub fn setup_names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.compiled().setup.iter().filter_map(Step::command).collect();
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    /// The commands of the setup of a workload that can be [run](Self::check) over `keyspace` keys called `names`, with
    /// values of `value_size` bytes; the same seed draws the same.
    pub fn setup_commands(
        &self,
        keyspace: u64,
        names: &KeyNames,
        value_size: u32,
        seed: u64,
    ) -> Vec<SetupCommand> {
        let setup = &self.compiled().setup;
        let used = setup.iter().flat_map(Step::values).collect();
        let values = Values::of_kinds(self, &used, value_size, seed);
        let (sets, names) = self.sets(keyspace, names);
        let sources = Sources { sets, others: Vec::new(), values };
        let (mut draws, mut left_out, mut noted) = (Draws::new(seed), Vec::new(), Vec::new());
        let mut filling = Filling {
            sources: &sources,
            draws: &mut draws,
            left_out: &mut left_out,
            noted: &mut noted,
            inserted: (&mut Insertions::default(), 0),
            record: &Taken::default(),
            given: 0,
            awaited: None,
            refused: None,
        };
        let mut word = |word: &Vec<Fragment>| {
            word.iter().flat_map(|fragment| bytes(fragment, &names, &mut filling)).collect()
        };
        let mut command = |step: Step| SetupCommand {
            name: step.command().unwrap_or_default(),
            words: step.0.iter().map(&mut word).collect(),
        };
        setup.iter().flat_map(|step| self.drawn_once([step])).map(&mut command).collect()
    }

    /// The sets of keys, as what draws their numbers, and what they are called.
    pub(super) fn sets(&self, keyspace: u64, names: &KeyNames) -> (Vec<Chooser>, Vec<SetNames>) {
        let set = |(keys, CompiledKeyset { grows, .. }): (&Keyset, &CompiledKeyset)| {
            let grows = *grows;
            let prefix = if keys.bare { String::new() } else { [names.prefix(), &keys.prefix].concat() };
            let form = keys.form();
            (Chooser::new(keys, keyspace, grows), SetNames { prefix, form, grows })
        };
        self.keys.values().zip(&self.compiled().keysets).map(set).unzip()
    }
}

/// A fragment as it is sent; what it draws is noted.
fn bytes(fragment: &Fragment, names: &[SetNames], filling: &mut Filling) -> Vec<u8> {
    let key = |set: u16, number| names[usize::from(set)].key(number);
    match *fragment {
        Fragment::Text(ref text) => text.clone(),
        // A setup that can be run has no new ones.
        Fragment::Key(set) | Fragment::Given(set) | Fragment::New(set) => key(set, filling.note(set)),
        Fragment::Same(set) => key(set, filling.noted[usize::from(set)]),
        Fragment::Value(kind) => {
            let (cut, _) = filling.value(kind);
            let [before, behind] = filling.sources.values.frame(cut).unwrap_or_default();
            [before, filling.sources.values.bytes(cut), behind].concat()
        }
        Fragment::Number(from, to) => filling.between(from, to).to_string().into_bytes(),
        // A setup that can be run has none of these.
        Fragment::OfRecord(ref portion) => portion.to_string().into_bytes(),
        Fragment::Cas => b"{cas}".to_vec(),
        Fragment::Now => now::unix_ms().to_string().into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{KeySpan, Operation, WorkloadError};

    fn with_setup(steps: &[&str]) -> Workload {
        let steps = steps.iter().map(|step| (*step).to_owned()).collect();
        Workload { setup: Setup { steps }, ..Workload::clone(&Workload::ratio(0, 1)) }
    }

    fn commands(workload: &Workload, seed: u64) -> Vec<SetupCommand> {
        workload.setup_commands(100, &KeyNames::given("k:"), 8, seed)
    }

    #[test]
    fn its_commands_are_drawn_once_as_those_of_operations_are() {
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
    fn what_it_writes_may_be_written_though_no_operation_does() {
        let span = |steps: &[&str]| KeySpan::written_by(&with_setup(steps), 10);
        assert!(span(&["SCRIPT LOAD x"]).is_empty() && span(&["GET {key}"]).is_empty());
        assert_eq!(span(&["SCRIPT LOAD x", "SET {key} 0"]), KeySpan::of_values_and_counters(10, 0));
    }

    #[test]
    fn a_setup_that_cannot_be_run_is_named() {
        let error = |steps: &[&str]| with_setup(steps).check().unwrap_err().to_string();
        assert_eq!(
            error(&["SCRIPT LOAD x", " "]),
            "the setup has a step without a command, or no step at all"
        );
        assert!(error(&["SCRIPT LOAD 'x"]).contains("the step 'SCRIPT LOAD 'x'"));
        assert!(error(&["GET {key.same}"]).starts_with("the setup repeats {key.same}"));
        let nothing = Workload { operations: vec![Operation::command("PING", 0)], ..with_setup(&["PING"]) };
        assert!(matches!(nothing.check(), Err(WorkloadError::Nothing(_))));
    }
}
