//! What a request is made of, what it is laid out into, and what fills its slots.

use thiserror::Error;

use super::digits::KEY_DIGITS;

/// A command that a dialect does not have, or not so, in words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unspoken(pub(super) String);

/// A part of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// Sent as it is.
    Text(&'a [u8]),
    /// A number of this source in [`KEY_DIGITS`] digits.
    Digits(u16),
    /// A number of this source in as many digits as it has.
    Number(u16),
    /// The same with leading zeros up to so many digits.
    Padded(u16, u8),
    /// A value.
    Value {
        /// The number of its kind.
        kind: u16,
        /// How many bytes all of this kind have; `None` where that is drawn.
        size: Option<usize>,
    },
    /// A number that is known when the reply to the request before has come: nothing stands there yet.
    Awaited,
}

impl Part<'_> {
    /// How long it is, where that is known before it is filled.
    pub(super) fn length(&self) -> Option<usize> {
        match *self {
            Self::Text(text) => Some(text.len()),
            Self::Digits(_) => Some(KEY_DIGITS),
            Self::Value { size, .. } => size,
            Self::Number(_) | Self::Padded(..) | Self::Awaited => None,
        }
    }
}

/// What a command is laid out into, in the order of the wire.
pub(super) enum Laid<'a> {
    /// Written as it is.
    Bytes(Vec<u8>),
    /// A part whose length stands nowhere.
    Plain(Part<'a>),
    /// An argument that its length stands before.
    Measured(Head<Part<'a>>, Vec<Part<'a>>),
    /// A key of memcached whose length stands nowhere and whose bytes are known when it is filled.
    Key(Vec<Part<'a>>),
}

/// What stands before an argument that is measured.
#[derive(Debug, Clone)]
pub(super) enum Head<P> {
    /// `$`, its length, and the end of a line.
    Bulk,
    /// A blank, its length, and these, with the end of a line among them.
    Line(Vec<P>),
}

/// What fills the slots of a request, in the order in which they stand on the wire; a value whose size is drawn is drawn
/// before what stands between its length and it. The numbers of the sources and of the kinds of values are those that the
/// template was made with.
pub trait Fill {
    /// A value that is drawn and not written yet.
    type Value: Copy;
    /// The next number of a source; below 10^12 where it fills [`Part::Digits`].
    fn number(&mut self, source: u16) -> u64;
    /// Draws the next value of a kind, and says how many bytes it has.
    fn value(&mut self, kind: u16) -> (Self::Value, usize);
    /// Appends a value, or notes that it is written from where it lies; how many of its bytes are left out then.
    fn write(&mut self, value: Self::Value, out: &mut Vec<u8>) -> usize;
    /// A number is to be put in at this place when it is known.
    fn await_number(&mut self, at: usize);
    /// What stood from the first of these places to the second stands `by` bytes behind it now, and before it what stood
    /// behind the second.
    fn moved(&mut self, from: usize, behind: usize, by: usize);
    /// These bytes were to be a key and are none: the request must not be sent.
    fn refuse(&mut self, key: &[u8]);
}
