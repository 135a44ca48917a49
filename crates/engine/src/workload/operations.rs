//! The operations of a compiled workload: their names, their requests as bytes, and how their replies are
//! counted.

use super::{Misses, Operation, Together, commands, dialect_check, step::CommandStep};
use crate::protocol::{Dialect, ReplyParts};

/// The first and the last request of a transaction.
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

/// The operations of a program, with the rules for counting their replies.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Operations {
    all: Vec<Expected>,
    /// The parts of replies that the load needs: elements (to see whether keys were found), or numbers for a later
    /// request.
    pub parts: ReplyParts,
}

/// The requests of one operation, and their expected replies.
#[derive(Debug, PartialEq, Eq)]
pub struct Expected {
    /// The operation's name.
    pub label: String,
    /// The requests of the operation on the wire. Each request has one reply.
    pub requests: Vec<Request>,
    /// Whether each request waits for the reply to the previous request.
    pub is_sequence: bool,
    /// Whether the operation changes no data.
    pub only_reads: bool,
    /// Whether the first reply is compared with an expected reply.
    pub is_compared: bool,
    /// How each element of the last reply is counted, if the reply is the array of EXEC, MGET or a similar command. The
    /// list is empty for other replies.
    pub elements: Vec<Misses>,
}

/// One request of an operation.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// The name of the command in the server's statistics, in upper or lower case: `GET`.
    pub command: String,
    /// Which replies to the request are misses.
    pub misses: Misses,
}

impl Operations {
    /// Creates the operations from their steps for this dialect, in the order of their numbers.
    pub(super) fn of_all(operations: &[(&Operation, &[CommandStep])], dialect: Dialect) -> Self {
        let expected = operations.iter().map(|(operation, steps)| Expected::of(operation, steps, dialect));
        let all: Vec<_> = expected.collect();
        let any = |is: fn(&CommandStep) -> bool| operations.iter().any(|(_, steps)| steps.iter().any(is));
        let has_elements =
            any(CommandStep::awaits_cas) || all.iter().any(|expected| !expected.elements.is_empty());
        let is_bodiless = |request: &Request| dialect.is_bodiless(&request.command);
        let parts = match (any(CommandStep::has_cursor), has_elements) {
            (true, _) => ReplyParts::Cursors,
            (false, true) => ReplyParts::Elements,
            // If one request is HEAD, all requests of the workload are HEAD.
            _ if all.iter().flat_map(|expected| &expected.requests).any(is_bodiless) => ReplyParts::Headers,
            (false, false) => ReplyParts::None,
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
    fn of(operation: &Operation, steps: &[CommandStep], dialect: Dialect) -> Self {
        let commands = steps.iter().map(|step| step.command().unwrap_or_default());
        // If the workload says that a script changes no data, a null reply means that the script found
        // nothing.
        let misses = |step: &CommandStep| match step.command().as_deref() {
            Some("EVAL") if operation.writes == Some(false) => Misses::Null,
            _ => dialect_check::misses(dialect, step),
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
            // The replies to the steps are QUEUED, and the array of EXEC contains their results.
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
