//! The definition of a workload: its operations, keys and values. Presets, workload files and recordings
//! contain such a definition.

use std::{collections::BTreeMap, fmt, ops::Range, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    CompleteRequests, Dataset, Distribution, HttpFields, KeyForm, KeyNaming, Receivers, Trace, ValueKind,
    compiled::CompiledOnce,
    quantity::{quantity, some_quantity},
    step::CommandStep,
};

/// The requests of a load: weighted operations, and the keys and values that they use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// The workload's name.
    pub name: String,
    /// A description of the workload in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The sets of keys by name. In a step (a command of an operation), `{key}` draws a key from the set called `key`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub keys: BTreeMap<String, Keyset>,
    /// The kinds of values by name. In a step, `{text}` draws a value of the kind called `text`. If no kind has the
    /// name `value`, `{value}` draws a plain value with the load's value size.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, ValueKind>,
    /// The operations, in the order in which redyno lists them.
    pub operations: Vec<Operation>,
    /// Commands that run once before the load.
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub setup: Steps,
    /// The steps of the prefill. The prefill writes the keys that the load reads. A step runs once for every key of the
    /// first set in the step. If this set has a single key, the step runs once for every key of the next set instead.
    /// For example, `ZADD {index} 0 {post}` runs for every key of the set `post`.
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    pub prefill: Steps,
    /// The receivers: connections that receive the messages of the operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receivers: Option<Receivers>,
    /// The header fields of every HTTP request.
    #[serde(skip)]
    pub http: HttpFields,
    /// The order in which each client sends its operations. Workload files and recordings never contain this setting.
    #[serde(skip)]
    pub order: OperationOrder,
    /// The dataset, if the workload sends records. Workload files and recordings do not contain the dataset.
    #[serde(skip)]
    pub dataset: Option<Dataset>,
    /// The trace, a file of commands. The commands of a trace replace the steps of the first operations. Workload files
    /// and recordings do not contain the trace.
    #[serde(skip)]
    pub trace: Option<Trace>,
    /// The parsed text of the workload, which is created at first use. After that, the text may be changed only in a
    /// copy of the workload.
    #[serde(skip)]
    pub compiled: CompiledOnce,
}

/// The order in which a client sends its operations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OperationOrder {
    /// Each operation is drawn at random according to the weights.
    #[default]
    Random,
    /// The operations are sent in turn. The weight of an operation is the number of its repetitions.
    InTurn,
    /// The operations are sent as with `InTurn`, but all operations of one turn use the same key. One node of a cluster
    /// therefore gets all requests of a turn.
    OneKeyInTurn,
    /// The first operation begins a SCAN. The second operation, with `{cursor}` from the last reply, continues the SCAN
    /// until the cursor is 0. The number limits how often the second operation is sent.
    Scan(u64),
}

/// A set of keys. The name of a key consists of a prefix and a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Keyset {
    /// The set's own prefix. This prefix follows the prefix of all keys of the run and precedes the number.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// The number of the first key.
    #[serde(deserialize_with = "quantity", skip_serializing_if = "crate::stats::is_default")]
    pub first: u64,
    /// The number of keys. `None` means the load's number of keys.
    #[serde(deserialize_with = "some_quantity", skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The minimum number of digits, up to 20. 0 means no leading zeros.
    #[serde(skip_serializing_if = "is_usual")]
    pub digits: u8,
    /// The form of the number in a key's name.
    #[serde(skip_serializing_if = "crate::stats::is_default")]
    pub naming: KeyNaming,
    /// Whether the set consists of numbers without a prefix. Such a number is a part of a name or argument. The number
    /// is not a key of the run.
    #[serde(skip_serializing_if = "crate::stats::is_default")]
    pub bare: bool,
    /// The distribution from which the keys of the set are drawn.
    pub distribution: Distribution,
}

impl Default for Keyset {
    /// Creates a set with the load's number of keys and twelve digits.
    fn default() -> Self {
        let KeyForm { digits, naming } = KeyForm::default();
        Self {
            prefix: String::new(),
            first: 0,
            count: None,
            digits,
            naming,
            bare: false,
            distribution: Distribution::Uniform,
        }
    }
}

/// Commands that run before a load, in the syntax of an operation's steps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Steps {
    /// The commands.
    pub steps: Vec<String>,
}

impl Steps {
    /// Returns whether there are no commands.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the value that a step sets for the parameter `notify-keyspace-events`.
    pub fn notifications(&self) -> Option<&str> {
        self.steps.iter().find_map(|step| notifications(step))
    }
}

/// Returns the value that a command sets for the parameter `notify-keyspace-events`.
pub(super) fn notifications(command: &str) -> Option<&str> {
    let words: Vec<_> = command.split_whitespace().collect();
    let [begin @ .., letters] = &words[..] else { return None };
    begin.join(" ").eq_ignore_ascii_case("config set notify-keyspace-events").then_some(*letters)
}

impl Keyset {
    /// Returns the numbers of the set's keys in a load with `keyspace` keys, without inserted keys.
    pub fn numbers(&self, keyspace: u64) -> Range<u64> {
        self.first..self.first.saturating_add(self.count.unwrap_or(keyspace))
    }

    /// Returns the format of the numbers in the set's key names.
    pub fn form(&self) -> KeyForm {
        KeyForm { digits: self.digits, naming: self.naming }
    }
}

/// One or more commands that are sent together and have one latency.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// The operation's name.
    pub name: String,
    /// How often the operation is sent, relative to the other operations. An operation with weight 0 is never sent.
    #[serde(default = "one", deserialize_with = "quantity")]
    pub weight: u32,
    /// How the operation's steps are combined.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub together: Together,
    /// Whether the operation changes the server's data. With `None`, the operation's commands determine whether the
    /// operation changes data. `false` has no effect on a command that is known to write, such as SET or DEL. With
    /// `false`, a null reply to EVAL counts as a miss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<bool>,
    /// The operation's commands, at least one. The commands contain placeholders and the quotes of redis-cli:
    /// `SET {key} "<{value}>" EX {number 60..3600}`. `{key.same}` is the key that `{key}` drew last in this operation.
    /// `{now}` is the time in milliseconds since 1970. `{cas}` is memcached's CAS number from the reply to the previous
    /// step. Braces with an unknown name are sent unchanged.
    pub steps: Vec<String>,
    /// The expected replies to the first step, as a list of texts of equal length. Any other reply counts as
    /// an error. redyno refuses such a workload on a cluster. Workload files never contain this setting.
    #[serde(skip)]
    pub expects: Option<String>,
    /// Whether each step is sent byte for byte as one request, for inline commands with their line ends.
    /// Workload files never contain this setting.
    #[serde(skip)]
    pub is_raw: bool,
    /// Complete requests that replace the operation's step. The step then only names the command. Workload
    /// files never contain this setting.
    #[serde(skip)]
    pub ready: Option<CompleteRequests>,
}

/// How the steps of an operation are combined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Together {
    /// All steps are written at once.
    #[default]
    Pipeline,
    /// All steps are written at once, between MULTI and EXEC.
    Multi,
    /// Each step is written when the reply to the previous step has arrived, even if the reply is an error.
    Sequence,
}

fn one() -> u32 {
    1
}

fn is_usual(digits: &u8) -> bool {
    *digits == KeyForm::default().digits
}

impl Operation {
    /// Creates an operation with one command. The name of the operation is the first word of the command.
    pub fn command(step: &str, weight: u32) -> Self {
        let name = step.split(' ').next().unwrap_or_default().to_owned();
        Self { name, weight, steps: vec![step.to_owned()], ..Self::default() }
    }

    /// Returns whether the operation with these parsed steps changes the server's data. A command that is not known as
    /// read-only is assumed to write, unless the flag declares that it only reads.
    pub(super) fn changes_data(&self, steps: &[CommandStep]) -> bool {
        match self.writes {
            Some(true) => true,
            Some(false) => steps.iter().any(CommandStep::is_known_to_write),
            None => !steps.iter().all(CommandStep::only_reads),
        }
    }
}

impl Workload {
    /// Returns the operations with a weight above 0.
    pub fn active_operations(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(|operation| operation.weight > 0)
    }

    /// Returns a copy of the workload in which every set of keys has this `distribution`.
    #[must_use]
    pub fn with_distribution(&self, distribution: Distribution) -> Arc<Self> {
        let mut workload = self.clone();
        workload.keys.values_mut().for_each(|keys| keys.distribution = distribution);
        Arc::new(workload)
    }

    /// Returns a copy of the workload in which the numbers of keys have no leading zeros.
    #[must_use]
    pub fn with_plain_numbers(&self) -> Arc<Self> {
        let mut workload = self.clone();
        workload.keys.values_mut().for_each(|keys| keys.digits = 0);
        Arc::new(workload)
    }

    /// Returns the distributions of the sets of keys, without duplicates and without the uniform distribution.
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

    /// Returns all kinds of values, in the order of the kinds' numbers. The kinds with a name come first.
    pub fn value_kinds(&self) -> impl Iterator<Item = ValueKind> {
        self.values.values().cloned().chain([ValueKind::default()])
    }

    /// Returns the number of the kind of values called `name`.
    pub(super) fn value_kind(&self, name: &str) -> Option<u16> {
        let named = self.values.keys().position(|known| known == name);
        named.or_else(|| (name == "value").then_some(self.values.len())).map(|place| place as u16)
    }

    /// Returns the index of the operation called `name`.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.operations.iter().position(|operation| operation.name == name)
    }
}

/// The largest number of operations that are listed by name.
const MOST_NAMES: usize = 4;

impl Workload {
    /// Returns the names and weights in the order of the operations, such as `GET:SET 10:1`. The order must not change,
    /// because programs that read redyno's exports rely on it.
    pub fn in_own_order(&self) -> String {
        self.listed(&self.active_operations().collect::<Vec<_>>())
    }

    fn listed(&self, operations: &[&Operation]) -> String {
        let names: Vec<_> = operations.iter().map(|operation| operation.name.as_str()).collect();
        let weights: Vec<_> = operations.iter().map(|operation| operation.weight.to_string()).collect();
        match names.len() {
            1 => names[0].to_owned(),
            many if many > MOST_NAMES => format!("{} ({many} operations)", self.name),
            _ => format!("{} {}", names.join(":"), weights.join(":")),
        }
    }
}

impl fmt::Display for Workload {
    /// Writes the names and weights of the operations with a weight above 0, such as `SET:GET 1:10`. SET comes first,
    /// as in `--ratio`. A single operation is written as its name. Many operations are written as their number:
    /// `ycsb (20 operations)`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut asked: Vec<_> = self.active_operations().collect();
        if matches!(asked[..], [get, set] if get.name == "GET" && set.name == "SET") {
            asked.reverse();
        }
        f.write_str(&self.listed(&asked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::presets;

    #[test]
    fn few_operations_are_listed_by_name_and_many_are_counted() {
        let of = |n: usize| {
            let operations =
                (0..n).map(|n| Operation { name: format!("o{n}"), weight: 2, ..Operation::default() });
            Workload { name: "mine".to_owned(), operations: operations.collect(), ..Workload::default() }
        };
        let texts = [1, 2, 4, 5, 20].map(|n| of(n).to_string());
        assert_eq!(
            texts,
            ["o0", "o0:o1 2:2", "o0:o1:o2:o3 2:2:2:2", "mine (5 operations)", "mine (20 operations)"]
        );
        let mut few = of(20);
        few.operations.iter_mut().skip(1).for_each(|operation| operation.weight = 0);
        assert_eq!(few.to_string(), "o0", "what has no weight is not asked for");
        let ratio = Workload::ratio(1, 10);
        assert_eq!((ratio.to_string(), ratio.in_own_order()), ("SET:GET 1:10".into(), "GET:SET 10:1".into()));
    }

    #[test]
    fn a_workload_survives_serialization() {
        let mut with_setup = Workload::clone(&Workload::ratio(1, 10));
        with_setup.setup.steps.push("SCRIPT LOAD 'return 1'".to_owned());
        let mut with_values = with_setup.clone();
        let kinds = ["64..1024 text", "64:9,4k:1", "compressible 0.5", "json"].into_iter();
        with_values.values.extend(kinds.map(|kind| (kind.to_owned(), kind.parse().unwrap())));
        let users = Keyset { digits: 0, naming: KeyNaming::Ycsb, ..Keyset::default() };
        let mut with_users =
            Workload::clone(&Workload::ratio(1, 10).with_distribution("zipfian 1.1".parse().unwrap()));
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
