//! The parsed text of a workload, as data.

use std::{collections::BTreeSet, fmt, sync::OnceLock};

use super::step::Step;

/// The parsed text of a workload.
#[derive(Debug)]
pub(super) struct Compiled {
    /// The workload's operations, in their order.
    pub(super) operations: Vec<CompiledOperation>,
    /// The workload's sets of keys, in the order of their names.
    pub(super) keysets: Vec<CompiledKeyset>,
    /// The numbers of the kinds of values that any step sends.
    pub(super) values: BTreeSet<u16>,
    /// The steps of its setup.
    pub(super) setup: Vec<Step>,
    /// The steps of its prefill.
    pub(super) prefill: Vec<Step>,
    /// The first step whose quotes do not match. It is treated as one without words.
    pub(super) unread: Option<String>,
}

/// The parsed text of an operation.
#[derive(Debug)]
pub(super) struct CompiledOperation {
    pub(super) steps: Vec<Step>,
    /// Whether it changes the server's data. Commands that are not known to read are assumed to write.
    pub(super) writes: bool,
}

/// The parsed properties of a set of keys.
#[derive(Debug)]
pub(super) struct CompiledKeyset {
    /// The first set with the same keys, even with another distribution: `{key}` and `{key latest}`.
    pub(super) same: usize,
    /// Whether operations insert new keys. Sets with the same keys get the same new ones.
    pub(super) grows: bool,
}

/// Where a workload keeps its parsed text. A copy of the workload parses its own text, which may be changed before.
#[derive(Default)]
pub struct CompiledOnce(pub(super) OnceLock<Compiled>);

impl Clone for CompiledOnce {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for CompiledOnce {
    /// Workloads with the same text are equal.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for CompiledOnce {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("…")
    }
}
