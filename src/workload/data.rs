//! A workload as data: what a preset, a file or a recording says of it.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{
    commands,
    recorded::Recorded,
    step::{BadQuotes, Fragment, Step},
};
use crate::{foreign::is_obeyed, protocol::KEY_DIGITS};

/// The largest weight of an operation: turning the read share multiplies weights by up to 200, within 32 bits.
pub const MAX_WEIGHT: u32 = 1_000_000;
/// The most operations of a workload.
pub const MAX_OPERATIONS: usize = 256;
/// The most sets of keys of a workload.
const MAX_KEYSPACES: usize = 64;
/// The longest prefix of a set of keys, in bytes: the names of all sets stand in the marker of a run.
pub(crate) const LONGEST_PREFIX: usize = 128;
/// The most steps of an operation.
const MAX_STEPS: usize = 1000;

/// What is asked of a server: operations by weight, and the keys that they choose from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Recorded")]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// The sets of keys, by the name that a step has for them: `{key}` draws one of `key`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub keys: BTreeMap<String, Keyspace>,
    /// The operations, in the order in which they are listed everywhere.
    pub operations: Vec<Operation>,
}

/// A set of keys, whose names are a prefix and a number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Keyspace {
    /// What stands before the number, behind the prefix of all keys of the run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// The lowest number.
    #[serde(skip_serializing_if = "is_zero")]
    pub first: u64,
    /// How many there are; `None` is as many as the knob of keys says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// How often each is drawn.
    pub distribution: Distribution,
}

/// How keys are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Each as often as any other.
    #[default]
    Uniform,
}

/// One or more commands that are asked for and timed as one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// What it is called.
    pub name: String,
    /// How often it is asked for, in relation to the others; 0 is not at all.
    pub weight: u32,
    /// How its steps belong together.
    #[serde(default, skip_serializing_if = "Together::is_default")]
    pub together: Together,
    /// Whether it changes the server's data, where its commands do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<bool>,
    /// Its commands, at least one: words with placeholders, `SET {key} "<{value}>" EX {number 60..3600}`, quoted as
    /// redis-cli quotes. `{key.same}` is the key that `{key}` drew last in this operation; braces that name nothing stay as
    /// they are.
    pub steps: Vec<String>,
}

/// How the steps of an operation belong together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Together {
    /// Written at once.
    #[default]
    Pipeline,
    /// Written at once, between MULTI and EXEC.
    Multi,
}

/// What is no workload.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum WorkloadError {
    /// No operation is asked for.
    #[error("the workload '{0}' asks for nothing; give at least one operation a weight")]
    Nothing(String),
    /// A weight above [`MAX_WEIGHT`].
    #[error("the weights of operations go up to {MAX_WEIGHT}, '{0}' goes beyond")]
    Weight(String),
    /// An operation without a command.
    #[error("the operation '{0}' has a step without a command, or no step at all")]
    Step(String),
    /// A step whose quotes do not match.
    #[error("quotes of the step '{0}' are not closed, or closed in the middle of a word")]
    Quotes(String),
    /// A key is repeated that was not drawn.
    #[error("the operation '{operation}' repeats {{{keys}.same}} before it has drawn {{{keys}}}")]
    Same {
        /// The operation.
        operation: String,
        /// The set of keys.
        keys: String,
    },
    /// Too many steps.
    #[error("an operation has up to {MAX_STEPS} steps, '{0}' has more")]
    Steps(String),
    /// Too many operations.
    #[error("a workload has up to {MAX_OPERATIONS} operations, not {0}")]
    Operations(usize),
    /// Too many sets of keys.
    #[error("a workload has up to {MAX_KEYSPACES} sets of keys, not {0}")]
    Keyspaces(usize),
    /// A prefix that is too long, or cannot be shown.
    #[error(
        "the prefix of keys has up to {LONGEST_PREFIX} bytes and no control characters, not that of '{0}'"
    )]
    Prefix(String),
    /// Numbers that twelve digits do not have, or none.
    #[error(
        "the keys '{keys}' have no numbers, or numbers beyond {KEY_DIGITS} digits: {count} from {first} on"
    )]
    Numbers {
        /// The set of keys.
        keys: String,
        /// The lowest number.
        first: u64,
        /// How many.
        count: u64,
    },
    /// Two operations of one name.
    #[error("there are two operations called '{0}'")]
    Twice(String),
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Together {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Operation {
    /// An operation of one command, called by its first word.
    pub fn command(step: &str, weight: u32) -> Self {
        let name = step.split(' ').next().unwrap_or_default().to_owned();
        Self { name, weight, steps: vec![step.to_owned()], ..Self::default() }
    }

    /// Whether it changes the server's data. A command that is not known to read is taken to write.
    pub fn writes(&self) -> bool {
        self.writes.unwrap_or_else(|| !self.steps.iter().all(|step| commands::only_reads(&command(step))))
    }
}

/// What a step's command is called; nothing where it has none.
pub(super) fn command(step: &str) -> String {
    let step = Step::read(step, &BTreeMap::new());
    step.ok().and_then(|step| step.command()).unwrap_or_default()
}

impl Workload {
    /// The workload, if it can be run.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn check(&self) -> Result<(), WorkloadError> {
        if self.operations.len() > MAX_OPERATIONS {
            return Err(WorkloadError::Operations(self.operations.len()));
        }
        for (n, operation) in self.operations.iter().enumerate() {
            let name = &operation.name;
            if operation.weight > MAX_WEIGHT {
                return Err(WorkloadError::Weight(name.clone()));
            }
            if operation.steps.len() > MAX_STEPS {
                return Err(WorkloadError::Steps(name.clone()));
            }
            self.check_steps(operation)?;
            if self.operations[..n].iter().any(|other| other.name == *name) {
                return Err(WorkloadError::Twice(name.clone()));
            }
        }
        if self.asked().next().is_none() { Err(WorkloadError::Nothing(self.name.clone())) } else { Ok(()) }
    }

    /// Whether its keys have names, where the knob says `keyspace`.
    ///
    /// # Errors
    /// Says of which keys the names are no such.
    pub fn check_keys(&self, keyspace: u64) -> Result<(), WorkloadError> {
        if self.keys.len() > MAX_KEYSPACES {
            return Err(WorkloadError::Keyspaces(self.keys.len()));
        }
        for (name, keys) in &self.keys {
            if keys.prefix.len() > LONGEST_PREFIX || keys.prefix.chars().any(is_obeyed) {
                return Err(WorkloadError::Prefix(name.clone()));
            }
            let numbers = keys.numbers(keyspace);
            if numbers.is_empty() || numbers.end > 10_u64.pow(KEY_DIGITS as u32) {
                let count = keys.count.unwrap_or(keyspace);
                return Err(WorkloadError::Numbers { keys: name.clone(), first: keys.first, count });
            }
        }
        Ok(())
    }

    fn check_steps(&self, operation: &Operation) -> Result<(), WorkloadError> {
        let bad = || WorkloadError::Step(operation.name.clone());
        let mut drawn = Vec::new();
        for text in &operation.steps {
            let step = self.step(text).map_err(|BadQuotes| WorkloadError::Quotes(text.clone()))?;
            step.command().ok_or_else(bad)?;
            for fragment in step.fragments() {
                match fragment {
                    Fragment::Key(set) => drawn.push(*set),
                    Fragment::Same(set) if !drawn.contains(set) => {
                        let keys = self.keys.keys().nth(usize::from(*set)).cloned().unwrap_or_default();
                        return Err(WorkloadError::Same { operation: operation.name.clone(), keys });
                    }
                    _ => {}
                }
            }
        }
        if operation.steps.is_empty() { Err(bad()) } else { Ok(()) }
    }

    /// The operations that have a weight.
    pub fn asked(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(|operation| operation.weight > 0)
    }

    /// The place of the operation called `name`.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.operations.iter().position(|operation| operation.name == name)
    }

    /// How many values the operation that has most of them sends; 0 when no value is written.
    pub fn most_values(&self) -> u64 {
        let is_value = |fragment: &&Fragment| matches!(fragment, Fragment::Value);
        let in_step = |step: &Step| step.fragments().filter(is_value).count() as u64;
        let values = |operation: &Operation| self.steps(operation).map(|step| in_step(&step)).sum();
        self.asked().map(values).max().unwrap_or(0)
    }

    /// The sets of keys that operations with a weight may write to.
    pub fn written_keys(&self) -> impl Iterator<Item = &Keyspace> {
        let writing = || self.asked().filter(|operation| operation.writes());
        self.keys.values().enumerate().filter_map(move |(n, keyspace)| {
            let names_it = |step: Step| step.fragments().any(|f| *f == Fragment::Key(n as u16));
            writing().flat_map(|operation| self.steps(operation)).any(names_it).then_some(keyspace)
        })
    }

    fn step(&self, text: &str) -> Result<Step, BadQuotes> {
        Step::read(text, &self.keys)
    }

    /// The steps of an operation of a workload that can be run, read.
    pub(super) fn steps(&self, operation: &Operation) -> impl Iterator<Item = Step> {
        operation.steps.iter().flat_map(|step| self.step(step))
    }
}

impl fmt::Display for Workload {
    /// `GET:SET 10:1`, with the operations that have a weight; one alone is just its name.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let names: Vec<_> = self.asked().map(|operation| operation.name.as_str()).collect();
        let weights: Vec<_> = self.asked().map(|operation| operation.weight.to_string()).collect();
        match names.len() {
            1 => f.write_str(names[0]),
            _ => write!(f, "{} {}", names.join(":"), weights.join(":")),
        }
    }
}
