//! Finds the ends of replies in any dialect, across any number of reads, without storing the replies.

use super::{
    Parts, Piece, Reply,
    header::{ProtocolError, whole_reply},
    http::HttpSkipper,
    memcached::MemcachedSkipper,
    resp_skipper::RespSkipper,
};

/// The state of one connection's stream of replies. Between replies, it usually uses no heap memory.
#[derive(Debug)]
pub enum Skipper {
    /// For RESP2 and RESP3.
    Resp(RespSkipper),
    /// For memcached's text protocol.
    Memcached(MemcachedSkipper),
    /// For HTTP/1.1.
    Http(Box<HttpSkipper>),
}

impl Skipper {
    /// Removes the next reply from the front of `input` and returns its kind. If `parts` are wanted, removes and
    /// returns only the next part of a reply. Returns `None` if `input` ends first; the next call continues from there.
    ///
    /// # Errors
    /// When the bytes do not belong to the dialect. The rest of the stream cannot be parsed then.
    #[inline]
    pub fn advance<'r, 'i: 'r>(
        &'r mut self,
        input: &mut &'i [u8],
        parts: Parts,
    ) -> Result<Option<Piece<'r>>, ProtocolError> {
        match self {
            Self::Resp(skipper) => skipper.advance(input, parts),
            Self::Memcached(skipper) => skipper.advance(input, parts != Parts::None),
            Self::Http(skipper) => skipper.advance(input, parts != Parts::Headers),
        }
    }

    /// Removes a whole reply from the front of `input` if it is of the most frequent forms and no other reply is in
    /// progress.
    #[inline]
    pub fn take_whole(&self, input: &mut &[u8]) -> Option<Reply<'static>> {
        let Self::Resp(skipper) = self else { return None };
        let (reply, length) = if skipper.is_between() { whole_reply(input)? } else { return None };
        *input = &input[length..];
        Some(reply)
    }

    /// Works like [`advance`](Self::advance), for whole replies only; by HTTP, for replies to the ping (HEAD).
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    #[inline]
    pub fn next<'r, 'i: 'r>(&'r mut self, input: &mut &'i [u8]) -> Result<Option<Reply<'r>>, ProtocolError> {
        let has_bodies = !matches!(self, Self::Http(_));
        self.whole(input, has_bodies)
    }

    /// Works like [`next`](Self::next); by HTTP, replies have bodies if `has_bodies`.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    #[inline]
    pub fn whole<'r, 'i: 'r>(
        &'r mut self,
        input: &mut &'i [u8],
        has_bodies: bool,
    ) -> Result<Option<Reply<'r>>, ProtocolError> {
        Ok(match self.advance(input, if has_bodies { Parts::None } else { Parts::Headers })? {
            Some(Piece::Reply(reply)) => Some(reply),
            _ => None,
        })
    }

    /// Returns this skipper with the limits of a decoder that will read the replies: RESP is rejected if it is nested
    /// more than 32 deep, has more than 262 144 elements, or contains anything but replies.
    #[must_use]
    pub fn bounded(self) -> Self {
        match self {
            Self::Resp(skipper) => Self::Resp(skipper.bounded()),
            unnested @ (Self::Memcached(_) | Self::Http(_)) => unnested,
        }
    }

    /// Returns how many pushes began since the last call. Pushes are messages that a RESP3 server sends without a
    /// request, between replies.
    #[inline]
    pub fn take_pushes(&mut self) -> u64 {
        match self {
            Self::Resp(skipper) => skipper.take_pushes(),
            Self::Memcached(_) | Self::Http(_) => 0,
        }
    }

    /// Notes that the server has closed the connection. Returns whether that may follow a reply: by HTTP, a server may
    /// close a connection after any reply, and a reply may end with it, which is returned next.
    #[cold]
    pub fn end(&mut self) -> bool {
        if let Self::Http(skipper) = self { skipper.end() } else { false }
    }

    /// Returns whether the server closes the connection after the last reply.
    #[inline]
    pub fn is_last(&self) -> bool {
        if let Self::Http(skipper) = self { skipper.is_last() } else { false }
    }
}
