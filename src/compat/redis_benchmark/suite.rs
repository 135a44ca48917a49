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
        let Steps { steps, sets, .. } = steps;
        Self::with(title, Operation { steps, ..Operation::default() }, payload, |test| {
            test.commands = commands;
            Arc::make_mut(&mut test.workload).keys = sets;
        })
    }

    /// That of one request which is sent byte for byte.
    pub(super) fn raw(title: &str, request: &str, payload: u64) -> Self {
        let operation = Operation { steps: vec![request.to_owned()], is_raw: true, ..Operation::default() };
        Self::with(title, operation, payload, |_| {})
    }

    /// What it is called while it runs, and as how many requests an operation is counted.
    pub(super) fn drawn(&self, is_warmup: bool) -> (String, u64) {
        (if is_warmup { format!("Warming up {}", self.title) } else { self.title.clone() }, self.commands)
    }

    fn with(title: &str, operation: Operation, payload: u64, change: impl FnOnce(&mut Self)) -> Self {
        let title = title.to_owned();
        let operations = vec![Operation { name: title.clone(), weight: 1, ..operation }];
        let workload = Arc::new(Workload { name: title.clone(), operations, ..Workload::default() });
        let mut test = Self { title, workload, commands: 1, payload, before: None };
        change(&mut test);
        test
    }
}
