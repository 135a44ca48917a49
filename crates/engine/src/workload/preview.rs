//! Creates a preview of the requests of a run, without a connection to a server.
//!
//! ```text
//!  Workload ──compile──► Program ──► a few requests, the shares and the bytes of the operations
//!     └── its sets of keys ──► their number, their names, how hot the hottest are; the prefill
//! ```

use std::collections::BTreeSet;

use super::{
    DatasetError, Distribution, Draws, Hottest, KeyNames, KeyNaming, Operation, Outgoing, Program, Size,
    Values, Workload, client_seed,
    program::Weighed,
    readable::{self, THEN, readable},
    step::{Fragment, Step},
};
use crate::{protocol::Dialect, untrusted};

/// The number of requests that are shown.
const SAMPLES: usize = 12;
/// The number of draws of each operation to compute its mean size. The size varies because numbers have different
/// lengths.
const DRAWS: u64 = 500;
/// The parameters of a run that is previewed.
#[derive(Debug, Clone, Copy)]
pub struct Asking<'a> {
    /// The workload. The workload must be [valid](Workload::check), and the dialect must
    /// [support](Workload::check_dialect) it.
    pub workload: &'a Workload,
    /// The dialect of the server.
    pub dialect: Dialect,
    /// The number of keys in sets that do not define their number of keys.
    pub keyspace: u64,
    /// The size in bytes of values that do not define their size.
    pub value_size: u32,
    /// The number of clients.
    pub clients: u32,
    /// The names of the keys.
    pub names: &'a KeyNames,
    /// The random seed.
    pub seed: u64,
}

/// A preview of a run's requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// The operations with a weight above 0.
    pub operations: Vec<OperationPreview>,
    /// The sets of keys that the operations use.
    pub keys: Vec<KeysPreview>,
    /// The dataset, if records are sent.
    pub dataset: Option<DatasetPreview>,
    /// The prefill, if there is one.
    pub prefill: Option<PrefillPreview>,
    /// Examples: the first requests of the first client.
    pub samples: Vec<Sample>,
}

/// The preview of an operation.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationPreview {
    /// The operation's name.
    pub name: String,
    /// The operation's share of all operations, 0 to 1.
    pub share: f64,
    /// The mean number of bytes that the operation sends.
    pub bytes: f64,
    /// Whether the keys of the operation have different slots. A cluster refuses such an operation.
    pub crosses_slots: bool,
    /// The commands of the operation, as they are written in the workload.
    pub commands: String,
}

/// The preview of a set of keys.
#[derive(Debug, Clone, PartialEq)]
pub struct KeysPreview {
    /// The set's name in the workload.
    pub name: String,
    /// The number of keys before the load inserts new keys.
    pub count: u64,
    /// The name of the lowest key.
    pub first: String,
    /// The name of the highest key.
    pub last: String,
    /// Whether the load inserts keys after the highest key.
    pub grows: bool,
    /// The distribution; `None` if operations use only new keys.
    pub distribution: Option<Distribution>,
    /// The shares of the hottest keys in the draws, before the load inserts new keys. `None` if no closed form exists.
    pub hottest: Option<Hottest>,
}

/// The preview of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetPreview {
    /// The path of the file.
    pub file: String,
    /// The number of records.
    pub records: u64,
    /// The number of records, at the beginning of the file, from which the sizes of operations are computed.
    pub read: u64,
    /// The parts of each record that are sent.
    pub portions: Vec<String>,
}

/// The preview of the prefill.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrefillPreview {
    /// The number of requests in the prefill.
    pub requests: u64,
    /// The number of keys that the prefill writes.
    pub keys: u64,
    /// The number of bytes that the prefill sends.
    pub bytes: f64,
    /// The approximate number of bytes that a server needs for each key, in addition to the data.
    pub overhead: u64,
}

impl PrefillPreview {
    /// Returns the approximate memory on the server in bytes: the data, and the overhead of each key.
    pub fn memory(&self) -> f64 {
        self.bytes + (self.keys * self.overhead) as f64
    }
}

/// An example of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The request's operation.
    pub operation: String,
    /// The number of bytes on the wire.
    pub bytes: u64,
    /// The request's text in one line.
    pub request: String,
}

impl Preview {
    /// Creates the preview of a run.
    ///
    /// # Errors
    /// When the workload sends records that can no longer be read.
    pub fn new(asking: &Asking) -> Result<Self, DatasetError> {
        let prefill = (!asking.workload.prefill.is_empty()).then(|| asking.prefill()).transpose()?;
        Ok(Self {
            operations: asking.operations()?,
            keys: asking.keys(),
            dataset: asking.dataset(),
            prefill,
            samples: asking.samples()?,
        })
    }

    /// Returns the mean number of bytes per operation, weighted by the shares of the operations.
    pub fn bytes(&self) -> f64 {
        self.operations.iter().map(|operation| operation.share * operation.bytes).sum()
    }
}

impl Asking<'_> {
    fn draws(&self) -> Draws {
        Draws::of_client(client_seed(self.seed, 0), 0)
    }

    /// Creates a program that uses the records of the dataset from the first record on.
    fn program(&self, make: Make, workload: &Workload) -> Program {
        let dataset = workload.dataset.as_ref().map(|dataset| dataset.first(DRAWS));
        let workload = &Workload { dataset, ..workload.clone() };
        let values = Values::new(workload, self.value_size, self.seed);
        let program = make(workload, self.dialect, self.keyspace, values, self.names);
        program.for_clients(self.clients)
    }

    /// Returns the operations of a program with their shares and their mean numbers of bytes.
    fn weighed(&self, make: Make) -> Result<Vec<Weighed>, DatasetError> {
        let program = self.program(make, &levelled(self.workload));
        program.weighed(DRAWS, &mut self.draws())
    }

    fn dataset(&self) -> Option<DatasetPreview> {
        let dataset = self.workload.dataset.as_ref()?;
        Some(DatasetPreview {
            file: untrusted::text(&dataset.file().to_string_lossy()),
            records: dataset.records(),
            read: dataset.records().min(DRAWS),
            portions: dataset
                .portions()
                .iter()
                .map(|portion| untrusted::text(&portion.to_string()))
                .collect(),
        })
    }

    fn operations(&self) -> Result<Vec<OperationPreview>, DatasetError> {
        let ahead = |Weighed { place, share, bytes, crosses_slots }| {
            let operation: &Operation = &self.workload.operations[place];
            OperationPreview {
                name: untrusted::text(&operation.name),
                share,
                bytes,
                crosses_slots,
                commands: readable::commands_of(operation),
            }
        };
        Ok(self.weighed(Program::new)?.into_iter().map(ahead).collect())
    }

    fn samples(&self) -> Result<Vec<Sample>, DatasetError> {
        let program = self.program(Program::new, self.workload);
        let mut draws = self.draws();
        let sample = |_| {
            let mut out = Outgoing::default();
            let op = program.append(&mut draws, &mut out);
            if let Some(failure) = out.failure() {
                return Err(failure.clone());
            }
            let bytes = out.length_in_all() as u64;
            let mut later = out.take_later().unwrap_or_default();
            later.iter_mut().for_each(|step| step.put_in(|_, wire| wire.extend_from_slice(b"{cas}")));
            let steps: Vec<_> = [out].into_iter().chain(later).filter(|step| step.length() > 0).collect();
            let steps: Vec<_> =
                steps.iter().map(|step| readable(&step.wire(program.values()), self.dialect)).collect();
            let operation = untrusted::text(&program.operations().of(op).label);
            Ok(Sample { operation, bytes, request: steps.join(THEN) })
        };
        (0..SAMPLES).map(sample).collect()
    }

    /// Returns the sets of keys that operations with a weight above 0 use.
    fn keys(&self) -> Vec<KeysPreview> {
        let workload = self.workload;
        let fragments: Vec<_> = workload.asked_steps().flat_map(Step::fragments).collect();
        let drawn: BTreeSet<_> = fragments.iter().copied().filter_map(Fragment::draws).collect();
        let (_, names) = workload.sets(self.keyspace, self.names);
        let of_set = |set: u16| {
            let keys = workload.keys.iter().nth(set.into());
            let (name, keys) = keys.filter(|(_, keys)| keys.naming != KeyNaming::Anything)?;
            let names = &names[usize::from(set)];
            let numbers = keys.numbers(self.keyspace);
            let key = |number| untrusted::bytes(&names.key(names.form.named(number)));
            let is_drawn = fragments.iter().any(|fragment| *fragment.key() == Fragment::Key(set));
            let distribution = is_drawn.then_some(keys.distribution);
            // In a growing set, the hottest ranks of YCSB's zipfian may belong to keys that do not exist yet.
            let has_form = |drawn: &Distribution| !(names.grows && *drawn == Distribution::YcsbZipfian);
            Some(KeysPreview {
                name: untrusted::text(name),
                count: numbers.end - numbers.start,
                first: key(numbers.start),
                last: key(numbers.end - 1),
                grows: names.grows,
                distribution,
                hottest: distribution.filter(has_form).map(|drawn| drawn.hottest(&numbers)),
            })
        };
        drawn.into_iter().filter_map(of_set).collect()
    }

    fn prefill(&self) -> Result<PrefillPreview, DatasetError> {
        let workload = self.workload;
        let requests = workload.prefill_requests(self.keyspace);
        let weighed = self.weighed(Program::of_prefill)?;
        let bytes: f64 = weighed.iter().map(|operation| operation.share * operation.bytes).sum();
        Ok(PrefillPreview {
            requests,
            keys: workload.prefilled_keys(self.keyspace).total().unwrap_or(requests),
            bytes: bytes * requests as f64,
            overhead: self.dialect.key_overhead(),
        })
    }
}

/// A function that compiles a workload to a program.
type Make = fn(&Workload, Dialect, u64, Values, &KeyNames) -> Program;

/// Returns the workload in which every value has the mean size of its kind.
fn levelled(workload: &Workload) -> Workload {
    let level = |size: &Size| match size {
        Size::Knob => Size::Knob,
        other => Size::Bytes(other.mean(0).round() as u32),
    };
    let mut levelled = workload.clone();
    levelled.values.values_mut().for_each(|kind| kind.size = level(&kind.size));
    levelled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Together;
    use crate::workload::preset;

    fn of(workload: &Workload, dialect: Dialect) -> Preview {
        let names = KeyNames::given("k:");
        workload.check().unwrap();
        workload.check_dialect(dialect, &names).unwrap();
        let (keyspace, value_size, clients) = (1000, 32, 2);
        Preview::new(&Asking { workload, dialect, keyspace, value_size, clients, names: &names, seed: 7 })
            .unwrap()
    }

    fn with(values: &[(&str, &str)], steps: &[&str], prefill: &[&str]) -> Workload {
        let operations = steps.iter().map(|step| Operation::command(step, 1)).collect();
        let values = values.iter().map(|(name, kind)| ((*name).to_owned(), kind.parse().unwrap()));
        let prefill = super::super::Steps { steps: prefill.iter().map(|&step| step.to_owned()).collect() };
        Workload { values: values.collect(), operations, prefill, ..Workload::clone(&Workload::ratio(1, 1)) }
    }

    #[test]
    fn previewed_bytes_are_equal_to_the_bytes_on_the_wire() {
        let preview = of(&preset("cache").unwrap(), Dialect::Resp2);
        let get = "*2\r\n$3\r\nGET\r\n$14\r\nk:000000000000\r\n".len() as f64;
        let set = "*3\r\n$3\r\nSET\r\n$14\r\nk:000000000000\r\n$32\r\n\r\n".len() as f64 + 32.0;
        let sizes: Vec<_> = preview.operations.iter().map(|o| (o.name.as_str(), o.bytes)).collect();
        assert_eq!(sizes.iter().find(|(name, _)| *name == "GET"), Some(&("GET", get)));
        assert_eq!(sizes.iter().find(|(name, _)| *name == "SET"), Some(&("SET", set)));
        assert!((preview.bytes() - (10.0 * get + set) / 11.0).abs() < 1e-9);
        let shares: f64 = preview.operations.iter().map(|operation| operation.share).sum();
        assert!((shares - 1.0).abs() < 1e-12);
        let lines: Vec<_> = preview.samples.iter().map(|sample| (sample.bytes as f64, sample)).collect();
        assert!(
            lines.iter().all(|(bytes, sample)| *bytes == if sample.operation == "GET" { get } else { set })
        );
    }

    #[test]
    fn the_previewed_mean_size_is_the_mean_of_sent_sizes() {
        let steps = ["SET {key} {text}", "SETRANGE {key} {number 1..99999} {text}"];
        let workload = with(&[("text", "64..1024")], &steps, &[]);
        let mean = of(&workload, Dialect::Resp2).bytes();
        let values = Values::new(&workload, 32, 1);
        let program = Program::new(&workload, Dialect::Resp2, 1000, values, &KeyNames::given("k:"));
        let (mut draws, mut out) = (Draws::new(3), Outgoing::default());
        (0..20_000).for_each(|_| _ = program.append(&mut draws, &mut out));
        let drawn = out.length() as f64 / 20_000.0;
        // The limit is five standard deviations of the mean size.
        assert!((mean - drawn).abs() < 5.0 * 277.0 / 20_000.0_f64.sqrt(), "{mean} previewed, {drawn} drawn");
    }

    #[test]
    fn the_samples_are_the_first_requests_of_the_first_client() {
        let workload = preset("mixed").unwrap();
        let preview = of(&workload, Dialect::Memcached);
        assert_eq!(preview.samples.len(), SAMPLES);
        let values = Values::new(&workload, 32, 7);
        let program = Program::new(&workload, Dialect::Memcached, 1000, values, &KeyNames::given("k:"));
        let (mut draws, mut out) = (Draws::of_client(client_seed(7, 0), 0), Outgoing::default());
        (0..SAMPLES).for_each(|_| _ = program.append(&mut draws, &mut out));
        let shown: Vec<_> = preview.samples.iter().map(|sample| sample.request.as_str()).collect();
        assert_eq!(shown.concat(), untrusted::at_most(out.as_whole().unwrap(), 10_000));
    }

    #[test]
    fn waiting_steps_are_shown_in_order_and_counted_together() {
        let mut workload = with(&[], &["GET {key}"], &[]);
        workload.operations[0].together = Together::Sequence;
        workload.operations[0].steps.push("SET {key.same} {value}".to_owned());
        let preview = of(&workload, Dialect::Resp2);
        let sample = &preview.samples[0];
        let (read, write) = sample.request.split_once(" then ").unwrap();
        assert!(write.starts_with(&read.replace("GET", "SET")), "{sample:?}");
        assert_eq!(preview.operations[0].bytes, sample.bytes as f64);
        assert_eq!(preview.operations[0].commands, "GET {key} then SET {key.same} {value}");
    }

    #[test]
    fn a_prefill_is_counted_in_keys_and_bytes() {
        let workload = with(&[("text", "64..1024")], &["GET {key}"], &["SET {key} {text} EX 60"]);
        let made = of(&workload, Dialect::Resp2).prefill.unwrap();
        assert_eq!((made.requests, made.keys), (1000, 1000));
        let wire =
            "*5\r\n$3\r\nSET\r\n$14\r\nk:000000000000\r\n$544\r\n\r\n$2\r\nEX\r\n$2\r\n60\r\n".len() + 544;
        assert_eq!((made.bytes, made.memory()), (1000.0 * wire as f64, 1000.0 * (wire + 64) as f64));
        assert_eq!(of(&with(&[], &["GET {key}"], &[]), Dialect::Resp2).prefill, None);
    }

    #[test]
    fn only_used_sets_of_keys_are_shown() {
        let mut workload =
            with(&[], &["GET {key}", "SET {new.new} {value}", "STRLEN {grown}", "APPEND {grown.new} x"], &[]);
        let keys = |prefix: &str, distribution: &str| super::super::Keyset {
            prefix: prefix.to_owned(),
            first: 5,
            digits: 1,
            distribution: distribution.parse().unwrap(),
            ..Default::default()
        };
        workload.keys.insert("new".to_owned(), keys("n", "zipfian"));
        workload.keys.insert("grown".to_owned(), keys("g", "ycsb-zipfian"));
        workload.keys.insert("unused".to_owned(), keys("u", "zipfian"));
        let sets = of(&workload, Dialect::Resp2).keys;
        let names: Vec<_> =
            sets.iter().map(|set| (set.name.as_str(), set.first.as_str(), set.last.as_str())).collect();
        let usual = ("key", "k:000000000000", "k:000000000999");
        assert_eq!(names, [("grown", "k:g5", "k:g1004"), usual, ("new", "k:n5", "k:n1004")]);
        assert_eq!(sets[0].distribution, Some(Distribution::YcsbZipfian));
        assert!(sets[0].grows && sets[0].hottest.is_none());
        assert_eq!(sets[1].hottest, Some(Hottest { key: 0.001, hundredth: 0.01, keys: 10 }));
        assert!(sets[2].grows && sets[2].distribution.is_none() && sets[2].hottest.is_none());
    }
}
