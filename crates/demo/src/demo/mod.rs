//! The built-in server: a small Redis on one thread, for tests, for training, and for a first run without a
//! real server.
//!
//! ```text
//! socket ─► request parser ─► engine ─► commands ─► store
//!                               │  ▲
//!                               ▼  └ faults: simulated faults
//! socket ◄─ outbox ◄────────── reply
//! ```
//! The server speaks RESP2 and RESP3, with the messages of Redis 7.0. The server needs so little CPU time that a
//! measurement against it shows the cost of the load generator. The server has no persistence, replication or scripts.
//! The only transaction commands are MULTI and EXEC. Several servers can form a cluster.
//!
//! The built-in server does not depend on redyno's load, probes, sessions or screens. The built-in server uses only
//! redyno's clock, units, slots of keys and type of a password.

mod channels;
mod cluster;
mod commands;
mod conductor;
mod connection;
mod engine;
mod event_loop;
mod faults;
mod reply;
mod request;
mod server;
mod state;
mod store;

pub use self::conductor::{Size, start_cluster};
pub use self::faults::Fault;
pub use self::server::{Error, Handle, Options, start};

/// The server imitates the commands and messages of this version of Redis.
const REDIS_VERSION: &str = "7.0.15";
