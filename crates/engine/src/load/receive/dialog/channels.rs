//! The channels to which a receiver subscribes, and how they move to another node of a cluster.

use super::ReceiverDialog;
use crate::{
    load::receive::{missing::MissingMessages, numbers::MessageNumbers},
    protocol::{error_code, key_slot, whole_number},
    workload::{Messages, ReceiverKind},
};

/// Whether the server delivers the messages of a channel.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subscription {
    /// The receiver has sent the command that asks for the messages.
    #[default]
    Requested,
    /// The server has confirmed the subscription.
    Confirmed,
    /// The node no longer serves the channel.
    Moved,
}

/// The state of one channel of a receiver.
#[derive(Debug, Default, Clone)]
pub(in crate::load::receive) struct Channel {
    /// The index of the channel among all channels.
    pub(in crate::load::receive) index: usize,
    pub(super) subscription: Subscription,
    pub(super) numbers: MessageNumbers,
    /// The id of the last entry of the stream. The id is empty until it is known.
    pub(super) last_id: Vec<u8>,
    /// The number of the next write of the key.
    pub(super) next_write: u64,
}

impl Channel {
    /// Creates the channels of receiver `number` of `receivers`. `first_of` contains, for each channel, the number of
    /// the first message for which the receivers wait.
    pub(in crate::load::receive) fn of_receiver(
        number: usize,
        receivers: usize,
        kind: ReceiverKind,
        first_of: &[u64],
    ) -> impl Iterator<Item = Self> {
        let all = first_of.len();
        let (first, step) = match kind {
            ReceiverKind::Broadcast | ReceiverKind::Keyspace => (0, 1),
            _ => (number % all, receivers.min(all)),
        };
        first_of.iter().enumerate().skip(first).step_by(step).map(move |(index, next_write)| {
            let mut channel = Self { index, next_write: *next_write, ..Self::default() };
            // The load waits for its first receivers. Later receivers count messages once they are on the channel.
            if *next_write == 0 && kind.has_own_copy() {
                channel.numbers.begin(0);
            }
            channel
        })
    }
}

impl ReceiverDialog {
    /// Returns the indexes of the receiver's channels.
    pub(in crate::load::receive) fn own_channels(&self) -> impl Iterator<Item = usize> {
        self.channels.iter().map(|channel| channel.index)
    }

    pub(super) fn place(&self, channel: usize) -> Option<usize> {
        self.channels.binary_search_by_key(&channel, |channel| channel.index).ok()
    }

    /// Adds a channel to the conversation.
    pub(in crate::load::receive) fn add(&mut self, channel: Channel) {
        let place = self.channels.partition_point(|known| known.index < channel.index);
        self.channels.insert(place, Channel { subscription: Subscription::Requested, ..channel });
    }

    /// Removes and returns the channels for which `leaves` returns true, because another node serves them now. The
    /// arguments of `leaves` are the index of a channel, and whether this node has refused the channel.
    pub(in crate::load::receive) fn take_channels(
        &mut self,
        leaves: impl Fn(usize, bool) -> bool,
    ) -> Vec<Channel> {
        let is_moved = |it: &Channel| it.subscription == Subscription::Moved;
        let gone = self.channels.extract_if(.., |it| leaves(it.index, is_moved(it))).collect();
        self.is_moved = self.channels.iter().any(is_moved);
        self.note_subscribed();
        gone
    }

    /// Notes that the connection is lost. Returns whether the receiver was ready.
    pub(in crate::load::receive) fn disconnect(&mut self) -> bool {
        self.awaited.clear();
        self.subscribed = 0;
        self.is_moved = false;
        self.channels.iter_mut().for_each(|channel| channel.subscription = Subscription::Requested);
        std::mem::take(&mut self.is_ready)
    }

    /// Notes that the server has confirmed the subscription to the channel with this name.
    pub(super) fn subscribed_to(&mut self, name: &[u8], messages: &Messages) {
        let Some(place) = messages.channel(name).and_then(|channel| self.place(channel)) else { return };
        let channel = &mut self.channels[place];
        channel.numbers.begin(messages.issued(channel.index));
        let before = std::mem::replace(&mut channel.subscription, Subscription::Confirmed);
        self.subscribed += usize::from(before != Subscription::Confirmed);
        self.note_subscribed();
    }

    fn note_subscribed(&mut self) {
        self.is_ready = self.subscribed > 0 && self.subscribed == self.channels.len();
    }

    /// Notes that this node no longer serves some channels. `is_gone` selects these channels by name.
    pub(super) fn withdraw(&mut self, messages: &Messages, is_gone: impl Fn(&[u8]) -> bool) {
        for channel in self.channels.iter_mut().filter(|it| is_gone(&messages.names[it.index])) {
            let before = std::mem::replace(&mut channel.subscription, Subscription::Moved);
            self.subscribed -= usize::from(before == Subscription::Confirmed);
            (self.is_moved, self.is_ready) = (true, false);
        }
    }

    /// Handles an error line that redirects a command to another node, such as `MOVED 3999 10.0.0.7:6379`. The
    /// address in the line is not used, because the next topology shows the owner of the slot. Returns whether the
    /// line is a redirect.
    pub(super) fn is_redirected(&mut self, line: &[u8], messages: &Messages) -> bool {
        let slot = line.split(|byte| *byte == b' ').nth(1).and_then(whole_number);
        let is_redirect = matches!(error_code(line), "MOVED" | "ASK");
        let Some(slot) = slot.filter(|_| is_redirect) else { return false };
        self.withdraw(messages, |name| u64::from(key_slot(name)) == slot);
        true
    }

    /// Returns whether messages are missing that may still arrive.
    pub(in crate::load::receive) fn awaits_messages(&self, messages: &Messages) -> bool {
        self.channels.iter().any(|it| it.numbers.are_missing(messages.issued(it.index)))
    }

    /// Ends the receiver's channels, and adds their missing messages.
    pub(in crate::load::receive) fn end(
        &mut self,
        messages: &Messages,
        first_of: &[u64],
        missing: &mut MissingMessages,
    ) {
        let mine = self.channels.iter_mut().filter(|_| messages.kind.has_own_copy());
        mine.for_each(|it| missing.add(&mut it.numbers, messages, (it.index, first_of[it.index]), None));
    }
}
