//! Writes numbers into requests as decimal digits, eight digits at a time.

/// The number of digits in a key's name.
pub const KEY_DIGITS: usize = 12;

/// The first number with more than eight digits.
pub(super) const NINE_DIGITS: u64 = 100_000_000;

/// The character `0` in each of the eight bytes of a word.
const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);

/// Writes `n` in twelve digits with leading zeros. `n` must be below 10^12.
#[inline]
pub(super) fn digits(n: u64) -> [u8; KEY_DIGITS] {
    debug_assert!(n < 1_000_000_000_000, "{n} has more than twelve digits");
    let mut digits = [b'0'; KEY_DIGITS];
    let mut low = n;
    if n >= NINE_DIGITS {
        digits[..4].copy_from_slice(&eight_digits(n / NINE_DIGITS)[4..]);
        low = n % NINE_DIGITS;
    }
    digits[4..].copy_from_slice(&eight_digits(low));
    digits
}

/// Writes `n` without leading zeros. The first digit is in the lowest byte. Returns the bytes and the number of digits.
/// `n` must be below 10^8.
#[inline]
pub(super) fn few_digits(n: u64) -> (u64, usize) {
    let lanes = lanes(n);
    let leading = (lanes.trailing_zeros() / 8).min(7);
    ((lanes | ZEROS) >> (8 * leading), 8 - leading as usize)
}

/// Writes `n` in eight digits with leading zeros. `n` must be below 10^8.
#[inline]
fn eight_digits(n: u64) -> [u8; 8] {
    (lanes(n) | ZEROS).to_le_bytes()
}

/// Returns the eight digits of `n`, each in one byte of a word. In this function, a *lane* is a part of the word. `n`
/// must be below 10^8.
///
/// All digits are computed at once. The number is split into two lanes of four digits, then into four lanes of two, and
/// then into eight lanes of one. The first digit is in the lowest byte. A lane is divided by a multiplication and a
/// shift. The factor 10486 / 2^20 replaces 1/100, and is exact for numbers below 10 000. The factor 103 / 2^10 replaces
/// 1/10, and is exact for numbers below 100.
#[inline]
fn lanes(n: u64) -> u64 {
    let fours = (n / 10_000) | ((n % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - tens * 10) << 8)
}

/// Appends the decimal digits in `bytes` to a number, and ignores all other bytes.
#[cold]
pub(super) fn add_digits(number: &mut u64, bytes: &[u8]) {
    for digit in bytes.iter().filter(|byte| byte.is_ascii_digit()) {
        *number = number.wrapping_mul(10).wrapping_add((digit - b'0').into());
    }
}

/// Parses a whole number without a sign. Returns `None` if the text is not such a number.
#[inline]
pub(crate) fn whole_number(digits: &[u8]) -> Option<u64> {
    let digit = |number: u64, byte: &u8| {
        let digit = Some(byte.wrapping_sub(b'0')).filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(digit.into())
    };
    if digits.is_empty() { None } else { digits.iter().try_fold(0, digit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digits_are_the_same_as_those_of_the_formatter() {
        let powers = (0..12).map(|n| 10_u64.pow(n));
        let edges = powers.flat_map(|power| [power - 1, power, power * 9 + 9, power * 5]);
        let all_lanes = (0..10_000).flat_map(|n| [n, n * 10_000, n * 100_000_000]);
        let spread = (0..100_000).map(|n| n * 9_999_991 % 1_000_000_000_000);
        for n in edges.chain(all_lanes).chain(spread).filter(|n| *n < 1_000_000_000_000) {
            assert_eq!(String::from_utf8_lossy(&digits(n)), format!("{n:012}"));
            if n < NINE_DIGITS {
                let (few, count) = few_digits(n);
                let bytes = few.to_le_bytes();
                assert_eq!(String::from_utf8_lossy(&bytes[..count]), n.to_string());
                assert!(bytes[count..].iter().all(|byte| *byte == 0));
            }
        }
    }
}
