//! The parts of a request template, their layout, and the interface through which the slots are filled.

use thiserror::Error;

use super::digits::KEY_DIGITS;

/// The error for a command that a dialect (a server's protocol) does not have, or for arguments that the
/// dialect does not accept.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct UnsupportedCommand(pub(super) String);

/// A part of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentPart {
    /// Literal bytes.
    Text(Vec<u8>),
    /// A number with [`KEY_DIGITS`] digits, from the source with this index. A source supplies a new number
    /// for each request.
    Digits(u16),
    /// A number from this source without leading zeros.
    Number(u16),
    /// A number from this source with leading zeros up to a number of digits.
    Padded(u16, u8),
    /// Data that is derived from a key.
    Derived(KeyPart, Derived),
    /// A value of the workload.
    Value {
        /// The index of the value's kind.
        kind: u16,
        /// The size of all values of this kind, in bytes, or `None` if the size is random.
        size: Option<usize>,
    },
    /// A number that is inserted later. This number comes from the reply to the previous request.
    Awaited,
}

/// The kinds of data that are derived from a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Derived {
    /// Java's `hashCode`, as a signed number.
    JavaHash,
    /// The value that YCSB derives for this field, with this length in bytes.
    Value(Vec<u8>, usize),
    /// The [vector](super::append_vector) of the key's number. The fields are the vector's set and its number
    /// of dimensions.
    Vector(u16, usize),
    /// The same vector as a list of numbers in JSON, for the body of an HTTP request.
    VectorList(u16, usize),
}

impl Derived {
    /// Returns the length of the data in bytes, if the length is the same for all keys.
    pub(crate) fn length(&self) -> Option<usize> {
        match self {
            Self::JavaHash | Self::VectorList(..) => None,
            Self::Value(_, length) => Some(*length),
            Self::Vector(_, dimensions) => Some(dimensions * size_of::<f32>()),
        }
    }
}

/// A key from which other parts are derived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPart {
    /// The text before the number, and the hash of this text.
    pub(super) prefix: String,
    pub(super) hash: i32,
    /// The index of the number's source.
    pub(super) source: u16,
    /// The smallest number of digits.
    pub(super) digits: u8,
}

impl KeyPart {
    /// Returns the key with this text before a number of at least `digits` digits. Source number `source` supplies the
    /// number.
    pub fn new(prefix: &str, source: u16, digits: u8) -> Self {
        Self { prefix: prefix.to_owned(), hash: java_hash(0, prefix.encode_utf16()), source, digits }
    }
}

impl ArgumentPart {
    /// Returns a part of literal bytes.
    pub fn text(bytes: impl Into<Vec<u8>>) -> Self {
        Self::Text(bytes.into())
    }

    /// Returns the length of the part in bytes, or `None` if the length is unknown before the part is filled.
    pub(super) fn length(&self) -> Option<usize> {
        match self {
            Self::Text(text) => Some(text.len()),
            Self::Digits(_) => Some(KEY_DIGITS),
            Self::Value { size, .. } => *size,
            Self::Derived(_, derived) => derived.length(),
            Self::Number(_) | Self::Padded(..) | Self::Awaited => None,
        }
    }
}

/// Returns Java's `hashCode` of a longer text. `before` is the hash of the text's beginning. `text` is the rest, in
/// UTF-16. The hash of an empty text is 0.
pub(crate) fn java_hash(before: i32, text: impl IntoIterator<Item = u16>) -> i32 {
    text.into_iter().fold(before, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()))
}

/// An element of a command's layout. Elements are in the order in which they are sent.
pub(super) enum LayoutElement {
    /// A part that is sent without a length before it.
    Plain(ArgumentPart),
    /// An argument that is sent after its length.
    Measured(ArgumentHead, Vec<ArgumentPart>),
    /// A key of memcached or a path of HTTP, which is sent without a length before it. The function checks the bytes of
    /// the key or path after they are filled.
    Key(Vec<ArgumentPart>, fn(&[u8]) -> bool),
}

impl LayoutElement {
    /// Returns literal bytes as an element.
    pub(super) fn text(bytes: impl Into<Vec<u8>>) -> Self {
        Self::Plain(ArgumentPart::text(bytes))
    }
}

/// The bytes before an argument, which contain the length of the argument.
#[derive(Debug, Clone)]
pub(super) enum ArgumentHead {
    /// `$`, the length, and the end of a line.
    Bulk,
    /// A space, the length, and these parts. The parts include the end of the line.
    Line(Vec<ArgumentPart>),
}

/// Fills the slots of a request, in the order in which they are sent. There is one exception: the filler draws a value
/// of random size before it writes the length of the value. `source` and `kind` are the indices that the template uses.
pub trait FillSlots {
    /// A value that was drawn and is not written yet.
    type Value: Copy;
    /// Returns the next number of a source. A number for [`ArgumentPart::Digits`] must be below 10^12.
    fn number(&mut self, source: u16) -> u64;
    /// Draws the next value of a kind. Returns the value, and the size of the value in bytes.
    fn value(&mut self, kind: u16) -> (Self::Value, usize);
    /// Appends a value to `out`, or records that the value is sent from its pool instead. Returns the number of value
    /// bytes that are not in `out`.
    fn write(&mut self, value: Self::Value, out: &mut Vec<u8>) -> usize;
    /// Records that a number must later be inserted at this position.
    fn await_number(&mut self, at: usize);
    /// Records a move of bytes. The bytes from `from` to `behind` are now `by` bytes nearer to the end. The `by` bytes
    /// that followed these bytes now precede them.
    fn moved(&mut self, from: usize, behind: usize, by: usize);
    /// Reports bytes that are not a valid key. The request with these bytes must not be sent.
    fn refuse(&mut self, key: &[u8]);
}
