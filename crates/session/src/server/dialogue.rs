//! A connection of the control plane to a server. An asynchronous task sends requests and waits for replies. The
//! registration of the socket is the only unsafe code of the control plane.

use std::io;

use tokio::{
    io::{Interest, unix::AsyncFd},
    task::yield_now,
    time::{Instant, timeout_at},
};

use crate::{
    endpoint::{ReachError, Talk, TalkStep},
    protocol::Reply,
};

/// A connection for requests. Many such connections share a thread.
pub(super) struct Dialogue(AsyncFd<Talk>);

impl Dialogue {
    /// Registers an open connection with the thread's runtime.
    ///
    /// # Errors
    /// Fails if the system refuses the registration.
    pub(super) fn new(talk: Talk) -> io::Result<Self> {
        // SAFETY: the talk owns its socket, which stays open and the same until the talk is dropped.
        let registered = unsafe { AsyncFd::register(talk) };
        registered.map(Self).map_err(Into::into)
    }

    /// Works like [`Talk::send`].
    pub(super) fn send(&mut self, questions: &[u8]) {
        self.0.get_mut().send(questions);
    }

    /// Sends the queued requests, and waits for this number of `replies` until `deadline`.
    pub(super) async fn ask(
        &mut self,
        replies: usize,
        deadline: Instant,
        take: impl FnMut(&[u8], Reply),
    ) -> Result<(), ReachError> {
        let heard = timeout_at(deadline, self.hear(replies, take)).await;
        heard.unwrap_or_else(|_| Err(self.0.get_ref().broken(io::ErrorKind::TimedOut.into())))
    }

    /// Sends the queued requests, and awaits this number of replies. If the future is dropped, the bytes of an
    /// incomplete reply are kept.
    pub(super) async fn hear(
        &mut self,
        mut awaited: usize,
        mut take: impl FnMut(&[u8], Reply),
    ) -> Result<(), ReachError> {
        loop {
            match self.0.get_mut().step(&mut awaited, &mut take)? {
                TalkStep::Done => return Ok(()),
                // Other tasks run between two reads, even if this server never stops sending.
                TalkStep::Further => yield_now().await,
                TalkStep::Blocked => {
                    let ready = self.0.ready(Interest::READABLE | Interest::WRITABLE).await;
                    ready.map_err(|cause| self.0.get_ref().broken(cause))?.clear_ready();
                }
            }
        }
    }

    /// Works like [`Talk::has_more`].
    pub(super) fn has_more(&self) -> bool {
        self.0.get_ref().has_more()
    }
}
