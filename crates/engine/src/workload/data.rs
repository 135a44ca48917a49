//! A workload as data: what a preset, a file or a recording says of it.

use std::{collections::BTreeMap, fmt, ops::Range, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    Dataset, Distribution, KeyForm, ValueKind,
    compiled::CompiledOnce,
    quantity::{quantity, some_quantity},
};

/// What is asked of a server: operations by weight, and the keys that they choose from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// What it is like, in a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The sets of keys, by the name that a step has for them: `{key}` draws one of `key`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub keys: BTreeMap<String, Keyset>,
    /// The kinds of values, by the name that a step has for them: `{text}` draws one of `text`. `{value}` is a plain one, of
    /// the size that the knob says, where nothing has this name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, ValueKind>,
    /// The operations, in the order in which they are listed everywhere.
    pub operations: Vec<Operation>,
    /// What is run once before.
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub setup: Steps,
    /// What makes the keys that it reads: each step is run once for every key of the first set of several keys that it draws
    /// from, or of a single one: `ZADD {index} 0 {post}` for every post.
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub prefill: Steps,
    /// Whether each client asks for its operations in turn, each as often as its weight says before the next, and not by chance.
    /// No file says that, and no recording.
    #[serde(skip)]
    pub in_turn: bool,
    /// Where its records come from, if it sends any. No file says that, and no recording.
    #[serde(skip)]
    pub dataset: Option<Dataset>,
    /// What its text says, once it was asked for: the text above is not changed any more then but in a copy.
    #[serde(skip)]
    pub compiled: CompiledOnce,
}

/// A set of keys, whose names are a prefix and a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Keyset {
    /// What stands before the number, behind the prefix of all keys of the run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// The lowest number.
    #[serde(deserialize_with = "quantity", skip_serializing_if = "is_zero")]
    pub first: u64,
    /// How many there are; `None` is as many as the knob of keys says.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Digits of a number at the least, up to 20; 0 is as many as it has.
    #[serde(skip_serializing_if = "is_usual")]
    pub digits: u8,
    /// Whether YCSB's hash of the number stands for it: `user6284781860667377211`.
    #[serde(skip_serializing_if = "is_false")]
    pub hashed: bool,
    /// Whether the number stands alone, without any prefix: it is a part of a name or an argument, and no key of the run.
    #[serde(skip_serializing_if = "is_false")]
    pub bare: bool,
    /// How often each is drawn.
    pub distribution: Distribution,
}

impl Default for Keyset {
    /// As many as the knob says, in twelve digits.
    fn default() -> Self {
        let KeyForm { digits, hashed } = KeyForm::default();
        Self {
            prefix: String::new(),
            first: 0,
            count: None,
            digits,
            hashed,
            bare: false,
            distribution: Distribution::Uniform,
        }
    }
}

/// Commands that are run before a load, written as the steps of an operation are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Steps {
    /// They themselves.
    pub steps: Vec<String>,
}

impl Steps {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

impl Keyset {
    /// The numbers of its keys, where the knob says `keyspace`, before any is inserted.
    pub fn numbers(&self, keyspace: u64) -> Range<u64> {
        self.first..self.first.saturating_add(self.count.unwrap_or(keyspace))
    }

    /// How its numbers are written.
    pub fn form(&self) -> KeyForm {
        KeyForm { digits: self.digits, hashed: self.hashed }
    }
}

/// One or more commands that are asked for and timed as one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// What it is called.
    pub name: String,
    /// How often it is asked for, in relation to the others; 0 is not at all.
    #[serde(default = "one", deserialize_with = "quantity")]
    pub weight: u32,
    /// How its steps belong together.
    #[serde(default, skip_serializing_if = "Together::is_default")]
    pub together: Together,
    /// Whether it changes the server's data, where its commands do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<bool>,
    /// Its commands, at least one: words with placeholders, `SET {key} "<{value}>" EX {number 60..3600}`, quoted as
    /// redis-cli quotes. `{key.same}` is the key that `{key}` drew last in this operation, `{now}` the time in milliseconds
    /// since 1970, `{cas}` the number of the item that the reply to the step before told; braces that name nothing stay as
    /// they are.
    pub steps: Vec<String>,
    /// Whether its steps are sent byte for byte as they are, each a request: inline commands with the ends of their lines.
    /// No file says so.
    #[serde(skip)]
    pub is_raw: bool,
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
    /// Written one after the other, each when the reply to the one before has come, be that an error or not.
    Sequence,
}

fn one() -> u32 {
    1
}

fn is_usual(digits: &u8) -> bool {
    *digits == KeyForm::default().digits
}

fn is_false(is: &bool) -> bool {
    !is
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
}

impl Workload {
    /// The operations that have a weight.
    pub fn asked(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(|operation| operation.weight > 0)
    }

    /// The same with every set of keys drawn by `distribution`.
    #[must_use]
    pub fn drawn_by(&self, distribution: Distribution) -> Arc<Self> {
        let mut workload = self.clone();
        workload.keys.values_mut().for_each(|keys| keys.distribution = distribution);
        Arc::new(workload)
    }

    /// How its keys are drawn where that is not uniformly, each way once.
    pub fn distributions(&self) -> Vec<Distribution> {
        let mut all: Vec<_> = self.keys.values().map(|keys| keys.distribution).collect();
        let mut seen = Vec::new();
        all.retain(|distribution| {
            let is_new = *distribution != Distribution::Uniform && !seen.contains(distribution);
            seen.push(*distribution);
            is_new
        });
        all
    }

    /// Its kinds of values by their numbers: those with names, in their order, and the plain kind.
    pub fn value_kinds(&self) -> impl Iterator<Item = ValueKind> {
        self.values.values().cloned().chain([ValueKind::default()])
    }

    /// The number of the kind that `{name}` draws.
    pub(super) fn value_kind(&self, name: &str) -> Option<u16> {
        let named = self.values.keys().position(|known| known == name);
        named.or_else(|| (name == "value").then_some(self.values.len())).map(|place| place as u16)
    }

    /// The place of the operation called `name`.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.operations.iter().position(|operation| operation.name == name)
    }
}

/// So many operations are told by their names.
const MOST_NAMES: usize = 4;

impl fmt::Display for Workload {
    /// `GET:SET 10:1`, with the operations that have a weight; one alone is just its name, and of many there is their number,
    /// `ycsb (20 operations)`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let names: Vec<_> = self.asked().map(|operation| operation.name.as_str()).collect();
        let weights: Vec<_> = self.asked().map(|operation| operation.weight.to_string()).collect();
        match names.len() {
            1 => f.write_str(names[0]),
            many if many > MOST_NAMES => write!(f, "{} ({many} operations)", self.name),
            _ => write!(f, "{} {}", names.join(":"), weights.join(":")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::presets;

    #[test]
    fn few_operations_are_told_by_their_names_and_many_by_their_number() {
        let of = |n: usize| {
            let operations =
                (0..n).map(|n| Operation { name: format!("o{n}"), weight: 2, ..Operation::default() });
            Workload { name: "mine".to_owned(), operations: operations.collect(), ..Workload::default() }
        };
        let told = [1, 2, 4, 5, 20].map(|n| of(n).to_string());
        assert_eq!(
            told,
            ["o0", "o0:o1 2:2", "o0:o1:o2:o3 2:2:2:2", "mine (5 operations)", "mine (20 operations)"]
        );
        let mut few = of(20);
        few.operations.iter_mut().skip(1).for_each(|operation| operation.weight = 0);
        assert_eq!(few.to_string(), "o0", "what has no weight is not asked for");
    }

    #[test]
    fn a_workload_is_read_as_it_was_written() {
        let mut with_setup = Workload::clone(&Workload::ratio(1, 10));
        with_setup.setup.steps.push("SCRIPT LOAD 'return 1'".to_owned());
        let mut with_values = with_setup.clone();
        let kinds = ["64..1024 text", "64:9,4k:1", "compressible 0.5", "json"].into_iter();
        with_values.values.extend(kinds.map(|kind| (kind.to_owned(), kind.parse().unwrap())));
        let users = Keyset { digits: 0, hashed: true, ..Keyset::default() };
        let mut with_users =
            Workload::clone(&Workload::ratio(1, 10).drawn_by("zipfian 1.1".parse().unwrap()));
        with_users.keys.insert("user".to_owned(), users);
        let others = [&with_setup, &with_values, &with_users];
        for workload in presets().map(|preset| &**preset).chain(others) {
            let written = serde_json::to_string(workload).unwrap();
            assert_eq!(serde_json::from_str::<Workload>(&written).unwrap(), *workload, "{written}");
        }
        let written = serde_json::to_string(&*Workload::ratio(1, 10)).unwrap();
        let expected = r#"{"name":"ratio","keys":{"key":{"distribution":"uniform"}},"operations":[
            {"name":"GET","weight":10,"steps":["GET {key}"]},
            {"name":"SET","weight":1,"steps":["SET {key} {value}"]}]}"#;
        assert_eq!(written, expected.replace("\n            ", ""));
    }
}
