//! The built-in server keeps its promises: driven over raw sockets, by redis-benchmark, redis-cli and fred, and with
//! each of its faults.

mod client;
mod cluster;
mod faults;
mod tools;
mod wire;
