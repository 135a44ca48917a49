//! Finds where replies end in any protocol, even if a reply arrives in many reads. The replies are not stored.

use super::{
    Reply, ReplyParts, ReplyPiece,
    header::{ProtocolError, whole_reply},
    http::HttpSkipper,
    memcached::MemcachedSkipper,
    resp_skipper::RespSkipper,
};

/// The state of one connection's stream of replies. Between replies, this state usually uses no heap memory.
#[derive(Debug)]
pub enum Skipper {
    /// The skipper for RESP2 and RESP3.
    Resp(RespSkipper),
    /// The skipper for memcached's text protocol.
    Memcached(MemcachedSkipper),
    /// The skipper for HTTP/1.1.
    Http(Box<HttpSkipper>),
}

impl Skipper {
    /// Removes the next reply from the front of `input`, and returns the kind of the reply. If `parts` are requested, a
    /// call may remove and return only the next part of a reply. Returns `None` if `input` ends before the end of the
    /// reply. The next call continues with the rest of the reply.
    ///
    /// # Errors
    /// Fails if the bytes do not belong to the dialect. The rest of the stream cannot be parsed after this error.
    #[inline]
    pub fn advance<'r, 'i: 'r>(
        &'r mut self,
        input: &mut &'i [u8],
        parts: ReplyParts,
    ) -> Result<Option<ReplyPiece<'r>>, ProtocolError> {
        match self {
            Self::Resp(skipper) => skipper.advance(input, parts),
            Self::Memcached(skipper) => skipper.advance(input, parts != ReplyParts::None),
            Self::Http(skipper) => skipper.advance(input, parts != ReplyParts::Headers),
        }
    }

    /// Removes a complete reply from the front of `input` if the reply has one of the most frequent forms. Returns
    /// `None` for any other reply, and while an incomplete reply is being read.
    #[inline]
    pub fn take_whole(&self, input: &mut &[u8]) -> Option<Reply<'static>> {
        let Self::Resp(skipper) = self else { return None };
        let (reply, length) = if skipper.is_between() { whole_reply(input)? } else { return None };
        *input = &input[length..];
        Some(reply)
    }

    /// Works like [`advance`](Self::advance), but returns complete replies only. For HTTP, the replies must be replies
    /// to the ping (HEAD).
    ///
    /// # Errors
    /// Fails in the same cases as [`advance`](Self::advance).
    #[inline]
    pub fn next<'r, 'i: 'r>(&'r mut self, input: &mut &'i [u8]) -> Result<Option<Reply<'r>>, ProtocolError> {
        let has_bodies = !matches!(self, Self::Http(_));
        self.whole(input, has_bodies)
    }

    /// Works like [`next`](Self::next). `has_bodies` says whether the replies of HTTP have bodies.
    ///
    /// # Errors
    /// Fails in the same cases as [`advance`](Self::advance).
    #[inline]
    pub fn whole<'r, 'i: 'r>(
        &'r mut self,
        input: &mut &'i [u8],
        has_bodies: bool,
    ) -> Result<Option<Reply<'r>>, ProtocolError> {
        Ok(match self.advance(input, if has_bodies { ReplyParts::None } else { ReplyParts::Headers })? {
            Some(ReplyPiece::Reply(reply)) => Some(reply),
            _ => None,
        })
    }

    /// Returns this skipper with the limits of a decoder that will read the replies. A RESP reply is then rejected if
    /// it exceeds one of these limits: 32 levels of nesting, and 262 144 elements. A reply with a push or an attribute
    /// is also rejected.
    #[must_use]
    pub fn bounded(self) -> Self {
        match self {
            Self::Resp(skipper) => Self::Resp(skipper.bounded()),
            unnested @ (Self::Memcached(_) | Self::Http(_)) => unnested,
        }
    }

    /// Returns the number of pushes that began since the last call. Pushes are messages that a RESP3 server sends
    /// without a request, between replies.
    #[inline]
    pub fn take_pushes(&mut self) -> u64 {
        match self {
            Self::Resp(skipper) => skipper.take_pushes(),
            Self::Memcached(_) | Self::Http(_) => 0,
        }
    }

    /// Notes that the server has closed the connection. Returns whether a server may close the connection between two
    /// replies. Returns true for HTTP. If the close ends an HTTP reply, the next call of [`advance`](Self::advance)
    /// returns this reply.
    #[cold]
    pub fn end(&mut self) -> bool {
        if let Self::Http(skipper) = self { skipper.end() } else { false }
    }

    /// Notes that the server has closed the connection. Returns whether this ended an HTTP reply, which the next call
    /// of [`advance`](Self::advance) returns.
    #[cold]
    pub fn ends_reply(&mut self) -> bool {
        if let Self::Http(skipper) = self { skipper.ends_reply() } else { false }
    }

    /// Returns whether the server closes the connection after the last reply.
    #[inline]
    pub fn is_last(&self) -> bool {
        if let Self::Http(skipper) = self { skipper.is_last() } else { false }
    }
}
