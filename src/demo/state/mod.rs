//! What the server knows beside its data: its clients, its parameters, its counters and logs.
//!
//! Pure but for [`system`], which asks the system what the server's thread used.

mod config;
mod durations;
mod session;
mod slowlog;
mod spending;
mod stats;
pub mod system;
mod whole;

pub use config::Config;
pub use session::{Session, Transaction};
pub use stats::Stats;
pub use whole::{DATABASES, State};
