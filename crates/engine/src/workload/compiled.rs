//! What a workload's text says, as data.

use std::{collections::BTreeSet, fmt, sync::OnceLock};

use super::step::Step;

/// What a workload's text says.
#[derive(Debug)]
pub(super) struct Compiled {
    /// Its operations, in their order.
    pub(super) operations: Vec<CompiledOperation>,
    /// Its sets of keys, in the order of their names.
    pub(super) keysets: Vec<CompiledKeyset>,
    /// The numbers of the kinds of values that any step sends.
    pub(super) values: BTreeSet<u16>,
    /// The steps of its setup.
    pub(super) setup: Vec<Step>,
    /// Those of its prefill.
    pub(super) prefill: Vec<Step>,
    /// The first step whose quotes do not match. It is read as one without words.
    pub(super) unread: Option<String>,
}

/// What the text of an operation says.
#[derive(Debug)]
pub(super) struct CompiledOperation {
    pub(super) steps: Vec<Step>,
    /// Whether it changes the server's data. A command that is not known to read is taken to write.
    pub(super) writes: bool,
}

/// What the text says of a set of keys.
#[derive(Debug)]
pub(super) struct CompiledKeyset {
    /// The first set that is the same keys, be they drawn otherwise: `{key}` and `{key latest}`.
    pub(super) same: usize,
    /// Whether operations insert new ones. Sets that are the same keys get the same ones.
    pub(super) grows: bool,
}

/// Where a workload keeps what its text says. A copy of the workload reads its own text, which may be changed before.
#[derive(Default)]
pub struct CompiledOnce(pub(super) OnceLock<Compiled>);

impl Clone for CompiledOnce {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for CompiledOnce {
    /// Workloads of the same text are the same.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for CompiledOnce {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("…")
    }
}
