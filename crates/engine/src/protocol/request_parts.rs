//! The parts of a request, their layout, and the interface that fills its slots.

use thiserror::Error;

use super::digits::KEY_DIGITS;

/// The error for a command that a dialect does not have, or not in this form.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unspoken(pub(super) String);

/// A part of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// Literal bytes.
    Text(&'a [u8]),
    /// A number of this source in [`KEY_DIGITS`] digits.
    Digits(u16),
    /// A number of this source without leading zeros.
    Number(u16),
    /// A number of this source with leading zeros up to this many digits.
    Padded(u16, u8),
    /// What is derived from a key.
    Derived(KeyPart<'a>, Derived<&'a [u8]>),
    /// A value.
    Value {
        /// The index of the value's kind.
        kind: u16,
        /// The size of all values of this kind, in bytes; `None` if it is random.
        size: Option<usize>,
    },
    /// A number from the reply to the previous request, which is inserted later.
    Awaited,
}

/// What is derived from a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Derived<F> {
    /// Java's `hashCode`, as a signed number.
    JavaHash,
    /// The value of this field as YCSB derives it, of so many bytes.
    Value(F, usize),
    /// The [vector](super::append_vector) of the key's number in the set with this number, of so many dimensions.
    Vector(u16, usize),
}

impl<F> Derived<F> {
    /// Returns the same with another form of the field.
    pub(crate) fn with_field<'a, G>(&'a self, form: impl FnOnce(&'a F) -> G) -> Derived<G> {
        match self {
            Self::JavaHash => Derived::JavaHash,
            Self::Value(field, length) => Derived::Value(form(field), *length),
            Self::Vector(set, dimensions) => Derived::Vector(*set, *dimensions),
        }
    }

    /// Returns the length in bytes, if it is the same for all keys.
    pub(crate) fn length(&self) -> Option<usize> {
        match self {
            Self::JavaHash => None,
            Self::Value(_, length) => Some(*length),
            Self::Vector(_, dimensions) => Some(dimensions * size_of::<f32>()),
        }
    }
}

/// A key from which other parts are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPart<'a> {
    /// The text before its number.
    pub prefix: &'a str,
    /// The source of the number.
    pub source: u16,
    /// The least number of digits.
    pub digits: u8,
}

impl Part<'_> {
    /// Returns the length of the part in bytes, if that is known before the part is filled.
    pub(super) fn length(&self) -> Option<usize> {
        match *self {
            Self::Text(text) => Some(text.len()),
            Self::Digits(_) => Some(KEY_DIGITS),
            Self::Value { size, .. } => size,
            Self::Derived(_, derived) => derived.length(),
            Self::Number(_) | Self::Padded(..) | Self::Awaited => None,
        }
    }
}

/// Continues the `hashCode` of a text in Java with these characters; the hash of an empty text is 0.
pub(crate) fn java_hash(before: i32, text: impl IntoIterator<Item = u16>) -> i32 {
    text.into_iter().fold(before, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()))
}

/// An element of a command's layout. Elements are in the order in which they are sent.
pub(super) enum Laid<'a> {
    /// Literal bytes.
    Bytes(Vec<u8>),
    /// A part that is sent without its length.
    Plain(Part<'a>),
    /// An argument that is sent after its length.
    Measured(Head<Part<'a>>, Vec<Part<'a>>),
    /// A key of memcached or a path of HTTP, which is sent without its length. Its bytes are known only when it is filled,
    /// and are then checked by the function.
    Key(Vec<Part<'a>>, fn(&[u8]) -> bool),
}

/// The bytes before an argument, which contain the argument's length.
#[derive(Debug, Clone)]
pub(super) enum Head<P> {
    /// `$`, the length, and the end of a line.
    Bulk,
    /// A space, the length, and these parts, which include the end of the line.
    Line(Vec<P>),
}

/// Fills the slots of a request in the order in which they are sent; but a value of random size is drawn before its
/// length is written. `source` and `kind` are the indices that the template uses.
pub trait Fill {
    /// A value that is drawn and not written yet.
    type Value: Copy;
    /// Returns the next number of a source; below 10^12 if it fills [`Part::Digits`].
    fn number(&mut self, source: u16) -> u64;
    /// Draws the next value of a kind. Returns the value with its size in bytes.
    fn value(&mut self, kind: u16) -> (Self::Value, usize);
    /// Appends a value to `out`, or records that the value is sent from its pool. Returns how many bytes are therefore
    /// not in `out`.
    fn write(&mut self, value: Self::Value, out: &mut Vec<u8>) -> usize;
    /// Records that a number is to be inserted at this position later.
    fn await_number(&mut self, at: usize);
    /// Records that the bytes from `from` to `behind` have moved `by` bytes towards the end, because the bytes after
    /// `behind` were moved before them.
    fn moved(&mut self, from: usize, behind: usize, by: usize);
    /// Reports bytes that are not a valid key: the request must not be sent.
    fn refuse(&mut self, key: &[u8]);
}
