//! Detects lost, duplicate and late messages of a channel by their numbers. This module does no I/O and reads no
//! clock.
//!
//! ```text
//!  received  7 8 9 . . 12 13 …      10 and 11 are missing: lost when a message sent 1 s after 12 has arrived
//! ```
//! Messages of several senders may arrive out of order, so a gap in the numbers does not count as a loss at once.
//! redyno compares send times, not receipt times, so a pause of the server does not look like a loss.

use std::collections::BTreeMap;

/// How long a gap in the numbers may last before it is a loss: 1 s. The gap begins at the send time of the message
/// after the gap, and lasts until the send time of the newest message.
const GRACE_NS: u64 = 1_000_000_000;
/// The largest number of open gaps. If there are more gaps, the oldest gap counts as a loss.
const MOST_GAPS: usize = 10_000;
/// The number of ranges of lost messages that are stored to distinguish late messages from duplicates.
const REMEMBERED: usize = 100;

/// The kind of a message, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageStatus {
    /// The message arrives for the first time.
    New,
    /// The message was counted as lost before.
    Late,
    /// The message has already arrived before.
    Duplicate,
}

/// Ranges of message numbers. The key is the first number of a range. The value contains the number after the range,
/// and the send time of the message with that number.
type NumberRanges = BTreeMap<u64, (u64, u64)>;

/// The numbers of the messages that a receiver got on one channel.
#[derive(Debug, Default, Clone)]
pub(super) struct MessageNumbers {
    /// The first expected number, or `None` before the receiver waits on the channel.
    first: Option<u64>,
    /// The number after the highest number so far.
    next: u64,
    /// Missing numbers that may still arrive.
    open: NumberRanges,
    lost: NumberRanges,
}

impl MessageNumbers {
    /// Expects the message number `first` and all later messages. Further calls have no effect.
    pub(super) fn begin(&mut self, first: u64) {
        if self.first.is_none() {
            (self.first, self.next) = (Some(first), first);
        }
    }

    /// Takes the message with this number and send time. Returns the kind of the message, and the number of messages
    /// that are now known to be lost.
    pub(super) fn take(&mut self, number: u64, sent_ns: u64) -> (MessageStatus, u64) {
        if number >= self.next {
            if number > self.next {
                self.open.insert(self.next, (number, sent_ns));
            }
            self.next = number + 1;
        } else if number >= self.first.unwrap_or(0) && !take_out(&mut self.open, number) {
            let is_late = take_out(&mut self.lost, number);
            return (if is_late { MessageStatus::Late } else { MessageStatus::Duplicate }, 0);
        }
        let is_over = |open: &NumberRanges| {
            open.len() > MOST_GAPS
                || open.values().next().is_some_and(|(_, ns)| sent_ns.saturating_sub(*ns) > GRACE_NS)
        };
        let mut lost = 0;
        while is_over(&self.open) {
            lost += self.lose();
        }
        (MessageStatus::New, lost)
    }

    /// Ends the channel after `issued` messages. Returns how many lost messages were not counted before.
    pub(super) fn end(&mut self, issued: u64) -> u64 {
        if self.first.is_none() {
            return 0;
        }
        let rest = issued.saturating_sub(self.next);
        self.next = self.next.max(issued);
        let open = (0..self.open.len()).map(|_| self.lose()).sum::<u64>();
        open + rest
    }

    /// Returns whether any of the `issued` messages are missing.
    pub(super) fn are_missing(&self, issued: u64) -> bool {
        self.first.is_some() && (self.next < issued || !self.open.is_empty())
    }

    /// Counts the oldest gap as lost. Returns the number of messages in the gap.
    fn lose(&mut self) -> u64 {
        let Some((first, gap)) = self.open.pop_first() else { return 0 };
        self.lost.insert(first, gap);
        if self.lost.len() > REMEMBERED {
            self.lost.pop_first();
        }
        gap.0 - first
    }
}

/// Removes a number from the range that contains it. Returns whether a range contained the number.
fn take_out(all: &mut NumberRanges, number: u64) -> bool {
    let found = all.range_mut(..=number).next_back().filter(|(_, (end, _))| *end > number);
    let Some((first, stretch)) = found else { return false };
    let (first, (end, since_ns)) = (*first, *stretch);
    stretch.0 = number;
    if first == number {
        all.remove(&first);
    }
    if end > number + 1 {
        all.insert(number + 1, (end, since_ns));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn begun(first: u64) -> MessageNumbers {
        let mut numbers = MessageNumbers::default();
        numbers.begin(first);
        numbers
    }

    #[test]
    fn a_gap_is_a_loss_when_much_later_messages_have_arrived() {
        let mut numbers = begun(7);
        for number in [7, 8, 12, 13] {
            assert_eq!(numbers.take(number, S), (MessageStatus::New, 0));
        }
        assert_eq!(numbers.take(14, 2 * S), (MessageStatus::New, 0));
        assert_eq!(numbers.take(15, 2 * S + 1), (MessageStatus::New, 3));
        assert_eq!(numbers.take(17, 9 * S), (MessageStatus::New, 0));
        assert_eq!((numbers.are_missing(18), numbers.end(20)), (true, 3));
        assert_eq!((numbers.are_missing(20), numbers.end(20)), (false, 0));
    }

    #[test]
    fn with_too_many_gaps_the_oldest_gap_is_a_loss_at_once() {
        let mut numbers = begun(0);
        let gaps = MOST_GAPS as u64;
        let lost: Vec<_> =
            (1..=gaps + 2).map(|gap| numbers.take(2 * gap - 1, 0)).filter(|it| it.1 > 0).collect();
        assert_eq!(lost, [(MessageStatus::New, 1); 2]);
        assert_eq!(
            (numbers.take(0, 0), numbers.take(4, 0)),
            ((MessageStatus::Late, 0), (MessageStatus::New, 0))
        );
        assert_eq!(numbers.end(2 * gaps + 4), gaps - 1);
    }

    #[test]
    fn messages_in_another_order_are_no_loss() {
        let mut numbers = begun(0);
        for number in [3, 1, 0, 2, 5, 4] {
            assert_eq!(numbers.take(number, S), (MessageStatus::New, 0), "{number}");
        }
        assert_eq!((numbers.take(6, 9 * S), numbers.end(7)), ((MessageStatus::New, 0), 0));
    }

    #[test]
    fn duplicate_and_late_messages_are_distinguished() {
        let mut numbers = begun(0);
        assert_eq!(numbers.take(0, S), (MessageStatus::New, 0));
        assert_eq!(numbers.take(0, S), (MessageStatus::Duplicate, 0));
        assert_eq!(numbers.take(4, S), (MessageStatus::New, 0));
        assert_eq!(numbers.take(5, 3 * S), (MessageStatus::New, 3));
        assert_eq!(numbers.take(2, S), (MessageStatus::Late, 0));
        assert_eq!(numbers.take(2, S), (MessageStatus::Duplicate, 0));
        assert_eq!(
            (numbers.take(1, S), numbers.take(3, S)),
            ((MessageStatus::Late, 0), (MessageStatus::Late, 0))
        );
        assert_eq!(numbers.end(6), 0);
    }

    #[test]
    fn messages_before_a_receiver_joins_are_not_lost() {
        let mut numbers = MessageNumbers::default();
        assert_eq!((numbers.end(5), numbers.are_missing(5)), (0, false));
        numbers.begin(5);
        numbers.begin(9);
        assert_eq!(numbers.take(4, S), (MessageStatus::New, 0));
        assert_eq!((numbers.take(5, S), numbers.end(7)), ((MessageStatus::New, 0), 1));
    }
}
