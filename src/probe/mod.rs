//! Small measurements beside the load, each on a thread of its own: *ping* (what `redis-cli --latency` does),
//! *wake* (how late a sleeping thread is woken), *intrinsic* (what `redis-cli --intrinsic-latency` does).
//!
//! Probes report; they know neither records nor screens.

mod report;

pub use report::{Intrinsic, Ping, Report, Wake};
