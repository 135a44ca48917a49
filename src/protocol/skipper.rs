//! Finds where replies end, across any number of reads, without keeping them, in whatever dialect they are.

use super::{header::ProtocolError, memcached::MemcachedSkipper, resp_skipper::RespSkipper};

/// What a finished reply was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply<'a> {
    /// Anything good that is something.
    Value,
    /// Null, `$-1`, `*-1` or `_`, or a list of nothing, `*0`, `%0` or `~0`.
    Nil,
    /// A condition on the number of an item that did not hold, since another was faster: memcached's `EXISTS` or `EX`.
    Conflict,
    /// An error, or what holds one: the line of the first, without `-`: `LOADING Redis is loading the dataset in memory`.
    Error(&'a [u8]),
}

/// What is handed out of a stream in which parts of replies count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// An element of the reply to come, of that itself and not of its elements, that is no error.
    Element {
        /// Its place, from 0.
        place: u64,
        /// Whether it is null, or a list of nothing.
        is_null: bool,
    },
    /// The number by which memcached knows the item as it is in the reply to come (its "cas unique").
    Cas(u64),
    /// A reply.
    Reply(Reply<'a>),
}

/// The state of one connection's reply stream. An idle one holds no heap memory.
#[derive(Debug)]
pub enum Skipper {
    /// Of RESP2 and RESP3.
    Resp(RespSkipper),
    /// Of memcached's text.
    Memcached(MemcachedSkipper),
}

impl Skipper {
    /// Hands each reply that ends in `input` to `take`, in their order, and before it its parts if they are wanted, each with
    /// how many bytes of `input` lie behind it; the next bytes carry on behind them.
    ///
    /// # Errors
    /// As [`next`](Self::next), or what `take` says. The stream cannot be followed any further then.
    #[inline]
    pub fn each<E: From<ProtocolError>>(
        &mut self,
        input: &[u8],
        wants_parts: bool,
        take: impl FnMut(Piece, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Resp(skipper) => skipper.each(input, wants_parts, take),
            Self::Memcached(skipper) => skipper.each(input, wants_parts, take),
        }
    }

    /// Takes bytes from the front of `input` up to the end of the next reply, and says what it was. `None` when
    /// `input` is used up first; the next bytes carry on from there.
    ///
    /// # Errors
    /// When the bytes are none of the dialect. The stream cannot be followed any further then.
    #[inline]
    pub fn next<'r, 'i: 'r>(&'r mut self, input: &mut &'i [u8]) -> Result<Option<Reply<'r>>, ProtocolError> {
        match self {
            Self::Resp(skipper) => skipper.next(input),
            Self::Memcached(skipper) => skipper.next(input),
        }
    }
}
