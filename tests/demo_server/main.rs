//! The built-in server keeps its promises: driven over raw sockets, by redis-benchmark, redis-cli and fred, and with
//! each of its faults.

#![allow(clippy::unwrap_used, reason = "a failed step between the assertions is a failed test")]

mod client;
mod faults;
mod tools;
mod wire;
