//! The commands: a table as data, and one file a family.
//!
//! A command gets a [`Call`] and writes its reply, or fails; what it wrote before it failed is taken back.

mod call;
mod client;
mod config;
mod connection;
mod expiry;
mod hashes;
mod info;
mod keys;
mod latency;
mod lists;
mod run;
mod scan;
mod server;
mod sets;
mod slowlog;
mod sorted_sets;
mod streams;
mod strings;
mod table;
mod transactions;

#[cfg(test)]
pub mod desk;

pub use call::{Arity, Call, Outcome};
pub use run::{Asked, fail, run};
pub use table::{Command, CommandId, Flags, Found, Run, Table, is_known};
