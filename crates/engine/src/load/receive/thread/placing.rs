//! Decides where the connections of receivers go: to the server, or to the nodes of a cluster that own the receivers'
//! channels.
//!
//! ```text
//!  receiver 1: channels a b c ──► lane of node 0: a c     sunsubscribe, MOVED ──► the next topology ──► another lane
//!                             └─► lane of node 2: b
//! ```

use std::{io, sync::Arc};

use mio::Token;

use super::{Channel, MessageReceiver, NodeNumber, ReceiverConnection, ReceiverThread};
use crate::{
    endpoint::{Endpoint, Tls},
    load::clients::MAX_OPENING,
    protocol::key_slot,
    workload::ReceiverKind,
};

impl ReceiverThread {
    /// Returns the node of a cluster that delivers the messages of a channel to a receiver, or `None` if the channel's
    /// slot has no owner.
    fn node(&self, number: usize, channel: usize) -> Option<NodeNumber> {
        let (spread, messages) = (self.spread.as_ref()?, self.order.messages.as_ref()?);
        match messages.kind {
            // Each node delivers the messages of the whole cluster.
            ReceiverKind::Pubsub => spread.own_node(number.wrapping_add(self.endpoint)),
            _ => spread.cluster.topology().owner(key_slot(&messages.names[channel])),
        }
    }

    /// Returns the number of the lane (one of the receiver's connections) for the messages of a channel. In a
    /// cluster, a receiver has one lane for each node that serves some of its sharded channels. Each queue,
    /// stream or key has its own lane, because the keys of one command must be in the same slot. Returns
    /// `None` if the channel's slot has no owner.
    fn lane(&self, number: usize, channel: usize) -> Option<usize> {
        let kind = self.order.messages.as_ref().map(|messages| messages.kind);
        match (&self.spread, kind) {
            (None, _) | (_, None | Some(ReceiverKind::Pubsub)) => Some(0),
            (_, Some(ReceiverKind::ShardedPubsub)) => self.node(number, channel).map(NodeNumber::index),
            _ => Some(channel),
        }
    }

    /// Adds a channel to the receiver's lane (connection) that leads to the channel's node. Creates the lane if it is
    /// missing.
    pub(super) fn place(&mut self, number: usize, channel: Channel, now_ns: u64) {
        let Some(messages) = self.order.messages.clone() else { return };
        let i = self.lane(number, channel.index).unwrap_or(0) * self.order.receivers + number;
        let receiver = self.receivers.entry(i).or_insert_with(|| {
            self.to_open.insert((now_ns, i));
            MessageReceiver { opens_at_ns: now_ns, ..MessageReceiver::default() }
        });
        receiver.dialog.number = number;
        if let Some(line) = &mut receiver.line {
            line.subscribe(&messages, channel.index);
            self.unread.push(i);
        }
        receiver.dialog.add(channel);
    }

    /// Requests the topology again, because a node has refused a channel.
    pub(super) fn await_topology(&mut self) {
        if let Some(spread) = &self.spread {
            self.outdated.get_or_insert_with(|| Arc::clone(&spread.cluster.topology()));
            spread.cluster.mark_stale();
        }
    }

    /// If the topology has changed, connects each channel that its node has refused to the channel's new node.
    pub(super) fn follow_topology(&mut self, now_ns: u64) {
        let (Some(spread), Some(outdated)) = (&self.spread, &self.outdated) else { return };
        if Arc::ptr_eq(&spread.cluster.topology(), outdated) {
            return;
        }
        self.outdated = None;
        let is_sharded =
            self.order.messages.as_ref().is_some_and(|messages| messages.kind == ReceiverKind::ShardedPubsub);
        let moved = self.receivers.iter().filter(|(_, receiver)| receiver.dialog.is_moved);
        for i in moved.map(|(i, _)| *i).collect::<Vec<_>>() {
            if is_sharded {
                self.replace(i, now_ns);
            } else if let Some(receiver) = self.receivers.get_mut(&i) {
                // The refused command ends the conversation, and the only channel of this lane stays here.
                receiver.line = None;
                receiver.dialog.disconnect();
                self.to_open.insert((now_ns, i));
            }
        }
    }

    /// If another node now serves channels of lane `i`, moves these channels to the lane of that node. If lane `i` is
    /// connected, only channels that its node has refused are moved. Removes lane `i` if it has no channel left.
    /// Returns whether lane `i` has channels left.
    fn replace(&mut self, i: usize, now_ns: u64) -> bool {
        let Some(mut receiver) = self.receivers.remove(&i) else { return false };
        let (number, is_open) = (receiver.dialog.number, receiver.line.is_some());
        let leaves = |channel, is_moved| {
            let lane = self.lane(number, channel).map(|lane| lane * self.order.receivers + number);
            lane.is_some_and(|lane| if is_open { is_moved } else { lane != i })
        };
        let gone = receiver.dialog.take_channels(leaves);
        let (has_gone, is_moved) = (!gone.is_empty(), receiver.dialog.is_moved);
        self.receivers.insert(i, receiver);
        gone.into_iter().for_each(|channel| self.place(number, channel, now_ns));
        let stays = self.receivers.get(&i).is_some_and(|it| it.dialog.own_channels().next().is_some());
        if !stays {
            self.receivers.remove(&i);
        }
        if is_moved {
            self.await_topology();
        }
        if has_gone {
            let awaited = self.receivers.values().filter(|receiver| !receiver.is_settled).count();
            self.setup.state.await_receivers(awaited);
        }
        stays
    }

    /// Opens the connections that are due.
    pub(super) fn connect(&mut self, now_ns: u64) {
        self.must_wait = false;
        let mut opening = None;
        loop {
            let next = self.to_open.first().copied().filter(|(at_ns, _)| *at_ns <= now_ns);
            let Some((at_ns, i)) = next else { return };
            let is_opening =
                |it: &&MessageReceiver| it.line.as_ref().is_some_and(ReceiverConnection::is_connecting);
            let opening = opening.get_or_insert_with(|| self.receivers.values().filter(is_opening).count());
            if *opening >= MAX_OPENING {
                self.must_wait = true;
                return;
            }
            if !self.replace(i, now_ns) {
                self.to_open.remove(&(at_ns, i));
                continue;
            }
            let opened = match self.door(i, now_ns) {
                Ok(None) => {
                    self.must_wait = true;
                    return;
                }
                Ok(Some((endpoint, tls))) => {
                    ReceiverConnection::open(&endpoint, tls.as_ref(), self.poll.registry(), Token(i))
                }
                Err(error) => Err(error),
            };
            self.to_open.remove(&(at_ns, i));
            match (opened, self.receivers.get_mut(&i)) {
                (Ok(line), Some(receiver)) => (receiver.line, *opening) = (Some(line), *opening + 1),
                (Err(error), _) => self.lose(i, &error.into(), now_ns),
                (Ok(_), None) => {}
            }
        }
    }

    /// Returns the address and the TLS configuration for lane `i`, or `None` while the host name is looked
    /// up.
    fn door(&mut self, i: usize, now_ns: u64) -> io::Result<Option<(Endpoint, Option<Tls>)>> {
        let Some(receiver) = self.receivers.get(&i) else { return Ok(None) };
        if self.spread.is_none() {
            let (found, tls) = (self.setup.endpoints.current(now_ns), &self.setup.plan.target.tls);
            return Ok(found.map(|found| (found[self.endpoint % found.len()].clone(), tls.clone())));
        }
        let channel = receiver.dialog.own_channels().next();
        let node = channel.and_then(|channel| self.node(receiver.dialog.number, channel));
        let no_owner =
            || io::Error::new(io::ErrorKind::NotFound, "no node owns the slot of the receiver's channel");
        if let Some(receiver) = self.receivers.get_mut(&i) {
            receiver.node = node;
        }
        let (Some(spread), Some(node)) = (&mut self.spread, node) else { return Err(no_owner()) };
        spread.door(node, self.endpoint, now_ns)
    }
}
