//! The control plane for memcached: its connection, its requests, and replacements for features that only Redis has.
//!
//! ```text
//!                    ┌─ stats ──────────► Status, events
//! every second       ├─ stats settings ─► Status          (once in a while)
//!                    └─ stats conns ────► Status          (once for each server process)
//! before a write     stats, stats conns ► Survey
//! at the end         delete, in chunks ─► CleaningResult   (by name: there is no SCAN)
//! ```
//! redyno writes only the workload's keys to memcached. redyno writes no marker and no list of runs to memcached.

mod keys;
mod link;
mod news;
mod poll;
mod stats;
mod survey;

pub(super) use keys::Items;
pub(super) use link::{MemcachedLink, MemcachedSender};
pub(super) use poll::MemcachedPoller;
pub(super) use survey::survey;
