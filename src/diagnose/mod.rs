//! Verdicts over the records of a session: what limits the result, and by which evidence.
//!
//! ```text
//!  records ─► ClientWatch ─► ClientLimit ─► header, status line, headless lines
//!                 └────────► SlowServer ─► status line, headless lines
//!  totals  ────────────────► ClientLimit ─► summary
//!  records ─► OverloadWatch ─► Overload ─► header, status line
//!  records ─► HitWatch ─► LowHits ─► header, status line, headless lines; totals ─► summary
//!  events  ────────────────► Cause ─► what the cursor reads, the worst moments of the chart, summary
//! ```
//! Pure: no I/O, no clock, no screen. A threshold stands beside the reason for it.

mod cause;
mod client_limit;
mod client_watch;
mod hit_rate;
mod overload;
mod slow_server;

pub use cause::{Cause, Delay};
pub use client_limit::{ClientLimit, Evidence};
pub use client_watch::ClientWatch;
pub use hit_rate::{HitWatch, LowHits};
pub use overload::{Overload, OverloadWatch, Trend};
pub use slow_server::SlowServer;
