//! The prefill of a workload. Before the measurement, the load writes the keys that the workload reads. Each command of
//! the prefill runs once for every key of a set.

use std::{collections::BTreeSet, ops::Range};

use super::{
    KeySpan, NameSet, Operation, Steps, Workload, WorkloadError,
    command_keys::keys_of,
    command_traits,
    step::{CommandStep, Fragment},
};

/// A step of the prefill, with the keys of this step. The step runs once for each key.
pub(super) struct PrefillStep {
    pub(super) step: CommandStep,
    pub(super) numbers: Range<u64>,
    /// The number of keys that each request of the step writes.
    pub(super) each: u64,
    /// The number of the set of these keys.
    pub(super) set: u16,
    /// Whether the name of a key is a complete argument of the step.
    is_whole: bool,
}

impl PrefillStep {
    /// Returns the number of requests. If the keys do not fill the last request, the request repeats the last key.
    pub(super) fn requests(&self) -> u64 {
        (self.numbers.end - self.numbers.start).div_ceil(self.each)
    }
}

impl Workload {
    /// Returns the steps of the prefill as operations. Each operation has the name of its command.
    pub(super) fn prefill_operations(&self) -> Vec<Operation> {
        let compiled = &self.compiled().prefill;
        let operation = |(place, text): (usize, &String)| {
            let operation = Operation::command(text, 1);
            let is_same = |step: &&CommandStep| step.command() == compiled[place].command();
            match compiled[..place].iter().filter(is_same).count() {
                0 => operation,
                same => Operation { name: format!("{} {}", operation.name, same + 1), ..operation },
            }
        };
        self.prefill.steps.iter().enumerate().map(operation).collect()
    }

    /// Returns the set of keys for which a step runs: the first set with several keys or, without such a set, the first
    /// set.
    pub(super) fn prefill_keyset(&self, step: &CommandStep) -> Option<u16> {
        let sets = || step.fragments().filter_map(Fragment::draws);
        sets().find(|set| self.keyset(*set).1.count != Some(1)).or_else(|| sets().next())
    }

    /// Returns the steps of the prefill for a load with `keyspace` keys, and the keys for which each step runs.
    pub(super) fn prefill_steps(&self, keyspace: u64) -> impl Iterator<Item = PrefillStep> {
        let filled = move |step: &CommandStep| {
            let mut step = self.drawn_once([step]).pop()?;
            let set = self.prefill_keyset(&step)?;
            step.0.iter_mut().flatten().find(|fragment| fragment.draws() == Some(set))?.give(set);
            let keys = self.keyset(set).1;
            let is_whole = !keys.bare && step.0.contains(&vec![Fragment::Given(set)]);
            let each = step.fragments().filter_map(Fragment::given).count() as u64;
            Some(PrefillStep { step, numbers: keys.numbers(keyspace), each, set, is_whole })
        };
        self.compiled().prefill.iter().filter_map(filled)
    }

    /// Returns the number of requests in the prefill, which writes the keys before a load with `keyspace`
    /// keys.
    pub fn prefill_requests(&self, keyspace: u64) -> u64 {
        self.prefill_steps(keyspace).map(|filled| filled.requests()).fold(0, u64::saturating_add)
    }

    /// Returns the keys that the prefill writes for a load with `keyspace` keys.
    pub fn prefilled_keys(&self, keyspace: u64) -> KeySpan {
        self.prefill_steps(keyspace).map(|filled| self.made_by(filled)).collect()
    }

    /// Returns the keys of the prefill that are complete arguments of a command. redyno can check whether these keys
    /// exist. redyno cannot check whether other keys exist.
    pub fn prefilled_names(&self, keyspace: u64) -> KeySpan {
        let whole = self.prefill_steps(keyspace).filter(|filled| filled.is_whole);
        whole.map(|filled| self.made_by(filled)).collect()
    }

    fn made_by(&self, filled: PrefillStep) -> NameSet {
        let keys = self.keyset(filled.set).1;
        let (prefix, form) = (keys.prefix.clone(), keys.form());
        NameSet { prefix, form, numbers: filled.numbers, is_open: false }
    }

    /// Returns `some` without the prefill of keys that only other operations use. `some` is this workload with only
    /// some of its operations. If a command finds keys without their names, the prefill stays complete. Examples of
    /// such commands are SCAN and searches.
    pub(super) fn prefilled_for(&self, some: &Self) -> Self {
        let mut commands = some.active_steps().filter_map(CommandStep::command);
        if !some.commands_of_modules().is_empty() || commands.any(|name| command_traits(&name).unnamed) {
            return some.clone();
        }
        let drawn = |workload: &Self| -> BTreeSet<String> {
            let steps = workload.compiled_operations().flat_map(|(_, read)| &read.steps);
            let sets = steps.flat_map(CommandStep::fragments).filter_map(Fragment::draws);
            sets.map(|set| workload.keyset(set).1.prefix.clone()).collect()
        };
        let (used, all) = (drawn(some), drawn(self));
        let is_needed = |step: &CommandStep| {
            let prefix = self.prefill_keyset(step).map(|set| &self.keyset(set).1.prefix);
            prefix.is_none_or(|prefix| used.contains(prefix) || !all.contains(prefix))
        };
        let steps = self.prefill.steps.iter().zip(&self.compiled().prefill);
        let steps = steps.filter(|(_, step)| is_needed(step)).map(|(text, _)| text.clone()).collect();
        Self { prefill: Steps { steps }, ..some.clone() }
    }

    /// Returns the workload without a prefill.
    #[must_use]
    pub fn without_prefill(&self) -> Self {
        Self { prefill: Steps::default(), ..self.clone() }
    }

    /// Returns the workload with a prefill. An existing prefill stays unchanged. A new prefill writes all sets of keys
    /// that the workload reads. If the workload reads none, the prefill writes all sets that the workload uses. For
    /// each set, the prefill uses a step of the workload that creates these keys. The operation of this step may have
    /// weight 0. If there is no such step, the prefill uses SET.
    ///
    /// # Errors
    /// Fails if the workload uses no keys, or if redyno knows no command that can write these keys.
    pub fn with_prefill(&self) -> Result<Self, WorkloadError> {
        if !self.prefill.is_empty() {
            return Ok(self.clone());
        }
        let drawn = |steps: &[&CommandStep]| -> BTreeSet<usize> {
            let fragments = steps.iter().flat_map(|step| step.fragments());
            fragments.filter_map(Fragment::draws).map(|set| self.first_of(set)).collect()
        };
        let reads =
            |step: &&CommandStep| step.command().is_some_and(|command| command_traits(&command).reads);
        let mut reading: Vec<_> = self.active_steps().filter(reads).collect();
        if drawn(&reading).is_empty() {
            reading = self.active_steps().collect();
        }
        let sets = drawn(&reading);
        if sets.is_empty() {
            return Err(invalid!(
                "the workload '{}' has no keys for a prefill; leave --prefill out",
                self.name
            ));
        }
        let steps = sets.into_iter().map(|set| self.writing_step(set, &reading)).collect::<Result<_, _>>()?;
        Ok(Self { prefill: Steps { steps }, ..self.clone() })
    }

    /// Returns the index of the first set that has the same keys as `set`.
    fn first_of(&self, set: u16) -> usize {
        self.compiled().keysets[usize::from(set)].same
    }

    /// Returns the step that writes the keys of `set`. `reading` contains the steps that read these keys. The returned
    /// step uses the same key names. `set` must be the first set with these keys.
    fn writing_step(&self, set: usize, reading: &[&CommandStep]) -> Result<String, WorkloadError> {
        let is_of_these = |set_of_step: u16| self.first_of(set_of_step) == set;
        // The words with keys of the set, whichever way a step draws the keys: {key.new} creates what {key} reads.
        let names = |mut words: Vec<Vec<Fragment>>| -> Vec<_> {
            words.retain(|word| word.iter().filter_map(Fragment::draws).any(is_of_these));
            let fragments = words.iter_mut().flatten();
            fragments.filter(|it| it.draws().is_some_and(is_of_these)).for_each(|it| it.give(set as u16));
            words
        };
        let key_words = |step: &&CommandStep| {
            let places = keys_of(&step.command()?, step.0.len(), |place| step.fixed_word(place));
            Some(names(places.into_iter().map(|place| step.0[place].clone()).collect()))
        };
        // Empty if a key stands only inside another argument, such as the query of a search.
        let read: Vec<_> = reading.iter().filter_map(key_words).flatten().collect();
        let makes = |(_, step): &(&String, &CommandStep)| {
            let repeats = step.fragments().any(|fragment| fragment.repeats().is_some());
            let traits = step.command().map(|command| command_traits(&command));
            let makes = traits.is_some_and(|traits| !traits.reads && !traits.keeps);
            let is_made = makes && !repeats && self.prefill_keyset(step).is_some_and(is_of_these);
            is_made && (read.is_empty() || names(step.0.clone()).iter().any(|name| read.contains(name)))
        };
        let mut steps =
            self.compiled_operations().flat_map(|(said, read)| said.steps.iter().zip(&read.steps));
        if let Some((text, _)) = steps.find(makes) {
            return Ok(text.clone());
        }
        let keys = self.keys.keys().nth(set).cloned().unwrap_or_default();
        let unknown = |how: &str, these: &str| {
            invalid!(
                "the workload '{}' reads its keys '{keys}' {how}, but none of its operations makes {these}: add a [prefill] table",
                self.name
            )
        };
        let draws = |step: &&CommandStep| step.fragments().filter_map(Fragment::draws).any(is_of_these);
        let reading: Vec<_> = reading.iter().copied().filter(draws).collect();
        let command =
            reading.iter().filter_map(|step| step.command()).find(|command| !command_traits(command).strings);
        if let Some(command) = command {
            return Err(unknown(&format!("by {command}"), "them"));
        }
        let is_bare = self.keys.get(&keys).is_some_and(|keys| keys.bare);
        let is_whole = |step: &CommandStep| {
            step.0
                .iter()
                .any(|word| matches!(word.as_slice(), [one] if one.whole_key().is_some_and(is_of_these)))
        };
        if is_bare || !reading.into_iter().all(is_whole) {
            return Err(unknown("as parts of other names", "such names"));
        }
        Ok(format!("SET {{{keys}}} {{value}}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        protocol::Dialect,
        workload::{Draws, KeyNames, Keyset, OutgoingRequests, Program, Values, preset},
    };

    fn of(operations: &[&str], prefill: &[&str]) -> Workload {
        let keys = [("a", 0, Some(3)), ("b", 7, Some(2)), ("c", 0, None)].map(|(name, first, count)| {
            (name.to_owned(), Keyset { prefix: format!("{name}:"), first, count, ..Keyset::default() })
        });
        let operations = operations.iter().map(|step| Operation::command(step, 1)).collect();
        let prefill = Steps { steps: prefill.iter().map(|step| (*step).to_owned()).collect() };
        Workload { name: "test".to_owned(), keys: keys.into(), operations, prefill, ..Workload::default() }
    }

    #[test]
    fn an_operation_that_finds_keys_without_their_names_has_the_complete_prefill() {
        let workload =
            of(&["GET {a}", "SADD {b} m", "SCAN 0", "SORT {b} BY a:*", "PING"], &["SET {a} 1", "SADD {b} 1"]);
        let prefill = |name: &str| workload.of_operations(&[name.to_owned()]).unwrap().prefill.steps.len();
        assert_eq!(["GET", "SADD", "SCAN", "SORT", "PING"].map(prefill), [1, 1, 2, 2, 0]);
    }

    #[test]
    fn every_step_runs_once_for_every_key_of_its_first_set() {
        let steps = ["SET {a} <{a.same}>", "SADD {b} {number 5..5}", "LPUSH {b} {a}"];
        let workload = of(&["GET {a}"], &steps);
        assert_eq!(workload.prefill_requests(10), 7);
        let names = KeyNames::given("k:");
        let values = Values::new(&workload, 4, 1);
        let program = Program::of_prefill(&workload, Dialect::Resp2, 10, values, &names);
        let asked = |number| {
            let mut out = OutgoingRequests::default();
            let op = program.append_nth(number, &mut Draws::new(1), &mut out);
            let text = String::from_utf8(out.bytes).unwrap();
            let words: Vec<_> = text.split("\r\n").skip(1).skip(1).step_by(2).map(str::to_owned).collect();
            (program.operations().of(op).label.clone(), words.join(" ").trim_end().to_owned())
        };
        let key = |set: &str, n: u64| format!("k:{set}:{n:012}");
        assert_eq!(asked(2), ("SET".to_owned(), format!("SET {} <{}>", key("a", 2), key("a", 2))));
        assert_eq!(asked(4), ("SADD".to_owned(), format!("SADD {} 5", key("b", 8))));
        let (label, last) = asked(6);
        assert!(label == "LPUSH" && last.starts_with(&format!("LPUSH {} k:a:", key("b", 8))), "{last}");
        let span: KeySpan = [("a:".to_owned(), 0..3), ("b:".to_owned(), 7..9)].into_iter().collect();
        assert_eq!([workload.prefilled_keys(10), workload.prefilled_names(10)], [span.clone(), span]);
    }

    #[test]
    fn a_request_of_a_prefill_may_write_several_keys() {
        let workload = of(&["GET {a}"], &["MSET {a} {a.same.hash} {a.next} {a.same.hash}", "SET {b} x"]);
        assert_eq!((workload.check(), workload.prefill_requests(10)), (Ok(()), 4));
        let values = Values::new(&workload, 4, 1);
        let program = Program::of_prefill(&workload, Dialect::Resp2, 10, values, &KeyNames::given(""));
        let keys = |number| {
            let mut out = OutgoingRequests::default();
            program.append_nth(number, &mut Draws::new(1), &mut out);
            let text = String::from_utf8(out.bytes).unwrap();
            text.split("\r\n").filter(|word| word.contains(":0")).map(str::to_owned).collect::<Vec<_>>()
        };
        let key = |set: &str, n: u64| format!("{set}:{n:012}");
        // The last key is repeated where none follows.
        assert_eq!([keys(0), keys(1)], [[key("a", 0), key("a", 1)], [key("a", 2), key("a", 2)]]);
        assert_eq!(keys(2), [key("b", 7)]);
        for (operation, prefill) in [("GET {a.next}", "SET {a} x"), ("GET {a}", "SADD {b} {a.next}")] {
            let error = of(&[operation], &[prefill]).check().unwrap_err().to_string();
            assert!(error.starts_with("{a.next} works only in a prefill step, after {a}"), "{error}");
        }
    }

    #[test]
    fn a_step_with_a_single_key_runs_for_the_keys_of_the_other_set() {
        let mut workload = of(&["GET {a}"], &["ZADD {index} 0 {a}", "SET {index} 0"]);
        workload.keys.insert("index".to_owned(), Keyset { count: Some(1), ..Keyset::default() });
        let numbers: Vec<_> = workload.prefill_steps(10).map(|filled| filled.numbers).collect();
        assert_eq!(numbers, [0..3, 0..1]);
        let values = Values::new(&workload, 4, 1);
        let program = Program::of_prefill(&workload, Dialect::Resp2, 10, values, &KeyNames::given("k:"));
        let mut out = OutgoingRequests::default();
        program.append_nth(2, &mut Draws::new(1), &mut out);
        let text = String::from_utf8(out.bytes).unwrap();
        assert!(
            text.contains("\r\nk:000000000000\r\n") && text.ends_with("\r\nk:a:000000000002\r\n"),
            "{text}"
        );
    }

    #[test]
    fn a_new_prefill_uses_the_commands_of_the_workload_or_set() {
        let made = |workload: Workload| workload.with_prefill().map(|workload| workload.prefill.steps);
        let preset = |name: &str| Workload::clone(&preset(name).unwrap());
        assert_eq!(made(preset("get")), Ok(vec!["SET {key} {value}".to_owned()]));
        assert_eq!(made(preset("cache")), Ok(vec!["SET {key} {value}".to_owned()]));
        assert_eq!(made(preset("incr")), Ok(vec!["INCR {counter}".to_owned()]));
        assert_eq!(
            made(preset("ping")),
            Err(WorkloadError::of("the workload 'ping' has no keys for a prefill; leave --prefill out"))
        );
        let hashes = of(&["HGET {a} f", "DEL {a}", "HSET {a} f {value}", "GET {b}", "SET {c} 1"], &[]);
        assert_eq!(made(hashes), Ok(vec!["HSET {a} f {value}".to_owned(), "SET {b} {value}".to_owned()]));
        let error = made(of(&["HGET {a} f"], &[])).unwrap_err().to_string();
        assert!(error.contains("reads its keys 'a' by HGET") && error.contains("[prefill] table"), "{error}");
        assert_eq!(made(of(&["GET {a}"], &["SET {a} mine"])), Ok(vec!["SET {a} mine".to_owned()]));
        let twice = of(&["GET {a}", "GET {a latest}", "SET {a} x"], &[]).with_step_definitions();
        assert_eq!(made(twice), Ok(vec!["SET {a} x".to_owned()]), "two sets that are the same keys");
        let searched = of(&["HSET {a} id 1", "FT.SEARCH index @id:{a}"], &[]);
        assert_eq!(made(searched), Ok(vec!["HSET {a} id 1".to_owned()]), "the reading step has no key");
        let parts = made(of(&["GET app:{a}"], &[])).unwrap_err().to_string();
        assert!(parts.contains("reads its keys 'a' as parts of other names"), "{parts}");
        let derived = made(of(&["GET {a.hash}"], &[])).unwrap_err().to_string();
        assert!(derived.contains("reads its keys 'a' as parts of other names"), "{derived}");
        let numbers = of(&["GET key:__rand_int__"], &[]).with_step_definitions();
        let error = made(numbers).unwrap_err().to_string();
        assert!(
            error.contains(" as parts of other names, but none of its operations makes such names: "),
            "{error}"
        );
        let written = of(&["GET app:{a}", "SET app:{a} x"], &[]).with_prefill().unwrap();
        assert_eq!((written.prefill_requests(9), written.prefilled_names(9).is_empty()), (3, true));
    }

    #[test]
    fn a_step_that_writes_other_names_than_the_workload_reads_is_no_prefill() {
        let made = |steps: &[&str]| of(steps, &[]).with_prefill().map(|workload| workload.prefill.steps);
        let one = |step: &str| Ok(vec![step.to_owned()]);
        assert_eq!(made(&["SET {a.hash} x", "SET {a.new} y", "GET {a}"]), one("SET {a.new} y"));
        assert_eq!(made(&["SET {a} x", "SET {a.hash} y", "GET {a.hash}"]), one("SET {a.hash} y"));
        assert_eq!(made(&["SET app:{a} x", "GET {a}"]), one("SET {a} {value}"));
        assert_eq!(made(&["SET app:{a} x"]), one("SET app:{a} x"));
        let error = made(&["HSET app:{a} f x", "HGET {a} f"]).unwrap_err().to_string();
        assert!(error.contains("reads its keys 'a' by HGET"), "{error}");
    }
}
