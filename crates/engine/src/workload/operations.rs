//! How the replies to operations are counted: the names of the operations, and their requests on the wire.

use super::{Misses, Operation, Together, commands, spoken, step::Step};
use crate::protocol::{Dialect, Parts};

/// The requests at the beginning and at the end of a transaction.
pub(super) const MULTI: &str = "MULTI";
pub(super) const EXEC: &str = "EXEC";

/// The number of an operation in its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpId(pub(super) u16);

impl OpId {
    /// Returns the operation's index among all operations.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The operations of a program, and how their replies are counted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Operations {
    all: Vec<Expected>,
    /// Which parts of replies are needed: elements that show whether keys were found, or numbers for a later
    /// request.
    pub parts: Parts,
}

/// The requests of one operation, and their expected replies.
#[derive(Debug, PartialEq, Eq)]
pub struct Expected {
    /// The operation's name.
    pub label: String,
    /// The operation's requests on the wire; each request has one reply.
    pub requests: Vec<Request>,
    /// Whether each request waits for the reply to the previous request.
    pub is_sequence: bool,
    /// Whether the operation changes no data.
    pub only_reads: bool,
    /// Whether the first reply is compared with the expected one.
    pub is_compared: bool,
    /// Which elements of the last reply are misses, if that reply is the array of EXEC, MGET or a similar command.
    /// Empty for other replies.
    pub elements: Vec<Misses>,
}

/// One request of an operation.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// The command as the server's statistics name it, in upper or lower case: `GET`.
    pub command: String,
    /// Which replies to the request are misses.
    pub misses: Misses,
}

impl Operations {
    /// Creates the operations from their steps for this protocol, in the order of their numbers.
    pub(super) fn of_all(operations: &[(&Operation, &[Step])], dialect: Dialect) -> Self {
        let expected = operations.iter().map(|(operation, steps)| Expected::of(operation, steps, dialect));
        let all: Vec<_> = expected.collect();
        let any = |is: fn(&Step) -> bool| operations.iter().any(|(_, steps)| steps.iter().any(is));
        let has_elements = any(Step::awaits_cas) || all.iter().any(|expected| !expected.elements.is_empty());
        let is_bodiless = |request: &Request| dialect.is_bodiless(&request.command);
        let parts = match (any(Step::has_cursor), has_elements) {
            (true, _) => Parts::Cursors,
            (false, true) => Parts::Elements,
            // A workload has HEAD alone, or not at all.
            _ if all.iter().flat_map(|expected| &expected.requests).any(is_bodiless) => Parts::Headers,
            (false, false) => Parts::None,
        };
        Self { all, parts }
    }

    /// Returns the number of operations.
    #[inline]
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Returns the expected replies of an operation.
    #[inline]
    pub fn of(&self, op: OpId) -> &Expected {
        &self.all[op.index()]
    }

    /// Returns all operations, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &Expected> {
        self.all.iter()
    }

    /// Returns the number of the operation called `label`.
    #[cfg(test)]
    pub(crate) fn find(&self, label: &str) -> Option<OpId> {
        self.all.iter().position(|known| known.label == label).map(|place| OpId(place as u16))
    }
}

impl Expected {
    fn of(operation: &Operation, steps: &[Step], dialect: Dialect) -> Self {
        let commands = steps.iter().map(|step| step.command().unwrap_or_default());
        // A script that is said to only read replies with what it found.
        let misses = |step: &Step| match step.command().as_deref() {
            Some("EVAL") if operation.writes == Some(false) => Misses::Null,
            _ => spoken::misses(dialect, step),
        };
        let misses: Vec<_> = steps.iter().map(misses).collect();
        let request = |(command, misses)| Request { command, misses };
        let (requests, elements) = match operation.together {
            Together::Pipeline | Together::Sequence => {
                let last = steps.last().filter(|_| dialect.has_collections());
                let elements = last
                    .map_or(0, |step| commands::elements(&step.command().unwrap_or_default(), step.0.len()));
                (commands.zip(misses).map(request).collect(), vec![Misses::Null; elements])
            }
            // Its steps are answered with QUEUED; their results are in the array of EXEC.
            Together::Multi => {
                let [multi, exec] = [MULTI, EXEC].map(str::to_owned);
                let all = [multi].into_iter().chain(commands).chain([exec]);
                (all.map(|command| request((command, Misses::Never))).collect(), misses)
            }
        };
        let is_sequence = operation.together == Together::Sequence && steps.len() > 1;
        let only_reads = !operation.changes_data(steps);
        let is_compared = operation.expects.is_some();
        Self { label: operation.name.clone(), requests, is_sequence, only_reads, is_compared, elements }
    }
}
