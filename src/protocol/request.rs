//! Requests as bytes: commands encoded once, with slots that are filled for each request.
//!
//! ```text
//! *3\r\n$3\r\nSET\r\n$19\r\nredyno:000000000000\r\n$32\r\n … \r\n
//! └───────────────────── piece ──── digits ───┴─────────┴ value ┴ piece
//! ```
//! A slot of digits has twelve of them, as redis-benchmark's `__rand_int__`. A piece is copied in blocks of a fixed size, a
//! little too much of it, which takes a few vector moves where a copy of the exact length is a call.

use super::Dialect;

/// Digits of a key's number.
pub const KEY_DIGITS: usize = 12;

/// Bytes copied at a time: more than a whole GET or INCR.
const BLOCK: usize = 64;

/// A part of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<'a> {
    /// Sent as it is.
    Text(&'a [u8]),
    /// A number of this source in [`KEY_DIGITS`] digits.
    Digits(u16),
    /// A number of this source in as many digits as it has.
    Number(u16),
    /// A value of so many bytes.
    Value(usize),
}

/// What fills the slots of a request, in the order in which they stand on the wire. The numbers of the sources are those
/// that the template was made with.
pub trait Fill {
    /// The next number of a source; below 10^12 where it fills [`Part::Digits`].
    fn number(&mut self, source: u16) -> u64;
    /// The next value, which is as long as its slot.
    fn value(&mut self) -> &[u8];
    /// Whether the next value is written from where it lies: it is left out then, behind so many bytes.
    fn leaves_out_value(&mut self, behind: usize) -> bool;
}

/// Commands encoded in a dialect that are sent in one go, with any number of slots.
#[derive(Debug, Clone)]
pub struct Template {
    dialect: Dialect,
    pieces: Vec<Piece>,
}

/// Bytes whose length is known, and what follows them.
#[derive(Debug, Clone)]
struct Piece {
    /// The bytes, padded to whole blocks.
    blocks: Vec<[u8; BLOCK]>,
    length: usize,
    /// Where digits stand in them, and their sources.
    digits: Vec<(usize, u16)>,
    then: Then,
}

/// What follows a piece.
#[derive(Debug, Clone)]
enum Then {
    /// The next piece, or nothing.
    Piece,
    /// A value.
    Value,
    /// An argument whose length is known when it is filled.
    Argument(Vec<Fragment>),
}

/// A part of such an argument.
#[derive(Debug, Clone)]
enum Fragment {
    Text(Vec<u8>),
    Digits(u16),
    Number(u16),
    Value,
}

impl Template {
    /// Encodes commands, each a list of arguments.
    pub fn new(dialect: Dialect, commands: &[Vec<Vec<Part>>]) -> Self {
        let mut making = Making { dialect, pieces: Vec::new(), bytes: Vec::new(), digits: Vec::new() };
        for arguments in commands {
            making.bytes.extend(dialect.command_head(arguments.len()));
            arguments.iter().for_each(|parts| making.add_argument(parts));
        }
        making.end_piece(Then::Piece);
        Self { dialect, pieces: making.pieces }
    }

    /// Appends the commands to `out`, their slots filled by `fill`.
    #[inline]
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
                Then::Value if fill.leaves_out_value(out.len()) => {}
                Then::Value => out.extend_from_slice(fill.value()),
                Then::Argument(fragments) => append_argument(self.dialect, fragments, fill, out),
            }
        }
    }
}

/// Appends an argument, and then puts its length before it.
fn append_argument(dialect: Dialect, fragments: &[Fragment], fill: &mut impl Fill, out: &mut Vec<u8>) {
    let start = out.len();
    for fragment in fragments {
        match fragment {
            Fragment::Text(text) => out.extend_from_slice(text),
            Fragment::Digits(source) => out.extend_from_slice(&digits(fill.number(*source))),
            Fragment::Number(source) => {
                out.extend_from_slice(itoa::Buffer::new().format(fill.number(*source)).as_bytes());
            }
            Fragment::Value => out.extend_from_slice(fill.value()),
        }
    }
    let head = dialect.argument_head(out.len() - start);
    out.splice(start..start, head);
    out.extend_from_slice(dialect.argument_end());
}

/// A template that is being made.
struct Making {
    dialect: Dialect,
    pieces: Vec<Piece>,
    /// The piece that is not ended yet.
    bytes: Vec<u8>,
    digits: Vec<(usize, u16)>,
}

impl Making {
    fn add_argument(&mut self, parts: &[Part]) {
        let lengths = parts.iter().map(|part| match part {
            Part::Text(text) => Some(text.len()),
            Part::Digits(_) => Some(KEY_DIGITS),
            Part::Value(size) => Some(*size),
            Part::Number(_) => None,
        });
        match lengths.sum::<Option<usize>>() {
            Some(length) => {
                self.bytes.extend(self.dialect.argument_head(length));
                parts.iter().for_each(|part| self.add_part(part));
                self.bytes.extend_from_slice(self.dialect.argument_end());
            }
            None => self.end_piece(Then::Argument(parts.iter().map(Fragment::of).collect())),
        }
    }

    /// Adds a part whose length is known.
    fn add_part(&mut self, part: &Part) {
        match part {
            Part::Text(text) => self.bytes.extend_from_slice(text),
            Part::Digits(source) | Part::Number(source) => {
                self.digits.push((self.bytes.len(), *source));
                self.bytes.extend_from_slice(&[b'0'; KEY_DIGITS]);
            }
            Part::Value(_) => self.end_piece(Then::Value),
        }
    }

    fn end_piece(&mut self, then: Then) {
        let length = self.bytes.len();
        self.bytes.resize(length.next_multiple_of(BLOCK), 0);
        let blocks = std::mem::take(&mut self.bytes).as_chunks().0.to_vec();
        self.pieces.push(Piece { blocks, length, digits: std::mem::take(&mut self.digits), then });
    }
}

impl Fragment {
    fn of(part: &Part) -> Self {
        match part {
            Part::Text(text) => Self::Text(text.to_vec()),
            Part::Digits(source) => Self::Digits(*source),
            Part::Number(source) => Self::Number(*source),
            Part::Value(_) => Self::Value,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    /// Counts up: the first slot of a source is filled with 10 times its number, each next with one more.
    #[derive(Default)]
    struct Counting([u64; 4], u8);

    impl Fill for Counting {
        fn number(&mut self, source: u16) -> u64 {
            let count = &mut self.0[usize::from(source)];
            *count += 1;
            *count - 1 + 10 * u64::from(source)
        }

        fn value(&mut self) -> &[u8] {
            self.1 += 1;
            [b"abc", b"def"][usize::from(self.1 - 1)]
        }

        fn leaves_out_value(&mut self, _: usize) -> bool {
            false
        }
    }

    fn filled(times: usize, commands: &[Vec<Vec<Part>>]) -> String {
        let (template, mut fill, mut out) =
            (Template::new(Dialect::Resp2, commands), Counting::default(), Vec::new());
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
            filled(2, &[vec![word("SET"), key, vec![Part::Value(3)]]]),
            "*3\r\n$3\r\nSET\r\n$14\r\nk:000000000010\r\n$3\r\nabc\r\n\
             *3\r\n$3\r\nSET\r\n$14\r\nk:000000000011\r\n$3\r\ndef\r\n"
        );
    }

    #[test]
    fn slots_stand_in_any_order_any_number_of_times_and_inside_of_text() {
        let json = vec![Part::Text(b"<"), Part::Value(3), Part::Text(b">"), Part::Digits(0)];
        let mixed = vec![Part::Text(b"n"), Part::Number(1), Part::Value(3), Part::Digits(0)];
        assert_eq!(
            filled(1, &[vec![json, vec![Part::Number(1)], mixed, vec![Part::Digits(2), Part::Digits(2)]]]),
            "*4\r\n$17\r\n<abc>000000000000\r\n$2\r\n10\r\n$18\r\nn11def000000000001\r\n\
             $24\r\n000000000020000000000021\r\n"
        );
    }

    #[test]
    fn several_commands_are_sent_in_one_go() {
        assert_eq!(
            filled(1, &[vec![word("MULTI")], vec![word("INCR"), vec![Part::Digits(0)]], vec![word("EXEC")]]),
            "*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$12\r\n000000000000\r\n*1\r\n$4\r\nEXEC\r\n"
        );
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
