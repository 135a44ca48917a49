//! The encoded requests that a client writes next. Large values are not copied. redyno writes large values directly
//! from their pool of bytes.
//!
//! ```text
//!  bytes    *3 … $70000\r\n│\r\n*3 … $70000\r\n│\r\n
//!  wire     *3 … $70000\r\n┤ value ├\r\n*3 … $70000\r\n┤ value ├\r\n
//! ```

use std::io::IoSlice;

use super::{DatasetError, Insertions, Values, dataset::CurrentRecord, values::ValueCut};

/// The largest size in bytes of a value that is copied.
pub(super) const LARGE: usize = 64 * 1024;
/// The maximum number of digits of a CAS number.
const LONGEST_NUMBER: usize = 20;

/// The encoded requests that are sent next. Large values are not part of the bytes.
#[derive(Debug, Clone, Default)]
pub struct OutgoingRequests {
    pub(super) bytes: Vec<u8>,
    /// The large values that `bytes` does not contain, in the order of their positions.
    pub(super) left_out: Vec<LargeValue>,
    /// For each set of keys, the key that the current operation can repeat.
    pub(super) noted: Vec<u64>,
    /// The record of the last operation, if this operation used a record.
    pub(super) record: CurrentRecord,
    /// The CAS numbers that must still be inserted, in the order of their positions.
    pub(super) awaited: Vec<AwaitedNumber>,
    /// The number of operations that have this step. Used only for a later step.
    pub(super) operations: usize,
    /// The length of `bytes` before the step of the last operation. Used only for a later step.
    pub(super) before: usize,
    /// The first invalid key since the last call of [`take_refused`](Self::take_refused).
    refused: Option<Vec<u8>>,
    /// The number of appended operations.
    pub(super) appended: u32,
    /// The new keys of the appended operations.
    pub(super) inserted: Insertions,
    /// The expected replies that are compared with the real replies, and the length of each expected reply.
    pub(super) expected: (Vec<u8>, usize),
    /// The later steps of operations, which must wait for the replies to earlier steps. The list contains all second
    /// steps, then all third steps, and so on.
    pub(super) later: Vec<OutgoingRequests>,
}

/// A large value that is missing from the bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct LargeValue {
    /// The value's position in `bytes`.
    pub(super) at: usize,
    pub(super) cut: ValueCut,
    /// The total length of the missing values, up to and including this value.
    pub(super) upto: usize,
}

/// A CAS number that is unknown until the reply to the previous step arrives.
#[derive(Debug, Clone, Copy)]
pub(super) struct AwaitedNumber {
    /// The position at which the number is inserted.
    pub(super) at: usize,
    /// The index of the operation among the operations that have this step.
    pub(super) operation: usize,
}

impl OutgoingRequests {
    /// Creates requests from complete bytes.
    pub fn whole(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Removes all requests, but keeps the allocated memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.left_out.clear();
        self.later.clear();
        self.expected.0.clear();
        self.appended = 0;
        self.inserted.clear();
    }

    /// Returns the new keys in the requests.
    #[inline]
    pub fn inserted(&mut self) -> &mut Insertions {
        &mut self.inserted
    }

    /// Returns the error if a record could not be read. Requests that were appended after the error must not be
    /// written.
    #[inline]
    pub fn failure(&self) -> Option<&DatasetError> {
        self.record.failure()
    }

    /// Returns whether the last operation needs a record that has not been read yet. No part of an operation is
    /// appended before its record is available.
    #[inline]
    pub fn awaits_record(&self) -> bool {
        self.record.is_awaited
    }

    /// Removes the request from byte `start` on, because it contains the invalid key `key`.
    #[cold]
    pub(super) fn refuse(&mut self, start: usize, key: Vec<u8>) {
        self.cut(start);
        self.inserted.fail(Some(self.appended));
        self.refused.get_or_insert(key);
    }

    /// Removes the first `steps` later steps of the last operation.
    #[cold]
    pub(super) fn cut_later(&mut self, steps: usize) {
        for step in &mut self.later[..steps] {
            step.cut(step.before);
            step.awaited.pop_if(|awaited| awaited.operation + 1 == step.operations);
            step.operations -= 1;
        }
    }

    fn cut(&mut self, start: usize) {
        self.bytes.truncate(start);
        while self.left_out.pop_if(|left_out| left_out.at >= start).is_some() {}
    }

    /// Returns the first invalid key since the last call, if a request was removed because of an invalid key.
    pub fn take_refused(&mut self) -> Option<Vec<u8>> {
        self.refused.take()
    }

    /// Returns the expected replies, one after the other, and the length of each reply.
    #[inline]
    pub fn take_expected(&mut self) -> (Vec<u8>, usize) {
        std::mem::take(&mut self.expected)
    }

    /// Returns the requests that must wait for replies, one element per step. Returns `None` if there are no such
    /// requests.
    #[inline]
    pub fn take_later(&mut self) -> Option<Vec<Self>> {
        (!self.later.is_empty()).then(|| std::mem::take(&mut self.later))
    }

    /// Inserts the CAS numbers. `append` gets the index of an operation among the operations that have this step, and
    /// appends the CAS number of this operation.
    pub fn put_in(&mut self, append: impl Fn(usize, &mut Vec<u8>)) {
        if self.awaited.is_empty() {
            return;
        }
        let mut bytes = Vec::with_capacity(self.bytes.len() + LONGEST_NUMBER * self.awaited.len());
        let (mut copied, mut left_out) = (0, self.left_out.iter_mut().peekable());
        for AwaitedNumber { at, operation } in self.awaited.drain(..) {
            while let Some(left_out) = left_out.next_if(|left_out| left_out.at < at) {
                left_out.at += bytes.len() - copied;
            }
            bytes.extend_from_slice(&self.bytes[copied..at]);
            copied = at;
            append(operation, &mut bytes);
        }
        left_out.for_each(|left_out| left_out.at += bytes.len() - copied);
        bytes.extend_from_slice(&self.bytes[copied..]);
        self.bytes = bytes;
    }

    /// Returns the bytes, if no value is missing from the bytes.
    #[inline]
    pub fn as_whole(&self) -> Option<&[u8]> {
        self.left_out.is_empty().then_some(&self.bytes)
    }

    /// Returns the encoded bytes without the large values.
    #[inline]
    pub fn copied(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns whether there are requests that must wait for replies.
    pub fn has_later(&self) -> bool {
        !self.later.is_empty()
    }

    /// Returns the number of bytes on the wire, without later steps.
    #[inline]
    pub fn length(&self) -> usize {
        self.bytes.len() + self.left_out.last().map_or(0, |last| last.upto)
    }

    /// Returns the number of bytes on the wire, including later steps.
    #[inline]
    pub fn length_in_all(&self) -> usize {
        self.length() + self.later.iter().map(Self::length).sum::<usize>()
    }

    /// Returns the bytes on the wire. Large values are taken from `values`.
    pub fn wire(&self, values: &Values) -> Vec<u8> {
        let mut slices = vec![IoSlice::new(&[]); 2 * self.left_out.len() + 1];
        let filled = self.slices(Some(values), 0, &mut slices);
        slices[..filled].iter().flat_map(|slice| slice.iter().copied()).collect()
    }

    /// Fills `slices` with the bytes on the wire after the first `written` bytes, as long as there are free slices.
    /// Large values are taken from `values`. Returns the number of filled slices.
    pub fn slices<'a>(
        &'a self,
        values: Option<&'a Values>,
        mut written: usize,
        slices: &mut [IoSlice<'a>],
    ) -> usize {
        let ends = self.left_out.iter().map(|left_out| left_out.at);
        let (starts, ends) = ([0].into_iter().chain(ends.clone()), ends.chain([self.bytes.len()]));
        let texts = starts.zip(ends).map(|(from, to)| &self.bytes[from..to]);
        let bytes = |left_out: &LargeValue| values.map_or(&[][..], |values| values.bytes(left_out.cut));
        let lying = self.left_out.iter().map(bytes);
        let lying = lying.chain([&[][..]]);
        let left = texts.zip(lying).flat_map(|(text, value)| [text, value]).filter_map(|piece| {
            let skipped = written.min(piece.len());
            written -= skipped;
            Some(&piece[skipped..]).filter(|left| !left.is_empty())
        });
        slices.iter_mut().zip(left).map(|(slice, piece)| *slice = IoSlice::new(piece)).count()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        protocol::Dialect,
        workload::{Draws, KeyNames, Operation, Program, Workload, readable::commands},
    };

    /// Returns the bytes of requests after the first `written` bytes. The flag is true if no value is missing from
    /// `bytes`.
    fn wire(program: &Program, requests: usize, seed: u64, written: usize) -> (bool, Vec<u8>) {
        let (mut draws, mut out) = (Draws::new(seed), OutgoingRequests::default());
        (0..requests).for_each(|_| _ = program.append(&mut draws, &mut out));
        let mut slices = [IoSlice::new(&[]); 64];
        let n = out.slices(Some(program.values()), written, &mut slices);
        let bytes = slices[..n].iter().flat_map(|slice| slice.to_vec()).collect::<Vec<_>>();
        assert_eq!(out.length() - written, bytes.len());
        (out.as_whole().is_some(), bytes)
    }

    fn program(kinds: &[String], step: &str, dialect: Dialect) -> Program {
        let named = kinds.iter().enumerate().map(|(n, kind)| (format!("v{n}"), kind.parse().unwrap()));
        let keys = Workload::ratio(1, 1).keys.clone();
        let workload = Workload {
            values: named.collect(),
            operations: vec![Operation::command(step, 1)],
            keys,
            ..Workload::default()
        };
        assert_eq!(workload.check(), Ok(()));
        let values = Values::new(&workload, 32, 1);
        Program::new(&workload, dialect, 10, values, &KeyNames::given("k:"))
    }

    #[test]
    fn a_large_value_is_the_same_on_the_wire_as_a_copied_value() {
        for (content, around) in [("printable", 0), ("json", 11), ("text", 0)] {
            for (size, is_whole) in [(LARGE, true), (LARGE + 1, false)] {
                let kinds = [format!("{} {content}", size + around)];
                let program = program(&kinds, "SET {key} <{v0}> EX {number 5..5}", Dialect::Resp2);
                let (whole, bytes) = wire(&program, 3, 3, 0);
                assert_eq!((whole, commands(&bytes).unwrap().len()), (is_whole, 3));
                let one = bytes.len() / 3;
                for written in [1, 40, one - 2, one, 2 * one + 60, bytes.len() - 1, bytes.len()] {
                    assert_eq!(wire(&program, 3, 3, written).1, bytes[written..], "{size} behind {written}");
                }
            }
        }
    }

    /// Generates a kind of values, with its smallest and largest size.
    fn kinds() -> impl Strategy<Value = (String, usize, usize)> {
        let (one, large) = (11..200_usize, LARGE - 2..LARGE + 300);
        let size = prop_oneof![one.clone(), large, 11..3 * LARGE];
        let content = prop::sample::select(vec!["printable", "random", "text", "json", "compressible 0.3"]);
        (size, one, prop::sample::select(vec!["", "..", ":"]), content).prop_map(
            |(size, more, form, content)| {
                let to = size + more;
                match form {
                    ".." => (format!("{size}..{to} {content}"), size, to),
                    ":" => (format!("{size}:3,{to}:1 {content}"), size, to),
                    _ => (format!("{size} {content}"), size, size),
                }
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_word_has_the_length_in_its_header(
            (one, two) in (kinds(), kinds()),
            seed: u64,
            dialect in prop::sample::select(vec![Dialect::Resp2, Dialect::Resp3]),
        ) {
            let step = "SET {v0} <{v1}{number 5..2000000000}{key}{v0}> {number 8..12} {value} {now}";
            let program = program(&[one.0, two.0], step, dialect);
            let bytes = wire(&program, 3, seed, 0).1;
            for words in commands(&bytes).unwrap() {
                prop_assert_eq!(&words[0], b"SET");
                prop_assert!((one.1..=one.2).contains(&words[1].len()));
                let mixed = one.1 + two.1 + 17..=one.2 + two.2 + 26;
                prop_assert!(mixed.contains(&words[2].len()), "{:?} of {}", mixed, words[2].len());
                prop_assert!(words[2].starts_with(b"<") && words[2].ends_with(b">"));
                let number = |word: &[u8]| std::str::from_utf8(word).unwrap().parse::<u64>().unwrap();
                prop_assert!((8..=12).contains(&number(words[3])) && words[4].len() == 32);
                prop_assert!(number(words[5]) > 1_700_000_000_000 && words[5].len() == 13);
            }
        }
    }
}
