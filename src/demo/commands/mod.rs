//! The commands: one table, and a file a family of what they do.
//!
//! A command gets a [`Call`] and writes its reply, or fails; what it wrote before it failed is taken back.

mod call;
mod collections;
mod config;
mod connection;
mod info;
mod keys;
mod logs;
mod strings;
mod table;
mod transactions;

#[cfg(test)]
pub mod testing;

pub use call::{Call, Outcome};
pub use table::{AT_ONCE, COMMANDS, CommandId, GROWS, LOAD, OPEN, find, is_known};
