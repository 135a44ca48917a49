//! The commands that a receiver sends: the first commands on a new connection, and the commands that wait for
//! messages, such as BLPOP.

use super::{GROUP, PendingReply, ReceiverDialog};
use crate::{
    protocol::Dialect,
    workload::{Messages, ReceiverKind},
};

/// How long BLPOP and BLMOVE wait for messages, in seconds.
const WAIT_S: &[u8] = b"1";
/// How long a blocking command waits for messages, in milliseconds.
const WAIT_MS: &[u8] = b"1000";
/// The largest number of stream entries in a reply.
const ENTRIES: &[u8] = b"100";
/// The pause between two claims of messages that other receivers did not acknowledge: 1 s. The pause begins with the
/// reply to the previous claim. A slow claim is therefore always followed by a command that reads.
pub(super) const CLAIM_NS: u64 = 1_000_000_000;
/// The largest number of names in a SUBSCRIBE.
const NAMES: usize = 500;

/// Returns the pattern of the channels of all keys that begin with `prefix`.
fn keyspace_pattern(prefix: &[u8]) -> Vec<u8> {
    // A prefix may contain special characters of glob patterns.
    let is_special = |byte: &u8| b"*?[]\\".contains(byte);
    let escape = |byte: &u8| [b'\\', *byte].into_iter().skip(usize::from(!is_special(byte)));
    let prefix: Vec<u8> = prefix.iter().flat_map(escape).collect();
    [b"__keyspace@*__:", &prefix[..], b"*"].concat()
}

impl ReceiverDialog {
    /// Begins the conversation on a new connection, and appends the first commands to `out`.
    pub(in crate::load::receive) fn begin(&mut self, messages: &Messages, now_ns: u64, out: &mut Vec<u8>) {
        let names: Vec<_> = self.own_channels().map(|channel| messages.names[channel].as_slice()).collect();
        match messages.kind {
            ReceiverKind::Pubsub | ReceiverKind::ShardedPubsub => {
                subscribe(messages.kind, &names, out);
            }
            ReceiverKind::Group => {
                for name in &names {
                    append_command(out, &[b"XGROUP", b"CREATE", name, GROUP, b"$", b"MKSTREAM"], &[]);
                    self.awaited.push_back(PendingReply::Group);
                }
                self.claims_at_ns = now_ns + CLAIM_NS;
                self.read(messages, now_ns, out);
            }
            ReceiverKind::Queue | ReceiverKind::Move => {
                // PING is answered at once, unlike the blocking command.
                append_command(out, &[b"PING"], &[]);
                self.awaited.push_back(PendingReply::Plain);
                self.read(messages, now_ns, out);
            }
            ReceiverKind::Stream => {
                for (place, name) in names.iter().enumerate() {
                    if self.channels[place].last_id.is_empty() {
                        append_command(out, &[b"XREVRANGE", name, b"+", b"-", b"COUNT", b"1"], &[]);
                        self.awaited.push_back(PendingReply::Last(place));
                    }
                }
                if self.awaited.is_empty() {
                    append_command(out, &[b"PING"], &[]);
                    self.awaited.push_back(PendingReply::Plain);
                    self.read(messages, now_ns, out);
                }
            }
            ReceiverKind::Tracking => {
                append_command(out, &[b"CLIENT", b"TRACKING", b"ON"], &[]);
                self.awaited.push_back(PendingReply::Plain);
                for (channel, name) in self.channels.iter().zip(&names) {
                    append_command(out, &[b"GET", name], &[]);
                    self.awaited.push_back(PendingReply::Value(channel.index));
                }
            }
            ReceiverKind::Broadcast => {
                // Writes before this connection cause no invalidations.
                self.channels.iter_mut().for_each(|it| it.next_write = messages.issued(it.index));
                append_command(
                    out,
                    &[b"CLIENT", b"TRACKING", b"ON", b"BCAST", b"PREFIX", &messages.prefix],
                    &[],
                );
                self.awaited.push_back(PendingReply::Plain);
            }
            ReceiverKind::Keyspace => {
                append_command(out, &[b"PSUBSCRIBE", &keyspace_pattern(&messages.prefix)], &[]);
            }
        }
    }

    /// Appends the command that waits for messages.
    pub(super) fn read(&mut self, messages: &Messages, now_ns: u64, out: &mut Vec<u8>) {
        let names: Vec<_> = self.own_channels().map(|channel| messages.names[channel].as_slice()).collect();
        let consumer = format!("receiver{}", self.number + 1);
        let consumer = consumer.as_bytes();
        match messages.kind {
            ReceiverKind::Queue => {
                append_command(out, &[b"BLPOP"], &[&names[..], &[WAIT_S]].concat());
            }
            ReceiverKind::Move => {
                let to = &messages.moved_to[self.channels[0].index];
                append_command(out, &[b"BLMOVE", names[0], to, b"LEFT", b"RIGHT", WAIT_S], &[]);
            }
            ReceiverKind::Stream => {
                let ids = self.channels.iter().map(|channel| channel.last_id.as_slice());
                let all: Vec<_> = names.iter().copied().chain(ids).collect();
                append_command(out, &[b"XREAD", b"COUNT", ENTRIES, b"BLOCK", WAIT_MS, b"STREAMS"], &all);
            }
            ReceiverKind::Group => {
                if now_ns >= self.claims_at_ns {
                    for name in &names {
                        append_command(
                            out,
                            &[b"XAUTOCLAIM", name, GROUP, consumer, WAIT_MS, b"0", b"COUNT", ENTRIES],
                            &[],
                        );
                        self.awaited.push_back(PendingReply::Claim);
                    }
                    // Claimed messages are acknowledged before the next blocking command, which delays later commands.
                    return;
                }
                let all = [&names[..], &vec![b">".as_slice(); names.len()]].concat();
                let words: [&[u8]; 9] = [
                    b"XREADGROUP",
                    b"GROUP",
                    GROUP,
                    consumer,
                    b"COUNT",
                    ENTRIES,
                    b"BLOCK",
                    WAIT_MS,
                    b"STREAMS",
                ];
                append_command(out, &words, &all);
            }
            ReceiverKind::Pubsub
            | ReceiverKind::ShardedPubsub
            | ReceiverKind::Tracking
            | ReceiverKind::Broadcast
            | ReceiverKind::Keyspace => return,
        }
        self.awaited.push_back(PendingReply::Read);
    }
}

/// Appends the commands that subscribe to the channels with these names.
pub(in crate::load::receive) fn subscribe(kind: ReceiverKind, names: &[&[u8]], out: &mut Vec<u8>) {
    let command: &[u8] = if kind == ReceiverKind::Pubsub { b"SUBSCRIBE" } else { b"SSUBSCRIBE" };
    // All sharded channels in one command must be in the same slot of a cluster.
    let at_once = if kind == ReceiverKind::Pubsub { NAMES } else { 1 };
    names.chunks(at_once).for_each(|names| append_command(out, &[command], names));
}

/// Appends a command with these words to `out`.
pub(super) fn append_command(out: &mut Vec<u8>, words: &[&[u8]], more: &[&[u8]]) {
    out.extend(Dialect::Resp2.encode(&[words, more].concat()));
}
