//! Templates of requests. A template contains commands that are encoded once, with slots that are filled for each
//! request.
//!
//! ```text
//! *3\r\n$3\r\nSET\r\n$19\r\nredyno:000000000000\r\n$32\r\n … \r\n
//! └───────────────────── piece ──── digits ───┴─────────┴ value ┴ piece
//! ```
//! The dialect (the server's protocol) decides the layout of a command, and where the length of an argument is written.
//! A slot of digits has twelve digits, like redis-benchmark's `__rand_int__`. A piece is copied in blocks of a fixed
//! size, and the excess is cut off. Blocks cost less time than an exact copy, because an exact copy needs a function
//! call.

mod making;

use super::{
    ArgumentPart, Derived, Dialect, FillSlots, KeyPart, UnsupportedCommand, append_vector,
    digits::digits,
    list_of,
    request_parts::{ArgumentHead, LayoutElement, java_hash},
    resp,
};
use making::TemplateBuilder;

/// The size of a block in bytes. A GET or an INCR fits into one block.
const BLOCK: usize = 64;

/// A template: encoded commands that are sent together, with any number of slots.
#[derive(Debug, Clone)]
pub struct Template {
    pieces: Vec<TemplatePiece>,
}

/// A part of a template: bytes of a known length, and the slot after these bytes.
#[derive(Debug, Clone)]
struct TemplatePiece {
    /// The bytes, padded to whole blocks.
    blocks: Vec<[u8; BLOCK]>,
    length: usize,
    /// For each slot of digits: its position in the bytes, and the index of the source of its numbers.
    digits: Vec<(usize, u16)>,
    then: NextSlot,
}

/// The slot that follows a piece.
#[derive(Debug, Clone)]
enum NextSlot {
    /// There is no slot. The next piece or the end of the template follows.
    Piece,
    /// A value of the kind with this index. The bytes of the piece contain the length of the value.
    Value(u16),
    /// Any other kind of slot.
    Slot(Box<RareSlot>),
}

/// The less frequent kinds of slots. A separate function fills these slots. The separate function keeps the code for
/// most requests short.
#[derive(Debug, Clone)]
enum RareSlot {
    /// An argument that is a value of this kind, with its length before it.
    Sized(ArgumentHead, u16),
    /// A number, without its length.
    Plain(ArgumentPart),
    /// An argument that is a number of this source, with its length before it.
    SizedNumber(u16),
    /// Any other argument. The length of the argument is known only after the argument is filled.
    Argument(ArgumentHead, Vec<ArgumentPart>),
    /// A key of memcached or a path of HTTP, and the function that checks the filled bytes.
    Key(Vec<ArgumentPart>, fn(&[u8]) -> bool),
}

impl KeyPart {
    /// Appends the bytes that are derived from the key with this number: a vector, a hash, or a text. The text is
    /// `key:field:hash:hash…`, cut to its length. In the text, each hash is the hash of all text before it.
    fn append(&self, derived: &Derived, number: u64, out: &mut Vec<u8>) {
        match *derived {
            Derived::Vector(set, dimensions) => return append_vector((set, number), dimensions, out),
            Derived::VectorList(set, dimensions) => {
                let mut vector = Vec::new();
                append_vector((set, number), dimensions, &mut vector);
                return out.extend_from_slice(list_of(&vector).as_bytes());
            }
            Derived::JavaHash | Derived::Value(..) => {}
        }
        let start = out.len();
        out.extend_from_slice(self.prefix.as_bytes());
        let begin = out.len();
        append_padded(number, self.digits, out);
        let hash = |out: &[u8]| java_hash(self.hash, out[begin..].iter().map(|byte| u16::from(*byte)));
        let Derived::Value(field, length) = derived else {
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
    /// Fails if the dialect does not have one of the commands.
    pub fn new(dialect: Dialect, commands: &[Vec<Vec<ArgumentPart>>]) -> Result<Self, UnsupportedCommand> {
        let mut making = TemplateBuilder::default();
        for arguments in commands {
            dialect.lay_out(arguments)?.into_iter().for_each(|laid| making.add(laid));
        }
        making.end_piece(NextSlot::Piece);
        Ok(Self { pieces: making.pieces })
    }

    /// Creates a template of these bytes, unchanged.
    pub fn raw(bytes: &[u8]) -> Self {
        let mut making = TemplateBuilder::default();
        making.add(LayoutElement::text(bytes));
        making.end_piece(NextSlot::Piece);
        Self { pieces: making.pieces }
    }

    /// Returns whether all slots are digits with numbers from the first `sources` sources. Requests from such a
    /// template all have the same length.
    pub fn has_only_digits(&self, sources: usize) -> bool {
        let [only] = self.pieces.as_slice() else { return false };
        let digits = only.digits.iter().all(|(_, source)| usize::from(*source) < sources);
        digits && matches!(only.then, NextSlot::Piece)
    }

    /// Appends the commands to `out`. `fill` fills the slots of the commands.
    #[inline(always)]
    pub fn append(&self, fill: &mut impl FillSlots, out: &mut Vec<u8>) {
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
                NextSlot::Piece => {}
                NextSlot::Value(kind) => {
                    let (value, _) = fill.value(*kind);
                    fill.write(value, out);
                }
                NextSlot::Slot(slot) => slot.append(fill, out),
            }
        }
    }
}

impl RareSlot {
    #[inline(never)]
    fn append(&self, fill: &mut impl FillSlots, out: &mut Vec<u8>) {
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

impl ArgumentHead {
    /// Appends the bytes that precede an argument of `length` bytes.
    #[inline]
    fn append(&self, length: usize, fill: &mut impl FillSlots, out: &mut Vec<u8>) {
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

impl ArgumentPart {
    /// Appends the part. Returns how many bytes of the part are not in `out`. The bytes that are not in `out` are sent
    /// from the pool of values.
    fn append(&self, fill: &mut impl FillSlots, out: &mut Vec<u8>) -> usize {
        match self {
            Self::Text(text) => out.extend_from_slice(text),
            Self::Digits(source) => out.extend_from_slice(&digits(fill.number(*source))),
            Self::Number(source) => append_number(fill.number(*source), out),
            Self::Padded(source, least) => append_padded(fill.number(*source), *least, out),
            Self::Derived(key, derived) => key.append(derived, fill.number(key.source), out),
            Self::Awaited => fill.await_number(out.len()),
            Self::Value { kind, .. } => {
                let (value, _) = fill.value(*kind);
                return fill.write(value, out);
            }
        }
        0
    }
}

/// Appends an argument, and then inserts the argument's length before the argument.
fn append_argument(
    head: &ArgumentHead,
    fragments: &[ArgumentPart],
    fill: &mut impl FillSlots,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    let left_out: usize = fragments.iter().map(|fragment| fragment.append(fill, out)).sum();
    let end = out.len();
    head.append(end - start + left_out, fill, out);
    let head = out.len() - end;
    out[start..].rotate_right(head);
    fill.moved(start, end, head);
}

/// Appends a key. Reports the key to `fill` if it is not valid.
fn append_key(
    fragments: &[ArgumentPart],
    is_good: fn(&[u8]) -> bool,
    fill: &mut impl FillSlots,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    let left_out: usize = fragments.iter().map(|fragment| fragment.append(fill, out)).sum();
    if left_out > 0 || !is_good(&out[start..]) {
        fill.refuse(&out[start..]);
    }
}

#[cfg(test)]
mod tests;
