//! Shows what a workload will send, without a connection to a server.
//!
//! ```text
//!  Workload ──compile──► Program ──► a few requests, the shares and the bytes of the operations
//!     └── its sets of keys ──► their number, their names, how hot the hottest are; the prefill
//! ```

use std::collections::BTreeSet;

use super::{
    DatasetError, Distribution, Draws, HottestShares, KeyNames, KeyNaming, Operation, OutgoingRequests,
    Program, Size, Values, Workload, client_seed,
    program::OperationFigures,
    readable::{self, THEN, readable},
    step::{CommandStep, Fragment},
};
use crate::{protocol::Dialect, untrusted};

/// The number of requests that are shown.
const SAMPLES: usize = 12;
/// How often each operation is drawn to compute its mean size. The size varies because numbers have different lengths.
const DRAWS: u64 = 500;
/// The parameters of a run that is previewed.
#[derive(Debug, Clone, Copy)]
pub struct PreviewInput<'a> {
    /// The workload. The workload must be [valid](Workload::check), and the dialect must
    /// [support](Workload::check_dialect) it.
    pub workload: &'a Workload,
    /// The protocol of the server.
    pub dialect: Dialect,
    /// The number of keys in a set that does not define its own number of keys.
    pub keyspace: u64,
    /// The size in bytes of a value that does not define its own size.
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
    /// The first requests of the first client, as examples.
    pub samples: Vec<RequestSample>,
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
    /// The distribution. `None` if operations use only new keys.
    pub distribution: Option<Distribution>,
    /// The shares of the hottest keys in the draws, before the load inserts new keys. `None` if there is no
    /// formula for the shares.
    pub hottest: Option<HottestShares>,
}

/// The preview of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetPreview {
    /// The path of the file.
    pub file: String,
    /// The number of records.
    pub records: u64,
    /// The number of records at the beginning of the file from which the sizes of operations are computed.
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
pub struct RequestSample {
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
    /// Fails if the workload sends records that can no longer be read.
    pub fn new(asking: &PreviewInput) -> Result<Self, DatasetError> {
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

impl PreviewInput<'_> {
    fn draws(&self) -> Draws {
        Draws::of_client(client_seed(self.seed, 0), 0)
    }

    /// Creates a program that uses the records of the dataset from the first record on.
    fn program(&self, make: CompileWorkload, workload: &Workload) -> Program {
        let dataset = workload.dataset.as_ref().map(|dataset| dataset.first(DRAWS));
        let workload = &Workload { dataset, ..workload.clone() };
        let values = Values::new(workload, self.value_size, self.seed);
        let program = make(workload, self.dialect, self.keyspace, values, self.names);
        program.for_clients(self.clients)
    }

    /// Returns the operations of a program with their shares and their mean numbers of bytes.
    fn weighed(&self, make: CompileWorkload) -> Result<Vec<OperationFigures>, DatasetError> {
        let program = self.program(make, &levelled(self.workload));
        program.operation_figures(DRAWS, &mut self.draws())
    }

    fn dataset(&self) -> Option<DatasetPreview> {
        let dataset = self.workload.dataset.as_ref()?;
        Some(DatasetPreview {
            file: untrusted::text(&dataset.file().to_string_lossy()),
            records: dataset.records,
            read: dataset.records.min(DRAWS),
            portions: dataset
                .portions()
                .iter()
                .map(|portion| untrusted::text(&portion.to_string()))
                .collect(),
        })
    }

    fn operations(&self) -> Result<Vec<OperationPreview>, DatasetError> {
        let ahead = |OperationFigures { place, share, bytes, crosses_slots }| {
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

    fn samples(&self) -> Result<Vec<RequestSample>, DatasetError> {
        let program = self.program(Program::new, self.workload);
        let mut draws = self.draws();
        let sample = |_| {
            let mut out = OutgoingRequests::default();
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
            Ok(RequestSample { operation, bytes, request: steps.join(THEN) })
        };
        (0..SAMPLES).map(sample).collect()
    }

    /// Returns the sets of keys that operations with a weight above 0 use.
    fn keys(&self) -> Vec<KeysPreview> {
        let workload = self.workload;
        let fragments: Vec<_> = workload.active_steps().flat_map(CommandStep::fragments).collect();
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
type CompileWorkload = fn(&Workload, Dialect, u64, Values, &KeyNames) -> Program;

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
mod tests;
