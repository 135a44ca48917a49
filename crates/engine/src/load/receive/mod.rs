//! The receivers of a workload. Receivers are connections that wait for the messages of the load and measure how long
//! the delivery takes. The receivers have their own thread.
//!
//! ```text
//!  workers ── PUBLISH "41.88123.3;…" ──► server ──► receivers: now − 88123 ns, and is 41 the next number?
//!                                                       └── interval buffers, by a ring ──► collector
//! ```
//! Send times and receipt times are read from the session's clock. Each channel numbers its messages, so that lost
//! messages are detected.

mod dialog;
mod earlier;
mod handle;
mod line;
mod missing;
mod numbers;
mod order;
mod thread;
mod words;

pub(super) use handle::ReceiverHandle;
