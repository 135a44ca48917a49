//! The ping probe sends PING on its own connection, on a schedule that does not depend on the server.
//!
//! ```text
//!  Schedule ──► due ──► Link ──► PING … PONG ──► Account ──► a Report every tick (250 ms)
//!                        └── lost, back, error replies ──► Messages
//! ```
//! A PING is sent when it is due, even if older PINGs are unanswered. The round trip begins when the PING is due. The
//! round trip ends when the last byte of the reply has arrived and the thread has woken up. If a server stalls for a
//! second, a hundred samples are therefore late instead of one. Each due PING is counted as a sample, or as an error of
//! one of these kinds:
//!
//! | kind | what happened |
//! |---|---|
//! | `NOAUTH`, `LOADING`, … | the server answered with an error of that prefix |
//! | `timeout` | no reply in time, which also closes the connection; or a new connection without any reply |
//! | `refused`, `reset`, `unreachable`, `protocol` | the connection broke, or could not be opened |
//! | `tls` | TLS failed: a certificate, the handshake, a broken record |
//! | `missed` | for more than the timeout, this process itself did not run, and the PING was dropped |
//!
//! If the kernel takes timestamps for the connection (TCP on Linux), each sample has three parts. The first part is the
//! client's delay in sending. The second part is the time between the kernel's two timestamps: PING sent, and reply
//! received. The third part is the client's delay in reading. If the parts of a round trip are not exact, the round
//! trip is counted in `left_out`.
//!
//! The schedule of the thread begins when the first attempt to connect has ended, successfully or not. The last report
//! of the probe contains the PINGs without a reply, and how long each of these PINGs has waited.

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

pub use account::PingedNode;
pub use probe::{PingPlan, PingProbe};
