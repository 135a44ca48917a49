//! The control plane of a memcached server: the requests over its own connection, and the replacements for features
//! that memcached does not have.
//!
//! ```text
//!                    ┌─ stats ──────────► Status, events
//! every second       └─ stats settings ─► Status          (once in a while)
//! before a write     stats, stats conns ► Survey
//! at the end         delete, in chunks ─► Cleaned          (by name: there is no SCAN)
//! ```
//! A memcached server holds only the workload's keys: no marker, no list of runs.

mod keys;
mod link;
mod news;
mod poll;
mod stats;
mod survey;

pub(super) use keys::Items;
pub(super) use link::{MemcachedLink, Wire};
pub(super) use poll::Poller;
pub(super) use survey::survey;
