//! The conversation of a receiver (such as a subscriber) with the server: the commands that it sends, and the
//! messages that arrive. This module uses no sockets and reads no clock.
//!
//! ```text
//!  pubsub     SUBSCRIBE c…  ◄── message, message, …
//!  queue      BLPOP q… 1    ◄── message     BLPOP q… 1    ◄── …
//!  group      XREADGROUP …  ◄── messages    XACK, XREADGROUP …      and XAUTOCLAIM once a second
//!  tracking   GET k…        ◄── invalidate  GET k         ◄── its value and the next invalidate
//!  keyspace   PSUBSCRIBE …  ◄── pmessage, pmessage, …
//! ```

mod channels;
mod requests;

use std::{collections::VecDeque, ops::Range};

use self::requests::{CLAIM_NS, append_command};
pub(super) use self::{channels::Channel, requests::subscribe};
use super::{
    earlier::EarlierSegments,
    numbers::{MessageNumbers, MessageStatus},
    words::Frame,
};
use crate::{
    load::{
        arrived::{ReceivedCounts, ReceiverCounts},
        broken::ConnectionFailure,
    },
    untrusted,
    workload::{Messages, ReceiverKind, Stamp},
};

/// The name of the consumer group in which receivers read a stream.
pub(super) const GROUP: &[u8] = b"redyno";
/// The text between the database number and the key in the channel name of a keyspace notification.
const NOTIFIED: &[u8] = b"__:";
/// A reply that a receiver waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PendingReply {
    /// A reply without content.
    Plain,
    /// The reply to XGROUP CREATE. The reply may be an error, because the consumer group may exist already.
    Group,
    /// Messages. After these messages, the receiver's next command waits for more messages.
    Read,
    /// Messages that are claimed because another receiver did not acknowledge them.
    Claim,
    /// The last entry of a stream. The channel of the stream has this index.
    Last(usize),
    /// The value of the key of this channel.
    Value(usize),
}

/// The state that all receivers share.
pub(super) struct MessageContext<'a> {
    pub(super) messages: &'a Messages,
    pub(super) now_ns: u64,
    /// For each channel, the sequence number of the first message that these receivers must get.
    pub(super) first: &'a [u64],
    /// The time when the current segment began, in ns.
    pub(super) since_ns: u64,
    /// The counts of the current segment.
    pub(super) current: &'a mut ReceivedCounts,
    /// The counts of earlier segments.
    pub(super) earlier: &'a mut EarlierSegments,
    /// The message numbers of each channel, if several receivers share the messages of a channel.
    pub(super) shared: &'a mut [MessageNumbers],
    /// The counts of the receiver.
    pub(super) own: &'a mut ReceiverCounts,
    /// Whether channels can move to other nodes.
    pub(super) in_cluster: bool,
}

impl MessageContext<'_> {
    /// Returns the counts of the segment in which a message with this send time was sent, and the receiver's counts.
    fn of(&mut self, sent_ns: u64) -> (&mut ReceivedCounts, &mut ReceiverCounts) {
        if sent_ns >= self.since_ns {
            return (self.current, self.own);
        }
        (self.earlier.of(sent_ns, self.messages.kind), self.own)
    }
}

/// The state of one receiver's conversation with a server.
#[derive(Debug, Default)]
pub(super) struct ReceiverDialog {
    /// The number of the receiver, from 0.
    pub(super) number: usize,
    /// The channels, in the order of their indexes.
    channels: Vec<Channel>,
    awaited: VecDeque<PendingReply>,
    subscribed: usize,
    claims_at_ns: u64,
    /// The messages of the last reply that the receiver must acknowledge or remove. Each entry is a channel and the
    /// id of a message.
    found: Vec<(usize, Vec<u8>)>,
    /// Whether the server has answered the first commands, so that messages can arrive.
    pub(super) is_ready: bool,
    /// Whether the node of a cluster no longer serves one of the channels.
    pub(super) is_moved: bool,
}

impl ReceiverDialog {
    /// Handles a frame with these words. Appends the receiver's next commands to `out`.
    ///
    /// # Errors
    /// Fails if the server refuses a command that the receiver needs, or if the frame belongs to no command.
    pub(super) fn handle_frame(
        &mut self,
        (frame, bytes, words): (Frame, &[u8], &[Range<usize>]),
        desk: &mut MessageContext,
        out: &mut Vec<u8>,
    ) -> Result<(), ConnectionFailure> {
        let word = |place: usize| words.get(place).map_or(&b""[..], |range| &bytes[range.clone()]);
        let is_group = self.awaited.front() == Some(&PendingReply::Group);
        if frame.is_error && desk.in_cluster && self.is_redirected(word(0), desk.messages) {
            return Ok(());
        }
        if frame.is_error && !(is_group && word(0).starts_with(b"BUSYGROUP")) {
            return Err(ConnectionFailure::Refused(untrusted::bytes(word(0))));
        }
        if self.handle_message((frame, bytes, words), desk, out) {
            return Ok(());
        }
        let awaited = self.awaited.pop_front().ok_or(ConnectionFailure::UnexpectedReply)?;
        match awaited {
            PendingReply::Plain | PendingReply::Group => {}
            PendingReply::Value(channel) => {
                let stamp = desk.messages.stamp(word(0)).filter(|stamp| stamp.is_own);
                let number = stamp.map_or(0, |stamp| stamp.number + 1);
                if let Some(place) = self.place(channel) {
                    self.channels[place].next_write = number;
                }
            }
            PendingReply::Last(place) => {
                let id = if words.is_empty() { b"0" } else { word(0) };
                let channel = &mut self.channels[place];
                channel.last_id = id.to_vec();
                channel.numbers.begin(desk.messages.issued(channel.index));
                if self.awaited.is_empty() {
                    self.read(desk.messages, desk.now_ns, out);
                }
            }
            PendingReply::Read | PendingReply::Claim => {
                let is_claim = awaited == PendingReply::Claim;
                for place in 0..words.len() {
                    // The id of an entry is two words before its value, with the field in between.
                    let id = place.checked_sub(2).map(|place| (word(place), is_claim));
                    self.receive(word(place), id, desk);
                }
                self.answer(desk.messages, out);
                if is_claim {
                    self.claims_at_ns = desk.now_ns + CLAIM_NS;
                }
                if !self.awaited.contains(&PendingReply::Claim) {
                    self.read(desk.messages, desk.now_ns, out);
                }
            }
        }
        // The replies to the first commands arrive before all others.
        self.note_ready(desk);
        Ok(())
    }

    /// Handles a frame that is a message or confirms a subscription, and returns true. Returns false for any other
    /// frame, because that frame is a reply to a command.
    fn handle_message(
        &mut self,
        (frame, bytes, words): (Frame, &[u8], &[Range<usize>]),
        desk: &mut MessageContext,
        out: &mut Vec<u8>,
    ) -> bool {
        let word = |place: usize| words.get(place).map_or(&b""[..], |range| &bytes[range.clone()]);
        match (desk.messages.kind, word(0)) {
            (ReceiverKind::Pubsub | ReceiverKind::ShardedPubsub, first) => match first {
                b"message" | b"smessage" => self.receive(word(2), None, desk),
                b"subscribe" | b"ssubscribe" => self.subscribed_to(word(1), desk.messages),
                b"sunsubscribe" if desk.in_cluster => self.withdraw(desk.messages, |name| name == word(1)),
                _ => {}
            },
            (ReceiverKind::Keyspace, b"psubscribe") => {
                // There are no notifications of earlier writes.
                self.channels.iter_mut().for_each(|it| it.next_write = desk.messages.issued(it.index));
                self.is_ready = true;
            }
            (ReceiverKind::Keyspace, _) => {
                let behind =
                    memchr::memmem::find(word(2), NOTIFIED).map(|at| &word(2)[at + NOTIFIED.len()..]);
                behind.into_iter().for_each(|name| self.invalidate(name, desk, out));
            }
            (ReceiverKind::Tracking | ReceiverKind::Broadcast, b"invalidate") if frame.is_push => {
                words[1..].iter().for_each(|range| self.invalidate(&bytes[range.clone()], desk, out));
            }
            _ => return frame.is_push,
        }
        true
    }

    /// Records that the receiver is ready as soon as the first commands are answered.
    fn note_ready(&mut self, desk: &mut MessageContext) {
        if !self.is_ready && matches!(self.awaited.front(), None | Some(PendingReply::Read)) {
            self.is_ready = true;
            // By now the server has noticed the end of earlier receivers, and sends nothing more to them.
            let (messages, shared) = (desk.messages, desk.shared.iter_mut().enumerate());
            shared.for_each(|(channel, numbers)| numbers.begin(messages.issued(channel)));
        }
    }

    /// Counts a text if it is a message. For a stream entry, `id` contains the entry's id, and whether the entry was
    /// claimed from another receiver.
    fn receive(&mut self, text: &[u8], id: Option<(&[u8], bool)>, desk: &mut MessageContext) {
        let Some(stamp) = desk.messages.stamp(text) else { return };
        let Stamp { number, sent_ns, channel, is_own } = stamp;
        let Some(place) = self.place(channel) else { return };
        if let Some((id, _)) = id {
            self.channels[place].last_id = id.to_vec();
        }
        if desk.messages.kind.is_shared() {
            self.found.push((channel, id.map_or_else(Vec::new, |(id, _)| id.to_vec())));
        }
        desk.current.foreign += u64::from(!is_own);
        if !is_own || number < desk.first[channel] {
            return;
        }
        let (taken, lost) = match desk.shared.get_mut(channel) {
            // Another receiver may be slow or gone, so missing messages are known only at the end.
            Some(numbers) => numbers.take(number, 0),
            None => self.channels[place].numbers.take(number, sent_ns),
        };
        let now_ns = desk.now_ns;
        let (counts, own) = desk.of(sent_ns);
        counts.lost += lost;
        own.lost += lost;
        if taken == MessageStatus::Duplicate {
            counts.doubled += 1;
            return;
        }
        let late = u64::from(taken == MessageStatus::Late);
        counts.late += late;
        own.late += late;
        counts.claimed += u64::from(id.is_some_and(|(_, is_claim)| is_claim));
        counts.count(now_ns.saturating_sub(sent_ns), own);
    }

    /// Appends the commands that acknowledge or remove received messages.
    fn answer(&mut self, messages: &Messages, out: &mut Vec<u8>) {
        let found = std::mem::take(&mut self.found);
        match messages.kind {
            ReceiverKind::Group => {
                for one in found.chunk_by(|one, other| one.0 == other.0) {
                    let ids: Vec<_> = one.iter().map(|(_, id)| id.as_slice()).collect();
                    append_command(out, &[b"XACK", &messages.names[one[0].0], GROUP], &ids);
                    self.awaited.push_back(PendingReply::Plain);
                }
            }
            ReceiverKind::Move => {
                for (channel, _) in &found {
                    append_command(out, &[b"LPOP", &messages.moved_to[*channel]], &[]);
                    self.awaited.push_back(PendingReply::Plain);
                }
            }
            _ => {}
        }
    }

    /// Counts the invalidation of a key, and reads the key again.
    fn invalidate(&mut self, name: &[u8], desk: &mut MessageContext, out: &mut Vec<u8>) {
        let Some(channel) = desk.messages.channel(name) else { return };
        let Some(place) = self.place(channel) else { return };
        let number = self.channels[place].next_write;
        let issued = desk.messages.issued(channel);
        let is_read = desk.messages.kind == ReceiverKind::Tracking;
        // If the receiver reads the key each time, the first write after the read caused the invalidation.
        // Without reads, the write is known only if there was a single write.
        let is_clear = is_read || issued == number + 1;
        match desk.messages.sent_ns(channel, number).filter(|_| is_clear) {
            Some(sent_ns) => {
                let now_ns = desk.now_ns;
                let (counts, own) = desk.of(sent_ns);
                counts.count(now_ns.saturating_sub(sent_ns), own);
            }
            None => desk.current.unclear += 1,
        }
        if is_read {
            append_command(out, &[b"GET", name], &[]);
            self.awaited.push_back(PendingReply::Value(channel));
        } else {
            self.channels[place].next_write = issued;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::words::frame, *};
    use crate::{
        clock::Clock,
        protocol::Dialect,
        workload::{KeyNames, Program, Settings, Values, WorkloadChoice},
    };

    const GROUPS: &str = r#"
keys.stream.count = 1
receivers = { kind = "group", keys = "stream", count = 1 }

[[operation]]
name = "add"
steps = ["XADD {stream} * m {stamp}{value}"]
"#;
    const MS: u64 = 1_000_000;

    /// Returns the names of the commands that a receiver of a group sends after each of these replies. Each reply comes
    /// with its arrival time in ms.
    fn sent(replies: &[(u64, &[u8])]) -> Vec<String> {
        let table = GROUPS.parse().unwrap();
        let choice = WorkloadChoice::of_table("m", &table, &Settings::default()).unwrap();
        let (workload, names) = (choice.workload, KeyNames::given("k:"));
        let program = Program::new(&workload, Dialect::Resp2, 9, Values::new(&workload, 4, 1), &names);
        let program = program.numbering(&workload, 9, &names, Clock::start());
        let messages = program.messages().unwrap();
        let mut dialog = ReceiverDialog {
            channels: Channel::of_receiver(0, 1, messages.kind, &[0]).collect(),
            ..ReceiverDialog::default()
        };
        let (mut current, mut own) = (ReceivedCounts::new(messages.kind), ReceiverCounts::default());
        let mut desk = MessageContext {
            messages,
            now_ns: 0,
            first: &[0],
            since_ns: 0,
            current: &mut current,
            earlier: &mut EarlierSegments::before(0),
            shared: &mut [MessageNumbers::default()],
            own: &mut own,
            in_cluster: false,
        };
        let mut words = Vec::new();
        dialog.begin(messages, 0, &mut Vec::new());
        let after = |(ms, reply): &(u64, &[u8])| {
            desk.now_ns = ms * MS;
            let (found, mut out) = (frame(reply, &mut words).unwrap().unwrap(), Vec::new());
            dialog.handle_frame((found, reply, &words), &mut desk, &mut out).unwrap();
            let lines = String::from_utf8(out).unwrap();
            lines.split("\r\n").filter(|line| line.starts_with('X')).collect::<Vec<_>>().join(" ")
        };
        replies.iter().map(after).collect()
    }

    #[test]
    fn a_group_reads_after_each_claim_even_if_the_claim_takes_longer_than_a_second() {
        let (nothing, claimed): (&[u8], &[u8]) = (b"*-1\r\n", b"*2\r\n$3\r\n0-0\r\n*0\r\n");
        let replies: [(u64, &[u8]); 6] = [
            (100, b"+OK\r\n"),
            (900, nothing),
            (1900, nothing),
            (4000, claimed),
            (4900, nothing),
            (5900, nothing),
        ];
        let commands = ["", "XREADGROUP", "XAUTOCLAIM", "XREADGROUP", "XREADGROUP", "XAUTOCLAIM"];
        assert_eq!(sent(&replies), commands);
    }
}
