//! Finds the ends of replies, across any number of reads, without storing them, in any dialect.

use super::{Piece, Reply, header::ProtocolError, memcached::MemcachedSkipper, resp_skipper::RespSkipper};

/// The state of one connection's reply stream. An idle one uses no heap memory.
#[derive(Debug)]
pub enum Skipper {
    /// For RESP2 and RESP3.
    Resp(RespSkipper),
    /// For memcached's text protocol.
    Memcached(MemcachedSkipper),
}

impl Skipper {
    /// Removes bytes from the front of `input` up to the end of the next reply, or of its next part if parts are
    /// wanted, and returns its kind. `None` if `input` ends before; the next call continues from there.
    ///
    /// # Errors
    /// When the bytes do not belong to the dialect. The rest of the stream cannot be parsed then.
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

    /// Works like [`advance`](Self::advance), for whole replies only.
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

    /// Returns this skipper with limits for a decoder that follows: it rejects RESP that is nested more than 32
    /// deep, has more than 262 144 elements, or contains anything but replies.
    #[must_use]
    pub fn bounded(self) -> Self {
        match self {
            Self::Resp(skipper) => Self::Resp(skipper.bounded()),
            unnested @ Self::Memcached(_) => unnested,
        }
    }

    /// Returns how many pushes began since the last call: messages that a RESP3 server sends without a request,
    /// between replies.
    #[inline]
    pub fn take_pushes(&mut self) -> u64 {
        match self {
            Self::Resp(skipper) => skipper.take_pushes(),
            Self::Memcached(_) => 0,
        }
    }
}
