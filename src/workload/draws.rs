//! What a client's requests are drawn from, and how what is drawn fills the slots of a template.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{
    Distribution, Values,
    outgoing::{LARGE, LeftOut},
    step::Fragment,
    values::Cut,
};
use crate::{clock, protocol::Fill};

/// What one client's requests are drawn from.
#[derive(Debug, Clone)]
pub struct Draws {
    random: Pcg64Mcg,
}

impl Draws {
    /// The stream of this seed. Two streams never ask the same.
    pub fn new(seed: u64) -> Self {
        Self { random: Pcg64Mcg::seed_from_u64(seed) }
    }

    /// A uniform number below `n`.
    #[inline]
    pub(super) fn below(&mut self, n: u64) -> u64 {
        share(self.random.next_u64(), n)
    }
}

/// The number below `n` that a random number stands for, by Lemire's multiplication: its upper bits decide, and the bias is
/// below n/2^64.
#[inline]
pub(super) fn share(random: u64, n: u64) -> u64 {
    ((u128::from(random) * u128::from(n)) >> 64) as u64
}

/// Where the slots of a template draw their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// Keys of a set: the lowest number, and how many.
    Keys(Distribution, u64, u64),
    /// A whole number from the first to the last.
    Number(u64, u64),
    /// A key of the set with this number that is drawn and noted if it `is_new`, and else the one that was noted last.
    Repeated { set: u16, is_new: bool },
    /// The time in milliseconds since 1970.
    Now,
}

impl Source {
    /// Where a fragment's number comes from beside the sets of keys, in an operation that repeats keys of these sets.
    pub(super) fn of(fragment: &Fragment, repeated: &[u16]) -> Option<Self> {
        match fragment {
            Fragment::Key(set) => {
                repeated.contains(set).then_some(Self::Repeated { set: *set, is_new: true })
            }
            Fragment::Same(set) => Some(Self::Repeated { set: *set, is_new: false }),
            Fragment::Number(from, to) => Some(Self::Number(*from, *to)),
            Fragment::Now => Some(Self::Now),
            Fragment::Text(_) | Fragment::Value(_) => None,
        }
    }
}

/// An operation that is being filled.
pub(super) struct Filling<'a> {
    pub(super) sources: &'a [Source],
    pub(super) values: &'a Values,
    pub(super) draws: &'a mut Draws,
    /// Values that are left out.
    pub(super) left_out: &'a mut Vec<LeftOut>,
    /// The keys of this operation that were noted, by their sets.
    pub(super) noted: &'a mut Vec<u64>,
}

impl Filling<'_> {
    /// Draws a key of a set that may be repeated later in the operation.
    pub(super) fn note(&mut self, set: u16) -> u64 {
        let place = usize::from(set);
        let Source::Keys(Distribution::Uniform, first, count) = self.sources[place] else {
            unreachable!("the first sources are the sets of keys")
        };
        self.noted.resize(self.noted.len().max(place + 1), 0);
        self.noted[place] = first + self.draws.below(count);
        self.noted[place]
    }

    /// Draws a whole number from the first to the last.
    #[inline]
    pub(super) fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.draws.below((to - from).saturating_add(1))
    }
}

impl Fill for Filling<'_> {
    type Value = Cut;

    #[inline]
    fn number(&mut self, source: u16) -> u64 {
        match self.sources[usize::from(source)] {
            Source::Keys(Distribution::Uniform, first, count) => first + self.draws.below(count),
            Source::Number(from, to) => self.between(from, to),
            Source::Repeated { set, is_new: true } => self.note(set),
            Source::Repeated { set, is_new: false } => self.noted[usize::from(set)],
            Source::Now => clock::unix_ms(),
        }
    }

    #[inline]
    fn value(&mut self, kind: u16) -> (Cut, usize) {
        self.values.draw(kind, self.draws.random.next_u64())
    }

    #[inline]
    fn write(&mut self, cut: Cut, out: &mut Vec<u8>) -> usize {
        let frame = self.values.frame(cut);
        if let Some([before, _]) = frame {
            out.extend_from_slice(before);
        }
        let is_large = cut.size() > LARGE;
        if is_large {
            self.left_out.push(LeftOut { at: out.len(), cut });
        } else {
            out.extend_from_slice(self.values.bytes(cut));
        }
        if let Some([_, behind]) = frame {
            out.extend_from_slice(behind);
        }
        if is_large { cut.size() } else { 0 }
    }

    fn move_left_out(&mut self, from: usize, by: usize) {
        let moved = self.left_out.iter_mut().rev().take_while(|left_out| left_out.at >= from);
        moved.for_each(|left_out| left_out.at += by);
    }
}
