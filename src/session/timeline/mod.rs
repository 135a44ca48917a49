//! The fold that screens and reports read: records in, lanes and totals out.
//!
//! ```text
//!  records ─► Timeline ─┬─ throughput   a cell for every 250 ms         ┐
//!                       ├─ lanes        a cell of quantiles a second    ├ one hour, then the oldest go
//!                       ├─ server       a cell a second                 ┘
//!                       ├─ windows      distributions: now, 60 s, the segment
//!                       └─ totals       segments, errors, ping windows, events
//! ```
//! Pure: it reads no clock and knows no screen. What was not measured is a gap, never a zero. A percentile
//! never mixes two segments: every window ends at the last segment border.

mod errors;
mod fold;
mod intrinsic;
mod lane;
mod levels;
mod pings;
mod read;
mod segments;
mod series;

pub use errors::{ErrorCount, ErrorLog, FIRST_ERROR};
pub use fold::{ServerCell, Throughput, Timeline, TimelineOptions};
pub use intrinsic::IntrinsicRun;
pub use lane::Lane;
pub use levels::{Level, Quantiles};
pub use pings::{PingWindow, PingWindows};
pub use segments::{SegmentTotal, Segments};
pub use series::Series;
