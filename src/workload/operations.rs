//! What the replies to operations are counted by: their labels, and the requests that they are on the wire.

use super::{Misses, Operation, Together, commands, data::command};

/// What a transaction begins and ends with on the wire.
pub(super) const MULTI: &str = "MULTI";
pub(super) const EXEC: &str = "EXEC";

/// The number of an operation in its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpId(pub(super) u16);

impl OpId {
    /// Its place among the operations.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What the replies to a program's operations are counted by.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Operations(Vec<Expected>);

/// What is expected of one operation.
#[derive(Debug, PartialEq, Eq)]
pub struct Expected {
    /// What it is called.
    pub label: String,
    /// Its requests on the wire, one reply each.
    pub requests: Vec<Request>,
}

/// One request of an operation.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// The command, as the server's own statistics call it but for its case: `GET`.
    pub command: String,
    /// Which of its replies are misses.
    pub misses: Misses,
}

impl Operations {
    /// Of these, in the order of their numbers.
    pub(super) fn of_all(operations: &[Operation]) -> Self {
        Self(operations.iter().map(Expected::of).collect())
    }

    /// How many there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// What is expected of an operation.
    #[inline]
    pub fn of(&self, op: OpId) -> &Expected {
        &self.0[op.index()]
    }

    /// All of them, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &Expected> {
        self.0.iter()
    }

    /// The operation called `label`.
    pub fn find(&self, label: &str) -> Option<OpId> {
        self.0.iter().position(|known| known.label == label).map(|place| OpId(place as u16))
    }
}

impl Expected {
    fn of(operation: &Operation) -> Self {
        let commands = operation.steps.iter().map(|step| command(step));
        let never = |command| Request { command, misses: Misses::Never };
        let requests = match operation.together {
            Together::Pipeline => {
                let misses = commands.clone().map(|command| commands::misses(&command));
                commands.zip(misses).map(|(command, misses)| Request { command, misses }).collect()
            }
            // Its steps are answered with QUEUED, and what they found is in the array that EXEC is answered with.
            Together::Multi => {
                let [multi, exec] = [MULTI, EXEC].map(str::to_owned);
                [multi].into_iter().chain(commands).chain([exec]).map(never).collect()
            }
        };
        Self { label: operation.name.clone(), requests }
    }
}
