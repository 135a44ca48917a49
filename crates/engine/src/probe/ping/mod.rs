//! The ping probe: sends PING on its own connection, on a schedule that does not depend on the server.
//!
//! ```text
//!  Schedule ──► due ──► Link ──► PING … PONG ──► Account ──► a Report a tick
//!                        └── lost, back, error replies ──► Messages
//! ```
//! A PING is written when it is due, even if older ones are unanswered, and its round trip counts from its due time
//! to the return of the wake-up that brought the last byte of its own reply. So a server that stalls for a second
//! shows as a hundred late samples and not as one. Each PING that was due yields either a sample or an error of one
//! of these kinds:
//!
//! | kind | what happened |
//! |---|---|
//! | `NOAUTH`, `LOADING`, … | the server answered with an error of that prefix |
//! | `timeout` | no reply in time, which also closes the connection; or a new connection without any reply |
//! | `refused`, `reset`, `unreachable`, `protocol` | the connection broke, or could not be opened |
//! | `tls` | TLS failed: a certificate, the handshake, a broken record |
//! | `missed` | this process itself did not run for longer than the timeout, and the PING was dropped |
//!
//! If the kernel timestamps the connection (TCP on Linux), each sample has three parts: the client's delay in
//! sending, the time between the kernel's timestamps of departure and arrival, and the client's delay in reading. A
//! sample with uncertain parts is counted as left out.
//!
//! The thread begins its schedule when the first attempt to connect has ended, successfully or not. PINGs that are
//! unanswered when the probe is dropped are in its last report, with their wait so far.

mod account;
mod failure;
mod lead;
mod line;
mod link;
mod parts;
mod probe;
mod schedule;
mod stamped_socket;
mod stamps;
mod tcp_info;

pub use probe::{PingPlan, PingProbe};
