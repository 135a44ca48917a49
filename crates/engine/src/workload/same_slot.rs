//! Finds the next key of a set that has the same cluster slot as a given key.
//!
//! ```text
//!  712345 ──► checksum of its digits ──► the next number with this checksum, in blocks of 100 000 numbers
//! ```
//! The slot of a name is a CRC16 without a start value. This checksum is linear. If two names differ only in their
//! digits, and the checksums of the digits are equal, the names have the same slot. The text around the digits has no
//! effect. One table of all five-digit endings, ordered by checksum, is enough for all sets of keys.

use std::{ops::Range, sync::LazyLock};

use crate::protocol::{SLOTS, key_slot};

/// The minimum number of keys in a set from which keys can be drawn by slot. Each slot then has two keys on average.
pub(super) const FEWEST_KEYS: u64 = 2 * SLOTS as u64;
/// The number of five-digit endings.
const BLOCK: u64 = 100_000;

/// All five-digit endings, in ascending order for each checksum.
static ENDINGS: LazyLock<Vec<Vec<u32>>> = LazyLock::new(|| {
    let mut endings = vec![Vec::new(); SLOTS.into()];
    (0..BLOCK as u32).for_each(|ending| endings[usize::from(checksum(ending.into()))].push(ending));
    endings
});

/// Builds the table, which takes a few milliseconds.
pub(super) fn prepare() {
    LazyLock::force(&ENDINGS);
}

/// Returns the next number among `numbers` whose key is in the same slot as the key `number`. After the highest number,
/// the lowest number follows. If no other key is in the slot, returns `number`. All numbers must have the same number
/// of digits.
pub(super) fn next(number: u64, numbers: Range<u64>) -> u64 {
    let wanted = checksum(number);
    let first = |within: Range<u64>| {
        let mut blocks = within.start / BLOCK..within.end.div_ceil(BLOCK);
        blocks.find_map(|block| {
            let endings = &ENDINGS[usize::from(wanted ^ checksum(block * BLOCK))];
            let of_block = endings.iter().map(|ending| (block * BLOCK).saturating_add((*ending).into()));
            of_block.into_iter().find(|found| within.contains(found))
        })
    };
    first(number.saturating_add(1)..numbers.end).or_else(|| first(numbers)).unwrap_or(number)
}

/// Returns the checksum of a number's digits. Leading zeros do not change the checksum.
fn checksum(mut number: u64) -> u16 {
    let mut digits = [0; 20];
    for digit in digits.iter_mut().rev() {
        *digit = (number % 10) as u8;
        number /= 10;
    }
    key_slot(&digits)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Returns the keys from `number` on, until `number` comes again.
    fn around(number: u64, numbers: &Range<u64>) -> Vec<u64> {
        let mut all = vec![number];
        loop {
            match next(all[all.len() - 1], numbers.clone()) {
                found if found == number => return all,
                found => all.push(found),
            }
        }
    }

    #[test]
    fn all_keys_of_a_slot_come_before_the_first_key_comes_again() {
        let slot = |number: &u64| key_slot(format!("redyno:4g7k2m9q:{number:012}").as_bytes());
        for (numbers, number) in [(0..100_000, 42), (99_990..350_000, 99_999), (7..40_007, 40_006)] {
            let drawn = around(number, &numbers);
            let expected: BTreeSet<_> = numbers.filter(|other| slot(other) == slot(&number)).collect();
            assert!(expected.len() > 1 && drawn.len() == expected.len(), "{drawn:?}");
            assert_eq!(drawn.into_iter().collect::<BTreeSet<_>>(), expected);
        }
    }

    #[test]
    fn a_key_that_is_alone_in_its_slot_follows_itself() {
        assert_eq!((next(5, 5..6), next(5, 0..3)), (5, 5));
        assert_eq!(next(u64::MAX - 1, u64::MAX - 1..u64::MAX), u64::MAX - 1);
    }
}
