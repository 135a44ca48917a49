//! The ping probe: PING on a connection of its own, on a schedule, whatever the server does.
//!
//! ```text
//!  Schedule ──► due ──► Link ──► PING … PONG ──► Account ──► a Report a tick
//!                        └── lost, back, error replies ──► Messages
//! ```
//! A PING is written when it is due, also while older ones are unanswered, and its round trip counts from when it
//! was due to the moment at which the wake-up returned that brought the last byte of its own answer. So a server
//! that stalls for a second shows as a hundred late samples and not as one. Of each PING that was due there is
//! either a sample or an error, whose kind is:
//!
//! | kind | what happened |
//! |---|---|
//! | `NOAUTH`, `LOADING`, … | the server answered with an error of that prefix |
//! | `timeout` | no answer in time, which also costs the connection; or none yet to a new one |
//! | `refused`, `reset`, `unreachable`, `protocol` | the connection broke, or there was none to be had |
//! | `tls` | TLS failed: a certificate, the handshake, a broken record |
//! | `missed` | this process itself did not run for longer than the timeout, and did not make up for it |
//!
//! Where the kernel stamps the connection (TCP on Linux), each sample is shown in three parts: our lateness in
//! sending, the time between the kernel's stamps of departure and arrival, and our lateness in reading. A sample
//! whose parts are not known for certain is counted among those left out.
//!
//! The thread begins its schedule when the first attempt to connect has ended, well or not. PINGs that are
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
