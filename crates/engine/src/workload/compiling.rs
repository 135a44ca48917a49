//! Parses the text of a workload. No other module parses the steps of a workload.
//!
//! ```text
//!  text ──► steps, by operations, of the setup, of the prefill ──► written keys, new keys, values
//! ```

use std::collections::BTreeSet;

use super::{
    Distribution, Keyset, Operation, Workload, command_traits,
    compiled::{Compiled, CompiledKeyset, CompiledOperation},
    inline::{MOST_REPEATED, is_drawn_once, written_out},
    step::{CommandStep, Fragment},
    trace::{TRACE_KEYS, is_harmless},
};

impl Compiled {
    fn of(workload: &Workload) -> Self {
        let (mut unread, mut room) = (None, Some(MOST_REPEATED));
        let mut read = |steps: &[String]| -> Vec<CommandStep> {
            let read = steps.iter().map(|text| {
                let written = written_out(text, &mut room).unwrap_or_default();
                CommandStep::read(&written, workload).unwrap_or_else(|_| {
                    unread.get_or_insert_with(|| text.clone());
                    CommandStep(Vec::new())
                })
            });
            read.collect()
        };
        let operations: Vec<_> = workload
            .operations
            .iter()
            .map(|operation| {
                let steps = read(&operation.steps);
                let expects = read(operation.expects.as_slice()).pop();
                CompiledOperation { writes: operation.changes_data(&steps), steps, expects }
            })
            .collect();
        let (setup, prefill) = (read(&workload.setup.steps), read(&workload.prefill.steps));
        let of_operations = || operations.iter().flat_map(|operation| &operation.steps);
        let values = of_operations().chain(&setup).chain(&prefill).flat_map(CommandStep::values).collect();
        let same = same_keys(workload);
        let inserted = of_operations().flat_map(CommandStep::fragments).filter_map(Fragment::inserts);
        let grown: BTreeSet<_> = inserted.map(|set| same[usize::from(set)]).collect();
        let keyset = |same| CompiledKeyset { same, grows: grown.contains(&same) };
        let keysets = same.into_iter().map(keyset).collect();
        Self { keysets, operations, values, setup, prefill, unread, is_too_long: room.is_none() }
    }
}

fn same_keys(workload: &Workload) -> Vec<usize> {
    let is_same =
        |one: &Keyset, other: &Keyset| Keyset { distribution: other.distribution, ..one.clone() } == *other;
    let first = |keys| workload.keys.values().position(|first| is_same(first, keys));
    workload.keys.values().map(|keys| first(keys).expect("each set has the same keys as itself")).collect()
}

impl Workload {
    /// Returns the parsed text of the workload.
    pub(super) fn compiled(&self) -> &Compiled {
        let compiled = self.compiled.0.get_or_init(|| Compiled::of(self));
        let operations = compiled.operations.iter().map(|operation| operation.steps.len());
        debug_assert!(
            operations.eq(self.operations.iter().map(|operation| operation.steps.len()))
                && (compiled.setup.len(), compiled.prefill.len())
                    == (self.setup.steps.len(), self.prefill.steps.len())
                && compiled.keysets.len() == self.keys.len(),
            "only a copy of a workload is changed"
        );
        compiled
    }

    /// Returns the name and the definition of set number `set`.
    pub(super) fn keyset(&self, set: u16) -> (&str, &Keyset) {
        let (name, keys) = self.keys.iter().nth(set.into()).expect("a step uses only sets of its workload");
        (name, keys)
    }

    /// Returns the workload's operations, each with its parsed text.
    pub(super) fn compiled_operations(&self) -> impl Iterator<Item = (&Operation, &CompiledOperation)> {
        self.operations.iter().zip(&self.compiled().operations)
    }

    /// Returns the parsed operations with a weight above 0.
    pub(super) fn active_compiled(&self) -> impl Iterator<Item = &CompiledOperation> {
        let asked = self.compiled_operations().filter(|(operation, _)| operation.weight > 0);
        asked.map(|(_, compiled)| compiled)
    }

    /// Returns the steps of all operations with a weight above 0.
    pub(super) fn active_steps(&self) -> impl Iterator<Item = &CommandStep> {
        self.active_compiled().flat_map(|operation| &operation.steps)
    }

    /// Returns whether every operation with a weight above 0 may write.
    pub fn only_writes(&self) -> bool {
        self.active_compiled().all(|operation| operation.writes)
    }

    /// Returns the steps of all operations that have a weight above 0 and may write.
    pub(super) fn writing_steps(&self) -> impl Iterator<Item = &CommandStep> {
        self.active_compiled().filter(|operation| operation.writes).flat_map(|operation| &operation.steps)
    }

    /// Returns the steps of an operation in the form in which they are sent. A placeholder that is drawn only
    /// once per operation has the same key everywhere in the operation.
    pub(super) fn drawn_once<'a>(
        &self,
        steps: impl IntoIterator<Item = &'a CommandStep>,
    ) -> Vec<CommandStep> {
        let mut drawn = BTreeSet::new();
        let mut steps: Vec<_> = steps.into_iter().cloned().collect();
        for fragment in steps.iter_mut().flat_map(|step| &mut step.0).flatten() {
            if let Fragment::Key(set) = *fragment
                && is_drawn_once(self.keyset(set).0)
                && !drawn.insert(set)
            {
                *fragment = Fragment::Same(set);
            }
        }
        steps
    }

    /// Returns whether a client's requests depend on the number of clients.
    pub fn depends_on_clients(&self) -> bool {
        self.keys.values().any(|keys| keys.distribution == Distribution::Partitioned)
    }

    /// Returns the sets of keys that the setup, the prefill, or an operation with a weight above 0 may write. The
    /// prefill writes keys before the load. The flag is true if operations insert new keys into the set.
    pub fn written_keys(&self) -> impl Iterator<Item = (&Keyset, bool)> {
        let Compiled { keysets, setup, prefill, .. } = self.compiled();
        let before = setup.iter().chain(prefill).filter(|step| !step.only_reads());
        let fragments = self.writing_steps().chain(before).flat_map(CommandStep::fragments);
        let written: BTreeSet<_> = fragments.filter_map(Fragment::draws).collect();
        let is_moved_to = move |keys: &Keyset| self.second_queues().is_some_and(|to| std::ptr::eq(to, keys));
        let sets = (0..).zip(self.keys.values().zip(keysets));
        let sets = sets.filter(move |(set, (keys, _))| written.contains(set) || is_moved_to(keys));
        sets.filter(|(_, (keys, _))| !keys.bare).map(|(_, (keys, compiled))| (keys, compiled.grows))
    }

    /// Returns the commands that may write keys outside the run. The key is literal (`SET foo`), or the keys are
    /// unknown (`FLUSHALL`). Commands that send messages to channels outside the run (`PUBLISH foo`) are included. The
    /// function checks the prefill, and the operations with a weight above 0.
    pub fn literal_writes(&self) -> BTreeSet<String> {
        // Every key of a trace gets the prefix of the run.
        if self.trace.is_some() && self.keys.get(TRACE_KEYS).is_some_and(|keys| !keys.bare) {
            return BTreeSet::new();
        }
        // A message changes no data, so its operation does not count as writing.
        let messages = self.active_steps().filter(|step| step.sends_messages());
        let steps = self.writing_steps().chain(messages).chain(&self.compiled().prefill);
        steps.flat_map(|step| step.literal_writes(|set| self.keyset(set).1.bare)).collect()
    }

    /// Returns the commands that may administer the server, run code, block the connection, or write keys
    /// outside the run. The function checks the prefill, and the operations with a weight above 0.
    pub fn privileged_commands(&self) -> BTreeSet<String> {
        let steps = self.active_steps().chain(&self.compiled().prefill);
        let privileged = steps.filter_map(|step| match step.command() {
            Some(name) if is_harmless(&name, |word| step.has_word(word)) => None,
            name => Some(name.unwrap_or_else(|| "a command with a drawn name".to_owned())),
        });
        privileged.chain(self.literal_writes()).collect()
    }

    /// Returns the module commands of the setup, the prefill, and the operations with a weight above 0.
    pub fn commands_of_modules(&self) -> BTreeSet<String> {
        let Compiled { setup, prefill, .. } = self.compiled();
        let names = self.active_steps().chain(setup).chain(prefill).filter_map(CommandStep::command);
        names.filter(|name| name.contains('.') || command_traits(name).vectors).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_occurrences_of_an_ordinal_in_an_operation_have_the_same_number() {
        let steps = ["A __rand_int__ __rand_1st__-__rand_1st__ __rand_int__", "B __rand_1st__ __rand_2nd__"];
        let operation =
            Operation { weight: 1, steps: steps.map(str::to_owned).into(), ..Operation::default() };
        let workload =
            Workload { operations: vec![operation], ..Workload::default() }.with_step_definitions();
        let read = &workload.compiled().operations[0].steps;
        let sent = workload.drawn_once(read);
        let drawn = sent.iter().flat_map(CommandStep::fragments);
        let drawn: Vec<_> = drawn.filter(|fragment| !matches!(fragment, Fragment::Text(_))).collect();
        let [first, second, any] = [0, 1, 2].map(Fragment::Key);
        let same = Fragment::Same(0);
        assert_eq!(drawn, [&any, &first, &same, &any, &same, &second]);
        let alone = workload.drawn_once([&read[1]]);
        assert_eq!(alone[0].0[1], [first], "it is drawn where nothing of the operation was before");
    }

    #[test]
    fn the_flag_of_an_operation_does_not_hide_the_writes_of_its_commands() {
        let declared = |step: &str| {
            let read = Operation { writes: Some(false), ..Operation::command(step, 1) };
            Workload { operations: vec![read], ..Workload::clone(&Workload::ratio(0, 1)) }
        };
        for (step, text) in [
            ("DEL user:1", "DEL user:1"),
            ("SET foo x", "SET foo"),
            ("BLPOP foo 1", "BLPOP foo"),
            ("RESTORE foo 0 x", "RESTORE foo"),
            ("FLUSHALL", "FLUSHALL"),
            ("SORT {key} STORE foo", "SORT foo"),
            ("GEORADIUS {key} 1 2 3 m STOREDIST foo", "GEORADIUS foo"),
            ("XGROUP CREATE foo g $", "XGROUP CREATE foo"),
        ] {
            let workload = declared(step);
            assert_eq!(workload.literal_writes(), [text.to_owned()].into(), "{step}");
            assert!(workload.privileged_commands().contains(text) && workload.only_writes(), "{step}");
        }
        assert_eq!(declared("SET {key} x").written_keys().count(), 1);
        // The table does not contain whether these commands write.
        for step in
            ["EVAL 'return 1' 1 foo", "FCALL f 0", "MY.COMMAND foo", "SORT foo", "CLIENT LIST", "GET foo"]
        {
            let workload = declared(step);
            assert!(workload.literal_writes().is_empty() && !workload.only_writes(), "{step}");
        }
    }

    #[test]
    fn a_changed_copy_is_parsed_again() {
        let read = Workload::ratio(0, 1);
        assert_eq!(read.written_keys().count(), 0);
        let mut writing = Workload::clone(&read);
        writing.operations[0].steps[0] = "SET {key} {value}".to_owned();
        assert_eq!((writing.written_keys().count(), read.written_keys().count()), (1, 0));
    }
}
