//! A test: what is asked, under which title, and how it is counted.

use std::sync::Arc;

use super::words::Steps;
use crate::workload::{Operation, Workload};

/// A test of the suite, or the command line's own.
pub(super) struct Test {
    pub(super) title: String,
    pub(super) workload: Arc<Workload>,
    /// As how many requests one operation is counted.
    pub(super) commands: u64,
    /// What is told as its payload, in bytes.
    pub(super) payload: u64,
    /// A command that is sent once before, on a connection of its own.
    pub(super) before: Option<Vec<Vec<u8>>>,
}

impl Test {
    /// That of these steps, which are so many commands.
    pub(super) fn of(title: &str, steps: Steps, commands: u64, payload: u64) -> Self {
        let (title, Steps { steps, sets, is_raw, .. }) = (title.to_owned(), steps);
        let operation = Operation { name: title.clone(), weight: 1, steps, is_raw, ..Operation::default() };
        let (name, operations) = (title.clone(), vec![operation]);
        let workload = Arc::new(Workload { name, keys: sets, operations, ..Workload::default() });
        Self { title, workload, commands, payload, before: None }
    }
}
