//! Numbers scattered over numbers: so that those which are drawn most do not lie side by side.

/// Odd, with its bits well mixed: 2^64 divided by the golden ratio.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
const ROUNDS: [u64; 4] =
    [0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344, 0xA409_3822_299F_31D0, 0x082E_FA98_EC4E_6C89];

/// Where the number `from` below `n` goes among the numbers below `n`: each number comes from exactly one. The same in every run.
///
/// Four rounds of a Feistel network over the next power of two; what falls at or beyond `n` goes on until it does not, less
/// than one more time on average. While `n` grows within a power of two, only what comes by the new numbers moves.
#[inline]
pub(super) fn scattered(from: u64, n: u64) -> u64 {
    let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
    let low_bits = bits / 2;
    let low = (1 << low_bits) - 1;
    let high = (1_u64 << (bits - low_bits)) - 1;
    let mut number = from;
    loop {
        let (mut left, mut right) = (number >> low_bits, number & low);
        for keys in ROUNDS.chunks_exact(2) {
            left ^= mixed(right, keys[0]) & high;
            right ^= mixed(left, keys[1]) & low;
        }
        number = left << low_bits | right;
        if number < n {
            return number;
        }
    }
}

#[inline]
fn mixed(number: u64, key: u64) -> u64 {
    ((number ^ key).wrapping_mul(MIX)) >> 32
}

/// YCSB's hash of a number: the 64 bit FNV of its eight bytes, the lowest first, without the sign.
#[inline]
pub(super) fn ycsb_hash(number: u64) -> u64 {
    let hash = number.to_le_bytes().into_iter().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211)
    });
    hash.cast_signed().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_number_comes_from_exactly_one() {
        for n in [1, 2, 3, 4, 5, 7, 8, 9, 100, 1000, 1023, 1024, 1025, 65_537] {
            let mut places: Vec<_> = (0..n).map(|from| scattered(from, n)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..n), "{n}");
        }
    }

    #[test]
    fn neighbours_are_parted() {
        let places: Vec<_> = (0..1000).map(|from| scattered(from, 1_000_000)).collect();
        let near = places.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 1000).count();
        assert!(near < 10, "{near} of 1000 stayed near");
        for tenth in 0..10 {
            let n = places.iter().filter(|place| **place / 100_000 == tenth).count();
            assert!((60..140).contains(&n), "{n} of 1000 in tenth {tenth}");
        }
    }

    #[test]
    fn growing_moves_few() {
        let moved = (0..600).filter(|from| scattered(*from, 600) != scattered(*from, 610)).count();
        assert!(moved < 30, "{moved}");
    }

    /// As Java computes Utils.fnvhash64.
    #[test]
    fn the_hash_is_ycsbs() {
        assert_eq!([0, 1, 2].map(ycsb_hash), [6284781860667377211, 8517097267634966620, 1820151046732198393]);
    }

    proptest! {
        #[test]
        fn a_number_stays_below_n(n in 1..=u64::MAX >> 1, from in any::<u64>()) {
            prop_assert!(scattered(from % n, n) < n);
        }
    }
}
