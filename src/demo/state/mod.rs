//! What the server knows beside its data: its clients, its parameters, its counters and logs.
//!
//! Pure but for [`cpu`], which asks the system what the server's thread used.

mod config;
mod cpu;
mod latency;
mod session;
mod slowlog;
mod stats;
mod transaction;
mod whole;

pub use config::{Config, EvictionPolicy};
pub use cpu::{CpuTime, resident_bytes, thread_cpu, total_memory_bytes};
pub use latency::LatencyMonitor;
pub use session::{Closing, Session};
pub use slowlog::{SlowEntry, Slowlog, shortened};
pub use stats::Stats;
pub use transaction::Transaction;
pub use whole::{DATABASES, State};
