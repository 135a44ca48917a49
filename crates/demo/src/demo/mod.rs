//! The built-in server: a small Redis on one thread, for a first run without a server, for training and for tests.
//!
//! ```text
//! socket ─► request parser ─► engine ─► commands ─► store
//!                               │  ▲
//!                               ▼  └ faults: what goes wrong on purpose
//! socket ◄─ outbox ◄────────── reply
//! ```
//! It speaks RESP2 and RESP3, follows Redis 7.0 in its words, and is a null server: cheap enough that a generator
//! measured against it shows its own cost. It has no persistence, replication, cluster or scripts, and of
//! transactions MULTI and EXEC.
//!
//! It knows nothing of load, probes, sessions and screens; of the other rooms it uses the clock, the units and the type
//! of a password.

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

/// The Redis whose commands and words it follows.
const REDIS_VERSION: &str = "7.0.15";
