//! Requests as bytes: a command encoded once, with slots that are patched for each request.
//!
//! ```text
//! *2\r\n$3\r\nGET\r\n$19\r\nredyno:000000000000\r\n
//!                                  └── key slot ┘   twelve digits, as redis-benchmark's __rand_int__
//! ```

use std::ops::Range;

/// Digits of a key slot.
pub const KEY_DIGITS: usize = 12;

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

/// A command encoded in RESP, with at most one key slot and one value slot.
#[derive(Debug, Clone)]
pub struct Template {
    bytes: Vec<u8>,
    key: Option<usize>,
    value: Option<Range<usize>>,
}

impl Template {
    /// Encodes a command.
    pub fn new(parts: &[Part]) -> Self {
        let mut template = Self { bytes: header(b'*', parts.len()), key: None, value: None };
        for part in parts {
            template.push(*part);
        }
        template
    }

    fn push(&mut self, part: Part) {
        let length = match part {
            Part::Text(text) => text.len(),
            Part::Key(prefix) => prefix.len() + KEY_DIGITS,
            Part::Value(size) => size,
        };
        self.bytes.extend(header(b'$', length));
        let start = self.bytes.len();
        match part {
            Part::Text(text) => self.bytes.extend_from_slice(text),
            Part::Key(prefix) => {
                self.bytes.extend_from_slice(prefix);
                self.key = Some(self.bytes.len());
                self.bytes.extend_from_slice(&[b'0'; KEY_DIGITS]);
            }
            Part::Value(size) => {
                self.bytes.resize(start + size, b'x');
                self.value = Some(start..start + size);
            }
        }
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// Appends one request to `out`: the key slot holds `key`, the value slot what `value` is given to fill.
    #[inline]
    pub fn append(&self, key: u64, value: impl FnOnce(&mut [u8]), out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        let request = &mut out[start..];
        if let Some(at) = self.key {
            let slot = request[at..].first_chunk_mut().expect("the template holds the whole key slot");
            write_digits(slot, key);
        }
        if let Some(range) = &self.value {
            value(&mut request[range.clone()]);
        }
    }
}

/// `00` to `99`.
const TWO_DIGITS: [[u8; 2]; 100] = {
    let mut table = [[b'0'; 2]; 100];
    let mut n = 0;
    while n < 100 {
        table[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    table
};

/// Writes `n` in twelve digits with leading zeros. `n` is below 10^12.
#[inline]
fn write_digits(slot: &mut [u8; KEY_DIGITS], n: u64) {
    debug_assert!(n < 1_000_000_000_000, "{n} has more than twelve digits");
    // Two halves of 32 bits, which depend on each other no further.
    let (high, low) = slot.split_at_mut(KEY_DIGITS / 2);
    for (half, mut n) in [(high, (n / 1_000_000) as u32), (low, (n % 1_000_000) as u32)] {
        for pair in half.rchunks_exact_mut(2) {
            pair.copy_from_slice(&TWO_DIGITS[(n % 100) as usize]);
            n /= 100;
        }
    }
}

/// Encodes a command of fixed arguments.
pub fn encode_command(args: &[&[u8]]) -> Vec<u8> {
    let parts: Vec<_> = args.iter().map(|arg| Part::Text(arg)).collect();
    Template::new(&parts).bytes
}

fn header(kind: u8, n: usize) -> Vec<u8> {
    let mut line = vec![kind];
    line.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
    line.extend_from_slice(b"\r\n");
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
        set.append(42, |slot| slot.copy_from_slice(b"abc"), &mut out);
        set.append(999_999_999_999, |slot| slot.copy_from_slice(b"def"), &mut out);
        assert_eq!(
            text(&out),
            "*3\r\n$3\r\nSET\r\n$14\r\nk:000000000042\r\n$3\r\nabc\r\n\
             *3\r\n$3\r\nSET\r\n$14\r\nk:999999999999\r\n$3\r\ndef\r\n"
        );
    }
}
