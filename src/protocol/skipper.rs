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
    /// Takes bytes from the front of `input` up to the end of the next reply, or of the next part of one if parts are wanted,
    /// and says what it was. `None` when `input` is used up first; the next bytes carry on from there.
    ///
    /// # Errors
    /// When the bytes are none of the dialect. The stream cannot be followed any further then.
    #[inline]
    pub fn advance<'r, 'i: 'r>(
        &'r mut self,
        input: &mut &'i [u8],
        wants_parts: bool,
    ) -> Result<Option<Piece<'r>>, ProtocolError> {
        match self {
            Self::Resp(skipper) => skipper.advance(input, wants_parts),
            Self::Memcached(skipper) => skipper.advance(input, wants_parts),
        }
    }

    /// The same of whole replies alone.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    #[inline]
    pub fn next<'r, 'i: 'r>(&'r mut self, input: &mut &'i [u8]) -> Result<Option<Reply<'r>>, ProtocolError> {
        Ok(match self.advance(input, false)? {
            Some(Piece::Reply(reply)) => Some(reply),
            _ => None,
        })
    }
}
