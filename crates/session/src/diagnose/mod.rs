//! Findings: what is wrong with a server or limits a result, the evidence, and the advice.
//!
//! ```text
//!              ┌─ stall, slow server ────────────┐
//!  records ────┼─ conditions of server and host ─┼─► Findings: now ──► header, status line, lines, metrics
//!  totals ─────┼─ overload, client limit ────────┤   of segments ────► summary, report, a frozen view, recordings
//!              └─ hit rate ──────────────────────┘
//!  events ────────────────────────► Cause ─► the text at the cursor, the worst moments of the chart, summary
//! ```
//! Each rule has one file, and one row in [the list of rules](findings). The rules use no I/O, no clock and
//! no screen. Each threshold has its reason in a comment.

mod answers;
mod backlog;
mod big_reply;
mod by_node;
mod callers;
mod cause;
mod churn;
mod client_evidence;
mod client_limit;
mod connection_limit;
mod core_taken;
mod costly_calls;
mod cpu_bound;
mod down;
mod episodes;
mod eviction;
mod expiry;
mod failing;
mod finding;
mod findings;
#[cfg(test)]
mod fixture;
mod fork;
mod fsync;
mod headroom;
mod hit_rate;
mod hot_slot;
mod io_threads;
mod lost_agents;
mod misses;
mod network;
mod now;
mod overload;
mod pings;
mod receivers;
mod replicas;
mod rule;
mod settings;
mod slow_calls;
mod slow_command;
mod slow_node;
mod slow_server;
mod spent;
mod stall;
#[cfg(test)]
mod tests;
mod thresholds;
mod whole;
mod window;

pub use by_node::{FindingsByNode, NodeState};
pub use cause::{Cause, Delay};
pub use episodes::{Episode, Episodes};
pub use finding::{Finding, Severity};
pub use findings::Findings;
pub use spent::TimeSpent;
pub use whole::{of_segment, of_segment_in, of_session, our_limit};
