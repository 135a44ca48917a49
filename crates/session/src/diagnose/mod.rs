//! Findings: what is wrong or limits the result, the evidence, and the advice.
//!
//! ```text
//!              ┌─ stall ────────┐
//!              ├─ slow server ──┤
//!  records ────┼─ overload ─────┼─► Findings: now ──► header, status line, lines, metrics
//!  totals ─────┼─ client limit ─┤   of segments ────► summary, report, a frozen view, recordings
//!              └─ hit rate ─────┘
//!  setting ──────── danger ───────► the question before a session begins
//!  events ────────────────────────► Cause ─► the text at the cursor, the worst moments of the chart, summary
//! ```
//! Each rule has one file, and one row in [the list](findings). The rules are pure: they use no I/O, no clock and no
//! screen. Each threshold has its reason in a comment.

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
