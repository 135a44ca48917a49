//! Finds where replies end, across any number of reads, without keeping them, in whatever dialect they are.

use super::{Piece, Reply, header::ProtocolError, memcached::MemcachedSkipper, resp_skipper::RespSkipper};

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

    /// The same, which refuses what a decoder behind it cannot bear: RESP that is nested more than 32 deep, or has more than
    /// 262 144 elements, or something beside replies.
    #[must_use]
    pub fn bounded(self) -> Self {
        match self {
            Self::Resp(skipper) => Self::Resp(skipper.bounded()),
            unnested @ Self::Memcached(_) => unnested,
        }
    }

    /// How many pushes began since this was last asked: what a server says unasked in RESP3, between replies.
    #[inline]
    pub fn take_pushes(&mut self) -> u64 {
        match self {
            Self::Resp(skipper) => skipper.take_pushes(),
            Self::Memcached(_) => 0,
        }
    }
}
