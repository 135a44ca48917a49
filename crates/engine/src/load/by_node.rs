//! Counts a load worker's replies for each node of a cluster, and finds the busiest slots.
//!
//! With a hundred nodes, histograms for each node in each buffer would take a hundred megabytes. A worker therefore
//! lists the latencies, and the collector builds the histograms from the lists. Without a cluster, there are no counts
//! by node.

use std::collections::BTreeMap;

use super::ErrorCounts;
use crate::{
    endpoint::NodeNumber,
    stats::{Latency, Recorder},
};

/// The counts for each node of a cluster.
#[derive(Debug, Default)]
pub struct ByNode {
    /// The answers, in the order of their arrival.
    answers: Vec<NodeAnswers>,
    /// The other counts, indexed by node number.
    others: Vec<OtherCounts>,
    /// The slots with the most requests, each with its number of requests.
    pub slots: Vec<(u16, u32)>,
}

/// The operations that one read from a node's socket completed without an error. Alternatively, a single operation with
/// an error.
#[derive(Debug, Clone, Copy)]
struct NodeAnswers {
    service_ns: u64,
    /// The number of operations without an error.
    ops: u32,
    node: NodeNumber,
    /// The index of the operation in the workload.
    op: u16,
}

#[derive(Debug, Default)]
struct OtherCounts {
    errors: ErrorCounts,
    bytes_in: u64,
    bytes_out: u64,
}

/// The counts of one node.
pub struct NodeCounts<'a> {
    /// The number of the node.
    pub node: u16,
    /// Failed operations, by kind of error. The node answered with an error, or the connection to the node was lost.
    pub errors: &'a ErrorCounts,
    /// Bytes read from the node.
    pub bytes_in: u64,
    /// Bytes written to the node.
    pub bytes_out: u64,
    /// Latencies from the write of an operation to the last byte of its last reply, for operations without an error.
    pub service: Latency,
    /// Answered operations, with or without an error, by the index of the operation in the workload.
    pub answered: BTreeMap<u16, u64>,
}

impl ByNode {
    /// Counts `n` operations without an error, with `service_ns` from the write to the reply. If `n` is 0,
    /// counts one operation with an error. `op` is the index of the operation in the workload.
    pub(super) fn answered(&mut self, node: NodeNumber, op: usize, n: u64, service_ns: u64) {
        self.answers.push(NodeAnswers { service_ns, ops: n as u32, node, op: op as u16 });
    }

    /// Counts bytes that were read.
    pub(super) fn read(&mut self, node: NodeNumber, bytes: u64) {
        self.other(node).bytes_in += bytes;
    }

    /// Counts bytes that were written.
    pub(super) fn wrote(&mut self, node: NodeNumber, bytes: u64) {
        self.other(node).bytes_out += bytes;
    }

    /// Returns the errors of a node.
    pub(super) fn errors(&mut self, node: NodeNumber) -> &mut ErrorCounts {
        &mut self.other(node).errors
    }

    fn other(&mut self, node: NodeNumber) -> &mut OtherCounts {
        let place = node.index();
        if place >= self.others.len() {
            self.others.resize_with(place + 1, OtherCounts::default);
        }
        &mut self.others[place]
    }

    /// Returns the counts of each node with traffic, in the order of the node numbers.
    pub fn nodes(&self) -> impl Iterator<Item = NodeCounts<'_>> {
        let mut answers = self.answers.clone();
        answers.sort_unstable_by_key(|answer| answer.node);
        let mut recorder = (!answers.is_empty()).then(Recorder::new);
        let mut from = 0;
        (0..).zip(&self.others).filter_map(move |(node, others)| {
            let is_own = |answer: &&NodeAnswers| answer.node.index() == usize::from(node);
            let length = answers[from..].iter().take_while(is_own).count();
            let own = &answers[from..from + length];
            from += length;
            let mut answered = BTreeMap::new();
            own.iter().for_each(|it| *answered.entry(it.op).or_default() += u64::from(it.ops.max(1)));
            let service =
                recorder.as_mut().filter(|_| length > 0).map_or_else(Latency::default, |recorder| {
                    recorder.reset();
                    own.iter().for_each(|answer| recorder.record_n(answer.service_ns, answer.ops.into()));
                    recorder.latency()
                });
            let OtherCounts { errors, bytes_in, bytes_out } = others;
            let is_used = bytes_in + bytes_out > 0 || !errors.is_empty() || length > 0;
            is_used.then_some(NodeCounts {
                node,
                errors,
                bytes_in: *bytes_in,
                bytes_out: *bytes_out,
                service,
                answered,
            })
        })
    }

    /// Clears all counts and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.answers.clear();
        self.slots.clear();
        for others in &mut self.others {
            others.errors.clear();
            (others.bytes_in, others.bytes_out) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::{Address, Topology};

    fn counts(by_node: &ByNode) -> Vec<(u16, u64, u64, u64, bool)> {
        let counts = |node: NodeCounts| {
            assert_eq!(node.answered.values().sum::<u64>() - node.service.count(), u64::from(node.node == 2));
            (node.node, node.service.count(), node.bytes_in, node.bytes_out, node.errors.is_empty())
        };
        by_node.nodes().map(counts).collect()
    }

    #[test]
    fn each_node_has_its_own_counts_and_a_cleared_buffer_has_none() {
        let mut by_node = ByNode::default();
        let mut topology = Topology::default();
        let numbers =
            (1..9).map(|port| topology.find_or_add(&Address::Tcp { host: "h".to_owned(), port }).unwrap());
        let numbers: Vec<NodeNumber> = numbers.collect();
        let [a, b, c] = [0, 7, 2].map(|place| numbers[place]);
        for (node, n, ns) in [(b, 3, 1000), (a, 1, 50), (b, 2, 9000)] {
            by_node.wrote(node, 10);
            by_node.read(node, 5);
            by_node.answered(node, 4, n, ns);
        }
        by_node.errors(c).count_line(b"OOM x");
        by_node.answered(c, 4, 0, 70);
        assert_eq!(counts(&by_node), [(0, 1, 5, 10, true), (2, 0, 0, 0, false), (7, 5, 10, 20, true)]);
        let of_b = by_node.nodes().last().unwrap().service;
        assert_eq!((of_b.min_ns(), of_b.max_ns()), (1000, 9000));
        by_node.clear();
        assert_eq!(counts(&by_node), []);
    }
}
