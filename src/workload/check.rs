//! Whether a workload can be run, and what is wrong with one that cannot.

use std::collections::BTreeSet;

use thiserror::Error;

use super::{
    Keyset, MAX_VALUE_SIZE, MAX_WEIGHT, Portion, ValueError, Workload,
    commands::{begins_transaction, changes_connection},
    compiled::Compiled,
    distribution::DistributionError,
    key_form::MAX_DIGITS,
    step::{Fragment, Step},
};
use crate::untrusted::is_obeyed;

/// The most operations of a workload.
pub const MAX_OPERATIONS: usize = 256;
/// The most sets of keys of a workload.
const MAX_KEYSETS: usize = 64;
/// The longest prefix of a set of keys, in bytes: the names of all sets stand in the marker of a run.
pub(crate) const LONGEST_PREFIX: usize = 128;
/// The most kinds of values of a workload.
const MAX_VALUE_KINDS: usize = 64;
/// The longest name of an operation, in bytes.
const LONGEST_NAME: usize = 64;
/// The most steps of an operation.
const MAX_STEPS: usize = 1000;

/// What is no workload.
#[derive(Debug, Error, PartialEq)]
pub enum WorkloadError {
    /// No operation is asked for.
    #[error("the workload '{0}' asks for nothing; give at least one operation a weight")]
    Nothing(String),
    /// A weight above [`MAX_WEIGHT`].
    #[error("the weights of operations go up to {MAX_WEIGHT}, '{0}' goes beyond")]
    Weight(String),
    /// A name that is none, or cannot be shown.
    #[error(
        "the name of an operation has 1 to {LONGEST_NAME} bytes and no control characters, not that of '{}'",
        .0.escape_debug()
    )]
    Name(String),
    /// An operation, or a setup, without a command.
    #[error("{0} has a step without a command, or no step at all")]
    Step(String),
    /// A command that changes the connection that it is sent on.
    #[error("{whose} has {command}, which changes the connection that it is sent on")]
    Connection {
        /// The operation, or the setup.
        whose: String,
        /// The command.
        command: String,
    },
    /// A step whose quotes do not match.
    #[error("quotes of the step '{0}' are not closed, or closed in the middle of a word")]
    Quotes(String),
    /// A key is repeated that was not drawn.
    #[error("{whose} repeats {{{keys}.same}} before it has drawn {{{keys}}}")]
    Same {
        /// The operation, or the setup.
        whose: String,
        /// The set of keys.
        keys: String,
    },
    /// Too many steps.
    #[error("there may be up to {MAX_STEPS} steps; {0} has more")]
    Steps(String),
    /// Too many operations.
    #[error("a workload has up to {MAX_OPERATIONS} operations, not {0}")]
    Operations(usize),
    /// Too many sets of keys.
    #[error("a workload has up to {MAX_KEYSETS} sets of keys, not {0}")]
    Keysets(usize),
    /// A prefix that is too long, or cannot be shown.
    #[error(
        "the prefix of keys has up to {LONGEST_PREFIX} bytes and no control characters, not that of '{0}'"
    )]
    Prefix(String),
    /// Numbers that their digits do not have, or none.
    #[error("the keys '{keys}' have no numbers, or numbers beyond {digits} digits: {count} from {first} on")]
    Numbers {
        /// The set of keys.
        keys: String,
        /// The lowest number.
        first: u64,
        /// How many.
        count: u64,
        /// How many digits they are written in.
        digits: u8,
    },
    /// Too many digits.
    #[error("the numbers of keys have up to {MAX_DIGITS} digits, not those of '{0}'")]
    Digits(String),
    /// New keys in a setup or a prefill.
    #[error("the {whose} inserts {{{keys}.new}}, which only operations do")]
    NewKeys {
        /// Which.
        whose: &'static str,
        /// The set of keys.
        keys: String,
    },
    /// Something of a record in a setup or a prefill.
    #[error("the {whose} sends {portion} of a record, which only operations do")]
    OfRecord {
        /// Which.
        whose: &'static str,
        /// What.
        portion: Portion,
    },
    /// Too many kinds of values.
    #[error("a workload has up to {MAX_VALUE_KINDS} kinds of values, not {0}")]
    ValueKinds(usize),
    /// Values that cannot be.
    #[error("the values '{values}' cannot be: {cause}")]
    Values {
        /// What they are called.
        values: String,
        /// Why not.
        cause: ValueError,
    },
    /// Keys and values of one name.
    #[error("there are keys and values called '{0}'")]
    KeysAndValues(String),
    /// A distribution whose parameters cannot be.
    #[error("the keys '{keys}' cannot be drawn: {error}")]
    Distribution {
        /// The set of keys.
        keys: String,
        /// What is wrong.
        error: DistributionError,
    },
    /// A distribution of keys for a workload that has none.
    #[error("the workload '{0}' has no keys that could be drawn")]
    NoKeys(String),
    /// A step of the prefill that draws no key.
    #[error("the prefill step '{0}' draws no key, so there is nothing that it would be run once for")]
    Prefill(String),
    /// What the dialect of the target does not have.
    #[error("{0}")]
    Unspoken(String),
    /// Two operations of one name.
    #[error("there are two operations called '{0}'")]
    Twice(String),
}

impl Workload {
    /// The workload, if it can be run.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn check(&self) -> Result<(), WorkloadError> {
        if self.values.len() > MAX_VALUE_KINDS {
            return Err(WorkloadError::ValueKinds(self.values.len()));
        }
        if let Some(name) = self.values.keys().find(|name| self.keys.contains_key(*name)) {
            return Err(WorkloadError::KeysAndValues(name.clone()));
        }
        // The largest size of the knob is one that every kind has.
        self.check_values(MAX_VALUE_SIZE)?;
        self.check_operations().map_err(|(_, error)| error)?;
        let Compiled { setup, prefill, .. } = self.compiled();
        // The connection that it is run on asks other things too.
        let is_bad = |command: &str| changes_connection(command) || begins_transaction(command);
        self.check_steps((&self.setup.steps, setup), || "the setup".to_owned(), is_bad)?;
        self.check_steps((&self.prefill.steps, prefill), || "the prefill".to_owned(), changes_connection)?;
        for (whose, steps) in [("setup", setup), ("prefill", prefill)] {
            if let Some(portion) = steps.iter().flat_map(Step::portions).next() {
                return Err(WorkloadError::OfRecord { whose, portion: portion.clone() });
            }
            let new = steps.iter().flat_map(Step::fragments).find_map(Fragment::inserts);
            if let Some(set) = new {
                return Err(WorkloadError::NewKeys { whose, keys: self.keyset(set).0.to_owned() });
            }
        }
        let draws = |step: &Step| step.fragments().any(|fragment| fragment.draws().is_some());
        if let Some((step, _)) = self.prefill.steps.iter().zip(prefill).find(|(_, step)| !draws(step)) {
            return Err(WorkloadError::Prefill(step.clone()));
        }
        if self.asked().next().is_none() { Err(WorkloadError::Nothing(self.name.clone())) } else { Ok(()) }
    }

    /// Whether its operations can be run, be they asked for or not; the place of the one that cannot.
    pub(super) fn check_operations(&self) -> Result<(), (usize, WorkloadError)> {
        // Each placeholder is looked up among these.
        if self.keys.len() > MAX_KEYSETS {
            return Err((0, WorkloadError::Keysets(self.keys.len())));
        }
        if self.operations.len() > MAX_OPERATIONS {
            return Err((MAX_OPERATIONS, WorkloadError::Operations(self.operations.len())));
        }
        let mut places = 0..self.operations.len();
        places.try_for_each(|place| self.check_operation(place).map_err(|error| (place, error)))
    }

    fn check_operation(&self, place: usize) -> Result<(), WorkloadError> {
        let operation = &self.operations[place];
        let name = &operation.name;
        if operation.weight > MAX_WEIGHT {
            return Err(WorkloadError::Weight(name.clone()));
        }
        if !(1..=LONGEST_NAME).contains(&name.len()) || name.chars().any(is_obeyed) {
            return Err(WorkloadError::Name(name.clone()));
        }
        let whose = || format!("the operation '{name}'");
        if operation.steps.is_empty() {
            return Err(WorkloadError::Step(whose()));
        }
        let steps = &self.compiled().operations[place].steps;
        self.check_steps((&operation.steps, steps), whose, changes_connection)?;
        if self.operations[..place].iter().any(|other| other.name == *name) {
            return Err(WorkloadError::Twice(name.clone()));
        }
        Ok(())
    }

    /// Whether its keys have names, where the knob says `keyspace`.
    ///
    /// # Errors
    /// Says of which keys the names are no such.
    pub fn check_keys(&self, keyspace: u64) -> Result<(), WorkloadError> {
        self.check_key_names(keyspace)?;
        let fits = |keys: &Keyset| keys.distribution.check_over(&keys.numbers(keyspace));
        let mut wrong = self.keys.iter().filter_map(|(name, keys)| Some((name, fits(keys).err()?)));
        wrong
            .next()
            .map_or(Ok(()), |(name, error)| Err(WorkloadError::Distribution { keys: name.clone(), error }))
    }

    /// The same, but for what a distribution asks of the numbers that it is drawn over.
    fn check_key_names(&self, keyspace: u64) -> Result<(), WorkloadError> {
        if self.keys.len() > MAX_KEYSETS {
            return Err(WorkloadError::Keysets(self.keys.len()));
        }
        self.keys.iter().try_for_each(|(name, keys)| keys.check(name, keyspace))
    }

    fn check_steps(
        &self,
        (texts, steps): (&[String], &[Step]),
        whose: impl Fn() -> String,
        is_bad: impl Fn(&str) -> bool,
    ) -> Result<(), WorkloadError> {
        if steps.len() > MAX_STEPS {
            return Err(WorkloadError::Steps(whose()));
        }
        let mut drawn = BTreeSet::new();
        let unread = self.compiled().unread.as_ref();
        for (text, step) in texts.iter().zip(steps) {
            if unread == Some(text) {
                return Err(WorkloadError::Quotes(text.clone()));
            }
            let command = step.command().ok_or_else(|| WorkloadError::Step(whose()))?;
            if is_bad(&command) {
                return Err(WorkloadError::Connection { whose: whose(), command: command.replace('|', " ") });
            }
            for fragment in step.fragments() {
                match fragment {
                    Fragment::Key(set) | Fragment::New(set) => drop(drawn.insert(*set)),
                    Fragment::Same(set) if !drawn.contains(set) => {
                        let keys = self.keyset(*set).0.to_owned();
                        return Err(WorkloadError::Same { whose: whose(), keys });
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

impl Keyset {
    /// Whether its keys, called `name`, have names, where the knob says `keyspace`.
    pub(super) fn check(&self, name: &str, keyspace: u64) -> Result<(), WorkloadError> {
        let keys = || name.to_owned();
        if self.prefix.len() > LONGEST_PREFIX || self.prefix.chars().any(is_obeyed) {
            return Err(WorkloadError::Prefix(keys()));
        }
        let (first, count, digits) = (self.first, self.count.unwrap_or(keyspace), self.digits);
        if digits > MAX_DIGITS {
            return Err(WorkloadError::Digits(keys()));
        }
        if count == 0 || first.checked_add(count).is_none_or(|end| end - 1 > self.form().highest()) {
            return Err(WorkloadError::Numbers { keys: keys(), first, count, digits });
        }
        self.distribution.check().map_err(|error| WorkloadError::Distribution { keys: keys(), error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Operation, Steps};

    fn error(step: &str, setup: &str) -> Option<String> {
        let setup = Steps { steps: vec![setup.to_owned()] };
        let operations = vec![Operation::command(step, 1)];
        let workload = Workload { operations, setup, ..Workload::default() };
        workload.check().err().map(|error| error.to_string())
    }

    #[test]
    fn values_have_sizes_that_can_be_and_names_of_their_own() {
        let of = |name: &str, kind: &str| {
            let mut workload = Workload::clone(&Workload::ratio(1, 1));
            workload.values.insert(name.to_owned(), kind.parse().unwrap());
            workload.check().err().map(|error| error.to_string())
        };
        assert_eq!((of("text", "64..1024 text"), of("text", "json"), of("value", "1")), (None, None, None));
        assert_eq!(of("key", "1").as_deref(), Some("there are keys and values called 'key'"));
        let error = "the values 'text' cannot be: a value has 1 to 67108864 bytes, not 0";
        assert_eq!(of("text", "0..4").as_deref(), Some(error));
        let values = (0..65).map(|n| (format!("v{n}"), crate::workload::ValueKind::default())).collect();
        let many = Workload { values, ..Workload::clone(&Workload::ratio(1, 1)) };
        assert_eq!(many.check(), Err(WorkloadError::ValueKinds(65)));
    }

    #[test]
    fn numbers_fit_their_digits() {
        let of = |digits, hashed, first, count| {
            let mut workload = Workload::clone(&Workload::ratio(1, 1));
            let keys = Keyset { digits, hashed, first, count: Some(count), ..Keyset::default() };
            workload.keys.insert("key".to_owned(), keys);
            workload.check_keys(5).err().map(|error| error.to_string())
        };
        let error = "the keys 'key' have no numbers, or numbers beyond 3 digits: 991 from 10 on";
        assert_eq!((of(3, false, 10, 990), of(3, false, 10, 991).as_deref()), (None, Some(error)));
        assert_eq!(
            [of(3, true, 10, 991), of(0, false, 0, u64::MAX), of(20, false, 0, u64::MAX)],
            [None, None, None]
        );
        assert!(of(0, false, 2, u64::MAX).is_some() && of(12, false, 0, 0).is_some());
        let error = "the numbers of keys have up to 20 digits, not those of 'key'";
        assert_eq!(of(21, false, 0, 1).as_deref(), Some(error));
    }

    #[test]
    fn no_command_may_change_the_connection_that_it_is_sent_on() {
        let changes = "which changes the connection that it is sent on";
        assert_eq!(error("select 3", "PING"), Some(format!("the operation 'select' has SELECT, {changes}")));
        assert_eq!(error("PING", "CLIENT reply OFF"), Some(format!("the setup has CLIENT REPLY, {changes}")));
        assert_eq!(error("PING", "MULTI"), Some(format!("the setup has MULTI, {changes}")));
        assert_eq!(error("MULTI", "CLIENT ID"), None, "an operation may be a transaction");
    }
}
