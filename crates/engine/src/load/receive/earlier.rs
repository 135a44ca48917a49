//! Counts the messages that were sent before a change of the settings and arrived after this change.

use std::collections::BTreeMap;

use crate::{load::arrived::ReceivedCounts, workload::ReceiverKind};

/// The counts of messages for each earlier segment. A message belongs to the segment of its send time.
pub(super) struct EarlierSegments {
    /// The number of each segment that is over, and the time when the segment began, in ns.
    begun: Vec<(u32, u64)>,
    counts: BTreeMap<u32, Box<ReceivedCounts>>,
}

impl EarlierSegments {
    /// Creates the state for a load in which `segment` is current.
    pub(super) fn before(segment: u32) -> Self {
        Self { begun: vec![(segment.saturating_sub(1), 0)], counts: BTreeMap::new() }
    }

    /// Records that `segment`, which began at `since_ns`, is over.
    pub(super) fn end(&mut self, segment: u32, since_ns: u64) {
        self.begun.push((segment, since_ns));
    }

    /// Returns the counts of the segment in which a message with this send time was sent.
    pub(super) fn of(&mut self, sent_ns: u64, kind: ReceiverKind) -> &mut ReceivedCounts {
        let last = self.begun.iter().rev().find(|(_, since_ns)| *since_ns <= sent_ns);
        let segment = last.map_or(0, |(segment, _)| *segment);
        self.counts.entry(segment).or_insert_with(|| Box::new(ReceivedCounts::new(kind)))
    }

    /// Takes the counts, by the number of the segment.
    pub(super) fn take(&mut self) -> BTreeMap<u32, Box<ReceivedCounts>> {
        std::mem::take(&mut self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_belongs_to_its_segment_even_after_several_changes() {
        let mut earlier = EarlierSegments::before(4);
        earlier.end(4, 100);
        earlier.end(5, 200);
        for sent_ns in [99, 100, 199, 200, 250] {
            earlier.of(sent_ns, ReceiverKind::Pubsub).late += 1;
        }
        let late = |(segment, counts): (u32, Box<ReceivedCounts>)| (segment, counts.late);
        assert_eq!(earlier.take().into_iter().map(late).collect::<Vec<_>>(), [(3, 1), (4, 2), (5, 2)]);
        assert!(earlier.take().is_empty());
    }
}
