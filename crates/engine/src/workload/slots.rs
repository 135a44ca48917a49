//! Fills the slots of a request template: the places for keys, numbers and values.

use std::sync::Arc;

use rand::Rng;

use super::{
    Draws, Insertions, Messages, Values,
    chooser::Chooser,
    dataset::CurrentRecord,
    outgoing::{LARGE, LargeValue},
    step::{Fragment, StampPart},
    values::ValueCut,
};
use crate::{clock, protocol::FillSlots};

/// The source of the number in a slot. Each set of keys is also a source, but is not in this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberSource {
    /// A random whole number in this range, including both ends.
    Number(u64, u64),
    /// A key of set number `set`. If `is_new` is true, the key is newly drawn. If `is_new` is false, the key is the
    /// last drawn key of this operation.
    Repeated { set: u16, is_new: bool },
    /// In a prefill, the next key of this set in order.
    Given(u16),
    /// A new key of this set.
    Inserted(u16),
    /// The next key of this set in the same slot as the previous key of this operation.
    SameSlot(u16),
    /// The time in milliseconds since 1970.
    Now,
    /// The cursor in the reply to the client's last SCAN.
    Cursor,
    /// The number of the next message on a channel. The channel is the key that this operation last drew from the key
    /// set with this number.
    MessageNumber(u16),
    /// The time of the message that got the last message number.
    MessageTime,
}

impl NumberSource {
    /// Returns the source of a fragment's number. Returns `None` if the source is a set of keys, or if the fragment has
    /// no number. `repeated` contains the sets whose keys the operation repeats.
    pub(super) fn of(fragment: &Fragment, repeated: &[u16]) -> Option<Self> {
        match fragment {
            Fragment::Key(set) => {
                repeated.contains(set).then_some(Self::Repeated { set: *set, is_new: true })
            }
            Fragment::Given(set) => Some(Self::Given(*set)),
            Fragment::New(set) => Some(Self::Inserted(*set)),
            Fragment::Same(set) => Some(Self::Repeated { set: *set, is_new: false }),
            Fragment::SameSlot(set) => Some(Self::SameSlot(*set)),
            Fragment::Derived(_, key, _) => Self::of(key, repeated),
            Fragment::Number(from, to) => Some(Self::Number(*from, *to)),
            Fragment::Stamp(StampPart::Number, set) => Some(Self::MessageNumber(*set)),
            Fragment::Stamp(StampPart::Time, _) => Some(Self::MessageTime),
            Fragment::Stamp(StampPart::Channel, set) => Some(Self::Repeated { set: *set, is_new: false }),
            Fragment::Now => Some(Self::Now),
            Fragment::Cursor => Some(Self::Cursor),
            Fragment::Text(_) | Fragment::Value(_) | Fragment::OfRecord(_) | Fragment::Cas => None,
        }
    }
}

/// A number that stands for the first part of a record, in a field that otherwise contains the number of a kind of
/// values. All numbers of kinds of values are lower.
pub(super) const FIELDS: u16 = 1 << 15;

/// The sources of the keys, numbers and values in the slots of a program.
#[derive(Debug)]
pub(super) struct Sources {
    /// The sets of keys, which are the sources with the lowest numbers.
    pub(super) sets: Vec<Chooser>,
    /// The sources of numbers that are not sets of keys. The numbers of these sources follow the numbers of the sets.
    pub(super) others: Vec<NumberSource>,
    pub(super) values: Values,
    /// The messages, if the workload has receivers.
    pub(super) messages: Option<Arc<Messages>>,
}

/// The state while the slots in the requests of an operation are filled.
pub(super) struct SlotFiller<'a> {
    pub(super) sources: &'a Sources,
    pub(super) draws: &'a mut Draws,
    /// The list of the large values, whose bytes are not copied into the request.
    pub(super) left_out: &'a mut Vec<LargeValue>,
    /// For each set of keys, the key that this operation can repeat.
    pub(super) noted: &'a mut Vec<u64>,
    /// The list of new keys, and the index of this operation in its batch.
    pub(super) inserted: (&'a mut Insertions, u32),
    /// The record of the operation, if the operation uses records.
    pub(super) record: &'a CurrentRecord,
    /// In a prefill, the number of the next key in order.
    pub(super) given: u64,
    /// The position at which a CAS number must be inserted later.
    pub(super) awaited: Option<usize>,
    /// The first invalid key of the operation.
    pub(super) refused: Option<Vec<u8>>,
}

impl SlotFiller<'_> {
    /// Draws a key of a set, and stores it for repetition in the same operation.
    pub(super) fn draw_key(&mut self, set: u16) -> u64 {
        let place = usize::from(set);
        let drawn = self.sources.sets[place].choose(place, self.draws);
        self.store_key(set, drawn)
    }

    /// Draws the next new key of a set, and stores it for repetition in the same operation.
    fn insert(&mut self, set: u16) -> u64 {
        let (insertions, operation) = &mut self.inserted;
        let (key, inserted) = self.sources.sets[usize::from(set)].insert(*operation);
        insertions.push(inserted);
        self.store_key(set, key)
    }

    /// Returns the next number from a source that is not a set of keys.
    #[inline(never)]
    fn of_source(&mut self, source: NumberSource) -> u64 {
        match source {
            NumberSource::Number(from, to) => self.between(from, to),
            NumberSource::Inserted(set) => self.insert(set),
            NumberSource::Repeated { set, is_new: true } => self.draw_key(set),
            NumberSource::Repeated { set, is_new: false } => self.noted[usize::from(set)],
            NumberSource::SameSlot(set) => {
                let place = usize::from(set);
                self.store_key(set, self.sources.sets[place].next_in_slot(self.noted[place]))
            }
            NumberSource::Given(set) => {
                self.given += 1;
                self.store_key(set, self.sources.sets[usize::from(set)].named(self.given - 1))
            }
            NumberSource::Now => clock::unix_ms(),
            NumberSource::Cursor => std::mem::take(&mut self.draws.cursor),
            NumberSource::MessageNumber(set) => {
                let issued = self.sources.messages.as_ref();
                let (number, now_ns) = issued.map_or((0, 0), |it| it.issue(self.noted[usize::from(set)]));
                // The time is stored after the keys of all sets.
                self.store_key(self.sources.sets.len() as u16, now_ns);
                number
            }
            NumberSource::MessageTime => self.noted[self.sources.sets.len()],
        }
    }

    /// Stores a key of a set for repetition in the same operation.
    fn store_key(&mut self, set: u16, key: u64) -> u64 {
        let place = usize::from(set);
        self.noted.resize(self.noted.len().max(place + 1), 0);
        self.noted[place] = key;
        key
    }

    /// Appends a field of a record, a large value, or a value with text around it. Returns the number of bytes that are
    /// not copied: the size of a large value, or 0.
    #[inline(never)]
    fn write_other(&mut self, cut: ValueCut, out: &mut Vec<u8>) -> usize {
        if cut.kind >= FIELDS {
            out.extend_from_slice(self.record.field(usize::from(cut.kind - FIELDS)));
            return 0;
        }
        let [before, behind] = self.sources.values.frame(cut).unwrap_or_default();
        out.extend_from_slice(before);
        let is_large = cut.size() > LARGE;
        if is_large {
            let before = self.left_out.last().map_or(0, |last| last.upto);
            self.left_out.push(LargeValue { at: out.len(), cut, upto: before + cut.size() });
        } else {
            out.extend_from_slice(self.sources.values.bytes(cut));
        }
        out.extend_from_slice(behind);
        if is_large { cut.size() } else { 0 }
    }

    /// Draws a whole number from `from` to `to`.
    #[inline]
    pub(super) fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.draws.below((to - from).saturating_add(1))
    }
}

impl FillSlots for SlotFiller<'_> {
    type Value = ValueCut;

    #[inline]
    fn number(&mut self, source: u16) -> u64 {
        let place = usize::from(source);
        match self.sources.sets.get(place) {
            Some(set) => set.choose(place, self.draws),
            None => self.of_source(self.sources.others[place - self.sources.sets.len()]),
        }
    }

    #[inline(always)]
    fn value(&mut self, kind: u16) -> (ValueCut, usize) {
        if kind >= FIELDS {
            let length = self.record.field(usize::from(kind - FIELDS)).len();
            return (ValueCut::whole(kind, length), length);
        }
        self.sources.values.draw(kind, self.draws.random.next_u64())
    }

    #[inline(always)]
    fn write(&mut self, cut: ValueCut, out: &mut Vec<u8>) -> usize {
        if cut.kind < FIELDS && self.sources.values.append_bare(cut, LARGE, out) {
            0
        } else {
            self.write_other(cut, out)
        }
    }

    fn await_number(&mut self, at: usize) {
        self.awaited = Some(at);
    }

    fn moved(&mut self, from: usize, behind: usize, by: usize) {
        let moved = self.left_out.iter_mut().rev().take_while(|left_out| left_out.at >= from);
        moved.for_each(|left_out| left_out.at += by);
        self.awaited = self.awaited.map(|at| if at < behind { at } else { at - (behind - from) });
    }

    #[cold]
    fn refuse(&mut self, key: &[u8]) {
        self.refused.get_or_insert_with(|| key.to_vec());
    }
}
