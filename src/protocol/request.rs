//! Requests as bytes: a command encoded once, with slots that are filled for each request.
//!
//! ```text
//! *3\r\n$3\r\nSET\r\n$19\r\nredyno:000000000000\r\n$32\r\n … \r\n
//! └──────────── head ────────┴── key slot ┴─────────┴ value ┴ tail
//! ```
//! A key slot has twelve digits, as redis-benchmark's `__rand_int__`. The head is copied in blocks of a fixed size, a
//! little too much of it, which takes a few vector moves where a copy of the exact length is a call.

/// Digits of a key slot.
pub const KEY_DIGITS: usize = 12;

/// Bytes copied at a time: more than the head of any command that the workload has.
const BLOCK: usize = 64;

/// One argument of a templated command.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// Sent as it is.
    Text(&'a [u8]),
    /// A prefix followed by a key slot of [`KEY_DIGITS`] digits.
    Key(&'a [u8]),
    /// A value slot of so many bytes.
    Value(usize),
}

/// A command encoded in RESP, with at most one key slot and, behind it, at most one value slot.
#[derive(Debug, Clone)]
pub struct Template {
    /// All up to the value slot, padded to whole blocks.
    head: Vec<[u8; BLOCK]>,
    head_length: usize,
    key: Option<usize>,
    /// All behind the value slot, where there is one.
    tail: Option<Vec<u8>>,
}

impl Template {
    /// Encodes a command.
    pub fn new(parts: &[Part]) -> Self {
        let (mut bytes, mut key, mut value_end) = (header(b'*', parts.len()), None, None);
        for part in parts {
            match part {
                Part::Text(text) => push_bulk(&mut bytes, text),
                Part::Key(prefix) => {
                    assert!(value_end.is_none(), "a key slot stands before the value slot");
                    push_bulk(&mut bytes, &[prefix, [b'0'; KEY_DIGITS].as_slice()].concat());
                    key = Some(bytes.len() - END.len() - KEY_DIGITS);
                }
                Part::Value(size) => {
                    bytes.extend(header(b'$', *size));
                    value_end = Some(bytes.len());
                    bytes.extend_from_slice(END);
                }
            }
        }
        let tail = value_end.map(|end| bytes.split_off(end));
        let head_length = bytes.len();
        bytes.resize(head_length.next_multiple_of(BLOCK), 0);
        Self { head: bytes.as_chunks().0.to_vec(), head_length, key, tail }
    }

    /// Appends one request to `out`: the key slot holds `key`, the value slot what `value` gives, which is as long as
    /// the slot.
    #[inline]
    pub fn append<'v>(&self, key: u64, value: impl FnOnce() -> &'v [u8], out: &mut Vec<u8>) {
        let start = out.len();
        for block in &self.head {
            out.extend_from_slice(block);
        }
        if let Some(at) = self.key {
            let slot = out[start + at..].first_chunk_mut().expect("the head holds the whole key slot");
            *slot = digits(key);
        }
        out.truncate(start + self.head_length);
        if let Some(tail) = &self.tail {
            out.extend_from_slice(value());
            out.extend_from_slice(tail);
        }
    }
}

/// `n` in twelve digits with leading zeros. `n` is below 10^12.
#[inline]
fn digits(n: u64) -> [u8; KEY_DIGITS] {
    debug_assert!(n < 1_000_000_000_000, "{n} has more than twelve digits");
    let mut digits = [b'0'; KEY_DIGITS];
    let (high, low) = (n / 100_000_000, n % 100_000_000);
    digits[4..].copy_from_slice(&eight_digits(low));
    if high > 0 {
        digits[..4].copy_from_slice(&eight_digits(high)[4..]);
    }
    digits
}

/// `n` in eight digits with leading zeros. `n` is below 10^8.
///
/// All at once in the lanes of one word: it is halved into two lanes of four digits, those into four of two, and those
/// into eight of one. The first lane is the lowest, as the first digit's byte is. A lane is divided by a multiplication
/// and a shift: 10486 / 2^20 for 1/100 and 103 / 2^10 for 1/10, which are exact below 10 000 and below 100.
#[inline]
fn eight_digits(n: u64) -> [u8; 8] {
    let fours = (n / 10_000) | ((n % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    let ones = tens | ((twos - tens * 10) << 8);
    (ones | u64::from_ne_bytes([b'0'; 8])).to_le_bytes()
}

/// Ends a line, and a bulk string.
const END: &[u8] = b"\r\n";

fn push_bulk(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.extend(header(b'$', text.len()));
    bytes.extend_from_slice(text);
    bytes.extend_from_slice(END);
}

/// Encodes a command of fixed arguments.
pub(super) fn encode_command(args: &[&[u8]]) -> Vec<u8> {
    let mut bytes = header(b'*', args.len());
    args.iter().for_each(|arg| push_bulk(&mut bytes, arg));
    bytes
}

fn header(kind: u8, n: usize) -> Vec<u8> {
    let mut line = vec![kind];
    line.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
    line.extend_from_slice(END);
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn a_command_is_an_array_of_bulk_strings() {
        assert_eq!(text(&encode_command(&[b"SELECT", b"3"])), "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n");
    }

    #[test]
    fn key_and_value_slots_are_patched_in_each_request() {
        let set = Template::new(&[Part::Text(b"SET"), Part::Key(b"k:"), Part::Value(3)]);
        let mut out = Vec::new();
        set.append(42, || b"abc", &mut out);
        set.append(999_999_999_999, || b"def", &mut out);
        assert_eq!(
            text(&out),
            "*3\r\n$3\r\nSET\r\n$14\r\nk:000000000042\r\n$3\r\nabc\r\n\
             *3\r\n$3\r\nSET\r\n$14\r\nk:999999999999\r\n$3\r\ndef\r\n"
        );
    }
    #[test]
    fn a_head_of_any_length_is_whole() {
        for length in [0, 1, 40, 55, 56, 57, 64, 119, 120, 200] {
            let prefix = "k".repeat(length);
            let get = Template::new(&[Part::Text(b"GET"), Part::Key(prefix.as_bytes())]);
            let mut out = Vec::new();
            get.append(7, || unreachable!("there is no value slot"), &mut out);
            let key = format!("{prefix}000000000007");
            assert_eq!(text(&out), format!("*2\r\n$3\r\nGET\r\n${}\r\n{key}\r\n", key.len()));
        }
    }

    #[test]
    fn digits_are_those_of_the_number() {
        let powers = (0..12).map(|n| 10_u64.pow(n));
        let edges = powers.flat_map(|power| [power - 1, power, power * 9 + 9, power * 5]);
        let all_lanes = (0..10_000).flat_map(|n| [n, n * 10_000, n * 100_000_000]);
        let spread = (0..100_000).map(|n| n * 9_999_991 % 1_000_000_000_000);
        for n in edges.chain(all_lanes).chain(spread).filter(|n| *n < 1_000_000_000_000) {
            assert_eq!(text(&digits(n)), format!("{n:012}"));
        }
    }
}
