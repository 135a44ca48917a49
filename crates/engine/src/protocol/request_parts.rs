//! The parts of a request, their layout, and the interface that fills its slots.

use thiserror::Error;

use super::digits::KEY_DIGITS;

/// A command that a dialect does not have, or not in this form, in words.
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
    /// A value.
    Value {
        /// The number of its kind.
        kind: u16,
        /// The size of all values of this kind, in bytes; `None` if it is random.
        size: Option<usize>,
    },
    /// A number from the reply to the previous request: nothing is written yet.
    Awaited,
}

impl Part<'_> {
    /// Returns its length, if that is known before it is filled.
    pub(super) fn length(&self) -> Option<usize> {
        match *self {
            Self::Text(text) => Some(text.len()),
            Self::Digits(_) => Some(KEY_DIGITS),
            Self::Value { size, .. } => size,
            Self::Number(_) | Self::Padded(..) | Self::Awaited => None,
        }
    }
}

/// An element of a command's layout, in the order of the wire.
pub(super) enum Laid<'a> {
    /// Literal bytes.
    Bytes(Vec<u8>),
    /// A part without a written length.
    Plain(Part<'a>),
    /// An argument after its length.
    Measured(Head<Part<'a>>, Vec<Part<'a>>),
    /// A key of memcached without a written length; its bytes are known once it is filled.
    Key(Vec<Part<'a>>),
}

/// The bytes before an argument with a length.
#[derive(Debug, Clone)]
pub(super) enum Head<P> {
    /// `$`, the length, and the end of a line.
    Bulk,
    /// A blank, the length, and these parts, which contain the end of a line.
    Line(Vec<P>),
}

/// Fills the slots of a request, in the order of the wire; a value of random size is drawn before the bytes between
/// its length and the value. The numbers of sources and kinds of values are those of the template.
pub trait Fill {
    /// A value that is drawn and not written yet.
    type Value: Copy;
    /// Returns the next number of a source; below 10^12 if it fills [`Part::Digits`].
    fn number(&mut self, source: u16) -> u64;
    /// Draws the next value of a kind. Returns it with its size in bytes.
    fn value(&mut self, kind: u16) -> (Self::Value, usize);
    /// Appends a value, or records that it is written from its pool. Returns how many bytes are left out then.
    fn write(&mut self, value: Self::Value, out: &mut Vec<u8>) -> usize;
    /// Records that a number is to be inserted at this position later.
    fn await_number(&mut self, at: usize);
    /// Records that the bytes from the first to the second position have moved `by` bytes back, and the bytes after
    /// the second are now before them.
    fn moved(&mut self, from: usize, behind: usize, by: usize);
    /// Reports bytes that are not a valid key: the request must not be sent.
    fn refuse(&mut self, key: &[u8]);
}
