//! The messages that have not arrived when their receivers end. Either the server still stores these messages, or
//! they are lost. If receivers share the messages of a channel, another client may have taken some messages. redyno
//! therefore asks the server how many messages it stores.

use std::time::Instant;

use super::{dialog::GROUP, numbers::MessageNumbers};
use crate::{
    endpoint::Talk,
    load::ReceivedCounts,
    protocol::RespValue,
    workload::{Messages, ReceiverKind},
};

/// How many messages have not arrived when their receivers end.
#[derive(Debug, Default)]
pub(super) struct MissingMessages {
    pub(super) lost: u64,
    /// Messages that the server still stores.
    pub(super) left: u64,
}

impl MissingMessages {
    /// Ends a channel, and adds the number of its missing messages. The server stores this many messages of the
    /// channel. `None` means that the number is unknown.
    pub(super) fn add(
        &mut self,
        numbers: &mut MessageNumbers,
        messages: &Messages,
        (channel, first): (usize, u64),
        stored: Option<u64>,
    ) {
        // A receiver that was never on the channel has received no message.
        numbers.begin(first);
        let (gaps, rest) = (numbers.end(0), numbers.end(messages.issued(channel)));
        // If the last messages are missing, the gaps before them are messages of other senders. The server
        // still stores the messages of these gaps, too.
        let may_be_left = if messages.kind.is_kept() && rest > 0 { gaps + rest } else { 0 };
        let left = stored.map_or(may_be_left, |stored| stored.min(gaps + rest));
        self.left += left;
        self.lost += gaps + rest - left;
    }

    /// Adds the missing messages to the counts. While the load continues, missing messages count as unclear,
    /// because they might still arrive.
    pub(super) fn count(self, is_end: bool, counts: &mut ReceivedCounts) {
        let (lost, left, unclear) =
            if is_end { (self.lost, self.left, 0) } else { (0, 0, self.lost + self.left) };
        counts.lost += lost;
        counts.left += left;
        counts.unclear += unclear;
    }
}

/// Asks a server how many messages of a channel it stores. Returns `None` if the server refuses the command, or does
/// not answer before `deadline`.
pub(super) fn stored(talk: &mut Talk, messages: &Messages, channel: usize, deadline: Instant) -> Option<u64> {
    let name = &messages.names[channel];
    let mut ask =
        |words: &[&[u8]]| talk.reply(words, deadline.saturating_duration_since(Instant::now())).ok();
    let mut length = |name: &[u8]| RespValue::read(&ask(&[b"LLEN", name])?)?.number()?.try_into().ok();
    match messages.kind {
        ReceiverKind::Queue => length(name),
        ReceiverKind::Move => Some(length(name)? + length(&messages.moved_to[channel])?),
        ReceiverKind::Group => unread(&RespValue::read(&ask(&[b"XINFO", b"GROUPS", name])?)?),
        _ => None,
    }
}

/// Returns how many entries of a stream no receiver has read or acknowledged. The number comes from the reply to XINFO
/// GROUPS. Servers before Redis 7.0 do not report the unread entries.
fn unread(groups: &RespValue) -> Option<u64> {
    let is_own = |group: &&[RespValue]| field(group, b"name").and_then(RespValue::text) == Some(GROUP);
    let group = groups.list()?.iter().filter_map(RespValue::list).find(is_own)?;
    let [pending, lag] = [&b"pending"[..], b"lag"].map(|name| field(group, name)?.number());
    u64::try_from(pending? + lag?).ok()
}

/// Returns the value of a field in a list that alternates between names and values.
fn field<'a>(group: &'a [RespValue<'a>], name: &[u8]) -> Option<&'a RespValue<'a>> {
    let place = group.iter().step_by(2).position(|field| field.text() == Some(name))?;
    group.get(2 * place + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unread_entries_of_the_own_group_are_those_pending_and_those_behind() {
        let group = |name: &str, pending: u32, lag: &str| {
            let name = format!("$4\r\nname\r\n${}\r\n{name}\r\n", name.len());
            format!("*6\r\n{name}$7\r\npending\r\n:{pending}\r\n$3\r\nlag\r\n{lag}\r\n")
        };
        let of = |lag: &str| {
            let reply = format!("*2\r\n{}{}", group("other", 90, ":9"), group("redyno", 2, lag));
            unread(&RespValue::read(reply.as_bytes()).unwrap())
        };
        assert_eq!([of(":5"), of("$-1"), of(":-9")], [Some(7), None, None]);
    }
}
