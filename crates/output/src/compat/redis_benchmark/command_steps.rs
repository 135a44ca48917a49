//! Turns a command of redis-benchmark into a command of redyno's workload. The load sends its words unchanged, except
//! for placeholders. This file also generates the bytes of values. The values have the same printable bytes as those of
//! redis-benchmark, in one sequence for the whole run.

use std::collections::BTreeMap;

use super::options::BenchOptions;
use crate::{
    compat::numbers::escaped,
    workload::{Distribution, Keyset, numbers},
};

/// The placeholder for a random number. Each occurrence gets a new number.
const NUMBER: &str = "__rand_int__";

/// The placeholder for a hash tag. All keys of a request have the same hash tag.
const TAG: &str = "__rand_tag__";
/// The number of hash tags. With this number, each node of a cluster has slots of some tags.
const TAGS: u64 = 100_000;

/// Characters that [`escaped`] leaves unchanged in a word. An underscore occurs in placeholders for numbers.
const PLAIN: &[u8] = b"_";
/// Characters that [`escaped`] leaves unchanged in commands with a dataset. A colon occurs in placeholders for fields
/// of a record.
const WITH_FIELDS: &[u8] = b"_:";

/// Commands as steps of the workload model, and the key sets that supply the numbers for their placeholders.
#[derive(Debug, Default)]
pub(super) struct CommandSteps {
    /// The key sets by their placeholders. Without `-r` there are no sets, and redyno sends placeholders unchanged.
    pub(super) sets: BTreeMap<String, Keyset>,
    pub(super) steps: Vec<String>,
    /// Whether the request is an inline command. redyno sends such a command byte for byte.
    pub(super) is_raw: bool,
    /// Whether `{tag}` in a word becomes a random hash tag.
    is_cluster: bool,
    /// Whether words may contain placeholders for fields of records.
    has_fields: bool,
}

impl CommandSteps {
    /// Creates an empty list of steps. `__rand_int__` becomes a number, as `options` require. If `has_ordinals` is set,
    /// `__rand_1st__` to `__rand_9th__` become numbers, too.
    pub(super) fn new(options: &BenchOptions, has_ordinals: bool) -> Self {
        let distribution =
            if options.is_sequential { Distribution::Sequential } else { Distribution::Uniform };
        let is_known = |name: &str| name == NUMBER || has_ordinals && name.starts_with("__rand_");
        let set = |keyspace: u64| {
            let known = numbers().filter(move |(name, _)| is_known(name));
            let count = Some(keyspace.max(1));
            known.map(move |(name, keys)| (name.to_owned(), Keyset { count, distribution, ..keys }))
        };
        let tags = Keyset { bare: true, digits: 5, count: Some(TAGS), ..Keyset::default() };
        let tags = options.is_cluster.then(|| (TAG.to_owned(), tags));
        Self {
            sets: options.keyspace.into_iter().flat_map(set).chain(tags).collect(),
            is_cluster: options.is_cluster,
            has_fields: options.dataset.is_some(),
            ..Self::default()
        }
    }

    /// Creates the step of an inline request. redyno sends this request byte for byte.
    pub(super) fn raw(request: &str) -> Self {
        Self { steps: vec![request.to_owned()], is_raw: true, ..Self::default() }
    }

    /// Adds a command.
    pub(super) fn add(&mut self, words: &[Vec<u8>]) {
        let plain = if self.has_fields { WITH_FIELDS } else { PLAIN };
        let quoted = |word: &Vec<u8>| {
            let word = if self.is_cluster { with_tag(word) } else { word.clone() };
            format!("\"{}\"", escaped(&word, plain))
        };
        let words: Vec<_> = words.iter().map(quoted).collect();
        self.steps.push(words.join(" "));
    }
}

/// Returns a word in which the placeholder for a hash tag replaces each `{tag}`.
fn with_tag(word: &[u8]) -> Vec<u8> {
    let mut tagged = Vec::new();
    let mut rest = word;
    while let Some(place) = rest.windows(5).position(|part| part == b"{tag}") {
        tagged.extend_from_slice(&[&rest[..place], b"{", TAG.as_bytes(), b"}"].concat());
        rest = &rest[place + 5..];
    }
    tagged.extend_from_slice(rest);
    tagged
}

/// redis-benchmark's generator of the bytes of values.
pub(super) struct Payload {
    state: u32,
}

impl Payload {
    pub(super) fn new() -> Self {
        Self { state: 1234 }
    }

    /// Returns the next `bytes` bytes.
    pub(super) fn take(&mut self, bytes: usize) -> Vec<u8> {
        let mut next = || {
            self.state = self.state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            b'0' + ((self.state >> 16) & 63) as u8
        };
        (0..bytes).map(|_| next()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        protocol::Dialect,
        workload::{Draws, KeyNames, Operation, OutgoingRequests, Program, Values, Workload},
    };

    /// Returns the commands as they are sent.
    fn sent(keyspace: Option<u64>, commands: &[&[&[u8]]]) -> Vec<String> {
        let mut steps = CommandSteps::new(&BenchOptions { keyspace, ..BenchOptions::usual() }, true);
        for command in commands {
            steps.add(&command.iter().map(|word| word.to_vec()).collect::<Vec<_>>());
        }
        let operation = Operation { weight: 1, steps: steps.steps, ..Operation::default() };
        let workload = Workload { keys: steps.sets, operations: vec![operation], ..Workload::default() };
        let values = Values::new(&workload, 1, 1);
        let program = Program::new(&workload, Dialect::Resp2, 1, values, &KeyNames::given(""));
        let mut out = OutgoingRequests::default();
        program.append(&mut Draws::new(3), &mut out);
        let mut wire = Vec::new();
        let mut slices = [std::io::IoSlice::new(&[]); 4];
        let n = out.slices(None, 0, &mut slices);
        slices[..n].iter().for_each(|slice| wire.extend_from_slice(slice));
        let lines =
            wire.split(|byte| *byte == b'\n').map(|line| String::from_utf8_lossy(line).trim_end().to_owned());
        lines.filter(|line| !line.starts_with(['*', '$']) && !line.is_empty()).collect()
    }

    #[test]
    fn words_are_sent_byte_for_byte() {
        let words: [&[u8]; 5] = [
            b"SET",
            b"key:__rand_int__",
            b"{tag} \"q\" 'q' \\x41\\",
            b"\xffx",
            b"{__rand_int__.same}{value} __field:\xffx__",
        ];
        let commands = sent(None, &[&words]);
        assert_eq!(
            commands,
            [
                "SET",
                "key:__rand_int__",
                "{tag} \"q\" 'q' \\x41\\",
                "\u{fffd}x",
                "{__rand_int__.same}{value} __field:\u{fffd}x__"
            ]
        );
    }

    #[test]
    fn on_a_cluster_all_keys_of_a_request_have_one_tag() {
        let mut steps = CommandSteps::new(&BenchOptions { is_cluster: true, ..BenchOptions::usual() }, true);
        steps.add(&[b"MSET".to_vec(), b"a:{tag}:1".to_vec(), b"x".to_vec(), b"b{tag}".to_vec()]);
        assert_eq!(steps.steps, [r#""MSET" "a\x3a\x7b__rand_tag__\x7d\x3a1" "x" "b\x7b__rand_tag__\x7d""#]);
        assert_eq!(steps.sets.len(), 1);
    }

    #[test]
    fn each_rand_int_is_a_new_number_and_each_ordinal_the_same_everywhere() {
        let commands = sent(
            Some(1_000_000_000),
            &[
                &[b"A", b"k:__rand_int__x__rand_int__", b"__rand_1st__"],
                &[b"B", b"__rand_1st__", b"__rand_2nd__"],
            ],
        );
        let [a, pair, first, b, again, second] = &commands[..] else { panic!("{commands:?}") };
        assert_eq!((a.as_str(), b.as_str(), first), ("A", "B", again));
        assert_eq!((pair.len(), second.len()), (2 + 12 + 1 + 12, 12));
        assert_ne!(pair[2..14], pair[15..]);
        assert_ne!(first, second);
        assert_eq!(sent(Some(0), &[&[b"GET", b"key:__rand_int__"]]), ["GET", "key:000000000000"]);
    }

    /// Tests the value that `redis-benchmark -t set` writes to a server.
    #[test]
    fn the_bytes_are_those_of_redis_benchmark() {
        let mut payload = Payload::new();
        assert_eq!(payload.take(3), b"VXK");
        assert_ne!(payload.take(3), b"VXK");
    }
}
