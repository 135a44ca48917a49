//! Findings: what is wrong, or limits the result, by which evidence, and what to do about it.
//!
//! ```text
//!              ┌─ stall ────────┐
//!              ├─ slow server ──┤
//!  records ────┼─ overload ─────┼─► Findings: now ──► header, status line, lines, metrics
//!  totals ─────┼─ client limit ─┤   of segments ────► summary, report, a frozen view, recordings
//!              └─ hit rate ─────┘
//!  setting ──────── danger ───────► what the session asks before it begins
//!  events ────────────────────────► Cause ─► what the cursor reads, the worst moments of the chart, summary
//! ```
//! A rule is a file, and a row of [the list](findings). Pure: no I/O, no clock, no screen. A threshold stands beside the
//! reason for it.

mod cause;
mod client_evidence;
mod client_limit;
mod danger;
mod finding;
mod findings;
mod hit_rate;
mod now;
mod overload;
mod rule;
mod slow_server;
mod stall;

pub use cause::{Cause, Delay};
pub use danger::setting_harm;
pub use finding::{Finding, Severity};
pub use findings::{Findings, danger, of_segment, of_session, our_limit};
