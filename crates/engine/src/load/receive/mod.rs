//! The receivers of a workload: connections on a thread of their own that wait for what the load sends, and time it.
//!
//! ```text
//!  workers ── PUBLISH "41.88123.3;…" ──► server ──► receivers: now − 88123 ns, and is 41 the next number?
//!                                                       └── interval buffers, by a ring ──► collector
//! ```
//! Both ends are timed by the clock of the session. What a receiver does not get is found by the numbers of its channel.

mod dialog;
mod handle;
mod line;
mod numbers;
mod order;
mod thread;
mod words;

pub(super) use handle::Reception;
