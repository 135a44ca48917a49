//! Templates of requests: commands that are encoded once, with slots that are filled for each request.
//!
//! ```text
//! *3\r\n$3\r\nSET\r\n$19\r\nredyno:000000000000\r\n$32\r\n … \r\n
//! └───────────────────── piece ──── digits ───┴─────────┴ value ┴ piece
//! ```
//! The dialect decides the layout of a command, and where the length of an argument is written. A slot of digits has
//! twelve digits, like redis-benchmark's `__rand_int__`. A piece is copied in blocks of a fixed size, and the excess is
//! cut off: a few vector moves cost less than the function call of an exact copy.

mod making;

use super::{
    Derived, Dialect, Fill, KeyPart, Part, Unspoken, append_vector,
    digits::digits,
    request_parts::{Head, Laid, java_hash},
    resp,
};
use making::Making;

/// The size of a block in bytes. A GET or an INCR fits into one block.
const BLOCK: usize = 64;

/// A template: encoded commands that are sent together, with any number of slots.
#[derive(Debug, Clone)]
pub struct Template {
    pieces: Vec<Piece>,
}

/// A part of a template: bytes of a known length, and the slot after these bytes.
#[derive(Debug, Clone)]
struct Piece {
    /// The bytes, padded to whole blocks.
    blocks: Vec<[u8; BLOCK]>,
    length: usize,
    /// The position of each slot of digits in the bytes, and the source of its number.
    digits: Vec<(usize, u16)>,
    then: Then,
}

/// The slot after a piece.
#[derive(Debug, Clone)]
enum Then {
    /// No slot: the next piece or the end of the template follows.
    Piece,
    /// A value of this kind. The bytes of the piece contain its length.
    Value(u16),
    /// Any other kind of slot.
    Slot(Box<Slot>),
}

/// The less frequent kinds of slots. A separate function fills these slots, which keeps the code for most requests
/// short.
#[derive(Debug, Clone)]
enum Slot {
    /// An argument that is a value of this kind, with its length before it.
    Sized(Head<Fragment>, u16),
    /// A number, without its length.
    Plain(Fragment),
    /// An argument that is a number of this source, with its length before it.
    SizedNumber(u16),
    /// Any other argument. The length of the argument is known only when it is filled.
    Argument(Head<Fragment>, Vec<Fragment>),
    /// A key of memcached or a path of HTTP, and the function that checks the filled bytes.
    Key(Vec<Fragment>, fn(&[u8]) -> bool),
}

/// A part of an argument or a key that is filled for each request.
#[derive(Debug, Clone)]
enum Fragment {
    Text(Vec<u8>),
    Digits(u16),
    Number(u16),
    Padded(u16, u8),
    OfKey(OfKey),
    Value(u16),
    /// A number that is inserted later: the number from the reply to the previous request.
    Awaited,
}

/// A part of a request that is derived from a key.
#[derive(Debug, Clone)]
struct OfKey {
    /// The key prefix (the text before the number), and the hash of the prefix.
    prefix: String,
    hash: i32,
    source: u16,
    digits: u8,
    derived: Derived<Vec<u8>>,
}

impl OfKey {
    fn new(key: KeyPart, derived: Derived<Vec<u8>>) -> Self {
        let KeyPart { prefix, source, digits } = key;
        Self { prefix: prefix.to_owned(), hash: java_hash(0, prefix.encode_utf16()), source, digits, derived }
    }

    /// Appends the derived bytes: a vector, a hash, or the text `key:field:hash:hash…`, cut to its length. In the text,
    /// each hash covers all text before it.
    fn append(&self, number: u64, out: &mut Vec<u8>) {
        if let Derived::Vector(set, dimensions) = self.derived {
            return append_vector((set, number), dimensions, out);
        }
        let start = out.len();
        out.extend_from_slice(self.prefix.as_bytes());
        let begin = out.len();
        append_padded(number, self.digits, out);
        let hash = |out: &[u8]| java_hash(self.hash, out[begin..].iter().map(|byte| u16::from(*byte)));
        let Derived::Value(field, length) = &self.derived else {
            let hash = hash(out);
            out.truncate(start);
            out.extend_from_slice(itoa::Buffer::new().format(hash).as_bytes());
            return;
        };
        out.push(b':');
        out.extend_from_slice(field);
        while out.len() - start < *length {
            out.push(b':');
            let hash = hash(out);
            out.extend_from_slice(itoa::Buffer::new().format(hash).as_bytes());
        }
        out.truncate(start + length);
    }
}

impl Template {
    /// Encodes commands. Each command is a list of arguments.
    ///
    /// # Errors
    /// When the dialect does not have one of the commands.
    pub fn new(dialect: Dialect, commands: &[Vec<Vec<Part>>]) -> Result<Self, Unspoken> {
        let mut making = Making::default();
        for arguments in commands {
            dialect.lay_out(arguments)?.into_iter().for_each(|laid| making.add(laid));
        }
        making.end_piece(Then::Piece);
        Ok(Self { pieces: making.pieces })
    }

    /// Creates a template of these bytes, unchanged.
    pub fn raw(bytes: &[u8]) -> Self {
        let mut making = Making::default();
        making.add(Laid::Bytes(bytes.to_vec()));
        making.end_piece(Then::Piece);
        Self { pieces: making.pieces }
    }

    /// Returns whether all slots are digits from the first `sources` sources, so that all requests have the same
    /// length.
    pub fn has_only_digits(&self, sources: usize) -> bool {
        let [only] = self.pieces.as_slice() else { return false };
        let digits = only.digits.iter().all(|(_, source)| usize::from(*source) < sources);
        digits && matches!(only.then, Then::Piece)
    }

    /// Appends the commands to `out`; `fill` fills their slots.
    #[inline(always)]
    pub fn append(&self, fill: &mut impl Fill, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            let start = out.len();
            for block in &piece.blocks {
                out.extend_from_slice(block);
            }
            for (at, source) in &piece.digits {
                let slot = out[start + at..].first_chunk_mut().expect("a piece holds its digits whole");
                *slot = digits(fill.number(*source));
            }
            out.truncate(start + piece.length);
            match &piece.then {
                Then::Piece => {}
                Then::Value(kind) => {
                    let (value, _) = fill.value(*kind);
                    fill.write(value, out);
                }
                Then::Slot(slot) => slot.append(fill, out),
            }
        }
    }
}

impl Slot {
    #[inline(never)]
    fn append(&self, fill: &mut impl Fill, out: &mut Vec<u8>) {
        match self {
            Self::Sized(head, kind) => {
                let (value, length) = fill.value(*kind);
                head.append(length, fill, out);
                fill.write(value, out);
            }
            Self::Plain(fragment) => _ = fragment.append(fill, out),
            Self::SizedNumber(source) => append_sized_number(fill.number(*source), out),
            Self::Argument(head, fragments) => append_argument(head, fragments, fill, out),
            Self::Key(fragments, is_good) => append_key(fragments, *is_good, fill, out),
        }
    }
}

#[inline]
fn append_number(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends a number with leading zeros up to this many digits.
fn append_padded(number: u64, least: u8, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(number).as_bytes();
    out.resize(out.len() + usize::from(least).saturating_sub(digits.len()), b'0');
    out.extend_from_slice(digits);
}

/// Appends a number as a bulk string: its length, and then its digits.
#[inline]
fn append_sized_number(number: u64, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(number).as_bytes();
    resp::append_header(b'$', digits.len(), out);
    out.extend_from_slice(digits);
}

impl Head<Fragment> {
    /// Appends the bytes that precede an argument of `length` bytes.
    #[inline]
    fn append(&self, length: usize, fill: &mut impl Fill, out: &mut Vec<u8>) {
        match self {
            Self::Bulk => resp::append_header(b'$', length, out),
            Self::Line(fragments) => {
                out.push(b' ');
                append_number(length as u64, out);
                // A head contains no value, so nothing can be left out.
                fragments.iter().for_each(|fragment| {
                    fragment.append(fill, out);
                });
            }
        }
    }
}

impl Fragment {
    /// Appends the fragment. Returns how many bytes of the fragment are not in `out`, because they are sent from
    /// elsewhere.
    fn append(&self, fill: &mut impl Fill, out: &mut Vec<u8>) -> usize {
        match self {
            Self::Text(text) => out.extend_from_slice(text),
            Self::Digits(source) => out.extend_from_slice(&digits(fill.number(*source))),
            Self::Number(source) => append_number(fill.number(*source), out),
            Self::Padded(source, least) => append_padded(fill.number(*source), *least, out),
            Self::OfKey(of_key) => of_key.append(fill.number(of_key.source), out),
            Self::Awaited => fill.await_number(out.len()),
            Self::Value(kind) => {
                let (value, _) = fill.value(*kind);
                return fill.write(value, out);
            }
        }
        0
    }
}

/// Appends an argument, and then inserts its length before it.
fn append_argument(head: &Head<Fragment>, fragments: &[Fragment], fill: &mut impl Fill, out: &mut Vec<u8>) {
    let start = out.len();
    let left_out: usize = fragments.iter().map(|fragment| fragment.append(fill, out)).sum();
    let end = out.len();
    head.append(end - start + left_out, fill, out);
    let head = out.len() - end;
    out[start..].rotate_right(head);
    fill.moved(start, end, head);
}

/// Appends a key. Reports the key to `fill` if it is not valid.
fn append_key(fragments: &[Fragment], is_good: fn(&[u8]) -> bool, fill: &mut impl Fill, out: &mut Vec<u8>) {
    let start = out.len();
    let left_out: usize = fragments.iter().map(|fragment| fragment.append(fill, out)).sum();
    if left_out > 0 || !is_good(&out[start..]) {
        fill.refuse(&out[start..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::KEY_DIGITS;

    fn text(bytes: &[u8]) -> String {
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    /// Fills slots with known sequences. The numbers of source n are 10·n, 10·n+1, … Values of kind n grow by n bytes
    /// with each value.
    #[derive(Default)]
    struct Counting([u64; 4], usize);

    impl Fill for Counting {
        type Value = &'static str;

        fn number(&mut self, source: u16) -> u64 {
            let count = &mut self.0[usize::from(source)];
            *count += 1;
            *count - 1 + 10 * u64::from(source)
        }

        fn value(&mut self, kind: u16) -> (&'static str, usize) {
            self.1 += 1;
            let length = 3 + usize::from(kind) * self.1;
            (&"abcdefghijklm"[..length], length)
        }

        fn write(&mut self, value: &'static str, out: &mut Vec<u8>) -> usize {
            out.extend_from_slice(value.as_bytes());
            0
        }

        fn await_number(&mut self, _: usize) {}

        fn moved(&mut self, _: usize, _: usize, _: usize) {}

        fn refuse(&mut self, _: &[u8]) {}
    }

    const THREE: Part = Part::Value { kind: 0, size: Some(3) };
    const DRAWN: Part = Part::Value { kind: 4, size: None };

    fn filled(times: usize, commands: &[Vec<Vec<Part>>]) -> String {
        let (template, mut fill, mut out) =
            (Template::new(Dialect::Resp2, commands).unwrap(), Counting::default(), Vec::new());
        (0..times).for_each(|_| template.append(&mut fill, &mut out));
        text(&out)
    }

    fn word(text: &str) -> Vec<Part<'_>> {
        vec![Part::Text(text.as_bytes())]
    }

    #[test]
    fn key_and_value_slots_are_filled_in_each_request() {
        let key = vec![Part::Text(b"k:"), Part::Digits(1)];
        assert_eq!(
            filled(2, &[vec![word("SET"), key, vec![THREE]]]),
            "*3\r\n$3\r\nSET\r\n$14\r\nk:000000000010\r\n$3\r\nabc\r\n\
             *3\r\n$3\r\nSET\r\n$14\r\nk:000000000011\r\n$3\r\nabc\r\n"
        );
    }

    #[test]
    fn slots_may_be_in_any_order_and_inside_text_and_may_repeat() {
        let json = vec![Part::Text(b"<"), THREE, Part::Text(b">"), Part::Digits(0)];
        let mixed = vec![Part::Text(b"n"), Part::Number(1), THREE, Part::Digits(0)];
        assert_eq!(
            filled(1, &[vec![json, vec![Part::Number(1)], mixed, vec![Part::Digits(2), Part::Digits(2)]]]),
            "*4\r\n$17\r\n<abc>000000000000\r\n$2\r\n10\r\n$18\r\nn11abc000000000001\r\n\
             $24\r\n000000000020000000000021\r\n"
        );
    }

    #[test]
    fn a_random_length_precedes_its_argument() {
        let words = vec![word("SET"), vec![DRAWN], word("EX"), vec![Part::Number(3)]];
        let mixed = vec![vec![Part::Text(b"<"), DRAWN, Part::Digits(0), Part::Text(b">")]];
        assert_eq!(
            filled(1, &[words, mixed]),
            "*4\r\n$3\r\nSET\r\n$7\r\nabcdefg\r\n$2\r\nEX\r\n$2\r\n30\r\n\
             *1\r\n$25\r\n<abcdefghijk000000000000>\r\n"
        );
    }

    #[test]
    fn a_padded_number_has_at_least_its_number_of_digits() {
        let key = |digits| vec![Part::Text(b"k"), Part::Padded(1, digits)];
        assert_eq!(
            filled(1, &[vec![key(4), key(1), vec![Part::Padded(1, 20)]]]),
            "*3\r\n$5\r\nk0010\r\n$3\r\nk11\r\n$20\r\n00000000000000000012\r\n"
        );
    }

    #[test]
    fn several_commands_are_sent_together() {
        assert_eq!(
            filled(1, &[vec![word("MULTI")], vec![word("INCR"), vec![Part::Digits(0)]], vec![word("EXEC")]]),
            "*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$12\r\n000000000000\r\n*1\r\n$4\r\nEXEC\r\n"
        );
    }

    #[test]
    fn raw_bytes_are_sent_as_they_are() {
        let (template, mut out) = (Template::raw(b"PING\r\n"), Vec::new());
        (0..2).for_each(|_| template.append(&mut Counting::default(), &mut out));
        assert_eq!(text(&out), "PING\r\nPING\r\n");
    }

    #[test]
    fn a_piece_of_any_length_is_whole() {
        for length in [0, 1, 40, 55, 56, 57, 64, 119, 120, 200] {
            let prefix = "k".repeat(length);
            let key = vec![Part::Text(prefix.as_bytes()), Part::Digits(0)];
            let expected = format!("*2\r\n$3\r\nGET\r\n${}\r\n{prefix}000000000000\r\n", length + KEY_DIGITS);
            assert_eq!(filled(1, &[vec![word("GET"), key]]), expected);
        }
    }
}
