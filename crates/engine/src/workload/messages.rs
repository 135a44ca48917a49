//! The stamps in the messages that a load sends to subscribers and other receivers. A receiver computes the delivery
//! time and finds lost messages from the stamp.
//!
//! ```text
//!  (mark of the load in the upper bits, number of the message).(time of sending in ns).(number of the channel);
//!  "8162774324609065.8812345678.3;…"
//! ```
//! The stamp contains the time just before the client writes the message. If the client sends late, the delay is
//! therefore part of the operation's response time and not of the delivery time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::{KeyForm, KeyNames, Keyset, ReceiverKind, Receivers, Workload};
use crate::{clock::Clock, protocol::whole_number};

/// The number of send times that redyno stores for each key, if receivers get only the key.
const RECENT: u64 = 4;
/// The number of bits that count the messages in a stamp's first number. The upper bits of this number are the mark,
/// which identifies the session.
const NUMBER_BITS: u32 = 44;

/// The messages that were sent to each channel. The threads of the load send the messages, and the thread of
/// the receivers reads them.
#[derive(Debug)]
pub struct Messages {
    /// The kind of the receivers.
    pub(crate) kind: ReceiverKind,
    clock: Clock,
    /// The number in the name of the first channel.
    first: u64,
    /// A random number in the upper bits of each stamp's first number. The mark distinguishes these messages from
    /// messages of other sessions.
    mark: u64,
    /// The names of the channels, queues, streams or keys.
    pub(crate) names: Vec<Vec<u8>>,
    /// The names of the second queues.
    pub(crate) moved_to: Vec<Vec<u8>>,
    /// The prefix of all names.
    pub(crate) prefix: Vec<u8>,
    form: KeyForm,
    /// Whether receivers have ever waited for these messages.
    is_received: AtomicBool,
    issued: Box<[AtomicU64]>,
    /// The times of the last messages of each key, if receivers get only the key.
    times_ns: Box<[AtomicU64]>,
}

/// The stamp of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// The number of the message on its channel, from 0.
    pub(crate) number: u64,
    /// The time of sending in nanoseconds.
    pub(crate) sent_ns: u64,
    /// The index of the channel among all channels.
    pub(crate) channel: usize,
    /// Whether the stamp has the mark of these messages.
    pub(crate) is_own: bool,
}

impl Messages {
    /// Creates the messages of a workload, before any message is sent. Returns `None` if the workload has no receivers.
    pub(super) fn of(workload: &Workload, keyspace: u64, names: &KeyNames, clock: Clock) -> Option<Self> {
        let Receivers { kind, keys, .. } = workload.receivers.as_ref()?;
        let keys = workload.keys.get(keys)?;
        let named = |keys: &Keyset| {
            let prefix = [names.prefix(), &keys.prefix].concat();
            let name = |number| (prefix.clone() + &keys.form().write(number)).into_bytes();
            keys.numbers(keyspace).map(name).collect::<Vec<_>>()
        };
        let zeros = |n: usize| (0..n).map(|_| AtomicU64::new(0)).collect();
        let all = named(keys);
        Some(Self {
            kind: *kind,
            clock,
            first: keys.first,
            mark: rand::random_range(1..1 << (64 - NUMBER_BITS)),
            form: keys.form(),
            is_received: AtomicBool::new(false),
            issued: zeros(all.len()),
            times_ns: zeros(if kind.is_of_keys() { all.len() * RECENT as usize } else { 0 }),
            names: all,
            moved_to: workload.second_queues().map(named).unwrap_or_default(),
            prefix: [names.prefix(), &keys.prefix].concat().into_bytes(),
        })
    }

    /// Returns whether `other` has the same channels and the same kind of receivers as these messages.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.kind, &self.names, &self.moved_to) == (other.kind, &other.names, &other.moved_to)
    }

    /// Counts a message on a channel. Returns the two numbers of the message's stamp. The first is the number of the
    /// message, with the mark in the upper bits. The second is the time of sending.
    pub(super) fn issue(&self, key: u64) -> (u64, u64) {
        let (channel, now_ns) = ((key - self.first) as usize, self.clock.now_ns());
        let Some(issued) = self.issued.get(channel) else { return (0, 0) };
        let number = issued.fetch_add(1, Relaxed);
        if let Some(time_ns) = self.times_ns.get(Self::place(channel, number)) {
            time_ns.store(now_ns, Relaxed);
        }
        (self.mark << NUMBER_BITS | number, now_ns)
    }

    fn place(channel: usize, number: u64) -> usize {
        channel * RECENT as usize + (number % RECENT) as usize
    }

    /// Notes that receivers begin to wait for these messages. Returns whether other receivers have waited for these
    /// messages before.
    pub(crate) fn begin_to_receive(&self) -> bool {
        self.is_received.swap(true, Relaxed)
    }

    /// Returns the index of the channel with this name.
    pub(crate) fn channel(&self, name: &[u8]) -> Option<usize> {
        let number = self.form.read(name.strip_prefix(self.prefix.as_slice())?)?;
        usize::try_from(number.checked_sub(self.first)?).ok().filter(|place| *place < self.names.len())
    }

    /// Returns the number of messages that were sent to a channel.
    pub(crate) fn issued(&self, channel: usize) -> u64 {
        self.issued[channel].load(Relaxed)
    }

    /// Returns the send time of a message, if the message is among the last messages of its key.
    pub(crate) fn sent_ns(&self, channel: usize, number: u64) -> Option<u64> {
        let issued = self.issued(channel);
        (number < issued && issued - number <= RECENT)
            .then(|| self.times_ns.get(Self::place(channel, number)).map(|ns| ns.load(Relaxed)))
            .flatten()
    }

    /// Parses the stamp at the beginning of a text. Returns `None` if the text is not a message.
    pub(crate) fn stamp(&self, text: &[u8]) -> Option<Stamp> {
        let mut rest = text;
        let mut field = |end: u8| {
            let length = rest.iter().take(21).position(|byte| *byte == end)?;
            let (digits, behind) = rest.split_at(length);
            rest = &behind[1..];
            whole_number(digits)
        };
        let (number, sent_ns, key) = (field(b'.')?, field(b'.')?, field(b';')?);
        let channel = usize::try_from(key.checked_sub(self.first)?).ok()?;
        // The prefill writes stamps with the time 0.
        let (mark, number) = (number >> NUMBER_BITS, number & ((1 << NUMBER_BITS) - 1));
        let stamp = Stamp { number, sent_ns, channel, is_own: mark == self.mark };
        (channel < self.names.len() && sent_ns > 0).then_some(stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        protocol::Dialect,
        workload::{Draws, OutgoingRequests, Program, Settings, Values, WorkloadChoice},
    };

    const FILE: &str = r#"
[keys.channel]
first = 5
count = 2
distribution = "sequential"

[receivers]
kind = "KIND"
keys = "channel"
count = 3

[[operation]]
name = "publish"
steps = ["PUBLISH {channel} {stamp}{value}"]
"#;

    fn read(text: &str) -> Result<WorkloadChoice, String> {
        WorkloadChoice::parse(text, ("m.toml", "m"), &Settings::default()).map_err(|error| error.to_string())
    }

    fn program(kind: &str) -> Program {
        let workload = read(&FILE.replace("KIND", kind)).unwrap().workload;
        let (values, names) = (Values::new(&workload, 4, 1), KeyNames::given("k:"));
        Program::new(&workload, Dialect::Resp2, 9, values, &names).numbering(
            &workload,
            9,
            &names,
            Clock::start(),
        )
    }

    #[test]
    fn a_stamp_contains_number_time_and_channel_of_the_message() {
        let program = program("pubsub");
        let messages = program.messages().unwrap();
        assert_eq!(messages.names, [b"k:000000000005", b"k:000000000006"]);
        let (mut draws, mut out) = (Draws::new(1), OutgoingRequests::default());
        (0..5).for_each(|_| assert_eq!(program.append(&mut draws, &mut out).index(), 0));
        let text = String::from_utf8(out.bytes).unwrap();
        let stamps: Vec<_> = text.split("\r\n").filter_map(|word| messages.stamp(word.as_bytes())).collect();
        let found: Vec<_> = stamps.iter().map(|stamp| (stamp.number, stamp.channel)).collect();
        assert_eq!(found, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]);
        assert!(stamps.is_sorted_by_key(|stamp| stamp.sent_ns) && messages.issued(0) == 3);
        for text in ["1.2.3;", "1.2.7;", "x.2.5;", "1.2.5", "1.0.5;", "", "99999999999999999999999.1.5;"] {
            assert_eq!(messages.stamp(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_last_writes_of_a_key_are_found_by_their_number() {
        let program = program("tracking");
        let messages = program.messages().unwrap();
        let times: Vec<_> = (0..6).map(|_| messages.issue(6)).collect();
        assert_eq!(messages.sent_ns(1, 5), Some(times[5].1));
        assert_eq!(messages.sent_ns(1, 2), Some(times[2].1));
        assert_eq!(
            (messages.sent_ns(1, 1), messages.sent_ns(1, 6), messages.sent_ns(0, 0)),
            (None, None, None)
        );
    }

    #[test]
    fn receivers_without_possible_messages_are_refused() {
        let of = |from: &str, to: &str| read(&FILE.replace("KIND", "pubsub").replace(from, to)).unwrap_err();
        for (from, to, error) in [
            (
                "{stamp}{value}",
                "x",
                "receivers recognize only messages with a stamp; send {stamp} after {channel}",
            ),
            (
                "{stamp}{value}",
                "{value}{stamp}",
                "{stamp} must be at the beginning of its argument, as in {stamp}{value}",
            ),
            (
                "keys = \"channel\"",
                "keys = \"a\"",
                "receivers wait for 'a', but 'a' is not a set of numbered keys; add [keys.a]",
            ),
            ("count = 3", "count = 0", "there can be 1 to 20000 receivers, not 0"),
            (
                "pubsub",
                "move",
                "receivers of the kind 'move' need 'to': a set of keys to which they move messages",
            ),
            (
                "PUBLISH {channel} ",
                "PUBLISH c ",
                "the operation 'publish' repeats {channel.same} before it uses {channel}",
            ),
        ] {
            let found = of(from, to);
            assert!(found.ends_with(error), "{found}");
        }
    }
}
