//! The format of the number in the names of a workload's keys.

use serde::{Deserialize, Serialize};

use super::zipf::ycsb_hash;
use crate::{
    protocol::{ArgumentPart, KEY_DIGITS, KeyPart},
    untrusted,
};

/// The maximum number of digits. The highest 64-bit number has this many digits.
pub const MAX_DIGITS: u8 = 20;

/// The format of the number in a key's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyForm {
    /// The minimum number of digits, up to 20. Lower numbers get leading zeros.
    pub digits: u8,
    /// How the number of a key appears in the key's name.
    pub naming: KeyNaming,
}

/// The text after the prefix in the names of a set of keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyNaming {
    /// The number of the key.
    #[default]
    Number,
    /// YCSB's hash of the number: `user6284781860667377211`.
    Ycsb,
    /// The hash of go-ycsb: YCSB's hash, computed from the number's bytes in reverse order.
    GoYcsb,
    /// No text. The set has only one key.
    Nothing,
    /// Any text, for the key names in a trace (a file of recorded commands).
    Anything,
}

impl KeyNaming {
    /// Returns whether the text is the number itself.
    pub fn is_number(&self) -> bool {
        *self == Self::Number
    }
}

impl Default for KeyForm {
    /// Creates the format with twelve digits.
    fn default() -> Self {
        Self { digits: KEY_DIGITS as u8, naming: KeyNaming::Number }
    }
}

impl KeyForm {
    /// Returns the number in the name of key number `number`: the same number, or its hash.
    #[inline]
    pub(super) fn named(self, number: u64) -> u64 {
        match self.naming {
            KeyNaming::Ycsb => ycsb_hash(number),
            KeyNaming::GoYcsb => ycsb_hash(number.swap_bytes()),
            KeyNaming::Number | KeyNaming::Nothing | KeyNaming::Anything => number,
        }
    }

    /// Formats a number that [`named`](Self::named) returned.
    pub(super) fn padded(self, named: u64) -> String {
        match self.naming {
            KeyNaming::Nothing | KeyNaming::Anything => String::new(),
            _ => format!("{named:0width$}", width = usize::from(self.digits)),
        }
    }

    /// Returns whether a hash replaces the number.
    pub(super) fn is_hashed(self) -> bool {
        matches!(self.naming, KeyNaming::Ycsb | KeyNaming::GoYcsb)
    }

    /// Formats the number of a key for the key's name.
    pub fn write(self, number: u64) -> String {
        self.padded(self.named(number))
    }

    /// Parses the number in a key's name. Returns `None` if the name has another format. A hash cannot be reversed, so
    /// every number up to 2^63 is accepted as a hash. For key names without a number, the result is 0.
    pub fn read(self, text: &[u8]) -> Option<u64> {
        if let KeyNaming::Nothing | KeyNaming::Anything = self.naming {
            return (self.naming == KeyNaming::Anything || text.is_empty()).then_some(0);
        }
        let least = usize::from(self.digits.max(1));
        let is_written = text.len() == least || text.len() > least && text[0] != b'0';
        if !is_written || !text.iter().all(u8::is_ascii_digit) {
            return None;
        }
        untrusted::bytes(text).parse().ok().filter(|named| !self.is_hashed() || *named <= 1 << 63)
    }

    /// Returns the highest number that fits into the minimum number of digits.
    pub(super) fn highest(self) -> u64 {
        if self.naming == KeyNaming::Nothing {
            return 0;
        }
        let is_any = self.digits == 0 || !self.naming.is_number();
        10_u64.checked_pow(self.digits.into()).filter(|_| !is_any).map_or(u64::MAX, |end| end - 1)
    }
}

/// The format of the key names of a set.
#[derive(Debug, Clone)]
pub(super) struct SetNames {
    /// The prefix before the number.
    pub(super) prefix: String,
    pub(super) form: KeyForm,
    /// Whether new keys may need more digits.
    pub(super) grows: bool,
}

impl SetNames {
    /// Returns the key for a number that [`named`](KeyForm::named) returned.
    pub(super) fn key(&self, named: u64) -> Vec<u8> {
        [self.prefix.as_bytes(), self.form.padded(named).as_bytes()].concat()
    }

    /// Returns a key as the parts of a template. The source with the number `source` supplies the number of the key.
    pub(super) fn parts(&self, source: u16) -> Vec<ArgumentPart> {
        let number = match self.form.digits {
            _ if self.form.padded(0).is_empty() => return vec![ArgumentPart::text(self.prefix.as_str())],
            0 | 1 => ArgumentPart::Number(source),
            _ if self.form == KeyForm::default() && !self.grows => ArgumentPart::Digits(source),
            digits => ArgumentPart::Padded(source, digits),
        };
        vec![ArgumentPart::text(self.prefix.as_str()), number]
    }

    /// Returns the description of a key for parts that are derived from the key.
    pub(super) fn key_part(&self, source: u16) -> KeyPart {
        KeyPart::new(&self.prefix, source, self.form.digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(digits: u8, hashed: bool) -> KeyForm {
        KeyForm { digits, naming: if hashed { KeyNaming::Ycsb } else { KeyNaming::Number } }
    }

    #[test]
    fn a_written_number_is_read_back_and_other_forms_are_refused() {
        for form in [0, 1, 3, 12, 20].map(|digits| form(digits, false)) {
            for number in [0, 7, 999, 1000, 10_u64.pow(12), u64::MAX] {
                assert_eq!(form.read(form.write(number).as_bytes()), Some(number), "{form:?}");
            }
        }
        let bad: [&[u8]; 8] = [b"", b"01", b"+1", b"-1", b" 1", b"1x", b"18446744073709551616", b"\xff"];
        assert!(bad.into_iter().all(|text| form(0, false).read(text).is_none()));
        let bad: [&[u8]; 3] = [b"1", b"0012", b"00x"];
        assert!(bad.into_iter().all(|text| form(3, false).read(text).is_none()));
    }

    #[test]
    fn a_hashed_key_has_the_same_name_as_in_ycsb() {
        let ycsb = form(1, true);
        assert_eq!(ycsb.write(0), "6284781860667377211");
        assert_eq!(form(20, true).write(0), "06284781860667377211");
        assert_eq!(ycsb.read(b"6284781860667377211"), Some(6_284_781_860_667_377_211));
        assert_eq!(ycsb.read(b"9223372036854775809"), None, "no hash is so high");
        let go_ycsb = KeyForm { naming: KeyNaming::GoYcsb, ..ycsb };
        assert_eq!(
            [0, 1].map(|number| go_ycsb.write(number)),
            ["6284781860667377211", "6284782960179005422"]
        );
    }

    #[test]
    fn the_number_of_digits_limits_the_numbers() {
        assert_eq!([form(12, false), form(3, false)].map(KeyForm::highest), [999_999_999_999, 999]);
        assert_eq!([form(0, false), form(20, false), form(3, true)].map(KeyForm::highest), [u64::MAX; 3]);
    }
}
