//! The parsed text of a workload: its steps, keys and values.

use std::{collections::BTreeSet, fmt, sync::OnceLock};

use super::step::CommandStep;

pub(super) struct Compiled {
    /// The workload's operations, in their order.
    pub(super) operations: Vec<CompiledOperation>,
    /// The workload's sets of keys, in the order of their names.
    pub(super) keysets: Vec<CompiledKeyset>,
    /// The kinds of values that the steps send, by number.
    pub(super) values: BTreeSet<u16>,
    /// The setup's steps.
    pub(super) setup: Vec<CommandStep>,
    /// The prefill's steps.
    pub(super) prefill: Vec<CommandStep>,
    /// The first step with unmatched quotes. A step with unmatched quotes is treated as empty.
    pub(super) unread: Option<String>,
    /// Whether the repetitions are too long. Then some steps are treated as empty.
    pub(super) is_too_long: bool,
}

/// The parsed text of an operation.
pub(super) struct CompiledOperation {
    pub(super) steps: Vec<CommandStep>,
    /// The expected reply to the first step.
    pub(super) expects: Option<CommandStep>,
    /// Whether the operation changes the server's data. A command that is not known as read-only is assumed to write.
    pub(super) writes: bool,
}

/// The parsed properties of a set of keys.
pub(super) struct CompiledKeyset {
    /// The index of the first set with the same keys. The distributions of the two sets may differ, as for `{key}` and
    /// `{key latest}`.
    pub(super) same: usize,
    /// Whether operations insert new keys into this set, or into another set with the same keys.
    pub(super) grows: bool,
}

/// A cache for a workload's parsed text. A copy of the workload has an empty cache at first, because the text of the
/// copy may change.
#[derive(Default)]
pub struct CompiledOnce(pub(super) OnceLock<Compiled>);

impl Clone for CompiledOnce {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for CompiledOnce {
    /// Returns true for any two caches, because equal workloads have equal parsed texts.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for CompiledOnce {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("…")
    }
}
