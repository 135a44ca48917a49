//! The built-in server: a small Redis on one thread, for a first run without a server, for training and for tests.
//!
//! ```text
//! socket ─► request parser ─► engine ─► commands ─► store
//!                               │  ▲
//!                               ▼  └ faults: simulated faults
//! socket ◄─ outbox ◄────────── reply
//! ```
//! The server speaks RESP2 and RESP3 and follows Redis 7.0 in its texts. It is cheap enough that a load generator
//! measured against it shows its own cost. It has no persistence, replication, cluster or scripts, and of transactions
//! only MULTI and EXEC.
//!
//! The server does not depend on load, probes, sessions or screens; of the other rooms it uses the clock, the units and
//! the type of a password.

mod commands;
mod connection;
mod engine;
mod event_loop;
mod faults;
mod reply;
mod request;
mod server;
mod state;
mod store;

pub use self::faults::Fault;
pub use self::server::{Error, Handle, Options, Server};

/// The version of Redis that the server's commands and texts follow.
const REDIS_VERSION: &str = "7.0.15";
