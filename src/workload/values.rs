//! Values: random printable bytes, different for each request, cut out of a pool that is made once.

use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Bytes of the pool beyond the size of one value: as many different values as there are offsets.
const SPREAD: usize = 64 * 1024;

/// The bytes of a value: 64 printable ones, so six bits of entropy a byte; neither compression nor
/// deduplication in a server or on the way finds a single repeated letter to work on.
const ALPHABET: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";

/// A pool of random bytes that values of one size are cut from. Copies share it.
#[derive(Debug, Clone)]
pub struct Values {
    pool: Arc<[u8]>,
    size: usize,
}

impl Values {
    /// A pool for values of `size` bytes. The same seed gives the same pool.
    pub fn new(size: usize, seed: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut pool = vec![0; size + SPREAD];
        random.fill_bytes(&mut pool);
        for byte in &mut pool {
            *byte = ALPHABET[usize::from(*byte % 64)];
        }
        Self { pool: pool.into(), size }
    }

    /// The size of each value in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The value that belongs to the random number `draw`.
    #[inline]
    pub fn value(&self, draw: u64) -> &[u8] {
        self.at(Self::offset(draw))
    }

    /// Where the value that belongs to the random number `draw` begins in the pool.
    #[inline]
    pub(super) fn offset(draw: u64) -> usize {
        draw as usize % SPREAD
    }

    /// The value that begins there.
    #[inline]
    pub(super) fn at(&self, offset: usize) -> &[u8] {
        &self.pool[offset..offset + self.size]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn values_are_printable_of_their_size_and_differ() {
        let values = Values::new(100, 7);
        let drawn: HashSet<_> = (0..1000).map(|draw| values.value(draw).to_vec()).collect();
        assert_eq!(drawn.len(), 1000);
        assert!(drawn.iter().all(|v| v.len() == 100 && v.iter().all(u8::is_ascii_graphic)));
        let letters: HashSet<_> = values.value(0).iter().collect();
        assert!(letters.len() > 20, "a value repeats {} letters", letters.len());
    }

    #[test]
    fn the_same_seed_gives_the_same_values() {
        assert_eq!(Values::new(8, 1).value(5), Values::new(8, 1).value(5));
        assert_ne!(Values::new(8, 1).value(5), Values::new(8, 2).value(5));
    }
}
