//! Checks whether a workload can be run, and reports its errors.

use std::collections::BTreeSet;

use super::{
    Keyset, MAX_VALUE_SIZE, MAX_WEIGHT, Workload, WorkloadError, command_traits,
    commands::begins_transaction,
    compiled::Compiled,
    inline::MOST_REPEATED,
    key_form::MAX_DIGITS,
    same_slot::FEWEST_KEYS,
    step::{CommandStep, Fragment},
};
use crate::untrusted::is_interpreted;

/// The maximum number of operations in a workload.
pub const MAX_OPERATIONS: usize = 256;
/// The maximum number of sets of keys in a workload.
const MAX_KEYSETS: usize = 64;
/// The maximum length of a key prefix in bytes. The limit is low because the marker of the run, which is stored on the
/// server, lists all prefixes.
pub const LONGEST_PREFIX: usize = 128;
/// The maximum number of kinds of values in a workload.
const MAX_VALUE_KINDS: usize = 64;
/// The maximum length of an operation's name in bytes.
const LONGEST_NAME: usize = 64;
/// The maximum number of steps in an operation.
pub const MAX_STEPS: u64 = 1000;

impl Workload {
    /// Checks that the workload can be run.
    ///
    /// # Errors
    /// Returns the first error of the workload.
    pub fn check(&self) -> Result<(), WorkloadError> {
        if self.values.len() > MAX_VALUE_KINDS {
            return Err(invalid!(
                "a workload can have at most {MAX_VALUE_KINDS} kinds of values, not {}",
                self.values.len()
            ));
        }
        if let Some(name) = self.values.keys().find(|name| self.keys.contains_key(*name)) {
            return Err(invalid!("both keys and values are called '{name}'; rename one of them"));
        }
        // If the largest size of the knob is possible, every smaller size is possible.
        self.check_values(MAX_VALUE_SIZE)?;
        self.check_operations().map_err(|(_, error)| error)?;
        let Compiled { setup, prefill, .. } = self.compiled();
        // The setup shares its connection with other commands.
        let changes_connection = |command: &str| command_traits(command).connection;
        let is_bad = |command: &str| changes_connection(command) || begins_transaction(command);
        self.check_steps((&self.setup.steps, setup), || "the setup".to_owned(), is_bad)?;
        self.check_steps((&self.prefill.steps, prefill), || "the prefill".to_owned(), changes_connection)?;
        for (whose, steps) in [("setup", setup), ("prefill", prefill)] {
            if let Some(portion) = steps.iter().flat_map(CommandStep::portions).next() {
                return Err(invalid!("the {whose} cannot send {portion} of a record; only operations can"));
            }
            let new = steps.iter().flat_map(CommandStep::fragments).find_map(Fragment::inserts);
            if let Some(set) = new {
                let keys = self.keyset(set).0;
                return Err(invalid!("the {whose} cannot insert {{{keys}.new}}; only operations can"));
            }
        }
        let draws = |step: &CommandStep| step.fragments().any(|fragment| fragment.draws().is_some());
        if let Some((step, _)) = self.prefill.steps.iter().zip(prefill).find(|(_, step)| !draws(step)) {
            let why =
                "uses no key, so redyno does not know how often to run it; use a set of keys such as {key}";
            return Err(invalid!("the prefill step '{step}' {why}"));
        }
        let compiled = self.compiled().operations.iter();
        let others = compiled.flat_map(|it| &it.steps).chain(setup).map(|step| (step, None));
        let all = others.chain(prefill.iter().map(|step| (step, self.prefill_keyset(step))));
        let stray = |(step, own): (&CommandStep, Option<u16>)| {
            step.fragments().filter_map(Fragment::given).find(|set| own != Some(*set))
        };
        if let Some(set) = all.into_iter().find_map(stray) {
            let keys = self.keyset(set).0;
            return Err(invalid!(
                "{{{keys}.next}} works only in a prefill step, after {{{keys}}}; elsewhere write {{{keys}}}"
            ));
        }
        self.check_receivers(1)?;
        if self.active_operations().next().is_none() {
            let next = "give at least one operation a weight";
            return Err(invalid!("the workload '{}' sends nothing; {next}", self.name));
        }
        Ok(())
    }

    /// Checks all operations, including those with weight 0. The error contains the index of the first invalid
    /// operation.
    pub(super) fn check_operations(&self) -> Result<(), (usize, WorkloadError)> {
        // Placeholders contain the names of sets of keys, so the sets are checked first.
        self.check_keysets().map_err(|error| (0, error))?;
        if self.compiled().is_too_long {
            let most = format!("longer than {MOST_REPEATED} bytes; repeat fewer words");
            let error = invalid!(
                "the workload '{}' is too long: its {{repeat N: WORDS}} make its commands {most}",
                self.name
            );
            return Err((0, error));
        }
        let count = self.operations.len();
        if count > MAX_OPERATIONS {
            let error = invalid!("a workload can have at most {MAX_OPERATIONS} operations, not {count}");
            return Err((MAX_OPERATIONS, error));
        }
        let mut places = 0..count;
        places.try_for_each(|place| self.check_operation(place).map_err(|error| (place, error)))
    }

    fn check_operation(&self, place: usize) -> Result<(), WorkloadError> {
        let operation = &self.operations[place];
        let name = &operation.name;
        if operation.weight > MAX_WEIGHT {
            return Err(invalid!(
                "the weights of operations must be at most {MAX_WEIGHT}, but '{name}' has more"
            ));
        }
        if !(1..=LONGEST_NAME).contains(&name.len()) || name.chars().any(is_interpreted) {
            let has = format!("must have 1 to {LONGEST_NAME} bytes and no control characters");
            let name = name.escape_debug();
            return Err(invalid!("the operation name '{name}' {has}"));
        }
        let whose = || format!("the operation '{name}'");
        if operation.steps.is_empty() {
            return Err(no_step(&whose()));
        }
        let steps = &self.compiled().operations[place].steps;
        self.check_steps((&operation.steps, steps), whose, |command| command_traits(command).connection)?;
        if self.operations[..place].iter().any(|other| other.name == *name) {
            return Err(invalid!("two operations are called '{name}'; rename one of them"));
        }
        Ok(())
    }

    /// Returns the error for a workload that uses no keys.
    pub fn has_no_keys(&self) -> WorkloadError {
        invalid!("the workload '{}' has no keys to draw", self.name)
    }

    /// Checks all sets of keys for a load with `keyspace` keys.
    ///
    /// # Errors
    /// Fails if a set is invalid. The error names the first invalid set.
    pub fn check_keys(&self, keyspace: u64) -> Result<(), WorkloadError> {
        self.check_key_names(keyspace)?;
        self.check_receivers(keyspace)?;
        let fits = |keys: &Keyset| keys.distribution.check_over(&keys.numbers(keyspace));
        let mut wrong = self.keys.iter().filter_map(|(name, keys)| Some((name, fits(keys).err()?)));
        wrong.next().map_or(Ok(()), |(name, error)| Err(undrawn(name, &error)))?;
        let fragments = self.active_steps().chain(&self.compiled().prefill).flat_map(CommandStep::fragments);
        let by_slot =
            |fragment: &Fragment| if let Fragment::SameSlot(set) = *fragment { Some(set) } else { None };
        fragments.filter_map(by_slot).map(|set| self.keyset(set)).try_for_each(|(name, keys)| {
            let count = keys.count.unwrap_or(keyspace);
            let why = if !keys.naming.is_number() || keys.digits == 0 {
                "their numbers have no fixed number of digits".to_owned()
            } else if count < FEWEST_KEYS {
                format!("{count} keys are too few for 16384 slots; give at least {FEWEST_KEYS} keys (-r, or count)")
            } else {
                return Ok(());
            };
            Err(invalid!("{{{name}.same_slot}} cannot draw keys: {why}"))
        })
    }

    /// Checks all sets of keys. The function does not check whether the parameters of key distributions fit the number
    /// of keys.
    fn check_key_names(&self, keyspace: u64) -> Result<(), WorkloadError> {
        self.check_keysets()?;
        self.keys.iter().try_for_each(|(name, keys)| keys.check(name, keyspace))
    }

    fn check_keysets(&self) -> Result<(), WorkloadError> {
        match self.keys.len() {
            0..=MAX_KEYSETS => Ok(()),
            count => Err(invalid!("a workload can have at most {MAX_KEYSETS} sets of keys, not {count}")),
        }
    }

    fn check_steps(
        &self,
        (texts, steps): (&[String], &[CommandStep]),
        whose: impl Fn() -> String,
        is_bad: impl Fn(&str) -> bool,
    ) -> Result<(), WorkloadError> {
        if steps.len() as u64 > MAX_STEPS {
            return Err(invalid!("an operation can have at most {MAX_STEPS} steps; {} has more", whose()));
        }
        let mut drawn = BTreeSet::new();
        let unread = self.compiled().unread.as_ref();
        for (text, step) in texts.iter().zip(steps) {
            if unread == Some(text) {
                let wrong = "are not closed, or closed within a word";
                return Err(invalid!("quotes of the step '{text}' {wrong}"));
            }
            let command = step.command().ok_or_else(|| no_step(&whose()))?;
            if is_bad(&command) {
                let (whose, command) = (whose(), command.replace('|', " "));
                let why = "which is not allowed, because it changes the connection";
                return Err(invalid!("{whose} has {command}, {why}"));
            }
            for fragment in step.fragments() {
                if let Some(set) = fragment.repeats().filter(|set| !drawn.contains(set)) {
                    let (whose, keys) = (whose(), self.keyset(set).0);
                    let of = if matches!(fragment, Fragment::SameSlot(_)) { "same_slot" } else { "same" };
                    return Err(invalid!("{whose} repeats {{{keys}.{of}}} before it uses {{{keys}}}"));
                }
                drawn.extend(fragment.draws());
            }
        }
        Ok(())
    }
}

fn no_step(whose: &str) -> WorkloadError {
    invalid!("{whose} has a step without a command, or no step at all")
}

fn undrawn(keys: &str, error: &WorkloadError) -> WorkloadError {
    invalid!("the keys '{keys}' cannot be drawn: {error}")
}

impl Keyset {
    /// Checks the set of keys called `name` for a load with `keyspace` keys.
    pub(super) fn check(&self, name: &str, keyspace: u64) -> Result<(), WorkloadError> {
        if self.prefix.len() > LONGEST_PREFIX || self.prefix.chars().any(is_interpreted) {
            let has = format!("must have at most {LONGEST_PREFIX} bytes and no control characters");
            return Err(invalid!("the prefix of the keys '{name}' {has}"));
        }
        let (first, count, digits) = (self.first, self.count.unwrap_or(keyspace), self.digits);
        if digits > MAX_DIGITS {
            return Err(invalid!("the numbers of the keys '{name}' can have at most {MAX_DIGITS} digits"));
        }
        if count == 0 || first.checked_add(count).is_none_or(|end| end - 1 > self.form().highest()) {
            let wrong = format!("of at most {digits} digits, not {count} numbers from {first} on");
            return Err(invalid!("the keys '{name}' must have 1 or more numbers {wrong}"));
        }
        self.distribution.check().map_err(|error| undrawn(name, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{
        KeyNaming::{self, Nothing, Number, Ycsb},
        Operation, Steps,
    };

    fn error(step: &str, setup: &str) -> Option<String> {
        let setup = Steps { steps: vec![setup.to_owned()] };
        let operations = vec![Operation::command(step, 1)];
        let workload = Workload { operations, setup, ..Workload::default() };
        workload.check().err().map(|error| error.to_string())
    }

    #[test]
    fn values_have_possible_sizes_and_unique_names() {
        let of = |name: &str, kind: &str| {
            let mut workload = Workload::clone(&Workload::ratio(1, 1));
            workload.values.insert(name.to_owned(), kind.parse().unwrap());
            workload.check().err().map(|error| error.to_string())
        };
        assert_eq!((of("text", "64..1024 text"), of("text", "json"), of("value", "1")), (None, None, None));
        assert_eq!(
            of("key", "1").as_deref(),
            Some("both keys and values are called 'key'; rename one of them")
        );
        let error = "the values 'text' are invalid: a value must have 1 to 67108864 bytes, not 0";
        assert_eq!(of("text", "0..4").as_deref(), Some(error));
        let values = (0..65).map(|n| (format!("v{n}"), crate::workload::ValueKind::default())).collect();
        let many = Workload { values, ..Workload::clone(&Workload::ratio(1, 1)) };
        let error = many.check().unwrap_err().to_string();
        assert_eq!(error, "a workload can have at most 64 kinds of values, not 65");
    }

    #[test]
    fn numbers_fit_their_digits() {
        let of = |digits, naming, first, count| {
            let mut workload = Workload::clone(&Workload::ratio(1, 1));
            let keys = Keyset { digits, naming, first, count: Some(count), ..Keyset::default() };
            workload.keys.insert("key".to_owned(), keys);
            workload.check_keys(5).err().map(|error| error.to_string())
        };
        let error =
            "the keys 'key' must have 1 or more numbers of at most 3 digits, not 991 numbers from 10 on";
        assert_eq!((of(3, Number, 10, 990), of(3, Number, 10, 991).as_deref()), (None, Some(error)));
        assert_eq!(
            [of(3, Ycsb, 10, 991), of(0, Number, 0, u64::MAX), of(20, Number, 0, u64::MAX)],
            [None, None, None]
        );
        assert!(of(0, Number, 2, u64::MAX).is_some() && of(12, Number, 0, 0).is_some());
        assert!(of(0, Nothing, 0, 1).is_none() && of(0, Nothing, 0, 2).is_some());
        let error = "the numbers of the keys 'key' can have at most 20 digits";
        assert_eq!(of(21, Number, 0, 1).as_deref(), Some(error));
    }

    #[test]
    fn same_slot_needs_an_earlier_key_and_enough_keys_of_one_length() {
        let of = |step: &str, change: fn(&mut Keyset), keyspace| {
            let mut workload = Workload::clone(&Workload::ratio(1, 1));
            workload.keys.values_mut().for_each(change);
            workload.operations = vec![Operation::command(step, 1)];
            workload.check().and_then(|()| workload.check_keys(keyspace)).err().map(|error| error.to_string())
        };
        let (usual, both): (fn(&mut Keyset), _) = (|_| {}, "MGET {key} {key.same_slot}");
        assert_eq!(of(both, usual, 32_768), None);
        let error = "{key.same_slot} cannot draw keys: 10000 keys are too few for 16384 slots; give at least 32768 keys \
            (-r, or count)";
        assert_eq!(of(both, usual, 10_000).as_deref(), Some(error));
        for change in [|keys: &mut Keyset| keys.naming = KeyNaming::Ycsb, |keys: &mut Keyset| keys.digits = 0]
        {
            assert!(of(both, change, 100_000).unwrap().contains("no fixed number of digits"));
        }
        let error = "the operation 'MGET' repeats {key.same_slot} before it uses {key}";
        assert_eq!(of("MGET {key.same_slot} {key}", usual, 100_000).as_deref(), Some(error));
    }

    #[test]
    fn the_text_of_all_repetitions_is_limited() {
        let of = |times: usize| {
            let step = format!("SET {{key}} {{repeat 10000: {}}}", "x".repeat(90));
            let operation = Operation {
                name: "a".to_owned(),
                weight: 1,
                steps: vec![step; times],
                ..Operation::default()
            };
            let workload =
                Workload { operations: vec![operation], ..Workload::clone(&Workload::ratio(1, 1)) };
            let words: usize = workload.compiled().operations[0].steps.iter().map(|step| step.0.len()).sum();
            (workload.check().err().map(|error| error.to_string()), words)
        };
        assert_eq!(of(1), (None, 10_002));
        let (error, words) = of(1000);
        let expected =
            "its {repeat N: WORDS} make its commands longer than 1048576 bytes; repeat fewer words";
        assert!(error.unwrap().ends_with(expected) && words < 20_000);
    }

    #[test]
    fn no_command_may_change_the_connection_that_it_is_sent_on() {
        let changes = "which is not allowed, because it changes the connection";
        assert_eq!(error("select 3", "PING"), Some(format!("the operation 'select' has SELECT, {changes}")));
        assert_eq!(error("PING", "CLIENT reply OFF"), Some(format!("the setup has CLIENT REPLY, {changes}")));
        assert_eq!(error("PING", "MULTI"), Some(format!("the setup has MULTI, {changes}")));
        assert_eq!(error("MULTI", "CLIENT ID"), None, "an operation may be a transaction");
    }
}
